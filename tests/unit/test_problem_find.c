#include <sys/stat.h>
#include <unistd.h>

#include "problem_text.h"

#include "base/file.h"

static char root[64];

static void write_file(const char *path, const char *text)
{
    char whole[256];
    struct kg_err err = KG_ERR_INIT;
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    char *slash = strrchr(whole, '/');
    *slash = '\0';
    assert_int_equal(kg_file_mkdirs(whole, 0755, &err), KG_OK);
    *slash = '/';
    assert_int_equal(kg_file_write_atomic(whole, text, strlen(text), &err), KG_OK);
}

static int make_suites(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/kgym-test-problem-XXXXXX");
    assert_non_null(mkdtemp(root));
    write_file("one/level1/relu.c", MATMUL);
    write_file("one/level1/softmax.c", MATMUL);
    write_file("one/level2/relu6.c", MATMUL);
    write_file("one/level2/notes.txt", "no problem");
    write_file("one/.hidden/ghost.c", MATMUL);
    write_file("two/softmax.c", MATMUL);
    write_file("two/scan.c", MATMUL);
    write_file("twice/a/scan.c", MATMUL);
    write_file("twice/b/scan.c", MATMUL);
    write_file("a.c/b.c", "not a problem");
    char loop[128];
    snprintf(loop, sizeof loop, "%s/two/loop", root);
    assert_int_equal(symlink("..", loop), 0);
    return 0;
}

static int remove_suites(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return kg_file_remove_tree(root, &err) == KG_OK ? 0 : -1;
}

static const char *suite(const char *name, char out[128])
{
    snprintf(out, 128, "%s/%s", root, name);
    return out;
}

static void load_reads_a_file(void **state)
{
    (void)state;
    char path[128];
    struct kg_problem *p;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_problem_load(suite("one/level1/relu.c", path), &p, &err), KG_OK);
    assert_string_equal(p->suite, "level1");
    assert_string_equal(p->path, path);
    kg_problem_destroy(p);
    assert_int_equal(kg_problem_load(suite("one/level1/../level2/relu6.c", path), &p, &err), KG_OK);
    assert_string_equal(p->suite, "level2");
    kg_problem_destroy(p);
    assert_int_equal(kg_problem_load(suite("one/level1/none.c", path), &p, &err), KG_E_NOT_FOUND);
    assert_null(p);
    assert_non_null(strstr(err.message, "one/level1/none.c"));
    assert_int_equal(kg_problem_load(suite("one", path), &p, &err), KG_E_IO);
    assert_null(p);
}

static void suite_of_a_bare_name(void **state)
{
    (void)state;
    char folder[128], back[4096];
    struct kg_problem *p;
    struct kg_err err = KG_ERR_INIT;
    assert_non_null(getcwd(back, sizeof back));
    assert_int_equal(chdir(suite("one/level1", folder)), 0);
    assert_int_equal(kg_problem_load("relu.c", &p, &err), KG_OK);
    assert_string_equal(p->suite, "level1");
    kg_problem_destroy(p);
    assert_int_equal(kg_problem_load("../level2/relu6.c", &p, &err), KG_OK);
    assert_string_equal(p->suite, "level2");
    kg_problem_destroy(p);
    assert_int_equal(kg_problem_load("../relu6.c", &p, &err), KG_E_NOT_FOUND);
    assert_int_equal(kg_problem_parse(MATMUL, strlen(MATMUL), "/t.c", &p, &err), KG_OK);
    assert_string_equal(p->suite, "");
    kg_problem_destroy(p);
    assert_int_equal(chdir(back), 0);
}

static void a_file_too_large_is_the_problems_defect(void **state)
{
    (void)state;
    char path[128];
    struct kg_problem *p;
    struct kg_err err = KG_ERR_INIT;
    char *large = calloc(1, KG_MAX_SOURCE_BYTES + 2);
    memset(large, ' ', KG_MAX_SOURCE_BYTES + 1);
    write_file("large/x.c", large);
    free(large);
    assert_int_equal(kg_problem_load(suite("large/x.c", path), &p, &err), KG_E_PROBLEM);
    assert_int_equal(err.blame, KG_BLAME_PROBLEM);
    assert_non_null(strstr(err.message, "limit of 262144 bytes"));
}

static void find(void **state)
{
    (void)state;
    char one[128], two[128], want[256], path[256];
    const char *suites[] = {suite("one", one), suite("two", two)};
    static const struct {
        const char *name, *want;
    } CASES[] = {{"relu", "one/level1/relu.c"},
                 {"relu6", "one/level2/relu6.c"},
                 {"softmax", "one/level1/softmax.c"}, /* the first suite wins */
                 {"scan", "two/scan.c"}};
    for (size_t k = 0; k < COUNT(CASES); k++) {
        struct kg_err err = KG_ERR_INIT;
        if (kg_problem_find(CASES[k].name, suites, 2, path, sizeof path, &err) != KG_OK) {
            fail_msg("%s", err.message);
        }
        assert_string_equal(path, suite(CASES[k].want, want));
    }
    struct kg_err err = KG_ERR_INIT;
    suite("two/scan.c", want);
    assert_int_equal(kg_problem_find(want, suites, 2, path, sizeof path, &err), KG_OK);
    assert_string_equal(path, want);
}

static void find_refuses(void **state)
{
    (void)state;
    char one[128], two[128], twice[128], none[128], want[480], path[256];
    const char *suites[] = {suite("one", one), suite("two", two)};
    static const struct {
        const char *name, *want;
        enum kg_code code;
    } CASES[] = {
        {"rleu", "no problem 'rleu' in the suites (did you mean 'relu'?)", KG_E_NOT_FOUND},
        {"ghost", "no problem 'ghost' in the suites (they hold 5; `kgym problems` lists them)",
         KG_E_NOT_FOUND},
        {"x\033[2J", "no problem 'x?[2J' in the suites (they hold 5; `kgym problems` lists them)",
         KG_E_NOT_FOUND},
        {"none.c", "none.c: no such problem file", KG_E_NOT_FOUND},
        {"./none", "./none: no such problem file", KG_E_NOT_FOUND},
        {"", "problem '': not a name or a path", KG_E_USAGE},
    };
    struct kg_err err = KG_ERR_INIT;
    for (size_t k = 0; k < COUNT(CASES); k++) {
        assert_int_equal(kg_problem_find(CASES[k].name, suites, 2, path, sizeof path, &err),
                         CASES[k].code);
        assert_string_equal(err.message, CASES[k].want);
    }
    suites[0] = suite("twice", twice);
    assert_int_equal(kg_problem_find("scan", suites, 1, path, sizeof path, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "problem 'scan' is ambiguous: "));
    suites[0] = suite("none", none);
    assert_int_equal(kg_problem_find("scan", suites, 1, path, sizeof path, &err), KG_E_NOT_FOUND);
    snprintf(want, sizeof want,
             "%s: cannot read this folder of problems: No such file or directory", none);
    assert_string_equal(err.message, want);
    assert_int_equal(kg_problem_find("relu", (const char *const[]){one}, 1, path, 8, &err),
                     KG_E_LIMIT);
}

static void list(void **state)
{
    (void)state;
    char one[128], two[128], want[128];
    const char *suites[] = {suite("two", two), suite("one", one)};
    static const char *const WANT[] = {"one/level1/relu.c", "one/level2/relu6.c", "two/scan.c",
                                       "one/level1/softmax.c", "two/softmax.c"};
    char **paths;
    size_t n;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_problem_list(suites, 2, &paths, &n, &err), KG_OK);
    assert_int_equal(n, COUNT(WANT));
    for (size_t k = 0; k < n; k++) {
        assert_string_equal(paths[k], suite(WANT[k], want));
        free(paths[k]);
    }
    free(paths);
    suites[1] = "/nonexistent";
    assert_int_equal(kg_problem_list(suites, 2, &paths, &n, &err), KG_E_NOT_FOUND);
    assert_null(paths);
    assert_int_equal(kg_problem_list(suites, 0, &paths, &n, &err), KG_OK);
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_reads_a_file),
        cmocka_unit_test(suite_of_a_bare_name),
        cmocka_unit_test(a_file_too_large_is_the_problems_defect),
        cmocka_unit_test(find),
        cmocka_unit_test(find_refuses),
        cmocka_unit_test(list),
    };
    return cmocka_run_group_tests(tests, make_suites, remove_suites);
}
