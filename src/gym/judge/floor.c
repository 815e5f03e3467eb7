/* Measures the floor: the time of the judge's own pass over the inputs and outputs of a case. */
#include <string.h>

#include "base/clock.h"
#include "gym/judge/state.h"

#define PASSES 3

/* Vectors of three widths, loaded from any address. */
typedef uint64_t narrow __attribute__((vector_size(16)));
typedef uint64_t middle __attribute__((vector_size(32)));
typedef uint64_t wide __attribute__((vector_size(64)));
typedef uint64_t narrow_load __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint64_t middle_load __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint64_t wide_load __attribute__((vector_size(64), aligned(4), may_alias));

/* No honest kernel may beat the floor. So it uses the widest loads of the machine, and several at a
 * time. It is a macro, because a vector wider than a function's registers would pass through the
 * stack. */
#define FOLD(vector, load, p, n)                                                                   \
    vector a = {0}, b = {0}, c = {0}, d = {0};                                                     \
    for (size_t i = 0; i + 4 * sizeof a <= (n); i += 4 * sizeof a) {                               \
        const load *w = (const load *)((p) + i);                                                   \
        a ^= w[0];                                                                                 \
        b ^= w[1];                                                                                 \
        c ^= w[2];                                                                                 \
        d ^= w[3];                                                                                 \
    }                                                                                              \
    a ^= b ^ c ^ d;                                                                                \
    return a[0] ^ a[1]

static uint64_t fold_plain(const unsigned char *p, size_t n)
{
    FOLD(narrow, narrow_load, p, n);
}

__attribute__((target("avx2"))) static uint64_t fold_avx2(const unsigned char *p, size_t n)
{
    FOLD(middle, middle_load, p, n);
}

__attribute__((target("avx512f"))) static uint64_t fold_avx512(const unsigned char *p, size_t n)
{
    FOLD(wide, wide_load, p, n);
}

static uint64_t read_all(const unsigned char *p, size_t n)
{
    return __builtin_cpu_supports("avx512f") ? fold_avx512(p, n)
           : __builtin_cpu_supports("avx2")  ? fold_avx2(p, n)
                                             : fold_plain(p, n);
}

static int64_t one_pass(const struct kg_problem *p, const struct kg_judge_place *place)
{
    int64_t start = kg_clock_ns();
    uint64_t sum = 0;
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role == KG_ROLE_IN) {
            sum ^= read_all(place->in->map + place->layout.offset[k], place->layout.bytes[k]);
        }
    }
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role == KG_ROLE_OUT) {
            memset(place->out->map + place->layout.offset[k], (int)(sum & 0xff),
                   place->layout.bytes[k]);
        }
    }
    return kg_clock_ns() - start;
}

enum kg_code kg_judge_do_floor(struct kg_judge_state *s, const struct kg_case *c, int64_t *ns,
                               struct kg_err *err)
{
    struct kg_judge_place place;
    if (kg_judge_place(s, c, false, &place, err) != KG_OK) {
        return err->code;
    }
    for (size_t i = 0; i < KG_JUDGE_LIVE;
         i++) { /* the pass destroyed the poison, so a take would find nothing */
        struct kg_judge_live *l = &s->live[i];
        l->used = l->used && (l->wide || l->c.out_base != c->out_base);
    }
    s->dirty[1] = place.layout.out_end > s->dirty[1] ? place.layout.out_end : s->dirty[1];
    *ns = INT64_MAX;
    for (int i = 0; i < PASSES; i++) {
        int64_t t = one_pass(s->problem, &place);
        *ns = t < *ns ? t : *ns;
    }
    return KG_OK;
}
