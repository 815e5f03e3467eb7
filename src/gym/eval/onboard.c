#include "gym/eval/onboard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gym/eval/executor.h"
#include "gym/eval/findings.h"
#include "gym/native/native_panel.h"
#include "gym/timing/stats.h"

#define TIMED_CALLS 9

struct kg_onboard_check *kg_onboard_add(struct kg_onboard *o, const char *name)
{
    KG_ASSERT(o->n < KG_ONBOARD_MAX);
    struct kg_onboard_check *c = &o->check[o->n++];
    snprintf(c->name, sizeof c->name, "%s", name);
    c->off = NAN;
    return c;
}

/* Of the last comparison that failed, over the bound. */
static double worst_of(const struct kg_record *r)
{
    double worst = NAN;
    size_t i;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        const json_t *v = json_object_get(e, "worst_over_bound");
        worst = json_is_number(v) ? json_number_value(v) : worst;
    }
    return worst;
}

static bool as_wanted(const struct kg_record *r, enum kg_onboard_want want)
{
    bool ok = r->verdict == KG_V_OK, felt = want == KG_WANT_FELT && r->verdict == KG_V_CRASH &&
                                            r->reason && strcmp(r->reason, "exception") == 0;
    return want == KG_WANT_OK ? ok : felt || r->verdict == KG_V_WRONG || r->verdict == KG_V_HACK;
}

enum kg_code kg_onboard_judge(struct kg_worker *w, const char *problem, struct kg_onboard *o,
                              const char *name, const struct kg_buf *source,
                              enum kg_onboard_want want, struct kg_err *err)
{
    struct kg_record r;
    struct kg_task t = {.problem = problem,
                        .text = source->data,
                        .len = source->len,
                        .source = true,
                        .any_problem = true,
                        .stop_after = KG_ST_FULL};
    kg_record_init(&r);
    kg_eval(w, &t, &r);
    enum kg_code code = KG_OK;
    if (r.has_error && r.error.code != KG_E_PROBLEM) {
        *err = r.error;
        code = err->code;
    } else {
        struct kg_onboard_check *c = kg_onboard_add(o, name);
        c->pass = !r.has_error && as_wanted(&r, want);
        c->off = worst_of(&r);
        snprintf(c->detail, sizeof c->detail, "%s%s%s: %s",
                 r.has_error ? "error" : kg_verdict_name(r.verdict), r.reason ? "/" : "",
                 r.reason ? r.reason : "",
                 r.has_error ? r.error.message
                 : r.message ? r.message
                             : "");
    }
    kg_record_deinit(&r);
    return code;
}

static enum kg_code made_candidates(struct kg_worker *w, const char *name, struct kg_onboard *o,
                                    struct kg_err *err)
{
    struct kg_buf src;
    char label[64];
    enum kg_code code = KG_OK;
    kg_buf_init(&src, 1 << 20);
    for (int t = 0; t < KG_TRIVIAL_COUNT && code == KG_OK; t++) {
        kg_buf_reset(&src);
        kg_probe_trivial(w->problem, (enum kg_trivial)t, &src);
        code = kg_onboard_judge(w, name, o, kg_trivial_name((enum kg_trivial)t), &src,
                                KG_WANT_WRONG, err);
    }
    for (int a = 0; a < w->problem->nargs && code == KG_OK; a++) {
        if (w->problem->args[a].role == KG_ROLE_IN && o->n < KG_ONBOARD_MAX - KG_VARIANT_COUNT) {
            kg_buf_reset(&src);
            kg_probe_frozen(w->problem, a, &src);
            snprintf(label, sizeof label, "frozen %s", w->problem->args[a].name);
            code = kg_onboard_judge(w, name, o, label, &src, KG_WANT_WRONG, err);
        }
    }
    kg_buf_deinit(&src);
    return code;
}

/* Median of a few calls of the float reference at the default shape, hand-off included. */
static enum kg_code time_reference(struct kg_worker *w, struct kg_onboard *o, struct kg_err *err)
{
    struct kg_case c = {.law = KG_LAW_OWN};
    struct kg_layout l;
    struct kg_wire_call call;
    double ns[TIMED_CALLS];
    if (kg_worker_references(w, err) != KG_OK) {
        return err->code;
    }
    kg_shape_default(w->problem, &c.shape);
    kg_layout_plan(w->problem, &c.shape, false, 0, 0, 0, &l);
    kg_layout_call(w->problem, &c.shape, &l, false, &call);
    for (int i = 0; i < TIMED_CALLS; i++) {
        struct kg_call_report rep;
        kg_rng_bytes(&w->rng, &c.key, sizeof c.key);
        if (kg_judge_fill(&w->judge, &c, false, err) != KG_OK) {
            return err->code;
        }
        kg_runner_call(&w->ref, &call, kg_clock_ns() + 20000000000, false, &rep);
        /* Active once may be an accident of the host, and the answer stands. */
        if (rep.status != KG_RUN_OK && rep.status != KG_RUN_ACTIVE) {
            return kg_fail(err, KG_E_PROBLEM, "%s: the reference fails at its default shape",
                           w->problem->path);
        }
        ns[i] = (double)rep.window_ns;
    }
    o->reference_ns = (int64_t)kg_median(ns, TIMED_CALLS);
    return KG_OK;
}

static void sizes(const struct kg_problem *p, struct kg_onboard *o)
{
    struct kg_shape s;
    kg_shape_default(p, &s);
    o->in_bytes = o->out_bytes = 0;
    for (int a = 0; a < p->nargs; a++) {
        int64_t bytes = p->args[a].rank
                            ? kg_arg_count(p, a, &s) * (int64_t)kg_dtype_bytes(p->args[a].dtype)
                            : 0;
        o->in_bytes += p->args[a].role == KG_ROLE_IN ? bytes : 0;
        o->out_bytes += p->args[a].role == KG_ROLE_OUT ? bytes : 0;
    }
}

/* Every variant, with the reference as the candidate: it must exist, run and be right. */
static enum kg_code variants(struct kg_worker *w, struct kg_onboard *o, struct kg_err *err)
{
    struct kg_record r;
    kg_record_init(&r);
    struct kg_task task = {.stop_after = KG_ST_FULL};
    struct kg_evaluation e = {
        .w = w, .task = &task, .r = &r, .deadline_ns = kg_clock_ns() + 60000000000};
    snprintf(e.object, sizeof e.object, "%s", w->object_float);
    enum kg_code code = KG_OK;
    for (int v = 0; v < KG_VARIANT_COUNT && code == KG_OK; v++) {
        struct kg_case_pool_kind kind = {(enum kg_variant)v, KG_LAW_OWN, false, false};
        struct kg_pooled_case *pc;
        char name[64];
        bool fresh;
        snprintf(name, sizeof name, "variant %s", kg_variant_name((enum kg_variant)v));
        if (!kg_case_pool_draw(&w->pool, w->problem, &kind, &w->rng, &pc, &fresh)) {
            struct kg_onboard_check *c = kg_onboard_add(o, name);
            c->pass = v != KG_VARIANT_DEFAULT;
            snprintf(c->detail, sizeof c->detail, "no such shape");
            continue;
        }
        enum kg_stage_result s = kg_candidate_case(&e, KG_ST_FULL, pc, err);
        if (s == KG_STAGE_ERROR && err->code != KG_E_PROBLEM) {
            code = err->code;
        }
        struct kg_onboard_check *c = kg_onboard_add(o, name);
        c->pass = s == KG_STAGE_PASS;
        snprintf(c->detail, sizeof c->detail, "%s",
                 s == KG_STAGE_PASS   ? "runs; float and double agree"
                 : s == KG_STAGE_FAIL ? r.message
                                      : err->message);
    }
    kg_candidate_stop(&e);
    kg_record_deinit(&r);
    return code;
}

/* A file that is no problem, or a reference that does not build, is a finding; w->problem is then
 * NULL. */
static enum kg_code load(struct kg_worker *w, const char *problem, struct kg_onboard *o,
                         struct kg_err *err)
{
    enum kg_code code = kg_worker_problem(w, problem, err);
    if (code != KG_OK && code != KG_E_INPUT && code != KG_E_PROBLEM) {
        return code;
    }
    struct kg_onboard_check *c = kg_onboard_add(o, "parses");
    c->pass = code != KG_E_INPUT;
    if (code == KG_E_PROBLEM) {
        c = kg_onboard_add(o, "builds");
    }
    if (code != KG_OK) {
        kg_worker_forget(w, KG_FORGET_PROBLEM);
        snprintf(c->detail, sizeof c->detail, "%s", err->message);
    }
    return KG_OK;
}

enum kg_code kg_onboard_c(struct kg_worker *w, const char *problem, struct kg_onboard *out,
                          struct kg_err *err)
{
    enum kg_code code = load(w, problem, out, err);
    if (code != KG_OK || !w->problem) {
        return code;
    }
    snprintf(out->problem, sizeof out->problem, "%s", w->problem->name);
    memcpy(out->sha256, w->problem->sha256, sizeof out->sha256);
    sizes(w->problem, out);
    struct kg_buf src;
    kg_buf_init(&src, 1 << 20);
    kg_probe_reference(w->problem, &src);
    code = kg_onboard_judge(w, problem, out, "reference", &src, KG_WANT_OK, err);
    kg_buf_deinit(&src);
    if (code == KG_OK && !out->check[out->n - 1].pass) {
        return KG_OK; /* what follows asks the reference, too */
    }
    if (code != KG_OK || time_reference(w, out, err) != KG_OK || variants(w, out, err) != KG_OK ||
        made_candidates(w, problem, out, err) != KG_OK) {
        return err->code;
    }
    out->pass = true;
    for (int i = 0; i < out->n; i++) {
        out->pass = out->pass && out->check[i].pass;
    }
    return KG_OK;
}

static json_t *known(int64_t n)
{
    return n >= 0 ? json_integer(n) : json_null();
}

json_t *kg_onboard_json(const struct kg_onboard *o)
{
    json_t *checks = json_array();
    for (int i = 0; i < o->n; i++) {
        const struct kg_onboard_check *c = &o->check[i];
        json_array_append_new(checks,
                              json_pack("{s:s, s:b, s:o}", "check", c->name, "pass", c->pass,
                                        "detail", kg_json_text(c->detail, strlen(c->detail))));
    }
    json_t *j = json_pack("{s:o, s:b, s:o, s:o, s:o, s:o}", "problem",
                          kg_json_text(o->problem, strlen(o->problem)), "pass", o->pass,
                          "reference_ns", known(o->reference_ns), "in_bytes", known(o->in_bytes),
                          "out_bytes", known(o->out_bytes), "checks", checks);
    if (o->card) {
        json_object_set(j, "card", o->card);
    }
    return j;
}

void kg_onboard_deinit(struct kg_onboard *o)
{
    json_decref(o->card);
    o->card = NULL;
}

enum kg_code kg_onboard(struct kg_worker *w, const char *problem, struct kg_onboard *out,
                        struct kg_err *err)
{
    const struct kg_executor *x;
    char path[1024];
    memset(out, 0, sizeof *out);
    out->reference_ns = out->in_bytes = out->out_bytes = -1;
    snprintf(out->device, sizeof out->device, "cpu");
    snprintf(out->problem, sizeof out->problem, "%s", problem);
    if (kg_executor_find(&w->paths, problem, &x, path, sizeof path, err) != KG_OK) {
        return err->code;
    }
    if (w->executor != x) {
        w->executor->forget(w, KG_FORGET_PROBLEM);
        w->executor = x;
    }
    enum kg_code code = x->onboard(w, path, out, err);
    if (code == KG_OK && out->sha256[0]) {
        json_t *found = kg_onboard_json(out);
        kg_findings_keep(&w->config, out->sha256, out->device, found);
        json_decref(found);
    }
    return code;
}
