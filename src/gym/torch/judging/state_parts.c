/* Cuts the list of a module's tensors into parts of one command each. */
#include "gym/torch/judging/state_parts.h"

size_t kg_tstate_parts(size_t n)
{
    return n > 0 ? (n + KG_TWIRE_LEAVES - 1) / KG_TWIRE_LEAVES : 1;
}

int kg_tstate_id(int id, size_t part)
{
    return id < 0 ? id : id + (int)part * KG_TORCH_CASES;
}

void kg_tstate_part(struct kg_dj_call *call, int id, size_t n, size_t part)
{
    bool more = part + 1 < kg_tstate_parts(n);
    call->id = kg_tstate_id(id, part);
    call->flags &= ~(uint32_t)(KG_TF_PARTS | KG_TF_MORE);
    call->flags |= (uint32_t)part * KG_TF_PART | (more ? KG_TF_MORE : 0);
}

enum kg_code kg_tstate_begin(struct kg_worker *w, const struct kg_task_desc *d, int id, bool left,
                             struct kg_err *err)
{
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    size_t whole = left ? d->nleft : d->nstate, at = 0;
    for (size_t part = 0; part < kg_tstate_parts(whole); part++) {
        size_t n = 0;
        for (; at < d->nstate && n < KG_TWIRE_LEAVES; at++) {
            if (!left || kg_task_left(&d->state[at])) {
                leaf[n++] = d->state[at].leaf;
            }
        }
        if (kg_dj_case_begin(&kg_torch_of(w)->judge, kg_tstate_id(id, part), leaf, n, err) !=
            KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

void kg_tstate_forget(struct kg_worker *w, const struct kg_task_desc *d, int id, int n)
{
    struct kg_err ignored = KG_ERR_INIT;
    for (size_t part = 0; part < kg_tstate_parts(d->nstate); part++) {
        (void)!kg_dj_case_forget(&kg_torch_of(w)->judge, kg_tstate_id(id, part), n, &ignored);
    }
}
