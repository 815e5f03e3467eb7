/* The section of curves. */
#include <math.h>
#include <string.h>

#include "rl/report/parts.h"

struct plan {
    const char *title;
    const char *column; /* the first of these that is there: names between '|' */
    bool share;
};

static const struct plan plans[] = {
    {"reward", "reward", false},
    {"correct", "correct", true},
    {"fast_1.2", "fast_1.2", true},
    {"hack rate", "hack", true},
    {"coverage of correct replies", "coverage", true},
    {"entropy", "entropy", true},
    {"norm of the gradient", "norm", true},
    {"mismatch: largest |learner - sampler|", "mismatch", true},
    {"loss", "loss", false},
    {"tokens of a reply", "length", true},
    {"share of triples: curriculum", "share", true},
    {"kept rows of a step", "kept", true},
};

static const double *find(const struct rl_columns *c, const char *names)
{
    const double *v = NULL;
    while (v == NULL && *names != '\0') {
        char name[RL_COLUMN_NAME];
        size_t n = strcspn(names, "|");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        v = rl_columns_find(c, name);
        names += n + (names[n] == '|');
    }
    return v;
}

static struct rl_chart chart_of(const struct rl_columns *c, const char *title, bool share)
{
    return (struct rl_chart){.title = title,
                             .share = share,
                             .step = c->step,
                             .steps = c->steps,
                             .seconds = rl_columns_find(c, "seconds")};
}

static void single(const struct rl_columns *c, const struct plan *p, struct kg_buf *out)
{
    struct rl_chart chart = chart_of(c, p->title, p->share);
    chart.curve[chart.n++] = (struct rl_curve){p->title, find(c, p->column)};
    rl_chart_svg(&chart, out);
}

static void by_turn(const struct rl_report *r, const char *what, const char *title,
                    struct kg_buf *out)
{
    static const char *const names[8] = {"turn 1", "turn 2", "turn 3", "turn 4",
                                         "turn 5", "turn 6", "turn 7", "turn 8"};
    struct rl_chart c = chart_of(&r->columns, title, true);
    for (int t = 0; t < r->walks.turns; t++) {
        char column[RL_COLUMN_NAME];
        snprintf(column, sizeof column, "turn.%d.%s", t + 1, what);
        c.curve[c.n++] = (struct rl_curve){names[t], rl_columns_find(&r->columns, column)};
    }
    rl_chart_svg(&c, out);
}

static void funnel(const struct rl_report *r, struct kg_buf *out)
{
    static const char *const stage[] = {"extracted", "valid", "compiled", "correct", "fast"};
    struct rl_chart c = chart_of(&r->columns, "funnel: share of replies that came so far", true);
    for (int i = 0; i < 5; i++) {
        char column[RL_COLUMN_NAME];
        snprintf(column, sizeof column, "funnel.%s", stage[i]);
        c.curve[c.n++] = (struct rl_curve){stage[i], rl_columns_find(&r->columns, column)};
    }
    rl_chart_svg(&c, out);
}

static bool ever(const double *v, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n && v != NULL; i++) {
        any = any || (isfinite(v[i]) && v[i] > 0);
    }
    return any;
}

static void causes(const struct rl_report *r, struct kg_buf *out)
{
    struct rl_chart c = chart_of(&r->columns, "share of rows that did not train, by cause", true);
    for (int i = 0; i < RL_WHYS; i++) {
        char column[RL_COLUMN_NAME];
        const char *name = rl_why_name((enum rl_why)i);
        snprintf(column, sizeof column, "why.%s", name);
        const double *v = rl_columns_find(&r->columns, column);
        if (ever(v, r->columns.steps)) {
            c.curve[c.n++] = (struct rl_curve){name, v};
        }
    }
    rl_chart_svg(&c, out);
}

/* Counts of a metric's members: groups that were dropped, rows that a mask rejected. */
static void members(const struct rl_report *r, const char *prefix, const char *title,
                    struct kg_buf *out)
{
    struct rl_chart c = chart_of(&r->columns, title, true);
    for (size_t i = 0; i < r->columns.n && c.n < 8; i++) {
        const char *name = r->columns.name[i];
        bool member = strncmp(name, prefix, strlen(prefix)) == 0 && strcmp(name, "drops.no") != 0;
        if (member && ever(r->columns.v[i], r->columns.steps)) {
            c.curve[c.n++] = (struct rl_curve){name + strlen(prefix), r->columns.v[i]};
        }
    }
    rl_chart_svg(&c, out);
}

static void seconds_of_a_step(const struct rl_report *r, struct kg_buf *out)
{
    static const char *const part[][2] = {{"rollout", "rollout_s"},
                                          {"of it waiting for the gym", "judge_wait_s"},
                                          {"learning", "learn_s"}};
    struct rl_chart c = chart_of(&r->columns, "seconds of a step", true);
    for (int i = 0; i < 3; i++) {
        c.curve[c.n++] = (struct rl_curve){part[i][0], rl_columns_find(&r->columns, part[i][1])};
    }
    rl_chart_svg(&c, out);
}

static void sft(const struct rl_report *r, struct kg_buf *out)
{
    static const struct plan plan[] = {{"SFT: loss", "loss", true}};
    if (r->sft_columns.steps > 0) {
        kg_buf_adds(out, "<h3>SFT</h3><div class=\"charts\">\n");
        single(&r->sft_columns, &plan[0], out);
        kg_buf_adds(out, "</div>\n");
    }
}

void rl_page_curves(const struct rl_report *r, struct kg_buf *out)
{
    static const struct plan rates[] = {
        {"evaluations per second", "rate.evaluations", true},
        {"sampled tokens per second", "rate.sampled", true},
    };
    const struct rl_columns *c = &r->columns;
    if (c->steps == 0 && r->sft_columns.steps == 0) {
        return;
    }
    kg_buf_addf(out,
                "<section id=\"curves\"><h2>Curves</h2><p>Over steps, with the seconds of RL "
                "below. A line is a moving mean (window: %zu), its band the 95 %% interval of that "
                "mean by the scatter of the steps.</p>\n<div class=\"charts\">\n",
                2 * (c->steps / 24) + 1);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        single(c, &plans[i], out);
    }
    by_turn(r, "fast_1.2", "fast_1.2 by turn", out);
    by_turn(r, "correct", "correct by turn", out);
    funnel(r, out);
    causes(r, out);
    members(r, "rejected.", "rows of a step that masks rejected, by cause", out);
    members(r, "drops.", "groups of a step that were dropped, by cause", out);
    single(c, &rates[0], out);
    single(c, &rates[1], out);
    seconds_of_a_step(r, out);
    kg_buf_adds(out, "</div>\n");
    sft(r, out);
    kg_buf_adds(out, "</section>\n");
}
