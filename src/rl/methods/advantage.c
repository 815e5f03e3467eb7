/* Advantages of a batch: runs the estimator, then the options that hold for all of them. */
#include "rl/methods/advantage.h"

#include <math.h>

#include "rl/methods/advantage_parts.h"
#include "rl/methods/returns.h"

void rl_adv_defaults(struct rl_adv_options *o)
{
    *o = (struct rl_adv_options){.n1 = RL_N1_ZERO, .set = RL_SET_KEPT};
    struct kg_err err = KG_ERR_INIT;
    KG_ASSERT(rl_estimator_find("trloo", &o->estimator, &err) == KG_OK);
}

enum kg_code rl_adv_check(const struct rl_adv_options *o, uint32_t rollouts, bool weighted,
                          struct kg_err *err)
{
    bool trloo = o->estimator->compute == rl_adv_trloo;
    if (rollouts == 1 && o->n1 == RL_N1_ZERO && !o->estimator->lonely) {
        return kg_fail(err, KG_E_USAGE,
                       "adv=%s with one rollout a group and n1=zero trains nothing: set n1=cross "
                       "or adv=reinforce",
                       o->estimator->name);
    }
    if (o->cv != RL_CV_OFF && !trloo) {
        return kg_fail(err, KG_E_USAGE, "cv: goes with adv=trloo only, not %s", o->estimator->name);
    }
    if (weighted && !trloo) {
        return kg_fail(err, KG_E_USAGE, "prs_mode=weight: goes with adv=trloo only, not %s",
                       o->estimator->name);
    }
    if (!isfinite(o->cv_beta) || !isfinite(o->clip) || o->clip < 0) {
        return kg_fail(err, KG_E_USAGE, "cv_beta, adv_clip: not a number that can be used");
    }
    return KG_OK;
}

double rl_adv_value(const struct rl_adv_job *job, size_t i, enum rl_unit unit)
{
    if (unit == RL_UNIT_REWARD) {
        return rl_reward_counted(&job->rows->row[i]);
    }
    if (unit == RL_UNIT_TRAJECTORY) {
        i = rl_rows_rollout_begin(job->rows, i);
    }
    return job->rows->row[i].ret;
}

/* Does row i stand for a member? A trajectory's first row stands for it. */
static bool member(const struct rl_adv_job *job, const struct rl_pick *p, size_t i)
{
    const struct rl_row *r = &job->rows->row[i];
    if (i >= p->skip && i < p->skip_end) {
        return false;
    }
    if (p->unit != RL_UNIT_TRAJECTORY) {
        return rl_row_in(r, p->set) && (p->turn == 0 || p->turn == r->turn);
    }
    if (rl_rows_rollout_begin(job->rows, i) != i) {
        return false;
    }
    for (size_t end = rl_rows_rollout_end(job->rows, i); i < end; i++) {
        if (rl_row_in(&job->rows->row[i], p->set)) {
            return true;
        }
    }
    return false;
}

struct rl_moments rl_adv_moments(const struct rl_adv_job *job, const struct rl_pick *p)
{
    struct rl_moments m = {0};
    double sum = 0, squares = 0, plain = 0;
    for (size_t i = p->first; i < p->end; i++) {
        if (member(job, p, i)) {
            double w = p->weighted ? job->rows->row[i].weight : 1;
            double v = rl_adv_value(job, i, p->unit);
            m.n++;
            m.weight += w;
            sum += w * v;
            plain += v;
        }
    }
    m.mean = m.weight > 0 ? sum / m.weight : 0;
    double centre = m.n > 0 ? plain / (double)m.n : 0;
    for (size_t i = p->first; i < p->end; i++) {
        if (member(job, p, i)) {
            double v = rl_adv_value(job, i, p->unit) - centre;
            squares += v * v;
        }
    }
    m.std = m.n > 1 ? sqrt(squares / (double)(m.n - 1)) : 0;
    return m;
}

double rl_adv_alone(struct rl_adv_job *job, size_t i, size_t first, size_t end, enum rl_unit unit)
{
    rl_count(job->counts, RL_C_N1, true);
    if (job->o->n1 == RL_N1_ZERO) {
        return 0;
    }
    double g = rl_adv_value(job, i, unit);
    if (job->o->n1 == RL_N1_RAW) {
        return g;
    }
    struct rl_pick p = {.first = 0,
                        .end = job->rows->n,
                        .skip = first,
                        .skip_end = end,
                        .turn = job->rows->row[i].turn,
                        .unit = unit,
                        .set = RL_SET_LIVE};
    struct rl_moments other = rl_adv_moments(job, &p);
    return other.n > 0 ? g - other.mean : 0;
}

/* The options that follow any estimator. Tokens get what their row gets. */
static void finish(struct rl_adv_job *job, double divisor)
{
    double clip = job->o->clip > 0 ? job->o->clip : INFINITY;
    for (size_t i = 0; i < job->rows->n; i++) {
        struct rl_row *r = &job->rows->row[i];
        r->adv = fmin(fmax(r->adv / divisor, -clip), clip);
        for (size_t k = r->first; job->o->estimator->per_token && k < r->first + r->length; k++) {
            float *a = &job->tokens->adv[k];
            *a = (float)fmin(fmax((double)*a / divisor, -clip), clip);
        }
    }
}

/* Standard deviation of A over the rows of the set; 1 where it is 0 or there is one row. */
static double spread(const struct rl_adv_job *job)
{
    double n = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < job->rows->n; i++) {
        if (rl_row_in(&job->rows->row[i], job->o->set)) {
            n++;
            sum += job->rows->row[i].adv;
        }
    }
    for (size_t i = 0; i < job->rows->n; i++) {
        if (rl_row_in(&job->rows->row[i], job->o->set)) {
            double d = job->rows->row[i].adv - sum / n;
            squares += d * d;
        }
    }
    return n > 1 && squares > 0 ? sqrt(squares / (n - 1)) : 1;
}

void rl_advantage(struct rl_rows *rows, struct rl_tokens *tokens, const struct rl_adv_options *o,
                  struct rl_counts *counts)
{
    struct rl_adv_job job = {rows, tokens, o, counts};
    KG_ASSERT(!o->estimator->per_token || (tokens != NULL && tokens->adv != NULL));
    for (size_t i = 0; i < rows->n; i++) {
        rows->row[i].adv = 0;
    }
    if (o->estimator->whole_batch) {
        o->estimator->compute(&job, 0, rows->n);
    } else {
        for (size_t first = 0, end; first < rows->n; first = end) {
            end = rl_rows_group_end(rows, first);
            o->estimator->compute(&job, first, end);
        }
    }
    if (o->batch_std || o->clip > 0) {
        finish(&job, o->batch_std ? spread(&job) : 1);
    }
    for (size_t i = 0; i < rows->n; i++) {
        if (rl_row_in(&rows->row[i], o->set)) {
            rl_count(counts, RL_C_ADVANTAGE, rows->row[i].adv != 0);
        }
    }
}
