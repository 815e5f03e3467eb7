/* Is a PyTorch problem fit to judge with? Its own reference must pass as a candidate; trivial
 * answers, and the reference with one input frozen, must not. What was learned is the task card. */
#include <math.h>
#include <string.h>

#include "gym/torch/probes.h"
#include "gym/torch/torch.h"

#define MOST_INPUTS     16 /* that are frozen one by one */
#define MOST_PARAMETERS 16

static struct kg_onboard_check *add(struct kg_onboard *o, const char *name, bool pass,
                                    const char *detail)
{
    struct kg_onboard_check *c = kg_onboard_add(o, name);
    c->pass = pass;
    snprintf(c->detail, sizeof c->detail, "%s", detail);
    return c;
}

/* --- the card --- */

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

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
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:I}", "dtype",
                     kg_tdtype_name((enum kg_tdtype)leaf->dtype), "shape", shape_of(leaf), "min",
                     number(s->min), "max", number(s->max), "mean", number(s->mean), "sd",
                     number(s->sd), "distinct", (json_int_t)s->distinct);
}

static json_t *make_card(const struct kg_tproblem *p, const struct kg_tscene *s)
{
    const struct kg_task_desc *d = &s->desc;
    json_t *inputs = json_array(), *outputs = json_array(), *state = json_array();
    json_t *constants = json_object(), *laws = json_array();
    for (size_t i = 0; i < d->ninputs; i++) {
        json_t *t = tensor(&d->input[i].leaf, &d->input[i].stats);
        json_object_set_new(t, "judge_may_draw", json_boolean(kg_tplan_free(&d->input[i])));
        json_array_append_new(inputs, t);
    }
    for (size_t i = 0; i < d->noutputs; i++) {
        json_array_append_new(outputs, tensor(&d->output[i].leaf, &d->output[i].stats));
    }
    for (size_t i = 0; i < d->nstate; i++) {
        json_t *t = tensor(&d->state[i].leaf, &d->state[i].stats);
        json_object_set_new(t, "name", json_string(d->state[i].leaf.name));
        json_object_set_new(t, "buffer", json_boolean(d->state[i].buffer));
        json_array_append_new(state, t);
    }
    for (size_t i = 0; i < d->nconstants; i++) {
        json_object_set_new(constants, d->constant[i].name, json_integer(d->constant[i].value));
    }
    for (int l = 0; l < KG_TL_COUNT; l++) {
        if (s->cases[l].ready && s->cases[l].applies) {
            json_array_append_new(laws, json_string(kg_tlaw_name((enum kg_tlaw)l)));
        }
    }
    return json_pack("{s:s, s:s, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:I}", "task",
                     p->name, "suite", p->suite, "level", p->level, "entry", p->entry, "sha256",
                     p->sha256, "inputs", inputs, "outputs", outputs, "state", state, "constants",
                     constants, "laws", laws, "random", d->random, "updates_state",
                     d->updates_state, "bytes_min",
                     (json_int_t)d->input_bytes + (json_int_t)d->output_bytes);
}

/* --- looking at it --- */

/* The published scene, open. Errors of the problem are a check that fails: then *out is NULL. */
static enum kg_code open_scene(struct kg_worker *w, const char *path, struct kg_onboard *o,
                               struct kg_tscene **out, struct kg_err *err)
{
    *out = NULL;
    enum kg_code code = kg_executor_torch.problem(w, path, err);
    const char *check = "parses";
    if (code == KG_OK) {
        check = "builds";
        code = kg_tscene_open(w, &w->torch->scene[KG_SCENE_PUBLISHED], err);
    }
    if (code == KG_OK) {
        *out = &w->torch->scene[KG_SCENE_PUBLISHED];
        return KG_OK;
    }
    if (code == KG_E_INPUT || code == KG_E_PROBLEM) {
        add(o, check, false, err->message);
        return KG_OK;
    }
    return code;
}

/* Every law once, so that the card can tell which of them may be asked. */
static enum kg_code ask_laws(struct kg_worker *w, struct kg_tscene *s, struct kg_err *err)
{
    static const bool none[KG_TL_COUNT];
    enum kg_tlaw laws[KG_TL_COUNT];
    struct kg_tcase *c;
    size_t n = kg_tplan_full(&s->desc, true, 0, true, none, &w->rng, laws);
    for (size_t i = 0; i < n; i++) {
        if (kg_cancelled) {
            return kg_fail(err, KG_E_CANCELLED, "interrupted");
        }
        if (kg_tcase_ready(w, s, laws[i], &c, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

static enum kg_code probe(struct kg_worker *w, const char *path, struct kg_onboard *o,
                          enum kg_tprobe which, struct kg_err *err)
{
    struct kg_buf src;
    kg_buf_init(&src, 1 << 20);
    kg_tprobe_source(w->torch->problem, which, &src);
    enum kg_code code = kg_onboard_judge(w, path, o, kg_tprobe_name(which), &src,
                                         which == KG_TPROBE_REFERENCE, err);
    kg_buf_deinit(&src);
    return code;
}

static enum kg_code freeze_inputs(struct kg_worker *w, const char *path, struct kg_onboard *o,
                                  size_t ninputs, struct kg_err *err)
{
    struct kg_buf src;
    char label[64];
    enum kg_code code = KG_OK;
    kg_buf_init(&src, 1 << 20);
    for (size_t i = 0; i < ninputs && i < MOST_INPUTS && code == KG_OK; i++) {
        kg_buf_reset(&src);
        kg_tprobe_frozen_input(w->torch->problem, i, &src);
        snprintf(label, sizeof label, "frozen input %zu", i);
        code = kg_onboard_judge(w, path, o, label, &src, false, err);
    }
    kg_buf_deinit(&src);
    return code;
}

/* A parameter without influence (a bias before a normalisation) is no defect, it is said; a module
 * of which none matters is. */
static enum kg_code freeze_parameters(struct kg_worker *w, const char *path, struct kg_onboard *o,
                                      struct kg_err *err)
{
    const struct kg_task_desc *d = &w->torch->scene[KG_SCENE_PUBLISHED].desc;
    char name[MOST_PARAMETERS][KG_TWIRE_NAME];
    size_t n = 0, matter = 0;
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
        kg_tprobe_frozen_parameter(w->torch->problem, name[i], &src);
        code = kg_onboard_judge(w, path, &each, "parameter", &src, false, err);
        bool matters = code == KG_OK && each.check[each.n - 1].pass;
        matter += matters;
        if (code == KG_OK && !matters) {
            json_array_append_new(idle, json_string(name[i]));
        }
    }
    kg_buf_deinit(&src);
    if (code == KG_OK && n > 0) {
        char detail[200];
        snprintf(detail, sizeof detail, "%zu of %zu parameters that were frozen change the answer",
                 matter, n);
        add(o, "parameters", matter > 0, detail);
    }
    json_object_set_new(o->card, "idle_parameters", idle);
    return code;
}

static enum kg_code examine(struct kg_worker *w, const char *path, struct kg_onboard *o,
                            struct kg_tscene *s, struct kg_err *err)
{
    size_t ninputs = s->desc.ninputs;
    o->in_bytes = (int64_t)s->desc.input_bytes;
    o->out_bytes = (int64_t)s->desc.output_bytes;
    add(o, "deterministic", s->desc.repeats,
        s->desc.repeats ? "the same answer to the same inputs under the same seed"
                        : "another answer to the same inputs under the same seed");
    enum kg_code code = ask_laws(w, s, err);
    if (code == KG_E_PROBLEM) {
        add(o, "oracle", false, err->message);
        o->card = make_card(w->torch->problem, s);
        return KG_OK;
    }
    if (code != KG_OK) {
        return code;
    }
    add(o, "oracle", true,
        s->cases[KG_TL_OWN].self ? "it draws otherwise in double: its oracle is itself"
        : s->single              ? "it does not run in double: its oracle is itself in float"
                                 : "the reference in float and in double agree");
    o->card = make_card(w->torch->problem, s);
    enum kg_toracle oracle = kg_tcase_oracle(s, &s->cases[KG_TL_OWN]);
    json_object_set_new(o->card, "oracle", json_string(kg_toracle_name(oracle)));
    for (int p = 0; p < KG_TPROBE_COUNT; p++) {
        if (probe(w, path, o, (enum kg_tprobe)p, err) != KG_OK) {
            return err->code;
        }
        if (p == KG_TPROBE_REFERENCE && !o->check[o->n - 1].pass) {
            return KG_OK; /* what follows asks the reference, too */
        }
    }
    if (freeze_inputs(w, path, o, ninputs, err) != KG_OK) {
        return err->code;
    }
    return freeze_parameters(w, path, o, err);
}

/* Why it is put aside: names of the checks that failed. */
static void conclude(struct kg_onboard *o)
{
    json_t *reasons = json_array();
    o->pass = o->n > 0;
    for (int i = 0; i < o->n; i++) {
        o->pass = o->pass && o->check[i].pass;
        if (!o->check[i].pass) {
            json_array_append_new(reasons, json_string(o->check[i].name));
        }
    }
    if (!o->card) {
        o->card = json_object();
    }
    json_object_set_new(o->card, "status", json_string(o->pass ? "ok" : "quarantined"));
    json_object_set_new(o->card, "reasons", reasons);
}

enum kg_code kg_tonboard(struct kg_worker *w, const char *path, struct kg_onboard *out,
                         struct kg_err *err)
{
    struct kg_tscene *s;
    if (kg_torch_compat(w)) {
        return kg_fail(err, KG_E_USAGE, "%s: problems are checked by the gym's own protocol only",
                       path);
    }
    if (open_scene(w, path, out, &s, err) != KG_OK) {
        return err->code;
    }
    if (s) {
        snprintf(out->problem, sizeof out->problem, "%s", w->torch->problem->name);
        if (examine(w, path, out, s, err) != KG_OK) {
            kg_onboard_deinit(out);
            return err->code;
        }
    }
    conclude(out);
    return KG_OK;
}
