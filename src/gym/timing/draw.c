/* What a call gets: buffer set, values and law. Warm-ups, primers, timed and further calls are
 * drawn by these functions alike, so that nothing that a process sees tells whether a call is
 * timed. */
#include "gym/timing/session.h"

/* Of 8 calls 5 have own values, 2 have strays and 1 another law. Strays look like own values to
 * anybody who does not read everything, so what reads a sample meets them in timed calls too. */
#define EIGHTHS_OWN    5
#define EIGHTHS_STRAYS 2

void kg_session_draw(struct kg_session *s, struct kg_case *out)
{
    bool again = s->set >= 0 && kg_rng_below(&s->rng, 3) == 0;
    if (!again && s->nsets > 1) {
        int other = s->set < 0 ? (int)kg_rng_below(&s->rng, (uint64_t)s->nsets)
                               : (int)kg_rng_below(&s->rng, (uint64_t)s->nsets - 1);
        s->set = s->set >= 0 && other >= s->set ? other + 1 : other;
    } else if (s->set < 0) {
        s->set = 0;
    }
    *out = (struct kg_case){
        .shape = s->in->shape,
        .law = KG_LAW_OWN,
        .key = kg_key_derive(s->in->key, "timing-values", s->cases++),
        .in_base = (uint64_t)s->set * s->in_stride,
        .out_base = (uint64_t)s->set * s->out_stride,
    };
}

void kg_session_draw_call(struct kg_session *s, struct kg_case *out)
{
    const uint32_t strays = 1u << KG_LAW_STRAYS;
    uint32_t laws = s->in->oracle ? s->in->laws : 0; /* without it no other law can be compared */
    uint64_t eighth = kg_rng_below(&s->rng, 8);
    kg_session_draw(s, out);
    if (eighth < EIGHTHS_OWN || laws == 0) {
        return;
    }
    bool few = eighth < EIGHTHS_OWN + EIGHTHS_STRAYS;
    if (few && (laws & strays)) {
        out->law = KG_LAW_STRAYS;
    } else if (!few && (laws & ~strays)) {
        /* A process that is timed meets each of them soon, and a kernel that fails one there cannot
         * count on another draw. */
        out->law = (enum kg_law)kg_rng_deal(&s->rng, laws & ~strays, &s->dealt);
    }
}

bool kg_session_counts(enum kg_law law)
{
    return law == KG_LAW_OWN || law == KG_LAW_STRAYS;
}
