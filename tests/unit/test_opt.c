#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/opt.h"
#include "base/rng.h"

struct config {
    bool staged;
    int64_t pairs;
    double half_width;
    char rewards[32];
    int method;
};

static const char *const methods[] = {"paired", "calibrated", NULL};
#define AT(f) offsetof(struct config, f), sizeof((struct config *)0)->f
static const struct kg_opt table[] = {
    {"staged", KG_OPT_BOOL, AT(staged), 0, 0, NULL, "true", "", "Stop at the first failing stage.",
     false, false},
    {"timing.pairs", KG_OPT_INT, AT(pairs), 1, 1000, NULL, "20", "", "Pairs per process.", false,
     false},
    {"timing.half_width", KG_OPT_REAL, AT(half_width), 0, 0.5, NULL, "0.02", "s",
     "Planned half-width of the interval; measuring stops early once it is reached, or later.",
     false, false},
    {"timing.method", KG_OPT_ENUM, AT(method), 0, 0, methods, "paired", "", "How to time.", false,
     false},
    {"rewards", KG_OPT_STRING, AT(rewards), 0, 0, NULL, "", "", "Reward presets, a|b.", false,
     false},
};
static const struct kg_opts opts = {.table = table, .n = sizeof table / sizeof *table};

static struct config fresh(void)
{
    struct config c;
    memset(&c, 0x5A, sizeof c);
    kg_opts_defaults(&opts, &c);
    return c;
}

static void expect_error(enum kg_code code, const struct kg_err *err, const char *message)
{
    assert_int_equal(code, KG_E_USAGE);
    assert_string_equal(err->message, message);
}

static void defaults_fill_every_field(void **state)
{
    (void)state;
    struct config c = fresh();
    assert_true(c.staged);
    assert_int_equal(c.pairs, 20);
    assert_true(c.half_width == 0.02);
    assert_string_equal(c.rewards, "");
    assert_int_equal(c.method, 0);
}

static void set_reads_each_type(void **state)
{
    (void)state;
    struct config c = fresh();
    struct kg_err err = KG_ERR_INIT;
    static const char *const yes[] = {"true", "yes", "on", "1", "True", "ON"};
    static const char *const no[] = {"false", "no", "off", "0", "False"};
    for (size_t i = 0; i < 6; i++) {
        c.staged = false;
        assert_int_equal(kg_opts_set(&opts, &c, "staged", yes[i], "t", &err), KG_OK);
        assert_true(c.staged);
    }
    for (size_t i = 0; i < 5; i++) {
        c.staged = true;
        assert_int_equal(kg_opts_set(&opts, &c, "staged", no[i], "t", &err), KG_OK);
        assert_false(c.staged);
    }
    assert_int_equal(kg_opts_set_pair(&opts, &c, "timing.pairs=1000", "t", &err), KG_OK);
    assert_int_equal(c.pairs, 1000);
    assert_int_equal(kg_opts_set_pair(&opts, &c, "timing.half_width=1e-3", "t", &err), KG_OK);
    assert_true(c.half_width == 1e-3);
    assert_int_equal(kg_opts_set_pair(&opts, &c, "rewards=a=b", "t", &err), KG_OK);
    assert_string_equal(c.rewards, "a=b");
    assert_int_equal(kg_opts_set_pair(&opts, &c, "rewards=", "t", &err), KG_OK);
    assert_string_equal(c.rewards, "");
    assert_int_equal(kg_opts_set_pair(&opts, &c, "timing.method=calibrated", "t", &err), KG_OK);
    assert_int_equal(c.method, 1);
}

static void set_refuses_and_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *pair, *message;
    } cases[] = {
        {"staged=maybe", "t: staged: `maybe` is not true or false"},
        {"staged=", "t: staged: `` is not true or false"},
        {"timing.pairs=abc", "t: timing.pairs: `abc` is not a whole number"},
        {"timing.pairs=", "t: timing.pairs: `` is not a whole number"},
        {"timing.pairs=2.5", "t: timing.pairs: `2.5` is not a whole number"},
        {"timing.pairs= 2", "t: timing.pairs: ` 2` is not a whole number"},
        {"timing.pairs=0x10", "t: timing.pairs: `0x10` is not a whole number"},
        {"timing.pairs=0", "t: timing.pairs: 0 is outside 1..1000"},
        {"timing.pairs=1001", "t: timing.pairs: 1001 is outside 1..1000"},
        {"timing.pairs=99999999999999999999",
         "t: timing.pairs: 99999999999999999999 is outside 1..1000"},
        {"timing.half_width=x", "t: timing.half_width: `x` is not a number"},
        {"timing.half_width=nan", "t: timing.half_width: `nan` is not a number"},
        {"timing.half_width=inf", "t: timing.half_width: `inf` is not a number"},
        {"timing.half_width=0x1p-3", "t: timing.half_width: `0x1p-3` is not a number"},
        {"timing.half_width=0.6", "t: timing.half_width: 0.6 is outside 0..0.5 s"},
        {"timing.half_width=1e999", "t: timing.half_width: 1e999 is outside 0..0.5 s"},
        {"timing.half_width=-0.1", "t: timing.half_width: -0.1 is outside 0..0.5 s"},
        {"timing.method=calibratd", "t: timing.method: `calibratd` is not one of paired, "
                                    "calibrated; did you mean `calibrated`?"},
        {"timing.method=", "t: timing.method: `` is not one of paired, calibrated"},
        {"rewards=0123456789012345678901234567890123", "t: rewards: longer than 31 bytes"},
        {"rewards=a\nb", "t: rewards: holds a control character or invalid UTF-8"},
        {"rewards=\xff", "t: rewards: holds a control character or invalid UTF-8"},
        {"timing.pars=3", "t: unknown option `timing.pars`, did you mean `timing.pairs`?"},
        {"nothing.like.it=3", "t: unknown option `nothing.like.it`"},
        {"=3", "t: unknown option ``"},
        {"staged", "t: `staged` is not of the form key=value"},
    };
    struct config c = fresh(), before = c;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_err err = KG_ERR_INIT;
        expect_error(kg_opts_set_pair(&opts, &c, cases[i].pair, "t", &err), &err, cases[i].message);
        assert_memory_equal(&c, &before, sizeof c);
    }
}

static enum kg_code read_with(const struct kg_opts *o, const char *text, struct config *c,
                              struct kg_err *err)
{
    char path[] = "/tmp/kgym-test-opt-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(kg_file_write_all(fd, text, strlen(text), err), KG_OK);
    close(fd);
    enum kg_code code = kg_opts_yaml(o, c, path, err);
    unlink(path);
    /* Messages begin with the path; drop what is random in it. */
    size_t n = strlen(path);
    if (strncmp(err->message, path, n) == 0) {
        memmove(err->message, err->message + n, strlen(err->message + n) + 1);
    }
    return code;
}

static enum kg_code read_yaml(const char *text, struct config *c, struct kg_err *err)
{
    return read_with(&opts, text, c, err);
}

static void yaml_nested_and_dotted(void **state)
{
    (void)state;
    struct config c = fresh();
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(read_yaml("staged: n\n"
                               "timing:\n"
                               "  pairs: 7\n"
                               "  half_width: 0.1\n"
                               "timing.method: calibrated\n"
                               "rewards: [prs, pr]\n",
                               &c, &err),
                     KG_E_USAGE);
    assert_string_equal(err.message, ":1: staged: `n` is not true or false");
    c = fresh();
    assert_int_equal(read_yaml("staged: no\n"
                               "timing:\n"
                               "  pairs: 7\n"
                               "  half_width: 0.1\n"
                               "timing.method: calibrated\n"
                               "rewards: [prs, pr]\n",
                               &c, &err),
                     KG_OK);
    assert_false(c.staged);
    assert_int_equal(c.pairs, 7);
    assert_true(c.half_width == 0.1);
    assert_int_equal(c.method, 1);
    assert_string_equal(c.rewards, "prs,pr");
    assert_int_equal(read_yaml("# all defaults\ntiming:\n", &c, &err), KG_OK);
    assert_int_equal(read_yaml("", &c, &err), KG_OK);
}

static void yaml_errors_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        enum kg_code code;
    } cases[] = {
        {"\ntiming: {pars: 3}\n", ":2: unknown option `timing.pars`, did you mean `timing.pairs`?",
         KG_E_USAGE},
        {"timing: 3\n", ":1: unknown option `timing`", KG_E_USAGE},
        {"timing.pairs: {x: 1}\n",
         ":1: unknown option `timing.pairs.x`, did you mean "
         "`timing.pairs`?",
         KG_E_USAGE},
        {"timing.pairs: [1]\n", ":1: timing.pairs: a list, but one value is wanted", KG_E_USAGE},
        {"rewards: [[a]]\n", ":1: a list here holds words without commas", KG_E_USAGE},
        {"rewards: ['a,b']\n", ":1: a list here holds words without commas", KG_E_USAGE},
        {"rewards: [aaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbb]\n",
         ":1: rewards: longer than 31 bytes", KG_E_USAGE},
        {"timing.pairs: 1\ntiming:\n  pairs: 2\n", ":3: timing.pairs: set twice (first on line 1)",
         KG_E_USAGE},
        {"a: &x 1\n", ":1: anchors (&name) are not supported", KG_E_INPUT},
        {"- a\n", ":1: not a map of options (key: value)", KG_E_INPUT},
        {"word\n", ":1: not a map of options (key: value)", KG_E_INPUT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config c = fresh();
        struct kg_err err = KG_ERR_INIT;
        assert_int_equal(read_yaml(cases[i].text, &c, &err), cases[i].code);
        assert_string_equal(err.message, cases[i].message);
    }
    struct config c = fresh();
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_opts_yaml(&opts, &c, "/absent.yaml", &err), KG_E_NOT_FOUND);
    assert_string_equal(err.message, "/absent.yaml: cannot open: No such file or directory");
}

/* Keys that begin with "more." are taken beside the table; each value is kept with its number. */
static char taken[200];
static enum kg_code take(void *config, const char *key, size_t i, const char *value,
                         const char *source, bool *is_taken, struct kg_err *err)
{
    size_t n = strlen(taken);
    (void)config;
    *is_taken = strncmp(key, "more.", 5) == 0;
    if (*is_taken && strcmp(value, "bad") == 0) {
        return kg_fail(err, KG_E_USAGE, "%s: bad", source);
    }
    if (*is_taken) {
        snprintf(taken + n, sizeof taken - n, "%s[%zu]=%s;", key + 5, i, value);
    }
    return KG_OK;
}

static void keys_beside_the_table(void **state)
{
    (void)state;
    const struct kg_opts with = {.table = opts.table, .n = opts.n, .other = take};
    static const struct {
        const char *text, *taken, *message;
    } cases[] = {
        {"more: {a: 1}\ntiming.pairs: 3\nmore.b: [x, 'y,z']\n", "a[0]=1;b[0]=x;b[1]=y,z;", ""},
        {"more.a: bad\n", "", ":1: bad"},
        {"more.a: [1, bad]\n", "a[0]=1;", ":1: bad"},
        {"more.a: []\n", "", ":1: more.a: an empty list"},
        {"more.a: [[1]]\n", "", ":1: more.a: a list here holds words"},
        {"timing.pars: [1]\n", "",
         ":1: unknown option `timing.pars`, did you mean `timing.pairs`?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config c = fresh();
        struct kg_err err = KG_ERR_INIT;
        taken[0] = '\0';
        assert_int_equal(read_with(&with, cases[i].text, &c, &err),
                         cases[i].message[0] == '\0' ? KG_OK : KG_E_USAGE);
        assert_string_equal(taken, cases[i].taken);
        assert_string_equal(err.message, cases[i].message);
    }
    struct config c = fresh();
    struct kg_err err = KG_ERR_INIT;
    taken[0] = '\0';
    assert_int_equal(kg_opts_set_pair(&with, &c, "more.x=1=2", "t", &err), KG_OK);
    assert_string_equal(taken, "x[0]=1=2;");
    expect_error(kg_opts_set_pair(&with, &c, "mor.x=1", "t", &err), &err,
                 "t: unknown option `mor.x`");
}

static enum kg_code from_environ(const char *entry, struct config *c, struct kg_err *err)
{
    char text[200];
    snprintf(text, sizeof text, "%s", entry);
    char other[] = "PATH=/bin", *list[] = {other, text, NULL};
    return kg_opts_environ(&opts, c, list, err);
}

static void environment(void **state)
{
    (void)state;
    struct config c = fresh();
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(from_environ("KGYM_TIMING_HALF_WIDTH=0.3", &c, &err), KG_OK);
    assert_true(c.half_width == 0.3);
    assert_int_equal(from_environ("KGYM_STAGED=off", &c, &err), KG_OK);
    assert_false(c.staged);
    assert_int_equal(from_environ("KGYM_LOG=debug", &c, &err), KG_OK);
    assert_int_equal(from_environ("KGYM_TIMING=debug", &c, &err), KG_OK);
    assert_int_equal(from_environ("KGYM_STAGED", &c, &err), KG_OK);
    expect_error(from_environ("KGYM_TIMING_PAIRS=x", &c, &err), &err,
                 "environment KGYM_TIMING_PAIRS: timing.pairs: `x` is not a whole number");
    expect_error(from_environ("KGYM_TIMING_PARS=3", &c, &err), &err,
                 "environment KGYM_TIMING_PARS: no option of this name, did you mean "
                 "`KGYM_TIMING_PAIRS`?");
}

static enum kg_code flag(const char *a, const char *b, struct config *c, int *used,
                         struct kg_err *err)
{
    char words[2][80];
    snprintf(words[0], sizeof words[0], "%s", a);
    snprintf(words[1], sizeof words[1], "%s", b == NULL ? "" : b);
    char *argv[] = {words[0], words[1], NULL};
    return kg_opts_flag(&opts, c, b == NULL ? 1 : 2, argv, 0, used, err);
}

static void flags(void **state)
{
    (void)state;
    struct config c = fresh();
    struct kg_err err = KG_ERR_INIT;
    int used;
    assert_int_equal(flag("--timing-pairs", "7", &c, &used, &err), KG_OK);
    assert_int_equal(used, 2);
    assert_int_equal(c.pairs, 7);
    assert_int_equal(flag("--timing-pairs=8", "9", &c, &used, &err), KG_OK);
    assert_int_equal(used, 1);
    assert_int_equal(c.pairs, 8);
    assert_int_equal(flag("--no-staged", "x", &c, &used, &err), KG_OK);
    assert_int_equal(used, 1);
    assert_false(c.staged);
    assert_int_equal(flag("--staged", "false.c", &c, &used, &err), KG_OK);
    assert_int_equal(used, 1);
    assert_true(c.staged);
    assert_int_equal(flag("--staged=no", NULL, &c, &used, &err), KG_OK);
    assert_false(c.staged);
    assert_int_equal(flag("--rewards=", NULL, &c, &used, &err), KG_OK);
    assert_int_equal(used, 1);
    /* Each of these is somebody else's word. */
    static const char *const foreign[] = {"--json",           "-s",       "--",
                                          "problem",          "",         "--no-timing-pairs",
                                          "--timing.pairs=3", "--timing", "--timing-pairs-x"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        used = 5;
        assert_int_equal(flag(foreign[i], "3", &c, &used, &err), KG_OK);
        assert_int_equal(used, 0);
    }
}

static void flag_errors(void **state)
{
    (void)state;
    struct config c = fresh();
    struct kg_err err = KG_ERR_INIT;
    int used;
    expect_error(flag("--timing-pairs", NULL, &c, &used, &err), &err,
                 "command line: --timing-pairs needs a value");
    expect_error(flag("--timing-pairs=", NULL, &c, &used, &err), &err,
                 "command line: timing.pairs: `` is not a whole number");
    expect_error(flag("--no-staged=1", NULL, &c, &used, &err), &err,
                 "command line: --no-staged takes no value");
    static const char *const booleans[][3] = {{"--staged", "false", "--no-staged"},
                                              {"--staged", "OFF", "--no-staged"},
                                              {"--staged", "on", "--staged"},
                                              {"--no-staged", "yes", "--no-staged"},
                                              {"--no-staged", "false", "--staged"}};
    for (size_t i = 0; i < sizeof booleans / sizeof *booleans; i++) {
        char says[120];
        snprintf(says, sizeof says, "command line: %s takes no word after it (`%s`); write `%s`",
                 booleans[i][0], booleans[i][1], booleans[i][2]);
        expect_error(flag(booleans[i][0], booleans[i][1], &c, &used, &err), &err, says);
    }
    expect_error(flag("--timing-pairs", "--json", &c, &used, &err), &err,
                 "command line: timing.pairs: `--json` is not a whole number");
}

static void nearest_flag(void **state)
{
    (void)state;
    char out[KG_OPT_KEY_MAX + 2];
    kg_opts_nearest_flag(&opts, "--timing-pars=3", out, sizeof out);
    assert_string_equal(out, "--timing-pairs");
    kg_opts_nearest_flag(&opts, "--stagd", out, sizeof out);
    assert_string_equal(out, "--staged");
    kg_opts_nearest_flag(&opts, "--zzzzzz", out, sizeof out);
    assert_string_equal(out, "");
}

static void dump_golden(void **state)
{
    (void)state;
    struct config c = fresh();
    struct kg_buf b;
    kg_buf_init(&b, 10000);
    snprintf(c.rewards, sizeof c.rewards, "a \"b\" \\ #c: ");
    kg_opts_dump(&opts, &c, false, &b);
    assert_string_equal(b.data, "staged: true\n"
                                "timing.pairs: 20\n"
                                "timing.half_width: 0.02\n"
                                "timing.method: paired\n"
                                "rewards: \"a \\\"b\\\" \\\\ #c: \"\n");
    kg_buf_reset(&b);
    kg_opts_dump(&opts, &c, true, &b);
    assert_non_null(strstr(b.data, "# Pairs per process. (1..1000)\ntiming.pairs: 20\n\n"));
    assert_non_null(strstr(b.data, "# How to time. (paired, calibrated)\n"));
    kg_buf_deinit(&b);
}

static void dump_reads_back(void **state)
{
    (void)state;
    print_message("seed 21,22\n");
    struct kg_rng r;
    kg_rng_init(&r, (struct kg_key){{21, 22}}, 0);
    static const char letters[] = "ab \"'\\#:,{}[]&*!|>%@`-?~\xc3\xa9";
    for (int i = 0; i < 300; i++) {
        struct config c = fresh(), back = fresh();
        struct kg_err err = KG_ERR_INIT;
        char text[20] = "";
        size_t n = kg_rng_below(&r, sizeof text - 2);
        for (size_t k = 0; k < n; k++) {
            text[k] = letters[kg_rng_below(&r, sizeof letters - 3)];
        }
        c.staged = kg_rng_below(&r, 2);
        c.pairs = 1 + (int64_t)kg_rng_below(&r, 1000);
        c.half_width = kg_rng_unit(&r) / 2;
        c.method = (int)kg_rng_below(&r, 2);
        assert_int_equal(kg_opts_set(&opts, &c, "rewards", text, "t", &err), KG_OK);
        struct kg_buf b;
        kg_buf_init(&b, 10000);
        kg_opts_dump(&opts, &c, i % 2 == 0, &b);
        assert_int_equal(read_yaml(b.data, &back, &err), KG_OK);
        assert_memory_equal(&c.pairs, &back.pairs, sizeof c.pairs);
        assert_true(c.half_width == back.half_width);
        assert_int_equal(c.staged, back.staged);
        assert_int_equal(c.method, back.method);
        assert_string_equal(c.rewards, back.rewards);
        kg_buf_deinit(&b);
    }
    kg_rng_deinit(&r);
}

static void help_golden(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 10000);
    kg_opts_help(&opts, &b);
    assert_string_equal(b.data,
                        "  --[no-]staged               Stop at the first failing stage. [true]\n"
                        "\n"
                        "  --timing-pairs N            Pairs per process. [20; 1..1000]\n"
                        "  --timing-half-width X       Planned half-width of the interval; "
                        "measuring stops early once "
                        "it\n"
                        "                              is reached, or later. [0.02; 0..0.5 s]\n"
                        "  --timing-method NAME        How to time. [paired; paired, calibrated]\n"
                        "\n"
                        "  --rewards TEXT              Reward presets, a|b. [empty]\n");
    kg_buf_deinit(&b);
}

static void markdown_golden(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 10000);
    kg_opts_markdown(&opts, &b);
    assert_non_null(strstr(b.data, "| key | flag | environment | values | default | meaning |\n"));
    assert_non_null(strstr(b.data, "| `timing.pairs` | `--timing-pairs N` | `KGYM_TIMING_PAIRS` | "
                                   "integer 1..1000 | `20` | Pairs per process. |\n"));
    assert_non_null(strstr(b.data, "| `rewards` | `--rewards TEXT` | `KGYM_REWARDS` | text |  | "
                                   "Reward presets, a\\|b. |\n"));
    kg_buf_deinit(&b);
}

/* Each broken table must stop the program that ships it. */
static void broken_tables_are_bugs(void **state)
{
    (void)state;
    static const struct kg_opt good = {"timing.pairs", KG_OPT_INT, AT(pairs), 1, 9, NULL, "2", "",
                                       "Help.",        false,      false};
    struct kg_opt bad[8][2];
    for (int i = 0; i < 8; i++) {
        bad[i][0] = good;
        bad[i][1] = table[0];
    }
    bad[1][0].def = "10";        /* outside its range */
    bad[2][0].size = 4;          /* no int64_t */
    bad[3][0].key = "staged";    /* twice */
    bad[4][0].key = "no_staged"; /* the flag that switches `staged` off */
    bad[5][0].key = "Timing";    /* not lower case */
    bad[6][0].lo = 10;           /* empty range */
    bad[7][0].help = NULL;
    for (int i = 0; i < 8; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct config c;
            if (freopen("/dev/null", "w", stderr) == NULL) {
                _exit(2);
            }
            kg_opts_defaults(&(struct kg_opts){.table = bad[i], .n = 2}, &c);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        assert_int_equal(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, i > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_fill_every_field),
        cmocka_unit_test(set_reads_each_type),
        cmocka_unit_test(set_refuses_and_changes_nothing),
        cmocka_unit_test(yaml_nested_and_dotted),
        cmocka_unit_test(yaml_errors_name_the_line),
        cmocka_unit_test(keys_beside_the_table),
        cmocka_unit_test(environment),
        cmocka_unit_test(flags),
        cmocka_unit_test(flag_errors),
        cmocka_unit_test(nearest_flag),
        cmocka_unit_test(dump_golden),
        cmocka_unit_test(dump_reads_back),
        cmocka_unit_test(help_golden),
        cmocka_unit_test(markdown_golden),
        cmocka_unit_test(broken_tables_are_bugs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
