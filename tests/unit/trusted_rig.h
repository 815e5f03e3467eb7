/* What the tests of the trusted processes share, the judge and the judge of tensors: the error of
 * the last call, and how such a process lives and ends. Everything is static: each test program has
 * its own. Includes cmocka and what it needs. */
#ifndef KG_TESTS_TRUSTED_RIG_H
#define KG_TESTS_TRUSTED_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

static struct kg_err err = KG_ERR_INIT;

#define OK(call) do_ok((call), #call, __LINE__)
static inline void do_ok(enum kg_code code, const char *call, int line)
{
    if (code != KG_OK) {
        printf("line %d: %s: %s\n", line, call, err.message);
    }
    assert_int_equal(code, KG_OK);
}

static inline bool alive(pid_t pid)
{
    return kill(pid, 0) == 0;
}

static inline bool has_descriptor(pid_t pid, int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    return access(path, F_OK) == 0;
}

static inline void expect_name(pid_t pid, const char *want)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(name, sizeof name, f));
    fclose(f);
    name[strcspn(name, "\n")] = '\0';
    assert_string_equal(name, want);
}

/* What a call says whose process was killed: this operation, and who is to blame. */
static inline void expect_killed(enum kg_code code, const char *operation)
{
    char want[64];
    snprintf(want, sizeof want, "died during `%s`: killed by signal 9", operation);
    assert_int_equal(code, KG_E_GYM);
    assert_int_equal(err.blame, KG_BLAME_GYM);
    assert_non_null(strstr(err.message, want));
}

/* A child that kills pid after a while; the caller waits for it. */
static inline pid_t kill_later(pid_t pid, useconds_t us)
{
    pid_t killer = fork();
    if (killer == 0) {
        usleep(us);
        kill(pid, SIGKILL);
        _exit(0);
    }
    return killer;
}

/* start() is called in a child, which is then killed; it returns the pid of what it started, or -1.
 * That must end, too. */
static inline void expect_end_with_its_broker(pid_t (*start)(void))
{
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t broker = fork();
    if (broker == 0) {
        pid_t started = start();
        if (started <= 0 || write(pipe_fds[1], &started, sizeof started) < 0) {
            _exit(1);
        }
        pause();
        _exit(0);
    }
    close(pipe_fds[1]);
    pid_t pid = -1;
    assert_int_equal(read(pipe_fds[0], &pid, sizeof pid), sizeof pid);
    assert_true(alive(pid));
    kill(broker, SIGKILL);
    waitpid(broker, NULL, 0);
    int status = 0; /* now ours: the wait ends when it does */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    close(pipe_fds[0]);
}

#endif
