/* Funnel and verdicts for a terminal. */
#include <stdio.h>
#include <string.h>

#include "gym/card/card.h"
#include "gym/card/pen.h"
#include "gym/card/units.h"
#include "gym/report/report.h"
#include "gym/report/tally.h"

/* A number, right-aligned so that it ends at a column. */
static void number(struct kg_pen *p, enum kg_style style, int end, const char *text)
{
    kg_pen_to(p, end - (int)strlen(text));
    kg_pen_put(p, style, text);
}

static void count(struct kg_pen *p, enum kg_style style, int end, size_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", n);
    number(p, style, end, text);
}

/* part of whole as a bar from the pen's column to the edge, at most 40 columns. */
static void bar(struct kg_pen *p, enum kg_style style, size_t part, size_t whole)
{
    int room = p->width - p->column - 3;
    room = room > 40 ? 40 : room;
    int full = whole == 0 || room < 4 ? 0 : (int)((double)part / (double)whole * room + 0.5);
    full = full == 0 && part > 0 && room >= 4 ? 1 : full;
    kg_pen_to(p, p->column + 2);
    for (int i = 0; i < full; i++) {
        kg_pen_put(p, style, kg_pen_pick(p, "█", "#"));
    }
}

static void funnel(struct kg_pen *p, const struct kg_tally *t)
{
    kg_pen_put(p, KG_DIM, " stage");
    number(p, KG_DIM, 18, "entered");
    number(p, KG_DIM, 26, "passed");
    number(p, KG_DIM, 34, "failed");
    number(p, KG_DIM, 45, "median");
    kg_pen_line(p);
    for (int s = 0; s < KG_ST_COUNT; s++) {
        char time[KG_UNITS_LEN];
        size_t pass = t->stages[s].pass, fail = t->stages[s].fail;
        size_t ran = pass + fail + t->stages[s].unmeasured;
        kg_pen_putf(p, KG_PLAIN, " %s", kg_stage_name((enum kg_stage)s));
        if (ran == 0) {
            number(p, KG_DIM, 18, t->stages[s].off == t->n ? "off" : "-");
        } else {
            count(p, KG_PLAIN, 18, ran);
            count(p, KG_PLAIN, 26, pass);
            count(p, fail > 0 ? KG_RED : KG_DIM, 34, fail);
            number(p, KG_DIM, 45, kg_units_time_real(t->stages[s].median_ns, time));
            bar(p, KG_BLUE, pass, t->n);
        }
        kg_pen_line(p);
    }
    if (t->stages[KG_ST_COMPILE].cached > 0) {
        kg_pen_putf(p, KG_DIM, " compile: %zu were compiled before and are not in the median",
                    t->stages[KG_ST_COMPILE].cached);
        kg_pen_line(p);
    }
}

static void verdict_line(struct kg_pen *p, const struct kg_tally *t, const char *name, size_t n,
                         enum kg_style style)
{
    char share[24];
    kg_pen_put(p, style, " ");
    kg_pen_put(p, style, name);
    count(p, KG_PLAIN, 22, n);
    snprintf(share, sizeof share, "%.1f %%", t->n == 0 ? 0 : 100.0 * (double)n / (double)t->n);
    number(p, KG_DIM, 32, share);
}

static void reasons(struct kg_pen *p, const struct kg_tally *t, enum kg_verdict v)
{
    const int indent = 35;
    struct kg_tally_reason r[KG_TALLY_REASONS];
    size_t n = kg_tally_reasons_of(t, v, r);
    kg_pen_to(p, indent);
    for (size_t i = 0; i < n; i++) {
        kg_pen_wrapf(p, KG_PLAIN, indent, "%s %zu%s", r[i].reason, r[i].n, i + 1 < n ? "," : "");
    }
}

static void verdicts(struct kg_pen *p, const struct kg_tally *t)
{
    static const enum kg_style styles[KG_V_COUNT] = {
        [KG_V_OK] = KG_GREEN,     [KG_V_NO_CODE] = KG_CYAN,         [KG_V_REJECTED] = KG_CYAN,
        [KG_V_CRASH] = KG_RED,    [KG_V_COMPILE_ERROR] = KG_CYAN,   [KG_V_TIMEOUT] = KG_YELLOW,
        [KG_V_WRONG] = KG_YELLOW, [KG_V_OUT_OF_MEMORY] = KG_YELLOW, [KG_V_HACK] = KG_RED,
    };
    kg_pen_put(p, KG_DIM, " verdict");
    number(p, KG_DIM, 22, "n");
    number(p, KG_DIM, 32, "share");
    kg_pen_to(p, 35);
    kg_pen_put(p, KG_DIM, "reasons");
    kg_pen_line(p);
    for (int v = KG_V_OK; v < KG_V_COUNT; v++) {
        if (t->verdicts[v] > 0) {
            verdict_line(p, t, kg_verdict_name((enum kg_verdict)v), t->verdicts[v], styles[v]);
            reasons(p, t, (enum kg_verdict)v);
            kg_pen_line(p);
        }
    }
    if (t->errors > 0) {
        verdict_line(p, t, "(error)", t->errors, KG_RED);
        kg_pen_line(p);
    }
    if (t->verdicts[KG_V_NONE] > 0) {
        verdict_line(p, t, "(not judged)", t->verdicts[KG_V_NONE], KG_DIM);
        kg_pen_line(p);
    }
}

/* Candidates that came through the timing stage without a time, and what the first of them says. */
static void unmeasured(struct kg_pen *p, const struct kg_tally *t)
{
    size_t n = t->stages[KG_ST_TIMING].unmeasured;
    const char *why = NULL;
    for (size_t i = 0; i < t->n && why == NULL; i++) {
        why = kg_record_untimed(&t->r[i]) ? t->r[i].timing.why : NULL;
    }
    if (n > 0) {
        kg_pen_line(p);
        kg_pen_wrapf(p, KG_PLAIN, 1, "timing: %zu not measured%s%s%s", n, why != NULL ? " (" : "",
                     why != NULL ? why : "", why != NULL ? ")" : "");
        kg_pen_line(p);
    }
}

static void speed(struct kg_pen *p, const struct kg_tally *t)
{
    char ratio[KG_UNITS_LEN];
    if (t->measured > 0) {
        kg_pen_line(p);
        kg_pen_wrapf(p, KG_PLAIN, 1,
                     "median speed-up %s of %zu timed: %zu faster, %zu not distinguishable from "
                     "1.0, %zu slower",
                     kg_units_ratio(t->median_ratio, ratio), t->measured, t->faster,
                     t->measured - t->faster - t->slower, t->slower);
        kg_pen_line(p);
    }
}

static void left_out(struct kg_pen *p, const struct kg_tally *t)
{
    if (t->replays > 0) {
        kg_pen_line(p);
        kg_pen_wrapf(p, KG_PLAIN, 1, "left out: %zu replay%s", t->replays,
                     t->replays == 1 ? "" : "s");
        kg_pen_line(p);
    }
}

enum kg_code kg_report_tables(const json_t *records, bool colour, int width, struct kg_buf *out,
                              struct kg_err *err)
{
    struct kg_tally t;
    if (kg_tally_of(records, &t, err) != KG_OK) {
        return err->code;
    }
    struct kg_pen p = {.out = out,
                       .colour = colour,
                       .ascii = !kg_card_unicode(),
                       .width = width < 40    ? 40
                                : width > 200 ? 200
                                              : width};
    funnel(&p, &t);
    kg_pen_line(&p);
    verdicts(&p, &t);
    speed(&p, &t);
    unmeasured(&p, &t);
    left_out(&p, &t);
    kg_tally_deinit(&t);
    return kg_buf_ok(out)
               ? KG_OK
               : kg_fail(err, KG_E_LIMIT, "report: the tables need more than %zu bytes", out->max);
}
