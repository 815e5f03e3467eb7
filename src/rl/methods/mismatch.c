/* Masks and weights from the difference of two log-probabilities. */
#include "rl/methods/mismatch.h"

#include <math.h>

void rl_mismatch_defaults(struct rl_mismatch_options *o)
{
    *o = (struct rl_mismatch_options){.lo = .999, .hi = 1.001, .tis_cap = 2};
}

enum kg_code rl_mismatch_check(const struct rl_mismatch_options *o, uint32_t turns,
                               struct kg_err *err)
{
    if (o->mrs == RL_MRS_TURN_ABS && !(o->hi >= 0)) {
        return kg_fail(err, KG_E_USAGE, "mrs_hi: must be from 0 up");
    }
    if (o->mrs != RL_MRS_OFF && o->mrs != RL_MRS_TURN_ABS &&
        !(o->hi >= 1 && o->lo >= 0 && o->lo <= 1)) {
        return kg_fail(err, KG_E_USAGE, "mrs_lo, mrs_hi: [%g, %g] must hold 1", o->lo, o->hi);
    }
    if ((o->mrs == RL_MRS_TURN || o->mrs == RL_MRS_TURN_GEO) && turns == 1) {
        return kg_fail(err, KG_E_USAGE,
                       "mrs=turn, turn-geo: with one turn use sequence or geometric");
    }
    if (!(o->veto >= 0 && o->veto < 1)) {
        return kg_fail(err, KG_E_USAGE, "veto: must be in [0, 1)");
    }
    if (o->tis != RL_TIS_OFF && !(o->tis_cap > 0)) {
        return kg_fail(err, KG_E_USAGE, "tis: the cap must be above 0");
    }
    return KG_OK;
}

static double diff(const struct rl_tokens *t, size_t k)
{
    return (double)t->old[k] - (double)t->mu[k];
}

static double held(double x)
{
    return fmin(fmax(x, -RL_EXPONENT_MAX), RL_EXPONENT_MAX);
}

static bool complete(const struct rl_row *r, const struct rl_tokens *t)
{
    for (size_t k = r->first; k < r->first + r->length; k++) {
        if (isnan(t->mu[k])) {
            return false;
        }
    }
    return true;
}

struct sums {
    double n, d, abs;
};

/* Over live rows [first, end) whose log-probabilities are complete. */
static struct sums sum_of(const struct rl_rows *rows, const struct rl_tokens *t, size_t first,
                          size_t end)
{
    struct sums s = {0};
    for (size_t i = first; i < end; i++) {
        const struct rl_row *r = &rows->row[i];
        if (!rl_row_live(r) || !complete(r, t)) {
            continue;
        }
        for (size_t k = r->first; k < r->first + r->length; k++) {
            double d = diff(t, k);
            s.n++;
            s.d += d;
            s.abs += fabs(d);
        }
    }
    return s;
}

double rl_mismatch_statistic(const struct rl_rows *rows, const struct rl_tokens *tokens, size_t i,
                             enum rl_mrs level)
{
    bool whole = level == RL_MRS_SEQUENCE || level == RL_MRS_GEOMETRIC;
    size_t first = whole ? rl_rows_rollout_begin(rows, i) : i;
    size_t end = whole ? rl_rows_rollout_end(rows, first) : i + 1;
    struct sums s = sum_of(rows, tokens, first, end);
    if (s.n == 0) {
        return 0;
    }
    if (level == RL_MRS_TURN_ABS) {
        return s.abs / s.n;
    }
    return held(level == RL_MRS_TURN || level == RL_MRS_SEQUENCE ? s.d : s.d / s.n);
}

struct window {
    double lo, hi; /* of log g */
};

static struct window window_of(const struct rl_mismatch_options *o)
{
    if (o->mrs == RL_MRS_TURN_ABS) {
        return (struct window){0, o->hi};
    }
    double hi = log(o->hi);
    return (struct window){o->lo > 0 ? log(o->lo) : -hi, hi};
}

static void mask_tokens(struct rl_row *r, struct rl_tokens *t, struct window w,
                        struct rl_counts *counts)
{
    for (size_t k = r->first; k < r->first + r->length; k++) {
        double d = held(diff(t, k));
        bool out = !(d >= w.lo && d <= w.hi);
        t->keep[k] = out ? 0 : t->keep[k];
        rl_count(counts, RL_C_MRS_TOKEN, out);
    }
}

static void mrs_row(struct rl_rows *rows, struct rl_tokens *tokens, size_t i,
                    const struct rl_mismatch_options *o, struct rl_counts *counts)
{
    struct window w = window_of(o);
    if (o->mrs == RL_MRS_TOKEN) {
        mask_tokens(&rows->row[i], tokens, w, counts);
        return;
    }
    double g = rl_mismatch_statistic(rows, tokens, i, o->mrs);
    bool out = !(g >= w.lo && g <= w.hi);
    if (out) {
        rl_row_reject(&rows->row[i], RL_WHY_MRS);
    }
    rl_count(counts, RL_C_MRS, out);
}

static void veto_row(struct rl_row *r, const struct rl_tokens *t, double least,
                     struct rl_counts *counts)
{
    bool out = false;
    for (size_t k = r->first; k < r->first + r->length; k++) {
        out = out || diff(t, k) < least;
    }
    if (out) {
        rl_row_reject(r, RL_WHY_VETO);
    }
    rl_count(counts, RL_C_VETO, out);
}

void rl_mismatch_mask(struct rl_rows *rows, struct rl_tokens *tokens,
                      const struct rl_mismatch_options *o, struct rl_counts *counts)
{
    KG_ASSERT(o->mrs != RL_MRS_TOKEN || tokens->keep != NULL);
    for (size_t i = 0; i < rows->n; i++) {
        struct rl_row *r = &rows->row[i];
        if (!rl_row_live(r)) {
            continue;
        }
        bool missing = !complete(r, tokens);
        rl_count(counts, RL_C_NO_LOGP, missing);
        if (missing) {
            rl_row_reject(r, RL_WHY_NO_LOGP);
            continue;
        }
        if (o->mrs != RL_MRS_OFF) {
            mrs_row(rows, tokens, i, o, counts);
        }
        if (o->veto > 0) {
            veto_row(r, tokens, log(o->veto), counts);
        }
    }
}

void rl_mismatch_weigh(const struct rl_rows *rows, struct rl_tokens *tokens,
                       const struct rl_mismatch_options *o, struct rl_counts *counts)
{
    if (o->tis == RL_TIS_OFF) {
        tokens->tis = NULL;
        return;
    }
    KG_ASSERT(tokens->tis != NULL);
    for (size_t k = 0; k < tokens->n; k++) {
        tokens->tis[k] = 1;
    }
    for (size_t i = 0; i < rows->n; i++) {
        const struct rl_row *r = &rows->row[i];
        if (!rl_row_live(r) || !complete(r, tokens)) {
            continue;
        }
        double whole = rl_mismatch_statistic(
            rows, tokens, i, o->tis == RL_TIS_TRAJECTORY ? RL_MRS_SEQUENCE : RL_MRS_TURN);
        for (size_t k = r->first; k < r->first + r->length; k++) {
            double d = o->tis == RL_TIS_TOKEN ? held(diff(tokens, k)) : whole;
            tokens->tis[k] = (float)fmin(exp(d), o->tis_cap);
            rl_count(counts, RL_C_TIS, tokens->tis[k] != 1);
        }
    }
}

struct rl_mismatch_stats rl_mismatch_stats(const struct rl_rows *rows,
                                           const struct rl_tokens *tokens)
{
    struct rl_mismatch_stats s = {.effective = 1, .ppl_mu = 1, .ppl_old = 1};
    double n = 0, d_sum = 0, k3 = 0, e = 0, ee = 0, mu = 0, old = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct rl_row *r = &rows->row[i];
        if (!rl_row_live(r) || !complete(r, tokens)) {
            continue;
        }
        for (size_t k = r->first; k < r->first + r->length; k++) {
            double d = diff(tokens, k), x = exp(held(d));
            n++;
            d_sum += d;
            k3 += x - d - 1;
            e += x;
            ee += x * x;
            mu += (double)tokens->mu[k];
            old += (double)tokens->old[k];
            s.max_abs = fmax(s.max_abs, fabs(d));
        }
    }
    if (n > 0) {
        s.tokens = (size_t)n;
        s.kl = d_sum == 0 ? 0 : -d_sum / n;
        s.k3 = k3 / n;
        s.ppl_mu = exp(-mu / n);
        s.ppl_old = exp(-old / n);
        s.effective = e * e / (n * ee);
    }
    return s;
}
