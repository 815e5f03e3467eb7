/* Sections of a bench: its main numbers, a table for each level, curves. */
#include <math.h>
#include <string.h>

#include "rl/page/figure.h"
#include "trial/report/report_page.h"

static void interval_tile(const struct tr_tables *t, enum tr_metric metric, double p,
                          const char *name, struct kg_buf *out)
{
    const struct tr_view *v = &t->table[0].view[t->table[0].views - 1];
    const struct tr_row *row = tr_tables_row(t, v, metric, p);
    char number[32] = "–", note[96];
    bool speed = metric == TR_M_GEOMEAN;
    const char *unit = speed ? "x" : " %";
    double scale = speed ? 1 : 100;
    int digits = speed ? 2 : 1;
    if (isfinite(row->x.value)) {
        snprintf(number, sizeof number, "%.*f%s", digits, scale * row->x.value, unit);
    }
    if (isfinite(row->x.lo)) {
        snprintf(note, sizeof note, "[%.*f, %.*f], %s", digits, scale * row->x.lo, digits,
                 scale * row->x.hi, v->name);
    } else {
        snprintf(note, sizeof note, "%s", v->name);
    }
    rl_page_tile("", number, name, note, out);
}

static void words(double n, char out[32])
{
    struct kg_buf b;
    kg_buf_init(&b, 30);
    tr_page_count(n, &b);
    snprintf(out, 32, "%s", b.data);
    kg_buf_deinit(&b);
}

static void cost_tiles(const struct tr_tables *t, struct kg_buf *out)
{
    char number[32], note[96], in[32], sum[32], price[32] = "–";
    double correct = (double)t->counts.correct;
    words((double)(t->tokens_in + t->tokens_out), sum);
    words((double)t->tokens_in, in);
    words(correct > 0 ? (double)(t->tokens_in + t->tokens_out) / correct : (double)NAN, number);
    snprintf(note, sizeof note, "%s of them read; %s for a correct turn", in, number);
    rl_page_tile("", sum, "tokens", note, out);
    if (t->bench->price_in > 0 || t->bench->price_out > 0) {
        snprintf(number, sizeof number, "%.4g", t->money);
        if (correct > 0) {
            snprintf(price, sizeof price, "%.3g", t->money / correct);
        }
        snprintf(note, sizeof note, "by the prices given; %s for a correct turn", price);
        rl_page_tile("", number, "money", note, out);
    }
}

void tr_page_bench_tiles(const struct tr_report *r, struct kg_buf *out)
{
    const struct tr_tables *t = &r->tables;
    char number[64], note[128];
    kg_buf_adds(out, "<div class=\"tiles\">\n");
    snprintf(number, sizeof number, "%zu × %zu × %zu", t->bench->problems - t->counts.defects,
             t->bench->samples, t->bench->turns);
    snprintf(note, sizeof note, "%zu of %zu turns judged", t->counts.judged, t->counts.turns);
    rl_page_tile("", number, "problems × samples × turns", note, out);
    if (t->n > 0) {
        interval_tile(t, TR_M_CORRECT, 0, "correct", out);
        interval_tile(t, TR_M_FAST, 1, "fast_1", out);
        interval_tile(t, TR_M_FAST, 1.2, "fast_1.2", out);
        interval_tile(t, TR_M_GEOMEAN, 0, "speed-up of correct, geometric mean", out);
    }
    snprintf(number, sizeof number, "%zu", t->counts.hacks);
    rl_page_tile(t->counts.hacks > 0 ? "hack" : "", number, "hacks refused", "turns", out);
    cost_tiles(t, out);
    kg_buf_adds(out, "</div>\n");
}

/* --- tables --- */

static bool is_share(enum tr_metric m)
{
    return m <= TR_M_FAST_LO || m == TR_M_HACK || m == TR_M_COVERAGE;
}

static void number_cell(const struct tr_row *row, double x, struct kg_buf *out)
{
    if (!isfinite(x)) {
        kg_buf_adds(out, "–");
    } else if (row->metric == TR_M_TOKENS) {
        tr_page_count(x, out);
    } else if (row->metric == TR_M_MONEY) {
        kg_buf_addf(out, "%.3g", x);
    } else if (is_share(row->metric)) {
        kg_buf_addf(out, "%.1f", 100 * x);
    } else {
        kg_buf_addf(out, "%.3f", x);
    }
}

static void cell(const struct tr_row *row, struct kg_buf *out)
{
    bool known = isfinite(row->x.value), speed = row->metric >= TR_M_GEOMEAN;
    kg_buf_adds(out, "<td class=\"n\">");
    number_cell(row, row->x.value, out);
    kg_buf_adds(out, !known                                ? ""
                     : is_share(row->metric)               ? " %"
                     : speed && row->metric <= TR_M_MEDIAN ? "x"
                                                           : "");
    if (isfinite(row->x.lo) && isfinite(row->x.hi)) {
        kg_buf_adds(out, " <i class=\"mute\">[");
        number_cell(row, row->x.lo, out);
        kg_buf_adds(out, ", ");
        number_cell(row, row->x.hi, out);
        kg_buf_adds(out, "]</i>");
    }
    kg_buf_adds(out, "</td>");
}

static const char *row_title(const struct tr_row *row)
{
    static const char *const title[] = {
        [TR_M_GEOMEAN] = "speed-up, geometric mean", [TR_M_GEO_FLOOR1] = "the same, failures as 1",
        [TR_M_MEDIAN] = "speed-up, median",          [TR_M_HACK] = "hack rate",
        [TR_M_COVERAGE] = "mean coverage",           [TR_M_TOKENS] = "tokens per correct",
        [TR_M_MONEY] = "money per correct"};
    bool plain = row->metric < TR_M_GEOMEAN;
    return plain ? row->name : title[row->metric];
}

static void grid(const struct tr_tables *all, const struct tr_table *t, struct kg_buf *out)
{
    kg_buf_adds(out, "<div class=\"scroll\"><table><thead><tr><th></th>");
    for (size_t v = 0; v < t->views; v++) {
        kg_buf_addf(out, "<th class=\"n\">%s</th>", t->view[v].name);
    }
    kg_buf_adds(out, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < all->rows; i++) {
        kg_buf_addf(out, "<tr><td>%s</td>", row_title(&t->view[0].row[i]));
        for (size_t v = 0; v < t->views; v++) {
            cell(&t->view[v].row[i], out);
        }
        kg_buf_adds(out, "</tr>\n");
    }
    kg_buf_adds(out, "</tbody></table></div>\n");
}

static void level_name(const struct tr_table *t, struct kg_buf *out)
{
    if (t->level < 0) {
        kg_buf_adds(out, "All");
    } else if (t->level == 0) {
        kg_buf_adds(out, "No level");
    } else {
        kg_buf_addf(out, "Level %d", t->level);
    }
}

/* A line for each level: what readers compare first. */
static void levels(const struct tr_tables *all, const char *view, struct kg_buf *out)
{
    static const struct {
        enum tr_metric metric;
        double p;
    } column[] = {{TR_M_CORRECT, 0}, {TR_M_FAST, 1}, {TR_M_FAST, 1.2},
                  {TR_M_FAST, 1.5},  {TR_M_FAST, 2}, {TR_M_GEOMEAN, 0}};
    const struct tr_table *first = &all->table[0];
    size_t v = 0;
    while (v + 1 < first->views && strcmp(first->view[v].name, view) != 0) {
        v++;
    }
    bool last = strcmp(first->view[v].name, "last") == 0;
    kg_buf_addf(out,
                "<h3>%s</h3><div class=\"scroll levels\"><table><thead><tr><th></th>"
                "<th class=\"n\">problems</th>",
                last ? "Last turn" : "Best of all turns");
    for (size_t i = 0; i < sizeof column / sizeof *column; i++) {
        const struct tr_row *row =
            tr_tables_row(all, &first->view[v], column[i].metric, column[i].p);
        kg_buf_addf(out, "<th class=\"n\">%s</th>",
                    column[i].metric == TR_M_GEOMEAN ? "speed-up" : row_title(row));
    }
    kg_buf_adds(out, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < all->n; i++) {
        const struct tr_table *t = &all->table[i];
        kg_buf_adds(out, "<tr><td>");
        level_name(t, out);
        kg_buf_addf(out, "</td><td class=\"n\">%zu</td>", t->problems);
        for (size_t k = 0; k < sizeof column / sizeof *column; k++) {
            cell(tr_tables_row(all, &t->view[v], column[k].metric, column[k].p), out);
        }
        kg_buf_adds(out, "</tr>\n");
    }
    kg_buf_adds(out, "</tbody></table></div>\n");
}

void tr_page_bench_tables(const struct tr_report *r, struct kg_buf *out)
{
    const struct tr_tables *all = &r->tables;
    if (all->n == 0) {
        return;
    }
    kg_buf_adds(out, "<section id=\"tables\"><h2>Scores</h2><p>Shares of all samples; a turn that "
                     "is missing or has no verdict counts as a failure. fast_p: correct and more "
                     "than p times as fast as the reference; _lo: by the lower end of the "
                     "speed-up's own interval. In brackets 95 % intervals: whole problems are "
                     "resampled. A speed-up is a geometric mean over correct kernels.</p>\n");
    const struct tr_table *first = &all->table[0];
    levels(all, "last", out);
    if (first->views > 1) {
        levels(all, first->view[first->views - 1].name, out);
    }
    for (size_t i = 0; i < all->n; i++) {
        const struct tr_table *t = &all->table[i];
        kg_buf_adds(out, "<details><summary>");
        level_name(t, out);
        kg_buf_addf(out, ": all numbers of %zu problem%s</summary>\n", t->problems,
                    t->problems == 1 ? "" : "s");
        grid(all, t, out);
        kg_buf_adds(out, "</details>\n");
    }
    kg_buf_adds(out, "</section>\n");
}

/* --- curves --- */

enum { TURNS_SHOWN = 64, CURVE = 128 };

static struct rl_point point_of(double x, const struct rl_interval *i)
{
    return (struct rl_point){x, i->value, i->lo, i->hi};
}

/* Three rates over turns: of turn t alone, or of the best of turns 1 to t. */
static void by_turn(const struct tr_tables *t, enum rl_of of, const char *title, struct kg_buf *out)
{
    static const struct {
        enum tr_metric metric;
        double p;
        const char *name;
    } rate[] = {
        {TR_M_CORRECT, 0, "correct"}, {TR_M_FAST, 1, "fast_1"}, {TR_M_FAST, 1.2, "fast_1.2"}};
    struct rl_point p[3][TURNS_SHOWN];
    const struct tr_table *table = &t->table[0];
    struct rl_figure f = {
        .title = title, .from = 1, .to = (double)t->bench->turns, .axis = "turn", .share = true};
    for (int i = 0; i < 3; i++) {
        struct rl_series *s = &f.series[f.n++];
        *s = (struct rl_series){.name = rate[i].name, .point = p[i]};
        for (size_t v = 0; v < table->views && s->n < TURNS_SHOWN; v++) {
            const struct tr_view *view = &table->view[v];
            const struct tr_row *row = tr_tables_row(t, view, rate[i].metric, rate[i].p);
            bool mine = view->of.of == of || view->of.turn == 1;
            if (mine && isfinite(row->x.value)) {
                p[i][s->n++] = point_of((double)view->of.turn, &row->x);
            }
        }
    }
    rl_figure_ticks(&f, 8, true);
    rl_figure_svg(&f, out);
}

static void fast_curve(const struct tr_tables *t, struct kg_buf *out)
{
    struct rl_point p[2][CURVE];
    const struct rl_interval *x[] = {t->curve.last, t->curve.best};
    const struct tr_curve *c = &t->curve;
    bool turns = t->bench->turns > 1;
    if (c->n == 0) {
        return;
    }
    struct rl_figure f = {.title = "fast_p over p",
                          .from = c->p[0],
                          .to = c->p[c->n - 1],
                          .axis = "p",
                          .share = true,
                          .n = turns ? 2 : 1};
    for (int i = 0; i < f.n; i++) {
        struct rl_series *s = &f.series[i];
        *s = (struct rl_series){.name = !turns   ? f.title
                                        : i == 0 ? "last turn"
                                                 : "best of turns",
                                .point = p[i]};
        for (size_t k = 0; k < c->n && k < CURVE; k++) {
            if (isfinite(x[i][k].value)) {
                p[i][s->n++] = point_of(c->p[k], &x[i][k]);
            }
        }
    }
    rl_figure_ticks(&f, 8, false);
    rl_figure_svg(&f, out);
}

/* k doubles from tick to tick. */
static void pass_curve(const struct tr_tables *t, const struct tr_pass *pass, const char *title,
                       struct kg_buf *out)
{
    struct rl_point p[4][TR_MOST_K];
    struct rl_figure f = {.title = title, .axis = "k", .share = true};
    if (t->nk < 2) {
        return;
    }
    f.to = log2((double)t->k[t->nk - 1]);
    for (size_t i = 0; i < 1 + t->np && f.n < 4; i++) {
        struct rl_series *s = &f.series[f.n];
        *s = (struct rl_series){.name = pass[i].p < 0 ? "correct" : pass[i].name, .point = p[f.n]};
        for (size_t k = 0; k < t->nk; k++) {
            if (isfinite(pass[i].x[k].value)) {
                p[f.n][s->n++] = point_of(log2((double)t->k[k]), &pass[i].x[k]);
            }
        }
        f.n++;
    }
    for (size_t k = 0; k < t->nk && f.n_tick < RL_FIGURE_TICKS; k++) {
        f.tick[f.n_tick] = (struct rl_tick){.x = log2((double)t->k[k])};
        snprintf(f.tick[f.n_tick].text, sizeof f.tick->text, "%zu", t->k[k]);
        f.n_tick++;
    }
    rl_figure_svg(&f, out);
}

void tr_page_bench_curves(const struct tr_report *r, struct kg_buf *out)
{
    const struct tr_tables *t = &r->tables;
    if (t->n == 0) {
        return;
    }
    kg_buf_adds(out, "<section id=\"curves\"><h2>Curves</h2><p>All problems. Bands are 95 % "
                     "intervals. pass@k: the chance that the best of k samples is correct, or more "
                     "than p times as fast, without bias.</p>\n<div class=\"charts\">\n");
    fast_curve(t, out);
    if (t->bench->turns > 1) {
        by_turn(t, RL_OF_TURN, "turn t alone", out);
        by_turn(t, RL_OF_BEST, "best of turns 1 to t", out);
    }
    pass_curve(t, t->table[0].last, t->bench->turns > 1 ? "pass@k, last turn" : "pass@k", out);
    if (t->bench->turns > 1) {
        pass_curve(t, t->table[0].best, "pass@k, best of turns", out);
    }
    kg_buf_adds(out, "</div></section>\n");
}
