/* Times, speed-up and the histogram of the pairs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gym/card/parts.h"
#include "gym/card/units.h"
#include "gym/record/samples.h"

#define MAX_PAIRS 4096
#define MAX_BINS  24 /* each two columns wide */
#define ROWS      2  /* of the histogram, eight steps each */
#define NOISY_CV  0.25

static void speedup_line(struct kg_pen *p, const struct kg_record *r)
{
    char ratio[KG_UNITS_LEN], lo[KG_UNITS_LEN], hi[KG_UNITS_LEN];
    double l = r->speedup.lo, h = r->speedup.hi;
    bool known = isfinite(l) && isfinite(h);
    bool same = !known || (l <= 1 && 1 <= h);
    kg_card_label(p, "speed-up");
    kg_pen_put(p,
               same                   ? KG_BOLD
               : r->speedup.ratio > 1 ? KG_GREEN
                                      : KG_YELLOW,
               kg_units_ratio(r->speedup.ratio, ratio));
    if (known) {
        kg_pen_wrapf(p, KG_PLAIN, KG_CARD_LABEL, " [%s, %s]", kg_units_ratio(l, lo),
                     kg_units_ratio(h, hi));
    } else {
        kg_pen_wrap(p, KG_DIM, KG_CARD_LABEL, "(no interval)");
    }
    if (same) {
        kg_pen_wrap(p, KG_YELLOW, KG_CARD_LABEL, "not distinguishable from 1.0");
    }
    if (r->speedup.pairs >= 0) {
        kg_pen_wrapf(p, KG_DIM, KG_CARD_LABEL, "over %lld pairs", (long long)r->speedup.pairs);
    }
    kg_pen_line(p);
}

static void bar(struct kg_pen *p, const char *label, int64_t ns, int64_t longest,
                enum kg_style style)
{
    char time[KG_UNITS_LEN];
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int room = p->width - KG_CARD_LABEL - 10;
    room = room > 50 ? 50 : room;
    int full = (int)((double)ns / (double)longest * room * 8 + 0.5);
    kg_card_label(p, label);
    for (int i = 0; i < full / 8; i++) {
        kg_pen_put(p, style, kg_pen_pick(p, "█", "#"));
    }
    kg_pen_put(p, style, kg_pen_pick(p, eighths[full % 8], ""));
    kg_pen_putf(p, KG_PLAIN, " %s", kg_units_time(ns, time));
    kg_pen_line(p);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void histogram_rows(struct kg_pen *p, const unsigned *count, int bins, unsigned most)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {" ", ".", ".", ":", ":", ":", "#", "#", "#"};
    for (int row = ROWS - 1; row >= 0; row--) {
        kg_card_label(p, row == ROWS - 1 ? "pairs" : "");
        for (int i = 0; i < bins; i++) {
            int height = (int)ceil((double)count[i] / most * ROWS * 8) - row * 8;
            height = height < 0 ? 0 : height > 8 ? 8 : height;
            const char *block = kg_pen_pick(p, blocks[height], plain[height]);
            kg_pen_putf(p, KG_BLUE, "%s%s", block, block);
        }
        kg_pen_line(p);
    }
}

/* A line with a mark where 1.0 is, if it is there, and the ends and the median below. */
static void axis(struct kg_pen *p, double lo, double hi, double median, int columns)
{
    char left[KG_UNITS_LEN], right[KG_UNITS_LEN], middle[KG_UNITS_LEN];
    int one = lo < 0 && hi > 0 ? (int)(-lo / (hi - lo) * columns) : -1;
    kg_card_label(p, "");
    for (int i = 0; i < columns; i++) {
        kg_pen_put(p, KG_DIM, i == one ? kg_pen_pick(p, "┼", "|") : kg_pen_pick(p, "─", "-"));
    }
    kg_pen_line(p);
    kg_card_label(p, "");
    kg_pen_put(p, KG_DIM, kg_units_ratio(exp(lo), left));
    kg_pen_to(p, p->column + 1);
    kg_pen_to(p, KG_CARD_LABEL + (columns - 14) / 2);
    kg_pen_putf(p, KG_DIM, "median %s ", kg_units_ratio(exp(median), middle));
    kg_units_ratio(exp(hi), right);
    kg_pen_to(p, KG_CARD_LABEL + columns - (int)kg_term_columns(right));
    kg_pen_put(p, KG_DIM, right);
    kg_pen_line(p);
}

/* Log ratios between their 2nd and 98th percentile, at least 1 % wide; the rest is in the end
 * bins. */
static void histogram(struct kg_pen *p, double *log_ratio, size_t n)
{
    unsigned count[MAX_BINS], most = 1;
    int bins = (p->width - KG_CARD_LABEL - 2) / 2;
    bins = bins > MAX_BINS ? MAX_BINS : bins;
    qsort(log_ratio, n, sizeof *log_ratio, by_value);
    double lo = log_ratio[n / 50], hi = log_ratio[n - 1 - n / 50];
    double margin = fmax(0.05 * (hi - lo), 0.005 - (hi - lo) / 2);
    lo -= margin;
    hi += margin;
    kg_samples_bins(log_ratio, n, lo, hi, count, (size_t)bins);
    for (int i = 0; i < bins; i++) {
        most = count[i] > most ? count[i] : most;
    }
    histogram_rows(p, count, bins, most);
    axis(p, lo, hi, log_ratio[n / 2], 2 * bins);
}

static void pairs(struct kg_pen *p, const struct kg_record *r)
{
    struct kg_sample_pair *s = calloc(MAX_PAIRS, sizeof *s);
    double *ratio = calloc(MAX_PAIRS, sizeof *ratio);
    if (s != NULL && ratio != NULL) {
        size_t n = kg_samples_pairs(&r->timing, s, MAX_PAIRS);
        n = n > MAX_PAIRS ? MAX_PAIRS : n;
        for (size_t i = 0; i < n; i++) {
            ratio[i] = log(s[i].reference_ns / s[i].candidate_ns);
        }
        if (n >= 5) {
            histogram(p, ratio, n);
        }
    }
    free(s);
    free(ratio);
}

static void protocol_line(struct kg_pen *p, const struct kg_timing *t)
{
    char k[KG_UNITS_LEN];
    kg_card_label(p, "timing");
    if (t->status != KG_T_MEASURED) {
        kg_pen_wrap(p, KG_YELLOW, KG_CARD_LABEL,
                    t->status == KG_T_NOT_TRUSTED ? "not trusted" : "not measured");
        if (t->why != NULL) {
            kg_pen_wrapf(p, KG_PLAIN, KG_CARD_LABEL, "(%s)", t->why);
        }
        kg_pen_line(p);
        return;
    }
    const char *dot = kg_pen_pick(p, "·", "/");
    kg_pen_wrap(p, KG_DIM, KG_CARD_LABEL, t->preset != NULL ? t->preset : "measured");
    if (t->overhead_ns >= 0) {
        kg_pen_wrapf(p, KG_DIM, KG_CARD_LABEL, "%s call cost K %s", dot,
                     kg_units_time(t->overhead_ns, k));
    }
    if (isfinite(t->cv)) {
        kg_pen_wrapf(p, KG_DIM, KG_CARD_LABEL, "%s spread cv %.1f %%%s", dot, 100 * t->cv,
                     t->cv > NOISY_CV ? " (noisy host)" : "");
    }
    if (t->warmups >= 0) {
        kg_pen_wrapf(p, KG_DIM, KG_CARD_LABEL, "%s %lld warm-ups", dot, (long long)t->warmups);
    }
    if (t->why != NULL) {
        kg_pen_wrapf(p, KG_YELLOW, KG_CARD_LABEL, "%s %s", dot, t->why);
    }
    kg_pen_line(p);
}

static void bars(struct kg_pen *p, int64_t reference_ns, int64_t candidate_ns)
{
    if (reference_ns > 0 && candidate_ns > 0) {
        int64_t longest = reference_ns > candidate_ns ? reference_ns : candidate_ns;
        bar(p, "reference", reference_ns, longest, KG_DIM);
        bar(p, "candidate", candidate_ns, longest,
            candidate_ns <= reference_ns ? KG_GREEN : KG_YELLOW);
    }
}

/* The speed-up is made pair by pair, the bars are medians of each side: on a noisy host one can say
 * faster where the other says slower. Without a word that looks like an error of the gym's. */
static void explain_medians(struct kg_pen *p, const struct kg_record *r)
{
    char quotient[KG_UNITS_LEN];
    const struct kg_timing *t = &r->timing;
    if (!r->has_speedup || t->reference_ns <= 0 || t->candidate_ns <= 0) {
        return;
    }
    double q = (double)t->reference_ns / (double)t->candidate_ns, ratio = r->speedup.ratio;
    bool known = isfinite(r->speedup.lo) && isfinite(r->speedup.hi);
    bool agrees = known ? q >= r->speedup.lo && q <= r->speedup.hi : fabs(log(q / ratio)) < 0.02;
    if (agrees || fabs(log(q / ratio)) < 0.02) {
        return;
    }
    kg_card_label(p, "");
    kg_pen_wrapf(p, KG_YELLOW, KG_CARD_LABEL,
                 "the bars are medians and would give %s: the host is noisy. The speed-up compares "
                 "pair by pair and is what counts.",
                 kg_units_ratio(q, quotient));
    kg_pen_line(p);
}

static json_int_t mean_of(const json_t *claims, const char *side)
{
    return json_integer_value(json_object_get(json_object_get(claims, side), "mean_ns"));
}

/* Means that the timed processes gave: nobody has seen them. */
static void claims(struct kg_pen *p, const struct kg_record *r)
{
    char ratio[KG_UNITS_LEN];
    const json_t *c = r->timing.claims;
    kg_card_label(p, "claimed");
    if (r->has_speedup) {
        kg_pen_put(p, KG_BOLD, kg_units_ratio(r->speedup.ratio, ratio));
    }
    kg_pen_wrapf(p, KG_DIM, KG_CARD_LABEL, " ratio of means over %lld calls each",
                 (long long)json_integer_value(json_object_get(c, "trials")));
    kg_pen_line(p);
    bars(p, mean_of(c, "reference"), mean_of(c, "candidate"));
}

void kg_card_speed(struct kg_pen *p, const struct kg_record *r)
{
    const struct kg_timing *t = &r->timing;
    if (r->verdict != KG_V_OK || t->status == KG_T_OFF) {
        return;
    }
    if (t->claims) {
        claims(p, r);
        protocol_line(p, t);
        kg_pen_line(p);
        return;
    }
    if (r->has_speedup) {
        speedup_line(p, r);
    }
    bars(p, t->reference_ns, t->candidate_ns);
    explain_medians(p, r);
    pairs(p, r);
    protocol_line(p, t);
    kg_pen_line(p);
}
