/* The corpora of tests/hostile and tests/honest: their blocks, their counts, and how every
 * candidate ends. The controls, the speed-ups and the host's state are tests/corpus.sh's part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "gym/batch/batch.h"
#include "gym/record/record.h"
#include "tests/support/fixture.h"

static struct fixture *hostile, *honest;
static size_t nhostile, nhonest;
static struct kg_buf page; /* docs/hacks.md */

static int load(void **state)
{
    (void)state;
    const char *tree = getenv("KGYM_TREE");
    char path[512];
    struct kg_err err = KG_ERR_INIT;
    setenv("KGYM_HOME", getenv("KGYM_BUILD"), 1);
    hostile = fixture_load(tree, "hostile", &nhostile);
    honest = fixture_load(tree, "honest", &nhonest);
    kg_buf_init(&page, 1 << 20);
    snprintf(path, sizeof path, "%s/docs/hacks.md", tree);
    if (kg_file_read(path, &page, &err) != KG_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    return hostile && honest ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    free(hostile);
    free(honest);
    kg_buf_deinit(&page);
    return 0;
}

static void test_there_are_enough_and_few_of_a_kind(void **state)
{
    (void)state;
    assert_true(nhostile >= 75);
    assert_true(nhonest >= 40);
    for (size_t i = 0; i < nhostile; i++) {
        int same = 0;
        for (size_t k = 0; k < nhostile; k++) {
            same += strcmp(hostile[i].entry, hostile[k].entry) == 0;
        }
        if (same > 4) {
            fail_msg("entry %s has %d fixtures, more than four", hostile[i].entry, same);
        }
    }
}

static bool has_fixture(const char *entry)
{
    for (size_t i = 0; i < nhostile; i++) {
        if (strcmp(hostile[i].entry, entry) == 0) {
            return true;
        }
    }
    return false;
}

static void test_every_entry_has_a_fixture_or_a_reason(void **state)
{
    (void)state;
    static const struct {
        char group;
        int n;
    } catalogue[] = {{'A', 9}, {'B', 17}, {'C', 9}, {'D', 13}, {'E', 15}, {'F', 6}};
    for (size_t g = 0; g < sizeof catalogue / sizeof *catalogue; g++) {
        for (int i = 1; i <= catalogue[g].n; i++) {
            char entry[8], row[16];
            snprintf(entry, sizeof entry, "%c%d", catalogue[g].group, i);
            snprintf(row, sizeof row, "\n| %s ", entry);
            const char *at = strstr(page.data, row);
            const char *end = at ? strchr(at + 1, '\n') : NULL;
            if (!end) {
                fail_msg("docs/hacks.md has no row for %s", entry);
            }
            const char *none = strstr(at, "none: ");
            bool reason = none && none < end;
            if (reason == has_fixture(entry)) {
                fail_msg("%s: docs/hacks.md %s", entry,
                         reason ? "says that there is no fixture, but there is"
                                : "gives no reason why there is no fixture");
            }
        }
    }
}

static void assert_in_page(const struct fixture *f)
{
    char name[80];
    snprintf(name, sizeof name, "`%s`", f->name);
    if (!strstr(page.data, name)) {
        fail_msg("docs/hacks.md does not name %s", f->name);
    }
}

static void test_every_fixture_is_in_the_documentation(void **state)
{
    (void)state;
    for (size_t i = 0; i < nhostile; i++) {
        assert_in_page(&hostile[i]);
    }
    for (size_t i = 0; i < nhonest; i++) {
        assert_in_page(&honest[i]);
    }
}

static void test_a_malformed_block_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "int x;\n",
        "/*---fixture\nproblem: silu\n",
        "/*---fixture\nproblem: silu\nentry: C1\nwhat: w\ncontrol: naive\ncolour: red\n---*/\n",
        "/*---fixture\nproblem: silu\nentry: C1\nwhat: w\ncontrol: naive\n---*/\n",
        "/*---fixture\nproblem: silu\nentry: C1\nwhat: w\ncontrol: trust me\nexpect: "
        "crash/exit\n---*/\n",
        "/*---fixture\nproblem: silu\nentry: C1\nwhat: w\ncontrol: naive\nexpect: ok\n---*/\n",
    };
    struct kg_err err = KG_ERR_INIT;
    char tree[256], path[300];
    size_t n;
    snprintf(tree, sizeof tree, "%s/test-fixtures", getenv("KGYM_BUILD"));
    snprintf(path, sizeof path, "%s/tests/hostile", tree);
    assert_int_equal(kg_file_mkdirs(path, 0755, &err), KG_OK);
    snprintf(path, sizeof path, "%s/tests/hostile/one.c", tree);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(bad[i], f);
        fclose(f);
        assert_null(fixture_load(tree, "hostile", &n));
    }
    assert_int_equal(kg_file_remove_tree(tree, &err), KG_OK);
}

/* Batch input of those fixtures for which want holds. */
static size_t write_input(const char *path, const struct fixture *f, size_t n,
                          bool (*want)(const struct fixture *))
{
    FILE *out = fopen(path, "w");
    size_t lines = 0;
    assert_non_null(out);
    for (size_t i = 0; i < n; i++) {
        if (want(&f[i])) {
            fprintf(out, "{\"id\": \"%s\", \"problem\": \"%s\", \"source_file\": \"%s\"}\n",
                    f[i].name, f[i].problem, f[i].path);
            lines++;
        }
    }
    fclose(out);
    return lines;
}

static const struct fixture *find(const struct fixture *f, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(f[i].name, name) == 0) {
            return &f[i];
        }
    }
    fail_msg("no fixture `%s`", name);
    return NULL;
}

/* Returns 1 where the record's verdict is not one that the fixture expects. */
static int judge_line(const struct fixture *f, size_t n, const char *line, size_t len)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_record r;
    json_t *j;
    assert_int_equal(kg_json_parse(line, len, "record", &j, &err), KG_OK);
    assert_int_equal(kg_record_parse(j, &r, &err), KG_OK);
    json_decref(j);
    const struct fixture *one = find(f, n, r.batch_id);
    const char *verdict = r.verdict ? kg_verdict_name(r.verdict) : "none";
    bool as_expected = fixture_expects(one, verdict, r.reason);
    if (!as_expected && one->known[0] && r.verdict == KG_V_OK) {
        print_message("%s: a gap that is known: %s\n", one->name, one->known);
        as_expected = true;
    }
    if (!as_expected) {
        print_error("%s (%s): %s%s%s, expected %s: %s\n", one->name, one->entry, verdict,
                    r.reason ? "/" : "", r.reason ? r.reason : "", one->expect,
                    r.has_error ? r.error.message
                    : r.message ? r.message
                                : "");
    }
    if (one->hostile && r.output.stderr_text && strstr(r.output.stderr_text, "ESCAPED")) {
        print_error("%s: %s\n", one->name, r.output.stderr_text);
        as_expected = false;
    }
    kg_record_deinit(&r);
    return !as_expected;
}

static void judge(const char *what, const struct fixture *f, size_t n,
                  bool (*want)(const struct fixture *), struct kg_config *config,
                  enum kg_stage stop)
{
    char in[300], out[300];
    struct kg_err err = KG_ERR_INIT;
    struct kg_batch_result res;
    struct kg_buf text;
    int cpus[2], wrong = 0;
    snprintf(in, sizeof in, "%s/test-corpus-%s.in.jsonl", getenv("KGYM_BUILD"), what);
    snprintf(out, sizeof out, "%s/test-corpus-%s.out.jsonl", getenv("KGYM_BUILD"), what);
    remove(out);
    size_t lines = write_input(in, f, n, want);
    struct kg_batch_spec spec = {
        .in = in, .out = out, .jobs = kg_worker_cores(cpus, 2), .stop_after = stop};
    if (kg_batch_run(config, &spec, &res, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    kg_buf_init(&text, 64u << 20);
    assert_int_equal(kg_file_read(out, &text, &err), KG_OK);
    size_t seen = 0;
    for (const char *at = text.data, *nl; (nl = strchr(at, '\n')) != NULL; at = nl + 1, seen++) {
        wrong += judge_line(f, n, at, (size_t)(nl - at));
    }
    kg_buf_deinit(&text);
    assert_int_equal(seen, lines);
    assert_int_equal(wrong, 0);
}

static void defaults(struct kg_config *config)
{
    kg_opts_defaults(kg_config_options(), config);
    snprintf(config->cache, sizeof config->cache, "%s/test-cache", getenv("KGYM_BUILD"));
}

static bool is_any(const struct fixture *f)
{
    return f->name[0] != 0;
}

static bool is_caught_untimed(const struct fixture *f)
{
    return !f->needs_timing;
}

static bool is_caught_timed(const struct fixture *f)
{
    return f->needs_timing;
}

static void test_every_honest_one_is_ok(void **state)
{
    (void)state;
    struct kg_config config;
    defaults(&config);
    judge("honest", honest, nhonest, is_any, &config, KG_ST_FULL);
}

static void test_every_hostile_one_is_caught(void **state)
{
    (void)state;
    struct kg_config config;
    defaults(&config);
    config.deadline_compile = 8;
    config.deadline_run = 4;
    judge("hostile", hostile, nhostile, is_caught_untimed, &config, KG_ST_FULL);
}

static void test_tricks_in_timed_calls_are_caught(void **state)
{
    (void)state;
    struct kg_config config;
    defaults(&config);
    config.timing_processes = config.timing_min_processes = 2;
    config.timing_pairs = 5;
    judge("timed", hostile, nhostile, is_caught_timed, &config, KG_ST_PROFILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_are_enough_and_few_of_a_kind),
        cmocka_unit_test(test_every_entry_has_a_fixture_or_a_reason),
        cmocka_unit_test(test_every_fixture_is_in_the_documentation),
        cmocka_unit_test(test_a_malformed_block_is_refused),
        cmocka_unit_test(test_every_honest_one_is_ok),
        cmocka_unit_test(test_every_hostile_one_is_caught),
        cmocka_unit_test(test_tricks_in_timed_calls_are_caught),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
