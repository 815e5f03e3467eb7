/* A problem at one shape: derived dimensions, sizes of arrays, values of scalars. */
#include <math.h>

#include "gym/problem/problem.h"

void kg_shape_default(const struct kg_problem *p, struct kg_shape *s)
{
    *s = (struct kg_shape){.dim = {0}};
    for (int k = 0; k < p->ndims; k++) {
        s->dim[k] = p->dims[k].def;
    }
}

int64_t kg_arg_count(const struct kg_problem *p, int arg, const struct kg_shape *s)
{
    const struct kg_arg *a = &p->args[arg];
    int64_t count = 1, extent;
    for (int k = 0; k < a->rank; k++) {
        if (!kg_expr_int(a->extent[k], s->dim, &extent) || extent < 1 ||
            __builtin_mul_overflow(count, extent, &count)) {
            return -1;
        }
    }
    return count;
}

/* Everything that is read from an argument at a shape can be read, and the arrays fit. */
static bool args_hold(const struct kg_problem *p, const struct kg_shape *s)
{
    uint64_t total = 0;
    for (int k = 0; k < p->nargs; k++) {
        const struct kg_arg *a = &p->args[k];
        double lo, hi, f;
        int64_t i;
        if (a->rank > 0) {
            int64_t n = kg_arg_count(p, k, s);
            if (n < 0 || n > KG_MAX_DATA_BYTES) {
                return false;
            }
            total += (uint64_t)n * kg_dtype_bytes(a->dtype);
            if (a->has_range && !(kg_arg_range(p, k, s, &lo, &hi) && lo < hi)) {
                return false;
            }
        } else if (!kg_arg_scalar(p, k, s, &i, &f) ||
                   (a->has_range && !(kg_arg_range(p, k, s, &lo, &hi) && lo < hi))) {
            return false;
        }
    }
    return total <= KG_MAX_DATA_BYTES;
}

bool kg_shape_complete(const struct kg_problem *p, struct kg_shape *s)
{
    for (int k = 0; k < p->ndims; k++) {
        if (p->dims[k].by != NULL && !kg_expr_int(p->dims[k].by, s->dim, &s->dim[k])) {
            return false;
        }
        if (s->dim[k] < 1 || s->dim[k] > KG_MAX_DIM) {
            return false;
        }
    }
    for (int k = 0; k < p->nwhere; k++) {
        int64_t truth;
        if (!kg_expr_int(p->where[k], s->dim, &truth) || truth == 0) {
            return false;
        }
    }
    return args_hold(p, s);
}

/* Bit k: dim k is named by an extent of an argument of this role. */
static uint64_t dims_of(const struct kg_problem *p, enum kg_role role)
{
    uint64_t dims = 0;
    for (int k = 0; k < p->nargs; k++) {
        for (int j = 0; p->args[k].role == role && j < p->args[k].rank; j++) {
            dims |= kg_expr_uses(p->args[k].extent[j]);
        }
    }
    return dims;
}

int64_t kg_problem_reduce(const struct kg_problem *p, const struct kg_shape *s)
{
    int64_t length = 1;
    if (p->reduce != NULL) {
        return kg_expr_int(p->reduce, s->dim, &length) && length > 1 ? length : 1;
    }
    uint64_t missing = dims_of(p, KG_ROLE_IN) & ~dims_of(p, KG_ROLE_OUT);
    for (int k = 0; k < p->ndims; k++) {
        if ((missing >> k & 1) != 0 && __builtin_mul_overflow(length, s->dim[k], &length)) {
            return INT64_MAX;
        }
    }
    return length;
}

double kg_problem_flops(const struct kg_problem *p, const struct kg_shape *s)
{
    double v;
    return p->flops != NULL && kg_expr_real(p->flops, s->dim, &v) && v >= 0 ? v : -1;
}

double kg_problem_bytes(const struct kg_problem *p, const struct kg_shape *s)
{
    double v = 0;
    if (p->bytes != NULL) {
        return kg_expr_real(p->bytes, s->dim, &v) && v >= 0 ? v : -1;
    }
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].rank > 0) {
            v += (double)kg_arg_count(p, k, s) * (double)kg_dtype_bytes(p->args[k].dtype);
        }
    }
    return v;
}

static int64_t truncated(double v)
{
    return v >= 9223372036854775807.0    ? INT64_MAX
           : v <= -9223372036854775808.0 ? INT64_MIN
                                         : (int64_t)v;
}

bool kg_arg_scalar(const struct kg_problem *p, int arg, const struct kg_shape *s, int64_t *i,
                   double *f)
{
    const struct kg_arg *a = &p->args[arg];
    if (a->role == KG_ROLE_DIM) {
        *i = s->dim[a->dim];
        *f = (double)*i;
        return true;
    }
    if (a->role != KG_ROLE_PARAM) {
        return false;
    }
    if (a->dtype == KG_I32 || a->dtype == KG_I64) {
        if (!kg_expr_int(a->value, s->dim, i)) {
            return false;
        }
        *f = (double)*i;
        return a->dtype == KG_I64 || (*i >= INT32_MIN && *i <= INT32_MAX);
    }
    if (!kg_expr_real(a->value, s->dim, f)) {
        return false;
    }
    *f = a->dtype == KG_F32 ? (double)(float)*f : *f;
    *i = truncated(*f);
    return isfinite(*f);
}

bool kg_arg_range(const struct kg_problem *p, int arg, const struct kg_shape *s, double *lo,
                  double *hi)
{
    const struct kg_arg *a = &p->args[arg];
    return a->has_range && kg_expr_real(a->lo, s->dim, lo) && kg_expr_real(a->hi, s->dim, hi);
}
