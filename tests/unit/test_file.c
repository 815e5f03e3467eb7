#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

/* Every test works in a folder of its own and is back in the old one afterwards. */
static char home[PATH_MAX], work[PATH_MAX];

static int enter(void **state)
{
    (void)state;
    snprintf(work, sizeof work, "/tmp/kgym-test-file-XXXXXX");
    return getcwd(home, sizeof home) == NULL || mkdtemp(work) == NULL || chdir(work) != 0;
}

static int leave(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return chdir(home) != 0 || kg_file_remove_tree(work, &err) != KG_OK;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

static void expect_content(const char *path, const char *text)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&b, 1 << 20);
    assert_int_equal(kg_file_read(path, &b, &err), KG_OK);
    assert_string_equal(b.data, text);
    kg_buf_deinit(&b);
}

static bool there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void read_is_bounded(void **state)
{
    (void)state;
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    put("f", "12345");
    kg_buf_init(&b, 5);
    assert_int_equal(kg_file_read("f", &b, &err), KG_OK);
    assert_string_equal(b.data, "12345");
    assert_int_equal(kg_file_read("f", &b, &err), KG_E_LIMIT);
    assert_string_equal(err.message, "f: larger than the limit of 5 bytes");
    kg_buf_deinit(&b);
    kg_buf_init(&b, 4);
    assert_int_equal(kg_file_read("f", &b, &err), KG_E_LIMIT);
    assert_int_equal(kg_file_read("/dev/zero", &b, &err), KG_E_LIMIT);
    kg_buf_deinit(&b);
}

static void read_says_what_and_why(void **state)
{
    (void)state;
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&b, 100);
    assert_int_equal(kg_file_read("absent", &b, &err), KG_E_NOT_FOUND);
    assert_string_equal(err.message, "absent: cannot open: No such file or directory");
    assert_int_equal(kg_file_read(".", &b, &err), KG_E_IO);
    assert_string_equal(err.message, ".: cannot read: Is a directory");
    kg_buf_deinit(&b);
}

static void dash_is_standard_input(void **state)
{
    (void)state;
    put("f", "from stdin");
    int old = dup(STDIN_FILENO), fd = open("f", O_RDONLY);
    dup2(fd, STDIN_FILENO);
    expect_content("-", "from stdin");
    dup2(old, STDIN_FILENO);
    close(old);
    close(fd);
}

/* In a process of its own: opens the pipe, writes, waits, writes. */
static pid_t write_to_pipe(int before_ms, int between_ms)
{
    pid_t pid = fork();
    if (pid == 0) {
        usleep((unsigned)before_ms * 1000);
        int fd = open("pipe", O_WRONLY);
        usleep((unsigned)between_ms * 1000);
        _exit(write(fd, "one ", 4) == 4 && usleep((unsigned)between_ms * 1000) == 0 &&
                      write(fd, "two", 3) == 3
                  ? 0
                  : 1);
    }
    return pid;
}

/* Of a pipe all is read, however slow its writer is; one that has none is an error, soon. */
static void pipes_are_read_and_end(void **state)
{
    (void)state;
    static const int pace[][2] = {{0, 0}, {300, 100}, {0, 1300}};
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    kg_buf_init(&b, 100);
    assert_int_equal(kg_file_read("pipe", &b, &err), KG_E_IO);
    assert_string_equal(err.message, "pipe: cannot read: nobody writes to this pipe");
    kg_buf_deinit(&b);
    for (size_t i = 0; i < sizeof pace / sizeof *pace; i++) {
        int status;
        pid_t pid = write_to_pipe(pace[i][0], pace[i][1]);
        expect_content("pipe", "one two");
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

static void write_replaces_whole(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    put("f", "a long old content");
    assert_int_equal(kg_file_write_atomic("f", "new", 3, &err), KG_OK);
    expect_content("f", "new");
    assert_int_equal(kg_file_write_atomic("g", "", 0, &err), KG_OK);
    expect_content("g", "");
    char left[64];
    snprintf(left, sizeof left, "f.tmp.%d", (int)getpid());
    assert_false(there(left));
}

static void write_keeps_the_link(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    put("real", "old");
    assert_int_equal(symlink("real", "link"), 0);
    assert_int_equal(kg_file_write_atomic("link", "new", 3, &err), KG_OK);
    expect_content("real", "new");
    struct stat st;
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void write_to_a_device_is_in_place(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_file_write_atomic("/dev/null", "x", 1, &err), KG_OK);
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(kg_file_write_atomic("/dev/full", "x", 1, &err), KG_E_IO);
    assert_string_equal(err.message, "/dev/full: cannot write: No space left on device");
}

static void failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    put("f", "old");
    struct rlimit was, none = {2, RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none.rlim_max = was.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    enum kg_code code = kg_file_write_atomic("f", "new content", 11, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(code, KG_E_IO);
    assert_string_equal(err.message, "f: cannot write: File too large");
    expect_content("f", "old");
    char left[64];
    snprintf(left, sizeof left, "f.tmp.%d", (int)getpid());
    assert_false(there(left));
    assert_int_equal(kg_file_write_atomic("no/such/f", "x", 1, &err), KG_E_NOT_FOUND);
    assert_int_equal(mkdir("folder", 0755), 0);
    assert_int_equal(kg_file_write_atomic("folder", "x", 1, &err), KG_E_IO);
    assert_string_equal(err.message + strlen(err.message) - 14, "Is a directory");
}

/* A signal that interrupts write() into a full pipe: the rest must follow. */
static void nothing(int signal_number)
{
    (void)signal_number;
}

static void write_all_survives_signals(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    struct sigaction sa = {.sa_handler = nothing}; /* no SA_RESTART */
    sigaction(SIGUSR1, &sa, NULL);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        static char sink[4096];
        size_t got = 0;
        close(fds[1]);
        for (ssize_t n; (n = read(fds[0], sink, sizeof sink)) > 0;) {
            got += (size_t)n;
            kill(parent, SIGUSR1);
        }
        _exit(got == N ? 0 : 1);
    }
    close(fds[0]);
    char *bytes = calloc(1, N);
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_file_write_all(fds[1], bytes, N, &err), KG_OK);
    close(fds[1]);
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    assert_int_equal(status, 0);
    free(bytes);
    assert_int_equal(kg_file_write_all(-1, "x", 1, &err), KG_E_IO);
}

static void folders(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_file_mkdirs("a/b//c/", 0755, &err), KG_OK);
    assert_true(kg_file_exists("a/b/c"));
    assert_int_equal(kg_file_mkdirs("a/b/c", 0755, &err), KG_OK);
    char absolute[PATH_MAX];
    snprintf(absolute, sizeof absolute, "%.4000s/x/y", work);
    assert_int_equal(kg_file_mkdirs(absolute, 0755, &err), KG_OK);
    put("file", "");
    assert_int_equal(kg_file_mkdirs("file/b", 0755, &err), KG_E_IO);
    assert_string_equal(err.message, "file: cannot create folder: a file is in the way");
    assert_int_equal(kg_file_mkdirs("", 0755, &err), KG_E_IO);
    assert_int_equal(kg_file_mkdirs("/proc/nope/x", 0755, &err), KG_E_IO);
    assert_false(kg_file_exists("absent"));
}

static void self_dir(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    char dir[PATH_MAX], tiny[3];
    assert_int_equal(kg_file_self_dir(dir, sizeof dir, &err), KG_OK);
    assert_int_equal(dir[0], '/');
    assert_int_not_equal(dir[strlen(dir) - 1], '/');
    assert_true(kg_file_exists(dir));
    assert_int_equal(kg_file_self_dir(tiny, sizeof tiny, &err), KG_E_LIMIT);
}

static void remove_what_is_there(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_file_mkdirs("t/a/b", 0755, &err), KG_OK);
    assert_int_equal(kg_file_mkdirs("t/c", 0755, &err), KG_OK);
    put("t/f", "");
    put("t/a/b/f", "");
    put("t/c/\001\xff name\n", "");
    assert_int_equal(mkfifo("t/fifo", 0600), 0);
    assert_int_equal(kg_file_remove_tree("t", &err), KG_OK);
    assert_false(there("t"));
    assert_int_equal(kg_file_remove_tree("t", &err), KG_OK);
    put("single", "");
    assert_int_equal(kg_file_remove_tree("single", &err), KG_OK);
    assert_false(there("single"));
    put("file", "");
    assert_int_equal(kg_file_remove_tree("file/x", &err), KG_E_IO);
}

static void remove_does_not_follow_links(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_file_mkdirs("outside/deep", 0755, &err), KG_OK);
    put("outside/keep", "kept");
    assert_int_equal(kg_file_mkdirs("t/a", 0755, &err), KG_OK);
    assert_int_equal(symlink("../outside", "t/link"), 0);
    assert_int_equal(symlink("../../outside/keep", "t/a/link"), 0);
    assert_int_equal(symlink("outside", "top"), 0);
    assert_int_equal(kg_file_remove_tree("t", &err), KG_OK);
    assert_int_equal(kg_file_remove_tree("top/", &err), KG_E_IO);
    assert_int_equal(kg_file_remove_tree("top", &err), KG_OK);
    assert_false(there("t"));
    assert_false(there("top"));
    expect_content("outside/keep", "kept");
    assert_true(there("outside/deep"));
}

/* Deeper than PATH_MAX, and than descriptors would last. */
static void remove_any_depth(void **state)
{
    (void)state;
    enum { DEPTH = 5000 };
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(mkdir("t", 0755), 0);
    int at = open("t", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < DEPTH; i++) {
        assert_int_equal(mkdirat(at, "folder", 0755), 0);
        assert_int_equal(mkdirat(at, "beside", 0755), 0);
        int next = openat(at, "folder", O_RDONLY | O_DIRECTORY);
        assert_true(next >= 0);
        close(at);
        at = next;
    }
    close(at);
    struct rlimit was, few;
    getrlimit(RLIMIT_NOFILE, &was);
    few = was;
    few.rlim_cur = 32;
    setrlimit(RLIMIT_NOFILE, &few);
    enum kg_code code = kg_file_remove_tree("t", &err);
    setrlimit(RLIMIT_NOFILE, &was);
    assert_string_equal(err.message, "");
    assert_int_equal(code, KG_OK);
    assert_false(there("t"));
}

/* In a child that is not root: root needs no permission. Returns its exit status. */
static int as_nobody(int (*body)(void))
{
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(99);
        }
        _exit(body());
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static int remove_without_permission(void)
{
    struct kg_err err = KG_ERR_INIT;
    if (kg_file_mkdirs("t/a/b", 0755, &err) != KG_OK || mkdir("t/a/c", 0) != 0) {
        return 1;
    }
    int fd = open("t/a/b/f", O_CREAT | O_WRONLY, 0);
    close(fd);
    if (fd < 0 || chmod("t/a/b", 0) != 0 || chmod("t/a", 0500) != 0 || chmod("t", 0) != 0) {
        return 2;
    }
    if (kg_file_remove_tree("t", &err) != KG_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 3;
    }
    return there("t") ? 4 : 0;
}

static int remove_of_another_owner(void)
{
    struct kg_err err = KG_ERR_INIT;
    return kg_file_remove_tree("foreign", &err) == KG_E_IO && strstr(err.message, "foreign") ? 0
                                                                                             : 1;
}

static void remove_gives_back_permissions(void **state)
{
    (void)state;
    assert_int_equal(chmod(".", 0777), 0);
    assert_int_equal(as_nobody(remove_without_permission), 0);
    assert_int_equal(chmod(".", 0755), 0);
}

static void remove_refused_is_an_error(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    if (geteuid() != 0) {
        puts("skip: needs root, to own a folder that another user tries to remove");
        skip();
    }
    assert_int_equal(kg_file_mkdirs("foreign/a", 0755, &err), KG_OK);
    put("foreign/a/f", "");
    assert_int_equal(as_nobody(remove_of_another_owner), 0);
    assert_true(there("foreign/a/f"));
    /* And a file that the file system will not give up. */
    assert_int_equal(kg_file_remove_tree("/proc/self/fdinfo", &err), KG_E_IO);
}

static void remove_stops_at_a_mount(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_file_mkdirs("t/mounted", 0755, &err), KG_OK);
    assert_int_equal(kg_file_mkdirs("source", 0755, &err), KG_OK);
    put("source/keep", "kept");
    /* A bind mount of the same file system: its device number gives nothing away. */
    if (mount("source", "t/mounted", NULL, MS_BIND, NULL) != 0) {
        printf("skip: cannot mount here: %s\n", strerror(errno));
        skip();
    }
    enum kg_code code = kg_file_remove_tree("t", &err);
    umount("t/mounted");
    assert_int_equal(code, KG_E_IO);
    expect_content("source/keep", "kept");
}

static void a_path_from_any_folder(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    char here[PATH_MAX], want[PATH_MAX + 16], got[PATH_MAX + 16];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(want, sizeof want, "%s/a/../b", here);
    assert_int_equal(kg_file_absolute("a/../b", got, sizeof got, &err), KG_OK);
    assert_string_equal(got, want);
    assert_int_equal(kg_file_absolute("/b", got, 3, &err), KG_OK);
    assert_string_equal(got, "/b");
    assert_int_equal(kg_file_absolute("/b", got, 2, &err), KG_E_LIMIT);
    assert_int_equal(kg_file_absolute("b", got, 4, &err), KG_E_LIMIT);
    assert_string_equal(err.message, "b: path too long");
}

int main(void)
{
#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, enter, leave)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(read_is_bounded),
        IN_FOLDER(read_says_what_and_why),
        IN_FOLDER(dash_is_standard_input),
        IN_FOLDER(pipes_are_read_and_end),
        IN_FOLDER(write_replaces_whole),
        IN_FOLDER(write_keeps_the_link),
        IN_FOLDER(write_to_a_device_is_in_place),
        IN_FOLDER(failed_write_leaves_the_old_file),
        IN_FOLDER(write_all_survives_signals),
        IN_FOLDER(folders),
        IN_FOLDER(a_path_from_any_folder),
        IN_FOLDER(self_dir),
        IN_FOLDER(remove_what_is_there),
        IN_FOLDER(remove_does_not_follow_links),
        IN_FOLDER(remove_any_depth),
        IN_FOLDER(remove_gives_back_permissions),
        IN_FOLDER(remove_refused_is_an_error),
        IN_FOLDER(remove_stops_at_a_mount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
