/* Speed-ups with their intervals, and the distributions of the timed windows. */
#include <math.h>
#include <stdlib.h>

#include "gym/card/units.h"
#include "gym/record/samples.h"
#include "gym/report/report_parts.h"

#define SHOWN_ROWS    60 /* of the speed-up chart; the others are behind a line to click */
#define SHOWN_FIGURES 60

struct scale {
    double lo, hi; /* natural logs of the ends */
};

/* Where a ratio stands on the axis, in percent of its width: the page is as wide as its window. */
static double x_of(const struct scale *s, double ratio)
{
    double at = (log(ratio) - s->lo) / (s->hi - s->lo);
    return 100 * fmin(fmax(at, 0), 1);
}

/* From half to twice at least, from a thousandth to a thousand at most, a little room at the ends.
 */
static struct scale scale_of(const struct kg_tally *t)
{
    struct scale s = {log(0.5), log(2)};
    for (size_t i = 0; i < t->n; i++) {
        const struct kg_record *r = &t->r[i];
        if (kg_tally_has_speed(r)) {
            double lo = r->speedup.lo > 0 ? r->speedup.lo : r->speedup.ratio;
            double hi = isfinite(r->speedup.hi) ? r->speedup.hi : r->speedup.ratio;
            s.lo = fmin(s.lo, log(fmin(lo, r->speedup.ratio)) - 0.1);
            s.hi = fmax(s.hi, log(fmax(hi, r->speedup.ratio)) + 0.1);
        }
    }
    s.lo = fmax(s.lo, log(0.001));
    s.hi = fmin(s.hi, log(1000));
    return s;
}

/* Round ratios inside the scale that have room for a label; returns how many. */
static int ticks_of(const struct scale *s, double *tick)
{
    static const double round[] = {.001, .002, .005, .01, .02, .05, .1, .2, .3,  .5,  .7,  1,
                                   1.5,  2,    3,    5,   7,   10,  20, 50, 100, 200, 500, 1000};
    int n = 0;
    for (size_t i = 0; i < sizeof round / sizeof round[0]; i++) {
        bool inside = log(round[i]) >= s->lo - 1e-9 && log(round[i]) <= s->hi + 1e-9;
        if (inside && (n == 0 || x_of(s, round[i]) - x_of(s, tick[n - 1]) > 6)) {
            tick[n++] = round[i];
        } else if (inside && round[i] == 1) {
            tick[n - 1] = 1; /* the reference line is never left out */
        }
    }
    return n;
}

/* Every second tick is left out where the page is narrow, the one at 1 never. */
static void axis(const struct scale *s, struct kg_buf *out)
{
    double tick[32];
    int n = ticks_of(s, tick), one = 0;
    for (int i = 0; i < n; i++) {
        one = tick[i] == 1 ? i : one;
    }
    kg_buf_adds(out, "<div class=\"sr axis\"><span></span><span class=\"plot\">");
    for (int i = 0; i < n; i++) {
        kg_buf_addf(out, "<i class=\"tick%s\" style=\"left:%.2f%%\">%gx</i>",
                    (i - one) % 2 != 0 ? " odd" : "", x_of(s, tick[i]), tick[i]);
    }
    kg_buf_adds(out, "</span><span></span></div>\n");
}

static void speed_row(const struct scale *s, const struct kg_record *r, size_t position,
                      struct kg_buf *out)
{
    static const char *const classes[] = {"down", "same", "up"};
    char ratio[KG_UNITS_LEN], lo[KG_UNITS_LEN], hi[KG_UNITS_LEN];
    bool known = isfinite(r->speedup.lo) && isfinite(r->speedup.hi) && r->speedup.lo > 0;
    kg_buf_addf(out, "<a class=\"sr %s\" href=\"#r%zu\"><span class=\"who\">",
                classes[kg_tally_side(r) + 1], position);
    kg_report_name(r, out);
    kg_buf_addf(out, "</span><span class=\"plot\"><i class=\"one\" style=\"left:%.2f%%\"></i>",
                x_of(s, 1));
    if (known) {
        double left = x_of(s, r->speedup.lo), right = x_of(s, r->speedup.hi);
        kg_buf_addf(out, "<i class=\"wh\" style=\"left:%.2f%%;width:%.2f%%\"></i>", left,
                    right - left);
    }
    kg_buf_addf(out, "<i class=\"dot\" style=\"left:%.2f%%\"></i></span><span class=\"val\">%s",
                x_of(s, r->speedup.ratio), kg_units_ratio(r->speedup.ratio, ratio));
    if (known) {
        kg_buf_addf(out, " <i class=\"mute\">[%s, %s]</i>", kg_units_ratio(r->speedup.lo, lo),
                    kg_units_ratio(r->speedup.hi, hi));
    }
    kg_buf_adds(out, "</span></a>\n");
}

struct ranked {
    double ratio;
    size_t position;
};

static int by_ratio(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->ratio != y->ratio) {
        return x->ratio < y->ratio ? 1 : -1;
    }
    return (x->position > y->position) - (x->position < y->position);
}

static void open_more(size_t n, const char *what, struct kg_buf *out)
{
    kg_buf_addf(out, "<details class=\"more\"><summary>%zu more %s</summary>\n", n, what);
}

static void speed_rows(const struct kg_tally *t, const struct scale *s, struct kg_buf *out)
{
    struct ranked *order = calloc(t->measured, sizeof *order);
    size_t n = 0;
    for (size_t i = 0; order != NULL && i < t->n; i++) {
        if (kg_tally_has_speed(&t->r[i])) {
            order[n++] = (struct ranked){t->r[i].speedup.ratio, i};
        }
    }
    if (order != NULL) {
        qsort(order, n, sizeof *order, by_ratio);
    }
    for (size_t i = 0; i < n; i++) {
        if (i == SHOWN_ROWS) {
            open_more(n - i, "speed-ups", out);
        }
        speed_row(s, &t->r[order[i].position], order[i].position, out);
    }
    kg_buf_adds(out, n > SHOWN_ROWS ? "</details>\n" : "");
    free(order);
}

void kg_report_speedups(const struct kg_tally *t, struct kg_buf *out)
{
    if (t->measured == 0) {
        return;
    }
    struct scale s = scale_of(t);
    kg_buf_adds(out, "<section id=\"speed\"><h2>Speed-ups</h2><p>Reference time over candidate "
                     "time with its 95 % interval, on a logarithmic axis; the line is 1. "
                     "<span class=\"good\">Faster</span>, <span class=\"warn\">slower</span>, or "
                     "not distinguishable from 1.</p>\n");
    axis(&s, out);
    speed_rows(t, &s, out);
    kg_buf_adds(out, "</section>\n");
}

#define BINS  48
#define PAIRS 2000

static void area(const char *style, const unsigned *count, unsigned most, struct kg_buf *out)
{
    kg_buf_addf(out, "<path class=\"%s\" d=\"M0 60", style);
    for (int i = 0; i < BINS; i++) {
        kg_buf_addf(out, "V%.4gH%d", 60 - 56.0 * count[i] / most, 5 * (i + 1));
    }
    kg_buf_adds(out, "V60z\"/>");
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Both sides on one logarithmic axis, from the lowest to the 98th percentile of all windows. */
static void windows(const struct kg_sample_pair *s, size_t n, double *ref, double *cand,
                    double *all, struct kg_buf *out)
{
    unsigned rc[BINS], cc[BINS], most = 1;
    char left[KG_UNITS_LEN], right[KG_UNITS_LEN];
    for (size_t i = 0; i < n; i++) {
        all[2 * i] = ref[i] = log(s[i].reference_ns);
        all[2 * i + 1] = cand[i] = log(s[i].candidate_ns);
    }
    qsort(all, 2 * n, sizeof *all, by_value);
    double lo = all[0], hi = all[2 * n - 1 - n / 25];
    double margin = fmax(0.04 * (hi - lo), 0.005);
    lo -= margin;
    hi += margin;
    kg_samples_bins(ref, n, lo, hi, rc, BINS);
    kg_samples_bins(cand, n, lo, hi, cc, BINS);
    for (int i = 0; i < BINS; i++) {
        most = rc[i] > most ? rc[i] : most;
        most = cc[i] > most ? cc[i] : most;
    }
    kg_buf_adds(out, "<svg viewBox=\"0 0 240 61\">");
    area("hr", rc, most, out);
    area("hc", cc, most, out);
    kg_buf_addf(out,
                "<path class=\"grid\" d=\"M0 60.5H240\"/></svg><p class=\"ends\"><span>%s</span>"
                "<span>%s</span></p>",
                kg_units_time_real(exp(lo), left), kg_units_time_real(exp(hi), right));
}

static void distribution(const struct kg_record *r, size_t position, struct kg_sample_pair *s,
                         double *x, struct kg_buf *out)
{
    char ratio[KG_UNITS_LEN];
    size_t n = kg_samples_pairs(&r->timing, s, PAIRS);
    n = n < PAIRS ? n : PAIRS;
    if (n < 3) {
        return;
    }
    kg_buf_addf(out, "<figure><figcaption><a class=\"who\" href=\"#r%zu\">", position);
    kg_report_name(r, out);
    kg_buf_addf(out, "</a><span class=\"mute\">%s</span></figcaption>",
                kg_units_ratio(r->speedup.ratio, ratio));
    windows(s, n, x, x + PAIRS, x + 2 * PAIRS, out);
    kg_buf_adds(out, "</figure>\n");
}

void kg_report_distributions(const struct kg_tally *t, struct kg_buf *out)
{
    struct kg_sample_pair *s = calloc(PAIRS, sizeof *s);
    double *x = calloc((size_t)4 * PAIRS, sizeof *x);
    struct kg_buf figures;
    size_t n = 0;
    kg_buf_init(&figures, out->max);
    for (size_t i = 0; s != NULL && x != NULL && i < t->n; i++) {
        if (!kg_tally_has_speed(&t->r[i])) {
            continue;
        }
        if (n++ == SHOWN_FIGURES) {
            kg_buf_adds(&figures, "</div>\n");
            open_more(t->measured - SHOWN_FIGURES, "distributions", &figures);
            kg_buf_adds(&figures, "<div class=\"multi\">\n");
        }
        distribution(&t->r[i], i, s, x, &figures);
    }
    if (figures.len > 0) {
        kg_buf_adds(out, "<section id=\"timing\"><h2>Timing distributions</h2><p>All times of "
                         "reference and candidate on a logarithmic axis; the cost of a call (K) is "
                         "subtracted. <span class=\"key r\"></span>reference "
                         "<span class=\"key d\"></span>candidate</p>\n<div class=\"multi\">\n");
        kg_buf_add(out, figures.data, figures.len);
        kg_buf_adds(out, n > SHOWN_FIGURES ? "</div></details></section>\n" : "</div></section>\n");
    }
    out->truncated = out->truncated || figures.truncated;
    kg_buf_deinit(&figures);
    free(s);
    free(x);
}
