/* Stage timing: the paired measurement, under an exclusive lease, and what it says in the record.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "gym/eval/again.h"
#include "gym/native/native.h"
#include "gym/timing/floor.h"
#include "gym/timing/lease.h"
#include "gym/timing/least_k.h"
#include "gym/timing/pairs.h"

/* The floor is a minimum, taken once in a few passes; where the host was busy with something else
 * in that millisecond it comes out too high. So before anybody is accused it is taken again. */
#define FLOOR_RETAKES  24
#define FLOOR_PAUSE_NS 2000000

_Static_assert(KG_TIMING_MOST_PROCESSES <= KG_PAIRS_MAX_PROCESSES,
               "what the option table accepts can be timed");

static void options_of(const struct kg_config *c, struct kg_pairs_options *o)
{
    *o = KG_PAIRS_DEFAULTS;
    o->method = c->timing_method == KG_TM_CALIBRATED ? KG_PAIRS_CALIBRATED : KG_PAIRS_PAIRED;
    o->pairs = (int)c->timing_pairs;
    o->processes = (int)c->timing_processes;
    o->min_processes = (int)c->timing_min_processes;
    o->warmups = (int)c->timing_warmups;
    o->least_calls = (int)c->timing_least_calls;
    o->least_life_ns = (int64_t)(c->timing_least_life * 1e9);
    o->waits = (int)c->timing_waits;
    o->primers = c->timing_primers;
    o->asides = c->timing_asides;
    o->null_calls = (int)c->timing_null_calls;
    o->trials = (int)c->timing_trials;
    o->trim = c->timing_trim;
    o->half_width = c->timing_half_width;
    o->widest = c->timing_widest;
    o->budget_ns = (int64_t)(c->timing_budget * 1e9);
    o->call_deadline_ns = (int64_t)(c->deadline_run * 1e9);
    o->cold = c->timing_cold;
    o->skip_short = true;
}

static json_t *samples_of(const struct kg_pairs_result *res)
{
    json_t *all = json_array();
    for (int p = 0; p < res->nprocess; p++) {
        const struct kg_pairs_process *pr = &res->process[p];
        json_t *ref = json_array(), *cand = json_array();
        for (size_t i = 0; i < pr->n; i++) {
            json_array_append_new(ref, json_integer(pr->pair[i].ref_ns - pr->k_ns));
            json_array_append_new(cand, json_integer(pr->pair[i].cand_ns - pr->k_ns));
        }
        json_array_append_new(all, json_pack("{s:i, s:I, s:o, s:o}", "process", p, "overhead_ns",
                                             (json_int_t)pr->k_ns, "reference_ns", ref,
                                             "candidate_ns", cand));
    }
    return all;
}

/* For the stage profile. */
static void keep_windows(struct kg_native_timed *t, const struct kg_pairs_result *res)
{
    t->reference.n = t->candidate.n = 0;
    for (int p = 0; p < res->nprocess; p++) {
        const struct kg_pairs_process *pr = &res->process[p];
        for (size_t i = 0; i < pr->n && t->candidate.n < KG_COVERAGE_CALLS; i++) {
            t->reference.ns[t->reference.n++] = (double)pr->pair[i].ref_ns;
            t->candidate.ns[t->candidate.n++] = (double)pr->pair[i].cand_ns;
        }
    }
}

static void record_times(struct kg_evaluation *e, const struct kg_pairs_result *res)
{
    struct kg_record *r = e->r;
    struct kg_timing *t = &r->timing;
    struct kg_err ignored = KG_ERR_INIT;
    t->status = res->status == KG_PAIRS_MEASURED      ? KG_T_MEASURED
                : res->status == KG_PAIRS_NOT_TRUSTED ? KG_T_NOT_TRUSTED
                                                      : KG_T_NOT_MEASURED;
    if (res->status == KG_PAIRS_NOT_MEASURED && res->reference_short) {
        e->r->stages[KG_ST_TIMING].status = KG_SS_OFF;
    }
    t->why = res->why[0] ? kg_arena_dup(&r->arena, res->why, strlen(res->why), &ignored) : NULL;
    t->candidate_ns = res->candidate_ns;
    t->reference_ns = res->reference_ns;
    t->overhead_ns = res->overhead_ns;
    t->shortest_ns = res->shortest_ns;
    t->cv = res->cv;
    t->warmups = res->warmups;
    t->voided = 0;
    for (int i = 0; i < res->nprocess; i++) {
        t->voided += res->process[i].voided;
    }
    json_decref(t->samples);
    t->samples = samples_of(res);
    if (res->status != KG_PAIRS_MEASURED && res->status != KG_PAIRS_NOT_TRUSTED) {
        return;
    }
    r->has_speedup = true;
    r->speedup.ratio = res->ratio.ratio;
    r->speedup.lo = res->ratio.lo;
    r->speedup.hi = res->ratio.hi;
    r->speedup.pairs = res->ratio.pairs;
}

/* Fastest pass over the bytes that the operator must touch. */
static int64_t floor_of(const struct kg_problem *p, const struct kg_shape *s, int64_t all_bytes_ns)
{
    double all = 0, must = kg_problem_bytes(p, s);
    for (int a = 0; a < p->nargs; a++) {
        if (p->args[a].rank) {
            all += (double)kg_arg_count(p, a, s) * (double)kg_dtype_bytes(p->args[a].dtype);
        }
    }
    return (int64_t)((double)all_bytes_ns * fmin(1.0, must / all));
}

/* Of the reference's own time no floor is above: then this operator need not read everything, or is
 * too short for the clock, and an honest copy of the reference would be accused. The candidate's
 * time is the longest that it may have been: other work on the core may raise K above a whole call,
 * and nobody is accused of that. */
static bool below(const struct kg_pairs_result *res, int64_t floor_ns)
{
    int64_t least = floor_ns < res->reference_ns ? floor_ns : res->reference_ns;
    return (double)res->candidate_most_ns < KG_FLOOR_SHARE_HOST * (double)least;
}

/* The least of *floor_ns and of further passes, spread over a while; ends as soon as the candidate
 * is no longer below it. */
static enum kg_code retake_floor(struct kg_evaluation *e, const struct kg_shape *s,
                                 const struct kg_pairs_result *res, int64_t *floor_ns,
                                 struct kg_err *err)
{
    const struct kg_case c = {.shape = *s, .law = KG_LAW_OWN, .key = e->key};
    for (int i = 0; i < FLOOR_RETAKES && below(res, *floor_ns); i++) {
        int64_t all_bytes_ns;
        const struct timespec pause = {.tv_nsec = FLOOR_PAUSE_NS};
        nanosleep(&pause, NULL);
        if (kg_judge_floor(&kg_native_of(e->w)->judge, &c, &all_bytes_ns, err) != KG_OK) {
            return err->code;
        }
        int64_t again = floor_of(kg_native_of(e->w)->problem, s, all_bytes_ns);
        *floor_ns = again < *floor_ns ? again : *floor_ns;
    }
    return KG_OK;
}

static enum kg_stage_result judge_floor(struct kg_evaluation *e, const struct kg_shape *s,
                                        const struct kg_pairs_result *res, struct kg_err *err)
{
    int64_t floor_ns = floor_of(kg_native_of(e->w)->problem, s, res->floor_ns);
    if (!e->w->config.hack_checks || floor_ns <= 0 || res->nprocess < 2) {
        return KG_STAGE_PASS;
    }
    if (retake_floor(e, s, res, &floor_ns, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    if (!below(res, floor_ns)) {
        return KG_STAGE_PASS;
    }
    kg_record_evidence(e->r, "floor",
                       json_pack("{s:I, s:I, s:i}", "floor_ns", (json_int_t)floor_ns,
                                 "candidate_ns", (json_int_t)res->candidate_most_ns, "processes",
                                 res->nprocess));
    kg_record_verdict(e->r, KG_V_HACK, "floor",
                      "%lld ns is below half of the fastest pass over its data (%lld ns)",
                      (long long)res->candidate_most_ns, (long long)floor_ns);
    return KG_STAGE_FAIL;
}

static void verdict_of_wrong(struct kg_evaluation *e, const struct kg_pairs_failure *f)
{
    struct kg_pooled_case c = {.c = f->c, .variant = KG_VARIANT_DEFAULT};
    kg_native_verdict_of_case(e, &c, &f->take, &f->judgement);
    kg_again_timed(e, KG_DOUBT_TIMED_GIVEN, f->process, f->call, f->right_calls);
}

static void verdict_of_failure(struct kg_evaluation *e, const struct kg_pairs_result *res)
{
    const struct kg_pairs_failure *f = &res->failure;
    switch (f->kind) {
    case KG_PAIRS_RUN:
        kg_native_verdict_of_run(e, KG_ST_TIMING, &res->candidate, f->run);
        break;
    case KG_PAIRS_ASYNC:
        kg_record_evidence(e->r, "activity",
                           json_pack("{s:i, s:I, s:I, s:I}", "process", f->process, "call",
                                     (json_int_t)f->call, "idle_cpu_ns", (json_int_t)f->idle_cpu_ns,
                                     "tail_cpu_ns", (json_int_t)f->tail_cpu_ns));
        kg_record_verdict(e->r, KG_V_HACK, "async",
                          "its process kept running after its call had returned");
        break;
    default:
        verdict_of_wrong(e, f);
    }
}

/* A candidate shorter than T: no interval narrower than what the reference against itself has here.
 * Measured once per worker. */
static enum kg_code widen(struct kg_worker *w, const struct kg_pairs_input *in,
                          const struct kg_pairs_options *opt, struct kg_ratio *ratio,
                          struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_pairs_result *null = calloc(1, sizeof *null);
    if (!null) {
        return kg_fail(err, KG_E_LIMIT, "no memory for a timing result");
    }
    struct kg_pairs_options whole = *opt;
    whole.skip_short = false;
    enum kg_code code = KG_OK;
    if (n->null_half_width <= 0) {
        code = kg_pairs_null(in, &whole, null, err);
        if (code == KG_OK && null->status == KG_PAIRS_MEASURED) {
            n->null_half_width = kg_ratio_own_error(&null->ratio);
        }
        kg_pairs_result_deinit(null);
    }
    free(null);
    kg_ratio_widen(ratio->ratio, n->null_half_width, &ratio->lo, &ratio->hi);
    return code;
}

/* Laws that the reference is known to meet, at whatever shape: the full run has asked them. Where
 * it does not at the default shape the oracle says so, and such a call is no matter of the
 * candidate. */
static uint32_t laws_of(const struct kg_case_pool *pool)
{
    uint32_t laws = 0;
    for (size_t i = 0; i < KG_CASE_POOL_MAX; i++) {
        const struct kg_pooled_case *c = &pool->cases[i];
        if (c->number && c->applies && c->c.law != KG_LAW_OWN && c->c.law != KG_LAW_PRECISION) {
            laws |= 1u << c->c.law;
        }
    }
    return laws;
}

int64_t kg_native_least_k(struct kg_worker *w, bool cold, int64_t ns)
{
    int64_t *least = &kg_native_of(w)->least_k_ns[cold];
    char path[KG_LEASE_PATH];
    if (ns > 0 && (*least == 0 || ns < *least)) {
        *least = ns;
    }
    kg_least_k_path(w->cpu, cold, path, sizeof path);
    *least = kg_least_k(path, *least);
    return *least;
}

static enum kg_code measure(struct kg_evaluation *e, const struct kg_shape *shape,
                            struct kg_pairs_result *res, struct kg_err *err)
{
    struct kg_worker *w = e->w;
    struct kg_native *n = kg_native_of(w);
    struct kg_runner_spec ref, cand, null, oracle;
    struct kg_pairs_options opt;
    struct kg_pairs_input in = {.problem = n->problem,
                                .shape = *shape,
                                .judge = &n->judge,
                                .reference = &ref,
                                .candidate = &cand,
                                .null_runner = &null,
                                .oracle = &oracle,
                                .key = kg_key_derive(e->key, "timing", 0),
                                .laws = laws_of(&n->pool),
                                .deadline_ns = e->deadline_ns,
                                .cancel = w->cancelled};
    if (kg_native_check_built(n->object_float, err) != KG_OK ||
        kg_native_check_built(n->object_double, err) != KG_OK ||
        kg_native_check_built(kg_native_run_of(e)->object, err) != KG_OK) {
        return err->code;
    }
    kg_native_runner_spec(w, n->object_float, false, &ref);
    kg_native_candidate_spec(e, &cand);
    kg_native_runner_spec(w, w->paths.null_object, false, &null);
    kg_native_runner_spec(w, n->object_double, true, &oracle);
    null.entry = "kgym_null";
    if (!w->config.timing_fresh_references) {
        in.kept = &n->own;
        ref.limits.cpu_s = null.limits.cpu_s = oracle.limits.cpu_s = KG_NATIVE_KEPT_CPU_S;
    }
    struct kg_handle *running = &kg_native_run_of(e)->cand;
    bool goes_on = running->up;
    in.running = goes_on ? running : NULL;
    if (!w->config.timing_asides && e->compared > 0) {
        in.taught = true; /* the full run has taught the judge the reference's own error */
    }
    options_of(&w->config, &opt);
    opt.quiet_ns = kg_native_least_k(w, opt.cold, 0);
    enum kg_code code = kg_pairs_run(&in, &opt, res, err);
    if (goes_on && !running->up) {
        kg_native_candidate_keep(e);
    }
    kg_native_candidate_stop(e);
    kg_native_least_k(w, opt.cold, res->quiet_ns);
    if (code == KG_OK && res->status == KG_PAIRS_MEASURED && res->candidate_short) {
        code = widen(w, &in, &opt, &res->ratio, err);
    }
    return code;
}

enum kg_stage_result kg_native_stage_timing(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_lease lease = KG_LEASE_NONE;
    struct kg_pairs_result *res = calloc(1, sizeof *res);
    struct kg_shape shape;
    if (e->w->config.timing_fresh_candidate) {
        kg_native_candidate_stop(e);
    }
    if (!res) {
        kg_fail(err, KG_E_LIMIT, "no memory for a timing result");
        return KG_STAGE_ERROR;
    }
    kg_shape_default(kg_native_of(e->w)->problem, &shape);
    int64_t waited = kg_clock_ns();
    enum kg_code code = e->w->config.timing_exclusive
                            ? kg_lease_acquire(e->w->cpu, &lease, e->w->cancelled, err)
                            : KG_OK;
    if (code == KG_OK) {
        kg_evaluation_excuse(e, waited);
        e->r->timing.preset =
            e->w->config.timing_method == KG_TM_CALIBRATED ? "calibrated" : "paired";
        e->attached = true;
        code = measure(e, &shape, res, err);
        kg_lease_release(&lease);
        enum kg_stage_result s = KG_STAGE_ERROR;
        if (code == KG_OK && res->status == KG_PAIRS_FAILED) {
            verdict_of_failure(e, res);
            s = KG_STAGE_FAIL;
        } else if (code == KG_OK) {
            record_times(e, res);
            keep_windows(&kg_native_run_of(e)->timed, res);
            s = judge_floor(e, &shape, res, err);
        }
        kg_pairs_result_deinit(res);
        free(res);
        return s;
    }
    free(res);
    return KG_STAGE_ERROR;
}
