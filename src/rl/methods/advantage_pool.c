/* Estimators that pool all rows of a group, whatever their turn. */
#include "rl/methods/advantage_parts.h"

static struct rl_moments pool(const struct rl_adv_job *job, size_t first, size_t end, size_t skip,
                              size_t skip_end, enum rl_unit unit)
{
    struct rl_pick p = {.first = first,
                        .end = end,
                        .skip = skip,
                        .skip_end = skip_end,
                        .unit = unit,
                        .set = job->o->set};
    return rl_adv_moments(job, &p);
}

/* A from the moments m of the companions; without one the rule for n = 1. */
static double with(struct rl_adv_job *job, size_t i, size_t first, size_t end, bool alone, double a)
{
    if (alone) {
        return rl_adv_alone(job, i, first, end, RL_UNIT_RETURN);
    }
    rl_count(job->counts, RL_C_N1, false);
    return a;
}

void rl_adv_erloo(struct rl_adv_job *job, size_t first, size_t end)
{
    struct rl_moments all = pool(job, first, end, end, end, RL_UNIT_RETURN);
    double factor = all.n > 1 ? (double)all.n / (double)(all.n - 1) : 0;
    for (size_t i = first; i < end; i++) {
        struct rl_row *r = &job->rows->row[i];
        if (rl_row_in(r, job->o->set)) {
            r->adv = with(job, i, first, end, all.n < 2, factor * (r->ret - all.mean));
        }
    }
}

void rl_adv_erloo_norm(struct rl_adv_job *job, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct rl_row *r = &job->rows->row[i];
        if (rl_row_in(r, job->o->set)) {
            struct rl_moments others = pool(job, first, end, i, i + 1, RL_UNIT_RETURN);
            double std = others.n == 1 ? 1 : others.std;
            r->adv = with(job, i, first, end, others.n == 0, (r->ret - others.mean) / (std + 1e-8));
        }
    }
}

void rl_adv_erloo_x(struct rl_adv_job *job, size_t first, size_t end)
{
    for (size_t at = first, stop; at < end; at = stop) {
        stop = rl_rows_rollout_end(job->rows, at);
        struct rl_moments others = pool(job, first, end, at, stop, RL_UNIT_RETURN);
        for (size_t i = at; i < stop; i++) {
            struct rl_row *r = &job->rows->row[i];
            if (rl_row_in(r, job->o->set)) {
                r->adv = with(job, i, first, end, others.n == 0, r->ret - others.mean);
            }
        }
    }
}

void rl_adv_turn_bandit(struct rl_adv_job *job, size_t first, size_t end)
{
    struct rl_moments all = pool(job, first, end, end, end, RL_UNIT_REWARD);
    for (size_t i = first; i < end; i++) {
        struct rl_row *r = &job->rows->row[i];
        if (rl_row_in(r, job->o->set)) {
            rl_count(job->counts, RL_C_N1, all.n == 1);
            r->adv = rl_adv_value(job, i, RL_UNIT_REWARD) - all.mean;
        }
    }
}
