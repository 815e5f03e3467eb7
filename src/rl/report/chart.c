/* One chart: numbers of each step, smoothed over a window, with the window's interval as a band. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rl/report/parts.h"

enum { POINTS = 160 };

struct line {
    struct rl_point p[POINTS];
    int n;
};

/* Mean of the values within half of `at`, and its 95 % interval by their scatter. False: fewer than
 * one value. */
static bool window(const double *y, size_t n, size_t at, size_t half, struct rl_point *out)
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
    out->y = sum / (double)k;
    for (size_t i = from; i < to; i++) {
        squares += isfinite(y[i]) ? (y[i] - out->y) * (y[i] - out->y) : 0;
    }
    double se = k > 1 ? sqrt(squares / (double)(k - 1) / (double)k) : 0;
    out->lo = out->y - 1.96 * se;
    out->hi = out->y + 1.96 * se;
    return true;
}

static size_t half_window(size_t steps)
{
    return steps / 24;
}

static void smooth(const struct rl_chart *c, const double *y, struct line *out)
{
    size_t last = c->steps - 1, count = c->steps < POINTS ? c->steps : POINTS;
    out->n = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = count > 1 ? i * last / (count - 1) : 0;
        struct rl_point p = {.x = (double)c->step[at]};
        if (window(y, c->steps, at, half_window(c->steps), &p)) {
            out->p[out->n++] = p;
        }
    }
}

/* Steps below, seconds below them. */
static void ticks(const struct rl_chart *c, struct rl_figure *f)
{
    int last = c->steps < 5 ? (int)c->steps - 1 : 4;
    for (int i = 0; i <= last; i++) {
        size_t at = last > 0 ? (size_t)i * (c->steps - 1) / (size_t)last : 0;
        struct rl_tick *t = &f->tick[f->n_tick++];
        *t = (struct rl_tick){.x = (double)c->step[at]};
        snprintf(t->text, sizeof t->text, "%ld", c->step[at]);
        if (c->seconds != NULL && isfinite(c->seconds[at])) {
            snprintf(t->below, sizeof t->below, "%.0f s", c->seconds[at]);
        }
    }
}

void rl_chart_svg(const struct rl_chart *c, struct kg_buf *out)
{
    struct line *line = calloc((size_t)c->n + 1, sizeof *line);
    if (line != NULL && c->steps > 0) {
        struct rl_figure f = {.title = c->title,
                              .note = c->note,
                              .n = c->n,
                              .from = (double)c->step[0],
                              .to = (double)c->step[c->steps - 1],
                              .axis = "step",
                              .share = c->share};
        for (int i = 0; i < c->n; i++) {
            if (c->curve[i].y != NULL) {
                smooth(c, c->curve[i].y, &line[i]);
            }
            f.series[i] =
                (struct rl_series){.name = c->curve[i].name, .point = line[i].p, .n = line[i].n};
        }
        ticks(c, &f);
        rl_figure_svg(&f, out);
    }
    free(line);
}
