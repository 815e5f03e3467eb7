/* The HTML report: puts its sections together. */
#include "gym/report/report.h"

#include <string.h>

#include "gym/report/report_parts.h"

static void head(const char *title, struct kg_buf *out)
{
    kg_buf_adds(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; script-src 'sha256-");
    kg_html_sha256(out, kg_report_script);
    kg_buf_adds(out, "'; base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>");
    kg_html_text(out, title);
    kg_buf_adds(out, "</title>\n<style>");
    kg_buf_adds(out, kg_report_style);
    kg_buf_adds(out, "</style>\n</head>\n<body>\n<main>\n<header><h1>");
    kg_html_text(out, title);
    kg_buf_adds(out, "</h1>");
}

/* Where it ran: the first record that says so speaks for the run. */
static void host_line(const struct kg_tally *t, struct kg_buf *out)
{
    static const char *const keys[] = {"kgym", "cpu", "compiler", "kernel"};
    kg_buf_adds(out, "<p class=\"sub\">");
    kg_buf_addf(out, "%zu record%s", t->n, t->n == 1 ? "" : "s");
    if (t->replays > 0) {
        kg_buf_addf(out, " · %zu replay%s left out", t->replays, t->replays == 1 ? "" : "s");
    }
    for (size_t i = 0; i < t->n; i++) {
        if (json_object_size(t->r[i].environment) == 0) {
            continue;
        }
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            const json_t *v = json_object_get(t->r[i].environment, keys[k]);
            if (json_is_string(v)) {
                kg_buf_addf(out, " · %s", k == 0 ? "kgym " : "");
                kg_html_value(out, v, 80);
            }
        }
        if (t->r[i].isolation.level >= 0) {
            kg_buf_addf(out, " · isolation L%d", t->r[i].isolation.level);
        }
        break;
    }
    kg_buf_adds(out, "</p></header>\n");
}

enum kg_code kg_report_html(const json_t *records, const char *title, struct kg_buf *out,
                            struct kg_err *err)
{
    struct kg_tally t;
    if (kg_tally_of(records, &t, err) != KG_OK) {
        return err->code;
    }
    head(title, out);
    host_line(&t, out);
    kg_report_tiles(&t, out);
    kg_report_funnel(&t, out);
    kg_report_verdicts(&t, out);
    kg_report_speedups(&t, out);
    kg_report_distributions(&t, out);
    kg_report_hacks(&t, out);
    kg_report_records(&t, out);
    kg_buf_adds(out, "</main>\n<script>");
    kg_buf_adds(out, kg_report_script);
    kg_buf_adds(out, "</script>\n</body>\n</html>\n");
    size_t n = t.n;
    kg_tally_deinit(&t);
    if (!kg_buf_ok(out)) {
        return kg_fail(err, KG_E_LIMIT, "report: %zu records need more than %zu bytes", n,
                       out->max);
    }
    return KG_OK;
}
