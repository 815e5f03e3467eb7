#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/golden.h"
#include "../support/records.h"
#include "base/hash.h"
#include "base/html.h"
#include "base/term.h"
#include "gym/report/report.h"
#include "gym/report/tally.h"

/* n records, every kind in turn. */
static json_t *records_of(unsigned n)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < n; i++) {
        struct kg_record r;
        sample_record(&r, (enum sample_kind)(i % SAMPLE_KINDS), i);
        json_array_append_new(list, kg_record_json(&r, false));
        kg_record_deinit(&r);
    }
    return list;
}

static void page_of(const json_t *records, const char *title, struct kg_buf *out)
{
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(out, (size_t)128 << 20);
    if (kg_report_html(records, title, out, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
}

static bool listed(const char *const *list, const char *word, size_t n)
{
    for (; *list != NULL; list++) {
        if (strlen(*list) == n && memcmp(*list, word, n) == 0) {
            return true;
        }
    }
    return false;
}

static const char *const tags[] = {
    "!doctype", "html",  "head",   "meta",    "title",      "style", "body",   "main",   "header",
    "h1",       "h2",    "h3",     "p",       "section",    "div",   "span",   "b",      "i",
    "a",        "table", "thead",  "tbody",   "tr",         "th",    "td",     "svg",    "text",
    "tspan",    "path",  "circle", "figure",  "figcaption", "input", "select", "option", "details",
    "summary",  "pre",   "script", "article", NULL};
static const char *const attributes[] = {
    "lang",  "charset",     "http-equiv", "content", "name",   "class",  "id",     "href",
    "style", "viewBox",     "d",          "x",       "y",      "cx",     "cy",     "r",
    "dx",    "type",        "value",      "data-i",  "data-v", "data-p", "data-s", "data-w",
    "html",  "placeholder", "aria-label", "colspan", NULL};

/* One tag at s (s[0] == '<'): known name, known attributes, quoted values, links within the page.
 * Returns its length, or 0 when it is none of kgym's own. */
static size_t tag_at(const char *s)
{
    size_t at = 1 + (s[1] == '/');
    size_t n = strcspn(s + at, " >\n");
    if (!listed(tags, s + at, n)) {
        return 0;
    }
    at += n;
    while (s[at] == ' ') {
        const char *name = s + at + 1;
        size_t len = strcspn(name, "=> ");
        if (!listed(attributes, name, len)) {
            return 0;
        }
        at += 1 + len;
        if (s[at] == '=') {
            const char *value = s + at + 2;
            size_t end = strcspn(value, "\"<>");
            bool link = len == 4 && memcmp(name, "href", 4) == 0;
            if (s[at + 1] != '"' || value[end] != '"' || (link && value[0] != '#')) {
                return 0;
            }
            at += 2 + end + 1;
        }
    }
    at += s[at] == '/';
    return s[at] == '>' ? at + 1 : 0;
}

/* Where the first markup or control character is that the report does not write itself; NULL when
 * there is none. */
static const char *foreign_markup(const char *s)
{
    while (*s != '\0') {
        unsigned char c = (unsigned char)*s;
        if (c == '<') {
            bool script = strncmp(s, "<script>", 8) == 0, style = strncmp(s, "<style>", 7) == 0;
            size_t n = tag_at(s);
            const char *end = script  ? strstr(s, "</script>")
                              : style ? strstr(s, "</style>")
                                      : s + n;
            if (n == 0 || end == NULL) {
                return s;
            }
            s = end;
            continue;
        }
        if (c == '>' || c == 0x7f || (c < ' ' && c != '\n' && c != '\t')) {
            return s;
        }
        s++;
    }
    return NULL;
}

static void check_markup(const struct kg_buf *page)
{
    assert_int_equal(strlen(page->data), page->len); /* no NUL */
    const char *at = foreign_markup(page->data);
    if (at != NULL) {
        fail_msg("not the report's own: %.80s", at);
    }
}

static int occurrences(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        n++;
    }
    return n;
}

static void a_page_of_every_kind(void **state)
{
    (void)state;
    json_t *list = records_of(64);
    struct kg_buf page;
    page_of(list, "sixty-four", &page);
    check_markup(&page);
    static const char *const sections[] = {"id=\"funnel\"", "id=\"verdicts\"", "id=\"speed\"",
                                           "id=\"timing\"", "id=\"hacks\"",    "id=\"records\""};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        assert_int_equal(occurrences(page.data, sections[i]), 1);
    }
    assert_int_equal(occurrences(page.data, "<details class=\"rec\""), 64);
    assert_int_equal(occurrences(page.data, "class=\"dot\""), 12); /* three of sixteen are timed */
    assert_int_equal(occurrences(page.data, "<figure>"), 12);
    assert_int_equal(occurrences(page.data, "<script>"), 1);
    kg_buf_deinit(&page);
    json_decref(list);
}

/* n samples of one problem, as reinforcement learning makes them. */
static json_t *samples_of_one_problem(int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        struct kg_record r;
        char id[32];
        sample_record(&r, i % 4 == 3 ? SAMPLE_HACK : SAMPLE_OK, (unsigned)i);
        snprintf(id, sizeof id, "sample-%d", i);
        r.problem.name = "softmax";
        r.batch_id = id;
        json_array_append_new(list, kg_record_json(&r, false));
        kg_record_deinit(&r);
    }
    return list;
}

/* The part of the page from one mark to the next. */
static int within(const struct kg_buf *page, const char *from, const char *to, const char *word)
{
    const char *begin = strstr(page->data, from), *end = begin ? strstr(begin + 1, to) : NULL;
    assert_non_null(end);
    int n = 0;
    for (const char *at = strstr(begin, word); at != NULL && at < end; at = strstr(at + 1, word)) {
        n++;
    }
    return n;
}

/* Sample: seven equal rows. The id is in rows, charts and evidence, and what the search reads. */
static void samples_of_one_problem_are_told_apart(void **state)
{
    (void)state;
    json_t *list = samples_of_one_problem(8);
    struct kg_buf page;
    page_of(list, "samples", &page);
    for (int i = 0; i < 8; i++) {
        char id[64], record[40];
        snprintf(id, sizeof id, "<b>softmax</b> <i class=\"id\">sample-%d</i>", i);
        snprintf(record, sizeof record, "id=\"r%d\"", i);
        bool hack = i % 4 == 3;
        assert_int_equal(within(&page, "id=\"speed\"", "</section>", id), !hack);
        assert_int_equal(within(&page, "id=\"timing\"", "</section>", id), !hack);
        assert_int_equal(within(&page, "id=\"hacks\"", "</section>", id), hack);
        assert_int_equal(within(&page, record, "</summary>", id), 1); /* the search reads this */
    }
    assert_non_null(strstr(page.data, "firstElementChild.textContent"));
    assert_non_null(strstr(page.data, "placeholder=\"search problem, batch id,"));
    kg_buf_deinit(&page);
    json_decref(list);
}

/* What is long is folded, and what is wide wraps: nothing scrolls inside the page or is cut off. */
static void nothing_scrolls_inside_the_page(void **state)
{
    (void)state;
    json_t *list = samples_of_one_problem(100);
    struct kg_buf page;
    page_of(list, "long", &page);
    check_markup(&page);
    static const char *const none[] = {"overflow:auto", "overflow:scroll",  "max-height",
                                       "text-overflow", "class=\"scroll\"", "overflow-x"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_null(strstr(page.data, none[i]));
    }
    assert_non_null(strstr(page.data, "white-space:pre-wrap"));
    assert_non_null(strstr(page.data, "@media(max-width:760px)"));
    assert_int_equal(occurrences(page.data, "class=\"dot\""), 75);
    assert_int_equal(occurrences(page.data, "<figure>"), 75);
    assert_non_null(strstr(page.data, "<summary>15 more speed-ups</summary>"));
    assert_non_null(strstr(page.data, "<summary>15 more distributions</summary>"));
    kg_buf_deinit(&page);
    json_decref(list);
}

static void evidence_page(json_t *evidence, const char *code, struct kg_buf *page)
{
    struct kg_record r;
    sample_record(&r, SAMPLE_COMPILE_ERROR, 1);
    json_decref(r.evidence);
    r.evidence = evidence;
    r.candidate.code = code;
    json_t *list = json_pack("[o]", kg_record_json(&r, false));
    page_of(list, "evidence", page);
    check_markup(page);
    json_decref(list);
    kg_record_deinit(&r);
}

/* Sample: "static rule static-state severity note line 6 message ...", a dump of keys. */
static void evidence_is_sentences_and_tables(void **state)
{
    (void)state;
    struct kg_buf page;
    json_t *e = json_array();
    json_array_append_new(e, json_pack("{s:s, s:s, s:s, s:i, s:s}", "check", "static", "rule",
                                       "static-state", "severity", "note", "line", 6, "message",
                                       "a variable that outlives the call: `n`"));
    json_array_append_new(e, json_pack("{s:s, s:i, s:i, s:i}", "check", "floor", "floor_ns", 41000,
                                       "candidate_ns", 900, "processes", 2));
    json_array_append_new(
        e, json_pack("{s:s, s:i, s:b}", "check", "a_new_check", "some_value", 7, "is_good", 1));
    json_array_append_new(e, json_pack("{s:s, s:i, s:i, s:s}", "check", "syntax", "line", 2,
                                       "column", 3, "message", "odd"));
    evidence_page(e, "one\ntwo\nthree", &page);
    static const char *const shown[] = {
        "<td class=\"n\">6</td><td class=\"wrap\">a variable that outlives the call: `n`</td>",
        "It took 900 ns, but the fastest pass over its data takes 41.0 us (in 2 processes).",
        "<b>a new check</b>: some value 7; is good yes</p>",
        "<span>one\n</span><span class=\"at\">two\n</span><span>three\n</span>",
    };
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        if (strstr(page.data, shown[i]) == NULL) {
            fail_msg("lacks %s", shown[i]);
        }
    }
    assert_null(strstr(page.data, "severity"));
    kg_buf_deinit(&page);
}

/* A line may be longer than what is kept, and end inside a character. */
static void long_code_is_cut_at_whole_characters(void **state)
{
    (void)state;
    struct kg_buf page, text;
    kg_buf_init(&text, 1 << 20);
    for (int i = 0; i < 30000; i++) {
        kg_buf_adds(&text, i % 7000 == 6999 ? "\n" : "\xE6\xBC\xA2");
    }
    evidence_page(json_array(), text.data, &page);
    assert_null(strstr(page.data, "\xEF\xBF\xBD"));
    assert_non_null(strstr(page.data, " more bytes</p>"));
    kg_buf_deinit(&page);
    kg_buf_deinit(&text);
}

/* No other host: nothing to fetch, and the policy would not allow it. */
static void self_contained(void **state)
{
    (void)state;
    json_t *list = records_of(16);
    struct kg_buf page;
    page_of(list, "alone", &page);
    static const char *const none[] = {"http:",   "https:", "src=",  "url(",      "@import",
                                       "import(", "fetch(", "<link", "innerHTML", "eval("};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_null(strstr(page.data, none[i]));
    }
    assert_non_null(strstr(page.data, "default-src 'none'"));
    kg_buf_deinit(&page);
    json_decref(list);
}

static int digit64(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return c == '=' ? 0 : (int)(strchr(digits, c) - digits);
}

/* The policy allows the script by its hash: a wrong one would switch it off, silently. */
static void the_policy_has_the_scripts_hash(void **state)
{
    (void)state;
    json_t *list = records_of(1);
    struct kg_buf page;
    page_of(list, "hash", &page);
    const char *begin = strstr(page.data, "<script>") + 8, *end = strstr(begin, "</script>");
    char want[KG_SHA256_HEX], got[80] = "";
    kg_sha256_hex(begin, (size_t)(end - begin), want);
    const char *b64 = strstr(page.data, "'sha256-") + 8;
    assert_int_equal(strcspn(b64, "'"), 44);
    for (int i = 0; i < 44; i += 4) {
        unsigned bits = (unsigned)(digit64(b64[i]) << 18 | digit64(b64[i + 1]) << 12 |
                                   digit64(b64[i + 2]) << 6 | digit64(b64[i + 3]));
        size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%06x", bits);
    }
    assert_memory_equal(got, want, 64);
    kg_buf_deinit(&page);
    json_decref(list);
}

static const char *const attacks[] = {
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "' onfocus='alert(1)",
    "</pre></details><h1>fake verdict",
    "--><!-- ]]>",
    "&lt;b&gt;&amp;",
    "\x01\x02\x1b[31m\x7f",
    "\xe2\x80\xae"
    "drawkcab",
    "</title></style><style>*{display:none}",
    "javascript:alert(1)",
    "{{7*7}}${7*7}`",
};
#define NATTACKS (sizeof attacks / sizeof attacks[0])

static void attack(struct kg_record *r, const char *text)
{
    char *s = (char *)(uintptr_t)text;
    r->batch_id = r->problem.name = r->problem.suite = r->problem.language = s;
    r->problem.entry = r->problem.sha256 = r->candidate.language = r->candidate.rule = s;
    r->candidate.code = r->output.stdout_text = r->output.stderr_text = s;
    r->timing.why = r->timing.preset = r->league.name = s;
    if (r->message != NULL) {
        r->message = s;
    }
    snprintf(r->error.message, sizeof r->error.message, "%s", s);
    json_t *j = kg_json_text(s, strlen(s)), *fields = json_object();
    json_object_set(fields, json_string_value(j), j);
    json_object_set_new(fields, "nested", json_pack("{s:[O, {s:O}]}", "a", j, "b", j));
    kg_record_evidence(r, s, fields);
    json_array_append_new(r->league.findings, json_pack("{s:O}", "rule", j));
    json_object_set(r->environment, "cpu", j);
    json_object_set(r->environment, "compiler", j);
    for (int i = 0; i < r->nrewards; i++) {
        struct kg_err err;
        r->rewards[i].name = kg_arena_printf(&r->arena, &err, "%s%d", s, i);
        r->rewards[i].term[0].name = r->rewards[i].name;
    }
    json_decref(j);
}

static void model_text_is_only_text(void **state)
{
    (void)state;
    json_t *list = json_array();
    for (unsigned i = 0; i < NATTACKS * SAMPLE_KINDS; i++) {
        struct kg_record r;
        sample_record(&r, (enum sample_kind)(i % SAMPLE_KINDS), i);
        attack(&r, attacks[i / SAMPLE_KINDS]);
        json_array_append_new(list, kg_record_json(&r, false));
        kg_record_deinit(&r);
    }
    for (size_t i = 0; i < NATTACKS; i++) {
        struct kg_buf page;
        page_of(list, attacks[i], &page);
        check_markup(&page);
        assert_int_equal(occurrences(page.data, "<script"), 1);
        assert_null(strstr(page.data, "<img"));
        assert_null(strstr(page.data, "\xe2\x80\xae"));
        assert_non_null(strstr(page.data, "&lt;img src=x onerror=alert(1)&gt;"));
        assert_int_equal(occurrences(page.data, "<details class=\"rec\""),
                         (int)(NATTACKS * SAMPLE_KINDS));
        kg_buf_deinit(&page);
    }
    json_decref(list);
}

/* What check_markup would miss, no test here would catch. */
static void the_check_of_markup_fails_where_it_must(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "<p><img src=x></p>",
        "<p onclick=\"x\">",
        "<a href=\"javascript:x\">",
        "<a href=#r1>",
        "<p class=\"a\"b\">",
        "a > b",
        "a \x1b[0m",
        "<p class=\"<i>\">",
        "<script>alert(1)",
        "<script src=\"x\"></script>",
        "<!-- comment -->",
        "< p>",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (foreign_markup(bad[i]) == NULL) {
            fail_msg("missed: %s", bad[i]);
        }
    }
    assert_null(foreign_markup("<p class=\"a\">x &lt; y</p><path d=\"M0 0\"/>"));
}

static void escaping_table(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } table[] = {
        {"plain", "plain"},
        {"<>&\"'", "&lt;&gt;&amp;&quot;&#39;"},
        {"a\nb\tc", "a\nb\tc"},
        {"a\r\nb\rc", "a\nb\xEF\xBF\xBD"
                      "c"},
        {"\x01\x7f\xff", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xc0\xbc", "\xEF\xBF\xBD\xEF\xBF\xBD"}, /* overlong `<` */
        {"\xe2\x80\xae\xe2\x81\xa6", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"漢 é 🙂", "漢 é 🙂"},
        {NULL, ""},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct kg_buf b;
        kg_buf_init(&b, 4096);
        kg_html_text(&b, table[i].in);
        assert_string_equal(b.data, table[i].out);
        kg_buf_deinit(&b);
    }
    struct kg_buf b;
    kg_buf_init(&b, 4096);
    kg_html_cut(&b, "ab漢<", 3); /* in the middle of a character */
    assert_string_equal(b.data, "ab\n… 4 more bytes");
    kg_buf_reset(&b);
    json_t *v = json_pack("{s:[s, i, n], s:f}", "<k>", "\"&", 3, "x", 0.5);
    kg_html_value(&b, v, 100);
    assert_string_equal(b.data, "{&quot;&lt;k&gt;&quot;:[&quot;\\&quot;&amp;&quot;,3,null],"
                                "&quot;x&quot;:0.5}");
    json_decref(v);
    kg_buf_deinit(&b);
}

static void secrets_are_not_shown(void **state)
{
    (void)state;
    json_t *list = records_of(16);
    struct kg_buf page;
    page_of(list, "secrets", &page);
    assert_null(strstr(page.data, "00112233445566778899aabbccddeeff"));
    kg_buf_deinit(&page);
    json_decref(list);
}

static void the_tally_adds_up(void **state)
{
    (void)state;
    json_t *list = records_of(2 * SAMPLE_KINDS);
    struct kg_tally t;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_tally_of(list, &t, &err), KG_OK);
    assert_int_equal(t.n, 32);
    assert_int_equal(t.errors, 2);
    assert_int_equal(t.verdicts[KG_V_NONE], 2);
    assert_int_equal(t.verdicts[KG_V_OK], 8);
    assert_int_equal(t.verdicts[KG_V_HACK], 4);
    assert_int_equal(t.verdicts[KG_V_COMPILE_ERROR], 4);
    assert_int_equal(t.measured, 6);
    assert_int_equal(t.faster, 2);
    assert_int_equal(t.slower, 2);
    assert_int_equal(t.stages[KG_ST_EXTRACT].pass, 30);
    assert_int_equal(t.stages[KG_ST_EXTRACT].fail, 2);
    assert_int_equal(t.stages[KG_ST_COMPILE].fail, 4);
    assert_int_equal(t.stages[KG_ST_TIMING].unmeasured, 2); /* no time, so not passed */
    assert_int_equal(t.stages[KG_ST_TIMING].pass, 6);
    assert_int_equal(t.stages[KG_ST_PROFILE].off, 32);
    assert_true(isnan(t.stages[KG_ST_PROFILE].median_ns));
    for (int s = 0; s < KG_ST_COUNT; s++) {
        assert_int_equal(t.stages[s].pass + t.stages[s].fail + t.stages[s].skip + t.stages[s].off +
                             t.stages[s].unmeasured,
                         32);
    }
    size_t failures = 0;
    for (size_t i = 0; i < t.nreasons; i++) {
        failures += t.reasons[i].n;
        assert_true(i == 0 || t.reasons[i - 1].n >= t.reasons[i].n);
    }
    assert_int_equal(failures, 32 - 2 - 2 - 8);
    kg_tally_deinit(&t);
    json_decref(list);
}

/* More kinds of reasons than there are rows: counted together, none is lost. */
/* A cache hit of 70 us is no time of a compiler. */
static void cached_compiles_are_not_in_the_median(void **state)
{
    (void)state;
    json_t *list = json_array();
    struct kg_tally t;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf page;
    for (unsigned i = 0; i < 3; i++) {
        struct kg_record r;
        sample_record(&r, SAMPLE_OK, i);
        r.stages[KG_ST_COMPILE].cached = i > 0;
        r.stages[KG_ST_COMPILE].ns = i > 0 ? 70000 : 50000000;
        json_array_append_new(list, kg_record_json(&r, false));
        kg_record_deinit(&r);
    }
    assert_int_equal(kg_tally_of(list, &t, &err), KG_OK);
    assert_int_equal(t.stages[KG_ST_COMPILE].cached, 2);
    assert_true(t.stages[KG_ST_COMPILE].median_ns == 50e6);
    kg_tally_deinit(&t);
    page_of(list, "cached", &page);
    assert_non_null(strstr(page.data, "2 cached, not in the median"));
    assert_non_null(strstr(page.data, "70.0 us (cached)"));
    kg_buf_reset(&page);
    assert_int_equal(kg_report_tables(list, false, 80, &page, &err), KG_OK);
    assert_non_null(
        strstr(page.data, " compile: 2 were compiled before and are not in the median\n"));
    kg_buf_deinit(&page);
    json_decref(list);
}

static void many_reasons_are_counted_together(void **state)
{
    (void)state;
    json_t *list = json_array();
    for (int i = 0; i < 300; i++) {
        struct kg_record r;
        char rule[32];
        kg_record_init(&r);
        snprintf(rule, sizeof rule, "rule-%d", i);
        kg_record_verdict(&r, KG_V_REJECTED, rule, "rejected");
        r.stages[KG_ST_STATIC].status = KG_SS_FAIL;
        json_array_append_new(list, kg_record_json(&r, true));
        kg_record_deinit(&r);
    }
    struct kg_tally t;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_tally_of(list, &t, &err), KG_OK);
    size_t n = 0;
    for (size_t i = 0; i < t.nreasons; i++) {
        n += t.reasons[i].n;
    }
    assert_int_equal(n, 300);
    kg_tally_deinit(&t);
    json_decref(list);
}

/* A reason that two stages give may be the most frequent of a verdict only with both. */
static void reasons_are_sorted_and_none_is_dropped(void **state)
{
    (void)state;
    static const struct {
        const char *reason;
        enum kg_stage stage;
        int n;
    } given[] = {{"goto", KG_ST_TINY, 5}, {"asm", KG_ST_TINY, 4},   {"asm", KG_ST_STATIC, 3},
                 {"nan", KG_ST_TINY, 2},  {"guard", KG_ST_TINY, 2}, {"twin", KG_ST_TINY, 1}};
    json_t *list = json_array();
    struct kg_buf page;
    struct kg_err err = KG_ERR_INIT;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        for (int k = 0; k < given[i].n; k++) {
            struct kg_record r;
            kg_record_init(&r);
            kg_record_verdict(&r, KG_V_REJECTED, given[i].reason, "rejected");
            r.stages[given[i].stage].status = KG_SS_FAIL;
            json_array_append_new(list, kg_record_json(&r, true));
            kg_record_deinit(&r);
        }
    }
    page_of(list, "sorted", &page);
    assert_non_null(strstr(page.data, "rejected/goto 5, rejected/asm 4, "));
    assert_non_null(strstr(page.data, ", 1 more</td>"));
    assert_non_null(strstr(page.data, ">asm 7</span> <span class=\"chip v-rejected\">goto 5<"));
    kg_buf_reset(&page);
    assert_int_equal(kg_report_tables(list, false, 80, &page, &err), KG_OK);
    assert_non_null(strstr(page.data, "asm 7, goto 5,"));
    kg_buf_deinit(&page);
    json_decref(list);
}

static void no_records_at_all(void **state)
{
    (void)state;
    json_t *list = json_array();
    struct kg_buf page, text;
    struct kg_err err = KG_ERR_INIT;
    page_of(list, "", &page);
    check_markup(&page);
    kg_buf_init(&text, 1 << 16);
    assert_int_equal(kg_report_tables(list, false, 80, &text, &err), KG_OK);
    kg_buf_deinit(&page);
    kg_buf_deinit(&text);
    json_decref(list);
}

static void two_thousand_records(void **state)
{
    (void)state;
    json_t *list = json_array(), *kinds = records_of(2 * SAMPLE_KINDS);
    for (size_t i = 0; i < 2000; i++) {
        json_array_append(list, json_array_get(kinds, i % json_array_size(kinds)));
    }
    struct kg_buf page;
    page_of(list, "two thousand", &page);
    assert_int_equal(occurrences(page.data, "<details class=\"rec\""), 2000);
    assert_true(page.len < (size_t)16 << 20);
    kg_buf_deinit(&page);
    json_decref(kinds);
    json_decref(list);
}

static void long_code_is_cut(void **state)
{
    (void)state;
    struct kg_record r;
    sample_record(&r, SAMPLE_OK, 1);
    char *code = malloc(200001);
    assert_non_null(code);
    memset(code, 'x', 200000);
    code[200000] = '\0';
    r.candidate.code = code;
    json_t *list = json_array();
    json_array_append_new(list, kg_record_json(&r, true));
    struct kg_buf page;
    page_of(list, "long", &page);
    assert_non_null(strstr(page.data, "… 134464 more bytes"));
    assert_true(page.len < 200000);
    kg_buf_deinit(&page);
    json_decref(list);
    kg_record_deinit(&r);
    free(code);
}

static void faults_are_named(void **state)
{
    (void)state;
    json_t *list = records_of(3);
    json_object_del(json_array_get(list, 1), "timing");
    struct kg_buf out;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&out, 1 << 20);
    assert_int_equal(kg_report_html(list, "t", &out, &err), KG_E_INPUT);
    assert_string_equal(err.message, "report: record 2: record: `timing`: missing");
    assert_int_equal(kg_report_tables(list, false, 80, &out, &err), KG_E_INPUT);
    assert_int_equal(kg_report_html(json_array_get(list, 0), "t", &out, &err), KG_E_INPUT);
    assert_string_equal(err.message, "report: expected a list of records");
    kg_buf_deinit(&out);
    json_array_remove(list, 1);
    kg_buf_init(&out, 5000);
    assert_int_equal(kg_report_html(list, "t", &out, &err), KG_E_LIMIT);
    assert_string_equal(err.message, "report: 2 records need more than 5000 bytes");
    kg_buf_deinit(&out);
    kg_buf_init(&out, 50);
    assert_int_equal(kg_report_tables(list, false, 80, &out, &err), KG_E_LIMIT);
    kg_buf_deinit(&out);
    json_decref(list);
}

static void golden_tables(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    json_t *list = records_of(64);
    struct kg_buf got;
    kg_buf_init(&got, 1 << 20);
    setenv("LC_ALL", "C.UTF-8", 1);
    assert_int_equal(kg_report_tables(list, false, 90, &got, &err), KG_OK);
    golden_compare("card", "tables", &got);
    kg_buf_deinit(&got);
    json_decref(list);
}

static void tables_keep_to_their_width(void **state)
{
    (void)state;
    json_t *list = records_of(64);
    for (int width = 40; width <= 200; width += 9) {
        for (int variant = 0; variant < 4; variant++) {
            struct kg_buf out;
            struct kg_err err = KG_ERR_INIT;
            char line[4096];
            kg_buf_init(&out, 1 << 20);
            setenv("LC_ALL", (variant & 1) != 0 ? "C.UTF-8" : "C", 1);
            assert_int_equal(kg_report_tables(list, (variant & 2) != 0, width, &out, &err), KG_OK);
            for (const char *at = out.data; *at != '\0';) {
                size_t n = strcspn(at, "\n");
                snprintf(line, sizeof line, "%.*s", (int)n, at);
                assert_true((int)kg_term_columns(line) <= width);
                at += n + (at[n] == '\n');
            }
            assert_int_equal(strchr(out.data, 0x1b) != NULL, (variant & 2) != 0);
            kg_buf_deinit(&out);
        }
    }
    json_decref(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_of_every_kind),
        cmocka_unit_test(samples_of_one_problem_are_told_apart),
        cmocka_unit_test(nothing_scrolls_inside_the_page),
        cmocka_unit_test(evidence_is_sentences_and_tables),
        cmocka_unit_test(long_code_is_cut_at_whole_characters),
        cmocka_unit_test(self_contained),
        cmocka_unit_test(the_policy_has_the_scripts_hash),
        cmocka_unit_test(model_text_is_only_text),
        cmocka_unit_test(the_check_of_markup_fails_where_it_must),
        cmocka_unit_test(escaping_table),
        cmocka_unit_test(secrets_are_not_shown),
        cmocka_unit_test(the_tally_adds_up),
        cmocka_unit_test(cached_compiles_are_not_in_the_median),
        cmocka_unit_test(many_reasons_are_counted_together),
        cmocka_unit_test(reasons_are_sorted_and_none_is_dropped),
        cmocka_unit_test(no_records_at_all),
        cmocka_unit_test(two_thousand_records),
        cmocka_unit_test(long_code_is_cut),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(golden_tables),
        cmocka_unit_test(tables_keep_to_their_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
