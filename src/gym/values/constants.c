/* The values that a law draws once per argument: outlier, constant, order, scales and pieces. */
#include <math.h>
#include <stdlib.h>

#include "gym/values/gen.h"

static void draw_outlier(struct kg_gen *g)
{
    bool up = kg_rng_below(&g->shape, 2) == 1;
    g->outlier_at = kg_rng_below(&g->shape, g->n);
    g->outlier = g->ranged ? (up ? g->top : g->floor) : (up ? 1e3 : -1e3);
}

static int by_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Cuts at random places; a piece may have any length, also none. */
static void draw_pieces(struct kg_gen *g)
{
    static const enum kg_law laws[] = {KG_LAW_OWN,   KG_LAW_NORMAL, KG_LAW_UNIFORM,
                                       KG_LAW_HEAVY, KG_LAW_SPARSE, KG_LAW_SMALL,
                                       KG_LAW_LARGE, KG_LAW_EQUAL,  KG_LAW_SMALLINT};
    g->pieces = 2 + kg_rng_below(&g->shape, KG_GEN_PIECES - 1);
    for (size_t k = 0; k < g->pieces; k++) {
        g->piece_end[k] = kg_rng_below(&g->shape, g->n + 1);
        g->piece_law[k] = laws[kg_rng_below(&g->shape, sizeof laws / sizeof *laws)];
    }
    qsort(g->piece_end, g->pieces, sizeof *g->piece_end, by_size);
    g->piece_end[g->pieces - 1] = g->n;
}

static bool in_range(const struct kg_gen *g, double x)
{
    return !g->ranged || (x >= g->floor && x <= g->top);
}

/* A power of two of the range. If there is none, the value near the range's middle with the fewest
 * significant bits. So multiplying by it loses nothing on a narrow operand. */
static double simple_value(struct kg_gen *g)
{
    double candidates[64];
    size_t n = 0;
    for (int e = -4; e <= 4; e++) {
        if (in_range(g, ldexp(1, e)) && (g->ranged || abs(e) <= 2)) {
            candidates[n++] = ldexp(1, e);
        } else if (g->ranged && in_range(g, -ldexp(1, e))) {
            candidates[n++] = -ldexp(1, e);
        }
    }
    if (n > 0) {
        return candidates[kg_rng_below(&g->shape, n)];
    }
    double middle = g->floor + (g->top - g->floor) / 2;
    int e;
    double m = frexp(middle, &e);
    for (int bits = 1; bits < 24; bits++) {
        double x = ldexp(rint(ldexp(m, bits)), e - bits);
        if (in_range(g, x)) {
            return x;
        }
    }
    return middle;
}

void kg_gen_constants(struct kg_gen *g)
{
    g->constant = kg_gen_own(g, kg_rng_unit(&g->shape));
    g->descending = kg_rng_below(&g->shape, 2) == 1;
    if (g->n == 0) {
        return;
    }
    if (g->law == KG_LAW_OUTLIER) {
        draw_outlier(g);
    } else if (g->law == KG_LAW_PIECEWISE) {
        draw_pieces(g);
    } else if (g->law == KG_LAW_PRECISION) {
        g->constant = simple_value(g);
    }
}
