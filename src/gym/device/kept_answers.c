/* Keeps candidates' answers, so that the oracle is asked about them after timing. The reference's
 * own answer is kept with each of them, because then it need not be asked again. */
#include "gym/device/device_state.h"

static void swap(struct kg_dj_answer *a, struct kg_dj_answer *b)
{
    struct kg_dj_answer was = *a;
    *a = *b;
    *b = was;
}

/* Copies an answer. FLOAT also stays where it is, because null calls digest the same places. */
static enum kg_code copy(struct kg_dj_state *s, const struct kg_dj_answer *from,
                         struct kg_dj_answer *to, struct kg_err *err)
{
    to->there = false;
    if (kg_dj_reserve(s, &to->block, &to->cap, from->cap, err) != KG_OK) {
        return err->code;
    }
    uint64_t block = to->block, cap = to->cap;
    *to = *from;
    to->block = block;
    to->cap = cap;
    for (uint32_t i = 0; i < to->n; i++) {
        to->at[i] = from->at[i] - from->block + block;
        to->diff[i] = 0;
        to->host[i] = NULL;
    }
    s->dev.ops->copy(&s->dev, block, from->block, from->cap);
    return KG_OK;
}

/* The block for the next answer is reserved first. So no call can run out of memory during
 * timing. */
enum kg_code kg_dj_do_keep(struct kg_dj_state *s, int id, int slot, bool *kept, struct kg_err *err)
{
    struct kg_dj_kept *a = &s->kept[slot];
    struct kg_dj_case *c;
    struct kg_err full = KG_ERR_INIT;
    *kept = false;
    if (kg_dj_case_need(s, id, &c, err) != KG_OK) {
        return err->code;
    }
    if (!s->candidate.there || s->candidate_case != id || !c->digested || !c->side[0].there) {
        return kg_fail(err, KG_E_GYM, "judge: there is no answer to case %d to set aside", id);
    }
    a->id = -1;
    a->of = id;
    if (kg_dj_reserve(s, &a->answer.block, &a->answer.cap, s->candidate.cap, &full) != KG_OK ||
        copy(s, &c->side[0], &a->expected, &full) != KG_OK) {
        return KG_OK;
    }
    swap(&a->answer, &s->candidate);
    s->candidate.there = false;
    s->candidate_case = s->candidate_port = -1;
    a->id = id;
    a->inputs = c->inputs;
    *kept = true;
    return KG_OK;
}

/* Restores a kept answer only if the case has the same inputs, bit for bit and at the same
 * place. */
enum kg_code kg_dj_do_recall(struct kg_dj_state *s, int id, int slot, bool *same,
                             struct kg_err *err)
{
    struct kg_dj_kept *a = &s->kept[slot];
    struct kg_dj_case *c;
    *same = false;
    if (kg_dj_case_need(s, id, &c, err) != KG_OK || kg_dj_case_complete(s, c, err) != KG_OK) {
        return err->code;
    }
    if (a->id != id) {
        return kg_fail(err, KG_E_GYM, "judge: no answer to case %d was set aside there", id);
    }
    *same = kg_dj_same_digest(a->inputs, c->inputs);
    if (*same) {
        swap(&a->answer, &s->candidate);
        swap(&a->expected, &c->side[0]);
        c->side[1].there = false; /* it may differ from the other answer in float by what is kept */
        c->bounds_there = false;
        s->candidate_case = id;
        s->candidate_port = -1;
        a->id = -1;
    }
    return KG_OK;
}

void kg_dj_kept_drop(struct kg_dj_state *s, int id)
{
    for (int k = 0; k < KG_DJ_KEPT_SLOTS; k++) {
        if (id < 0 || s->kept[k].of == id) {
            kg_dj_answer_drop(s, &s->kept[k].answer);
            kg_dj_answer_drop(s, &s->kept[k].expected);
            s->kept[k].id = s->kept[k].of = -1;
        }
    }
}
