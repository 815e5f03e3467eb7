/* Which cases a worker keeps, and which laws are asked where there is no room for all. */
#include "gym/torch/judging/cases.h"
#include "gym/torch/judging/cases_private.h"
#include "gym/torch/judging/state_parts.h"

#define KEEP    4 /* evaluations that a case of a law serves that is drawn: then another is */
#define PART    8 /* cases of all laws may take such a part of the device's memory, */
#define ANSWERS 3 /* each in float and in double */

/* A judge that cannot be told has forgotten it. */
void kg_tcase_forget(struct kg_worker *w, const struct kg_tinstance *s, const struct kg_tcase *c)
{
    struct kg_dj *judge = &kg_torch_of(w)->judge;
    struct kg_err ignored = KG_ERR_INIT;
    (void)!kg_dj_case_forget(judge, c->id, 1, &ignored);
    if (c->after_id >= 0) {
        kg_tstate_forget(w, &s->desc, c->after_id, 1);
    }
    if (c->written_id >= 0) {
        (void)!kg_dj_case_forget(judge, c->written_id, 2, &ignored); /* and unwritten_id */
    }
}

bool kg_tcases_fit(const struct kg_worker *w, const struct kg_tinstance *s)
{
    const struct kg_dj_facts *f = &kg_torch_of(w)->judge.facts;
    uint64_t one = s->desc.input_bytes + ANSWERS * s->desc.output_bytes;
    return f->memory_bytes <= 0 || one * KG_TL_COUNT <= (uint64_t)f->memory_bytes / PART;
}

void kg_tcases_rank(struct kg_worker *w, struct kg_tinstance *s, uint64_t rank[KG_TL_COUNT])
{
    bool fit = kg_tcases_fit(w, s);
    for (int l = 0; l < KG_TL_COUNT; l++) {
        struct kg_tcase *c = &s->cases[l];
        if (!fit && l >= KG_TL_DRAWN && c->ready && c->asked >= KEEP) {
            kg_tcase_forget(w, s, c);
            c->ready = false;
        }
        rank[l] = c->ready && c->applies ? 0 : 1 + c->ever;
    }
}
