/* The corpora of tests/hostile and tests/honest: their blocks, their counts, and how every honest
 * candidate ends, and every hostile one whose trick begins in timed calls. test_corpus_hostile has
 * the others. The controls, the speed-ups and the host's state are tests/corpus.sh's part. */
#include "corpus_rig.h"

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

static bool is_any(const struct fixture *f)
{
    return f->name[0] != 0;
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
        cmocka_unit_test(test_tricks_in_timed_calls_are_caught),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
