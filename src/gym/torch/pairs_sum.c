/* From pairs to what the record shows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gym/torch/pairs_private.h"

#define PART   10  /* pairs of one part of the interval, for trimmed means */
#define QUAD   4   /* balanced: two pairs of each order */
#define TWO    2   /* of a quad's, one of each order */
#define OCTET  8   /* has medians that one disturbed call does not move */
#define PARTS  3   /* fewer say nothing about spread: smaller parts then */
#define ENOUGH 6   /* parts that a narrow interval takes */
#define MEDIAN 1.2 /* standard errors of a median of all pairs, in those of the mean of twos */

static double after_k(int64_t ns, double k)
{
    return (double)ns > k ? (double)ns - k : 1.0;
}

/* Never more than it was before the candidate was there: what it does beside null calls would be
 * taken off its own time. */
static double overhead(const struct kg_tpairs *s)
{
    return floor(fmin(kg_median(s->null_ns, s->nnull), s->w->torch->quiet_k_ns));
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

/* Pairs of one part: of trimmed means, or as large as leaves enough of them. */
static size_t part_of(const struct kg_tpairs *s)
{
    size_t n = s->out->n;
    bool some = n / QUAD >= PARTS;
    if (s->opt.calibrated) {
        return n / PART >= PARTS ? PART : some ? QUAD : 1;
    }
    return n / OCTET >= ENOUGH ? OCTET : some ? TWO : 1;
}

/* The pairs of each four, so that orders alternate. */
static void alternate(const struct kg_pair *from, size_t n, struct kg_pair *to)
{
    memcpy(to, from, n * sizeof *to);
    for (size_t i = 0; i + QUAD <= n; i += QUAD) {
        size_t place[2] = {0, 1};
        for (size_t k = 0; k < QUAD; k++) {
            size_t order = from[i + k].cand_first;
            order = place[order] < QUAD ? order : 1 - order; /* blocks of another size */
            to[i + place[order]] = from[i + k];
            place[order] += 2;
        }
    }
}

/* Mean of the log ratios of parts of this size, and its interval by how they differ. */
static void by_parts(const struct kg_tpairs *s, size_t size, struct kg_ratio *out)
{
    const struct kg_tpairs_result *r = s->out;
    double k = overhead(s);
    size_t parts = size == TWO ? r->n / QUAD * (QUAD / TWO) : r->n / size;
    struct kg_pair *pair = malloc(r->n * sizeof *pair);
    double *l = malloc(parts * sizeof *l);
    KG_ASSERT(pair && l);
    alternate(r->pair, r->n, pair); /* larger parts hold the same pairs as before */
    for (size_t b = 0; b < parts; b++) {
        size_t from = b * size, to = b + 1 == parts ? r->n : from + size;
        l[b] = s->opt.calibrated ? log_trimmed(s, k, from, to)
                                 : kg_pairs_log_ratio(pair + from, to - from, (int64_t)k);
    }
    kg_ratio_of(l, parts, (int64_t)r->n, out);
    free(pair);
    free(l);
}

/* From 48 pairs on the mean of eights' log ratios; below, the median of all, which one disturbed
 * call does not move, and the interval by twos, which it makes wider: six of them are 2.6 standard
 * errors, three fours would be 4.3. Trimmed means are of all pairs, too. */
bool kg_tpairs_ratio(const struct kg_tpairs *s, struct kg_ratio *out)
{
    const struct kg_tpairs_result *r = s->out;
    size_t size = part_of(s);
    if (r->n == 0) {
        return false;
    }
    double k = overhead(s);
    by_parts(s, size, out);
    if (s->opt.calibrated) {
        out->ratio = exp(log_trimmed(s, k, 0, r->n));
    } else if (size == TWO) {
        out->ratio = exp(kg_pairs_log_ratio(r->pair, r->n, (int64_t)k));
        out->half_width *= MEDIAN;
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
    r->k_quiet_ns = (int64_t)s->w->torch->quiet_k_ns;
    r->k_p10_ns = (int64_t)kg_quantile(s->null_ns, s->nnull, 0.1);
    r->k_p90_ns = (int64_t)kg_quantile(s->null_ns, s->nnull, 0.9);
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
    bool counts = s->w->torch->judge.facts.clock || kg_tpairs_hook.spread;
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

int64_t kg_tpairs_floor_ns(const struct kg_task_desc *d, const struct kg_dj_facts *f)
{
    double bytes = 0;
    for (size_t i = 0; i < d->ninputs; i++) {
        if (!kg_tdtype_floating((enum kg_tdtype)d->input[i].leaf.dtype)) {
            return 0; /* what is read may depend on it */
        }
        bytes += (double)d->input[i].leaf.bytes;
    }
    bytes += fmax(0, (double)d->output_bytes - (double)f->l2_bytes);
    return f->bandwidth > 0 ? (int64_t)(bytes / f->bandwidth * 1e9) : 0;
}
