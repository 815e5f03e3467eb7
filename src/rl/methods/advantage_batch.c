/* Estimators over the whole batch, and those without a baseline. */
#include <math.h>

#include "rl/methods/advantage_parts.h"

void rl_adv_reinforce(struct rl_adv_job *job, size_t first, size_t end)
{
    struct rl_pick p = {.first = first, .end = end, .set = job->o->set};
    struct rl_moments all = rl_adv_moments(job, &p);
    for (size_t i = first; i < end; i++) {
        struct rl_row *r = &job->rows->row[i];
        if (rl_row_in(r, job->o->set)) {
            r->adv = (r->ret - all.mean) / (all.std + 1e-6);
        }
    }
}

/* Return of each token: G of its row counts the KL of the whole row, but a token answers only for
 * what comes from it on. So the KL of earlier tokens is given back. */
static void token_returns(struct rl_adv_job *job, const struct rl_row *r)
{
    const struct rl_tokens *t = job->tokens;
    double back = 0;
    for (size_t k = r->first; k < r->first + r->length; k++) {
        t->adv[k] = (float)(r->ret + back);
        if (job->o->kl_beta != 0 && (r->flags & RL_VOID) == 0) {
            back += job->o->kl_beta * ((double)t->old[k] - (double)t->ref[k]);
        }
    }
}

struct sums {
    double n, sum, squares;
};

/* Over the kept tokens of the set: their number, sum, and squares about `centre`. */
static struct sums token_sums(const struct rl_adv_job *job, double centre)
{
    struct sums s = {0};
    for (size_t i = 0; i < job->rows->n; i++) {
        const struct rl_row *r = &job->rows->row[i];
        if (!rl_row_in(r, job->o->set)) {
            continue;
        }
        for (size_t k = r->first; k < r->first + r->length; k++) {
            if (rl_token_kept(job->tokens, k)) {
                double d = (double)job->tokens->adv[k] - centre;
                s.n++;
                s.sum += (double)job->tokens->adv[k];
                s.squares += d * d;
            }
        }
    }
    return s;
}

void rl_adv_reinforce_pp(struct rl_adv_job *job, size_t first, size_t end)
{
    float *adv = job->tokens->adv;
    for (size_t i = first; i < end; i++) {
        token_returns(job, &job->rows->row[i]);
    }
    struct sums s = token_sums(job, 0);
    double mean = s.n > 0 ? s.sum / s.n : 0;
    s = token_sums(job, mean);
    double std = s.n > 1 ? sqrt(s.squares / (s.n - 1)) : 0;
    for (size_t i = first; i < end; i++) {
        struct rl_row *r = &job->rows->row[i];
        bool in = rl_row_in(r, job->o->set);
        double sum = 0;
        for (size_t k = r->first; k < r->first + r->length; k++) {
            adv[k] = in ? (float)(((double)adv[k] - mean) / (std + 1e-6)) : 0;
            sum += (double)adv[k];
        }
        r->adv = r->length > 0 ? sum / (double)r->length : 0;
    }
}

void rl_adv_reinforce_ppb(struct rl_adv_job *job, size_t first, size_t end)
{
    double n = 0, sum = 0, squares = 0;
    for (size_t at = first, stop; at < end; at = stop) {
        stop = rl_rows_group_end(job->rows, at);
        struct rl_pick p = {.first = at, .end = stop, .set = job->o->set};
        struct rl_moments all = rl_adv_moments(job, &p);
        for (size_t i = at; i < stop; i++) {
            struct rl_row *r = &job->rows->row[i];
            if (rl_row_in(r, job->o->set)) {
                r->adv = r->ret - all.mean;
                n++;
                sum += r->adv;
            }
        }
    }
    double mean = n > 0 ? sum / n : 0;
    for (int pass = 0; pass < 2; pass++) {
        double std = n > 1 ? sqrt(squares / (n - 1)) : 0;
        for (size_t i = first; i < end; i++) {
            struct rl_row *r = &job->rows->row[i];
            if (!rl_row_in(r, job->o->set)) {
                continue;
            }
            if (pass == 0) {
                squares += (r->adv - mean) * (r->adv - mean);
            } else {
                r->adv = (r->adv - mean) / (std + 1e-6);
            }
        }
    }
}

void rl_adv_topk(struct rl_adv_job *job, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct rl_row *r = &job->rows->row[i];
        if (rl_row_in(r, job->o->set)) {
            r->adv = r->win;
        }
    }
}

void rl_adv_none(struct rl_adv_job *job, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct rl_row *r = &job->rows->row[i];
        if (rl_row_in(r, job->o->set)) {
            r->adv = r->ret;
        }
    }
}
