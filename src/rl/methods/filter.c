/* Group filters, the refill, and the choice among oversampled rollouts. */
#include "rl/methods/filter.h"

#include <math.h>

#include "rl/methods/streams.h"

/* Source: rewards are multiples of .01 or so; published code uses the same bound. */
#define LEAST_RANGE 1e-3

void rl_filter_defaults(struct rl_filter_options *o, uint32_t rollouts)
{
    *o = (struct rl_filter_options){.zero_var = RL_ZERO_VAR_ANY,
                                    .min_group = rollouts > 1 ? rollouts / 2 + 1 : 0};
}

static bool any_turn_varies(const struct rl_rows *rows, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        for (size_t j = first; j < i; j++) {
            const struct rl_row *a = &rows->row[i], *b = &rows->row[j];
            if (rl_row_live(a) && rl_row_live(b) && a->turn == b->turn &&
                fabs(a->ret - b->ret) > LEAST_RANGE) {
                return true;
            }
        }
    }
    return false;
}

static bool last_turn_varies(const struct rl_rows *rows, size_t first, size_t end)
{
    double n = 0, sum = 0, squares = 0;
    for (size_t at = first, stop; at < end; at = stop) {
        stop = rl_rows_rollout_end(rows, at);
        const struct rl_row *last = &rows->row[stop - 1];
        if ((last->flags & RL_INFRA) == 0) {
            n++;
            sum += last->reward;
            squares += last->reward * last->reward;
        }
    }
    double var = n > 1 ? (squares - sum * sum / n) / (n - 1) : 0;
    return var >= LEAST_RANGE * LEAST_RANGE;
}

static enum rl_drop reason(const struct rl_rows *rows, size_t first, size_t end,
                           const struct rl_filter_options *o)
{
    uint32_t flags = 0, sound = 0;
    double best = -INFINITY;
    for (size_t i = first; i < end; i++) {
        const struct rl_row *r = &rows->row[i];
        flags |= r->flags;
        sound += r->turn == 1 && (r->flags & RL_INFRA) == 0;
        best = rl_row_live(r) ? fmax(best, r->reward) : best;
    }
    if (flags & RL_BAD_PROBLEM) {
        return RL_DROP_PROBLEM;
    }
    if (sound < o->min_group) {
        return RL_DROP_FEW;
    }
    if (o->need_success && !(best > o->reward_least)) {
        return RL_DROP_FAILED;
    }
    if (o->no_overlong && (flags & RL_CUT)) {
        return RL_DROP_LONG;
    }
    bool varies = o->zero_var == RL_ZERO_VAR_OFF ||
                  (o->zero_var == RL_ZERO_VAR_ANY ? any_turn_varies(rows, first, end)
                                                  : last_turn_varies(rows, first, end));
    return varies ? RL_DROP_NO : RL_DROP_ZERO;
}

enum rl_drop rl_filter_group(const struct rl_rows *rows, size_t first, size_t end,
                             const struct rl_filter_options *o, struct rl_counts *counts)
{
    enum rl_drop d = reason(rows, first, end, o);
    rl_count(counts, RL_C_FILTER, d != RL_DROP_NO);
    return d;
}

const char *rl_drop_name(enum rl_drop d)
{
    static const char *const names[] = {"no",   "problem", "few",    "failed",
                                        "long", "zero",    "surplus"};
    KG_ASSERT((int)d >= 0 && (size_t)d < sizeof names / sizeof names[0]);
    return names[d];
}

enum rl_refill rl_refill_decide(size_t survivors, size_t want, uint32_t done, uint32_t rounds,
                                bool same_weights, struct rl_counts *counts)
{
    bool more = survivors < want && done < rounds && same_weights;
    rl_count(counts, RL_C_REFILL, more);
    if (more) {
        return RL_REFILL_SAMPLE;
    }
    return survivors > 0 ? RL_REFILL_TRAIN : RL_REFILL_SKIP;
}

static void ascend(uint32_t *order, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t j = i; j > 0 && order[j - 1] > order[j]; j--) {
            uint32_t kept = order[j];
            order[j] = order[j - 1];
            order[j - 1] = kept;
        }
    }
}

size_t rl_refill_choose(uint64_t seed, uint32_t step, size_t survivors, size_t want,
                        uint32_t *order)
{
    size_t n = want < survivors ? want : survivors;
    rl_shuffle(seed, RL_STREAM_GROUPS, step, 0, survivors, order);
    ascend(order, n);
    return n;
}

uint32_t rl_oversample_count(uint32_t rollouts, double factor)
{
    KG_ASSERT(factor >= 1);
    /* 1.1 * 10 is 11.000000000000002 in floating point, and 11 are meant */
    return (uint32_t)ceil(factor * rollouts - 1e-9);
}

/* Does rollout a come before b, among successes or among failures? */
static bool better(bool success, const double *reward, const size_t *length, uint32_t a, uint32_t b)
{
    double la = (double)length[a], lb = (double)length[b];
    return success ? reward[a] * lb > reward[b] * la : la < lb;
}

/* Of the members order[0..n), the chosen first: a shuffled order stays, or is sorted. */
static void rank(enum rl_oversample how, bool success, const double *reward, const size_t *length,
                 uint32_t *order, size_t n)
{
    for (size_t i = 1; how == RL_OVER_EFFICIENCY && i < n; i++) {
        for (size_t j = i; j > 0 && better(success, reward, length, order[j], order[j - 1]); j--) {
            uint32_t kept = order[j];
            order[j] = order[j - 1];
            order[j - 1] = kept;
        }
    }
}

/* Stable: successes before failures. Returns their number. */
static size_t successes_first(const double *reward, uint32_t *order, size_t n)
{
    size_t hits = 0;
    for (size_t i = 0; i < n; i++) {
        if (reward[order[i]] > 0) {
            uint32_t hit = order[i];
            for (size_t j = i; j > hits; j--) {
                order[j] = order[j - 1];
            }
            order[hits++] = hit;
        }
    }
    return hits;
}

size_t rl_oversample_choose(enum rl_oversample how, uint64_t seed, uint32_t step, uint32_t group,
                            const double *reward, const size_t *length, size_t n, size_t want,
                            uint32_t *order)
{
    want = want < n ? want : n;
    rl_shuffle(seed, RL_STREAM_SAMPLES, step, group, n, order);
    if (how != RL_OVER_UNIFORM && n > 0) {
        size_t hits = successes_first(reward, order, n);
        size_t take = (2 * want * hits + n) / (2 * n); /* nearest to want * hits / n */
        rank(how, true, reward, length, order, hits);
        rank(how, false, reward, length, order + hits, n - hits);
        /* behind `take` successes come the first want - take failures */
        for (size_t i = 0; i < want - take; i++) {
            uint32_t kept = order[take + i];
            order[take + i] = order[hits + i];
            order[hits + i] = kept;
        }
    }
    ascend(order, want);
    return want;
}
