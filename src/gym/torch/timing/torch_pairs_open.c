/* What is known before the candidate: options, the null runner, the reference's own error, K. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/trace.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/memory.h"
#include "gym/torch/runner/spare_runner.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_runner.h"
#include "gym/torch/timing/torch_pairs.h"
#include "gym/torch/timing/torch_pairs_private.h"

#define CASE          KG_TORCH_TIMING_ID
#define LEAST_WARMUPS 10
#define NULLS_FIRST   2 /* null calls that do not count: page tables, clocks */
#define NULLS_QUIET   8 /* before a worker's first candidate is there: K is never more than that, */
#define QUIET_MOST    6 /* by the least of so many eights at most, ... */
#define LEND          ((uint64_t)256 << 20) /* bytes of regions that the null runner needs not have */
#define SETTLED       0.98 /* ... once one is no less than this share of those before */

void kg_tpairs_options_of(const struct kg_config *c, struct kg_tpairs_options *out)
{
    *out = KG_TPAIRS_DEFAULTS;
    out->calibrated = c->timing_method == KG_TM_CALIBRATED;
    out->pairs = (int)c->timing_block_pairs;
    out->blocks = (int)c->timing_blocks;
    out->min_blocks = (int)c->timing_min_blocks;
    out->trials = (int)c->timing_trials;
    out->warmups = c->timing_warmups > LEAST_WARMUPS ? (int)c->timing_warmups : LEAST_WARMUPS;
    out->trim = c->timing_trim;
    out->half_width = c->timing_block_half_width;
    out->widest = c->timing_widest;
    out->budget_ns = (int64_t)(c->timing_budget * 1e9);
    out->call_ns = (int64_t)(c->deadline_run * 1e9);
    out->first_call_ns = (int64_t)(c->torch_first_call * 1e9);
    out->exclusive = c->timing_exclusive;
    out->ahead = c->timing_ahead;
}

static enum kg_code check(const struct kg_tpairs_options *o, struct kg_err *err)
{
    if (o->blocks < 1 || o->blocks > KG_TPAIRS_BLOCKS || o->min_blocks < 1 ||
        o->min_blocks > o->blocks) {
        return kg_fail(err, KG_E_USAGE, "timing: %d blocks (at least %d) is not in 1..%d",
                       o->blocks, o->min_blocks, KG_TPAIRS_BLOCKS);
    }
    if (o->pairs < KG_TPAIRS_LEAST || o->pairs > KG_TPAIRS_MOST || o->trials < KG_TPAIRS_LEAST ||
        o->trials > KG_TPAIRS_MOST) {
        return kg_fail(err, KG_E_USAGE, "timing: %d pairs or %d trials are not in %d..%d", o->pairs,
                       o->trials, KG_TPAIRS_LEAST, KG_TPAIRS_MOST);
    }
    if (o->warmups < LEAST_WARMUPS || !(o->trim >= 0 && o->trim < 0.5) || !(o->half_width >= 0)) {
        return kg_fail(err, KG_E_USAGE,
                       "timing: %d warm-ups (at least %d), trim %g (0 to 0.5) or half-width %g is "
                       "out of range",
                       o->warmups, LEAST_WARMUPS, o->trim, o->half_width);
    }
    return KG_OK;
}

/* --- the device alone --- */

/* The candidate is not charged for waiting. */
enum kg_code kg_tpairs_take_lease(struct kg_tpairs *s, struct kg_err *err)
{
    int64_t waited = kg_clock_ns();
    enum kg_code code = kg_torch_take_device(s->w, s->opt.exclusive, &s->lease, err);
    kg_trace_span(waited, "alone", "wait");
    waited = kg_clock_ns() - waited;
    *s->deadline_ns += waited;
    s->born_ns += waited;
    s->started_ns += waited;
    return code;
}

void kg_tpairs_give_lease(struct kg_tpairs *s)
{
    kg_torch_give_device(s->w, &s->lease);
}

/* --- before the candidate --- */

/* It takes inputs, but loads nothing and calls nothing: the last problem's serves this one, too. */
static enum kg_code start_null(struct kg_tpairs *s, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(s->w);
    uint64_t in, out;
    kg_tinstance_null_regions(s->instance, &in, &out);
    s->lends = in + out > LEND;
    in = s->lends ? 1 : in;
    out = s->lends ? 1 : out;
    bool fits = t->null.in_bytes >= in && t->null.out_bytes >= out;
    if (t->null.up && fits && !kg_sandbox_poll(&t->null.runner.sandbox)) {
        return KG_OK;
    }
    kg_trunner_stop(s->w, &t->null);
    kg_tspare_regions(s->w, false, &in, &out);
    return kg_trunner_start(s->w, false, t->problem_file, in, out, &t->null, err);
}

static enum kg_code begin_case(struct kg_tpairs *s, struct kg_err *err)
{
    const struct kg_task_desc *d = &s->instance->desc;
    struct kg_tleaf leaf[KG_TASK_INPUTS];
    for (size_t i = 0; i < d->ninputs; i++) {
        leaf[i] = d->input[i].leaf;
    }
    kg_tmemory_room_to_time(s->w);
    return kg_dj_case_begin(&kg_torch_of(s->w)->judge, CASE, leaf, d->ninputs, err) == KG_OK
               ? kg_tpairs_left_begin(s, err)
               : err->code;
}

enum kg_tflow kg_tpairs_disagree(const struct kg_tpairs *s, struct kg_err *err)
{
    kg_fail(err, KG_E_PROBLEM, "%s: timing: the reference in float and in double disagree",
            kg_torch_of(s->w)->problem->path);
    return KG_TFLOW_ERROR;
}

/* The reference's own error on the inputs that will be timed. Where it does not meet itself on
 * values of the judge's making, there is more to the problem's inputs than can be seen of them: the
 * reference draws them all. A random one that draws otherwise in double has itself for an oracle,
 * and so has one without double whose answer jumps where its inputs are moved. */
static enum kg_tflow learn(struct kg_tpairs *s, struct kg_err *err)
{
    bool applies = false;
    const int most = s->instance->desc.random || s->instance->single ? 4 : 2;
    for (int tries = 0; tries < most && !applies; tries++) {
        struct kg_dj_report rep;
        s->drawn = tries % 2 == 1;
        s->self = tries >= 2;
        enum kg_tflow flow = kg_tpairs_own(s, &rep, err);
        flow = flow == KG_TFLOW_ON ? kg_tpairs_self(s, &applies, err) : flow;
        if (flow != KG_TFLOW_ON) {
            return flow;
        }
    }
    return applies ? KG_TFLOW_ON : kg_tpairs_disagree(s, err);
}

enum kg_tflow kg_tpairs_nulls(struct kg_tpairs *s, size_t least, struct kg_err *err)
{
    enum kg_tflow flow = KG_TFLOW_ON;
    for (size_t tries = 0; tries < 2 * least && s->nnull < least && flow == KG_TFLOW_ON; tries++) {
        struct kg_dj_report rep;
        bool loud;
        flow = kg_tpairs_reference(s, KG_DJ_FLOAT, &rep, err);
        if (flow == KG_TFLOW_ON && s->nbehind < KG_TPAIRS_BEHIND) {
            s->behind_ns[s->nbehind++] = (double)kg_tpairs_behind(&rep);
        }
        flow = flow == KG_TFLOW_ON ? kg_tpairs_null_call(s, &loud, err) : flow;
    }
    return flow;
}

/* The runners' own part of a window, 0.2 ms with cold caches, depends on the core: by 0.1 ms from
 * one process to the next where the scheduler chose. They never have to run at once. */
void kg_tpairs_one_core(const struct kg_tpairs *s)
{
    const struct kg_pyrunner *all[] = {&s->instance->ref.runner, &kg_torch_of(s->w)->null.runner,
                                       s->cand ? &s->cand->runner : NULL};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]) {
            kg_pyrunner_pin(all[i], s->w->cpu);
        }
    }
}

bool kg_tpairs_knows(const struct kg_worker *w, const struct kg_tinstance *instance)
{
    return kg_torch_of(w)->quiet_of == instance;
}

static enum kg_tflow quiet_nulls(struct kg_tpairs *s, struct kg_err *err)
{
    s->nnull = s->nbehind = 0;
    enum kg_tflow flow = kg_tpairs_nulls(s, NULLS_QUIET, err);
    if (flow == KG_TFLOW_ON && s->nnull == 0) {
        kg_fail(err, KG_E_HOST, "timing: the device is not quiet: no null call was");
        return KG_TFLOW_ERROR;
    }
    return flow;
}

/* Null calls while no candidate is there: how long the judge's own copies take, and K, which
 * nothing that a candidate does beside null calls can raise. A device that was idle is slow at
 * first: a worker that began with it had 0.15 ms too much. */
static enum kg_tflow quiet_k(struct kg_tpairs *s, double *k, struct kg_err *err)
{
    enum kg_tflow flow = kg_tpairs_nulls(s, NULLS_FIRST, err);
    bool less = true;
    *k = INFINITY;
    for (int i = 0; i < QUIET_MOST && less && flow == KG_TFLOW_ON; i++) {
        flow = quiet_nulls(s, err);
        double now = kg_median(s->null_ns, s->nnull);
        less = now < SETTLED * *k;
        *k = fmin(*k, now);
    }
    return flow;
}

static enum kg_code learn_quiet(struct kg_tpairs *s, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(s->w);
    double k;
    kg_tpairs_one_core(s);
    s->nnull = 0;
    t->quiet_behind_ns = INFINITY; /* not known yet */
    enum kg_tflow flow =
        kg_tpairs_take_lease(s, err) == KG_OK ? quiet_k(s, &k, err) : KG_TFLOW_ERROR;
    kg_tpairs_give_lease(s);
    if (flow != KG_TFLOW_ON) {
        return err->code;
    }
    t->quiet_of = s->instance;
    t->quiet_k_ns = k;
    /* of the last eight, which are settled */
    t->quiet_behind_ns = kg_median(s->behind_ns, s->nbehind);
    t->quiet_drawn = s->drawn;
    t->quiet_self = s->self;
    return KG_OK;
}

static enum kg_code begin(struct kg_tpairs *s, struct kg_err *err)
{
    if (check(&s->opt, err) != KG_OK || kg_tinstance_open(s->w, s->instance, err) != KG_OK ||
        start_null(s, err) != KG_OK) {
        return err->code;
    }
    if (kg_tpairs_knows(s->w, s->instance)) {
        s->drawn = kg_torch_of(s->w)->quiet_drawn;
        s->self = kg_torch_of(s->w)->quiet_self;
        return KG_OK;
    }
    return begin_case(s, err) == KG_OK && learn(s, err) == KG_TFLOW_ON ? learn_quiet(s, err)
                                                                       : err->code;
}

enum kg_code kg_tpairs_open(struct kg_worker *w, struct kg_tinstance *instance,
                            const struct kg_tpairs_options *opt, struct kg_key key,
                            int64_t *deadline_ns, struct kg_tpairs **out, struct kg_err *err)
{
    struct kg_tpairs *s = calloc(1, sizeof *s);
    if (!s) {
        return kg_fail(err, KG_E_LIMIT, "timing: no memory");
    }
    *s = (struct kg_tpairs){.w = w,
                            .instance = instance,
                            .opt = *opt,
                            .key = key,
                            .deadline_ns = deadline_ns,
                            .lease = KG_LEASE_NONE};
    kg_rng_init(&s->rng, kg_key_derive(key, "timing-order", 0), 0);
    if (begin(s, err) != KG_OK) {
        kg_tpairs_close(s);
        return err->code;
    }
    *out = s;
    return KG_OK;
}

void kg_tpairs_close(struct kg_tpairs *s)
{
    if (s) {
        kg_rng_deinit(&s->rng);
        free(s);
    }
}
