/* The tables for a terminal, in 80 columns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"
#include "trial/bench/tables_parts.h"

enum { COLUMNS = 6 }; /* of pass@k */

/* --- numbers --- */

void tr_text_quantity(char out[24], double x)
{
    static const char *const unit[] = {"", "k", "M", "G", "T"};
    int i = 0;
    if (x < 1000 && x == floor(x)) {
        snprintf(out, 24, "%.0f", x);
        return;
    }
    while (x >= 999.5 && i < 4) {
        x /= 1000;
        i++;
    }
    snprintf(out, 24,
             x >= 100  ? "%.0f%s"
             : x >= 10 ? "%.1f%s"
             : x >= 1  ? "%.2f%s"
                       : "%.3f%s",
             x, unit[i]);
}

void tr_text_number(char out[24], enum tr_metric m, double x)
{
    switch (m) {
    case TR_M_GEOMEAN:
    case TR_M_GEO_FLOOR1:
    case TR_M_MEDIAN:
        snprintf(out, 24, "%.3f", x);
        return;
    case TR_M_TOKENS:
    case TR_M_MONEY:
        tr_text_quantity(out, x);
        return;
    case TR_M_VALID:
    case TR_M_COMPILED:
    case TR_M_CORRECT:
    case TR_M_FAST:
    case TR_M_FAST_LO:
    case TR_M_HACK:
    case TR_M_COVERAGE:
        break;
    }
    snprintf(out, 24, "%.1f", 100 * x);
}

static const char *unit_of(enum tr_metric m)
{
    return m == TR_M_GEOMEAN || m == TR_M_GEO_FLOOR1 || m == TR_M_MEDIAN ? "x"
           : m == TR_M_TOKENS || m == TR_M_MONEY                         ? ""
                                                                         : " %";
}

/* "12.5 %", or "-". */
void tr_text_value(char out[32], enum tr_metric m, double x)
{
    char text[24];
    if (isnan(x)) {
        snprintf(out, 32, "-");
        return;
    }
    tr_text_number(text, m, x);
    snprintf(out, 32, "%s%s", text, unit_of(m));
}

/* "12.5 %  [8.0, 17.1]", in two columns */
static void add_cell(struct kg_buf *out, const struct tr_row *row)
{
    char text[32], lo[24], hi[24], range[64] = "";
    tr_text_value(text, row->metric, row->x.value);
    if (!isnan(row->x.value) && !isnan(row->x.lo)) {
        tr_text_number(lo, row->metric, row->x.lo);
        tr_text_number(hi, row->metric, row->x.hi);
        snprintf(range, sizeof range, "[%s, %s]", lo, hi);
    }
    kg_buf_addf(out, "  %9s  %-16s", text, range);
}

/* --- parts --- */

void tr_text_level(char out[24], int level)
{
    snprintf(out, 24, level < 0 ? "all" : level == 0 ? "no level" : "level %d", level);
}

void tr_text_end_line(struct kg_buf *out)
{
    while (out->len > 0 && out->data[out->len - 1] == ' ') {
        out->data[--out->len] = '\0';
    }
    kg_buf_addc(out, '\n');
}

void tr_text_label(char out[40], const struct tr_row *row)
{
    static const struct {
        enum tr_metric metric;
        const char *text;
    } name[] = {{TR_M_GEOMEAN, "geometric mean"},
                {TR_M_GEO_FLOOR1, "  failures as 1x"},
                {TR_M_HACK, "hack rate"},
                {TR_M_TOKENS, "tokens / correct"},
                {TR_M_MONEY, "money / correct"}};
    snprintf(out, 40, "%s", row->name);
    if (row->metric == TR_M_FAST_LO) {
        snprintf(out, 40, "%.*s, lower", (int)strlen(row->name) - 3, row->name);
    }
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        if (name[i].metric == row->metric) {
            snprintf(out, 40, "%s", name[i].text);
        }
    }
}

static void add_rows(const struct tr_tables *t, const struct tr_table *x, struct kg_buf *out)
{
    size_t turns = t->bench->turns;
    const struct tr_view *last = &x->view[turns - 1], *best = &x->view[x->views - 1];
    char text[40];
    for (size_t i = 0; i < t->rows; i++) {
        tr_text_label(text, &last->row[i]);
        kg_buf_addf(out, "  %-18s", text);
        add_cell(out, &last->row[i]);
        if (turns > 1) {
            add_cell(out, &best->row[i]);
        }
        tr_text_end_line(out);
    }
}

static const enum tr_metric shown[] = {TR_M_CORRECT, TR_M_FAST}; /* where there is room for two */

static void add_turns(const struct tr_tables *t, const struct tr_table *x, bool colour,
                      struct kg_buf *out)
{
    size_t turns = t->bench->turns;
    char text[32];
    kg_term_add(out, colour, KG_BOLD,
                "by turn                 correct    fast_1   best so far: correct    fast_1\n");
    for (size_t at = 0; at < turns; at++) {
        kg_buf_addf(out, "  turn %-13zu", at + 1);
        for (size_t side = 0; side < 2; side++) {
            const struct tr_view *v = &x->view[side == 0 || at == 0 ? at : turns + at - 1];
            for (size_t m = 0; m < 2; m++) {
                tr_text_value(text, shown[m], tr_tables_row(t, v, shown[m], 1)->x.value);
                kg_buf_addf(out, side == 1 && m == 0 ? "%23s" : "%10s", text);
            }
        }
        kg_buf_addc(out, '\n');
    }
}

static void add_pass(const struct tr_tables *t, const struct tr_table *x, bool colour,
                     struct kg_buf *out)
{
    struct kg_buf head;
    char text[32];
    size_t skip = t->nk > COLUMNS ? t->nk - COLUMNS : 0; /* the first ones and all samples stay */
    kg_buf_init(&head, 200);
    kg_buf_addf(&head, "%-20s", "pass@k, last turn");
    for (size_t j = 0; j < t->nk; j++) {
        if (j < COLUMNS - 1 || j >= COLUMNS - 1 + skip) {
            snprintf(text, sizeof text, "k = %zu", t->k[j]);
            kg_buf_addf(&head, "%10s", text);
        }
    }
    kg_buf_addc(&head, '\n');
    kg_term_add(out, colour, KG_BOLD, head.data);
    kg_buf_deinit(&head);
    for (size_t i = 0; i <= t->np; i++) {
        kg_buf_addf(out, "  %-18s", i == 0 ? "correct" : x->last[i].name);
        for (size_t j = 0; j < t->nk; j++) {
            if (j < COLUMNS - 1 || j >= COLUMNS - 1 + skip) {
                tr_text_value(text, TR_M_CORRECT, x->last[i].x[j].value);
                kg_buf_addf(out, "%10s", text);
            }
        }
        kg_buf_addc(out, '\n');
    }
}

static void add_table(const struct tr_tables *t, const struct tr_table *x, bool colour,
                      struct kg_buf *out)
{
    char text[160], what[40];
    char level[24];
    tr_text_level(level, x->level);
    snprintf(what, sizeof what, "%s, %zu problem%s", level, x->problems,
             x->problems == 1 ? "" : "s");
    size_t turns = t->bench->turns;
    snprintf(text, sizeof text, "\n%s", what);
    if (turns > 1) {
        snprintf(text, sizeof text, "\n%-22s%9s  %-16s  %9s", what, "last turn", "",
                 x->view[x->views - 1].name);
    }
    kg_term_add(out, colour, KG_BOLD, text);
    kg_buf_addc(out, '\n');
    add_rows(t, x, out);
    if (turns > 1) {
        add_turns(t, x, colour, out);
    }
    if (t->bench->samples > 1) {
        add_pass(t, x, colour, out);
    }
}

/* --- what stands above and below the tables --- */

static void add_defect(const char *what, const char *name, const char *why, bool colour,
                       struct kg_buf *out)
{
    size_t len = name != NULL ? strlen(name) : 0;
    kg_term_add(out, colour, KG_YELLOW, what);
    if (why == NULL || strncmp(why, name != NULL ? name : "", len) != 0) {
        kg_term_add_line(out, name != NULL ? name : "");
        kg_buf_adds(out, ": ");
    }
    kg_term_add_line(out, why != NULL ? why : "");
    kg_buf_addc(out, '\n');
}

static void add_defects(const struct tr_bench *b, bool colour, struct kg_buf *out)
{
    for (size_t q = 0; q < b->problems; q++) {
        const struct tr_bench_problem *p = &b->problem[q];
        if (p->defect) {
            add_defect("left out as defective: ", p->name, p->why, colour, out);
        }
    }
    for (size_t i = 0; i < json_array_size(b->aside); i++) {
        const json_t *x = json_array_get(b->aside, i);
        add_defect("left out: ", json_string_value(json_object_get(x, "name")),
                   json_string_value(json_object_get(x, "why")), colour, out);
    }
}

/* What makes numbers smaller than the kernels are good. */
static void add_warnings(const struct tr_tables *t, bool colour, struct kg_buf *out)
{
    const struct tr_counts_of_turns *c = &t->counts;
    char text[200];
    if (t->partial) {
        snprintf(text, sizeof text,
                 "PARTIAL: of %zu turns %zu have no verdict and %zu no reply yet;\n"
                 "  they count as failures\n",
                 c->turns, c->no_verdict, c->missing);
        kg_term_add(out, colour, KG_YELLOW, text);
    }
    if (c->full > 0) {
        snprintf(text, sizeof text,
                 "NO ROOM: %zu of %zu turns did not fit the model's context;\n"
                 "  they count as failures\n",
                 c->full, c->turns);
        kg_term_add(out, colour, KG_YELLOW, text);
    }
    if (c->untimed > 0) {
        snprintf(text, sizeof text,
                 "NO SPEED: %zu of %zu correct replies have no time that is trusted;\n"
                 "  fast_p counts them as slow\n",
                 c->untimed, c->correct);
        kg_term_add(out, colour, KG_YELLOW, text);
    }
}

static void add_subset(const struct tr_tables *t, struct kg_buf *out)
{
    const struct tr_bench *b = t->bench;
    if (b->of == b->problems) {
        return;
    }
    kg_buf_addf(out, "%zu of %zu problems, subset ", b->problems, b->of);
    kg_term_add_line(out, *b->subset ? b->subset : "-");
    kg_buf_addc(out, '\n');
    for (size_t i = 0; i < 2 && t->n > 0; i++) {
        const struct tr_row *row = tr_tables_row(t, &t->table[0].view[b->turns - 1], shown[i], 1);
        if (row->half_full > 0) { /* 0: the problems went alike, which says nothing */
            kg_buf_addf(out, "  all %zu would narrow the interval of %s to about +/- %.1f points\n",
                        b->of, row->name, 100 * row->half_full);
        }
    }
}

static void add_head(const struct tr_tables *t, struct kg_buf *out)
{
    const struct tr_bench *b = t->bench;
    const char *model =
        json_string_value(json_object_get(json_object_get(b->run, "policy"), "model"));
    kg_term_add_line(out, b->suite);
    kg_buf_addf(out, ": %zu problem%s x %zu sample%s x %zu turn%s\n", b->problems,
                b->problems == 1 ? "" : "s", b->samples, b->samples == 1 ? "" : "s", b->turns,
                b->turns == 1 ? "" : "s");
    if (model != NULL) {
        kg_buf_adds(out, "model   ");
        kg_term_add_line(out, model);
        kg_buf_addc(out, '\n');
    }
    if (*b->device) {
        kg_buf_adds(out, "device  ");
        kg_term_add_line(out, b->device);
        kg_buf_adds(out,
                    b->devices_differ ? " AND OTHERS: speed-ups are not of one device\n" : "\n");
    }
}

/* What has to be known beside the numbers. */
static void add_notes(const struct tr_tables *t, bool colour, struct kg_buf *out)
{
    size_t from = out->len;
    kg_buf_adds(out, t->n > 1 ? "\n" : "");
    size_t begin = out->len;
    add_subset(t, out);
    add_warnings(t, colour, out);
    add_defects(t->bench, colour, out);
    if (out->len == begin) {
        out->len = from;
        out->data[from] = '\0';
    }
}

static void add_foot(const struct tr_tables *t, struct kg_buf *out)
{
    const struct tr_bench *b = t->bench;
    const struct tr_counts_of_turns *c = &t->counts;
    char in[24], of[24];
    tr_text_quantity(in, (double)t->tokens_in);
    tr_text_quantity(of, (double)t->tokens_out);
    kg_buf_addf(out, "\ntokens  %s in, %s out", in, of);
    if (b->price_in > 0 || b->price_out > 0) {
        kg_buf_addf(out, "; money %.2f", t->money);
    }
    kg_buf_addf(out, "\nturns   %zu judged of %zu: %zu correct, %zu hack%s; %zu repl%s cut\n",
                c->judged, c->turns, c->correct, c->hacks, c->hacks == 1 ? "" : "s", c->cut,
                c->cut == 1 ? "y was" : "ies were");
    kg_buf_adds(out,
                "[] are 95 % intervals by problem; lower: by the lower end of each speed-up's\n"
                "own interval; all numbers: summary.json\n");
    for (int i = 0; i < TR_BENCH_NOTES && b->note[i] != NULL; i++) {
        kg_buf_adds(out, "left out  ");
        kg_term_add_line(out, b->note[i]);
        kg_buf_addc(out, '\n');
    }
    if (b->left_out > TR_BENCH_NOTES) {
        kg_buf_addf(out, "left out  %zu more lines\n", b->left_out - TR_BENCH_NOTES);
    }
}

void tr_tables_text(const struct tr_tables *t, bool colour, struct kg_buf *out)
{
    add_head(t, out);
    for (size_t i = 1; i < t->n; i++) {
        add_table(t, &t->table[i], colour, out);
    }
    /* The first table is that of all levels. It comes last, where a terminal shows it. */
    add_notes(t, colour, out);
    if (t->n > 0) {
        add_table(t, &t->table[0], colour, out);
    } else {
        kg_buf_adds(out, "no table: all problems are defective\n");
    }
    add_foot(t, out);
}
