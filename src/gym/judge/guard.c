/* Guards: a pattern in the zones around arrays, written before a call and checked after it. */
#include <string.h>

#include "gym/judge/state.h"

#define CHUNK 4096 /* bytes of pattern that are made at a time */

struct zone {
    uint64_t from, to;
    int before, after; /* arguments on either side of the zone; -1: none */
};

static int zones_of(const struct kg_problem *p, const struct kg_layout *l, enum kg_role role,
                    uint64_t base, struct zone out[KG_MAX_ARGS + 1])
{
    int n = 0, last = -1;
    uint64_t at = base;
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role == role) {
            out[n++] = (struct zone){at, l->offset[k], last, k};
            at = l->offset[k] + l->bytes[k];
            last = k;
        }
    }
    out[n++] = (struct zone){at, role == KG_ROLE_IN ? l->in_end : l->out_end, last, -1};
    return n;
}

/* Every 32-bit word is a NaN as f32, part of a NaN as f64, and a huge index as an integer. So a
 * kernel that reads beyond an array gets a wrong answer. 20 bits of each word are random. */
static void pattern(struct kg_rng *r, unsigned char *out, size_t n)
{
    uint32_t word[CHUNK / 4];
    kg_rng_bytes(r, word, sizeof word);
    for (size_t i = 0; i < CHUNK / 4; i++) {
        word[i] = (word[i] & 0x8007ffff) | 0x7ff80000;
    }
    memcpy(out, word, n);
}

void kg_judge_guard_set(const struct kg_problem *p, const struct kg_layout *l, enum kg_role role,
                        uint64_t base, struct kg_key nonce, unsigned char *map)
{
    struct zone z[KG_MAX_ARGS + 1];
    struct kg_rng r;
    int n = zones_of(p, l, role, base, z);
    kg_rng_init(&r, nonce, (uint64_t)role);
    for (int k = 0; k < n; k++) {
        for (uint64_t at = z[k].from; at < z[k].to; at += CHUNK) {
            pattern(&r, map + at, z[k].to - at < CHUNK ? (size_t)(z[k].to - at) : CHUNK);
        }
    }
    kg_rng_deinit(&r);
}

/* The array to name for a changed guard byte: the nearer one. */
static void blame(const struct kg_layout *l, const struct zone *z, uint64_t at, int *arg,
                  int64_t *offset)
{
    bool to_before = z->after < 0 || (z->before >= 0 && at - z->from < z->to - at);
    *arg = to_before ? z->before : z->after;
    *offset = *arg < 0 ? 0 : (int64_t)(at - l->offset[*arg]);
}

bool kg_judge_guard_check(const struct kg_problem *p, const struct kg_layout *l, enum kg_role role,
                          uint64_t base, struct kg_key nonce, const unsigned char *map, int *arg,
                          int64_t *at)
{
    struct zone z[KG_MAX_ARGS + 1];
    unsigned char want[CHUNK];
    struct kg_rng r;
    int n = zones_of(p, l, role, base, z);
    bool good = true;
    kg_rng_init(&r, nonce, (uint64_t)role);
    for (int k = 0; k < n && good; k++) {
        for (uint64_t from = z[k].from; from < z[k].to && good; from += CHUNK) {
            size_t part = z[k].to - from < CHUNK ? (size_t)(z[k].to - from) : CHUNK;
            pattern(&r, want, part);
            for (size_t i = 0; good && i < part && memcmp(want, map + from, part) != 0; i++) {
                if (want[i] != map[from + i]) {
                    blame(l, &z[k], from + i, arg, at);
                    good = false;
                }
            }
        }
    }
    kg_rng_deinit(&r);
    return good;
}
