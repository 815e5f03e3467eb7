/* Times as KernelBench takes them: by events of the process that is timed. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "gym/kernelbench/kb_stats.h"
#include "gym/timing/lease.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/torch_candidate.h"
#include "gym/torch/kernelbench/kernelbench_protocol.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_runner.h"

#define DISCARDED 1    /* timed calls that do not count, after the warm-ups */
#define LONGEST   1e15 /* ns of one call: what is above is nonsense */

enum timed { TIMED, UNTIMED, ERROR };

/* A process's word about itself: bounded, or nothing. */
static bool take_times(const json_t *reply, int64_t n, struct kg_kb_stats *out)
{
    const json_t *list = json_object_get(reply, "ns");
    int64_t *ns = calloc((size_t)n, sizeof *ns);
    bool good = ns && json_array_size(list) == (size_t)n;
    for (size_t i = 0; good && i < (size_t)n; i++) {
        const json_t *v = json_array_get(list, i);
        ns[i] = json_integer_value(v);
        good = json_is_integer(v) && ns[i] >= 0 && (double)ns[i] < LONGEST;
    }
    if (good) {
        *out = kg_kb_stats_of(ns, (size_t)n);
    }
    free(ns);
    return good && out->mean >= 1;
}

static enum timed tell_time(struct kg_evaluation *e, struct kg_pyrunner *runner,
                            struct kg_kb_stats *out, const char **why)
{
    const struct kg_config *c = &e->w->config;
    struct kg_pyanswer a;
    json_t *request = json_pack("{s:I, s:i, s:I}", "warmups", (json_int_t)c->timing_warmups,
                                "discard", DISCARDED, "trials", (json_int_t)c->timing_trials);
    kg_pyrunner_command(runner, KG_TC_TIME, request, KG_TKB_SEED,
                        kg_evaluation_deadline(e, c->torch_deadline_eval), &a);
    json_decref(request);
    bool said = a.status == KG_PY_ANSWERED && a.said == KG_TA_OK;
    bool good = said && take_times(a.reply, c->timing_trials, out);
    *why = good                         ? NULL
           : said                       ? "gives no times that can be"
           : a.status == KG_PY_ANSWERED ? "raises while it is timed"
           : a.status == KG_PY_TIMEOUT  ? "takes too long to be timed"
                                        : "ends while it is timed";
    kg_pyanswer_deinit(&a);
    return good ? TIMED : UNTIMED;
}

/* The inputs lie in its region from a call on. That call is one more warm-up. */
static enum timed time_candidate(struct kg_evaluation *e, struct kg_tinstance *s,
                                 struct kg_kb_stats *out, const char **why, struct kg_err *err)
{
    static const enum kg_tcommand commands[] = {KG_TC_BIND, KG_TC_CALL};
    struct kg_dj_report rep;
    kg_tcandidate_wake(e);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct kg_dj_call call =
            kg_tkb_call(e, s, kg_torch_run_of(e)->cand.port, commands[i], KG_TKB_SEED);
        if (kg_dj_run(&kg_torch_of(e->w)->judge, &call, &rep, err) != KG_OK) {
            return ERROR;
        }
        if (rep.status != KG_DJ_ANSWERED || rep.said != KG_TA_OK) {
            *why = "does not answer to the timed inputs";
            return UNTIMED;
        }
    }
    return tell_time(e, &kg_torch_run_of(e)->cand.runner, out, why);
}

/* What the last timed call of the candidate gave, into the judge's hands. *given: it is there. */
static enum timed take_last(struct kg_evaluation *e, struct kg_tinstance *s, bool *given,
                            struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_call call =
        kg_tkb_call(e, s, kg_torch_run_of(e)->cand.port, KG_TC_TIMED, KG_TKB_SEED);
    call.keep = KG_DJ_CANDIDATE;
    if (kg_dj_run(&kg_torch_of(e->w)->judge, &call, &rep, err) != KG_OK) {
        return ERROR;
    }
    *given = rep.status == KG_DJ_ANSWERED && rep.said == KG_TA_OK;
    return TIMED;
}

/* Is it the reference's answer to the same inputs? Told, never a verdict: that project looks at no
 * timed answer, and a module that writes to its inputs or counts its calls has another one by then.
 * Nothing is expected of a random reference. */
static enum timed tell_last(struct kg_evaluation *e, struct kg_tinstance *s, bool given,
                            struct kg_err *err)
{
    struct kg_dj_judgement j = {.compare = {.pass = false}};
    if (s->desc.random) {
        return TIMED;
    }
    if (given && kg_dj_compare_close(&kg_torch_of(e->w)->judge, s->cases[KG_TL_OWN].id,
                                     kg_tkb_tolerance(e), &j, err) != KG_OK) {
        return ERROR;
    }
    bool compared = given && kg_tkb_of_one_form(&j);
    json_t *told = json_pack("{s:b}", "close", compared && j.compare.pass);
    if (compared) {
        json_object_set_new(told, "max_difference", kg_json_real(j.compare.max_difference));
        json_object_set_new(told, "mean_difference", kg_json_real(j.compare.mean_difference));
    }
    kg_record_evidence(e->r, "timed_answer", told);
    return TIMED;
}

static enum timed time_reference(struct kg_evaluation *e, struct kg_tinstance *s,
                                 struct kg_kb_stats *out, const char **why, struct kg_err *err)
{
    if (kg_tkb_expect(e, s, KG_TKB_SEED, KG_DJ_FLOAT, err) != KG_OK) {
        return ERROR;
    }
    enum timed o = tell_time(e, &s->ref.runner, out, why);
    if (o != TIMED) {
        kg_trunner_stop(e->w, &s->ref); /* in whatever state: the next evaluation starts another */
    }
    return o;
}

static json_t *stats_json(const struct kg_kb_stats *s)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "mean_ns", (json_int_t)llround(s->mean), "std_ns",
                     (json_int_t)llround(s->std), "min_ns", (json_int_t)llround(s->min), "max_ns",
                     (json_int_t)llround(s->max));
}

static void record_times(struct kg_evaluation *e, const struct kg_kb_stats *cand,
                         const struct kg_kb_stats *ref)
{
    struct kg_record *r = e->r;
    const struct kg_config *c = &e->w->config;
    r->timing.status = KG_T_NOT_TRUSTED;
    r->timing.why = "by KernelBench's procedure: what the timed processes say of themselves";
    r->timing.warmups = c->timing_warmups;
    json_decref(r->timing.claims);
    r->timing.claims =
        json_pack("{s:I, s:I, s:i, s:o, s:o}", "trials", (json_int_t)c->timing_trials, "warmups",
                  (json_int_t)c->timing_warmups, "discarded", DISCARDED, "candidate",
                  stats_json(cand), "reference", stats_json(ref));
    r->has_speedup = true;
    r->speedup.ratio = ref->mean / cand->mean;
    r->speedup.lo = r->speedup.hi = NAN;
    r->speedup.pairs = -1;
}

static void not_measured(struct kg_evaluation *e, const char *who, const char *why)
{
    struct kg_err ignored = KG_ERR_INIT;
    e->r->timing.status = KG_T_NOT_MEASURED;
    e->r->timing.why = kg_arena_printf(&e->r->arena, &ignored, "%s%s", who, why);
}

static enum timed both_times(struct kg_evaluation *e, struct kg_tinstance *s, struct kg_err *err)
{
    struct kg_kb_stats cand, ref;
    const char *why = NULL, *who = "the candidate ";
    bool given = false;
    enum timed o = time_candidate(e, s, &cand, &why, err);
    o = o == TIMED ? take_last(e, s, &given, err) : o;
    kg_tcandidate_stop(e);
    if (o == TIMED) {
        int64_t since = kg_clock_ns();
        who = "the reference ";
        o = time_reference(e, s, &ref, &why, err);
        o = o == TIMED ? tell_last(e, s, given, err) : o;
        kg_evaluation_excuse(e, since);
    }
    if (o == TIMED) {
        record_times(e, &cand, &ref);
    } else if (o == UNTIMED) {
        not_measured(e, who, why);
    }
    return o;
}

enum kg_stage_result kg_tkb_timing(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_tinstance *s = kg_torch_run_of(e)->instance;
    struct kg_lease lease = KG_LEASE_NONE;
    if (!kg_torch_of(e->w)->judge.facts.clock && !kg_torch_of(e->w)->test.times_anywhere) {
        kg_tcandidate_stop(e);
        not_measured(e, "", "no GPU: times on a CPU say nothing about what is written for one");
        return KG_STAGE_PASS;
    }
    e->r->timing.preset = "kernelbench";
    enum kg_stage_result step = kg_tcandidate_start(e, s, KG_ST_TIMING, err);
    if (step != KG_STAGE_PASS) {
        return step;
    }
    int64_t since = kg_clock_ns();
    bool exclusive = e->w->config.timing_exclusive;
    if (kg_tinstance_open(e->w, s, err) != KG_OK || kg_tkb_draw(e, s, KG_TKB_SEED, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    enum kg_code code = kg_torch_take_device(e->w, exclusive, &lease, err);
    kg_evaluation_excuse(e, since);
    enum timed o = code == KG_OK ? both_times(e, s, err) : ERROR;
    kg_torch_give_device(e->w, &lease);
    kg_tcandidate_stop(e);
    return o == ERROR ? KG_STAGE_ERROR : KG_STAGE_PASS;
}
