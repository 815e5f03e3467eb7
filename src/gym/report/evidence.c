/* A record's evidence as a person reads it: findings and kernels as tables, what has sentences as
 * sentences, the rest as names and values, and texts of several lines as blocks. */
#include <stdio.h>
#include <string.h>

#include "gym/card/sentence.h"
#include "gym/report/report_parts.h"

#define MOST_TEXT 8000 /* bytes of one block */

static bool is(const json_t *e, const char *check)
{
    const char *name = json_string_value(json_object_get(e, "check"));
    return name != NULL && strcmp(name, check) == 0;
}

static void cell(const json_t *v, const char *style, struct kg_buf *out)
{
    kg_buf_addf(out, "<td%s>", style);
    kg_html_value(out, v, 2000);
    kg_buf_adds(out, "</td>");
}

static void findings(const json_t *list, struct kg_buf *out)
{
    size_t i, n = 0;
    json_t *e;
    json_array_foreach(list, i, e)
    {
        if (!is(e, "static")) {
            continue;
        }
        if (n++ == 0) {
            kg_buf_adds(out, "<table class=\"ev\"><thead><tr><th class=\"n\">line</th><th>what the "
                             "static check saw in the source</th><th>rule</th></tr></thead>\n"
                             "<tbody>");
        }
        const json_t *line = json_object_get(e, "line");
        kg_buf_adds(out, "<tr>");
        cell(json_integer_value(line) > 0 ? line : NULL, " class=\"n\"", out);
        cell(json_object_get(e, "message"), " class=\"wrap\"", out);
        cell(json_object_get(e, "rule"), " class=\"mute\"", out);
        kg_buf_adds(out, "</tr>");
    }
    kg_buf_adds(out, n > 0 ? "</tbody></table>\n" : "");
}

static void kernels(const json_t *list, struct kg_buf *out)
{
    size_t i, n = 0;
    json_t *e;
    json_array_foreach(list, i, e)
    {
        if (!is(e, "kernel")) {
            continue;
        }
        if (n++ == 0) {
            kg_buf_adds(out, "<table class=\"ev\"><thead><tr><th class=\"n\">share of device time"
                             "</th><th class=\"n\">calls</th><th>kernel</th><th>whose</th></tr>"
                             "</thead>\n<tbody>");
        }
        kg_buf_addf(out, "<tr><td class=\"n\">%.1f %%</td>",
                    100 * json_number_value(json_object_get(e, "share")));
        cell(json_object_get(e, "calls"), " class=\"n\"", out);
        cell(json_object_get(e, "name"), " class=\"wrap\"", out);
        cell(json_object_get(e, "class"), "", out);
        kg_buf_adds(out, "</tr>");
    }
    kg_buf_adds(out, n > 0 ? "</tbody></table>\n" : "");
}

/* "worst_over_bound" -> "worst over bound" */
static void name_of(const char *key, struct kg_buf *out)
{
    char words[80];
    snprintf(words, sizeof words, "%s", key);
    for (char *c = words; *c != '\0'; c++) {
        *c = *c == '_' ? ' ' : *c;
    }
    kg_html_text(out, words);
}

static bool of_lines(const json_t *v)
{
    return json_is_string(v) && strchr(json_string_value(v), '\n') != NULL;
}

static void fields(const json_t *e, struct kg_buf *out)
{
    const char *key;
    json_t *v;
    kg_buf_adds(out, "<p class=\"wrap\"><b>");
    name_of(json_string_value(json_object_get(e, "check")), out);
    kg_buf_adds(out, "</b>");
    size_t n = 0;
    json_object_foreach((json_t *)(uintptr_t)e, key, v)
    {
        if (strcmp(key, "check") == 0 || of_lines(v)) {
            continue;
        }
        struct kg_buf text;
        kg_buf_init(&text, MOST_TEXT);
        kg_card_value(v, &text);
        kg_buf_adds(out, n++ > 0 ? "; " : ": ");
        name_of(key, out);
        kg_buf_addc(out, ' ');
        kg_html_bytes(out, text.data, text.len);
        kg_buf_adds(out, kg_buf_ok(&text) ? "" : "…");
        kg_buf_deinit(&text);
    }
    kg_buf_adds(out, "</p>\n");
    json_object_foreach((json_t *)(uintptr_t)e, key, v)
    {
        if (of_lines(v)) {
            kg_buf_adds(out, "<pre>");
            kg_html_cut(out, json_string_value(v), MOST_TEXT);
            kg_buf_adds(out, "</pre>\n");
        }
    }
}

static void compiler(const json_t *e, struct kg_buf *out)
{
    kg_buf_adds(out, "<p>The compiler says:</p><pre>");
    kg_html_cut(out, json_string_value(json_object_get(e, "text")), MOST_TEXT);
    kg_buf_adds(out, "</pre>\n");
}

static void entry(const json_t *e, struct kg_buf *out)
{
    struct kg_buf words;
    if (is(e, "static") || is(e, "kernel")) {
        return; /* in their tables */
    }
    if (is(e, "signal") || is(e, "limit") || is(e, "load")) {
        return; /* the message has them */
    }
    if (is(e, "compiler") && json_is_string(json_object_get(e, "text"))) {
        compiler(e, out);
        return;
    }
    kg_buf_init(&words, 4 * MOST_TEXT);
    if (kg_card_sentence(e, &words)) {
        kg_buf_adds(out, "<p class=\"wrap\">");
        kg_html_bytes(out, words.data, words.len);
        kg_buf_adds(out, "</p>\n");
    } else if (json_is_string(json_object_get(e, "check"))) {
        fields(e, out);
    }
    kg_buf_deinit(&words);
}

void kg_report_evidence(const struct kg_record *r, struct kg_buf *out)
{
    size_t i;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        if (i == 0 || !json_equal(e, json_array_get(r->evidence, i - 1))) {
            entry(e, out); /* asked again, with the same answer: once */
        }
    }
    findings(r->evidence, out);
    kernels(r->evidence, out);
}
