/* The task card: facts about a PyTorch problem, measured once. docs/pytorch.md describes the keys.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "gym/eval/context.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/precision.h"
#include "gym/torch/judging/shapes.h"
#include "gym/torch/onboard/torch_onboard.h"

static json_t *shape_of(const struct kg_tleaf *leaf)
{
    json_t *shape = json_array();
    for (uint32_t d = 0; d < leaf->rank; d++) {
        json_array_append_new(shape, json_integer(leaf->shape[d]));
    }
    return shape;
}

static json_t *tensor(const struct kg_tleaf *leaf, const struct kg_tstats *s)
{
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:I}", "dtype", kg_tdtype_name((enum kg_tdtype)leaf->dtype),
        "shape", shape_of(leaf), "min", kg_json_real(s->min), "max", kg_json_real(s->max), "mean",
        kg_json_real(s->mean), "sd", kg_json_real(s->sd), "distinct", (json_int_t)s->distinct);
}

static const char *need_name(enum kg_task_need need)
{
    return need == KG_TN_IDLE       ? "idle"
           : need == KG_TN_CONSTANT ? "constant"
           : need == KG_TN_TIED     ? "tied"
                                    : "needed";
}

static void tell_tensors(const struct kg_task_desc *d, json_t *card)
{
    json_t *inputs = json_array(), *outputs = json_array(), *state = json_array();
    for (size_t i = 0; i < d->ninputs; i++) {
        json_t *t = tensor(&d->input[i].leaf, &d->input[i].stats);
        json_object_set_new(t, "stride", kg_task_strides(&d->input[i].leaf));
        json_object_set_new(t, "judge_may_draw", json_boolean(kg_tplan_free(&d->input[i])));
        json_object_set_new(t, "structure", kg_task_structure(&d->input[i]));
        json_array_append_new(inputs, t);
    }
    for (size_t i = 0; i < d->noutputs; i++) {
        json_array_append_new(outputs, tensor(&d->output[i].leaf, &d->output[i].stats));
    }
    for (size_t i = 0; i < d->nstate; i++) {
        json_t *t = tensor(&d->state[i].leaf, &d->state[i].stats);
        json_object_set_new(t, "name", json_string(d->state[i].leaf.name));
        json_object_set_new(t, "buffer", json_boolean(d->state[i].buffer));
        json_object_set_new(t, "need", json_string(need_name(d->state[i].need)));
        json_object_set_new(t, "structured", json_boolean(d->state[i].structured));
        json_array_append_new(state, t);
    }
    json_object_set_new(card, "inputs", inputs);
    json_object_set_new(card, "outputs", outputs);
    json_object_set_new(card, "state", state);
}

static void tell_laws(const struct kg_tinstance *s, json_t *card)
{
    json_t *constants = json_object(), *laws = json_array();
    for (size_t i = 0; i < s->desc.nconstants; i++) {
        json_object_set_new(constants, s->desc.constant[i].name,
                            json_integer(s->desc.constant[i].value));
    }
    for (int l = 0; l < KG_TL_COUNT; l++) {
        if (s->cases[l].ready && s->cases[l].applies) {
            json_array_append_new(laws, json_string(kg_tlaw_name((enum kg_tlaw)l)));
        }
    }
    json_object_set_new(card, "constants", constants);
    json_object_set_new(card, "laws", laws);
}

/* What any kernel must move, and what it must calculate if each element of the answer sums K
 * products: estimates, of sizes alone. */
static void tell_work(const struct kg_task_desc *d, json_t *card)
{
    int64_t k = kg_tplan_reduction(d);
    double answer = 0;
    for (size_t i = 0; i < d->noutputs; i++) {
        answer += (double)kg_tleaf_count(&d->output[i].leaf);
    }
    json_object_set_new(card, "K", json_integer(k));
    json_object_set_new(card, "bytes_min",
                        json_integer((json_int_t)d->input_bytes + (json_int_t)d->output_bytes));
    json_object_set_new(card, "flops_estimate", json_real(answer * (k > 1 ? 2 * (double)k : 1)));
}

/* exact: float and double agree bit for bit under all laws: copies, comparisons, whole numbers. Not
 * asked under `offset`, where the float answer is one to moved inputs. */
static void tell_oracle(const struct kg_tlook *k, const struct kg_tinstance *s, json_t *card)
{
    enum kg_toracle oracle = kg_tcase_oracle(s, &s->cases[KG_TL_OWN]);
    bool known = oracle == KG_TO_FP64, seen = false;
    double own = k->e_ref[KG_TL_OWN], most = 0;
    for (int l = 0; l < KG_TL_COUNT; l++) {
        bool counts =
            l != KG_TL_OFFSET && s->cases[l].ready && s->cases[l].applies && !isnan(k->e_ref[l]);
        most = counts ? fmax(most, k->e_ref[l]) : most;
        seen = seen || counts;
    }
    json_object_set_new(card, "oracle", json_string(kg_toracle_name(oracle)));
    json_object_set_new(card, "e_ref", known ? kg_json_real(own) : json_null());
    json_object_set_new(card, "exact", known && seen ? json_boolean(most == 0) : json_null());
}

json_t *kg_tcard_make(const struct kg_tlook *k, const struct kg_tinstance *s)
{
    const struct kg_tproblem *p = kg_torch_of(k->w)->problem;
    const struct kg_task_desc *d = &s->desc;
    json_t *card = json_pack("{s:s, s:s, s:i, s:s, s:s, s:b, s:b}", "task", p->name, "suite",
                             p->suite, "level", p->level, "entry", p->entry, "sha256", p->sha256,
                             "random", d->random, "updates_state", d->updates_state);
    tell_tensors(d, card);
    tell_laws(s, card);
    tell_work(d, card);
    tell_oracle(k, s, card);
    static const char *const unknown[] = {"reference_ns", "launch_bound"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        json_object_set_new(card, unknown[i], json_null());
    }
    json_object_set(card, "panel", k->panel);
    json_object_set(card, "torch", json_object_get(kg_torch_of(k->w)->zygote[0].facts, "torch"));
    json_object_set_new(card, "device", json_string(kg_torch_of(k->w)->device));
    return card;
}

/* "n=511 dim=3", of what is not as published. */
static json_t *differences(const json_t *consts, const struct kg_task_desc *d)
{
    struct kg_buf b;
    kg_buf_init(&b, 4096);
    for (size_t i = 0; i < d->nconstants; i++) {
        const json_t *v = json_object_get(consts, d->constant[i].name);
        if (json_integer_value(v) != d->constant[i].value) {
            kg_buf_addf(&b, "%s%s=%lld", b.len ? " " : "", d->constant[i].name,
                        (long long)json_integer_value(v));
        }
    }
    json_t *text = json_string(b.data);
    kg_buf_deinit(&b);
    return text;
}

static bool holds(const json_t *list, const json_t *text)
{
    size_t i;
    json_t *v;
    json_array_foreach((json_t *)(uintptr_t)list, i, v)
    {
        if (json_equal(v, text)) {
            return true;
        }
    }
    return false;
}

json_t *kg_tcard_variants(struct kg_worker *w, const struct kg_tinstance *s, int most)
{
    struct kg_tinstance *other = &kg_torch_of(w)->instance[KG_INSTANCE_SHAPE];
    json_t *found = json_array();
    for (int i = 0; i < most && s->desc.nconstants > 0 && !*w->cancelled; i++) {
        bool good = kg_tshapes_other(w, s, other, i % 2, &w->rng);
        json_t *text = good ? differences(other->consts, &s->desc) : json_null();
        kg_tinstance_close(w, other);
        if (good && !holds(found, text)) {
            json_array_append(found, text);
        }
        json_decref(text);
    }
    return found;
}
