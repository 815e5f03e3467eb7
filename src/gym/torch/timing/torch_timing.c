/* Stage timing: the paired measurement by the judge's clock, and what it says in the record. */
#include "gym/torch/timing/torch_timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gym/eval/again.h"
#include "gym/torch/judging/memory.h"
#include "gym/torch/judging/outcome.h"
#include "gym/torch/judging/torch_candidate.h"
#include "gym/torch/runner/spare_runner.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/timing/gpu.h"
#include "gym/torch/timing/torch_floor.h"
#include "gym/torch/timing/torch_pairs.h"

#define PROCESSES 2 /* what is suspected is confirmed in a new process */

/* What one process of the candidate came to. DISTURBED: maybe by another evaluation's work. */
enum outcome { DONE, FAILED, ERROR, SUSPECT_FLOOR, SUSPECT_ASYNC, LOST, DISTURBED, OUTCOMES };

/* --- the record --- */

static json_t *samples_of(const struct kg_tpairs_result *res)
{
    json_t *all = json_array();
    for (size_t from = 0; from < res->n; from += res->block) {
        size_t to = from + res->block < res->n ? from + res->block : res->n;
        json_t *ref = json_array(), *cand = json_array(), *first = json_array();
        for (size_t i = from; i < to; i++) {
            const struct kg_pair *p = &res->pair[i];
            json_array_append_new(ref, json_integer(p->ref_ns - res->overhead_ns));
            json_array_append_new(cand, json_integer(p->cand_ns - res->overhead_ns));
            json_array_append_new(first, json_boolean(p->cand_first));
        }
        json_array_append_new(all, json_pack("{s:I, s:I, s:o, s:o, s:o}", "process",
                                             (json_int_t)(from / res->block), "overhead_ns",
                                             (json_int_t)res->overhead_ns, "reference_ns", ref,
                                             "candidate_ns", cand, "candidate_first", first));
    }
    return all;
}

static void record_times(struct kg_evaluation *e, const struct kg_tpairs_result *res)
{
    struct kg_record *r = e->r;
    struct kg_timing *t = &r->timing;
    struct kg_err ignored = KG_ERR_INIT;
    bool measured = res->status == KG_TPAIRS_MEASURED;
    bool known = measured || res->status == KG_TPAIRS_NOT_TRUSTED;
    t->status = measured ? KG_T_MEASURED : known ? KG_T_NOT_TRUSTED : KG_T_NOT_MEASURED;
    t->why = res->why[0] ? kg_arena_dup(&r->arena, res->why, strlen(res->why), &ignored) : NULL;
    t->candidate_ns = res->candidate_ns;
    t->reference_ns = res->reference_ns;
    t->overhead_ns = res->overhead_ns;
    t->shortest_ns = KG_TPAIRS_SHORT_NS;
    t->cv = res->cv;
    t->warmups = res->warmups;
    t->voided = res->repeated;
    json_decref(t->samples);
    t->samples = known ? samples_of(res) : NULL;
    if (!known) {
        return;
    }
    if (kg_torch_run_of(e)->clocks) {
        kg_record_evidence(r, "clocks", json_incref(kg_torch_run_of(e)->clocks));
    }
    r->has_speedup = true;
    r->speedup.ratio = res->ratio.ratio;
    r->speedup.lo = res->ratio.lo;
    r->speedup.hi = res->ratio.hi;
    r->speedup.pairs = res->ratio.pairs;
    json_t *pairs = json_pack(
        "{s:I, s:I, s:I, s:I, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "calls",
        (json_int_t)res->calls, "verified", (json_int_t)res->verified, "verified_before",
        (json_int_t)kg_torch_run_of(e)->cand.verified, "with_oracle",
        (json_int_t)res->oracle_checked, "repeated", res->repeated, "others", res->others,
        "refused", res->refused, "nulls", (json_int_t)res->nulls, "overhead_lease_ns",
        (json_int_t)res->k_lease_ns, "overhead_quiet_ns", (json_int_t)res->k_quiet_ns,
        "overhead_p10_ns", (json_int_t)res->k_p10_ns, "overhead_p90_ns", (json_int_t)res->k_p90_ns,
        "alive_ns", (json_int_t)res->alive_ns, "worked_between_ns",
        (json_int_t)res->worked_between_ns, "stops", (json_int_t)res->stops);
    if (res->k_candidate_ns > 0) {
        json_object_set_new(pairs, "overhead_reference_ns", json_integer(res->k_reference_ns));
        json_object_set_new(pairs, "overhead_candidate_ns", json_integer(res->k_candidate_ns));
    }
    kg_record_evidence(r, "pairs", pairs);
}

static void not_measured(struct kg_evaluation *e, const char *why)
{
    struct kg_record *r = e->r;
    r->timing.status = KG_T_NOT_MEASURED;
    r->timing.why = why;
    r->timing.candidate_ns = r->timing.reference_ns = r->timing.overhead_ns = -1;
    r->timing.cv = NAN;
    json_decref(r->timing.samples);
    r->timing.samples = NULL;
    r->has_speedup = false;
}

/* --- what the candidate did --- */

static void verdict_of_wrong(struct kg_evaluation *e, const struct kg_tpairs_failure *f)
{
    struct kg_tcase c = {.law = f->law};
    const struct kg_tinstance *s = kg_torch_run_of(e)->instance;
    if (f->command == KG_TC_SNAPSHOT) {
        kg_toutcome_state(e, s, &c, &f->report, &f->judgement);
    } else {
        kg_toutcome_case(e, s, &c, &f->report, &f->judgement);
    }
    kg_again_timed(e, KG_DOUBT_TIMED_MADE, 0, f->call, f->right);
}

static enum outcome of_failure(struct kg_evaluation *e, const struct kg_tpairs_failure *f,
                               struct kg_err *err)
{
    if (f->compared) {
        verdict_of_wrong(e, f);
        return FAILED;
    }
    kg_torch_run_of(e)->called = f->call > 1;
    if (f->report.status != KG_DJ_ANSWERED) {
        kg_tcandidate_stop(e); /* its exit says more */
    }
    return kg_toutcome_call(e, f->command, KG_ST_TIMING, &f->report, err) == KG_STAGE_FAIL ? FAILED
                                                                                           : ERROR;
}

/* Somebody else's work was on the device again and again. Where that goes on without the
 * candidate's process, it was not its. */
static enum outcome of_loud(struct kg_evaluation *e, struct kg_tpairs *s, struct kg_err *err)
{
    bool loud;
    kg_tcandidate_stop(e);
    if (kg_tpairs_canary(s, &loud, err) != KG_OK) {
        return ERROR;
    }
    if (!loud) {
        return SUSPECT_ASYNC;
    }
    not_measured(e, "somebody else's work is on the device");
    return DONE;
}

/* What has waited is asked of the oracle; where the process is done, while it ends. */
static enum outcome ask_oracle(struct kg_evaluation *e, struct kg_tpairs *s, enum outcome o,
                               struct kg_tpairs_result *res, struct kg_err *err)
{
    if (o != DISTURBED) {
        kg_tcandidate_leave(e);
    }
    enum kg_code code = kg_tpairs_oracle(s, res, err);
    kg_tspare_followed(e->w);
    if (code != KG_OK) {
        return ERROR;
    }
    return res->status == KG_TPAIRS_FAILED ? of_failure(e, &res->failure, err) : o;
}

static enum outcome one_process(struct kg_evaluation *e, struct kg_tpairs *s,
                                struct kg_tpairs_result *res, struct kg_err *err)
{
    enum kg_stage_result step =
        kg_tcandidate_again(e, kg_torch_run_of(e)->instance, KG_ST_TIMING, err);
    if (step != KG_STAGE_PASS) {
        return step == KG_STAGE_FAIL ? FAILED : ERROR;
    }
    if (kg_tpairs_run(s, &kg_torch_run_of(e)->cand, res, err) != KG_OK) {
        return ERROR;
    }
    json_decref(kg_torch_run_of(e)->clocks);
    kg_torch_run_of(e)->clocks = kg_tgpu_now(e->w); /* while they are still those of the pairs */
    switch (res->status) {
    case KG_TPAIRS_FAILED:
        return of_failure(e, &res->failure, err);
    case KG_TPAIRS_LOST:
        return LOST;
    case KG_TPAIRS_LOUD:
        return e->shared ? DISTURBED : of_loud(e, s, err);
    default:
        /* nobody waits for a better clock where no time can be rewarded */
        return ask_oracle(e, s,
                          res->noisy && e->shared && !res->reference_short ? DISTURBED
                          : kg_tfloor_below(e, res)                        ? SUSPECT_FLOOR
                                                                           : DONE,
                          res, err);
    }
}

static void accuse(struct kg_evaluation *e, enum outcome of, const struct kg_tpairs_result *res)
{
    if (of == SUSPECT_ASYNC) {
        kg_record_evidence(e->r, "loud",
                           json_pack("{s:I, s:I, s:i}", "setup_ns", (json_int_t)res->setup_ns,
                                     "close_ns", (json_int_t)res->close_ns, "processes",
                                     PROCESSES));
        kg_record_verdict(
            e->r, KG_V_HACK, "async",
            "its work goes on while it is not called: the device is quiet without it");
        return;
    }
    kg_tfloor_accuse(e, res, PROCESSES);
}

/* --- the stage --- */

/* Its time is not the candidate's. */
static enum kg_code null_test(struct kg_evaluation *e, const struct kg_tpairs_options *opt,
                              struct kg_err *err)
{
    int64_t since = kg_clock_ns();
    enum kg_code code = kg_tpairs_null_width(e->w, kg_torch_run_of(e)->instance, opt,
                                             kg_key_derive(e->key, "timing-null", 0), err);
    kg_evaluation_excuse(e, since);
    return code;
}

/* A candidate shorter than T: no interval narrower than what the reference against itself has here.
 */
static enum kg_code widen(struct kg_evaluation *e, const struct kg_tpairs_options *opt,
                          struct kg_err *err)
{
    const struct kg_torch *t = kg_torch_of(e->w);
    struct kg_record *r = e->r;
    if (null_test(e, opt, err) != KG_OK) {
        return err->code;
    }
    kg_ratio_widen(r->speedup.ratio, t->null_half_width, &r->speedup.lo, &r->speedup.hi);
    return KG_OK;
}

/* Who waits for the device alone must hold no memory there, since those who have to end first may
 * wait for it. So the evaluation begins again, alone (eval/accidents.h). */
static enum kg_code have_it_alone(struct kg_evaluation *e, struct kg_err *err)
{
    return kg_torch_of(e->w)->memory.ledger.held > 0
               ? kg_fail(err, KG_E_HOST, "timing: others on the device disturb it")
               : kg_tdevice_alone(e, err);
}

static bool suspect(enum outcome o)
{
    return o == SUSPECT_FLOOR || o == SUSPECT_ASYNC;
}

static enum kg_stage_result measure(struct kg_evaluation *e, const struct kg_tpairs_options *opt,
                                    struct kg_tpairs *s, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(e->w);
    struct kg_tpairs_result res = {.pair = NULL};
    enum outcome o = DONE;
    int seen[OUTCOMES] = {0}, disturbed = 0;
    bool again;
    t->contexts_apart = false;
    do {
        kg_tpairs_result_deinit(&res);
        o = one_process(e, s, &res, err);
        if (o == SUSPECT_FLOOR && seen[o] == 0) {
            kg_tcandidate_stop(e);
            o = kg_tfloor_retake(e, opt, err) != KG_OK ? ERROR
                : kg_tfloor_below(e, &res)             ? o
                                                       : DONE;
        }
        again = o == DISTURBED || ((suspect(o) || o == LOST) && ++seen[o] < PROCESSES);
        /* Others' contexts may have been it; and for the device alone all others have to end. */
        bool beside = !e->w->config.torch_contexts_apart && !t->contexts_apart;
        if (o == DISTURBED && (beside || disturbed++ == 0)) {
            t->contexts_apart = t->contexts_apart || beside;
            if (!res.noisy) {
                kg_tcandidate_stop(e);
            }
            continue;
        }
        if (again) {
            kg_tcandidate_stop(e);
        }
        if (o == DISTURBED && have_it_alone(e, err) != KG_OK) {
            o = ERROR;
            again = false;
        }
    } while (again);
    if ((o == DONE || o == LOST || o == SUSPECT_FLOOR) && res.status != KG_TPAIRS_LOUD) {
        record_times(e, &res);
    }
    if (o == SUSPECT_FLOOR) { /* nobody is accused by a clock whose own error is not known */
        kg_tcandidate_stop(e);
        o = null_test(e, opt, err) != KG_OK                      ? ERROR
            : t->null_half_width > 0 && kg_tfloor_below(e, &res) ? o
                                                                 : DONE;
    }
    if (o == SUSPECT_FLOOR) { /* nor for what its answer does not need */
        o = kg_tfloor_learn(e, err) != KG_OK ? ERROR : kg_tfloor_below(e, &res) ? o : DONE;
    }
    if (suspect(o)) {
        accuse(e, o, &res);
        o = FAILED;
    }
    kg_tcandidate_stop(e);
    if (o == DONE && res.status == KG_TPAIRS_MEASURED && res.candidate_short &&
        widen(e, opt, err) != KG_OK) {
        o = ERROR;
    }
    kg_tpairs_result_deinit(&res);
    return o == DONE || o == LOST ? KG_STAGE_PASS : o == FAILED ? KG_STAGE_FAIL : KG_STAGE_ERROR;
}

static bool has_clock(const struct kg_worker *w)
{
    return kg_torch_of(w)->judge.facts.clock || kg_torch_of(w)->test.times_anywhere;
}

void kg_tstage_timing_ahead(struct kg_evaluation *e, struct kg_tinstance *instance)
{
    struct kg_worker *w = e->w;
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_tpairs_options opt;
    struct kg_tpairs *s;
    char why[200];
    bool asked = w->config.stage_timing && e->task->stop_after >= KG_ST_TIMING &&
                 kg_tmemory_may_time(w, why, sizeof why);
    if (!asked || !has_clock(w) || kg_torch_protocol(w)->timing || kg_tpairs_knows(w, instance)) {
        return;
    }
    int64_t since = kg_clock_ns();
    kg_tpairs_options_of(&w->config, &opt);
    if (kg_tpairs_open(w, instance, &opt, kg_key_derive(e->key, "timing-ahead", 0), &e->deadline_ns,
                       &s, &ignored) == KG_OK) {
        kg_tpairs_close(s);
    }
    kg_evaluation_excuse(e, since);
}

enum kg_stage_result kg_tstage_timing(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_tpairs_options opt;
    struct kg_tpairs *s;
    char why[200];
    if (kg_torch_protocol(e->w)->timing) {
        return kg_torch_protocol(e->w)->timing(e, err);
    }
    if (!kg_tpairs_knows(e->w, kg_torch_run_of(e)->instance)) {
        kg_tcandidate_stop(e);
    }
    if (!has_clock(e->w)) {
        not_measured(e, "no GPU: times on a CPU say nothing about what is written for one");
        return KG_STAGE_PASS;
    }
    if (!kg_tmemory_may_time(e->w, why, sizeof why)) {
        struct kg_err ignored = KG_ERR_INIT;
        not_measured(e, kg_arena_dup(&e->r->arena, why, strlen(why), &ignored));
        return KG_STAGE_PASS;
    }
    kg_tpairs_options_of(&e->w->config, &opt);
    e->r->timing.preset = opt.calibrated ? "calibrated" : "paired";
    int64_t since = kg_clock_ns();
    if (kg_tpairs_open(e->w, kg_torch_run_of(e)->instance, &opt, kg_key_derive(e->key, "timing", 0),
                       &e->deadline_ns, &s, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    kg_evaluation_excuse(e, since);
    enum kg_stage_result step = measure(e, &opt, s, err);
    kg_tpairs_close(s);
    return step;
}
