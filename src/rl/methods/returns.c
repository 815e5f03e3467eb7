/* Void turns, KL in the reward, and the four kinds of return. */
#include "rl/methods/returns.h"

#include <math.h>

void rl_return_defaults(struct rl_return_options *o, uint32_t turns)
{
    *o = (struct rl_return_options){.kind = RL_RETURN_SUM, .gamma = 1, .turns = turns};
}

enum kg_code rl_return_check(const struct rl_return_options *o, struct kg_err *err)
{
    if (!(o->gamma >= 0 && o->gamma <= 1)) {
        return kg_fail(err, KG_E_USAGE, "gamma: %g is not in [0, 1]", o->gamma);
    }
    if (o->turns == 0) {
        return kg_fail(err, KG_E_USAGE, "turns: must be at least 1");
    }
    if (!(o->kl_beta >= 0) || !isfinite(o->kl_beta)) {
        return kg_fail(err, KG_E_USAGE, "kl_reward: %g is not a number from 0 up", o->kl_beta);
    }
    if (o->early_stop && !o->hold && o->gamma > 0) {
        return kg_fail(err, KG_E_USAGE,
                       "early_stop: needs fill=hold or gamma=0, else stopping lowers the return");
    }
    if (o->kind == RL_RETURN_DELTA && !o->force_delta) {
        return kg_fail(err, KG_E_USAGE,
                       "returns=delta: rewards a bad first turn; set force_delta to use it");
    }
    return KG_OK;
}

void rl_void_mark(struct rl_rows *rows, const struct rl_return_options *o, struct rl_counts *counts)
{
    for (size_t first = 0, end; first < rows->n; first = end) {
        end = rl_rows_rollout_end(rows, first);
        double best = -INFINITY;
        for (size_t i = first; i < end; i++) {
            struct rl_row *r = &rows->row[i];
            r->flags &= ~(uint32_t)RL_VOID;
            if (!o->void_turns) {
                continue;
            }
            bool is_void = best > 0 && r->reward <= 0;
            r->flags |= is_void ? RL_VOID : 0;
            best = fmax(best, r->reward);
            rl_count(counts, RL_C_VOID, is_void);
        }
    }
}

void rl_kl_reward(struct rl_rows *rows, const struct rl_tokens *tokens,
                  const struct rl_return_options *o, struct rl_counts *counts)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct rl_row *r = &rows->row[i];
        r->kl = 0;
        if (o->kl_beta == 0) {
            continue;
        }
        KG_ASSERT(tokens->old != NULL && tokens->ref != NULL);
        double sum = 0;
        for (size_t k = r->first; k < r->first + r->length; k++) {
            sum += (double)tokens->old[k] - (double)tokens->ref[k];
        }
        r->kl = o->kl_beta * sum;
        rl_count(counts, RL_C_KL_REWARD, r->kl != 0);
    }
}

double rl_reward_counted(const struct rl_row *r)
{
    return r->flags & RL_VOID ? 0 : r->reward - r->kl;
}

/* What a turn adds to the sum: R, or its change. */
static double part(const struct rl_rows *rows, size_t first, size_t i, enum rl_return_kind kind)
{
    double before = kind == RL_RETURN_DELTA && i > first ? rl_reward_counted(&rows->row[i - 1]) : 0;
    return rl_reward_counted(&rows->row[i]) - before;
}

/* G after the last turn that exists: the turns that `hold` adds. */
static double held(const struct rl_return_options *o, uint32_t turns, double last)
{
    double g = 0;
    for (uint32_t t = turns; t < o->turns; t++) {
        double r = o->kind == RL_RETURN_DELTA ? 0 : last;
        g = o->kind == RL_RETURN_MAX && t > turns ? fmax(r, o->gamma * g) : r + o->gamma * g;
    }
    return g;
}

static void trajectory(struct rl_rows *rows, size_t first, size_t end,
                       const struct rl_return_options *o, struct rl_counts *counts)
{
    double last = rl_reward_counted(&rows->row[end - 1]), g = 0;
    uint32_t turns = (uint32_t)(end - first);
    bool fill = o->hold && turns < o->turns && rows->row[end - 1].flags & RL_STOPPED;
    if (o->hold) {
        rl_count(counts, RL_C_FILL, fill);
    }
    if (fill) {
        g = held(o, turns, last);
    }
    for (size_t i = end; i-- > first;) {
        double r = part(rows, first, i, o->kind);
        if (o->kind == RL_RETURN_FINAL) {
            g = last;
        } else if (o->kind == RL_RETURN_MAX) {
            g = i + 1 == end && !fill ? r : fmax(r, o->gamma * g);
        } else {
            g = r + o->gamma * g;
        }
        rows->row[i].ret = rows->row[i].flags & RL_INFRA ? 0 : g;
    }
}

void rl_returns(struct rl_rows *rows, const struct rl_return_options *o, struct rl_counts *counts)
{
    for (size_t first = 0, end; first < rows->n; first = end) {
        end = rl_rows_rollout_end(rows, first);
        trajectory(rows, first, end, o, counts);
    }
}
