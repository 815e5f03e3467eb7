/* Computes formulas over dimensions, with checks for overflow. */
#include <math.h>

#include "gym/problem/expr_node.h"

static double as_double(const struct kg_value *v)
{
    return v->real ? v->d : (double)v->i;
}

static bool is_true(const struct kg_value *v)
{
    return v->real ? v->d != 0 : v->i != 0;
}

static bool set_int(struct kg_value *out, int64_t i)
{
    *out = (struct kg_value){.i = i};
    return true;
}

/* Infinity and NaN are overflow and domain errors. */
static bool set_real(struct kg_value *out, double d)
{
    *out = (struct kg_value){.real = true, .d = d};
    return isfinite(d);
}

static bool int_divide(enum kg_expr_op op, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        return false;
    }
    int64_t quotient = a / b, rest = a % b;
    if (op == KG_EX_CEIL_DIV && rest != 0 && (rest < 0) == (b < 0)) {
        quotient++;
    }
    *out = op == KG_EX_MOD ? rest : quotient;
    return true;
}

static bool int_binary(enum kg_expr_op op, int64_t a, int64_t b, struct kg_value *out)
{
    int64_t r = 0;
    bool ok;
    switch (op) {
    case KG_EX_ADD:
        ok = !__builtin_add_overflow(a, b, &r);
        break;
    case KG_EX_SUB:
        ok = !__builtin_sub_overflow(a, b, &r);
        break;
    case KG_EX_MUL:
        ok = !__builtin_mul_overflow(a, b, &r);
        break;
    case KG_EX_MIN:
        r = a < b ? a : b;
        ok = true;
        break;
    case KG_EX_MAX:
        r = a > b ? a : b;
        ok = true;
        break;
    default:
        ok = int_divide(op, a, b, &r);
        break;
    }
    return set_int(out, r) && ok;
}

static bool real_binary(enum kg_expr_op op, double a, double b, struct kg_value *out)
{
    switch (op) {
    case KG_EX_ADD:
        return set_real(out, a + b);
    case KG_EX_SUB:
        return set_real(out, a - b);
    case KG_EX_MUL:
        return set_real(out, a * b);
    case KG_EX_MIN:
        return set_real(out, fmin(a, b));
    case KG_EX_MAX:
        return set_real(out, fmax(a, b));
    default:
        return b != 0 && set_real(out, a / b);
    }
}

/* -1, 0 or 1; integers are compared as integers, however large. */
static int order(const struct kg_value *a, const struct kg_value *b)
{
    if (!a->real && !b->real) {
        return (a->i > b->i) - (a->i < b->i);
    }
    double x = as_double(a), y = as_double(b);
    return (x > y) - (x < y);
}

static bool compare(enum kg_expr_op op, int sign, struct kg_value *out)
{
    switch (op) {
    case KG_EX_LT:
        return set_int(out, sign < 0);
    case KG_EX_LE:
        return set_int(out, sign <= 0);
    case KG_EX_GT:
        return set_int(out, sign > 0);
    case KG_EX_GE:
        return set_int(out, sign >= 0);
    case KG_EX_EQ:
        return set_int(out, sign == 0);
    default:
        return set_int(out, sign != 0);
    }
}

static bool unary(const struct kg_expr *e, const struct kg_value *a, struct kg_value *out)
{
    double d = as_double(a);
    switch (e->op) {
    case KG_EX_NOT:
        return set_int(out, !is_true(a));
    case KG_EX_SQRT:
        return d >= 0 && set_real(out, sqrt(d));
    case KG_EX_LOG2:
        return d > 0 && set_real(out, log2(d));
    default:
        if (a->real) {
            return set_real(out, -a->d);
        }
        return a->i != INT64_MIN && set_int(out, -a->i);
    }
}

bool kg_expr_eval(const struct kg_expr *e, const int64_t *values, struct kg_value *out)
{
    if (e->op == KG_EX_NUMBER) {
        *out = e->number;
        return true;
    }
    if (e->op == KG_EX_NAME) {
        return set_int(out, values[e->name]);
    }
    struct kg_value a, b;
    if (!kg_expr_eval(e->a, values, &a)) {
        return false;
    }
    if (e->b == NULL) {
        return unary(e, &a, out);
    }
    /* As in C the right side is not looked at when the left decides: w > 0 && h / w > 2. */
    if ((e->op == KG_EX_AND && !is_true(&a)) || (e->op == KG_EX_OR && is_true(&a))) {
        return set_int(out, e->op == KG_EX_OR);
    }
    if (!kg_expr_eval(e->b, values, &b)) {
        return false;
    }
    if (e->op == KG_EX_AND || e->op == KG_EX_OR) {
        return set_int(out, is_true(&b));
    }
    if (e->op >= KG_EX_LT && e->op <= KG_EX_NE) {
        return compare(e->op, order(&a, &b), out);
    }
    return e->real ? real_binary(e->op, as_double(&a), as_double(&b), out)
                   : int_binary(e->op, a.i, b.i, out);
}

bool kg_expr_int(const struct kg_expr *e, const int64_t *values, int64_t *out)
{
    struct kg_value v;
    if (e->real || !kg_expr_eval(e, values, &v)) {
        return false;
    }
    *out = v.i;
    return true;
}

bool kg_expr_real(const struct kg_expr *e, const int64_t *values, double *out)
{
    struct kg_value v;
    if (!kg_expr_eval(e, values, &v)) {
        return false;
    }
    *out = as_double(&v);
    return true;
}

bool kg_expr_is_real(const struct kg_expr *e)
{
    return e->real;
}

uint64_t kg_expr_uses(const struct kg_expr *e)
{
    return e->uses;
}
