/* Sections of a refinement: speed-up by round, the rounds, the best kernel and how it came about.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rl/page/figure.h"
#include "trial/report/report_page.h"

enum { ROUNDS_SHOWN = 1000 };

long tr_round_number(const json_t *round, size_t at)
{
    long number = rl_json_int(round, "round");
    return number > 0 && number < 1000000 ? number : (long)at + 1;
}

bool tr_round_is_best(const json_t *round)
{
    return json_is_true(json_object_get(round, "new_best"));
}

const json_t *tr_round_best(const struct tr_report *r)
{
    const json_t *round, *best = NULL;
    size_t i;
    json_array_foreach(r->rounds, i, round)
    {
        best = tr_round_is_best(round) ? round : best;
    }
    return best;
}

const json_t *tr_round_speed(const json_t *round)
{
    const json_t *again = json_object_get(round, "again");
    return isfinite(tr_report_real(again, "speedup")) ? again : round;
}

static double sum(const json_t *rounds, const char *key)
{
    double s = 0;
    const json_t *round;
    size_t i;
    json_array_foreach(rounds, i, round)
    {
        double x = tr_report_real(round, key);
        s += isfinite(x) ? x : 0;
    }
    return s;
}

static size_t correct(const json_t *rounds)
{
    size_t n = 0, i;
    const json_t *round;
    json_array_foreach(rounds, i, round)
    {
        n += json_is_true(json_object_get(round, "correct"));
    }
    return n;
}

static void best_tile(const struct tr_report *r, struct kg_buf *out)
{
    const json_t *best = tr_round_best(r), *s = tr_round_speed(best);
    char number[32] = "none", note[128] = "no correct kernel yet";
    if (best != NULL) {
        double x = tr_report_real(s, "speedup"), lo = tr_report_real(s, "speedup_lo");
        snprintf(number, sizeof number, isfinite(x) ? "%.2fx" : "correct", x);
        int n = snprintf(note, sizeof note, "round %ld%s", tr_round_number(best, 0),
                         s != best ? ", judged again" : "");
        if (isfinite(lo)) {
            snprintf(note + n, sizeof note - (size_t)n, ", [%.2f, %.2f]", lo,
                     tr_report_real(s, "speedup_hi"));
        }
    }
    rl_page_tile(best != NULL ? "good" : "", number, "best verified kernel", note, out);
}

static void ending_tile(const struct tr_report *r, struct kg_buf *out)
{
    char note[200];
    const char *ending = rl_json_text(r->ending, "ending");
    double money = tr_report_real(r->ending, "money");
    int n = 0;
    note[0] = '\0';
    if (isfinite(money) && money > 0) {
        n = snprintf(note, sizeof note, "money %.4g; ", money);
    }
    snprintf(note + n, sizeof note - (size_t)n, "%.150s", rl_json_text(r->ending, "why"));
    rl_page_tile("", ending[0] != '\0' ? ending : "under way", "ended by", note, out);
}

void tr_page_refine_tiles(const struct tr_report *r, struct kg_buf *out)
{
    char number[64], note[128];
    struct kg_buf count;
    const json_t *options = json_object_get(r->run, "options");
    size_t n = json_array_size(r->rounds);
    double in = sum(r->rounds, "tokens_in"), written = sum(r->rounds, "tokens_out");
    kg_buf_adds(out, "<div class=\"tiles\">\n");
    best_tile(r, out);
    snprintf(number, sizeof number, "%zu", n);
    snprintf(note, sizeof note, "%zu correct", correct(r->rounds));
    rl_page_tile("", number, "rounds", note, out);
    kg_buf_init(&count, 64);
    tr_page_count(in + written, &count);
    snprintf(number, sizeof number, "%s", count.data);
    kg_buf_reset(&count);
    tr_page_count(written, &count);
    snprintf(note, sizeof note, "%s of them written", count.data);
    kg_buf_deinit(&count);
    rl_page_tile("", number, "tokens", note, out);
    const char *strategy = rl_json_text(options, "strategy");
    strategy = strategy[0] != '\0' ? strategy : rl_json_text(r->run, "strategy");
    if (strategy[0] != '\0') {
        rl_page_tile("", strategy, "strategy", "which turns the model is shown", out);
    }
    ending_tile(r, out);
    kg_buf_adds(out, "</div>\n");
}

/* --- curves --- */

struct curves {
    struct rl_point tried[ROUNDS_SHOWN], best[ROUNDS_SHOWN], context[ROUNDS_SHOWN],
        written[ROUNDS_SHOWN], coverage[ROUNDS_SHOWN];
    int tried_n, best_n, context_n, written_n, coverage_n;
    double last;
};

static void add(struct rl_point *p, int *n, double x, double y, double lo, double hi)
{
    if (isfinite(y)) {
        p[(*n)++] = (struct rl_point){x, y, lo, hi};
    }
}

static void gather(const json_t *rounds, struct curves *c)
{
    const json_t *round;
    size_t i;
    const double none = (double)NAN;
    json_array_foreach(rounds, i, round)
    {
        double x = (double)tr_round_number(round, i);
        if (i == ROUNDS_SHOWN) {
            break;
        }
        c->last = fmax(c->last, x);
        add(c->tried, &c->tried_n, x, tr_report_real(round, "speedup"),
            tr_report_real(round, "speedup_lo"), tr_report_real(round, "speedup_hi"));
        if (tr_round_is_best(round)) {
            add(c->best, &c->best_n, x, tr_report_real(tr_round_speed(round), "speedup"), none,
                none);
        }
        add(c->context, &c->context_n, x, tr_report_real(round, "tokens_in"), none, none);
        add(c->written, &c->written_n, x, tr_report_real(round, "tokens_out"), none, none);
        add(c->coverage, &c->coverage_n, x, tr_report_real(round, "coverage"), none, none);
    }
    if (c->best_n > 0 && c->best_n < ROUNDS_SHOWN && c->best[c->best_n - 1].x < c->last) {
        c->best[c->best_n] = c->best[c->best_n - 1];
        c->best[c->best_n++].x = c->last;
    }
}

static struct rl_figure figure_of(const struct curves *c, const char *title)
{
    struct rl_figure f = {.title = title, .from = 1, .to = fmax(c->last, 1), .axis = "round"};
    rl_figure_ticks(&f, 10, true);
    return f;
}

static void curves(const struct tr_report *r, struct kg_buf *out)
{
    struct curves *c = calloc(1, sizeof *c);
    if (c == NULL) {
        out->truncated = true;
        return;
    }
    gather(r->rounds, c);
    struct rl_figure f = figure_of(c, "speed-up by round");
    f.note = "A dot is a correct kernel with its 95 % interval; the line is the best so far, as it "
             "was judged again. A dot above it was not that fast again, or is code that was judged "
             "again before. Rounds without a dot failed, or their time is not known.";
    f.series[0] = (struct rl_series){"one round", c->tried, c->tried_n, RL_DRAW_DOTS};
    f.series[1] = (struct rl_series){"best so far", c->best, c->best_n, RL_DRAW_STEPS};
    f.n = 2;
    f.mark = 1;
    f.wide = true;
    rl_figure_svg(&f, out);
    kg_buf_adds(out, "<div class=\"charts\">\n");
    f = figure_of(c, "tokens by round");
    f.series[0] = (struct rl_series){"read", c->context, c->context_n, RL_DRAW_CURVE};
    f.series[1] = (struct rl_series){"written", c->written, c->written_n, RL_DRAW_CURVE};
    f.n = 2;
    f.share = true;
    rl_figure_svg(&f, out);
    f = figure_of(c, "coverage by round");
    f.series[0] = (struct rl_series){f.title, c->coverage, c->coverage_n, RL_DRAW_DOTS};
    f.n = 1;
    f.share = true;
    rl_figure_svg(&f, out);
    kg_buf_adds(out, "</div>\n");
    free(c);
}

/* --- rounds --- */

static void context(const json_t *round, struct kg_buf *out)
{
    const json_t *shown = json_object_get(round, "context"), *v;
    size_t i;
    kg_buf_adds(out, json_array_size(shown) == 0 ? "<span class=\"mute\">–</span>" : "");
    json_array_foreach(shown, i, v)
    {
        kg_buf_addf(out, "%s%lld", i > 0 ? ", " : "", (long long)json_integer_value(v));
    }
    if (json_is_true(json_object_get(round, "shrunk"))) {
        kg_buf_adds(out, " <span class=\"warn\">shrunk</span>");
    }
}

static void state_chip(const json_t *round, struct kg_buf *out)
{
    const char *verdict = rl_json_text(round, "verdict"), *state = rl_json_text(round, "state");
    rl_page_chip(verdict[0] != '\0' ? verdict : state, rl_json_text(round, "reason"), (double)NAN,
                 out);
}

static void again_cell(const json_t *round, struct kg_buf *out)
{
    const json_t *again = json_object_get(round, "again");
    if (!json_is_object(again)) {
        return;
    }
    if (isfinite(tr_report_real(again, "speedup"))) {
        tr_page_speed(tr_report_real(again, "speedup"), tr_report_real(again, "speedup_lo"),
                      tr_report_real(again, "speedup_hi"), out);
    } else {
        const char *verdict = rl_json_text(again, "verdict");
        kg_html_cut(out, verdict[0] != '\0' ? verdict : "no verdict", 40);
    }
}

static void round_row(const struct tr_report *r, const json_t *round, size_t at, struct kg_buf *out)
{
    const struct tr_seen *t = tr_report_turn(r, rl_json_text(round, "key"));
    kg_buf_addf(out, "<tr%s><td class=\"n\">", tr_round_is_best(round) ? " class=\"best\"" : "");
    if (t != NULL) {
        kg_buf_addf(out, "<a href=\"#r%zu\">", (size_t)(t - r->turn));
    }
    kg_buf_addf(out, "%ld%s</td><td>", tr_round_number(round, at), t != NULL ? "</a>" : "");
    state_chip(round, out);
    kg_buf_adds(out, "</td><td class=\"n\">");
    tr_page_speed(tr_report_real(round, "speedup"), tr_report_real(round, "speedup_lo"),
                  tr_report_real(round, "speedup_hi"), out);
    kg_buf_adds(out, "</td><td class=\"n\">");
    again_cell(round, out);
    kg_buf_adds(out, "</td><td>");
    context(round, out);
    kg_buf_adds(out, "</td><td class=\"n\">");
    tr_page_count(tr_report_real(round, "tokens_in"), out);
    kg_buf_adds(out, "</td><td class=\"n\">");
    tr_page_count(tr_report_real(round, "tokens_out"), out);
    kg_buf_adds(out, "</td><td class=\"mute msg\">");
    kg_html_cut(out, tr_round_is_best(round) ? "new best" : rl_json_text(round, "message"), 200);
    kg_buf_adds(out, "</td></tr>\n");
}

void tr_page_rounds(const struct tr_report *r, struct kg_buf *out)
{
    const json_t *round;
    size_t i;
    if (json_array_size(r->rounds) == 0) {
        return;
    }
    kg_buf_adds(out, "<section id=\"rounds\"><h2>Rounds</h2><p>A round is one reply and its "
                     "verdict. A kernel that looks like a new best is judged again in a new "
                     "process with new inputs before it is one. Shown: the rounds that the model "
                     "saw.</p>\n");
    curves(r, out);
    kg_buf_adds(out, "<div class=\"scroll\"><table><thead><tr><th class=\"n\">round</th><th>"
                     "verdict</th><th class=\"n\">speed-up [95 %]</th><th class=\"n\">judged again"
                     "</th><th>shown</th><th class=\"n\">read</th><th class=\"n\">written</th><th>"
                     "why it failed</th></tr></thead><tbody>\n");
    json_array_foreach(r->rounds, i, round)
    {
        if (i < ROUNDS_SHOWN) {
            round_row(r, round, i, out);
        }
    }
    kg_buf_adds(out, "</tbody></table></div>\n");
    if (i > ROUNDS_SHOWN) {
        kg_buf_addf(out, "<p class=\"mute\">%zu more are in rounds.jsonl</p>\n", i - ROUNDS_SHOWN);
    }
    kg_buf_adds(out, "</section>\n");
}
