/* Digests of answers, and the ring in which replays are searched. */
#include <string.h>

#include "gym/judge/state.h"
#include "gym/verify/compare.h"

#define LANES 32 /* independent chains, as many as a processor can overlap */

/* A keyed multiply and rotate. It only has to prevent matches by chance, because runners do not
 * know the key. */
static uint64_t step(uint64_t h, uint64_t w)
{
    h = (h ^ w) * 0x9fb21c651e98df25u;
    return h ^ h >> 29;
}

uint64_t kg_judge_digest_of(struct kg_key secret, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t lane[LANES], h = secret.w[1] ^ n;
    for (int k = 0; k < LANES; k++) {
        lane[k] = secret.w[0] + (uint64_t)k * 0x9e3779b97f4a7c15u;
    }
    size_t i = 0;
    for (; i + sizeof lane <= n; i += sizeof lane) {
        uint64_t w[LANES];
        memcpy(w, p + i, sizeof w);
        for (int k = 0; k < LANES; k++) {
            lane[k] = step(lane[k], w[k]);
        }
    }
    for (uint64_t w; i + sizeof w <= n; i += sizeof w) {
        memcpy(&w, p + i, sizeof w);
        h = step(h, w);
    }
    for (; i < n; i++) {
        h = step(h, p[i]);
    }
    for (int k = 0; k < LANES; k++) {
        h = step(h, lane[k]);
    }
    return step(h, secret.w[1]);
}

bool kg_judge_degenerate(enum kg_dtype dtype, const void *v, size_t n)
{
    return kg_few_values(v, n, kg_dtype_bytes(dtype), dtype == KG_F32 || dtype == KG_F64);
}

static bool same_key(struct kg_key a, struct kg_key b)
{
    return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

void kg_judge_ring_add(struct kg_judge_ring *r, int arg, const struct kg_case *c, uint64_t digest)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct kg_judge_digest *e = &r->e[i];
        if (e->digest == digest && e->arg == arg && same_key(e->key, c->key) &&
            e->edited == c->edited) {
            return;
        }
    }
    r->e[r->next] = (struct kg_judge_digest){digest, c->key, c->edited, arg};
    r->next = (r->next + 1) % KG_JUDGE_DIGESTS;
    r->n = r->n < KG_JUDGE_DIGESTS ? r->n + 1 : r->n;
}

bool kg_judge_ring_has(const struct kg_judge_ring *r, int arg, const struct kg_case *c,
                       uint64_t digest)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct kg_judge_digest *e = &r->e[i];
        if (e->digest == digest && e->arg == arg && !same_key(e->key, c->key)) {
            return true;
        }
    }
    return false;
}

bool kg_judge_ring_has_twin(const struct kg_judge_ring *r, int arg, const struct kg_case *c,
                            uint64_t digest)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct kg_judge_digest *e = &r->e[i];
        if (e->digest == digest && e->arg == arg && same_key(e->key, c->key) &&
            e->edited != c->edited) {
            return true;
        }
    }
    return false;
}
