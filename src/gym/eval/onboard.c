/* Common parts of the checks that a problem must pass: candidates made from it, and their
 * verdicts. */
#include "gym/eval/onboard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gym/eval/executor.h"
#include "gym/eval/findings.h"

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

bool kg_onboard_limit(const struct kg_record *r)
{
    return r->verdict == KG_V_TIMEOUT || r->verdict == KG_V_OUT_OF_MEMORY ||
           (r->verdict == KG_V_COMPILE_ERROR && r->reason && strcmp(r->reason, "limits") == 0);
}

bool kg_onboard_at_limits(const struct kg_onboard *o)
{
    bool limit = false;
    for (int i = 0; i < o->n; i++) {
        if (!o->check[i].pass && !o->check[i].limit) {
            return false;
        }
        limit = limit || !o->check[i].pass;
    }
    return limit;
}

/* What the verdict on a made candidate means for the problem. */
static void explain(struct kg_onboard_check *c, const struct kg_record *r,
                    enum kg_onboard_want want)
{
    const char *message = r->message ? r->message : "";
    if (r->has_error) {
        snprintf(c->detail, sizeof c->detail, "%s", r->error.message);
    } else if (r->verdict == KG_V_OK) {
        snprintf(c->detail, sizeof c->detail, "%s",
                 want == KG_WANT_OK
                     ? "the reference is right on every input"
                     : "a candidate made to be wrong is judged right on every input, so a wrong "
                       "kernel would pass; let every output depend on every input");
    } else {
        snprintf(c->detail, sizeof c->detail, "%s %s%s%s: %s",
                 want == KG_WANT_OK ? "the reference itself is judged" : "judged",
                 kg_verdict_name(r->verdict), r->reason ? "/" : "", r->reason ? r->reason : "",
                 message);
    }
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
        c->limit = !r.has_error && kg_onboard_limit(&r);
        c->off = worst_of(&r);
        explain(c, &r, want);
    }
    kg_record_deinit(&r);
    return code;
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
        json_array_append_new(checks, json_pack("{s:s, s:b, s:b, s:o}", "check", c->name, "pass",
                                                c->pass, "note", c->note, "detail",
                                                kg_json_text(c->detail, strlen(c->detail))));
    }
    json_t *j = json_pack("{s:o, s:b, s:b, s:o, s:o, s:o, s:o}", "problem",
                          kg_json_text(o->problem, strlen(o->problem)), "pass", o->pass, "untimed",
                          o->untimed, "reference_ns", known(o->reference_ns), "in_bytes",
                          known(o->in_bytes), "out_bytes", known(o->out_bytes), "checks", checks);
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
    if (code == KG_OK && out->sha256[0] && !kg_onboard_at_limits(out)) {
        json_t *found = kg_onboard_json(out);
        kg_findings_keep(&w->config, out->sha256, out->device, found);
        json_decref(found);
    }
    return code;
}

bool kg_onboard_lacks(struct kg_worker *w, struct kg_err *err)
{
    struct kg_err why = KG_ERR_INIT;
    if (err->code != KG_E_HOST || !w->executor->usable ||
        w->executor->usable(w, &why) != KG_E_HOST) {
        return false;
    }
    *err = why;
    return true;
}
