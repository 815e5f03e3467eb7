/* Scratch folders: limits, emptying, closing, sweeping. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "gym/sandbox/plan.h"

static struct kg_err err;

static bool put(const char *folder, const char *name, size_t n)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char block[4096] = {0};
    bool good = fd >= 0;
    for (size_t have = 0; good && have < n; have += sizeof block) {
        good = write(fd, block, sizeof block) == (ssize_t)sizeof block;
    }
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

static void empty(const char *folder)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf %s/*", folder);
    assert_int_equal(system(command), 0);
}

static void test_bytes_and_inodes_are_limited(void **state)
{
    (void)state;
    struct kg_scratch s;
    assert_int_equal(kg_scratch_open(1 << 20, 16, &s, &err), KG_OK);
    if (!s.tmpfs) {
        printf("skip: no tmpfs\n");
        kg_scratch_close(&s);
        skip();
    }
    assert_true(put(s.path, "half", 1 << 19));
    assert_false(put(s.path, "too-much", 1 << 20));
    assert_int_equal(errno, ENOSPC);
    empty(s.path);
    int made = 0;
    for (char name[16]; made < 64; made++) {
        snprintf(name, sizeof name, "%d", made);
        if (!put(s.path, name, 0)) {
            break;
        }
    }
    assert_true(made > 0 && made < 17);
    empty(s.path);
    assert_true(put(s.path, "half", 1 << 19));
    kg_scratch_close(&s);
}

static void test_close_removes_all_of_it(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        struct kg_scratch s;
        enum kg_code code =
            plain ? kg_scratch_open_plain(&s, &err) : kg_scratch_open(1 << 20, 100, &s, &err);
        assert_int_equal(code, KG_OK);
        char path[600];
        snprintf(path, sizeof path, "%s/a/b/c", s.path);
        assert_int_equal(kg_file_mkdirs(path, 0700, &err), KG_OK);
        assert_true(put(path, "f", 10));
        snprintf(path, sizeof path, "%s/link", s.path);
        assert_int_equal(symlink("/etc", path), 0);
        snprintf(path, sizeof path, "%s", s.path);
        kg_scratch_close(&s);
        assert_false(kg_file_exists(path));
        assert_true(kg_file_exists("/etc/passwd"));
        kg_scratch_close(&s); /* idempotent */
    }
}

static void test_an_unusable_tmpdir_is_named(void **state)
{
    (void)state;
    struct kg_scratch s;
    setenv("TMPDIR", "/nowhere", 1);
    assert_int_equal(kg_scratch_open(1 << 20, 100, &s, &err), KG_E_IO);
    assert_non_null(strstr(err.message, "/nowhere/kgym-scratch-"));
    assert_non_null(strstr(err.message, "No such file or directory"));
    unsetenv("TMPDIR");
    kg_scratch_close(&s);
}

/* A folder whose owner was killed goes; one whose owner lives stays. */
static void test_sweep_removes_only_the_dead(void **state)
{
    (void)state;
    char base[] = "/tmp/kgym-sweep-XXXXXX", path[300];
    assert_non_null(mkdtemp(base));
    setenv("TMPDIR", base, 1);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct kg_scratch mine;
        if (kg_scratch_open_plain(&mine, &err) == KG_OK && put(mine.path, "f", 10) &&
            write(ends[1], mine.path, sizeof mine.path) > 0) {
            pause();
        }
        _exit(1);
    }
    struct kg_scratch live, left = {.lock_fd = -1};
    assert_int_equal(read(ends[0], left.path, sizeof left.path), sizeof left.path);
    assert_int_equal(kg_scratch_open_plain(&live, &err), KG_OK);
    kg_scratch_sweep();
    assert_true(kg_file_exists(left.path));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    snprintf(path, sizeof path, "%s/somebody-elses", base);
    assert_int_equal(mkdir(path, 0700), 0);
    kg_scratch_sweep();
    assert_false(kg_file_exists(left.path));
    assert_true(kg_file_exists(live.path));
    assert_true(kg_file_exists(path));
    kg_scratch_close(&live);
    unsetenv("TMPDIR");
    assert_int_equal(kg_file_remove_tree(base, &err), KG_OK);
    close(ends[0]);
    close(ends[1]);
}

/* The mount is in a namespace of this process: others see an empty folder. */
static void test_the_host_never_sees_the_mount(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork(); /* before this process leaves the host's namespace: a new one */
    if (pid == 0) {
        struct kg_scratch s;
        bool good = kg_scratch_open(1 << 20, 100, &s, &err) == KG_OK && put(s.path, "f", 10);
        _exit(!good || (write(ends[1], &s, sizeof s) > 0 && raise(SIGKILL) != 0));
    }
    struct kg_scratch s;
    assert_int_equal(read(ends[0], &s, sizeof s), sizeof s);
    waitpid(pid, NULL, 0);
    if (s.tmpfs) { /* killed without closing: the mount went with it */
        char path[300];
        snprintf(path, sizeof path, "%s/f", s.path);
        assert_false(kg_file_exists(path));
        assert_true(kg_file_exists(s.path));
    }
    kg_scratch_sweep();
    assert_false(kg_file_exists(s.path));
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_host_never_sees_the_mount),
        cmocka_unit_test(test_bytes_and_inodes_are_limited),
        cmocka_unit_test(test_close_removes_all_of_it),
        cmocka_unit_test(test_an_unusable_tmpdir_is_named),
        cmocka_unit_test(test_sweep_removes_only_the_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
