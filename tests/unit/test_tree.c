/* Folders in one block: what comes back, what is refused, and that a hostile tree harms nothing.
 * The cache that keeps blocks: whole or not at all, within its size. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/build/cache.h"
#include "gym/build/tree.h"
#include "gym/build/tree_private.h"

#define MOST ((size_t)1 << 20)

static const char *const tops[] = {"extensions", "triton"};
static char home[64];
static int from = -1, to = -1; /* folders in it */
static struct kg_buf block;
static struct kg_err err;

static int open_folder(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", home, name);
    return mkdir(path, 0755) == 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

static int setup(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "/tmp/kgym-tree-XXXXXX");
    if (mkdtemp(home) == NULL) {
        return -1;
    }
    from = open_folder("from");
    to = open_folder("to");
    kg_buf_init(&block, MOST);
    return from >= 0 && to >= 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    close(from);
    close(to);
    kg_buf_deinit(&block);
    return kg_file_remove_tree(home, &err) == KG_OK ? 0 : -1;
}

static void folder(const char *path)
{
    assert_int_equal(mkdirat(from, path, 0755), 0);
}

static void file(const char *path, const char *text, mode_t mode)
{
    int fd = openat(from, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(kg_file_write_all(fd, text, strlen(text), &err), KG_OK);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static enum kg_code pack(void)
{
    kg_buf_reset(&block);
    err = (struct kg_err)KG_ERR_INIT;
    return kg_tree_pack(from, tops, 2, &block, &err);
}

static enum kg_code unpack(void)
{
    err = (struct kg_err)KG_ERR_INIT;
    return kg_tree_unpack(block.data, block.len, to, (uid_t)-1, (gid_t)-1, &err);
}

static bool there(const char *path)
{
    struct stat st;
    return fstatat(to, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void refused(const char *why)
{
    assert_int_equal(pack(), KG_E_LIMIT);
    if (strstr(err.message, why) == NULL) {
        fail_msg("`%s` does not say `%s`", err.message, why);
    }
}

static void expect_file(const char *path, const char *text, mode_t mode)
{
    char got[256] = "";
    struct stat a, b;
    int fd = openat(to, path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, got, sizeof got - 1), (ssize_t)strlen(text));
    assert_string_equal(got, text);
    close(fd);
    assert_int_equal(fstatat(from, path, &a, 0), 0);
    assert_int_equal(fstatat(to, path, &b, 0), 0);
    assert_int_equal(b.st_mode & 07777, mode);
    assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
    assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
}

static void what_was_built_comes_back_with_its_times(void **state)
{
    (void)state;
    struct timespec old[2] = {{1, 2}, {1700000000, 123456789}};
    folder("extensions");
    folder("extensions/one");
    folder("extensions/one/empty");
    folder("triton");
    file("extensions/one/main.o", "object", 0644);
    file("extensions/one/one.so", "library", 0755);
    file("extensions/one/strange \n\xff name", "", 0600);
    file("triton/kernel.json", "{}", 04640); /* set-user-id does not come along */
    assert_int_equal(utimensat(from, "extensions/one/main.o", old, 0), 0);
    assert_int_equal(pack(), KG_OK);
    assert_true(kg_tree_check(block.data, block.len));
    assert_int_equal(unpack(), KG_OK);
    expect_file("extensions/one/main.o", "object", 0644);
    expect_file("extensions/one/one.so", "library", 0755);
    expect_file("extensions/one/strange \n\xff name", "", 0600);
    expect_file("triton/kernel.json", "{}", 0640);
    assert_true(there("extensions/one/empty"));
    assert_false(there(".kgym-tree"));
}

static void other_folders_and_locks_are_left_out(void **state)
{
    (void)state;
    folder("extensions");
    folder("extensions/one");
    folder("other");
    file("other/file", "x", 0644);
    file("extensions/one/lock", "", 0644);
    file("extensions/one/a.lock", "", 0644);
    assert_int_equal(pack(), KG_OK);
    assert_int_equal(block.len, 0); /* nothing but a folder and locks */
    file("extensions/one/block", "x", 0644);
    assert_int_equal(pack(), KG_OK);
    assert_int_equal(unpack(), KG_OK);
    assert_true(there("extensions/one/block"));
    assert_false(there("extensions/one/lock"));
    assert_false(there("extensions/one/a.lock"));
    assert_false(there("other"));
}

static void nothing_there_is_nothing(void **state)
{
    (void)state;
    assert_int_equal(pack(), KG_OK);
    assert_int_equal(block.len, 0);
}

static void nothing_but_files_and_folders_is_taken(void **state)
{
    (void)state;
    static const char *const names[] = {"extensions/link", "extensions/fifo", "extensions/inside",
                                        "triton"};
    folder("extensions");
    folder("extensions/one");
    file("extensions/one/main.o", "object", 0644);
    for (int i = 0; i < 4; i++) {
        int made = i == 1   ? mkfifoat(from, names[i], 0644)
                   : i == 2 ? symlinkat("one", from, names[i])
                            : symlinkat(i == 0 ? "/etc/passwd" : "/etc", from, names[i]);
        assert_int_equal(made, 0);
        refused("neither file nor folder");
        assert_int_equal(unlinkat(from, names[i], 0), 0);
        assert_int_equal(pack(), KG_OK);
    }
}

static void a_huge_file_is_refused_unread(void **state)
{
    (void)state;
    folder("extensions");
    file("extensions/sparse", "x", 0644);
    int fd = openat(from, "extensions/sparse", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0); /* reading it would take minutes */
    close(fd);
    refused("too large");
    assert_true(block.len < MOST && block.cap <= MOST + 1);
}

static void many_small_files_are_too_large_too(void **state)
{
    (void)state;
    static char text[4096];
    char name[32];
    memset(text, 'x', sizeof text - 1);
    folder("triton");
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "triton/%d", i);
        file(name, text, 0644);
    }
    refused("too large");
}

static void many_files_are_refused(void **state)
{
    (void)state;
    char name[32];
    folder("triton");
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "triton/%d", i);
        assert_int_equal(mknodat(from, name, S_IFREG | 0644, 0), 0);
    }
    refused("too many");
}

static void deep_folders_are_refused(void **state)
{
    (void)state;
    char path[512] = "triton";
    folder(path);
    for (int depth = 1; depth < KG_TREE_MAX_DEPTH; depth++) {
        strcat(path, "/d");
        folder(path);
    }
    char deepest[600];
    snprintf(deepest, sizeof deepest, "%s/file", path);
    file(deepest, "x", 0644);
    assert_int_equal(pack(), KG_OK);
    assert_int_equal(unpack(), KG_OK);
    assert_true(there(deepest));
    strcat(path, "/d");
    folder(path);
    refused("too deep");
}

/* Somebody who writes on: nothing half is taken for whole. */
static void a_file_that_changes_is_refused(void **state)
{
    (void)state;
    kg_buf_deinit(&block);
    kg_buf_init(&block, 64 * MOST);
    folder("extensions");
    file("extensions/log", "x", 0644);
    int fd = openat(from, "extensions/log", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)(16 * MOST)), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (char c = 0;; c++) {
            if (pwrite(fd, &c, 1, (off_t)(16 * MOST) + c) != 1) {
                _exit(1);
            }
        }
    }
    int64_t until = kg_clock_ns() + 30000000000;
    enum kg_code code = KG_OK;
    while (code == KG_OK && kg_clock_ns() < until) {
        code = pack();
        assert_true(code != KG_OK || kg_tree_check(block.data, block.len));
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(fd);
    assert_int_equal(code, KG_E_LIMIT);
    assert_non_null(strstr(err.message, "changed meanwhile"));
}

/* --- unpacking --- */

static void put(uint32_t kind, const char *name, const char *content)
{
    struct kg_tree_head h = {
        .kind = kind, .name_bytes = (uint32_t)strlen(name), .mode = 0644, .bytes = strlen(content)};
    kg_buf_add(&block, &h, sizeof h);
    kg_buf_adds(&block, name);
    kg_buf_adds(&block, content);
}

static void names_lead_nowhere(void **state)
{
    (void)state;
    static const char *const names[] = {"..", ".", "", "../out", "/etc/out", "a/b"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int kind = KG_TREE_FOLDER; kind <= KG_TREE_FILE; kind++) {
            kg_buf_reset(&block);
            put(KG_TREE_FOLDER, "extensions", "");
            put((uint32_t)kind, names[i], "");
            if (kind == KG_TREE_FOLDER) {
                put(KG_TREE_UP, "", "");
            }
            put(KG_TREE_UP, "", "");
            assert_int_equal(unpack(), KG_E_GYM);
            assert_false(there("extensions"));
        }
    }
}

static void broken_blocks_are_refused(void **state)
{
    (void)state;
    folder("extensions");
    file("extensions/a", "text of a", 0644);
    file("extensions/b", "text of b", 0644);
    assert_int_equal(pack(), KG_OK);
    for (size_t n = 1; n < block.len; n++) {
        assert_false(kg_tree_check(block.data, n));
    }
    put(KG_TREE_UP, "", ""); /* above where it began */
    assert_int_equal(unpack(), KG_E_GYM);
    kg_buf_reset(&block);
    put(KG_TREE_FILE, "file", "beside the folders");
    assert_int_equal(unpack(), KG_E_GYM);
    kg_buf_reset(&block);
    put(KG_TREE_FOLDER, "extensions", "");
    assert_int_equal(unpack(), KG_E_GYM);
    kg_buf_reset(&block);
    for (int i = 0; i <= KG_TREE_MAX_DEPTH; i++) {
        put(KG_TREE_FOLDER, "d", "");
    }
    for (int i = 0; i <= KG_TREE_MAX_DEPTH; i++) {
        put(KG_TREE_UP, "", "");
    }
    assert_int_equal(unpack(), KG_E_GYM);
}

/* What is there already is not written into, whatever it is. */
static void nothing_is_written_over(void **state)
{
    (void)state;
    struct stat st;
    folder("extensions");
    file("extensions/a", "text", 0644);
    folder("outside");
    assert_int_equal(pack(), KG_OK);
    assert_int_equal(symlinkat("../from/outside", to, "extensions"), 0);
    assert_int_equal(unpack(), KG_E_IO);
    assert_int_not_equal(fstatat(from, "outside/a", &st, 0), 0);
}

/* --- the cache --- */

static void key_of(int i, char key[KG_SHA256_HEX])
{
    kg_sha256_hex(&i, sizeof i, key);
}

static void path_of(int i, char path[256])
{
    char key[KG_SHA256_HEX];
    key_of(i, key);
    assert_true(kg_cache_path(home, key, "tree", path, 256));
}

static void keep(int i, size_t n)
{
    char path[256], key[KG_SHA256_HEX], *bytes = malloc(n);
    assert_non_null(bytes);
    memset(bytes, i, n);
    key_of(i, key);
    path_of(i, path);
    assert_int_equal(kg_cache_put(path, key, bytes, n, &err), KG_OK);
    free(bytes);
}

/* As it was kept; false: not there. */
static bool kept(int i)
{
    char path[256], key[KG_SHA256_HEX];
    size_t n = 0;
    key_of(i, key);
    path_of(i, path);
    char *bytes = kg_cache_get(path, key, &n);
    for (size_t k = 0; bytes != NULL && k < n; k++) {
        assert_int_equal(bytes[k], (char)i);
    }
    free(bytes);
    return bytes != NULL;
}

static void a_torn_entry_is_none(void **state)
{
    (void)state;
    char path[256], other[256];
    keep(1, 5000);
    assert_true(kept(1));
    path_of(1, path);
    assert_int_equal(truncate(path, 2500), 0);
    assert_false(kept(1));
    assert_int_not_equal(access(path, F_OK), 0); /* and it is gone */
    keep(1, 5000);
    keep(2, 5000);
    path_of(2, other);
    assert_int_equal(rename(path, other), 0); /* one entry in another's place */
    assert_false(kept(2));
}

static int64_t now_ago(int i, int64_t seconds)
{
    char path[256];
    struct timespec t[2] = {{0, UTIME_OMIT}, {time(NULL) - seconds, 0}};
    path_of(i, path);
    return utimensat(AT_FDCWD, path, t, 0);
}

static void what_was_not_used_for_longest_goes_first(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        keep(i, 10000);
        assert_int_equal(now_ago(i, 1000 - i), 0);
    }
    assert_true(kept(0)); /* used now */
    kg_cache_trim(home, 1 << 20);
    assert_true(kept(1));
    assert_int_equal(now_ago(1, 999), 0);
    kg_cache_trim(home, 3 * 10100);
    assert_true(kept(0));
    assert_false(kept(1));
    assert_false(kept(2));
    assert_false(kept(3));
    assert_true(kept(4) && kept(5));
    kg_cache_trim(home, 0);
    assert_false(kept(0) || kept(4) || kept(5));
}

/* Killed at any time, a writer leaves an entry or none; what else it leaves goes with the others.
 */
static void a_killed_writer_leaves_no_half_entry(void **state)
{
    (void)state;
    int seen = 0;
    for (int round = 0; round < 40; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int i = 0;; i++) {
                keep(i % 8, 300000 + 1000 * (size_t)i);
            }
        }
        struct timespec t = {0, 500000 + 100000 * round};
        nanosleep(&t, NULL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        for (int i = 0; i < 8; i++) {
            seen += kept(i);
        }
    }
    assert_true(seen > 0);
    kg_cache_trim(home, 0);
    char path[256];
    path_of(0, path);
    *strrchr(path, '/') = '\0';
    DIR *dir = opendir(path);
    const struct dirent *e;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        assert_true(strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0);
    }
    assert_non_null(dir);
    closedir(dir);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_built_comes_back_with_its_times),
        TEST(other_folders_and_locks_are_left_out),
        TEST(nothing_there_is_nothing),
        TEST(nothing_but_files_and_folders_is_taken),
        TEST(a_huge_file_is_refused_unread),
        TEST(many_small_files_are_too_large_too),
        TEST(many_files_are_refused),
        TEST(deep_folders_are_refused),
        TEST(a_file_that_changes_is_refused),
        TEST(names_lead_nowhere),
        TEST(broken_blocks_are_refused),
        TEST(nothing_is_written_over),
        TEST(a_torn_entry_is_none),
        TEST(what_was_not_used_for_longest_goes_first),
        TEST(a_killed_writer_leaves_no_half_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
