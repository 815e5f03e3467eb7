/* What onboarding makes of a PyTorch problem and judges: the panel, answers that take no work or
 * that a right one is far from, and the reference with an input or a parameter frozen. */
#include <string.h>

#include "base/json.h"
#include "gym/torch/onboard/panel_source.h"
#include "gym/torch/onboard/torch_onboard.h"

#define MOST_INPUTS     16 /* that are frozen one by one */
#define MOST_PARAMETERS 16

/* Along the only axis of several elements the mean is that of the whole. */
void kg_tpanel_plan(const struct kg_task_desc *d, struct kg_tpanel *p)
{
    *p = (struct kg_tpanel){.inputs = d->ninputs < MOST_INPUTS ? d->ninputs : MOST_INPUTS};
    for (size_t i = 0; i < d->noutputs; i++) {
        const struct kg_tleaf *leaf = &d->output[i].leaf;
        int64_t n = (int64_t)kg_tleaf_count(leaf);
        p->shuffled = p->shuffled || n > 1;
        for (uint32_t a = 0; a < leaf->rank; a++) {
            p->axis[a] = p->axis[a] || (leaf->shape[a] > 1 && leaf->shape[a] < n);
        }
    }
}

static enum kg_code try(struct kg_tlook *k, const char *name, const struct kg_buf *source,
                        struct kg_err *err)
{
    if (kg_onboard_judge(k->w, k->path, k->o, name, source, KG_WANT_WRONG, err) != KG_OK) {
        return err->code;
    }
    const struct kg_onboard_check *c = &k->o->check[k->o->n - 1];
    json_object_set_new(k->panel, name, !c->pass ? json_real(0) : kg_json_real(c->off));
    return KG_OK;
}

static enum kg_code try_inputs(struct kg_tlook *k, const struct kg_tpanel *p, struct kg_buf *src,
                               struct kg_err *err)
{
    enum kg_code code = KG_OK;
    char name[32];
    for (size_t i = 0; i < p->inputs && code == KG_OK; i++) {
        kg_buf_reset(src);
        kg_tprobe_input(kg_torch_of(k->w)->problem, i, src);
        snprintf(name, sizeof name, i == 0 ? "first input" : "input %zu", i);
        code = try(k, name, src, err);
    }
    return code;
}

static enum kg_code try_axes(struct kg_tlook *k, const struct kg_tpanel *p, struct kg_buf *src,
                             struct kg_err *err)
{
    enum kg_code code = KG_OK;
    char name[32];
    for (uint32_t a = 0; a < KG_TWIRE_RANK && code == KG_OK; a++) {
        if (p->axis[a]) {
            kg_buf_reset(src);
            kg_tprobe_axis(kg_torch_of(k->w)->problem, a, src);
            snprintf(name, sizeof name, "axis %u", a);
            code = try(k, name, src, err);
        }
    }
    return code;
}

enum kg_code kg_tpanel_try(struct kg_tlook *k, const struct kg_tpanel *p, struct kg_err *err)
{
    struct kg_buf src;
    enum kg_code code = KG_OK;
    kg_buf_init(&src, 1 << 20);
    for (int t = KG_TPROBE_REFERENCE + 1; t < KG_TPROBE_COUNT && code == KG_OK; t++) {
        if (t != KG_TPROBE_SHUFFLED || p->shuffled) {
            kg_buf_reset(&src);
            kg_tprobe_source(kg_torch_of(k->w)->problem, (enum kg_tprobe)t, &src);
            code = try(k, kg_tprobe_name((enum kg_tprobe)t), &src, err);
        }
    }
    code = code == KG_OK ? try_inputs(k, p, &src, err) : code;
    code = code == KG_OK ? try_axes(k, p, &src, err) : code;
    kg_buf_deinit(&src);
    return code;
}

/* --- does everything matter? --- */

/* An index that is the same in every call: what it would be instead is not known. */
static bool cannot_be_frozen(const struct kg_task_input *in)
{
    bool number = kg_tdtype_floating((enum kg_tdtype)in->leaf.dtype);
    return in->stats.fixed && in->stats.distinct == 1 && !number && in->leaf.dtype != KG_TD_BOOL;
}

enum kg_code kg_tpanel_freeze_inputs(struct kg_tlook *k, struct kg_err *err)
{
    const struct kg_task_desc *d = &kg_torch_of(k->w)->instance[KG_INSTANCE_PUBLISHED].desc;
    bool left_out[MOST_INPUTS] = {false};
    size_t n = d->ninputs < MOST_INPUTS ? d->ninputs : MOST_INPUTS;
    struct kg_buf src;
    char label[64];
    enum kg_code code = KG_OK;
    for (size_t i = 0; i < n; i++) { /* judging may describe it anew */
        left_out[i] = cannot_be_frozen(&d->input[i]);
    }
    kg_buf_init(&src, 1 << 20);
    for (size_t i = 0; i < n && code == KG_OK; i++) {
        if (left_out[i]) {
            continue;
        }
        kg_buf_reset(&src);
        kg_tprobe_frozen_input(kg_torch_of(k->w)->problem, i, &src);
        snprintf(label, sizeof label, "frozen input %zu", i);
        code = kg_onboard_judge(k->w, k->path, k->o, label, &src, KG_WANT_FELT, err);
    }
    kg_buf_deinit(&src);
    return code;
}

/* A parameter without influence (a bias before a normalisation) is no defect, it is said; a module
 * of which none matters is. */
enum kg_code kg_tpanel_freeze_parameters(struct kg_tlook *k, struct kg_err *err)
{
    struct kg_onboard *o = k->o;
    const struct kg_task_desc *d = &kg_torch_of(k->w)->instance[KG_INSTANCE_PUBLISHED].desc;
    char name[MOST_PARAMETERS][KG_TWIRE_NAME];
    size_t n = 0, matter = 0;
    bool limit = false;
    for (size_t i = 0; i < d->nstate && n < MOST_PARAMETERS; i++) {
        if (!d->state[i].buffer && !strpbrk(d->state[i].leaf.name, "\"\\")) {
            memcpy(name[n++], d->state[i].leaf.name, KG_TWIRE_NAME);
        }
    }
    json_t *idle = json_array();
    struct kg_onboard each = {.n = 0};
    struct kg_buf src;
    enum kg_code code = KG_OK;
    kg_buf_init(&src, 1 << 20);
    for (size_t i = 0; i < n && code == KG_OK; i++) {
        kg_buf_reset(&src);
        kg_tprobe_frozen_parameter(kg_torch_of(k->w)->problem, name[i], &src);
        code = kg_onboard_judge(k->w, k->path, &each, "parameter", &src, KG_WANT_FELT, err);
        bool matters = code == KG_OK && each.check[each.n - 1].pass;
        matter += matters;
        limit = limit || (code == KG_OK && each.check[each.n - 1].limit);
        if (code == KG_OK && !matters) {
            json_array_append_new(idle, json_string(name[i]));
        }
    }
    kg_buf_deinit(&src);
    if (code == KG_OK && n > 0) {
        struct kg_onboard_check *c = kg_onboard_add(o, "parameters");
        c->pass = matter > 0;
        c->limit = limit;
        snprintf(c->detail, sizeof c->detail,
                 "%zu of %zu parameters that were frozen change the answer", matter, n);
    }
    json_object_set_new(o->card, "idle_parameters", idle);
    return code;
}
