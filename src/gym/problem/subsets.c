/* Searches shapes in which some dimensions are doubled, or are 1. */
#include <math.h>

#include "gym/problem/search.h"

#define MAX_SHAPES 4000 /* shapes looked at by one search */

/* The next larger number with as many bits set. Source: HAKMEM, item 175. */
static uint32_t next_subset(uint32_t x)
{
    uint32_t low = x & -x, ripple = x + low;
    return ripple | (((x ^ ripple) >> 2) / low);
}

/* Calls visit for each set of `size` free dims until it returns false. */
static void each_subset(int n, int size, bool (*visit)(void *state, uint32_t set), void *state)
{
    uint32_t set = ((uint32_t)1 << size) - 1;
    while (set < (uint32_t)1 << n && visit(state, set) && size > 0) {
        set = next_subset(set);
    }
}

struct pick {
    const struct kg_search *q;
    int shapes; /* looked at so far */
    bool found;
    double score, cost; /* of best */
    struct kg_shape best;
};

static void offer(struct pick *x, const struct kg_shape *s, double score, double cost)
{
    if (!x->found || score > x->score || (score == x->score && cost < x->cost)) {
        *x = (struct pick){x->q, x->shapes, true, score, cost, *s};
    }
}

/* All free dims doubled but those in set, which grow by some quarters. Score: how much the dims in
 * set have grown. */
static bool try_set(struct pick *x, uint32_t set, int quarters)
{
    struct kg_shape s = x->q->def;
    double grown = 1, cost;
    for (int k = 0; k < x->q->nfree; k++) {
        int64_t *dim = &s.dim[x->q->free[k]], def = *dim;
        *dim += (set >> k & 1) != 0 ? def * quarters / 4 : def;
        grown *= (set >> k & 1) != 0 ? (double)*dim / (double)def : 1;
    }
    x->shapes++;
    bool ok = kg_search_accept(x->q, &s, &cost);
    if (ok) {
        offer(x, &s, grown, cost);
    }
    return ok;
}

static bool try_double(void *state, uint32_t set)
{
    struct pick *x = state;
    for (int quarters = set != 0 ? 3 : 0; quarters >= 0 && !try_set(x, set, quarters); quarters--) {
    }
    return x->shapes < MAX_SHAPES;
}

/* One more dim at a time, the cheapest first: what is left when there are too many subsets. */
static void double_greedily(struct pick *x)
{
    uint32_t set = ((uint32_t)1 << x->q->nfree) - 1;
    for (bool grew = true; grew && set != 0;) {
        struct pick step = {.q = x->q};
        uint32_t best = 0;
        for (int k = 0; k < x->q->nfree; k++) {
            struct pick one = {.q = x->q};
            if ((set >> k & 1) != 0) {
                try_set(&one, set & ~((uint32_t)1 << k), 0);
            }
            if (one.found && (!step.found || one.cost < step.cost)) {
                step = one;
                best = (uint32_t)1 << k;
            }
        }
        grew = step.found;
        if (grew) {
            *x = step;
            set &= ~best;
        }
    }
}

/* As few dims as possible are not doubled; of equal choices the one that shrinks them least, then
 * the cheapest: so it is the most costly dims that give way. */
bool kg_search_double(const struct kg_search *q, struct kg_shape *out)
{
    struct pick x = {.q = q};
    for (int size = 0; size <= q->nfree && !x.found && x.shapes < MAX_SHAPES; size++) {
        each_subset(q->nfree, size, try_double, &x);
    }
    if (!x.found) {
        double_greedily(&x);
    }
    if (x.found) {
        *out = x.best;
    }
    return x.found;
}

/* All free dims 1 but those in set, which keep their default; a lone one is shrunk at once, which
 * finds shapes such as heads = 1, width = 64 under `width == heads * 64`. */
static bool try_ones(void *state, uint32_t set)
{
    struct pick *x = state;
    struct kg_shape s = x->q->def;
    double cost;
    for (int k = 0; k < x->q->nfree; k++) {
        if ((set >> k & 1) == 0) {
            s.dim[x->q->free[k]] = 1;
        }
    }
    x->shapes++;
    bool lone = set != 0 && (set & (set - 1)) == 0;
    if (lone && kg_search_shrink(x->q, __builtin_ctz(set), &s)) {
        x->shapes++;
    }
    if (kg_search_accept(x->q, &s, &cost)) {
        offer(x, &s, 0, cost);
    }
    return x->shapes < MAX_SHAPES;
}

bool kg_search_ones(const struct kg_search *q, struct kg_shape *out)
{
    struct pick x = {.q = q};
    for (int size = 0; size < q->nfree && !x.found && x.shapes < MAX_SHAPES; size++) {
        each_subset(q->nfree, size, try_ones, &x);
    }
    *out = x.found ? x.best : q->def;
    bool shrunk = kg_search_shrink_all(q, 1, out);
    return x.found || shrunk;
}
