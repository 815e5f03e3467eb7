/* Samples held-out problems and computes the metrics. */
#include "rl/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *rl_score_name(enum rl_score s)
{
    static const char *const name[RL_SCORES] = {"valid",    "compiled", "correct", "fast_1",
                                                "fast_1.1", "fast_1.2", "hack"};
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
    for (int i = 0; i < RL_SCORES; i++) {
        free(e->per[i]);
    }
    *e = (struct rl_evaluation){0};
}

static enum kg_code allocate(struct rl_evaluation *e, struct kg_err *err)
{
    bool ok = true;
    e->outcome = calloc(e->problems * e->samples * e->turns, sizeof *e->outcome);
    for (int i = 0; i < RL_SCORES; i++) {
        e->per[i] = calloc(e->problems, sizeof *e->per[i]);
        ok = ok && e->per[i] != NULL;
    }
    return ok && e->outcome != NULL ? KG_OK : kg_fail(err, KG_E_HOST, "evaluation: no memory");
}

/* per [problems] out. */
static double score(const struct rl_results *r, struct rl_view v, enum rl_score s, double *per)
{
    static const double limit[RL_SCORES] = {
        [RL_SCORE_FAST_1] = 1, [RL_SCORE_FAST_11] = 1.1, [RL_SCORE_FAST_12] = 1.2};
    static const enum rl_rate rate[RL_SCORES] = {[RL_SCORE_VALID] = RL_RATE_VALID,
                                                 [RL_SCORE_COMPILED] = RL_RATE_COMPILED,
                                                 [RL_SCORE_CORRECT] = RL_RATE_CORRECT,
                                                 [RL_SCORE_HACK] = RL_RATE_HACK};
    if (limit[s] > 0) {
        return rl_metrics_fast(r, v, limit[s], false, per);
    }
    double sum = 0;
    rl_metrics_rate(r, v, rate[s], per);
    for (size_t i = 0; i < r->problems; i++) {
        sum += per[i];
    }
    return sum / (double)r->problems;
}

static enum kg_code compute(struct rl_evaluation *e, uint64_t seed, struct kg_err *err)
{
    const struct rl_results r = {e->problems, e->samples, e->turns, e->outcome};
    const struct rl_view best = {RL_OF_BEST, e->turns}, first = {RL_OF_TURN, 1};
    size_t n = RL_BOOTSTRAP_RESAMPLES > e->problems * e->samples ? RL_BOOTSTRAP_RESAMPLES
                                                                 : e->problems * e->samples;
    double *work = calloc(n, sizeof *work);
    if (work == NULL) {
        return kg_fail(err, KG_E_HOST, "evaluation: no memory");
    }
    for (int s = 0; s < RL_SCORES; s++) {
        e->first[s] = score(&r, first, (enum rl_score)s, e->per[s]);
        score(&r, best, (enum rl_score)s, e->per[s]);
        e->score[s] =
            rl_bootstrap(e->per[s], NULL, e->problems, seed, RL_BOOTSTRAP_RESAMPLES, work);
    }
    e->geomean = rl_metrics_speeds(&r, best, work).geomean;
    free(work);
    return KG_OK;
}

enum kg_code rl_evaluate(struct rl_rollouts *r, const struct rl_talker *talker,
                         struct rl_policy *policy, struct rl_judge *judge,
                         const struct rl_chain *chains, int n, const struct rl_evaluate_options *o,
                         struct rl_evaluation *out, struct kg_err *err)
{
    const struct rl_rollout_options how = {.step = o->step,
                                           .rollouts = o->samples,
                                           .turns = o->turns,
                                           .min_reply = o->min_reply,
                                           .cancel = o->cancel,
                                           .cores = o->cores};
    *out = (struct rl_evaluation){.problems = (size_t)n, .samples = o->samples, .turns = o->turns};
    enum kg_code code = allocate(out, err);
    code = code != KG_OK
               ? code
               : rl_rollout_run(r, talker, policy, judge, chains, n, &how, &out->rollout, err);
    for (int i = 0; i < r->n && code == KG_OK; i++) {
        const struct rl_walk *w = &r->walk[i];
        for (int t = 0; t < w->turns; t++) {
            out->outcome[(size_t)i * o->turns + (size_t)t] = rl_outcome_of(w->turn[t].verdict);
        }
    }
    code = code != KG_OK ? code : compute(out, o->seed, err);
    if (code != KG_OK) {
        rl_evaluation_deinit(out);
        return code;
    }
    out->infra = out->rollout.infra + out->rollout.defect;
    return KG_OK;
}

struct rl_interval rl_evaluation_difference(const struct rl_evaluation *a,
                                            const struct rl_evaluation *b, enum rl_score s,
                                            size_t from, size_t to, uint64_t seed)
{
    static double work[RL_BOOTSTRAP_RESAMPLES];
    KG_ASSERT(from < to && to <= a->problems && to <= b->problems);
    return rl_bootstrap_difference(a->per[s] + from, NULL, b->per[s] + from, NULL, to - from, 0,
                                   seed, RL_BOOTSTRAP_RESAMPLES, work);
}
