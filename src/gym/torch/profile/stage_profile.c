/* Stage profile: whose the device's time is, which of its own kernels the answer needs, and whether
 * they are the same in every call. In a runner of its own, which binds CUPTI before it loads the
 * candidate; timed ones never do. */
#include "gym/torch/profile/stage_profile.h"

#include <stdlib.h>
#include <string.h>

#include "gym/torch/judging/torch_candidate.h"
#include "gym/torch/profile/torch_profile_private.h"

#define SHOWN 8 /* kernels in the record */

/* --- the record --- */

static void record_kernels(const struct kg_tprofiling *s)
{
    for (size_t i = 0; i < s->sum.n && i < SHOWN; i++) {
        const struct kg_tkernel *k = &s->sum.kernel[i];
        char name[KG_TPROFILE_NAME];
        kg_tprofile_plain_name(k->name, name, sizeof name);
        kg_record_evidence(
            s->e->r, "kernel",
            json_pack("{s:s, s:f, s:I, s:b, s:s, s:b, s:b}", "name", name, "share",
                      kg_tprofile_share(&s->sum, k), "calls",
                      (json_int_t)((k->calls + KG_TPROFILE_CALLS - 1) / KG_TPROFILE_CALLS), "own",
                      k->owner == KG_TO_OWN, "class", kg_towner_name(k->owner), "dead", k->dead,
                      "idle", k->idle));
    }
}

/* Who had code loaded onto the device, as the runner says. Nothing follows from it. */
static void record_modules(const struct kg_tprofiling *s)
{
    json_t *list = json_array(), *m;
    size_t i;
    json_array_foreach(s->modules, i, m)
    {
        const char *by = json_string_value(json_object_get(m, "by"));
        const char *class = json_string_value(json_object_get(m, "class"));
        if (by && class && json_array_size(list) < SHOWN) {
            json_array_append_new(
                list, json_pack("{s:o, s:o, s:I, s:I}", "by", kg_json_text(by, strnlen(by, 64)),
                                "class", kg_json_text(class, strnlen(class, 16)), "loaded",
                                json_integer_value(json_object_get(m, "loaded")), "bytes",
                                json_integer_value(json_object_get(m, "bytes"))));
        }
    }
    if (json_array_size(list) > 0) {
        kg_record_evidence(s->e->r, "modules", json_pack("{s:O}", "list", list));
    }
    json_decref(list);
}

static json_t *own_of(const struct kg_tprofile *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->n && json_array_size(list) < SHOWN; i++) {
        char name[KG_TPROFILE_NAME];
        kg_tprofile_plain_name(p->kernel[i].name, name, sizeof name);
        if (p->kernel[i].owner == KG_TO_OWN) {
            json_array_append_new(list, json_pack("{s:s, s:I}", "name", name, "calls",
                                                  (json_int_t)p->kernel[i].calls));
        }
    }
    return list;
}

/* What differs of its own from call to call, or else from law to law. NULL: nothing does. */
static json_t *difference(const struct kg_tphase *p)
{
    enum kg_tlaw law = p->changed ? p->law : kg_tphase_by_values(p);
    if (!p->changed && law == KG_TL_OWN) {
        return NULL;
    }
    json_t *told = json_pack("{s:s, s:s, s:I}", "by", p->changed ? "call" : "values", "law",
                             kg_tlaw_name(law), "calls", (json_int_t)p->calls);
    if (p->changed) {
        json_object_set_new(told, "call", json_integer((json_int_t)p->changed));
    }
    const struct kg_tprofile *was = &p->base[p->changed ? law : KG_TL_OWN].list;
    json_object_set_new(told, "was", own_of(was));
    json_object_set_new(told, "is", own_of(p->changed ? &p->is : &p->base[law].list));
    return told;
}

/* Evidence; where its own kernels are left for a library's, a second process is asked. */
static enum kg_stage_result compare_calls(struct kg_tprofiling *s)
{
    json_t *told = difference(&s->phase);
    enum kg_stage_result step = KG_STAGE_PASS;
    if (kg_tphase_left(&s->phase)) {
        step = kg_tprofile_again(s);
        json_object_set_new(told, "repeated", json_boolean(s->left));
    }
    if (told) {
        kg_record_evidence(s->e->r, "phase", told);
    }
    return step;
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

static enum kg_stage_result accuse(struct kg_evaluation *e, const struct kg_tprofile_case *c)
{
    const char *reason = kg_tprofile_reason(c);
    if (!reason || !e->w->config.hack_checks) {
        return KG_STAGE_PASS;
    }
    if (strcmp(reason, "phase") == 0) {
        kg_record_verdict(e->r, KG_V_HACK, reason,
                          "its first calls launch kernels of its own, later ones none, but a "
                          "library's that it had never tried");
    } else if (strcmp(reason, "decoy") == 0) {
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
    return KG_STAGE_FAIL;
}

static enum kg_stage_result conclude(struct kg_tprofiling *s)
{
    struct kg_evaluation *e = s->e;
    const struct kg_config *config = &e->w->config;
    struct kg_tprofile_case c = {.forbidden = config->library == KG_LIB_FORBIDDEN,
                                 .allowed = config->library_share,
                                 .left = s->left};
    if (!s->why) {
        kg_tprofile_find_dead(s, &c.launched_own, &c.right_without);
    }
    if (s->failed) {
        return KG_STAGE_ERROR;
    }
    if (s->why) {
        kg_record_evidence(e->r, "coverage", json_pack("{s:s}", "why", s->why));
        e->r->coverage = s->absent ? e->r->coverage : 0;
        return KG_STAGE_PASS;
    }
    struct kg_tshares shares = kg_tprofile_shares(&s->sum);
    record_kernels(s);
    record_modules(s);
    record_shares(s, &shares);
    c.delegated = shares.delegated;
    c.defines = kg_tprofile_defines(e->code, e->code_len);
    return accuse(e, &c);
}

/* --- the stage --- */

enum kg_stage_result kg_tstage_profile(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(e->w);
    kg_tcandidate_stop(e);
    if (!t->judge.facts.clock && !t->test.profiles_anywhere) {
        if (e->w->config.library == KG_LIB_FORBIDDEN) {
            kg_fail(err, KG_E_NEEDS_GPU,
                    "library: `forbidden` is decided by launch records, and there is no GPU");
            return KG_STAGE_ERROR;
        }
        e->r->stages[KG_ST_PROFILE].status = KG_SS_OFF;
        kg_record_evidence(e->r, "coverage", json_pack("{s:s}", "why", "profile needs a GPU"));
        return KG_STAGE_PASS;
    }
    struct kg_tprofiling *s = calloc(1, sizeof *s);
    if (!s) {
        kg_fail(err, KG_E_LIMIT, "no memory for launch records");
        return KG_STAGE_ERROR;
    }
    s->e = e;
    s->err = err;
    kg_torch_run_of(e)->asked = json_array();
    json_object_set_new(e->r->secret, kg_stage_name(KG_ST_PROFILE), kg_torch_run_of(e)->asked);
    kg_tprofile_process(s, json_array());
    enum kg_stage_result step = kg_tprofile_calls(s);
    if (step == KG_STAGE_PASS && !s->why) {
        step = compare_calls(s);
    }
    if (step == KG_STAGE_PASS) {
        step = conclude(s);
    }
    kg_tcandidate_stop(e);
    json_decref(kg_torch_run_of(e)->profile);
    kg_torch_run_of(e)->profile = NULL;
    json_decref(s->modules);
    free(s);
    return step;
}
