/* A figure: up to eight curves with bands, as plain SVG that takes its colours from the page's
 * style. Names are escaped. Thread safe. */
#ifndef KG_RL_PAGE_FIGURE_H
#define KG_RL_PAGE_FIGURE_H

#include "base/html.h"

struct rl_point {
    double x, y;   /* finite */
    double lo, hi; /* a band around y; NaN: none there */
};
enum rl_draw {
    RL_DRAW_CURVE,
    RL_DRAW_STEPS, /* y holds until the next point */
    RL_DRAW_DOTS,  /* points alone, each with its own interval */
};
struct rl_series {
    const char *name;
    const struct rl_point *point; /* [n], by rising x; borrowed */
    int n;
    enum rl_draw draw;
};
struct rl_tick {
    double x;
    char text[16], below[16]; /* below: in a second line; "" */
};
enum { RL_FIGURE_SERIES = 8, RL_FIGURE_TICKS = 12 };
struct rl_figure {
    const char *title, *note; /* note: NULL for none */
    struct rl_series series[RL_FIGURE_SERIES];
    int n;
    double from, to;  /* ends of the x axis; equal: all is in the middle */
    const char *axis; /* name of x */
    struct rl_tick tick[RL_FIGURE_TICKS];
    int n_tick;
    bool share;  /* 0 is the lower end, and 1 the upper one where nothing is above it */
    double mark; /* a value of y that has a line of its own; 0: none */
    bool wide;   /* stands alone: twice as wide where the window has the room */
};
/* Appends the figure; nothing where no series has a point. */
void rl_figure_svg(const struct rl_figure *f, struct kg_buf *out);
/* Ticks at round values from f->from to f->to, at most `most` of them; whole: at whole numbers. */
void rl_figure_ticks(struct rl_figure *f, int most, bool whole);

#endif
