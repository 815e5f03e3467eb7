/* One figure as plain SVG: axes, a grid, curves with bands, steps, dots with intervals. */
#include "rl/page/figure.h"

#include <math.h>
#include <string.h>

/* Places in the units of the view box; the text has 11 of them, so a wide one is not scaled far. */
struct place {
    int w, h, left, right, top, bottom;
};
struct frame {
    struct place at;
    double from, to, lo, hi;
};

static struct frame frame_of(const struct rl_figure *f, bool big)
{
    static const struct place narrow = {420, 169, 46, 408, 10, 146};
    static const struct place wide = {860, 262, 64, 846, 12, 232};
    struct frame r = {big ? wide : narrow, f->from, f->to, HUGE_VAL, -HUGE_VAL};
    bool two = false; /* lines below the axis */
    for (int i = 0; i < f->n_tick; i++) {
        two = two || f->tick[i].below[0] != '\0';
    }
    r.at.h += two ? 15 : 0;
    for (int i = 0; i < f->n; i++) {
        for (int k = 0; k < f->series[i].n; k++) {
            const struct rl_point *p = &f->series[i].point[k];
            r.lo = fmin(r.lo, fmin(p->y, p->lo)); /* fmin and fmax pass by NaN */
            r.hi = fmax(r.hi, fmax(p->y, p->hi));
        }
    }
    bool whole = r.hi <= 1; /* a share needs no room above 1 */
    if (f->share) {
        r.lo = 0;
        r.hi = fmax(r.hi, whole && r.hi > 0 ? 0.05 : 0);
    }
    if (f->mark != 0) {
        r.lo = fmin(r.lo, f->mark);
        r.hi = fmax(r.hi, f->mark);
    }
    double room = r.hi - r.lo > 1e-12 ? 0.06 * (r.hi - r.lo) : fmax(fabs(r.hi) * 0.1, 1e-3);
    r.hi = f->share && whole ? fmin(1, r.hi + room) : r.hi + room;
    r.lo -= f->share ? 0 : room;
    return r;
}

static double px(const struct frame *f, double x)
{
    double part = f->to > f->from ? (x - f->from) / (f->to - f->from) : 0.5;
    return f->at.left + part * (f->at.right - f->at.left);
}

static double py(const struct frame *f, double y)
{
    double part = (y - f->lo) / (f->hi - f->lo);
    return f->at.bottom - fmin(fmax(part, 0), 1) * (f->at.bottom - f->at.top);
}

/* A round distance of about a quarter of the span. */
static double pace_of(double span)
{
    double power = pow(10, floor(log10(span / 3))), rest = span / 3 / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

void rl_figure_ticks(struct rl_figure *f, int most, bool whole)
{
    double span = f->to - f->from;
    double pace = span > 0 ? pace_of(span * 3 / most) : 1;
    pace = whole ? fmax(1, ceil(pace)) : pace;
    while (span / pace > most) {
        pace *= 2;
    }
    for (double i = ceil(f->from / pace - 1e-9); i * pace <= f->to + pace * 1e-6; i++) {
        if (f->n_tick == RL_FIGURE_TICKS) {
            return;
        }
        struct rl_tick *t = &f->tick[f->n_tick++];
        *t = (struct rl_tick){.x = i * pace};
        snprintf(t->text, sizeof t->text, "%.4g", i == 0 ? 0 : t->x);
    }
}

static void grid(const struct frame *f, double mark, struct kg_buf *out)
{
    double pace = pace_of(f->hi - f->lo), first = ceil(f->lo / pace);
    double n = floor(f->hi / pace + 1e-6 - first);
    for (int i = 0; i <= n && i < 20; i++) {
        double y = (first + i) * pace, at = py(f, y);
        kg_buf_addf(out,
                    "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"ty\" x=\"%d\" "
                    "y=\"%.1f\">%.4g</text>",
                    f->at.left, at, f->at.right, f->at.left - 6, at + 3.5,
                    fabs(y) < pace * 1e-6 ? 0 : y);
    }
    if (mark != 0) {
        kg_buf_addf(out, "<path class=\"mark\" d=\"M%d %.1fH%d\"/>", f->at.left, py(f, mark),
                    f->at.right);
    }
}

/* A text that would leave the picture stands at its end. */
static void below(const struct rl_figure *r, const struct frame *f, struct kg_buf *out)
{
    for (int i = 0; i < r->n_tick; i++) {
        const struct rl_tick *t = &r->tick[i];
        double x = px(f, t->x);
        const char *class = x < f->at.left + 8 ? "t0" : x > f->at.right - 8 ? "t2" : "t1";
        kg_buf_addf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%d\">", class, x, f->at.bottom + 16);
        kg_html_text(out, t->text);
        kg_buf_adds(out, "</text>");
        if (t->below[0] != '\0') {
            kg_buf_addf(out, "<text class=\"%s mute\" x=\"%.1f\" y=\"%d\">", class, x,
                        f->at.bottom + 31);
            kg_html_text(out, t->below);
            kg_buf_adds(out, "</text>");
        }
    }
    kg_buf_addf(out, "<text class=\"ty\" x=\"%d\" y=\"%d\">", f->at.left - 12, f->at.bottom + 16);
    kg_html_text(out, r->axis);
    kg_buf_adds(out, "</text>");
}

static bool banded(const struct rl_point *p)
{
    return isfinite(p->lo) && isfinite(p->hi);
}

static void band(const struct frame *f, const struct rl_series *s, int index, struct kg_buf *out)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        if (banded(&s->point[i])) {
            if (n++ == 0) {
                kg_buf_addf(out, "<path class=\"band s%d\" d=\"M", index);
            }
            kg_buf_addf(out, "%.1f %.1f ", px(f, s->point[i].x), py(f, s->point[i].hi));
        }
    }
    for (int i = s->n - 1; i >= 0; i--) {
        if (banded(&s->point[i])) {
            kg_buf_addf(out, "%.1f %.1f ", px(f, s->point[i].x), py(f, s->point[i].lo));
        }
    }
    kg_buf_adds(out, n > 0 ? "z\"/>" : "");
}

static void dots(const struct frame *f, const struct rl_series *s, int index, struct kg_buf *out)
{
    for (int i = 0; i < s->n; i++) {
        const struct rl_point *p = &s->point[i];
        if (banded(p)) {
            kg_buf_addf(out, "<path class=\"stem s%d\" d=\"M%.1f %.1fV%.1f\"/>", index, px(f, p->x),
                        py(f, p->lo), py(f, p->hi));
        }
        kg_buf_addf(out, "<circle class=\"dot s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>", index,
                    px(f, p->x), py(f, p->y), s->draw == RL_DRAW_DOTS ? "3.5" : "2.5");
    }
}

static void draw(const struct frame *f, const struct rl_series *s, int index, struct kg_buf *out)
{
    if (s->draw == RL_DRAW_DOTS) {
        dots(f, s, index, out);
        return;
    }
    band(f, s, index, out);
    if (s->n == 1) {
        dots(f, s, index, out);
        return;
    }
    kg_buf_addf(out, "<path class=\"curve s%d\" d=\"M", index);
    for (int i = 0; i < s->n; i++) {
        if (s->draw == RL_DRAW_STEPS && i > 0) {
            kg_buf_addf(out, "H%.1fV%.1f", px(f, s->point[i].x), py(f, s->point[i].y));
        } else {
            kg_buf_addf(out, "%.1f %.1f ", px(f, s->point[i].x), py(f, s->point[i].y));
        }
    }
    kg_buf_adds(out, "\"/>");
}

static void keys(const struct rl_figure *f, struct kg_buf *out)
{
    for (int i = 0; i < f->n; i++) {
        if (f->series[i].n > 0 && strcmp(f->series[i].name, f->title) != 0) {
            kg_buf_addf(out, "<span><i class=\"key s%d\"></i>", i);
            kg_html_text(out, f->series[i].name);
            kg_buf_adds(out, "</span>");
        }
    }
}

static void picture(const struct rl_figure *r, bool big, struct kg_buf *out)
{
    struct frame f = frame_of(r, big);
    kg_buf_addf(out, "<svg%s viewBox=\"0 0 %d %d\">",
                big       ? " class=\"big\""
                : r->wide ? " class=\"small\""
                          : "",
                f.at.w, f.at.h);
    grid(&f, r->mark, out);
    below(r, &f, out);
    for (int i = 0; i < r->n; i++) {
        if (r->series[i].n > 0) {
            draw(&f, &r->series[i], i, out);
        }
    }
    kg_buf_adds(out, "</svg>");
}

void rl_figure_svg(const struct rl_figure *r, struct kg_buf *out)
{
    int points = 0;
    for (int i = 0; i < r->n; i++) {
        points += r->series[i].n;
    }
    if (points == 0) {
        return;
    }
    kg_buf_addf(out, "<figure%s><figcaption><b>", r->wide ? " class=\"wide\"" : "");
    kg_html_text(out, r->title);
    kg_buf_adds(out, "</b>");
    keys(r, out);
    kg_buf_adds(out, "</figcaption>");
    if (r->wide) {
        picture(r, true, out);
    }
    picture(r, false, out);
    if (r->note != NULL) {
        kg_buf_adds(out, "<p class=\"mute\">");
        kg_html_text(out, r->note);
        kg_buf_adds(out, "</p>");
    }
    kg_buf_adds(out, "</figure>\n");
}
