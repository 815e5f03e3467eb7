/* Params in a case: those with a range are drawn. Integers are drawn from the whole numbers of the
 * range, floats as their type holds them. */
#include <math.h>

#include "gym/problem/problem.h"

static double in_range(double v, double lo, double hi, double otherwise)
{
    return v >= lo && v < hi ? v : otherwise;
}

/* A value of [lo, hi) that the type holds; `usual` where rounding leaves the range. */
static double uniform(struct kg_rng *r, enum kg_dtype t, double lo, double hi, double usual)
{
    if (t == KG_I32 || t == KG_I64) {
        double least = ceil(lo), n = ceil(hi) - least;
        return n >= 1 ? least + floor(kg_rng_unit(r) * n) : usual;
    }
    double v = lo + kg_rng_unit(r) * (hi - lo);
    return in_range(t == KG_F32 ? (double)(float)v : v, lo, hi, usual);
}

bool kg_arg_scalar_of(const struct kg_problem *p, int arg, const struct kg_shape *s,
                      struct kg_key key, int64_t *i, double *f)
{
    double lo, hi;
    bool drawn = (key.w[0] | key.w[1]) != 0 && p->args[arg].role == KG_ROLE_PARAM;
    if (!kg_arg_scalar(p, arg, s, i, f)) {
        return false;
    }
    if (!drawn || !kg_arg_range(p, arg, s, &lo, &hi)) {
        return true;
    }
    struct kg_rng r;
    kg_rng_init(&r, kg_key_derive(key, "param", (uint64_t)arg), 0);
    uint64_t kind = kg_rng_below(&r, 8);
    if (kind == 2 || kind == 3) {
        *f = in_range(kind == 2 ? 0 : 1, lo, hi, *f);
    } else if (kind > 3) {
        *f = uniform(&r, p->args[arg].dtype, lo, hi, *f);
    }
    kg_rng_deinit(&r);
    if (kind > 1) {
        *i = (int64_t)*f;
    }
    return true;
}
