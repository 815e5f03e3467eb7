/* Evidence of hacks, and every record with what it holds. */
#include <math.h>
#include <string.h>

#include "gym/card/units.h"
#include "gym/report/report_parts.h"

#define CODE_BUDGET (16 << 20) /* bytes of code and output over all records */

const char *kg_report_class(const struct kg_record *r)
{
    const char *name = kg_verdict_name(r->verdict);
    return r->has_error ? "error" : name != NULL ? name : "none";
}

void kg_report_chip(const struct kg_record *r, long position, struct kg_buf *out)
{
    const char *name = kg_report_class(r);
    const char *detail = r->has_error ? kg_code_name(r->error.code) : r->reason;
    if (position >= 0) {
        kg_buf_addf(out, "<a href=\"#r%ld\" ", position);
    } else {
        kg_buf_adds(out, "<span ");
    }
    kg_buf_addf(out, "class=\"chip v-%s\">%s", name,
                strcmp(name, "none") == 0 ? "not judged" : name);
    if (detail != NULL) {
        kg_buf_adds(out, " · ");
        kg_html_text(out, detail);
    }
    kg_buf_adds(out, position >= 0 ? "</a>" : "</span>");
}

/* check, then keys and values in a line; texts of several lines follow as blocks. */
static void evidence_entry(const json_t *entry, struct kg_buf *out)
{
    const char *key;
    json_t *v;
    kg_buf_adds(out, "<div class=\"wrap\"><b>");
    kg_html_value(out, json_object_get(entry, "check"), 80);
    kg_buf_adds(out, "</b>");
    for (int blocks = 0; blocks < 2; blocks++) {
        json_object_foreach((json_t *)(uintptr_t)entry, key, v)
        {
            bool lines = json_is_string(v) && strchr(json_string_value(v), '\n') != NULL;
            if (strcmp(key, "check") == 0 || lines != (blocks == 1)) {
                continue;
            }
            kg_buf_adds(out, " <span class=\"mute\">");
            kg_html_cut(out, key, 80);
            kg_buf_adds(out, lines ? "</span><pre>" : "</span> ");
            kg_html_value(out, v, 4000);
            kg_buf_adds(out, lines ? "</pre>" : "");
        }
    }
    kg_buf_adds(out, "</div>");
}

static void evidence(const struct kg_record *r, struct kg_buf *out)
{
    size_t i;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        evidence_entry(e, out);
    }
}

void kg_report_hacks(const struct kg_tally *t, struct kg_buf *out)
{
    if (t->verdicts[KG_V_HACK] == 0) {
        return;
    }
    kg_buf_adds(out,
                "<section id=\"hacks\"><h2>Evidence of hacks</h2><p>What the trusted side saw: "
                "an attempt without effect is no hack.</p>\n<table><thead><tr><th>problem</th>"
                "<th>verdict</th><th>what happened</th></tr></thead>\n<tbody>");
    for (size_t i = 0; i < t->n; i++) {
        if (t->r[i].verdict != KG_V_HACK) {
            continue;
        }
        kg_buf_adds(out, "<tr><td>");
        kg_html_cut(out, t->r[i].problem.name, 60);
        kg_buf_adds(out, "</td><td>");
        kg_report_chip(&t->r[i], (long)i, out);
        kg_buf_adds(out, "</td><td class=\"wrap\">");
        kg_html_cut(out, t->r[i].message, 2000);
        kg_buf_adds(out, "<div class=\"mute\">");
        evidence(&t->r[i], out);
        kg_buf_adds(out, "</div></td></tr>\n");
    }
    kg_buf_adds(out, "</tbody></table></section>\n");
}

static void fact(const char *name, const char *value, struct kg_buf *out)
{
    if (value != NULL && value[0] != '\0') {
        kg_buf_addf(out, "<div><span>%s</span> ", name);
        kg_html_cut(out, value, 300);
        kg_buf_adds(out, "</div>");
    }
}

static void facts(const struct kg_record *r, struct kg_buf *out)
{
    char unit[KG_UNITS_LEN], level[16] = "";
    kg_buf_adds(out, "<div class=\"facts\">");
    fact("id", r->id, out);
    fact("line", r->batch_id, out);
    fact("suite", r->problem.suite, out);
    fact("entry", r->problem.entry, out);
    fact("found by", r->candidate.rule, out);
    fact("code", r->candidate.bytes >= 0 ? kg_units_bytes(r->candidate.bytes, unit) : NULL, out);
    fact("peak memory", r->peak_bytes >= 0 ? kg_units_bytes(r->peak_bytes, unit) : NULL, out);
    fact("league", r->league.name, out);
    if (r->isolation.level >= 0) {
        snprintf(level, sizeof level, "L%d", r->isolation.level);
    }
    fact("isolation", level, out);
    fact("timing", kg_timing_status_name(r->timing.status), out);
    fact("why", r->timing.why, out);
    if (r->timing.reference_ns >= 0) {
        fact("reference", kg_units_time(r->timing.reference_ns, unit), out);
        fact("candidate", kg_units_time(r->timing.candidate_ns, unit), out);
        fact("K", kg_units_time(r->timing.overhead_ns, unit), out);
    }
    kg_buf_adds(out, "</div>");
}

static void steps(const struct kg_record *r, struct kg_buf *out)
{
    char time[KG_UNITS_LEN];
    kg_buf_adds(out, "<h3>Stages</h3><div class=\"steps\">");
    for (int i = 0; i < KG_ST_COUNT; i++) {
        const char *status = kg_stage_status_name(r->stages[i].status);
        kg_buf_addf(out, "<span class=\"%s\">%s · %s%s%s</span>", status,
                    kg_stage_name((enum kg_stage)i), status, r->stages[i].ns >= 0 ? " · " : "",
                    r->stages[i].ns >= 0 ? kg_units_time(r->stages[i].ns, time) : "");
    }
    kg_buf_adds(out, "</div>");
}

static void rewards(const struct kg_record *r, struct kg_buf *out)
{
    if (r->nrewards == 0) {
        return;
    }
    kg_buf_adds(out, "<h3>Rewards</h3><div class=\"facts\">");
    for (int i = 0; i < r->nrewards; i++) {
        kg_buf_adds(out, "<div><span>");
        kg_html_cut(out, r->rewards[i].name, 60);
        kg_buf_addf(out, "</span> <b>%.6g</b>", r->rewards[i].value);
        for (int k = 0; k < r->rewards[i].nterms; k++) {
            kg_buf_addf(out, "%s", k == 0 ? " = " : " + ");
            kg_html_cut(out, r->rewards[i].term[k].name, 60);
            kg_buf_addf(out, " %.6g", r->rewards[i].term[k].value);
        }
        kg_buf_adds(out, "</div>");
    }
    kg_buf_adds(out, "</div>");
}

static void block(const char *name, const char *text, size_t max, struct kg_buf *out)
{
    if (text != NULL && text[0] != '\0') {
        kg_buf_addf(out, "<h3>%s</h3><pre>", name);
        kg_html_cut(out, text, max);
        kg_buf_adds(out, "</pre>");
    }
}

static void code(const char *text, size_t max, struct kg_buf *out)
{
    if (text == NULL || text[0] == '\0') {
        return;
    }
    size_t lines = 1;
    for (size_t i = 0; i < max && text[i] != '\0'; i++) {
        lines += text[i] == '\n' && text[i + 1] != '\0';
    }
    kg_buf_adds(out, "<h3>Code</h3><div class=\"code\"><pre class=\"ln\">");
    for (size_t i = 1; i <= lines; i++) {
        kg_buf_addf(out, "%zu\n", i);
    }
    kg_buf_adds(out, "</pre><pre>");
    kg_html_cut(out, text, max);
    kg_buf_adds(out, "</pre></div>");
}

static void attribute(const char *name, const char *value, struct kg_buf *out)
{
    kg_buf_addf(out, " data-%s=\"", name);
    kg_html_cut(out, value, 80);
    kg_buf_adds(out, "\"");
}

/* What the page's script sorts and filters by. */
static void open_record(const struct kg_record *r, size_t i, struct kg_buf *out)
{
    char speed[40] = "", reward[40] = "";
    if (kg_tally_has_speed(r)) {
        snprintf(speed, sizeof speed, "%.6g", r->speedup.ratio);
    }
    if (r->nrewards > 0) {
        snprintf(reward, sizeof reward, "%.6g", r->rewards[0].value);
    }
    kg_buf_addf(out, "<details class=\"rec\" id=\"r%zu\" data-i=\"%zu\"", i, i);
    attribute("v", kg_report_class(r), out);
    attribute("p", r->problem.name, out);
    attribute("s", speed, out);
    attribute("w", reward, out);
    kg_buf_adds(out, ">");
}

static void record(const struct kg_record *r, size_t i, size_t max, struct kg_buf *out)
{
    char ratio[KG_UNITS_LEN];
    const char *message = r->has_error ? r->error.message : r->message;
    open_record(r, i, out);
    kg_buf_addf(out, "<summary><span class=\"mute\">%zu</span><span>", i + 1);
    kg_report_chip(r, -1, out);
    kg_buf_adds(out, "</span><span>");
    kg_html_cut(out, r->problem.name, 60);
    kg_buf_adds(out, "</span><span class=\"mute msg\">");
    kg_html_cut(out, message, 200);
    kg_buf_addf(out, "</span><span class=\"n\">%s</span></summary><div class=\"body\">",
                kg_tally_has_speed(r) ? kg_units_ratio(r->speedup.ratio, ratio) : "");
    kg_buf_adds(out, "<p class=\"wrap\">");
    kg_html_cut(out, message, 2000);
    kg_buf_adds(out, "</p>");
    facts(r, out);
    steps(r, out);
    rewards(r, out);
    if (json_array_size(r->evidence) > 0) {
        kg_buf_adds(out, "<h3>Evidence</h3>");
        evidence(r, out);
    }
    code(r->candidate.code, max, out);
    block("Standard output", r->output.stdout_text, max / 4, out);
    block("Standard error", r->output.stderr_text, max / 4, out);
    kg_buf_adds(out, "</div></details>\n");
}

void kg_report_records(const struct kg_tally *t, struct kg_buf *out)
{
    kg_buf_adds(out, "<section><h2>Records</h2><p>Click a line for code, output, evidence and "
                     "rewards. Shown: <span id=\"shown\">all</span>.</p>\n<div class=\"tools\">"
                     "<input id=\"q\" type=\"search\" placeholder=\"search problem, verdict, "
                     "message\" aria-label=\"search\"><select id=\"v\" aria-label=\"verdict\">"
                     "<option value=\"\">all verdicts</option>");
    for (int v = KG_V_OK; v < KG_V_COUNT; v++) {
        if (t->verdicts[v] > 0) {
            const char *name = kg_verdict_name((enum kg_verdict)v);
            kg_buf_addf(out, "<option value=\"%s\">%s (%zu)</option>", name, name, t->verdicts[v]);
        }
    }
    if (t->errors > 0) {
        kg_buf_addf(out, "<option value=\"error\">error (%zu)</option>", t->errors);
    }
    kg_buf_adds(out, "</select><select id=\"s\" aria-label=\"order\"><option value=\"order\">in "
                     "order</option><option value=\"speed\">by speed-up</option>"
                     "<option value=\"reward\">by reward</option><option value=\"problem\">by "
                     "problem</option><option value=\"verdict\">by verdict</option></select></div>"
                     "\n<div id=\"records\">\n");
    size_t max = t->n == 0 ? 0 : CODE_BUDGET / t->n;
    max = max > 65536 ? 65536 : max < 2048 ? 2048 : max;
    for (size_t i = 0; i < t->n; i++) {
        record(&t->r[i], i, max, out);
    }
    kg_buf_adds(out, "</div></section>\n");
}
