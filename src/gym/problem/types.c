#include "gym/problem/problem.h"

const char *kg_dtype_name(enum kg_dtype t)
{
    static const char *const NAMES[] = {"f32", "f64", "i32", "i64"};
    return NAMES[t];
}

size_t kg_dtype_bytes(enum kg_dtype t)
{
    return t == KG_F32 || t == KG_I32 ? 4 : 8;
}

const char *kg_role_name(enum kg_role r)
{
    static const char *const NAMES[] = {"in", "out", "dim", "param"};
    return NAMES[r];
}
