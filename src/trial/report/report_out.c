/* What a trial's report says: the page from its sections, tables for a terminal, an object for
 * scripts. */
#include <math.h>
#include <string.h>

#include "trial/report/report_page.h"

static const char *policy_of(const struct tr_report *r)
{
    const json_t *policy = json_object_get(r->run, "policy");
    const char *model = rl_json_text(policy, "model");
    return model[0] != '\0' ? model : rl_json_text(policy, "kind");
}

static const char *suite_of(const struct tr_report *r)
{
    const json_t *suite = json_object_get(r->run, "suite");
    return json_is_string(suite) ? json_string_value(suite) : rl_json_text(suite, "name");
}

/* --- the page --- */

static void head(const struct tr_report *r, const char *title, struct kg_buf *out)
{
    static const char *const keys[] = {"kgym", "device_name", "cpu", "torch", "triton"};
    rl_page_open(title, tr_page_style, tr_page_script, out);
    kg_buf_addf(out, "<p class=\"sub\">%s", r->refine ? "refine " : "bench ");
    kg_html_cut(out, suite_of(r), 120);
    kg_buf_adds(out, policy_of(r)[0] != '\0' ? " · " : "");
    kg_html_cut(out, policy_of(r), 120);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && r->n_host > 0; i++) {
        const json_t *v = json_object_get(r->host[0], keys[i]);
        if (json_is_string(v)) {
            kg_buf_addf(out, " · %s", i == 0 || i > 2 ? keys[i] : "");
            kg_buf_adds(out, i == 0 || i > 2 ? " " : "");
            kg_html_value(out, v, 80);
        }
    }
    kg_buf_adds(out, "</p></header>\n");
}

/* What a reader must know before any number. */
static void alerts(const struct tr_report *r, struct kg_buf *out)
{
    const struct tr_tables *t = &r->tables;
    if (r->has_tables && t->partial) {
        kg_buf_addf(out,
                    "<div class=\"alert warn\"><b>This run is not whole.</b> %zu turns have no "
                    "verdict and %zu may still come: numbers may change.</div>\n",
                    t->counts.no_verdict, t->counts.missing);
    }
    if (r->has_tables && t->counts.full > 0) {
        kg_buf_addf(out,
                    "<div class=\"alert warn\"><b>No room.</b> %zu turns did not fit the model's "
                    "context; they count as failures.</div>\n",
                    t->counts.full);
    }
    if (r->has_bench && r->bench.subset[0] != '\0') {
        kg_buf_addf(out, "<div class=\"alert\"><b>A part of the suite:</b> %zu of %zu problems (",
                    r->bench.problems, r->bench.of);
        kg_html_cut(out, r->bench.subset, 80);
        kg_buf_adds(out, "), so intervals are wider.</div>\n");
    }
    if (r->n_host > 1) {
        kg_buf_adds(out, "<div class=\"alert warn\"><b>Records of several hosts or versions.</b> "
                         "Speed-ups of different devices do not compare; see below.</div>\n");
    }
    rl_page_notes(&r->notes, out);
}

static void fault(const char *name, const char *why, struct kg_buf *out)
{
    kg_buf_adds(out, "<tr><td class=\"who\">");
    kg_html_cut(out, name, 120);
    kg_buf_adds(out, "</td><td class=\"mute msg\">");
    kg_html_cut(out, why, 200);
    kg_buf_adds(out, "</td></tr>\n");
}

/* Defective ones, and those that the suite put aside before the run. */
static void defects(const struct tr_report *r, struct kg_buf *out)
{
    const json_t *aside = json_object_get(json_object_get(r->run, "suite"), "aside"), *p;
    size_t n = json_array_size(aside), i;
    n += r->has_tables ? r->tables.counts.defects : 0;
    if (n == 0) {
        return;
    }
    kg_buf_addf(out,
                "<section id=\"defects\"><h2>Defective problems</h2><p>%zu problems are at fault "
                "themselves and left out of all scores.</p><div class=\"scroll\"><table><tbody>\n",
                n);
    for (i = 0; r->has_tables && i < r->bench.problems; i++) {
        if (r->bench.problem[i].defect) {
            fault(r->bench.problem[i].name, r->bench.problem[i].why, out);
        }
    }
    json_array_foreach(aside, i, p)
    {
        fault(rl_json_text(p, "name"), rl_json_text(p, "why"), out);
    }
    kg_buf_adds(out, "</tbody></table></div></section>\n");
}

static void object(const char *name, const json_t *o, struct kg_buf *out)
{
    struct kg_buf text;
    kg_buf_init(&text, 19000); /* what one frame shows */
    kg_json_dump_pretty(o, &text);
    kg_buf_addf(out, "<details><summary>%s</summary>", name);
    rl_page_text(text.data, out);
    kg_buf_adds(out, kg_buf_ok(&text) ? "</details>\n" : "<p>… cut</p></details>\n");
    kg_buf_deinit(&text);
}

void tr_page_run(const struct tr_report *r, struct kg_buf *out)
{
    char name[40];
    kg_buf_adds(out, "<section id=\"run\"><h2>Run</h2><p>What was asked, and where it was judged."
                     "</p>\n");
    json_t *run = json_copy(r->run); /* its list of problems stands above */
    json_t *suite = json_copy(json_object_get(run, "suite"));
    if (json_is_object(suite)) {
        json_object_del(suite, "problems");
        json_object_set(run, "suite", suite);
    }
    object("run.json, without the problems", run, out);
    json_decref(suite);
    json_decref(run);
    for (int i = 0; i < r->n_host; i++) {
        snprintf(name, sizeof name, r->n_host > 1 ? "host %d" : "host", i + 1);
        object(name, r->host[i], out);
    }
    kg_buf_adds(out, "</section>\n");
}

enum kg_code tr_report_html(struct tr_report *r, const char *title, struct kg_buf *out,
                            struct kg_err *err)
{
    head(r, title, out);
    alerts(r, out);
    if (r->refine) {
        tr_page_refine_tiles(r, out);
        tr_page_rounds(r, out);
        tr_page_best(r, out);
        tr_page_bests(r, out);
    } else {
        tr_page_bench_tiles(r, out);
        tr_page_bench_tables(r, out);
        tr_page_bench_curves(r, out);
    }
    tr_page_funnel(r, out);
    if (!r->refine) {
        tr_page_problems(r, out);
    }
    tr_page_hacks(r, out);
    defects(r, out);
    tr_page_unjudged(r, out);
    tr_page_talks(r, out);
    tr_page_run(r, out);
    rl_page_end(tr_page_script, out);
    return kg_buf_ok(out)
               ? KG_OK
               : kg_fail(err, KG_E_LIMIT, "report: the page needs more than %zu bytes", out->max);
}

/* --- terminal --- */

/* o: a round, or what judging it again gave; null, or NULL: nothing. */
static void speed(const json_t *o, struct kg_buf *out)
{
    double x = tr_report_real(o, "speedup"), lo = tr_report_real(o, "speedup_lo");
    char text[40] = "";
    snprintf(text, sizeof text, "%s", json_is_object(o) ? "-" : "");
    if (isfinite(x) && isfinite(lo)) {
        snprintf(text, sizeof text, "%.2fx [%.2f, %.2f]", x, lo, tr_report_real(o, "speedup_hi"));
    } else if (isfinite(x)) {
        snprintf(text, sizeof text, "%.2fx", x);
    }
    kg_buf_addf(out, " %-20s", text);
}

static void clipped(const char *text, int columns, struct kg_buf *out)
{
    char cut[64];
    snprintf(cut, sizeof cut, "%.*s", columns, text);
    kg_term_add_line(out, cut);
}

static void round_line(const json_t *round, size_t at, bool colour, struct kg_buf *out)
{
    struct kg_buf word;
    const char *verdict = rl_json_text(round, "verdict"), *reason = rl_json_text(round, "reason");
    bool best = tr_round_is_best(round);
    kg_buf_init(&word, 64);
    clipped(verdict[0] != '\0' ? verdict : rl_json_text(round, "state"), 14, &word);
    kg_buf_adds(&word, reason[0] != '\0' ? "/" : "");
    clipped(reason, 14, &word);
    kg_buf_addf(out, "%5ld  ", tr_round_number(round, at));
    kg_term_add(out, colour, best ? KG_GREEN : KG_PLAIN, word.data);
    kg_buf_addf(out, "%*s", word.len < 22 ? (int)(22 - word.len) : 0, "");
    speed(round, out);
    speed(json_object_get(round, "again"), out);
    kg_buf_adds(out, best ? " new best" : "");
    while (out->len > 0 && out->data[out->len - 1] == ' ') {
        out->data[--out->len] = '\0';
    }
    kg_buf_addc(out, '\n');
    kg_buf_deinit(&word);
}

static void rounds_text(const struct tr_report *r, bool colour, struct kg_buf *out)
{
    const json_t *round, *best = tr_round_best(r);
    size_t i;
    kg_buf_adds(out, "refine ");
    kg_term_add_line(out, suite_of(r));
    kg_buf_addf(out, ", %zu round%s\n", json_array_size(r->rounds),
                json_array_size(r->rounds) == 1 ? "" : "s");
    kg_buf_adds(out, "round  verdict                speed-up [95 %]      judged again\n");
    json_array_foreach(r->rounds, i, round)
    {
        round_line(round, i, colour, out);
    }
    if (best == NULL) {
        kg_buf_adds(out, "best: -\n");
        return;
    }
    kg_buf_adds(out, "best:");
    speed(tr_round_speed(best), out);
    kg_buf_adds(out, tr_round_speed(best) != best ? " (judged again)\n" : "\n");
}

/* The tables name this line already. */
static bool told(const struct tr_report *r, const char *note)
{
    bool is = false;
    for (int i = 0; r->has_bench && i < TR_BENCH_NOTES && r->bench.note[i] != NULL; i++) {
        is = is || tr_report_same_place(note, r->bench.note[i]);
    }
    return is;
}

void tr_report_text(const struct tr_report *r, bool colour, struct kg_buf *out)
{
    if (r->has_tables) {
        tr_tables_text(&r->tables, colour, out);
    } else {
        rounds_text(r, colour, out);
    }
    for (int i = 0; i < r->notes.n; i++) {
        if (!told(r, r->notes.text[i])) {
            kg_buf_adds(out, "note: ");
            kg_term_add_line(out, r->notes.text[i]);
            kg_buf_addc(out, '\n');
        }
    }
}

/* --- for scripts --- */

json_t *tr_report_json(const struct tr_report *r)
{
    json_t *o = r->has_tables ? tr_tables_json(&r->tables) : json_object();
    json_t *notes = json_array();
    if (r->refine) {
        json_object_set_new(o, "kind", json_string("refine"));
        json_object_set(o, "summary", r->ending != NULL ? r->ending : json_null());
        json_object_set(o, "rounds", r->rounds);
    }
    for (int i = 0; i < r->notes.n; i++) {
        json_array_append_new(notes, kg_json_text(r->notes.text[i], strlen(r->notes.text[i])));
    }
    json_object_set_new(o, "notes", notes);
    return o;
}
