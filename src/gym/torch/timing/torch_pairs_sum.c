/* From pairs to what the record shows. */
#include <math.h>
#include <stdlib.h>

#include "gym/torch/timing/torch_pairs_private.h"

#define SLACK    5000 /* ns by which the rest of a window may be longer */
#define OWN_MOST 4000 /* ns by which K of two processes may differ */
#define PART     10   /* pairs of one part of the interval, for trimmed means */
#define QUAD     4    /* balanced: two pairs of each order */
#define PARTS    3    /* fewer say nothing about spread: smaller parts then */
#define ENDS     0.2  /* pairs at each end that the interval draws in: what disturbs is brief */
#define MEDIAN   1.15 /* a median errs so much more than a trimmed mean */

static double after_k(int64_t ns, double k)
{
    return (double)ns > k ? (double)ns - k : 1.0;
}

int64_t kg_tpairs_behind(const struct kg_dj_report *rep)
{
    return rep->window_ns - rep->answer_ns;
}

/* The device posts the answer of a call that was launched ahead, once all that the call has put on
 * its stream is done. The rest of the window only adds an error of its own. Work that ends after
 * the post makes the digest longer, and work that begins before the release makes the set-up
 * longer. Both are charged, but for SLACK. */
int64_t kg_tpairs_time(const struct kg_tpairs *s, const struct kg_dj_report *rep)
{
    if (!kg_tpairs_ahead(s)) {
        return rep->window_ns;
    }
    double late = (double)(kg_tpairs_behind(rep) - SLACK) - kg_torch_of(s->w)->quiet_behind_ns;
    return rep->answer_ns + (late > 0 ? (int64_t)late : 0);
}

/* K of either side's process: from calls in turn, before any code of the candidate was there. */
static bool own_known(const struct kg_tpairs *s)
{
    return kg_tpairs_ahead(s) && s->instance->ref.own_ns > 0 && s->cand->own_ns > 0;
}

int64_t kg_tpairs_candidate_time(const struct kg_tpairs *s, const struct kg_dj_report *rep)
{
    double more = own_known(s) ? s->cand->own_ns - s->instance->ref.own_ns : 0;
    return kg_tpairs_time(s, rep) - (int64_t)fmax(-OWN_MOST, fmin(OWN_MOST, more));
}

/* Never more than it was before the candidate was there: what it does beside null calls would be
 * taken off its own time. Nor is K of a side's process much more: it is not learnt on a device that
 * is known to be quiet. */
static double overhead(const struct kg_tpairs *s)
{
    double k = fmin(kg_median(s->null_ns, s->nnull), kg_torch_of(s->w)->quiet_k_ns);
    return floor(own_known(s) ? fmin(s->instance->ref.own_ns, k + OWN_MOST) : k);
}

/* One side's times after K, of pairs from..to. */
static void times_of(const struct kg_tpairs_result *r, double k, bool candidate, size_t from,
                     size_t to, double *out)
{
    for (size_t i = from; i < to; i++) {
        out[i - from] = after_k(candidate ? r->pair[i].cand_ns : r->pair[i].ref_ns, k);
    }
}

static double log_trimmed(const struct kg_tpairs *s, double k, size_t from, size_t to)
{
    double log_ratio = 0, *t = malloc((to - from) * sizeof *t);
    KG_ASSERT(t);
    for (int candidate = 0; candidate < 2; candidate++) {
        times_of(s->out, k, candidate, from, to, t);
        log_ratio += (candidate ? -1 : 1) * log(kg_trimmed_mean(t, to - from, s->opt.trim));
    }
    free(t);
    return log_ratio;
}

/* The log ratios of the pairs of one order. */
static size_t ratios_of_order(const struct kg_tpairs_result *r, int64_t k, bool cand_first,
                              double *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->pair[i].cand_first == cand_first) {
            out[n++] = kg_pairs_log_ratio(r->pair + i, 1, k);
        }
    }
    return n;
}

/* The median of each order, which no disturbed call moves by much, and an interval that has few of
 * them say little. Who is called second takes longer: so each order has a spread of its own, but
 * where time ran out before there were two pairs of each. */
static void by_orders(const struct kg_tpairs_result *r, int64_t k, struct kg_ratio *out)
{
    double *l = malloc(r->n * sizeof *l);
    KG_ASSERT(l);
    size_t n = ratios_of_order(r, k, false, l), m = ratios_of_order(r, k, true, l + n);
    double width = n < 2 || m < 2 ? kg_yuen_half_width(l, n + m, ENDS)
                                  : kg_yuen_half_width_of_two(l, n, l + n, m, ENDS);
    out->ratio = exp(kg_pairs_log_ratio(r->pair, r->n, k));
    out->half_width = MEDIAN * width;
    free(l);
}

/* The trimmed mean of all, and an interval by those of parts. */
static void by_trimmed(const struct kg_tpairs *s, double k, struct kg_ratio *out)
{
    size_t n = s->out->n, size = n / PART >= PARTS ? PART : n / QUAD >= PARTS ? QUAD : 1;
    size_t parts = n / size;
    double *l = malloc(parts * sizeof *l);
    KG_ASSERT(l);
    for (size_t b = 0; b < parts; b++) {
        l[b] = log_trimmed(s, k, b * size, b + 1 == parts ? n : (b + 1) * size);
    }
    out->ratio = exp(log_trimmed(s, k, 0, n));
    out->half_width = kg_yuen_half_width(l, parts, 0);
    free(l);
}

bool kg_tpairs_ratio(const struct kg_tpairs *s, struct kg_ratio *out)
{
    const struct kg_tpairs_result *r = s->out;
    if (r->n == 0) {
        return false;
    }
    double k = overhead(s);
    out->pairs = (int64_t)r->n;
    if (s->opt.calibrated) {
        by_trimmed(s, k, out);
    } else {
        by_orders(r, (int64_t)k, out);
    }
    out->lo = out->ratio * exp(-out->half_width);
    out->hi = out->ratio * exp(out->half_width);
    return true;
}

void kg_tpairs_sum_up(struct kg_tpairs *s)
{
    struct kg_tpairs_result *r = s->out;
    double k = overhead(s), *t = malloc(r->n * sizeof *t);
    KG_ASSERT(t);
    r->overhead_ns = (int64_t)k;
    r->k_lease_ns = (int64_t)kg_median(s->null_ns, s->nnull);
    r->k_quiet_ns = (int64_t)kg_torch_of(s->w)->quiet_k_ns;
    r->k_p10_ns = (int64_t)kg_quantile(s->null_ns, s->nnull, 0.1);
    r->k_p90_ns = (int64_t)kg_quantile(s->null_ns, s->nnull, 0.9);
    r->k_reference_ns = own_known(s) ? (int64_t)s->instance->ref.own_ns : 0;
    r->k_candidate_ns = own_known(s) ? (int64_t)s->cand->own_ns : 0;
    r->nulls = (int64_t)s->nnull;
    times_of(r, k, false, 0, r->n, t);
    r->reference_ns = (int64_t)kg_median(t, r->n);
    r->reference_trimmed_ns = (int64_t)kg_trimmed_mean(t, r->n, s->opt.trim);
    times_of(r, k, true, 0, r->n, t);
    r->candidate_ns = (int64_t)kg_median(t, r->n);
    r->candidate_trimmed_ns = (int64_t)kg_trimmed_mean(t, r->n, s->opt.trim);
    r->cv = kg_stddev(t, r->n) / kg_mean(t, r->n);
    r->reference_short = r->reference_ns < KG_TPAIRS_SHORT_NS;
    r->candidate_short = r->candidate_ns < KG_TPAIRS_SHORT_NS;
    free(t);
}

/* What a reader must know of times below T. */
static void tell_short(struct kg_tpairs_result *r)
{
    const double us = 1e-3, least = KG_TPAIRS_SHORT_NS * us;
    if (r->reference_short) {
        snprintf(r->why, sizeof r->why,
                 "the reference takes %.1f us, below T = %.0f us: no speed reward",
                 (double)r->reference_ns * us, least);
    } else if (r->candidate_short) {
        snprintf(r->why, sizeof r->why,
                 "it takes %.1f us, below T = %.0f us: rewarded as if it took T",
                 (double)r->candidate_ns * us, least);
    }
}

/* K is the same for all calls of a quiet device, or wanders by little beside what is timed. */
static bool noisy(const struct kg_tpairs *s)
{
    double spread =
        kg_quantile(s->null_ns, s->nnull, 0.75) - kg_quantile(s->null_ns, s->nnull, 0.25);
    double shorter = fmin((double)s->out->reference_ns, (double)s->out->candidate_ns);
    bool counts = kg_torch_of(s->w)->judge.facts.clock || kg_torch_of(s->w)->test.spread;
    return counts && spread > fmax(KG_TPAIRS_SPREAD_NS, KG_TPAIRS_SPREAD * shorter);
}

void kg_tpairs_conclude(struct kg_tpairs *s)
{
    struct kg_tpairs_result *r = s->out;
    if (r->n < KG_TPAIRS_LEAST || s->nnull == 0) {
        r->status = KG_TPAIRS_NOT_MEASURED;
        snprintf(r->why, sizeof r->why, "the time ran out after %zu pairs (at least %d)", r->n,
                 KG_TPAIRS_LEAST);
        return;
    }
    kg_tpairs_ratio(s, &r->ratio);
    kg_tpairs_sum_up(s);
    r->status = KG_TPAIRS_MEASURED;
    if (s->cut_short && r->ratio.ratio > 1) {
        r->status = KG_TPAIRS_NOT_TRUSTED;
        snprintf(r->why, sizeof r->why, "the time ran out before %d verified calls",
                 KG_TPAIRS_VERIFIED);
        return;
    }
    if (noisy(s)) {
        r->noisy = true;
        r->status = KG_TPAIRS_NOT_TRUSTED;
        snprintf(r->why, sizeof r->why,
                 "null calls took from %.0f to %.0f us: the device was not quiet",
                 (double)r->k_p10_ns * 1e-3, (double)r->k_p90_ns * 1e-3);
        return;
    }
    tell_short(r);
}
