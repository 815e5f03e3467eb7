/* Is a PyTorch problem fit to judge with? Its own reference must pass as a candidate; trivial
 * answers, and the reference with one input frozen, must not. What was learned is the task card. */
#include <math.h>
#include <string.h>

#include "gym/torch/judging/cases.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/onboard/panel_source.h"
#include "gym/torch/onboard/torch_onboard.h"
#include "gym/torch/timing/torch_pairs.h"

#define MOST_VARIANTS 2 /* that the card names */

static struct kg_onboard_check *add(struct kg_onboard *o, const char *name, bool pass,
                                    const char *detail)
{
    struct kg_onboard_check *c = kg_onboard_add(o, name);
    c->pass = pass;
    snprintf(c->detail, sizeof c->detail, "%s", detail);
    return c;
}

/* --- looking at it --- */

/* It parses, and needs what does not come with it. */
static bool lacks_weights(const char *path)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_tproblem *p = NULL;
    bool lacks = kg_tproblem_load(path, &p, &ignored) == KG_OK && p->level == KG_TLEVEL_WEIGHTS;
    kg_tproblem_destroy(p);
    return lacks;
}

/* The published instance, open. Errors of the problem are a check that fails: then *out is NULL. */
static enum kg_code open_scene(struct kg_worker *w, const char *path, struct kg_onboard *o,
                               struct kg_tinstance **out, struct kg_err *err)
{
    *out = NULL;
    enum kg_code code = kg_executor_torch.problem(w, path, err);
    const char *check = "parses";
    if (code == KG_OK) {
        check = "builds";
        memcpy(o->sha256, kg_torch_of(w)->problem->sha256, sizeof o->sha256);
        snprintf(o->device, sizeof o->device, "%s", kg_torch_of(w)->device);
        kg_tinstance_close(
            w, &kg_torch_of(w)->instance[KG_INSTANCE_PUBLISHED]); /* all is seen afresh */
        code = kg_tinstance_open(w, &kg_torch_of(w)->instance[KG_INSTANCE_PUBLISHED], err);
    }
    if (code == KG_OK) {
        *out = &kg_torch_of(w)->instance[KG_INSTANCE_PUBLISHED];
        return KG_OK;
    }
    if (code == KG_E_INPUT || code == KG_E_PROBLEM) {
        bool weights = code == KG_E_PROBLEM && lacks_weights(path);
        if (weights) {
            add(o, check, true, "");
        }
        add(o, weights ? "weights" : check, false, err->message);
        return KG_OK;
    }
    return code;
}

/* Every law once, so that the card can tell which of them may be asked. */
static enum kg_code ask_laws(struct kg_tlook *k, struct kg_tinstance *s, struct kg_err *err)
{
    static const uint64_t none[KG_TL_COUNT];
    enum kg_tlaw laws[KG_TL_COUNT];
    struct kg_worker *w = k->w;
    struct kg_tcase *c;
    size_t n = kg_tplan_full(&s->desc, true, 0, true, none, &w->rng, laws);
    for (size_t i = 0; i < n; i++) {
        if (*w->cancelled) {
            return kg_fail(err, KG_E_CANCELLED, "interrupted");
        }
        kg_torch_of(w)->judge.e_ref = NAN; /* one that is there already is not compared again */
        if (kg_tcase_ready(w, s, laws[i], &c, err) != KG_OK) {
            return err->code;
        }
        k->e_ref[laws[i]] = kg_torch_of(w)->judge.e_ref;
    }
    return KG_OK;
}

/* How long its call takes, where there is a clock for it: a GPU. What goes wrong is no defect: the
 * card does not know it. */
static void time_it(struct kg_tlook *k, const struct kg_buf *reference)
{
    struct kg_record r;
    struct kg_task t = {.problem = k->path,
                        .text = reference->data,
                        .len = reference->len,
                        .source = true,
                        .any_problem = true,
                        .stop_after = KG_ST_TIMING};
    if (!kg_torch_of(k->w)->judge.facts.clock || !k->w->config.stage_timing) {
        return;
    }
    kg_record_init(&r);
    kg_eval(k->w, &t, &r);
    if (r.timing.status == KG_T_MEASURED && r.timing.reference_ns > 0) {
        k->o->reference_ns = r.timing.reference_ns;
        json_object_set_new(k->o->card, "reference_ns", json_integer(r.timing.reference_ns));
        json_object_set_new(k->o->card, "launch_bound",
                            json_boolean(r.timing.reference_ns < KG_TPAIRS_SHORT_NS));
    }
    kg_record_deinit(&r);
}

/* The reference as a candidate; *good: it is right, so that the rest can be asked. */
static enum kg_code reference(struct kg_tlook *k, bool *good, struct kg_err *err)
{
    struct kg_buf src;
    kg_buf_init(&src, 1 << 20);
    kg_tprobe_source(kg_torch_of(k->w)->problem, KG_TPROBE_REFERENCE, &src);
    enum kg_code code = kg_onboard_judge(k->w, k->path, k->o, kg_tprobe_name(KG_TPROBE_REFERENCE),
                                         &src, KG_WANT_OK, err);
    *good = code == KG_OK && k->o->check[k->o->n - 1].pass;
    if (*good) {
        time_it(k, &src);
    }
    kg_buf_deinit(&src);
    return code;
}

static enum kg_code judge_made(struct kg_tlook *k, struct kg_tinstance *s, struct kg_err *err)
{
    struct kg_tpanel p;
    bool good;
    kg_tpanel_plan(&s->desc, &p);
    if (reference(k, &good, err) != KG_OK || !good) {
        return err->code;
    }
    if (kg_tpanel_try(k, &p, err) != KG_OK || kg_tpanel_freeze_inputs(k, err) != KG_OK ||
        kg_tpanel_freeze_parameters(k, err) != KG_OK) {
        return err->code;
    }
    json_object_set_new(k->o->card, "variants", kg_tcard_variants(k->w, s, MOST_VARIANTS));
    return KG_OK;
}

static enum kg_code examine(struct kg_tlook *k, struct kg_tinstance *s, struct kg_err *err)
{
    struct kg_onboard *o = k->o;
    o->in_bytes = (int64_t)s->desc.input_bytes;
    o->out_bytes = (int64_t)s->desc.output_bytes;
    add(o, "deterministic", s->desc.repeats,
        s->desc.repeats ? "the same answer to the same inputs under the same seed"
                        : "another answer to the same inputs under the same seed");
    enum kg_code code = ask_laws(k, s, err);
    bool agree = code == KG_OK;
    if (code != KG_OK && code != KG_E_PROBLEM) {
        return code;
    }
    add(o, "oracle", agree,
        !agree                     ? err->message
        : s->cases[KG_TL_OWN].self ? "it draws otherwise in double: its oracle is itself"
        : s->single                ? "it does not run in double: its oracle is itself in float"
                                   : "the reference in float and in double agree");
    o->card = kg_tcard_make(k, s);
    return agree ? judge_made(k, s, err) : KG_OK;
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
    struct kg_tinstance *s;
    if (kg_torch_protocol(w)->full) {
        return kg_fail(err, KG_E_USAGE, "%s: problems are checked by the gym's own protocol only",
                       path);
    }
    if (open_scene(w, path, out, &s, err) != KG_OK) {
        return err->code;
    }
    if (s) {
        struct kg_tlook k = {.w = w, .path = path, .o = out, .panel = json_object()};
        for (int l = 0; l < KG_TL_COUNT; l++) {
            k.e_ref[l] = NAN;
        }
        snprintf(out->problem, sizeof out->problem, "%s", kg_torch_of(w)->problem->name);
        enum kg_code code = examine(&k, s, err);
        json_decref(k.panel);
        if (code != KG_OK) {
            kg_onboard_deinit(out);
            return code;
        }
    }
    conclude(out);
    return KG_OK;
}
