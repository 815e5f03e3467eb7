/* Draws random shapes for the variants of a problem. */
#include <math.h>

#include "gym/problem/search.h"

/* Of 1000 draws the first 400 follow the variant's rule in every dim. After them `where` is taken
 * to be in the way: a growing share of dims keeps its default, and the others may also take values
 * that keep the default's divisors. Each draw costs 1-2 us. */
#define DRAWS    1000
#define STRICT   400
#define TINY_DIM 6

static int64_t between(struct kg_rng *rng, int64_t lo, int64_t hi)
{
    return hi <= lo ? lo : lo + (int64_t)kg_rng_below(rng, (uint64_t)(hi - lo + 1));
}

static int64_t at_least(int64_t lo, int64_t v)
{
    return v < lo ? lo : v;
}

static int64_t draw_tiny(struct kg_rng *rng, int64_t def, bool strict)
{
    if (strict || kg_rng_below(rng, 3) == 0) {
        return between(rng, 1, TINY_DIM);
    }
    if (kg_rng_below(rng, 2) == 0) {
        return at_least(1, def / between(rng, 2, 16));
    }
    /* Log-uniform up to the default: small values stay likely. */
    return at_least(1, (int64_t)pow((double)def, kg_rng_unit(rng)));
}

static int64_t draw_larger(struct kg_rng *rng, int64_t def, bool strict)
{
    if (!strict && kg_rng_below(rng, 3) == 0) {
        return def + def * between(rng, 1, 4) / 8;
    }
    int64_t lo = (def * 11 + 9) / 10, hi = def * 16 / 10, v = between(rng, lo, hi);
    if (v % 2 == 0 && (strict || kg_rng_below(rng, 2) == 0)) {
        v += v + 1 > hi && v - 1 >= lo ? -1 : 1;
    }
    return v;
}

static int64_t draw_odd(struct kg_rng *rng, int64_t def, bool strict)
{
    if (def == 1) {
        return 1;
    }
    if (!strict && kg_rng_below(rng, 3) == 0) {
        return at_least(1, def * between(rng, 4, 7) / 8);
    }
    int64_t lo = def / 2, v = between(rng, lo, def - 1);
    if (v % 2 == 0 && (strict || v % 16 == 0 || kg_rng_below(rng, 2) == 0)) {
        v += v > lo ? -1 : 1;
    }
    return v;
}

static int64_t draw_no16(struct kg_rng *rng, int64_t def, bool strict)
{
    if (def == 1) {
        return 1;
    }
    if (!strict && kg_rng_below(rng, 3) == 0) {
        return at_least(1, def * between(rng, 2, 6) / 8);
    }
    int64_t v = (int64_t)((double)def * (0.4 + 0.2 * kg_rng_unit(rng)));
    if (strict || kg_rng_below(rng, 2) == 0) {
        v -= v % 2;
    }
    if (v % 16 == 0) {
        v += kg_rng_below(rng, 2) == 0 ? 2 : -2;
    }
    return at_least(2, v);
}

/* share: of a dim, such that all of them together are the most that is accepted. */
static int64_t draw_quarter(struct kg_rng *rng, int64_t def, double share, bool strict)
{
    if (!strict && kg_rng_below(rng, 3) == 0) {
        return at_least(1, def * between(rng, 1, 4) / 8);
    }
    int64_t most = (int64_t)((double)def * share);
    int64_t v = between(rng, at_least(1, most * 5 / 8), most);
    return v % 16 == 0 && v > 0 ? v - 1 : at_least(1, v);
}

static int64_t draw_dim(const struct kg_search *q, enum kg_variant v, struct kg_rng *rng,
                        int64_t def, bool strict)
{
    switch (v) {
    case KG_VARIANT_TINY:
        return draw_tiny(rng, def, strict);
    case KG_VARIANT_LARGER:
        return draw_larger(rng, def, strict);
    case KG_VARIANT_ODD:
        return draw_odd(rng, def, strict);
    case KG_VARIANT_QUARTER:
        return draw_quarter(rng, def, pow(q->max_cost, 1.0 / q->nfree), strict);
    default:
        return draw_no16(rng, def, strict);
    }
}

static void draw_shape(const struct kg_search *q, enum kg_variant v, struct kg_rng *rng,
                       int attempt, struct kg_shape *s)
{
    bool strict = attempt < STRICT;
    double loose = strict ? 0 : (double)(attempt - STRICT) / (DRAWS - STRICT);
    *s = q->def;
    for (int k = 0; k < q->nfree; k++) {
        int64_t *dim = &s->dim[q->free[k]];
        if (kg_rng_unit(rng) >= loose * loose) {
            *dim = draw_dim(q, v, rng, *dim, strict);
        }
    }
}

/* The first acceptable draw. A tiny shape that had to break its rule is the cheapest of all draws,
 * shrunk further where that is possible, because being cheap is what it is for. */
bool kg_search_draw(const struct kg_search *q, enum kg_variant v, struct kg_rng *rng,
                    struct kg_shape *out)
{
    double best = INFINITY, cost;
    *out = q->def;
    for (int attempt = 0; attempt < DRAWS && q->nfree > 0; attempt++) {
        struct kg_shape s;
        draw_shape(q, v, rng, attempt, &s);
        if (!kg_search_accept(q, &s, &cost) || cost >= best) {
            continue;
        }
        *out = s;
        best = cost;
        if (v != KG_VARIANT_TINY || attempt < STRICT) {
            return true;
        }
    }
    bool shrunk = v == KG_VARIANT_TINY && kg_search_shrink_all(q, TINY_DIM, out);
    return shrunk || best < INFINITY;
}
