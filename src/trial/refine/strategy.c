/* Chooses contexts. A metric is a pair that is compared in order, so that all four are one case. */
#include "trial/refine/strategy.h"

#include <math.h>
#include <string.h>

static const char *const strategies[TR_STRATEGIES] = {
    "vanilla", "top-w",      "window", "last-w", "parallel", "parallel-then-sequential",
    "restart", "no-feedback"};
static const char *const metrics[TR_BY_KINDS] = {"reward", "speedup", "coverage", "lexicographic"};

const char *tr_strategy_name(enum tr_strategy s)
{
    return strategies[s];
}

const char *tr_by_name(enum tr_by m)
{
    return metrics[m];
}

static int find(const char *const *list, int n, const char *name)
{
    int i = 0;
    while (i < n && strcmp(list[i], name) != 0) {
        i++;
    }
    return i;
}

enum kg_code tr_strategy_parse(const char *name, enum tr_strategy *out, struct kg_err *err)
{
    int i = find(strategies, TR_STRATEGIES, name);
    if (i == TR_STRATEGIES) {
        return kg_fail(err, KG_E_USAGE,
                       "no strategy `%.40s`: vanilla, top-w, window, last-w, parallel, "
                       "parallel-then-sequential, restart or no-feedback",
                       name);
    }
    *out = (enum tr_strategy)i;
    return KG_OK;
}

enum kg_code tr_by_parse(const char *name, enum tr_by *out, struct kg_err *err)
{
    int i = find(metrics, TR_BY_KINDS, name);
    if (i == TR_BY_KINDS) {
        return kg_fail(err, KG_E_USAGE,
                       "no metric `%.40s`: reward, speedup, coverage or lexicographic", name);
    }
    *out = (enum tr_by)i;
    return KG_OK;
}

struct value {
    double first, second;
};

static double real(double x)
{
    return isfinite(x) ? x : 0;
}

static struct value value_of(const struct tr_plan *plan, const struct tr_past *p)
{
    if (!p->correct) {
        return (struct value){0, 0};
    }
    double reward = real(p->reward), coverage = real(p->coverage);
    switch (plan->metric) {
    case TR_BY_SPEEDUP:
        return (struct value){real(p->speedup), 0};
    case TR_BY_COVERAGE:
        return (struct value){coverage, 0};
    case TR_BY_COVERAGE_REWARD:
        return (struct value){coverage, reward};
    default:
        return (struct value){reward, 0};
    }
}

static bool above(struct value a, struct value b)
{
    return a.first != b.first ? a.first > b.first : a.second > b.second;
}

bool tr_strategy_fits(const struct tr_plan *plan, int64_t tokens)
{
    return plan->context == 0 ||
           (double)tokens * (1 + plan->reserve) + (double)plan->reply <= (double)plan->context;
}

/* Rounds of the side-by-side conversations in one layer. */
static int layer(const struct tr_plan *plan)
{
    return (plan->rounds + plan->depth - 1) / plan->depth;
}

int tr_strategy_needs(const struct tr_plan *plan, int round)
{
    if (plan->strategy == TR_PARALLEL) {
        return 0;
    }
    if (plan->strategy == TR_PARALLEL_SEQUENTIAL) {
        int before = round - layer(plan);
        return before > 0 ? before : 0;
    }
    return round - 1;
}

/* Turns that may be shown, as places in past, in order. */
static int candidates(const struct tr_past *past, int n, uint32_t sample, int *out)
{
    int k = 0;
    for (int i = 0; i < n; i++) {
        if (past[i].judged && past[i].sample == sample) {
            out[k++] = i;
        }
    }
    return k;
}

/* Keeps w of the k places: those of the highest metric, of equal ones the later. */
static int keep_top(const struct tr_plan *plan, const struct tr_past *past, int *at, int k, int w)
{
    bool keep[TR_ROUNDS_MAX] = {false};
    int n = 0;
    for (int left = w < k ? w : k; left > 0; left--) {
        int best = 0;
        while (keep[best]) {
            best++;
        }
        for (int i = best + 1; i < k; i++) {
            bool lower = above(value_of(plan, &past[at[best]]), value_of(plan, &past[at[i]]));
            best = keep[i] || lower ? best : i;
        }
        keep[best] = true;
    }
    for (int i = 0; i < k; i++) {
        if (keep[i]) {
            at[n++] = at[i];
        }
    }
    return n;
}

/* Where the w places in a row with the largest sum begin, of equal ones the earliest. */
static int window_start(const struct tr_plan *plan, const struct tr_past *past, const int *at,
                        int k, int w)
{
    struct value most = {-INFINITY, -INFINITY};
    int start = 0;
    for (int i = 0; i + w <= k; i++) {
        struct value sum = {0, 0};
        for (int j = i; j < i + w; j++) {
            struct value v = value_of(plan, &past[at[j]]);
            sum.first += v.first;
            sum.second += v.second;
        }
        if (above(sum, most)) {
            most = sum;
            start = i;
        }
    }
    return start;
}

/* Keeps at most w of the k places in at, by the strategy. */
static int keep(const struct tr_plan *plan, const struct tr_past *past, int *at, int k, int w)
{
    int start = 0;
    if (k <= w) {
        return k;
    }
    switch (plan->strategy) {
    case TR_TOP_W:
        return keep_top(plan, past, at, k, w);
    case TR_WINDOW:
        start = window_start(plan, past, at, k, w);
        break;
    case TR_LAST_W:
        start = k - w;
        break;
    default:
        return k;
    }
    memmove(at, at + start, (size_t)w * sizeof *at);
    return w;
}

static int64_t length(const struct tr_plan *plan, const struct tr_past *past, const int *at, int n)
{
    int64_t sum = plan->prompt;
    for (int i = 0; i < n; i++) {
        sum += past[at[i]].tokens;
    }
    return sum;
}

static bool managed(enum tr_strategy s)
{
    return s == TR_TOP_W || s == TR_WINDOW || s == TR_LAST_W;
}

/* The conversation and turn of the round. */
static void place(const struct tr_plan *plan, const struct tr_past *past, int round,
                  struct tr_choice *c)
{
    c->sample = 1;
    c->turn = (uint32_t)round;
    if (plan->strategy == TR_PARALLEL) {
        c->sample = (uint32_t)round;
        c->turn = 1;
    } else if (plan->strategy == TR_PARALLEL_SEQUENTIAL) {
        c->sample = (uint32_t)((round - 1) % layer(plan) + 1);
        c->turn = (uint32_t)((round - 1) / layer(plan) + 1);
    } else if (plan->strategy == TR_RESTART && round > 1) {
        c->sample = past[round - 2].sample;
        c->turn = past[round - 2].turn + 1;
    }
}

void tr_strategy_choose(const struct tr_plan *plan, const struct tr_past *past, int round,
                        struct tr_choice *out)
{
    int at[TR_ROUNDS_MAX], known = tr_strategy_needs(plan, round), k, n;
    KG_ASSERT(round >= 1 && round <= plan->rounds && plan->rounds <= TR_ROUNDS_MAX && plan->w >= 1);
    *out = (struct tr_choice){.n = 0};
    place(plan, past, round, out);
    k = n = plan->strategy == TR_PARALLEL ? 0 : candidates(past, known, out->sample, at);
    if (managed(plan->strategy)) {
        int w = plan->w;
        n = keep(plan, past, at, k, w);
        while (n > 0 && !tr_strategy_fits(plan, length(plan, past, at, n))) {
            w = n - 1;
            n = candidates(past, known, out->sample, at);
            n = w > 0 ? keep(plan, past, at, n, w) : 0;
            out->shrunk = true;
        }
    } else if (plan->strategy == TR_RESTART && k > 0 &&
               !tr_strategy_fits(plan, length(plan, past, at, k))) {
        out->sample++;
        out->turn = 1;
        n = 0;
    }
    out->n = n;
    out->tokens = length(plan, past, at, n);
    out->full = !tr_strategy_fits(plan, out->tokens);
    for (int i = 0; i < n; i++) {
        out->shown[i] = at[i] + 1;
    }
}

bool tr_strategy_yields(const struct tr_plan *plan, const struct tr_choice *c)
{
    return c->n > 0 && (managed(plan->strategy) || plan->strategy == TR_RESTART);
}
