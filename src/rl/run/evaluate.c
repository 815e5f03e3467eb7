/* Samples held-out problems and computes the metrics. */
#include "rl/run/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096 /* problems of a score */

const char *rl_score_name(enum rl_score s)
{
    static const char *const name[RL_SCORES] = {"valid",  "compiled", "correct",
                                                "fast_1", "fast_1.1", "fast_1.2",
                                                "hack",   "geomean",  "coverage"};
    return name[s];
}

static bool is(const struct rl_verdict *v, const char *name)
{
    return strcmp(v->name, name) == 0;
}

struct rl_outcome rl_outcome_of(const struct rl_verdict *v)
{
    struct rl_outcome o = {.sampled = true, .coverage = (double)NAN};
    if (v == NULL || v->state != RL_JUDGED) {
        return o;
    }
    o.extracted = !is(v, "no_code");
    o.valid = o.extracted && !is(v, "rejected");
    o.compiled = o.valid && !is(v, "compile_error");
    o.correct = v->correct;
    o.numerics = v->correct || is(v, "hack");
    o.hack = is(v, "hack");
    o.speedup = v->speedup;
    o.speedup_lo = v->speedup_lo;
    o.coverage = v->coverage;
    return o;
}

void rl_evaluation_deinit(struct rl_evaluation *e)
{
    free(e->outcome);
    *e = (struct rl_evaluation){0};
}

enum kg_code rl_evaluation_allocate(struct rl_evaluation *e, struct kg_err *err)
{
    if (e->problems > MOST) {
        return kg_fail(err, KG_E_LIMIT, "evaluation: more than %d problems", MOST);
    }
    e->outcome = calloc(e->problems * e->samples * e->turns, sizeof *e->outcome);
    return e->outcome != NULL ? KG_OK : kg_fail(err, KG_E_HOST, "evaluation: no memory");
}

/* --- scores --- */

/* Sums of a ratio by problem: coverage over correct outcomes where it is known. */
static void coverage(const struct rl_results *r, struct rl_view v, double *num, double *den)
{
    for (size_t p = 0; p < r->problems; p++) {
        num[p] = den[p] = 0;
        for (size_t i = 0; i < r->samples; i++) {
            const struct rl_outcome *o = rl_metrics_at(r, v, p, i);
            if (o != NULL && o->correct && !isnan(o->coverage)) {
                num[p] += o->coverage;
                den[p]++;
            }
        }
    }
}

/* num [problems], and den where the score is a ratio of sums. Returns den, or NULL: all 1. */
static double *terms(const struct rl_results *r, struct rl_view v, enum rl_score s, double *num,
                     double *den)
{
    static const double limit[RL_SCORES] = {
        [RL_SCORE_FAST_1] = 1, [RL_SCORE_FAST_11] = 1.1, [RL_SCORE_FAST_12] = 1.2};
    static const enum rl_rate rate[RL_SCORES] = {[RL_SCORE_VALID] = RL_RATE_VALID,
                                                 [RL_SCORE_COMPILED] = RL_RATE_COMPILED,
                                                 [RL_SCORE_CORRECT] = RL_RATE_CORRECT,
                                                 [RL_SCORE_HACK] = RL_RATE_HACK};
    if (s == RL_SCORE_GEOMEAN) {
        rl_metrics_logs(r, v, false, num, den);
        return den;
    }
    if (s == RL_SCORE_COVERAGE) {
        coverage(r, v, num, den);
        return den;
    }
    if (limit[s] > 0) {
        (void)rl_metrics_fast(r, v, limit[s], false, num);
    } else {
        rl_metrics_rate(r, v, rate[s], num);
    }
    return NULL;
}

struct rl_results rl_evaluation_part(const struct rl_evaluation *e, size_t from, size_t to)
{
    KG_ASSERT(from <= to && to <= e->problems);
    return (struct rl_results){to - from, e->samples, e->turns,
                               e->outcome + from * e->samples * e->turns};
}

struct rl_interval rl_score_of(const struct rl_results *r, struct rl_view v, enum rl_score s,
                               uint64_t seed)
{
    static double num[MOST], den[MOST], work[RL_BOOTSTRAP_RESAMPLES];
    double *d = terms(r, v, s, num, den);
    struct rl_interval i = rl_bootstrap(num, d, r->problems, seed, RL_BOOTSTRAP_RESAMPLES, work);
    if (s == RL_SCORE_GEOMEAN) {
        i.value = exp(i.value);
        i.lo = exp(i.lo);
        i.hi = exp(i.hi);
    }
    return i;
}

struct rl_interval rl_score_difference(const struct rl_results *a, const struct rl_results *b,
                                       struct rl_view v, enum rl_score s, uint64_t seed)
{
    static double num[2][MOST], den[2][MOST], work[RL_BOOTSTRAP_RESAMPLES];
    double *da = terms(a, v, s, num[0], den[0]), *db = terms(b, v, s, num[1], den[1]);
    KG_ASSERT(a->problems == b->problems);
    return rl_bootstrap_difference(num[0], da, num[1], db, a->problems, s == RL_SCORE_GEOMEAN, seed,
                                   RL_BOOTSTRAP_RESAMPLES, work);
}

enum kg_code rl_evaluation_compute(struct rl_evaluation *e, uint64_t seed, struct kg_err *err)
{
    const struct rl_results r = rl_evaluation_part(e, 0, e->problems);
    const struct rl_view best = {RL_OF_BEST, e->turns}, first = {RL_OF_TURN, 1};
    if (e->problems == 0) {
        return kg_fail(err, KG_E_USAGE, "evaluation: no problem");
    }
    for (int s = 0; s < RL_SCORES; s++) {
        e->score[s] = rl_score_of(&r, best, (enum rl_score)s, seed);
        e->first[s] = rl_score_of(&r, first, (enum rl_score)s, seed).value;
    }
    e->geomean = e->score[RL_SCORE_GEOMEAN].value;
    return KG_OK;
}

/* --- the evaluation --- */

static void take(const struct rl_walk *w, const struct rl_talker *talker, struct rl_outcome *out,
                 struct kg_buf *text)
{
    for (int t = 0; t < w->turns; t++) {
        const struct rl_turn *turn = &w->turn[t];
        out[t] = rl_outcome_of(turn->verdict);
        kg_buf_reset(text);
        rl_talker_text(talker, w->ids + turn->first, (size_t)turn->length, text);
        out[t].style = rl_style_key(&w->chain, text->data, text->len);
    }
}

enum kg_code rl_evaluate(struct rl_rollouts *r, const struct rl_talker *talker,
                         struct rl_policy *policy, struct rl_judge *judge,
                         const struct rl_chain *chains, int n, const struct rl_evaluate_options *o,
                         struct rl_evaluation *out, struct kg_err *err)
{
    const struct rl_rollout_options how = {.step = o->step,
                                           .rollouts =
                                               o->no_feedback ? o->samples * o->turns : o->samples,
                                           .turns = o->no_feedback ? 1 : o->turns,
                                           .min_reply = o->min_reply,
                                           .cancel = o->cancel,
                                           .cores = o->cores};
    struct kg_buf text;
    *out = (struct rl_evaluation){.problems = (size_t)n, .samples = o->samples, .turns = o->turns};
    enum kg_code code = rl_evaluation_allocate(out, err);
    code = code != KG_OK
               ? code
               : rl_rollout_run(r, talker, policy, judge, chains, n, &how, &out->rollout, err);
    kg_buf_init(&text, 1u << 20);
    for (int i = 0; i < r->n && code == KG_OK; i++) {
        take(&r->walk[i], talker, out->outcome + (size_t)i * how.turns, &text);
    }
    kg_buf_deinit(&text);
    code = code != KG_OK ? code : rl_evaluation_compute(out, o->seed, err);
    if (code != KG_OK) {
        rl_evaluation_deinit(out);
        return code;
    }
    out->infra = out->rollout.infra + out->rollout.defect;
    return KG_OK;
}
