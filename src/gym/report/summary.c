/* Tiles, funnel and verdicts: how many, at which stage, why. */

#include "gym/card/units.h"
#include "gym/report/report_parts.h"

#define STAGE_REASONS 4 /* kinds in a cell of the funnel */

static double percent(size_t part, size_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static void tile(struct kg_buf *out, const char *style, const char *number, const char *name,
                 const char *note)
{
    kg_buf_addf(out, "<div class=\"tile\"><b class=\"%s\">%s</b><span>%s</span><i>%s</i></div>\n",
                style, number, name, note);
}

void kg_report_tiles(const struct kg_tally *t, struct kg_buf *out)
{
    char number[64], note[128], unit[KG_UNITS_LEN];
    size_t judged = t->n - (t->errors - t->blamed) - t->verdicts[KG_V_NONE];
    kg_buf_adds(out, "<div class=\"tiles\">\n");
    snprintf(number, sizeof number, "%zu", t->n);
    snprintf(note, sizeof note, "%s of evaluation", kg_units_time_real(t->total_ns, unit));
    tile(out, "", number, "records", note);
    snprintf(number, sizeof number, "%zu", t->verdicts[KG_V_OK]);
    snprintf(note, sizeof note, "%.1f %% of %zu judged", percent(t->verdicts[KG_V_OK], judged),
             judged);
    tile(out, "good", number, "correct", note);
    snprintf(note, sizeof note, "%zu faster, %zu even, %zu slower", t->faster,
             t->measured - t->faster - t->slower, t->slower);
    tile(out, "", t->measured > 0 ? kg_units_ratio(t->median_ratio, unit) : "–", "median speed-up",
         note);
    snprintf(number, sizeof number, "%zu", t->verdicts[KG_V_HACK]);
    snprintf(note, sizeof note, "%.1f %% of judged", percent(t->verdicts[KG_V_HACK], judged));
    tile(out, t->verdicts[KG_V_HACK] > 0 ? "hack" : "", number, "hacks caught", note);
    size_t failed = judged - t->verdicts[KG_V_OK] - t->verdicts[KG_V_HACK];
    snprintf(number, sizeof number, "%zu", failed);
    snprintf(note, sizeof note, "%.1f %% of judged", percent(failed, judged));
    tile(out, "", number, "failed", note);
    snprintf(number, sizeof number, "%zu", t->errors - t->blamed);
    tile(out, t->errors > t->blamed ? "bad" : "", number, "errors of the gym", "never a reward");
    kg_buf_adds(out, "</div>\n");
}

/* The most frequent reasons of failing at a stage, and how many kinds are not shown. */
static void stage_reasons(const struct kg_tally *t, enum kg_stage stage, struct kg_buf *out)
{
    size_t kinds = 0;
    for (size_t i = 0; i < t->nreasons; i++) {
        const struct kg_tally_reason *x = &t->reasons[i];
        if (x->stage == stage && kinds++ < STAGE_REASONS) {
            kg_buf_addf(out, "%s%s/", kinds > 1 ? ", " : "", kg_verdict_name(x->verdict));
            kg_html_text(out, x->reason);
            kg_buf_addf(out, " %zu", x->n);
        }
    }
    if (kinds > STAGE_REASONS) {
        kg_buf_addf(out, ", %zu more", kinds - STAGE_REASONS);
    }
}

static void funnel_row(const struct kg_tally *t, int s, struct kg_buf *out)
{
    char time[KG_UNITS_LEN];
    size_t pass = t->stages[s].pass, fail = t->stages[s].fail, none = t->stages[s].unmeasured;
    size_t ran = pass + fail + none;
    kg_buf_addf(out, "<tr><td>%s</td>", kg_stage_name((enum kg_stage)s));
    if (ran == 0) {
        kg_buf_addf(out, "<td class=\"why mute\" colspan=\"6\">%s</td></tr>\n",
                    t->stages[s].off == t->n ? "off" : "not reached");
        return;
    }
    kg_buf_addf(out,
                "<td class=\"graph\"><div class=\"bar\"><i class=\"p\" style=\"width:%.3f%%\"></i>"
                "<i class=\"f\" style=\"width:%.3f%%\"></i></div></td>",
                percent(pass, t->n), percent(fail, t->n));
    kg_buf_addf(out,
                "<td class=\"n\">%zu</td><td class=\"n\">%zu</td><td class=\"n%s\">%zu</td>"
                "<td class=\"n\">%s</td><td class=\"why mute\">",
                ran, pass, fail > 0 ? " bad" : " mute", fail,
                kg_units_time_real(t->stages[s].median_ns, time));
    stage_reasons(t, (enum kg_stage)s, out);
    if (none > 0) { /* neither passed nor failed */
        kg_buf_addf(out, "%s%zu not measured", fail > 0 ? ", " : "", none);
    }
    if (t->stages[s].cached > 0) {
        kg_buf_addf(out, "%s%zu cached, not in the median", fail > 0 ? ", " : "",
                    t->stages[s].cached);
    }
    kg_buf_adds(out, "</td></tr>\n");
}

void kg_report_funnel(const struct kg_tally *t, struct kg_buf *out)
{
    kg_buf_adds(out,
                "<section id=\"funnel\"><h2>Funnel</h2><p>Each stage costs more than the last "
                "and rejects before the next is paid. Solid: passed; hatched: failed here.</p>"
                "\n<table class=\"wide funnel\"><thead><tr><th>stage</th><th class=\"graph\"></th>"
                "<th class=\"n\">entered</th><th class=\"n\">passed</th>"
                "<th class=\"n\">failed</th><th class=\"n\">median</th>"
                "<th class=\"why\">why</th></tr></thead>\n<tbody>");
    for (int s = 0; s < KG_ST_COUNT; s++) {
        funnel_row(t, s, out);
    }
    kg_buf_adds(out, "</tbody></table></section>\n");
}

static void verdict_reasons(const struct kg_tally *t, enum kg_verdict v, struct kg_buf *out)
{
    struct kg_tally_reason r[KG_TALLY_REASONS];
    size_t n = kg_tally_reasons_of(t, v, r);
    for (size_t i = 0; i < n; i++) {
        kg_buf_addf(out, "<span class=\"chip v-%s\">", kg_verdict_name(v));
        kg_html_text(out, r[i].reason);
        kg_buf_addf(out, " %zu</span> ", r[i].n);
    }
}

static void verdict_row(const struct kg_tally *t, const char *name, size_t n, enum kg_verdict v,
                        struct kg_buf *out)
{
    kg_buf_addf(out,
                "<tr class=\"v-%s\"><td><span class=\"chip v-%s\">%s</span></td>"
                "<td class=\"n\">%zu</td><td class=\"n\">%.1f %%</td>"
                "<td class=\"graph\"><div class=\"bar\"><i class=\"fill\" "
                "style=\"width:%.3f%%\"></i></div></td><td class=\"why\">",
                name, name, name, n, percent(n, t->n), percent(n, t->n));
    if (v > KG_V_OK) {
        verdict_reasons(t, v, out);
    }
    kg_buf_adds(out, "</td></tr>\n");
}

void kg_report_verdicts(const struct kg_tally *t, struct kg_buf *out)
{
    kg_buf_adds(out, "<section id=\"verdicts\"><h2>Verdicts</h2><p>What the candidates did, and "
                     "the reason that refines it. An error is the gym's, not a verdict.</p>\n"
                     "<table class=\"wide verdicts\"><thead><tr><th>verdict</th>"
                     "<th class=\"n\">records</th><th class=\"n\">share</th>"
                     "<th class=\"graph\"></th><th class=\"why\">reasons</th></tr>"
                     "</thead>\n<tbody>");
    for (int v = KG_V_OK; v < KG_V_COUNT; v++) {
        if (t->verdicts[v] > 0) {
            verdict_row(t, kg_verdict_name((enum kg_verdict)v), t->verdicts[v], (enum kg_verdict)v,
                        out);
        }
    }
    if (t->errors > 0) {
        verdict_row(t, "error", t->errors, KG_V_NONE, out);
    }
    if (t->verdicts[KG_V_NONE] > 0) {
        verdict_row(t, "not judged", t->verdicts[KG_V_NONE], KG_V_NONE, out);
    }
    kg_buf_adds(out, "</tbody></table></section>\n");
}
