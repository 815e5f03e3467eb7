/* What tests of the command line share: the program run as a user runs it, by a shell, in a folder
 * of its own with its own $TMPDIR, and a look at what is left behind. In commands $K is kgym, $P
 * the folder of candidates, $T the tree; the current folder is the test's. Everything is static:
 * each test program has its own. Includes cmocka and what it needs. */
#ifndef KG_TESTS_KGYM_RIG_H
#define KG_TESTS_KGYM_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"

#ifndef RIG_LIMIT_S
#define RIG_LIMIT_S 120 /* a command that takes longer hangs */
#endif

static char rig_dir[256]; /* the test's folder */
static struct rig_result {
    int status; /* of the shell; 128 + signal */
    struct kg_buf out, err;
} rig;

static inline int rig_setup(void **state)
{
    (void)state;
    char tree[512], text[600];
    if (!getenv("KGYM_TREE") || !getenv("KGYM_BUILD")) {
        print_error("KGYM_TREE and KGYM_BUILD are needed: run it by tests/run.sh\n");
        return -1;
    }
    snprintf(rig_dir, sizeof rig_dir, "/tmp/kgym-test-XXXXXX");
    if (!mkdtemp(rig_dir) || chmod(rig_dir, 0755) != 0 || chdir(rig_dir) != 0 ||
        mkdir("tmp", 0777) != 0 || chmod("tmp", 01777) != 0) {
        return -1;
    }
    kg_buf_init(&rig.out, 64u << 20);
    kg_buf_init(&rig.err, 64u << 20);
    snprintf(tree, sizeof tree, "%s", getenv("KGYM_TREE"));
    setenv("T", tree, 1);
    snprintf(text, sizeof text, "%s/problems/candidates", tree);
    setenv("P", text, 1);
    snprintf(text, sizeof text, "%s/kgym", getenv("KGYM_BUILD"));
    setenv("K", text, 1);
    snprintf(text, sizeof text, "%s/test-cache", getenv("KGYM_BUILD"));
    setenv("KGYM_CACHE", text, 1);
    setenv("KGYM_HOME", getenv("KGYM_BUILD"), 1);
    snprintf(text, sizeof text, "%s/tmp", rig_dir);
    setenv("TMPDIR", text, 1);
    unsetenv("KGYM_BUILD"); /* KGYM_... belongs to the program's options */
    unsetenv("KGYM_TREE");
    return 0;
}

static inline int rig_teardown(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_deinit(&rig.out);
    kg_buf_deinit(&rig.err);
    if (chdir("/") != 0 || kg_file_remove_tree(rig_dir, &err) != KG_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    return 0;
}

/* Processes that the test's commands consisted of, as far as they were seen: control groups carry
 * their owner's number, and other programs of this machine make some as well. */
static struct {
    long pid[8192];
    int n;
} rig_seen;

static inline void rig_note(long pid, int depth)
{
    char path[64];
    long child;
    bool known = false;
    for (int i = rig_seen.n - 1; i >= 0 && !known; i--) {
        known = rig_seen.pid[i] == pid;
    }
    if (!known && rig_seen.n < (int)(sizeof rig_seen.pid / sizeof *rig_seen.pid)) {
        rig_seen.pid[rig_seen.n++] = pid;
    }
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", pid, pid);
    FILE *f = depth > 0 ? fopen(path, "re") : NULL;
    while (f && fscanf(f, "%ld", &child) == 1) {
        rig_note(child, depth - 1);
    }
    if (f) {
        fclose(f);
    }
}

/* The command in a session of its own, so that all of it can be ended at once. */
static inline pid_t rig_start(const char *command)
{
    pid_t pid = fork();
    if (pid == 0) {
        int out = open("stdout", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        int err = open("stderr", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        int in = open("/dev/null", O_RDONLY);
        setsid();
        dup2(in, 0);
        dup2(out, 1);
        dup2(err, 2);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* Wait, collect what it wrote. */
static inline int rig_finish(pid_t pid)
{
    struct kg_err err = KG_ERR_INIT;
    int status = 0;
    int64_t deadline = kg_clock_ns() + (int64_t)RIG_LIMIT_S * 1000000000;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        rig_note(pid, 3);
        if (kg_clock_ns() > deadline) {
            kill(-pid, SIGKILL);
            waitpid(pid, &status, 0);
            fail_msg("a command hangs");
        }
        usleep(2000);
    }
    kg_buf_reset(&rig.out);
    kg_buf_reset(&rig.err);
    assert_int_equal(kg_file_read("stdout", &rig.out, &err), KG_OK);
    assert_int_equal(kg_file_read("stderr", &rig.err, &err), KG_OK);
    rig.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return rig.status;
}

static inline int rig_run(const char *fmt, ...) KG_PRINTF(1, 2);
static inline int rig_run(const char *fmt, ...)
{
    char command[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    return rig_finish(rig_start(command));
}

#define rig_expect(want, ...)                                                                      \
    do {                                                                                           \
        if (rig_run(__VA_ARGS__) != (want)) {                                                      \
            fail_msg("exit status %d instead of %d\nstderr: %.600s\nstdout: %.2000s", rig.status,  \
                     (want), rig.err.data, rig.out.data); /* cmocka keeps 1000 bytes */            \
        }                                                                                          \
    } while (0)
#define rig_says(text)                                                                             \
    do {                                                                                           \
        if (!strstr(rig.err.data, text)) {                                                         \
            fail_msg("stderr lacks `%s`: %.2000s", text, rig.err.data);                            \
        }                                                                                          \
    } while (0)
#define rig_says_not(text)                                                                         \
    do {                                                                                           \
        if (strstr(rig.err.data, text)) {                                                          \
            fail_msg("stderr has `%s`: %.2000s", text, rig.err.data);                              \
        }                                                                                          \
    } while (0)
#define rig_shows(text)                                                                            \
    do {                                                                                           \
        if (!strstr(rig.out.data, text)) {                                                         \
            fail_msg("stdout lacks `%s`: %.3000s", text, rig.out.data);                            \
        }                                                                                          \
    } while (0)

#define rig_shows_not(text)                                                                        \
    do {                                                                                           \
        if (strstr(rig.out.data, text)) {                                                          \
            fail_msg("stdout has `%s`: %.3000s", text, rig.out.data);                              \
        }                                                                                          \
    } while (0)

static inline void rig_file(const char *name, const void *bytes, size_t n)
{
    struct kg_err err = KG_ERR_INIT;
    if (kg_file_write_atomic(name, bytes, n, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
}

static inline void rig_text(const char *name, const char *text)
{
    rig_file(name, text, strlen(text));
}

/* stdout as exactly one line of JSON; the caller owns it. */
static inline json_t *rig_json(void)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    assert_true(rig.out.len > 0 && rig.out.data[rig.out.len - 1] == '\n');
    assert_ptr_equal(memchr(rig.out.data, '\n', rig.out.len), rig.out.data + rig.out.len - 1);
    if (kg_json_parse(rig.out.data, rig.out.len, "stdout", &j, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return j;
}

static inline const char *rig_get(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

/* One of the test's processes, and no more. */
static inline bool rig_dead(long pid)
{
    for (int i = 0; i < rig_seen.n; i++) {
        if (rig_seen.pid[i] == pid) {
            return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
        }
    }
    return false;
}

static char rig_dead_group[1024]; /* the last one seen */

/* Folders kgym-PID-... of control groups whose owner is dead, below path. */
static inline int rig_dead_groups(const char *path, int depth)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    int n = 0;
    while (dir && (e = readdir(dir))) {
        char below[1024];
        long pid;
        if (e->d_type != DT_DIR || e->d_name[0] == '.') {
            continue;
        }
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (sscanf(e->d_name, "kgym-%ld-", &pid) == 1 && rig_dead(pid)) {
            snprintf(rig_dead_group, sizeof rig_dead_group, "%s", below);
            n++;
        }
        n += depth > 0 ? rig_dead_groups(below, depth - 1) : 0;
    }
    if (dir) {
        closedir(dir);
    }
    return n;
}

static inline int rig_scratch_folders(void)
{
    DIR *dir = opendir("tmp");
    struct dirent *e;
    int n = 0;
    while (dir && (e = readdir(dir))) {
        n += strncmp(e->d_name, "kgym-scratch-", 13) == 0;
    }
    if (dir) {
        closedir(dir);
    }
    return n;
}

/* Processes that carry this test's $TMPDIR in their environment, or that work below its folder. */
static inline int rig_processes(void)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;
    int n = 0;
    while (dir && (e = readdir(dir))) {
        char path[300], text[65536], mark[300];
        long pid = strtol(e->d_name, NULL, 10);
        if (pid <= 0 || pid == getpid()) {
            continue;
        }
        snprintf(path, sizeof path, "/proc/%ld/environ", pid);
        int fd = open(path, O_RDONLY);
        ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text);
        if (fd >= 0) {
            close(fd);
        }
        snprintf(mark, sizeof mark, "TMPDIR=%s/tmp", rig_dir);
        n += got > 0 && memmem(text, (size_t)got, mark, strlen(mark)) != NULL;
    }
    if (dir) {
        closedir(dir);
    }
    return n;
}

/* Nothing of the test's runs any more and no folder is left. What the kernel still takes apart gets
 * a few seconds. */
/* What an interrupted kgym could not remove is the next one's to sweep. That is for the odd time
 * that the kernel holds a group busy: once in a program, and said. */
static inline bool rig_swept(int status, const char *stderr_text)
{
    static int times;
    print_message("exit status %d left %s (stderr: %.300s); the next kgym is to sweep it\n", status,
                  rig_dead_group, stderr_text);
    return ++times == 1 && rig_run("$K doctor --quick") < 2 &&
           rig_dead_groups("/sys/fs/cgroup", 6) == 0;
}

static inline void rig_nothing_left(void)
{
    int procs = 0, folders = 0, dead = 0;
    for (int i = 0; i < 250; i++) {
        procs = rig_processes();
        folders = rig_scratch_folders();
        dead = rig_dead_groups("/sys/fs/cgroup", 6);
        if (procs == 0 && folders == 0 && dead == 0) {
            return;
        }
        usleep(40000);
    }
    if (procs == 0 && folders == 0 && rig_swept(rig.status, rig.err.data)) {
        return;
    }
    fail_msg(
        "left behind: %d processes, %d scratch folders, %d control groups (%s)\nstderr: %.2000s",
        procs, folders, dead, dead > 0 ? rig_dead_group : "none", rig.err.data);
}

#endif
