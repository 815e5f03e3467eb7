/* The page: head, the main numbers, the tables before and after. */
#include <math.h>
#include <string.h>

#include "rl/report/parts.h"

/* Good is a rise, or with down a fall. */
static void score_tile(const struct rl_score_table *t, enum rl_row row, const char *name, bool down,
                       struct kg_buf *out)
{
    char note[96];
    struct kg_buf number;
    const struct rl_score_row *s = &t->row[t->views - 1][row];
    const struct rl_interval *d = &s->difference;
    kg_buf_init(&number, 64);
    rl_page_number(s->before, 2, false, &number);
    if (isfinite(s->after)) {
        kg_buf_adds(&number, " → ");
        rl_page_number(s->after, 2, false, &number);
    }
    snprintf(note, sizeof note, isfinite(d->value) ? "%+.3f [%+.3f, %+.3f]" : "no second value",
             d->value, d->lo, d->hi);
    bool up = d->lo > 0, fall = d->hi < 0;
    rl_page_tile((down ? fall : up)   ? "good"
                 : (down ? up : fall) ? "bad"
                                      : "",
                 number.data, name, note, out);
    kg_buf_deinit(&number);
}

void rl_page_tiles(const struct rl_report *r, struct kg_buf *out)
{
    const struct rl_score_table *t = &r->table[RL_PART_PAIRS];
    char number[64], note[96];
    double last = 0;
    long held, n;
    kg_buf_adds(out, "<div class=\"tiles\">\n");
    if (t->problems > 0) {
        score_tile(t, RL_ROW_FAST_12, "fast_1.2 on held-out pairs", false, out);
        score_tile(t, RL_ROW_CORRECT, "correct on held-out pairs", false, out);
        score_tile(t, RL_ROW_GEOMEAN, "speed-up, geometric mean", false, out);
        score_tile(t, RL_ROW_LAZY, "lazy: coverage below .3", true, out);
    }
    if (rl_report_held(r, &held, &n)) {
        snprintf(number, sizeof number, "%ld of %ld", held, n);
        snprintf(note, sizeof note, "by preset %.60s", rl_json_text(r->recheck, "preset"));
        rl_page_tile(held * 10 >= n * 9 ? "good" : "bad", number, "held when judged again", note,
                     out);
    }
    const double *seconds = rl_columns_find(&r->columns, "seconds");
    for (size_t i = 0; i < r->columns.steps && seconds != NULL; i++) {
        last = isfinite(seconds[i]) ? seconds[i] : last;
    }
    snprintf(number, sizeof number, "%zu", r->columns.steps);
    snprintf(note, sizeof note, "%.0f s to the last one", last);
    rl_page_tile("", number, "steps of RL", note, out);
    kg_buf_adds(out, "</div>\n");
}

static void score_row(const struct rl_score_table *t, enum rl_row row, struct kg_buf *out)
{
    kg_buf_addf(out, "<tr><td>%s</td>", rl_row_name(row));
    for (int v = 0; v < t->views; v++) {
        const struct rl_score_row *s = &t->row[v][row];
        const struct rl_interval *d = &s->difference;
        bool down = row == RL_ROW_HACK || row == RL_ROW_LAZY;
        const char *class = d->lo > 0   ? (down ? "bad" : "good")
                            : d->hi < 0 ? (down ? "good" : "bad")
                                        : "mute";
        kg_buf_adds(out, "<td class=\"n\">");
        rl_page_number(s->before, 3, false, out);
        kg_buf_adds(out, " → ");
        rl_page_number(s->after, 3, false, out);
        kg_buf_addf(out, "</td><td class=\"n %s\">", class);
        rl_page_number(d->value, 3, true, out);
        if (isfinite(d->value)) {
            kg_buf_addf(out, " <i>[%+.3f, %+.3f]</i>", d->lo, d->hi);
        }
        kg_buf_adds(out, "</td>");
    }
    kg_buf_adds(out, "</tr>\n");
}

static void score_table(const struct rl_score_table *t, enum rl_part part, struct kg_buf *out)
{
    char name[24];
    kg_buf_addf(out,
                "<h3>%zu held-out %s, %zu samples of each</h3><div class=\"scroll\">"
                "<table><thead><tr><th></th>",
                t->problems, rl_part_name(part), t->samples);
    for (int v = 0; v < t->views; v++) {
        rl_view_name(t, v, name);
        kg_buf_addf(out, "<th class=\"n\">%s</th><th class=\"n\">difference [95 %%]</th>", name);
    }
    kg_buf_adds(out, "</tr></thead><tbody>\n");
    for (int r = 0; r < RL_ROWS; r++) {
        score_row(t, (enum rl_row)r, out);
    }
    kg_buf_adds(out, "</tbody></table></div>\n");
}

/* Of a run whose trajectories are not there: each evaluation by itself. */
static void lines_table(const struct rl_report *r, struct kg_buf *out)
{
    kg_buf_adds(out, "<p>There are no trajectories of the evaluations, so the differences have no "
                     "paired interval. Each evaluation by itself, best of turns:</p>"
                     "<table><tbody>");
    for (int i = 0; i < RL_WHENS; i++) {
        const char *key;
        json_t *v;
        json_object_foreach(r->line[i], key, v)
        {
            if (!json_is_array(v) || json_array_size(v) != 3) {
                continue;
            }
            kg_buf_adds(out, "<tr><td>");
            kg_html_text(out, rl_json_text(r->line[i], "phase"));
            kg_buf_adds(out, "</td><td>");
            kg_html_text(out, key);
            kg_buf_addf(out, "</td><td class=\"n\">%.3f <i>[%.3f, %.3f]</i></td></tr>\n",
                        json_number_value(json_array_get(v, 0)),
                        json_number_value(json_array_get(v, 1)),
                        json_number_value(json_array_get(v, 2)));
        }
    }
    kg_buf_adds(out, "</tbody></table>\n");
}

void rl_page_scores(const struct rl_report *r, struct kg_buf *out)
{
    bool any = false;
    kg_buf_adds(out, "<section id=\"scores\"><h2>Before and after RL</h2><p>Held-out problems, the "
                     "same ones in both evaluations. Differences have paired 95 % intervals: whole "
                     "problems are resampled. fast_p is the share of samples that are correct and "
                     "more than p times as fast as the reference; a failure counts as slow. lazy: "
                     "correct with coverage below .3.</p>\n");
    for (int p = 0; p < RL_PARTS_SHOWN; p++) {
        if (r->table[p].problems > 0) {
            any = true;
            score_table(&r->table[p], (enum rl_part)p, out);
        }
    }
    if (!any) {
        lines_table(r, out);
    }
    kg_buf_adds(out, "</section>\n");
}

static void head(const struct rl_report *r, const char *title, struct kg_buf *out)
{
    static const char *const keys[] = {"kgym", "cpu", "cores", "kernel", "compiler"};
    rl_page_open(title, "", NULL, out);
    kg_buf_addf(out, "<p class=\"sub\">%zu trajectories, %zu steps", r->walks.n, r->columns.steps);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *v = json_object_get(r->host, keys[i]);
        if (v != NULL) {
            kg_buf_addf(out, " · %s ", i == 0 || i == 2 ? keys[i] : "");
            kg_html_value(out, v, 80);
        }
    }
    kg_buf_adds(out, "</p></header>\n");
}

static void alerts(const struct rl_report *r, struct kg_buf *out)
{
    struct kg_buf idle;
    struct rl_effect e = rl_report_effect(r);
    kg_buf_init(&idle, 1024);
    rl_report_idle(r, &idle);
    if (idle.len > 0) {
        kg_buf_adds(out, "<div class=\"alert bad\"><b>This run failed its own report.</b> ");
        kg_html_text(out, idle.data);
        kg_buf_adds(out, " was on and looked at nothing, so the run is not what its configuration "
                         "says.</div>\n");
    }
    kg_buf_deinit(&idle);
    kg_buf_addf(out, "<div class=\"alert %s\">", !e.known ? "" : e.shown ? "good" : "warn");
    kg_html_text(out, e.text);
    kg_buf_adds(out, "</div>\n");
    rl_page_notes(&r->notes, out);
}

enum kg_code rl_report_html(const struct rl_report *r, const char *title, struct kg_buf *out,
                            struct kg_err *err)
{
    head(r, title, out);
    alerts(r, out);
    rl_page_tiles(r, out);
    rl_page_scores(r, out);
    rl_page_curves(r, out);
    rl_page_styles(r, out);
    rl_page_components(r, out);
    rl_page_recheck(r, out);
    rl_page_kernels(r, out);
    rl_page_talks(r, out);
    rl_page_run(r, out);
    rl_page_end(NULL, out);
    return kg_buf_ok(out)
               ? KG_OK
               : kg_fail(err, KG_E_LIMIT, "report: the page needs more than %zu bytes", out->max);
}
