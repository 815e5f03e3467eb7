/* Which tensors of a call's state are off, and which of them other choices explain. */
#include "gym/torch/judging/state_choices.h"

#include "gym/torch/judging/case_choices.h"
#include "gym/torch/judging/cases.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/state_parts.h"

static enum kg_code look(struct kg_worker *w, int id, struct kg_toff_tensor *t, struct kg_err *err)
{
    return kg_dj_compare_left(&kg_torch_of(w)->judge, id, t->at, t->before, t->was, &t->j, err);
}

enum kg_code kg_toff_find(struct kg_worker *w, struct kg_tinstance *s, const struct kg_tcase *c,
                          int id, size_t part, int set, struct kg_toff *out, struct kg_err *err)
{
    const struct kg_task_desc *d = &s->desc;
    const size_t from = part * KG_TWIRE_LEAVES;
    int loaded;
    out->id = kg_tstate_id(id, part);
    out->n = 0;
    if (kg_tinstance_state(w, s, set, &loaded, err) != KG_OK) {
        return err->code;
    }
    for (size_t i = 0, left = 0; i < d->nstate && left < from + KG_TWIRE_LEAVES; i++) {
        struct kg_toff_tensor *t = &out->tensor[out->n];
        if (!kg_task_left(&d->state[i]) || left++ < from) {
            continue;
        }
        t->at = (int)(left - 1 - from);
        t->before = kg_tstate_id(loaded, i / KG_TWIRE_LEAVES);
        t->was = (int)(i % KG_TWIRE_LEAVES);
        if (look(w, out->id, t, err) != KG_OK) {
            return err->code;
        }
        bool right = t->j.compare.pass || (c != NULL && kg_tcase_lets_off(c, &t->j));
        out->n += right ? 0 : 1;
    }
    return KG_OK;
}

bool kg_toff_may(const struct kg_toff *off)
{
    bool may = off->n > 0;
    for (size_t i = 0; i < off->n; i++) {
        may = may && kg_tchoices_state_may(&off->tensor[i].j);
    }
    return may;
}

enum kg_code kg_toff_drop(struct kg_worker *w, struct kg_toff *off, struct kg_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < off->n; i++) {
        struct kg_toff_tensor own = off->tensor[i];
        if (look(w, off->id, &own, err) != KG_OK) {
            return err->code;
        }
        if (!kg_tchoices_as_far(&off->tensor[i].j, &own.j) ||
            !kg_tchoices_moved(&off->tensor[i].j, &own.j)) {
            off->tensor[n++] = off->tensor[i];
        }
    }
    off->n = n;
    return KG_OK;
}

void kg_toff_judge(const struct kg_toff *off, struct kg_dj_judgement *j)
{
    if (off->n > 0) {
        *j = off->tensor[0].j;
    }
    j->compare.pass = off->n == 0;
}
