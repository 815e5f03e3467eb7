/* Cards. Goldens are in tests/fixtures/card. */
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
#include "base/term.h"
#include "gym/card/card.h"
#include "gym/card/pen.h"
#include "gym/card/units.h"
#include "gym/record/samples.h"
#include "gym/reward/reward.h"
#include "gym/verify/compare.h"

static void render(const struct kg_record *r, bool colour, bool ascii, int width,
                   struct kg_buf *out)
{
    struct kg_card_style style = {.colour = colour, .ascii = ascii, .width = width};
    kg_buf_init(out, 1 << 20);
    kg_card_render_style(r, &style, out);
    assert_true(kg_buf_ok(out));
}

static const struct {
    enum sample_kind kind;
    const char *name;
} cards[] = {
    {SAMPLE_OK, "ok"},
    {SAMPLE_OK_SAME, "ok-same"},
    {SAMPLE_OK_SLOW, "ok-slow"},
    {SAMPLE_OK_UNTIMED, "ok-untimed"},
    {SAMPLE_NO_CODE, "no-code"},
    {SAMPLE_REJECTED, "rejected"},
    {SAMPLE_COMPILE_ERROR, "compile-error"},
    {SAMPLE_LINK_ERROR, "link-error"},
    {SAMPLE_CRASH, "crash"},
    {SAMPLE_TIMEOUT, "timeout"},
    {SAMPLE_OUT_OF_MEMORY, "out-of-memory"},
    {SAMPLE_WRONG, "wrong"},
    {SAMPLE_HACK, "hack"},
    {SAMPLE_HACK_FLOOR, "hack-floor"},
    {SAMPLE_ERROR, "error"},
    {SAMPLE_STOPPED, "stopped"},
};

static void golden_cards(void **state)
{
    (void)state;
    _Static_assert(sizeof cards / sizeof cards[0] == SAMPLE_KINDS, "a card of every kind");
    for (unsigned i = 0; i < SAMPLE_KINDS; i++) {
        struct kg_record r;
        struct kg_buf out;
        sample_record(&r, cards[i].kind, i);
        render(&r, false, false, 80, &out);
        golden_compare("card", cards[i].name, &out);
        kg_buf_deinit(&out);
        kg_record_deinit(&r);
    }
}

static void golden_in_ascii(void **state)
{
    (void)state;
    static const enum sample_kind kinds[] = {SAMPLE_OK, SAMPLE_COMPILE_ERROR, SAMPLE_HACK};
    static const char *const names[] = {"ascii-ok", "ascii-compile-error", "ascii-hack"};
    for (unsigned i = 0; i < 3; i++) {
        struct kg_record r;
        struct kg_buf out;
        sample_record(&r, kinds[i], i);
        render(&r, false, true, 60, &out);
        for (size_t k = 0; k < out.len; k++) {
            assert_true(out.data[k] == '\n' || (out.data[k] >= ' ' && out.data[k] <= '~'));
        }
        golden_compare("card", names[i], &out);
        kg_buf_deinit(&out);
        kg_record_deinit(&r);
    }
}

/* Escape sequences are the card's own: ESC [ digits m. */
static void assert_harmless(const struct kg_buf *out, bool colour)
{
    for (size_t i = 0; i < out->len; i++) {
        unsigned char c = (unsigned char)out->data[i];
        if (c == 0x1b) {
            assert_true(colour);
            size_t n = 2 + strspn(out->data + i + 2, "0123456789;");
            assert_int_equal(out->data[i + 1], '[');
            assert_int_equal(out->data[i + n], 'm');
        } else {
            assert_true(c == '\n' || (c >= ' ' && c != 0x7f));
        }
    }
}

static void assert_narrow(const struct kg_buf *out, int width)
{
    char line[4096];
    for (const char *at = out->data; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        assert_true(n < sizeof line);
        memcpy(line, at, n);
        line[n] = '\0';
        if ((int)kg_term_columns(line) > width) {
            fail_msg("%d columns: %s", width, line);
        }
        at += n + (at[n] == '\n');
    }
}

static void never_wider_than_the_width(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < SAMPLE_KINDS; kind++) {
        struct kg_record r;
        sample_record(&r, (enum sample_kind)kind, kind);
        for (int width = 40; width <= 200; width += 7) {
            for (int variant = 0; variant < 4; variant++) {
                struct kg_buf out;
                render(&r, (variant & 1) != 0, (variant & 2) != 0, width, &out);
                assert_narrow(&out, width);
                assert_harmless(&out, (variant & 1) != 0);
                kg_buf_deinit(&out);
            }
        }
        kg_record_deinit(&r);
    }
}

static void odd_widths_are_brought_in(void **state)
{
    (void)state;
    struct kg_record r;
    sample_record(&r, SAMPLE_WRONG, 3);
    static const int widths[] = {-1, 0, 1, 39, 201, 1 << 30};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct kg_buf out;
        render(&r, false, false, widths[i], &out);
        assert_narrow(&out, widths[i] < 40 ? 40 : 200);
        kg_buf_deinit(&out);
    }
    kg_record_deinit(&r);
}

static const char hostile[] = "\x1b[2J\x1b]0;title\x07 \xff\xfe \r\n\t \xe2\x80\xae txt.exe "
                              "\xf0\x9f\x99\x82\xf0\x9f\x99\x82 \x01\x02\x7f \xc2\x9b"
                              "31m "
                              "averyveryveryveryveryveryveryveryveryveryveryveryveryverylongword"
                              "averyveryveryveryveryveryveryveryveryveryveryveryveryverylongword "
                              "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97 %s%n";

static void hostile_record(struct kg_record *r, enum sample_kind kind)
{
    sample_record(r, kind, 5);
    char *text = (char *)(uintptr_t)hostile;
    r->problem.name = r->problem.suite = r->candidate.rule = r->batch_id = text;
    r->candidate.code = r->message = text;
    r->output.stderr_text = r->output.stdout_text = text;
    r->timing.why = r->timing.preset = text;
    json_t *dirty = kg_json_text(hostile, sizeof hostile - 1);
    kg_record_evidence(r, hostile, json_pack("{s:O, s:O}", "a", dirty, "b", dirty));
    kg_record_evidence(r, "mismatch",
                       json_pack("{s:O, s:O, s:O, s:s}", "output", dirty, "law", dirty, "share",
                                 dirty, "elements", "not a number"));
    kg_record_evidence(r, "static", json_pack("{s:O, s:O}", "rule", dirty, "message", dirty));
    json_array_append_new(r->league.findings, json_pack("{s:O}", "rule", dirty));
    json_array_append_new(r->league.findings, json_integer(3));
    if (r->nrewards > 0) {
        r->rewards[0].name = text;
        r->rewards[0].term[0].name = text;
    }
    json_decref(dirty);
}

static void model_text_cannot_move_the_cursor(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < SAMPLE_KINDS; kind++) {
        struct kg_record r;
        hostile_record(&r, (enum sample_kind)kind);
        for (int variant = 0; variant < 4; variant++) {
            struct kg_buf out;
            render(&r, (variant & 1) != 0, (variant & 2) != 0, 61, &out);
            assert_harmless(&out, (variant & 1) != 0);
            assert_narrow(&out, 61);
            assert_null(strstr(out.data, "\xe2\x80\xae")); /* right-to-left override */
            assert_null(strstr(out.data, "\xc2\x9b"));     /* CSI as one character */
            kg_buf_deinit(&out);
        }
        kg_record_deinit(&r);
    }
}

static void an_empty_record_has_a_card(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_buf out;
    kg_record_init(&r);
    render(&r, false, false, 80, &out);
    assert_non_null(strstr(out.data, "NOT JUDGED"));
    kg_buf_deinit(&out);
    kg_record_deinit(&r);
}

static void samples_that_are_not_samples(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "[]",
        "[1,2]",
        "[{}]",
        "[{\"reference_ns\": 3, \"candidate_ns\": []}]",
        "[{\"reference_ns\": [1,2,3,4,5,6], \"candidate_ns\": [\"a\",null,-1,0.5,{},[]]}]",
        "[{\"reference_ns\": [0,0,0,0,0,0], \"candidate_ns\": [0,0,0,0,0,0]}]"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct kg_record r;
        struct kg_buf out;
        sample_record(&r, SAMPLE_OK, 1);
        json_decref(r.timing.samples);
        r.timing.samples = json_loads(odd[i], 0, NULL);
        render(&r, false, false, 80, &out);
        kg_buf_deinit(&out);
        kg_record_deinit(&r);
    }
}

static void samples_say_who_was_first(void **state)
{
    (void)state;
    struct kg_sample_pair p[4];
    struct kg_timing t = {
        .samples = json_loads("[{\"reference_ns\": [5, 6, 7], \"candidate_ns\": [3, 0, 4],"
                              " \"candidate_first\": [true, false]},"
                              " {\"reference_ns\": [8], \"candidate_ns\": [9]}]",
                              0, NULL)};
    assert_int_equal(kg_samples_pairs(&t, p, 4), 4);
    assert_true(p[0].candidate_first && p[0].reference_ns == 5 && p[0].candidate_ns == 3);
    assert_true(!p[1].candidate_first && p[1].candidate_ns == 1);
    assert_true(!p[2].candidate_first && !p[3].candidate_first && p[3].process == 1);
    json_decref(t.samples);
}

static void diagnostics_that_lie(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "x.c:6:99999: error: far right",
        "x.c:999999999:1: error: no such line",
        "x.c:99999999999999999999:1: error: too many digits",
        "x.c:-1:-1: error: negative",
        ":::::: error: colons",
        "error: no place",
        "x.c:6: error: no column",
        "",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct kg_record r;
        struct kg_buf out;
        sample_record(&r, SAMPLE_COMPILE_ERROR, 1);
        json_array_clear(r.evidence);
        kg_record_evidence(&r, "compiler", json_pack("{s:s, s:i}", "text", texts[i], "line", 0));
        render(&r, false, false, 80, &out);
        assert_narrow(&out, 80);
        kg_buf_deinit(&out);
        kg_record_deinit(&r);
    }
}

static void evidence_is_shown_once_and_bounded(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_buf out;
    sample_record(&r, SAMPLE_HACK_FLOOR, 1);
    for (int i = 0; i < 30; i++) {
        kg_record_evidence(&r, "probe", json_pack("{s:i}", "n", i / 2));
    }
    render(&r, false, false, 80, &out);
    assert_non_null(strstr(out.data, "n 6\n"));
    assert_null(strstr(out.data, "n 7\n"));
    assert_non_null(strstr(out.data, "and 8 more"));
    assert_ptr_equal(strstr(strstr(out.data, "n 3\n") + 1, "n 3\n"), NULL);
    kg_buf_deinit(&out);
    kg_record_deinit(&r);
}

/* Times of another project's procedure are shown as what they are, and no reward. */
static void claims_are_no_measurement(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_buf out;
    sample_record(&r, SAMPLE_OK_UNTIMED, 1);
    r.nrewards = 0;
    json_object_set_new(r.config, "protocol", json_string("kernelbench"));
    r.timing.status = KG_T_NOT_TRUSTED;
    r.timing.why = "what the timed processes say";
    r.timing.claims = json_pack("{s:i, s:{s:i}, s:{s:i}}", "trials", 100, "candidate", "mean_ns",
                                500000, "reference", "mean_ns", 1000000);
    r.has_speedup = true;
    r.speedup.ratio = 2;
    r.speedup.lo = r.speedup.hi = NAN;
    r.speedup.pairs = -1;
    kg_record_evidence(&r, "unrewarded", json_pack("{s:s}", "why", "so"));
    kg_record_evidence(&r, "trials",
                       json_pack("{s:i, s:i, s:f, s:[b]}", "planned", 5, "passed", 4, "tolerance",
                                 1e-4, "close", 1));
    render(&r, false, false, 80, &out);
    static const char *const shown[] = {
        "claimed    2.00x ratio of means over 100 calls each\n",
        "reference",
        "1.00 ms\n",
        "500 us\n",
        "not trusted (what the timed processes say)\n",
        "trials     4 of 5 trials are within the tolerance 0.0001.\n",
        "rewards    none: KernelBench's procedure sets no reward\n"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (!strstr(out.data, shown[i])) {
            fail_msg("`%s` is not in\n%s", shown[i], out.data);
        }
    }
    assert_null(strstr(out.data, "speed-up"));
    assert_null(strstr(out.data, "unrewarded"));
    kg_buf_deinit(&out);
    kg_record_deinit(&r);
}

static void shows(const struct kg_buf *out, const char *words, bool wanted)
{
    if ((strstr(out->data, words) != NULL) != wanted) {
        fail_msg("`%s` is %s\n%s", words, wanted ? "not in" : "in", out->data);
    }
}

/* Sample: speed-up 0.859x beside bars of 2.21 and 2.02 ms. */
static void bars_that_contradict_the_speed_up_are_explained(void **state)
{
    (void)state;
    static const struct {
        double ratio, lo, hi;
        int64_t reference_ns, candidate_ns;
        bool explained;
    } table[] = {
        {0.859, 0.80, 0.92, 2210000, 2020000, true},  {1.09, 1.05, 1.13, 2210000, 2020000, false},
        {1.10, 1.099, 1.101, 1000000, 905000, false}, {1.5, 1.4, 1.6, 1000000, 1000000, true},
        {0.859, NAN, NAN, 2210000, 2020000, true},    {1.09, NAN, NAN, 2210000, 2020000, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_record r;
        struct kg_buf out;
        sample_record(&r, SAMPLE_OK, 1);
        r.speedup.ratio = table[i].ratio;
        r.speedup.lo = table[i].lo;
        r.speedup.hi = table[i].hi;
        r.timing.reference_ns = table[i].reference_ns;
        r.timing.candidate_ns = table[i].candidate_ns;
        render(&r, false, false, 80, &out);
        shows(&out, "the bars are medians and would give", table[i].explained);
        kg_buf_deinit(&out);
        kg_record_deinit(&r);
    }
}

/* A time below T, where the timing line says it: the rewards add only what it does not say. */
static void what_is_too_short_is_said_once(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_buf out;
    char why[200];
    sample_record(&r, SAMPLE_OK, 1);
    r.timing.shortest_ns = 2 * r.timing.candidate_ns;
    kg_reward_too_short(&r, why, sizeof why);
    assert_true(why[0] != 0);
    assert_true(r.nrewards > 0);
    snprintf(r.rewards[0].why, sizeof r.rewards[0].why, "%s; at most 3 counts", why);
    for (int said = 0; said < 2; said++) {
        r.timing.why = said ? why : NULL;
        render(&r, false, false, 200, &out);
        const char *first = strstr(out.data, why);
        assert_non_null(first);
        assert_null(strstr(first + 1, why));
        shows(&out, said ? "(at most 3 counts)" : "; at most 3 counts)", true);
        kg_buf_deinit(&out);
    }
    kg_record_deinit(&r);
}

/* A check mark says that something was measured. */
static void an_untimed_candidate_has_no_check_mark(void **state)
{
    (void)state;
    static const enum kg_timing_status statuses[] = {KG_T_MEASURED, KG_T_NOT_MEASURED,
                                                     KG_T_NOT_TRUSTED};
    static const char *const below[] = {" s ", "not timed", "untrusted"};
    for (size_t i = 0; i < 3; i++) {
        struct kg_record r;
        struct kg_buf out;
        sample_record(&r, i == 0 ? SAMPLE_OK : SAMPLE_OK_UNTIMED, 1);
        r.timing.status = statuses[i];
        render(&r, false, false, 80, &out);
        shows(&out, "\u2714 timing", i == 0);
        shows(&out, below[i], true);
        shows(&out, i == 1 ? "not measured (" : i == 2 ? "not trusted (" : "paired", true);
        kg_buf_deinit(&out);
        kg_record_deinit(&r);
    }
}

/* What the compiler did not do has no time of its. */
static void a_cached_object_has_no_time(void **state)
{
    (void)state;
    for (int cached = 0; cached < 2; cached++) {
        struct kg_record r;
        struct kg_buf out;
        sample_record(&r, SAMPLE_OK, 1);
        r.stages[KG_ST_COMPILE].ns = 71700;
        r.stages[KG_ST_COMPILE].cached = cached;
        render(&r, false, false, 80, &out);
        shows(&out, "cached", cached);
        shows(&out, "71.7 us", !cached);
        kg_buf_deinit(&out);
        kg_record_deinit(&r);
    }
}

/* The column counts characters: a tab is one, and so is a wide character. */
static void a_python_syntax_error_shows_its_line_and_a_mark(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        int line, column;
        const char *shown;
    } table[] = {
        {"import torch\nclass ModelNew:\n    def f(self, x)\n        return x\n", 3, 19,
         "3:19  expected ':'\n"
         "       1 \u2502 import torch\n"
         "       2 \u2502 class ModelNew:\n"
         "  \u25b6    3 \u2502     def f(self, x)\n"
         "         \u2502                   ^\n"
         "       4 \u2502         return x\n"},
        {"\tx = (\n", 1, 6, "  \u25b6    1 \u2502     x = (\n         \u2502         ^\n"},
        {"s = '\u6f22' @@\n", 1, 9, "\u6f22' @@\n         \u2502          ^\n"},
        {"x = (\n", 1, 0, "1 expected ':'\n  \u25b6    1 \u2502 x = (\n"},
        {"x = (\n", 1, 1000, "  \u25b6    1 \u2502 x = (\n         \u2502      ^\n"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_record r;
        struct kg_buf out;
        sample_record(&r, SAMPLE_COMPILE_ERROR, 1);
        json_array_clear(r.evidence);
        r.candidate.language = "python";
        r.candidate.code = table[i].code;
        kg_record_evidence(&r, "syntax",
                           json_pack("{s:i, s:i, s:s}", "line", table[i].line, "column",
                                     table[i].column, "message", "expected ':'"));
        render(&r, false, false, 80, &out);
        shows(&out, table[i].shown, true);
        kg_buf_deinit(&out);
        kg_record_deinit(&r);
    }
}

/* A line beyond the code, and a message that is not there: whatever a record holds. */
static void a_place_that_is_not_there_is_not_shown(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_buf out;
    sample_record(&r, SAMPLE_COMPILE_ERROR, 1);
    json_array_clear(r.evidence);
    kg_record_evidence(&r, "syntax", json_pack("{s:i, s:i}", "line", 99, "column", -3));
    render(&r, false, false, 80, &out);
    shows(&out, "99", false);
    kg_buf_deinit(&out);
    kg_record_deinit(&r);
}

static void shares_in_words(void **state)
{
    (void)state;
    static const struct {
        int64_t failed, elements;
        const char *words;
    } table[] = {
        {3, 6, "exactly half"}, {4, 6, "more than half"}, {6, 6, "all"},
        {2, 6, "under half"},   {1, 2, "exactly half"},   {1, 1, "all"},
        {1, 11, "under 10 %"},  {1, 101, "under 1 %"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_string_equal(kg_share_words((double)table[i].failed / (double)table[i].elements),
                            table[i].words);
    }
}

/* A long line is shifted so that the caret stands under what it points at. */
static void the_caret_is_where_the_error_is(void **state)
{
    (void)state;
    static const char *const codes[] = {
        "a b c @ d\n",
        "\t\t@\n",
        "\"漢字\" @\n",
        "................................................................................"
        "............................................................@ after it\n",
        "漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢@\n",
    };
    static const int columns[] = {7, 17, 8, 141, 81}; /* as compilers count: tab stops of 8 */
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct kg_record r;
        struct kg_buf out;
        char text[64], line[512], under[512];
        sample_record(&r, SAMPLE_COMPILE_ERROR, 1);
        json_array_clear(r.evidence);
        snprintf(text, sizeof text, "c.c:1:%d: error: here", columns[i]);
        kg_record_evidence(&r, "compiler", json_pack("{s:s}", "text", text));
        r.candidate.code = codes[i];
        render(&r, false, false, 60, &out);
        const char *at = strchr(out.data, '@'), *caret = strchr(out.data, '^');
        assert_non_null(at);
        assert_non_null(caret);
        const char *begin = at, *below = caret;
        while (begin[-1] != '\n') {
            begin--;
        }
        while (below[-1] != '\n') {
            below--;
        }
        snprintf(line, sizeof line, "%.*s", (int)(at - begin), begin);
        snprintf(under, sizeof under, "%.*s", (int)(caret - below), below);
        assert_int_equal(kg_term_columns(line), kg_term_columns(under));
        kg_buf_deinit(&out);
        kg_record_deinit(&r);
    }
}

/* Lines of an extension's file are none of the candidate's; the one that is quoted is shown. */
static void an_extension_has_files_of_its_own(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_buf out;
    sample_record(&r, SAMPLE_COMPILE_ERROR, 1);
    json_array_clear(r.evidence);
    r.candidate.language = "python";
    r.candidate.code = "import torch\nsource = \"\"\"\nint f() { return pp; }\n\"\"\"\n";
    kg_record_evidence(&r, "compiler",
                       json_pack("{s:s, s:i}", "text", "main.cpp:2:18: error: no pp\n", "line", 3));
    render(&r, false, false, 80, &out);
    assert_non_null(strstr(out.data, "main.cpp:2:18: error: no pp\n"));
    assert_non_null(strstr(out.data, "int f() { return pp; }"));
    assert_null(strstr(out.data, "\xe2\x96\xb6    2")); /* line 2 of main.cpp */
    kg_buf_deinit(&out);
    kg_record_deinit(&r);
}

static void the_locale_decides(void **state)
{
    (void)state;
    static const struct {
        const char *all, *ctype, *lang;
        bool unicode;
    } cases[] = {
        {NULL, NULL, NULL, false},
        {NULL, NULL, "en_US.UTF-8", true},
        {NULL, NULL, "C", false},
        {"C", NULL, "en_US.UTF-8", false},
        {"", "C.utf8", "C", true},
        {"C.UTF-8", "C", "C", true},
        {NULL, "de_DE.ISO-8859-1", "C.UTF-8", false},
    };
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *values[] = {cases[i].all, cases[i].ctype, cases[i].lang};
        for (int k = 0; k < 3; k++) {
            values[k] != NULL ? setenv(names[k], values[k], 1) : unsetenv(names[k]);
        }
        assert_int_equal(kg_card_unicode(), cases[i].unicode);
        struct kg_record r;
        struct kg_buf out;
        sample_record(&r, SAMPLE_OK, 0);
        kg_buf_init(&out, 1 << 20);
        kg_card_render(&r, false, 80, &out);
        assert_int_equal(strstr(out.data, "✔") != NULL, cases[i].unicode);
        kg_buf_deinit(&out);
        kg_record_deinit(&r);
    }
}

static void units_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } times[] = {{-1, "-"},
                 {0, "0 ns"},
                 {999, "999 ns"},
                 {1000, "1.00 us"},
                 {12345, "12.3 us"},
                 {999499, "999 us"},
                 {999500, "1.00 ms"},
                 {9996000, "10.0 ms"},
                 {2100000000, "2.10 s"},
                 {99999999999, "100 s"},
                 {200000000000, "3 min 20 s"}};
    static const struct {
        int64_t bytes;
        const char *text;
    } sizes[] = {{-1, "-"},
                 {999, "999 B"},
                 {1000, "0.977 KB"},
                 {1 << 20, "1.00 MB"},
                 {INT64_MAX, "8.00 EB"}};
    static const struct {
        double ratio;
        const char *text;
    } ratios[] = {{1, "1.000x"},     {1.0044, "1.004x"}, {2.5, "2.50x"},  {12, "12.0x"},
                  {0.05, "0.0500x"}, {150, "150x"},      {1e6, "1e+06x"}, {1e-7, "1e-07x"}};
    char out[KG_UNITS_LEN];
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        assert_string_equal(kg_units_time(times[i].ns, out), times[i].text);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_string_equal(kg_units_bytes(sizes[i].bytes, out), sizes[i].text);
    }
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        assert_string_equal(kg_units_ratio(ratios[i].ratio, out), ratios[i].text);
    }
}

static void a_pen_cuts_and_wraps(void **state)
{
    (void)state;
    struct kg_buf out;
    kg_buf_init(&out, 4096);
    struct kg_pen p = {.out = &out, .width = 10};
    kg_pen_put(&p, KG_PLAIN, "0123456789");
    kg_pen_line(&p);
    kg_pen_put(&p, KG_PLAIN, "0123456789a");
    kg_pen_line(&p);
    kg_pen_put(&p, KG_PLAIN, "漢漢漢漢漢漢");
    kg_pen_line(&p);
    kg_pen_to(&p, 2);
    kg_pen_wrap(&p, KG_PLAIN, 2, "one two  three 0123456789ab");
    kg_pen_line(&p);
    assert_string_equal(out.data, "0123456789\n"
                                  "012345678…\n"
                                  "漢漢漢漢 …\n"
                                  "  one two\n  three\n  01234567\n  89ab\n");
    kg_buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cards),
        cmocka_unit_test(golden_in_ascii),
        cmocka_unit_test(never_wider_than_the_width),
        cmocka_unit_test(odd_widths_are_brought_in),
        cmocka_unit_test(model_text_cannot_move_the_cursor),
        cmocka_unit_test(an_empty_record_has_a_card),
        cmocka_unit_test(samples_that_are_not_samples),
        cmocka_unit_test(samples_say_who_was_first),
        cmocka_unit_test(diagnostics_that_lie),
        cmocka_unit_test(evidence_is_shown_once_and_bounded),
        cmocka_unit_test(claims_are_no_measurement),
        cmocka_unit_test(bars_that_contradict_the_speed_up_are_explained),
        cmocka_unit_test(what_is_too_short_is_said_once),
        cmocka_unit_test(an_untimed_candidate_has_no_check_mark),
        cmocka_unit_test(a_cached_object_has_no_time),
        cmocka_unit_test(a_python_syntax_error_shows_its_line_and_a_mark),
        cmocka_unit_test(a_place_that_is_not_there_is_not_shown),
        cmocka_unit_test(shares_in_words),
        cmocka_unit_test(the_caret_is_where_the_error_is),
        cmocka_unit_test(an_extension_has_files_of_its_own),
        cmocka_unit_test(the_locale_decides),
        cmocka_unit_test(units_have_three_digits),
        cmocka_unit_test(a_pen_cuts_and_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
