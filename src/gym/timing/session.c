/* Start and end of a measurement and of its runners, the pool of buffer sets, and K. */
#include "gym/timing/session.h"

#include <string.h>

#include "base/clock.h"

#define K_FIRST  4 /* null calls of a fresh runner before those that count: page tables, caches */
#define START_NS 20000000000ll

#define PAGE 4096u

/* A buffer set's share of a region. Sets begin at different pages, so a pointer tells nothing. */
static uint64_t stride_of(uint64_t end)
{
    return (end + 2 * PAGE - 1) / PAGE * PAGE;
}

void kg_pairs_region_bytes(const struct kg_problem *p, size_t *in_bytes, size_t *out_bytes)
{
    struct kg_shape s;
    struct kg_layout l;
    kg_shape_default(p, &s);
    kg_layout_plan(p, &s, false, 0, 0, 0, &l);
    *in_bytes = (size_t)(KG_PAIRS_SETS * stride_of(l.in_end));
    *out_bytes = (size_t)(KG_PAIRS_SETS * stride_of(l.out_end));
}

enum kg_code kg_session_open(struct kg_session *s, struct kg_err *err)
{
    const struct kg_judge *j = s->in->judge;
    struct kg_layout l;
    kg_layout_plan(s->in->problem, &s->in->shape, false, 0, 0, 0, &l);
    s->in_stride = stride_of(l.in_end);
    s->out_stride = stride_of(l.out_end);
    uint64_t sets_in = j->in.bytes / s->in_stride, sets_out = j->out.bytes / s->out_stride;
    uint64_t sets = sets_in < sets_out ? sets_in : sets_out;
    if (sets == 0) {
        return kg_fail(err, KG_E_LIMIT, "%s: timing needs regions of %llu and %llu bytes",
                       s->in->problem->name, (unsigned long long)s->in_stride,
                       (unsigned long long)s->out_stride);
    }
    s->nsets = sets < KG_PAIRS_SETS ? (int)sets : KG_PAIRS_SETS;
    s->set = -1;
    s->own = s->in->kept ? s->in->kept : &s->fresh;
    s->out->pool_sets = s->nsets;
    s->started_ns = kg_clock_ns();
    kg_rng_init(&s->rng, kg_key_derive(s->in->key, "timing-order", 0), 0);
    return KG_OK;
}

static void stop_one(struct kg_handle *h)
{
    if (h->up) {
        kg_runner_stop(&h->runner);
        h->up = false;
    }
}

void kg_session_close(struct kg_session *s)
{
    kg_session_stop(s);
    stop_one(&s->fresh.oracle);
    kg_rng_deinit(&s->rng);
}

bool kg_session_past_deadline(const struct kg_session *s)
{
    return s->in->deadline_ns > 0 && kg_clock_ns() >= s->in->deadline_ns;
}

bool kg_session_over_budget(const struct kg_session *s)
{
    return kg_clock_ns() - s->started_ns >= s->opt->budget_ns || kg_session_past_deadline(s);
}

static enum kg_code start_one(const struct kg_runner_spec *spec, struct kg_handle *h,
                              enum kg_run_status *status, struct kg_err *err)
{
    enum kg_code code = kg_runner_start(spec, kg_clock_ns() + START_NS, &h->runner, status, err);
    h->up = code == KG_OK;
    return code;
}

/* Starts a runner of the gym. If it does not start, the problem or the gym is at fault. */
static enum kg_code start_own(const struct kg_runner_spec *spec, struct kg_handle *h,
                              enum kg_code blame, const char *what, struct kg_err *err)
{
    enum kg_run_status status = KG_RUN_OK;
    if (h->up && (h->runner.status != KG_RUN_OK || kg_sandbox_poll(&h->runner.sandbox))) {
        stop_one(h); /* a kept one that has ended */
    }
    if (h->up) {
        return KG_OK;
    }
    if (start_one(spec, h, &status, err) != KG_OK) {
        return kg_err_prefix(err, "timing: %s", what);
    }
    if (status != KG_RUN_OK) {
        return kg_fail(err, blame, "timing: %s does not load: %s", what,
                       kg_runner_unloaded(&h->runner));
    }
    return KG_OK;
}

enum kg_code kg_session_oracle(struct kg_session *s, struct kg_err *err)
{
    return start_own(s->in->oracle, &s->own->oracle, KG_E_PROBLEM, "the oracle", err);
}

enum kg_flow kg_session_start(struct kg_session *s, struct kg_err *err)
{
    struct kg_pairs_own *own = s->own;
    if (start_own(s->in->reference, &own->ref, KG_E_PROBLEM, "the reference", err) != KG_OK ||
        start_own(s->in->null_runner, &own->null, KG_E_GYM, "the null candidate", err) != KG_OK ||
        (s->in->oracle && s->opt->asides && kg_session_oracle(s, err) != KG_OK)) {
        return KG_FLOW_ERROR;
    }
    enum kg_run_status status = KG_RUN_OK;
    bool goes_on = s->in->running && s->in->running->up && s->out->nprocess == 0;
    s->cand = goes_on ? s->in->running : &s->fresh_cand;
    if (!goes_on && (kg_judge_clear(s->in->judge, err) != KG_OK ||
                     start_one(s->in->candidate, s->cand, &status, err) != KG_OK)) {
        return KG_FLOW_ERROR;
    }
    s->born_ns = kg_clock_ns();
    s->calls = 0;
    if (status != KG_RUN_OK) {
        s->out->failure = (struct kg_pairs_failure){
            .kind = KG_PAIRS_RUN, .run = status, .process = s->out->nprocess};
        return KG_FLOW_FAILED;
    }
    return KG_FLOW_ON;
}

void kg_session_stop(struct kg_session *s)
{
    stop_one(&s->fresh.ref);
    stop_one(&s->fresh.null);
    if (s->cand && s->cand->up) {
        stop_one(s->cand);
        s->out->candidate = s->cand->runner;
        s->out->candidate.wire = &s->out->candidate.last;
    }
}

/* One null call, made exactly as a timed call. */
static enum kg_code null_call(struct kg_session *s, double *ns, struct kg_err *err)
{
    struct kg_case c;
    struct kg_layout l;
    struct kg_wire_call words;
    struct kg_call_report rep;
    kg_session_draw(s, &c);
    if (kg_judge_fill(s->in->judge, &c, false, err) != KG_OK ||
        (s->opt->cold && kg_judge_flush(s->in->judge, &c, err) != KG_OK)) {
        return err->code;
    }
    kg_layout_plan(s->in->problem, &c.shape, false, 0, c.in_base, c.out_base, &l);
    kg_layout_call(s->in->problem, &c.shape, c.key, &l, false, &words);
    int64_t deadline = kg_clock_ns() + s->opt->call_deadline_ns;
    kg_runner_call(&s->own->null.runner, &words, deadline, true, &rep);
    *ns = (double)(rep.window_ns + rep.tail_cpu_ns);
    if (rep.status != KG_RUN_OK && rep.status != KG_RUN_ACTIVE) {
        return kg_fail(err, KG_E_GYM, "timing: the null candidate failed (status %d)",
                       (int)rep.status);
    }
    return KG_OK;
}

static void note_null(struct kg_pairs_own *own, double ns)
{
    own->null_ns[own->next_null] = ns;
    own->next_null = (own->next_null + 1) % KG_PAIRS_NULLS;
    own->n_nulls += own->n_nulls < KG_PAIRS_NULLS;
}

/* Of kept runners the first measurement makes all the null calls that K is the median of, the
 * others a few: on a busy host the median of a few would be off. */
enum kg_flow kg_session_overhead(struct kg_session *s, struct kg_err *err)
{
    double ns[KG_PAIRS_MAX_NULLS];
    struct kg_pairs_own *own = s->own;
    bool kept = s->in->kept != NULL;
    int n = s->opt->null_calls, first = own->null.runner.calls > 0 ? 1 : K_FIRST;
    n = kept && n < KG_PAIRS_NULLS - own->n_nulls ? KG_PAIRS_NULLS - own->n_nulls : n;
    for (int i = -first; i < n; i++) {
        double one = 0;
        if (null_call(s, &one, err) != KG_OK) {
            return KG_FLOW_ERROR;
        }
        ns[i < 0 ? 0 : i] = one;
        if (kept && i >= 0) {
            note_null(own, one);
        }
    }
    const double *all = kept ? own->null_ns : ns;
    size_t count = kept ? (size_t)own->n_nulls : (size_t)n;
    s->process->k_ns = (int64_t)kg_median(all, count);
    s->process->k_p10_ns = (int64_t)kg_quantile(all, count, 0.1);
    s->process->k_p90_ns = (int64_t)kg_quantile(all, count, 0.9);
    kg_summary_learn_k(s);
    return KG_FLOW_ON;
}
