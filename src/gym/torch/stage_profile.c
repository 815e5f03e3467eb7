/* Stage profile: whose the device's time is, and which of its own kernels the answer needs. In a
 * runner of its own, which binds CUPTI before it loads the candidate; timed ones never do. */
#include <stdlib.h>
#include <string.h>

#include "gym/torch/profile_private.h"

#define CALLS 3 /* profiled */
#define SHOWN 8 /* kernels in the record */

/* --- the profiled calls --- */

/* One call's records into the sum: a call that comes second on its inputs, so that what a module
 * does once is done. */
static enum kg_step_result profile_call(struct kg_tprofiling *s, enum kg_tlaw law)
{
    int64_t window = 0;
    struct kg_evaluation *e = s->e;
    enum kg_step_result step = kg_tcandidate_case(e, e->torch->scene, law, KG_ST_PROFILE, s->err);
    if (step != KG_STEP_PASS ||
        (e->torch->scene->desc.updates_state &&
         (step = kg_tcandidate_load(e, 0, KG_ST_PROFILE, s->err)) != KG_STEP_PASS)) {
        return step;
    }
    json_decref(kg_tprofile_tell(s, json_pack("{s:b}", "take", true), 0));
    int right = kg_tprofile_call(s, law, &window);
    if (right < 0) {
        return KG_STEP_ERROR;
    }
    json_t *reply = right ? kg_tprofile_tell(s, json_pack("{s:b}", "take", true), window) : NULL;
    const char *error = json_string_value(json_object_get(reply, "error"));
    if (!right) {
        s->why = "a profiled call was not right";
    } else if (error) {
        s->why = "launch records are not to be had";
        s->absent = true;
        kg_record_evidence(e->r, "profiler",
                           json_pack("{s:o}", "why", kg_json_text(error, strlen(error))));
    } else {
        s->why = reply ? kg_tprofile_add(&s->sum, reply, window) : "records are missing";
    }
    json_decref(reply);
    return KG_STEP_PASS;
}

static enum kg_step_result profile_calls(struct kg_tprofiling *s)
{
    enum kg_step_result step =
        kg_tcandidate_case(s->e, s->e->torch->scene, KG_TL_NEW, KG_ST_PROFILE, s->err);
    for (int i = 0; i < CALLS && step == KG_STEP_PASS && !s->why; i++) {
        step = profile_call(s, i % 2 ? KG_TL_NEW : KG_TL_OWN);
    }
    kg_tprofile_sort(&s->sum);
    return step;
}

/* --- the record --- */

static void record_kernels(const struct kg_tprofiling *s)
{
    for (size_t i = 0; i < s->sum.n && i < SHOWN; i++) {
        const struct kg_tkernel *k = &s->sum.kernel[i];
        char name[KG_TPROFILE_NAME];
        kg_tprofile_plain_name(k->name, name, sizeof name);
        kg_record_evidence(s->e->r, "kernel",
                           json_pack("{s:s, s:f, s:I, s:b, s:s, s:b}", "name", name, "share",
                                     kg_tprofile_share(&s->sum, k), "calls",
                                     (json_int_t)((k->calls + CALLS - 1) / CALLS), "own",
                                     k->owner == KG_TO_OWN, "class", kg_towner_name(k->owner),
                                     "dead", k->dead));
    }
}

static void record_shares(const struct kg_tprofiling *s, const struct kg_tshares *sh)
{
    struct kg_record *r = s->e->r;
    double allowed = s->e->w->config.library_share;
    kg_record_evidence(r, "coverage",
                       json_pack("{s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:i, s:i}", "coverage",
                                 sh->coverage, "own", sh->own, "delegated", sh->delegated,
                                 "compiler", sh->compiler, "memory", sh->memory, "busy_ns",
                                 (json_int_t)sh->busy_ns, "window_ns", (json_int_t)s->sum.window_ns,
                                 "asked", s->asked, "processes", s->processes));
    if (sh->delegated > allowed) {
        json_array_append_new(
            r->league.findings,
            json_pack("{s:s, s:f}", "rule", "policy.delegation", "share", sh->delegated));
    }
    if (sh->compiler > allowed) {
        json_array_append_new(r->league.findings, json_pack("{s:s, s:f}", "rule", "policy.compiler",
                                                            "share", sh->compiler));
        r->league.eligible = false;
    }
    r->coverage = sh->coverage;
}

static enum kg_step_result accuse(struct kg_evaluation *e, const struct kg_tprofile_case *c)
{
    const char *reason = kg_tprofile_reason(c);
    if (!reason || !e->w->config.hack_checks) {
        return KG_STEP_PASS;
    }
    if (strcmp(reason, "decoy") == 0) {
        kg_record_verdict(e->r, KG_V_HACK, reason,
                          "it launches kernels of its own, and its answer is right without them");
    } else if (strcmp(reason, "fallback") == 0) {
        kg_record_verdict(e->r, KG_V_HACK, reason,
                          "none of the kernels that it defines was launched; a library answered");
    } else {
        kg_record_verdict(e->r, KG_V_HACK, reason,
                          "%.0f %% of the device's time is a library's; %.0f %% are allowed",
                          100 * c->delegated, 100 * c->allowed);
    }
    return KG_STEP_FAIL;
}

static enum kg_step_result conclude(struct kg_tprofiling *s)
{
    struct kg_evaluation *e = s->e;
    const struct kg_config *config = &e->w->config;
    struct kg_tprofile_case c = {.forbidden = config->library == KG_LIB_FORBIDDEN,
                                 .allowed = config->library_share};
    if (!s->why) {
        kg_tprofile_find_dead(s, &c.launched_own, &c.right_without);
    }
    if (s->failed) {
        return KG_STEP_ERROR;
    }
    if (s->why) {
        kg_record_evidence(e->r, "coverage", json_pack("{s:s}", "why", s->why));
        e->r->coverage = s->absent ? e->r->coverage : 0;
        return KG_STEP_PASS;
    }
    struct kg_tshares shares = kg_tprofile_shares(&s->sum);
    record_kernels(s);
    record_shares(s, &shares);
    c.delegated = shares.delegated;
    c.defines = kg_tprofile_defines(e->code, e->code_len);
    return accuse(e, &c);
}

/* --- the stage --- */

enum kg_step_result kg_tstage_profile(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_torch *t = e->w->torch;
    kg_tcandidate_stop(e);
    if (!t->judge.facts.clock && !kg_tprofile_hook.any_device) {
        if (e->w->config.library == KG_LIB_FORBIDDEN) {
            kg_fail(err, KG_E_NEEDS_GPU,
                    "library: `forbidden` is decided by launch records, and there is no GPU");
            return KG_STEP_ERROR;
        }
        e->r->stages[KG_ST_PROFILE].status = KG_SS_OFF;
        kg_record_evidence(e->r, "coverage", json_pack("{s:s}", "why", "profile needs a GPU"));
        return KG_STEP_PASS;
    }
    struct kg_tprofiling *s = calloc(1, sizeof *s);
    if (!s) {
        kg_fail(err, KG_E_LIMIT, "no memory for launch records");
        return KG_STEP_ERROR;
    }
    s->e = e;
    s->err = err;
    e->torch->asked = json_array();
    json_object_set_new(e->r->secret, kg_stage_name(KG_ST_PROFILE), e->torch->asked);
    kg_tprofile_process(s, json_array());
    enum kg_step_result step = profile_calls(s);
    if (step == KG_STEP_PASS) {
        step = conclude(s);
    }
    kg_tcandidate_stop(e);
    json_decref(e->torch->profile);
    e->torch->profile = NULL;
    free(s);
    return step;
}
