/* One figure: curves over steps, smoothed, with a band, as plain SVG. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rl/report/parts.h"

enum { W = 420, H = 190, LEFT = 46, RIGHT = 408, TOP = 10, BOTTOM = 146, POINTS = 160 };

struct point {
    double x, mean, lo, hi; /* x: 0 .. 1 */
};
struct line {
    struct point p[POINTS];
    int n;
};
struct frame {
    double lo, hi;
};

/* Mean of the values within half of `at`, and its 95 % interval by their scatter. False: fewer than
 * one value. */
static bool window(const double *y, size_t n, size_t at, size_t half, struct point *out)
{
    size_t from = at > half ? at - half : 0, to = at + half + 1 < n ? at + half + 1 : n, k = 0;
    double sum = 0, squares = 0;
    for (size_t i = from; i < to; i++) {
        if (isfinite(y[i])) {
            sum += y[i];
            k++;
        }
    }
    if (k == 0) {
        return false;
    }
    out->mean = sum / (double)k;
    for (size_t i = from; i < to; i++) {
        squares += isfinite(y[i]) ? (y[i] - out->mean) * (y[i] - out->mean) : 0;
    }
    double se = k > 1 ? sqrt(squares / (double)(k - 1) / (double)k) : 0;
    out->lo = out->mean - 1.96 * se;
    out->hi = out->mean + 1.96 * se;
    return true;
}

static size_t half_window(size_t steps)
{
    return steps / 24;
}

static void smooth(const struct rl_chart *c, const double *y, struct line *out)
{
    size_t last = c->steps - 1, count = c->steps < POINTS ? c->steps : POINTS;
    double span = (double)(c->step[last] - c->step[0]);
    out->n = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = count > 1 ? i * last / (count - 1) : 0;
        struct point p = {.x = span > 0 ? (double)(c->step[at] - c->step[0]) / span : 0.5};
        if (window(y, c->steps, at, half_window(c->steps), &p)) {
            out->p[out->n++] = p;
        }
    }
}

static struct frame frame_of(const struct line *line, int n, bool share)
{
    struct frame f = {HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < line[i].n; k++) {
            f.lo = fmin(f.lo, line[i].p[k].lo);
            f.hi = fmax(f.hi, line[i].p[k].hi);
        }
    }
    bool whole = f.hi <= 1; /* a share needs no room above 1 */
    if (share) {
        f.lo = 0;
        f.hi = fmax(f.hi, whole && f.hi > 0 ? 0.05 : 0);
    }
    double room = f.hi - f.lo > 1e-12 ? 0.06 * (f.hi - f.lo) : fmax(fabs(f.hi) * 0.1, 1e-3);
    f.hi = share && whole ? fmin(1, f.hi + room) : f.hi + room;
    f.lo -= share ? 0 : room;
    return f;
}

static double px(double x)
{
    return LEFT + x * (RIGHT - LEFT);
}

static double py(const struct frame *f, double y)
{
    double part = (y - f->lo) / (f->hi - f->lo);
    return BOTTOM - fmin(fmax(part, 0), 1) * (BOTTOM - TOP);
}

/* A round distance of about a quarter of the span. */
static double pace_of(double span)
{
    double power = pow(10, floor(log10(span / 3))), rest = span / 3 / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

static void grid(const struct frame *f, struct kg_buf *out)
{
    double pace = pace_of(f->hi - f->lo), first = ceil(f->lo / pace);
    int n = (int)floor(f->hi / pace + 1e-6 - first);
    for (int i = 0; i <= n && i < 20; i++) {
        double y = (first + i) * pace, at = py(f, y);
        kg_buf_addf(out,
                    "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"ty\" x=\"%d\" "
                    "y=\"%.1f\">%.4g</text>",
                    LEFT, at, RIGHT, LEFT - 6, at + 3.5, fabs(y) < pace * 1e-6 ? 0 : y);
    }
}

/* Steps below, seconds below them. */
static void below(const struct rl_chart *c, struct kg_buf *out)
{
    static const char *const anchor[] = {"t0", "t1", "t1", "t1", "t2"};
    int last_label = c->steps < 5 ? (int)c->steps - 1 : 4;
    for (int i = 0; i <= last_label; i++) {
        size_t at = last_label > 0 ? (size_t)i * (c->steps - 1) / (size_t)last_label : 0;
        double span = (double)(c->step[c->steps - 1] - c->step[0]);
        double x = span > 0 ? (double)(c->step[at] - c->step[0]) / span : 0.5;
        const char *class = last_label == 0 ? "t1" : anchor[i == last_label ? 4 : i];
        kg_buf_addf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%d\">%ld</text>", class, px(x),
                    BOTTOM + 16, c->step[at]);
        if (c->seconds != NULL && isfinite(c->seconds[at])) {
            kg_buf_addf(out, "<text class=\"%s mute\" x=\"%.1f\" y=\"%d\">%.0f s</text>", class,
                        px(x), BOTTOM + 31, c->seconds[at]);
        }
    }
    kg_buf_addf(out, "<text class=\"ty\" x=\"%d\" y=\"%d\">step</text>", LEFT - 12, BOTTOM + 16);
}

static void draw(const struct line *l, const struct frame *f, int index, struct kg_buf *out)
{
    kg_buf_addf(out, "<path class=\"band s%d\" d=\"M", index);
    for (int i = 0; i < l->n; i++) {
        kg_buf_addf(out, "%.1f %.1f ", px(l->p[i].x), py(f, l->p[i].hi));
    }
    for (int i = l->n - 1; i >= 0; i--) {
        kg_buf_addf(out, "%.1f %.1f ", px(l->p[i].x), py(f, l->p[i].lo));
    }
    kg_buf_adds(out, "z\"/>");
    if (l->n == 1) {
        kg_buf_addf(out, "<circle class=\"dot s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>", index,
                    px(l->p[0].x), py(f, l->p[0].mean));
        return;
    }
    kg_buf_addf(out, "<path class=\"curve s%d\" d=\"M", index);
    for (int i = 0; i < l->n; i++) {
        kg_buf_addf(out, "%.1f %.1f ", px(l->p[i].x), py(f, l->p[i].mean));
    }
    kg_buf_adds(out, "\"/>");
}

static void keys(const struct rl_chart *c, const struct line *line, struct kg_buf *out)
{
    for (int i = 0; i < c->n; i++) {
        if (line[i].n > 0 && strcmp(c->curve[i].name, c->title) != 0) {
            kg_buf_addf(out, "<span><i class=\"key s%d\"></i>", i);
            kg_html_text(out, c->curve[i].name);
            kg_buf_adds(out, "</span>");
        }
    }
}

void rl_chart_svg(const struct rl_chart *c, struct kg_buf *out)
{
    struct line *line = calloc((size_t)c->n + 1, sizeof *line);
    int points = 0;
    for (int i = 0; i < c->n && line != NULL && c->steps > 0; i++) {
        if (c->curve[i].y != NULL) {
            smooth(c, c->curve[i].y, &line[i]);
        }
        points += line[i].n;
    }
    if (points > 0) {
        struct frame f = frame_of(line, c->n, c->share);
        kg_buf_adds(out, "<figure><figcaption><b>");
        kg_html_text(out, c->title);
        kg_buf_adds(out, "</b>");
        keys(c, line, out);
        kg_buf_addf(out, "</figcaption><svg viewBox=\"0 0 %d %d\">", W, H);
        grid(&f, out);
        below(c, out);
        for (int i = 0; i < c->n; i++) {
            if (line[i].n > 0) {
                draw(&line[i], &f, i, out);
            }
        }
        kg_buf_adds(out, "</svg>");
        if (c->note != NULL) {
            kg_buf_adds(out, "<p class=\"mute\">");
            kg_html_text(out, c->note);
            kg_buf_adds(out, "</p>");
        }
        kg_buf_adds(out, "</figure>\n");
    }
    free(line);
}
