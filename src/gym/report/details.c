/* Every record with what it holds. */
#include <math.h>
#include <string.h>

#include "gym/card/units.h"
#include "gym/report/report_parts.h"

#define CODE_BUDGET   (16 << 20) /* bytes of code and output over all records */
#define SHOWN_MESSAGE 300        /* bytes of a message in the line of a record */

/* "ok", "error", "none": for classes and filters. */
static const char *class_of(const struct kg_record *r)
{
    const char *name = kg_verdict_name(r->verdict);
    return r->has_error ? "error" : name != NULL ? name : "none";
}

void kg_report_chip(const struct kg_record *r, long position, struct kg_buf *out)
{
    const char *name = class_of(r);
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

void kg_report_name(const struct kg_record *r, struct kg_buf *out)
{
    kg_buf_adds(out, "<b>");
    kg_html_cut(out, r->problem.name != NULL ? r->problem.name : "(no problem)", 80);
    kg_buf_adds(out, "</b>");
    if (r->batch_id != NULL) {
        kg_buf_adds(out, " <i class=\"id\">");
        kg_html_cut(out, r->batch_id, 120);
        kg_buf_adds(out, "</i>");
    }
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
    fact("batch id", r->batch_id, out);
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
    if (r->timing.status != KG_T_OFF) {
        fact("timing", kg_timing_status_name(r->timing.status), out);
    }
    fact("why", r->timing.why, out);
    if (r->timing.reference_ns >= 0) {
        fact("reference", kg_units_time(r->timing.reference_ns, unit), out);
        fact("candidate", kg_units_time(r->timing.candidate_ns, unit), out);
        fact("call cost K", kg_units_time(r->timing.overhead_ns, unit), out);
    }
    if (r->timing.shortest_ns >= 0) {
        fact("T", kg_units_time(r->timing.shortest_ns, unit), out);
    }
    kg_buf_adds(out, "</div>");
}

static void steps(const struct kg_record *r, struct kg_buf *out)
{
    char time[KG_UNITS_LEN];
    kg_buf_adds(out, "<h3>Stages</h3><div class=\"steps\">");
    for (int i = 0; i < KG_ST_COUNT; i++) {
        bool untimed = i == KG_ST_TIMING && kg_record_untimed(r);
        const char *status =
            untimed ? r->timing.status == KG_T_NOT_TRUSTED ? "not trusted" : "not measured"
                    : kg_stage_status_name(r->stages[i].status);
        kg_buf_addf(out, "<span class=\"%s\">%s · %s%s%s%s</span>", status,
                    kg_stage_name((enum kg_stage)i), status, r->stages[i].ns >= 0 ? " · " : "",
                    r->stages[i].ns >= 0 ? kg_units_time(r->stages[i].ns, time) : "",
                    r->stages[i].cached ? " (cached)" : "");
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
        if (r->rewards[i].why[0] != '\0') {
            kg_buf_adds(out, " <span class=\"mute\">(");
            kg_html_cut(out, r->rewards[i].why, 240);
            kg_buf_adds(out, ")</span>");
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

/* The line that a compiler, Python or a rejecting rule names; 0: none. */
static long marked_line(const struct kg_record *r)
{
    static const char *const checks[] = {"compiler", "syntax", "static"};
    bool failed = r->verdict == KG_V_COMPILE_ERROR || r->verdict == KG_V_REJECTED;
    size_t i;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        const char *check = json_string_value(json_object_get(e, "check"));
        size_t from = r->verdict == KG_V_REJECTED ? 2 : 0, to = r->verdict == KG_V_REJECTED ? 3 : 2;
        for (size_t k = from; failed && check != NULL && k < to; k++) {
            if (strcmp(check, checks[k]) == 0) {
                return (long)json_integer_value(json_object_get(e, "line"));
            }
        }
    }
    return 0;
}

/* One block per line: long lines wrap, and the numbers are the style's, so a copy has none. */
static void code(const struct kg_record *r, size_t max, struct kg_buf *out)
{
    const char *text = r->candidate.code;
    if (text == NULL || text[0] == '\0') {
        return;
    }
    long marked = marked_line(r), number = 1;
    size_t left = max;
    kg_buf_adds(out, "<h3>Code</h3><pre class=\"code\">");
    while (*text != '\0' && left > 0) {
        size_t n = strcspn(text, "\n"), keep = n < left ? n : left;
        while (keep < n && keep > 0 && ((unsigned char)text[keep] & 0xC0) == 0x80) {
            keep--; /* whole characters */
        }
        kg_buf_adds(out, number++ == marked ? "<span class=\"at\">" : "<span>");
        kg_html_bytes(out, text, keep);
        kg_buf_adds(out, "\n</span>");
        text += keep + (keep == n && text[n] == '\n');
        left -= keep < left ? keep + 1 : left;
    }
    kg_buf_adds(out, "</pre>");
    if (*text != '\0') {
        kg_buf_addf(out, "<p class=\"mute\">… %zu more bytes</p>", strlen(text));
    }
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
    attribute("v", class_of(r), out);
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
    kg_buf_adds(out, "</span><span class=\"who\">");
    kg_report_name(r, out);
    kg_buf_adds(out, "</span><span class=\"mute msg\">");
    kg_html_cut(out, message, SHOWN_MESSAGE);
    kg_buf_addf(out, "</span><span class=\"n\">%s</span></summary><div class=\"body\">",
                kg_tally_has_speed(r) ? kg_units_ratio(r->speedup.ratio, ratio) : "");
    if (message != NULL && strlen(message) > SHOWN_MESSAGE) {
        kg_buf_adds(out, "<p class=\"wrap\">");
        kg_html_cut(out, message, 2000);
        kg_buf_adds(out, "</p>");
    }
    facts(r, out);
    steps(r, out);
    rewards(r, out);
    if (json_array_size(r->evidence) > 0) {
        kg_buf_adds(out, "<h3>Evidence</h3>");
        kg_report_evidence(r, out);
    }
    code(r, max, out);
    block("Standard output", r->output.stdout_text, max / 4, out);
    block("Standard error", r->output.stderr_text, max / 4, out);
    kg_buf_adds(out, "</div></details>\n");
}

void kg_report_records(const struct kg_tally *t, struct kg_buf *out)
{
    kg_buf_adds(
        out, "<section><h2>Records</h2><p>Click a line for code, output, evidence and "
             "rewards. Shown: <span id=\"shown\">all</span>.</p>\n<div class=\"tools\">"
             "<input id=\"q\" type=\"search\" placeholder=\"search problem, batch "
             "id, verdict, message\" aria-label=\"search\"><select id=\"v\" aria-label=\"verdict\">"
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
