/* Speed-ups with their intervals, and the distributions of the timed windows. */
#include <math.h>
#include <stdlib.h>

#include "gym/card/units.h"
#include "gym/record/samples.h"
#include "gym/report/report_parts.h"

/* Of the speed-up chart, in its own units: labels, plot, figures. */
#define PLOT_LEFT  210.0
#define PLOT_WIDTH 620.0
#define WIDTH      1060
#define ROW        22

struct scale {
    double lo, hi; /* natural logs of the ends */
};

static double x_of(const struct scale *s, double ratio)
{
    double at = (log(ratio) - s->lo) / (s->hi - s->lo);
    return PLOT_LEFT + PLOT_WIDTH * fmin(fmax(at, 0), 1);
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
        if (inside && (n == 0 || x_of(s, round[i]) - x_of(s, tick[n - 1]) > 36)) {
            tick[n++] = round[i];
        } else if (inside && round[i] == 1) {
            tick[n - 1] = 1; /* the reference line is never left out */
        }
    }
    return n;
}

static void axis(const struct scale *s, struct kg_buf *out)
{
    double tick[32];
    int n = ticks_of(s, tick);
    kg_buf_addf(out, "<div class=\"axis\"><svg viewBox=\"0 0 %d 26\">", WIDTH);
    for (int i = 0; i < n; i++) {
        kg_buf_addf(out, "<text class=\"m c\" x=\"%.1f\" y=\"17\">%gx</text>", x_of(s, tick[i]),
                    tick[i]);
    }
    kg_buf_adds(out, "</svg></div>\n");
}

static void speed_row(const struct scale *s, const struct kg_record *r, size_t position, int row,
                      struct kg_buf *out)
{
    static const char *const classes[] = {"down", "same", "up"};
    char ratio[KG_UNITS_LEN], lo[KG_UNITS_LEN], hi[KG_UNITS_LEN];
    const char *side = classes[kg_tally_side(r) + 1];
    int y = row * ROW + ROW / 2;
    kg_buf_addf(out, "<a href=\"#r%zu\"><text class=\"e\" x=\"%.0f\" y=\"%d\">", position,
                PLOT_LEFT - 14, y + 4);
    kg_html_cut(out, r->problem.name, 28);
    kg_buf_adds(out, "</text></a>");
    bool known = isfinite(r->speedup.lo) && isfinite(r->speedup.hi) && r->speedup.lo > 0;
    if (known) {
        double left = x_of(s, r->speedup.lo), right = x_of(s, r->speedup.hi);
        kg_buf_addf(out, "<path class=\"wh %s\" d=\"M%.1f %dH%.1fM%.1f %dv8M%.1f %dv8\"/>", side,
                    left, y, right, left, y - 4, right, y - 4);
    }
    kg_buf_addf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%d\" r=\"3\"/>", side,
                x_of(s, r->speedup.ratio), y);
    kg_buf_addf(out, "<text x=\"%.0f\" y=\"%d\">%s", PLOT_LEFT + PLOT_WIDTH + 16, y + 4,
                kg_units_ratio(r->speedup.ratio, ratio));
    if (known) {
        kg_buf_addf(out, "<tspan class=\"m\" dx=\"8\">[%s, %s]</tspan>",
                    kg_units_ratio(r->speedup.lo, lo), kg_units_ratio(r->speedup.hi, hi));
    }
    kg_buf_adds(out, "</text>\n");
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

static void speed_rows(const struct kg_tally *t, const struct scale *s, struct kg_buf *out)
{
    struct ranked *order = calloc(t->measured, sizeof *order);
    size_t n = 0;
    int height = (int)t->measured * ROW;
    kg_buf_addf(out, "<svg viewBox=\"0 0 %d %d\">", WIDTH, height);
    double tick[32];
    int ticks = ticks_of(s, tick);
    for (int i = 0; i < ticks; i++) {
        kg_buf_addf(out, "<path class=\"%s\" d=\"M%.1f 0V%d\"/>", tick[i] == 1 ? "one" : "grid",
                    x_of(s, tick[i]), height);
    }
    for (size_t i = 0; order != NULL && i < t->n; i++) {
        if (kg_tally_has_speed(&t->r[i])) {
            order[n++] = (struct ranked){t->r[i].speedup.ratio, i};
        }
    }
    if (order != NULL) {
        qsort(order, n, sizeof *order, by_ratio);
    }
    for (size_t i = 0; i < n; i++) {
        speed_row(s, &t->r[order[i].position], order[i].position, (int)i, out);
    }
    kg_buf_adds(out, "</svg>");
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
                     "not distinguishable from 1.</p>\n<div class=\"scroll\">");
    axis(&s, out);
    speed_rows(t, &s, out);
    kg_buf_adds(out, "</div></section>\n");
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
    kg_buf_adds(out, "<svg viewBox=\"0 0 240 78\">");
    area("hr", rc, most, out);
    area("hc", cc, most, out);
    kg_buf_addf(out,
                "<path class=\"grid\" d=\"M0 60.5H240\"/><text class=\"m\" x=\"0\" y=\"74\">%s"
                "</text><text class=\"m e\" x=\"240\" y=\"74\">%s</text></svg>",
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
    kg_buf_addf(out, "<figure><figcaption><a href=\"#r%zu\">", position);
    kg_html_cut(out, r->problem.name, 40);
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
    kg_buf_init(&figures, out->max);
    for (size_t i = 0; s != NULL && x != NULL && i < t->n; i++) {
        if (kg_tally_has_speed(&t->r[i])) {
            distribution(&t->r[i], i, s, x, &figures);
        }
    }
    if (figures.len > 0) {
        kg_buf_adds(out, "<section id=\"timing\"><h2>Timing distributions</h2><p>All timed windows "
                         "of each correct candidate after K is subtracted, logarithmic."
                         "<span class=\"key r\"></span>reference<span class=\"key d\"></span>"
                         "candidate</p>\n<div class=\"scroll\"><div class=\"multi\">\n");
        kg_buf_add(out, figures.data, figures.len);
        kg_buf_adds(out, "</div></div></section>\n");
    }
    out->truncated = out->truncated || figures.truncated;
    kg_buf_deinit(&figures);
    free(s);
    free(x);
}
