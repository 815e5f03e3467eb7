/* Draws cases for C candidates: kept ones with known answers, and new ones. */
#include "gym/native/case_pool.h"

#include <string.h>

void kg_case_pool_reset(struct kg_case_pool *pool)
{
    memset(pool, 0, sizeof *pool);
}

void kg_case_pool_round(struct kg_case_pool *pool)
{
    pool->round++;
}

static bool is_kind(const struct kg_pooled_case *c, const struct kg_case_pool_kind *k)
{
    return c->number && c->variant == k->variant && c->c.law == k->law &&
           c->c.edited == k->edited && (c->c.jitter == 0) == k->aligned;
}

/* It may be drawn: in this round it was not. Before the first round any may. */
static bool is_left(const struct kg_case_pool *pool, const struct kg_pooled_case *c)
{
    return pool->round == 0 || c->round != pool->round;
}

/* A slot for a new case: an unused one, else the oldest of the pool. */
static struct kg_pooled_case *free_slot(struct kg_case_pool *pool)
{
    struct kg_pooled_case *oldest = &pool->cases[0];
    for (size_t i = 0; i < KG_CASE_POOL_MAX; i++) {
        struct kg_pooled_case *c = &pool->cases[i];
        if (!c->number) {
            return c;
        }
        if (c->age < oldest->age) {
            oldest = c;
        }
    }
    return oldest;
}

static bool make_case(struct kg_case_pool *pool, const struct kg_problem *p,
                      const struct kg_case_pool_kind *k, struct kg_rng *rng,
                      struct kg_pooled_case *out)
{
    struct kg_pooled_case c = {.variant = k->variant, .age = pool->draws, .round = pool->round};
    if (!kg_variant_shape(p, k->variant, rng, &c.c.shape)) {
        return false;
    }
    c.c.law = k->law;
    c.c.edited = k->edited;
    /* Candidates share few cases, so that chance must not leave out the large strays for all. */
    do {
        kg_rng_bytes(rng, &c.c.key, sizeof c.c.key);
    } while (k->law == KG_LAW_STRAYS && k->aligned && !kg_law_strays_large(c.c.key));
    c.c.jitter = k->aligned ? 0 : kg_rng_u64(rng) | 1;
    c.number = (uint64_t)(out - pool->cases) + 1; /* what the judge kept of the slot before, goes */
    *out = c;
    return true;
}

bool kg_case_pool_has(const struct kg_case_pool *pool, const struct kg_case_pool_kind *kind)
{
    for (size_t i = 0; i < KG_CASE_POOL_MAX; i++) {
        const struct kg_pooled_case *c = &pool->cases[i];
        if (is_kind(c, kind) && is_left(pool, c)) {
            return true;
        }
    }
    return false;
}

bool kg_case_pool_draw(struct kg_case_pool *pool, const struct kg_problem *p,
                       const struct kg_case_pool_kind *kind, struct kg_rng *rng,
                       struct kg_pooled_case **out, bool *fresh)
{
    struct kg_pooled_case *have[KG_CASE_POOL_PER_KIND], *oldest = NULL;
    size_t all = 0, n = 0; /* of this kind; those not drawn in this round */
    pool->draws++;
    for (size_t i = 0; i < KG_CASE_POOL_MAX && all < KG_CASE_POOL_PER_KIND; i++) {
        struct kg_pooled_case *c = &pool->cases[i];
        if (is_kind(c, kind)) {
            all++;
            oldest = !oldest || c->age < oldest->age ? c : oldest;
            if (is_left(pool, c)) {
                have[n++] = c;
            }
        }
    }
    bool full = all == KG_CASE_POOL_PER_KIND;
    *fresh = n == 0 || kg_rng_below(rng, full ? 64 : 32) == 0;
    if (*fresh) {
        *out = full ? oldest : free_slot(pool);
        return make_case(pool, p, kind, rng, *out);
    }
    *out = have[kg_rng_below(rng, n)];
    (*out)->round = pool->round;
    return true;
}
