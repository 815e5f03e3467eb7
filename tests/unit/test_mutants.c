/* The planted faults of tests/mutants stay usable: each patch applies to the tree, says what it
 * breaks and names test programs that exist. That the tests notice each is what `make mutants`
 * shows. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

#define LEAST 20
#define MOST  1000

static char *names[MOST];
static int nnames;

static const char *tree(void)
{
    const char *at = getenv("KGYM_TREE");
    return at != NULL ? at : ".";
}

static int is_patch(const struct dirent *e)
{
    size_t n = strlen(e->d_name);
    return n > 6 && strcmp(e->d_name + n - 6, ".patch") == 0;
}

static int list_patches(void **state)
{
    (void)state;
    char folder[600];
    struct dirent **found;
    snprintf(folder, sizeof folder, "%s/tests/mutants", tree());
    int n = scandir(folder, &found, is_patch, alphasort);
    for (int i = 0; i < n; i++) {
        if (nnames < MOST) {
            names[nnames++] = strdup(found[i]->d_name);
        }
        free(found[i]);
    }
    if (n >= 0) {
        free(found);
    }
    return n >= 0 ? 0 : -1;
}

static int free_patches(void **state)
{
    (void)state;
    for (int i = 0; i < nnames; i++) {
        free(names[i]);
    }
    return 0;
}

static void read_patch(const char *name, struct kg_buf *out)
{
    char path[900];
    struct kg_err err = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/tests/mutants/%s", tree(), name);
    kg_buf_init(out, 1 << 16);
    if (kg_file_read(path, out, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
}

/* What follows `# key: ` on a line of its own; "" where there is none. */
static void header(const char *patch, const char *key, char *out, size_t cap)
{
    char mark[40];
    int n = snprintf(mark, sizeof mark, "\n# %s: ", key);
    const char *within = strstr(patch, mark);
    const char *at = strncmp(patch, mark + 1, (size_t)n - 1) == 0 ? patch + n - 1
                     : within != NULL                             ? within + n
                                                                  : "";
    snprintf(out, cap, "%.*s", (int)strcspn(at, "\n"), at);
}

static void headers_are_read(void **state)
{
    (void)state;
    char out[40];
    header("# mutant: a b\n# tests: c\n--- a/x\n", "mutant", out, sizeof out);
    assert_string_equal(out, "a b");
    header("# mutant: a b\n# tests: c\n--- a/x\n", "tests", out, sizeof out);
    assert_string_equal(out, "c");
    header("--- a/x\n+# tests: c\n", "tests", out, sizeof out);
    assert_string_equal(out, "");
}

static void there_are_enough(void **state)
{
    (void)state;
    static const char *const areas[] = {"verify-",   "judge-", "timing-", "reward-",
                                        "extract-",  "check-", "build-",  "seccomp-",
                                        "pipeline-", "run-",   "values-"};
    assert_in_range(nnames, LEAST, MOST - 1);
    for (size_t k = 0; k < sizeof areas / sizeof *areas; k++) {
        int n = 0;
        for (int i = 0; i < nnames; i++) {
            n += strncmp(names[i], areas[k], strlen(areas[k])) == 0;
        }
        if (n == 0) {
            fail_msg("no mutant named %s*", areas[k]);
        }
    }
}

static void each_names_existing_tests(void **state)
{
    (void)state;
    for (int i = 0; i < nnames; i++) {
        struct kg_buf patch;
        char what[400], tests[400], *rest = NULL;
        read_patch(names[i], &patch);
        header(patch.data, "mutant", what, sizeof what);
        header(patch.data, "tests", tests, sizeof tests);
        if (what[0] == '\0' || tests[0] == '\0') {
            fail_msg("%s: no `# mutant:` or no `# tests:`", names[i]);
        }
        for (char *t = strtok_r(tests, " ", &rest); t != NULL; t = strtok_r(NULL, " ", &rest)) {
            char path[900];
            snprintf(path, sizeof path, "%s/tests/unit/%s.c", tree(), t);
            if (access(path, R_OK) != 0) {
                fail_msg("%s: names `%s`, and there is no %s", names[i], t, path);
            }
        }
        kg_buf_deinit(&patch);
    }
}

static void each_breaks_sources_only(void **state)
{
    (void)state;
    for (int i = 0; i < nnames; i++) {
        struct kg_buf patch;
        read_patch(names[i], &patch);
        int files = 0;
        for (const char *p = patch.data; (p = strstr(p, "\n+++ ")) != NULL; p += 5) {
            files++;
            bool source =
                strncmp(p, "\n+++ b/src/", 11) == 0 || strncmp(p, "\n+++ b/harness/", 15) == 0;
            if (!source) {
                fail_msg("%s: changes something outside src/ and harness/", names[i]);
            }
        }
        if (files == 0) {
            fail_msg("%s: changes nothing", names[i]);
        }
        kg_buf_deinit(&patch);
    }
}

/* The status of `patch` on the tree, or -1 where it cannot be started. */
static int dry_run(const char *path)
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (freopen(path, "r", stdin) != NULL && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
            execlp("patch", "patch", "-d", tree(), "-p1", "-f", "-s", "-F1", "--dry-run",
                   (char *)NULL);
        }
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
        return -1;
    }
    return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

static void skip_without_patch(int status)
{
    if (status < 0) {
        print_message("skip: the program `patch` is missing\n");
        skip();
    }
}

static void a_stale_patch_is_noticed(void **state)
{
    (void)state;
    char path[] = "/tmp/kgym-mutant-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    dprintf(fd, "--- a/src/base/clock.c\n+++ b/src/base/clock.c\n@@ -1,1 +1,1 @@\n"
                "-this line was never there\n+nor this\n");
    close(fd);
    int status = dry_run(path);
    unlink(path);
    skip_without_patch(status);
    assert_int_not_equal(status, 0);
}

static void each_applies(void **state)
{
    (void)state;
    int failed = 0;
    for (int i = 0; i < nnames; i++) {
        char path[900];
        snprintf(path, sizeof path, "%s/tests/mutants/%s", tree(), names[i]);
        int status = dry_run(path);
        skip_without_patch(status);
        if (status != 0) {
            print_error("%s does not apply\n", names[i]);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

/* Standard output of tests/mutants.sh --list; its exit status, or -1. */
static int chosen(const char *args, char *out, size_t cap)
{
    char command[900];
    snprintf(command, sizeof command, "cd '%s' && tests/mutants.sh --list %s 2>&1", tree(), args);
    FILE *p = popen(command, "r");
    if (p == NULL) {
        return -1;
    }
    out[fread(out, 1, cap - 1, p)] = 0;
    int status = pclose(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int lines_of(const char *text)
{
    int n = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++) {
        n++;
    }
    return n;
}

/* The same seed draws the same ones, another seed others, and none twice. */
static void a_sample_is_drawn_by_its_seed(void **state)
{
    (void)state;
    static char first[65536], again[65536], other[65536], all[65536];
    skip_without_patch(dry_run("/dev/null"));
    assert_int_equal(chosen("--sample 5 --seed 7", first, sizeof first), 0);
    assert_int_equal(chosen("--sample 5 --seed 7", again, sizeof again), 0);
    assert_int_equal(chosen("--sample 5 --seed 8", other, sizeof other), 0);
    assert_int_equal(lines_of(first), 6); /* one says the seed */
    assert_non_null(strstr(first, "seed 7\n"));
    assert_string_equal(first, again);
    assert_string_not_equal(strchr(first, '\n'), strchr(other, '\n'));
    assert_int_equal(chosen("--sample 100000 --seed 1", all, sizeof all), 0);
    assert_int_equal(lines_of(all), nnames + 1);
    for (int i = 0; i < nnames; i++) {
        char line[300];
        snprintf(line, sizeof line, "/%s\n", names[i]);
        assert_non_null(strstr(all, line));
    }
    assert_int_equal(chosen("no-such-mutant", first, sizeof first), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_read),
        cmocka_unit_test(there_are_enough),
        cmocka_unit_test(each_names_existing_tests),
        cmocka_unit_test(each_breaks_sources_only),
        cmocka_unit_test(a_stale_patch_is_noticed),
        cmocka_unit_test(each_applies),
        cmocka_unit_test(a_sample_is_drawn_by_its_seed),
    };
    return cmocka_run_group_tests(tests, list_patches, free_patches);
}
