/* Estimators with a baseline of one group: by turn, or by trajectory. */
#include <math.h>

#include "rl/methods/advantage_parts.h"

/* Best reward of the trajectory before row i; 0 at its first turn. */
static double best_before(const struct rl_adv_job *job, size_t i)
{
    size_t first = rl_rows_rollout_begin(job->rows, i);
    double best = first < i ? -INFINITY : 0;
    for (; first < i; first++) {
        best = fmax(best, job->rows->row[first].reward);
    }
    return best;
}

/* The other rows of the turn: mean of z, and the slope of G on z by least squares. */
static double other_z(const struct rl_adv_job *job, const struct rl_pick *p, double *beta)
{
    double n = 0, z = 0, g = 0, zz = 0, zg = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t j = p->first; j < p->end; j++) {
            const struct rl_row *r = &job->rows->row[j];
            if (j == p->skip || !rl_row_in(r, p->set) || r->turn != p->turn) {
                continue;
            }
            double best = best_before(job, j);
            if (pass == 0) {
                n++;
                z += best;
                g += r->ret;
            } else {
                zz += (best - z) * (best - z);
                zg += (best - z) * (r->ret - g);
            }
        }
        if (pass == 0) {
            z /= n;
            g /= n;
        }
    }
    *beta = zz > 1e-12 ? zg / zz : 0;
    return z;
}

/* Subtracted from A of row i; p picks the others, and there is at least one. */
static double control(struct rl_adv_job *job, const struct rl_pick *p, size_t i)
{
    if (job->o->cv == RL_CV_OFF) {
        return 0;
    }
    double fitted, z = best_before(job, i) - other_z(job, p, &fitted);
    double shift = (job->o->cv == RL_CV_FIT ? fitted : job->o->cv_beta) * z;
    rl_count(job->counts, RL_C_CV, shift != 0);
    return shift;
}

void rl_adv_trloo(struct rl_adv_job *job, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct rl_row *r = &job->rows->row[i];
        if (!rl_row_in(r, job->o->set)) {
            continue;
        }
        struct rl_pick p = {.first = first,
                            .end = end,
                            .skip = i,
                            .skip_end = i + 1,
                            .turn = r->turn,
                            .set = job->o->set,
                            .weighted = job->o->set == RL_SET_KEPT};
        struct rl_moments others = rl_adv_moments(job, &p);
        double a;
        if (others.weight > 0) {
            rl_count(job->counts, RL_C_N1, false);
            a = r->ret - others.mean - control(job, &p, i);
        } else {
            a = rl_adv_alone(job, i, first, end, RL_UNIT_RETURN);
        }
        r->adv = r->weight * a;
    }
}

static struct rl_moments turn_of(const struct rl_adv_job *job, size_t first, size_t end,
                                 uint32_t turn)
{
    struct rl_pick p = {.first = first, .end = end, .turn = turn, .set = job->o->set};
    return rl_adv_moments(job, &p);
}

void rl_adv_grpo_mean(struct rl_adv_job *job, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct rl_row *r = &job->rows->row[i];
        if (rl_row_in(r, job->o->set)) {
            struct rl_moments all = turn_of(job, first, end, r->turn);
            rl_count(job->counts, RL_C_N1, all.n == 1);
            r->adv = r->ret - all.mean;
        }
    }
}

/* Source: Shao et al. 2024; below 1e-6 the spread is rounding. */
static double scaled(double g, const struct rl_moments *all)
{
    return all->std < 1e-6 ? 0 : (g - all->mean) / (all->std + 1e-6);
}

void rl_adv_grpo(struct rl_adv_job *job, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct rl_row *r = &job->rows->row[i];
        if (!rl_row_in(r, job->o->set)) {
            continue;
        }
        struct rl_moments all = turn_of(job, first, end, r->turn);
        if (all.n == 1) {
            r->adv = rl_adv_alone(job, i, first, end, RL_UNIT_RETURN);
        } else {
            rl_count(job->counts, RL_C_N1, false);
            r->adv = scaled(r->ret, &all);
        }
    }
}

/* One advantage for each trajectory, given to all its rows of the set. */
static void by_trajectory(struct rl_adv_job *job, size_t first, size_t end, bool leave_one_out)
{
    for (size_t at = first, stop; at < end; at = stop) {
        stop = rl_rows_rollout_end(job->rows, at);
        struct rl_pick p = {
            .first = first, .end = end, .unit = RL_UNIT_TRAJECTORY, .set = job->o->set};
        if (leave_one_out) {
            p.skip = at;
            p.skip_end = stop;
        }
        struct rl_moments m = rl_adv_moments(job, &p);
        double g = rl_adv_value(job, at, RL_UNIT_TRAJECTORY);
        bool alone = m.n + (leave_one_out ? 1 : 0) <= 1;
        double a = leave_one_out ? g - m.mean : scaled(g, &m);
        for (size_t i = at; i < stop; i++) {
            struct rl_row *r = &job->rows->row[i];
            if (!rl_row_in(r, job->o->set)) {
                continue;
            }
            if (!alone) {
                rl_count(job->counts, RL_C_N1, false);
            }
            r->adv = alone ? rl_adv_alone(job, i, first, end, RL_UNIT_TRAJECTORY) : a;
        }
    }
}

void rl_adv_grpo_traj(struct rl_adv_job *job, size_t first, size_t end)
{
    by_trajectory(job, first, end, false);
}

void rl_adv_rloo(struct rl_adv_job *job, size_t first, size_t end)
{
    by_trajectory(job, first, end, true);
}
