/* Sections of a refinement: the best kernel with the kernels that the device ran, and what each
 * best changed in the one before. */
#include <math.h>
#include <string.h>

#include "trial/report/report_page.h"

static void milliseconds(const char *name, const json_t *timing, const char *key,
                         struct kg_buf *out)
{
    double ns = tr_report_real(timing, key);
    if (isfinite(ns)) {
        kg_buf_addf(out, "<div><span>%s</span> %.4g ms</div>", name, ns / 1e6);
    }
}

static void share(const json_t *entry, const char *key, struct kg_buf *out)
{
    double x = tr_report_real(entry, key);
    kg_buf_adds(out, "<td class=\"n\">");
    if (isfinite(x)) {
        kg_buf_addf(out, "%.1f %%", 100 * x);
    }
    kg_buf_adds(out, "</td>");
}

/* The kernels that the device ran, where the record has them. */
static void profile(const json_t *record, struct kg_buf *out)
{
    const json_t *evidence = json_object_get(record, "evidence"), *e;
    size_t i, n = 0;
    json_array_foreach(evidence, i, e)
    {
        if (strcmp(rl_json_text(e, "check"), "kernel") != 0) {
            continue;
        }
        if (n++ == 0) {
            kg_buf_adds(out, "<h3>Kernels</h3><div class=\"scroll\"><table><thead><tr><th>kernel"
                             "</th><th class=\"n\">share of the time</th><th class=\"n\">calls</th>"
                             "<th>whose</th><th></th></tr></thead><tbody>\n");
        }
        kg_buf_adds(out, "<tr><td class=\"who\">");
        kg_html_cut(out, rl_json_text(e, "name"), 160);
        kg_buf_adds(out, "</td>");
        share(e, "share", out);
        kg_buf_adds(out, "<td class=\"n\">");
        kg_html_value(out, json_object_get(e, "calls"), 30);
        kg_buf_adds(out, "</td><td>");
        kg_html_cut(out, rl_json_text(e, "class"), 30);
        kg_buf_addf(out, "</td><td class=\"warn\">%s</td></tr>\n",
                    json_is_true(json_object_get(e, "dead")) ? "not needed for the answer" : "");
    }
    kg_buf_adds(out, n > 0 ? "</tbody></table></div>\n" : "");
}

void tr_page_best(struct tr_report *r, struct kg_buf *out)
{
    const json_t *best = tr_round_best(r);
    const struct tr_seen *t = tr_report_turn(r, rl_json_text(best, "key"));
    json_t *first = t != NULL ? tr_report_record(r, t) : NULL;
    const json_t *record = r->again != NULL ? r->again : first;
    if (best == NULL || record == NULL) {
        json_decref(first);
        return;
    }
    const json_t *timing = json_object_get(record, "timing");
    kg_buf_addf(out, "<section id=\"best\"><h2>Best kernel</h2><p>Of round %ld, %s.</p>\n",
                tr_round_number(best, 0),
                r->again != NULL ? "as the second judging found it" : "as it was judged first");
    kg_buf_adds(out, "<div class=\"facts\"><div><span>speed-up</span> ");
    tr_page_speed(tr_report_real(tr_round_speed(best), "speedup"),
                  tr_report_real(tr_round_speed(best), "speedup_lo"),
                  tr_report_real(tr_round_speed(best), "speedup_hi"), out);
    kg_buf_adds(out, "</div>");
    milliseconds("candidate", timing, "candidate_ns", out);
    milliseconds("reference", timing, "reference_ns", out);
    milliseconds("of a call (K)", timing, "overhead_ns", out);
    if (isfinite(tr_report_real(record, "coverage"))) {
        kg_buf_addf(out, "<div><span>coverage</span> %.2f</div>",
                    tr_report_real(record, "coverage"));
    }
    kg_buf_adds(out, "</div>\n");
    profile(record, out);
    const char *code = tr_report_code(record);
    kg_buf_adds(out, "<h3>Code</h3>\n");
    rl_page_text(code[0] != '\0' ? code : tr_report_code(first), out);
    kg_buf_adds(out, "</section>\n");
    json_decref(first);
}

void tr_page_bests(struct tr_report *r, struct kg_buf *out)
{
    const json_t *round;
    json_t *before = NULL;
    long number = 0;
    size_t i, n = 0;
    json_array_foreach(r->rounds, i, round)
    {
        const struct tr_seen *t = tr_report_turn(r, rl_json_text(round, "key"));
        json_t *record = tr_round_is_best(round) && t != NULL ? tr_report_record(r, t) : NULL;
        if (record == NULL) {
            continue;
        }
        if (before != NULL) {
            kg_buf_adds(out, n++ == 0 ? "<section id=\"bests\"><h2>From best to best</h2><p>What "
                                        "each new best changed in the one before.</p>\n"
                                      : "");
            kg_buf_addf(out, "<details open><summary><b>Round %ld to %ld</b> ", number,
                        tr_round_number(round, i));
            tr_page_speed(tr_report_real(tr_round_speed(round), "speedup"),
                          tr_report_real(tr_round_speed(round), "speedup_lo"),
                          tr_report_real(tr_round_speed(round), "speedup_hi"), out);
            kg_buf_adds(out, "</summary>\n");
            tr_page_change(tr_report_code(before), tr_report_code(record), out);
            kg_buf_adds(out, "</details>\n");
        }
        json_decref(before);
        before = record;
        number = tr_round_number(round, i);
    }
    kg_buf_adds(out, n > 0 ? "</section>\n" : "");
    json_decref(before);
}
