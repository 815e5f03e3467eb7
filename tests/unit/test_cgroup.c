/* Control groups by hand: both versions where they are mounted, whichever of them limits here. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "gym/sandbox/cgroup.h"

static pid_t spinner(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (volatile unsigned long i = 0;; i++) {
        }
    }
    return pid;
}

static int64_t cpu_ns_of(pid_t pid)
{
    clockid_t id;
    struct timespec t = {0, 0};
    assert_int_equal(clock_getcpuclockid(pid, &id), 0);
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

/* Freeze two tasks, see that they stand still, thaw, kill, remove. */
static void exercise(struct kg_sandbox *s)
{
    struct kg_err err = KG_ERR_INIT;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", s->cgroup[0]);
    pid_t a = spinner(), b = spinner();
    assert_int_equal(kg_cgroup_move(s, a, &err), KG_OK);
    assert_int_equal(kg_cgroup_move(s, b, &err), KG_OK);
    if (kg_cgroup_freeze(s, true)) {
        int64_t one = cpu_ns_of(a), two = cpu_ns_of(b);
        pause_ms(20);
        assert_int_equal(cpu_ns_of(a), one);
        assert_int_equal(cpu_ns_of(b), two);
        assert_true(kg_cgroup_freeze(s, false));
    } else {
        assert_int_equal(s->cgroup_version, 1); /* version 2 always has it */
    }
    kg_cgroup_kill(s);
    int status;
    assert_int_equal(waitpid(a, &status, 0), a);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(waitpid(b, &status, 0), b);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    struct kg_cgroup_use use = kg_cgroup_read(s);
    assert_false(use.oom);
    assert_true(s->cgroup_version == 1 || use.cpu_ns > 0);
    kg_cgroup_remove(s);
    assert_int_equal(s->ncgroup, 0);
    assert_int_not_equal(access(folder, F_OK), 0);
}

static void test_the_hosts_own_kind(void **state)
{
    (void)state;
    const struct kg_cgroup_host *h = kg_cgroup_host();
    if (h->version == 0) {
        printf("skip: no cgroup: %s\n", h->why);
        skip();
    }
    struct kg_sandbox s = {.pid = -1, .pidfd = -1};
    struct kg_err err = KG_ERR_INIT;
    struct kg_limits limits = {.memory_bytes = 64 << 20, .processes = 5};
    assert_int_equal(kg_cgroup_create(&limits, &s, &err), KG_OK);
    assert_int_equal(s.cgroup_version, h->version);
    char text[64];
    const char *with_pids = s.cgroup[h->version == 1 ? KG_CG_PIDS : 0];
    assert_true(kg_cgroup_get(with_pids, "pids.max", text, sizeof text));
    assert_string_equal(text, "5\n");
    assert_true(kg_cgroup_get(s.cgroup[0], h->version == 1 ? "memory.limit_in_bytes" : "memory.max",
                              text, sizeof text));
    assert_string_equal(text, "67108864\n");
    exercise(&s);
}

/* Freezing, killing and accounting of version 2 need no controller. */
static void test_version_2_where_it_is_mounted(void **state)
{
    (void)state;
    static const char *const tops[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
    struct kg_sandbox s = {.pid = -1, .pidfd = -1, .cgroup_version = 2};
    for (size_t i = 0; i < 2 && s.ncgroup == 0; i++) {
        char controllers[64];
        snprintf(s.cgroup[0], sizeof s.cgroup[0], "%s/kgym-%d-test", tops[i], (int)getpid());
        if (kg_cgroup_get(tops[i], "cgroup.controllers", controllers, sizeof controllers) &&
            mkdir(s.cgroup[0], 0755) == 0) {
            s.ncgroup = 1;
        }
    }
    if (s.ncgroup == 0) {
        printf("skip: no cgroup version 2 that this user may write\n");
        skip();
    }
    int fd = kg_cgroup_open(&s);
    assert_true(fd >= 0);
    close(fd);
    char files[8][280];
    assert_int_equal(kg_cgroup_join_files(&s, files), 0);
    exercise(&s);
}

static void test_sweep_removes_the_groups_of_the_dead(void **state)
{
    (void)state;
    const struct kg_cgroup_host *h = kg_cgroup_host();
    if (h->version == 0) {
        printf("skip: no cgroup: %s\n", h->why);
        skip();
    }
    pid_t dead = fork();
    if (dead == 0) {
        _exit(0);
    }
    waitpid(dead, NULL, 0);
    char theirs[256], mine[256];
    snprintf(theirs, sizeof theirs, "%s/kgym-%d-7", h->base[0], (int)dead);
    snprintf(mine, sizeof mine, "%s/kgym-%d-99999", h->base[0], (int)getpid());
    assert_int_equal(mkdir(theirs, 0755), 0);
    assert_int_equal(mkdir(mine, 0755), 0);
    pid_t left = spinner(); /* a survivor in it */
    char number[32];
    snprintf(number, sizeof number, "%d", (int)left);
    assert_int_equal(kg_cgroup_write(theirs, "cgroup.procs", number), 0);
    kg_cgroup_sweep();
    bool mine_stays = access(mine, F_OK) == 0, theirs_stays = access(theirs, F_OK) == 0;
    rmdir(mine);
    waitpid(left, NULL, 0);
    assert_true(mine_stays);
    assert_false(theirs_stays);
}

static void put(const char *folder, const char *file, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Files of a folder as the kernel writes them. NULL: the file is missing. */
static void test_only_the_own_limit_counts_as_out_of_memory(void **state)
{
    (void)state;
    static const struct {
        int version;
        const char *events, *peak, *limit;
        bool oom;
    } cases[] = {
        {2, "low 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 1\n", NULL, NULL, true},
        {2, "low 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 0\n", NULL, NULL, false},
        {2, "low 0\nmax 9\noom 1\noom_kill 0\noom_group_kill 0\n", NULL, NULL, false},
        {2, "low 0\noom_kill 1\n", NULL, NULL, true}, /* it does not say */
        {1, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "67108864\n", "67108864\n", true},
        {1, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "65011712\n", "67108864\n", true},
        {1, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "33554432\n", "67108864\n", false},
        {1, "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", "67108864\n", "67108864\n", false},
        {1, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", NULL, NULL, true},
    };
    static const char *const files[] = {"memory.events", "memory.oom_control",
                                        "memory.max_usage_in_bytes", "memory.limit_in_bytes"};
    struct kg_sandbox s = {.pid = -1, .pidfd = -1, .ncgroup = 1};
    snprintf(s.cgroup[0], sizeof s.cgroup[0], "/tmp/kgym-cgroup-%d", (int)getpid());
    assert_int_equal(mkdir(s.cgroup[0], 0755), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const text[] = {cases[i].version == 2 ? cases[i].events : NULL,
                                    cases[i].version == 1 ? cases[i].events : NULL, cases[i].peak,
                                    cases[i].limit};
        for (int k = 0; k < 4; k++) {
            char path[400];
            snprintf(path, sizeof path, "%s/%s", s.cgroup[0], files[k]);
            unlink(path);
            if (text[k] != NULL) {
                put(s.cgroup[0], files[k], text[k]);
            }
        }
        s.cgroup_version = cases[i].version;
        if (kg_cgroup_read(&s).oom != cases[i].oom) {
            fail_msg("case %zu", i);
        }
    }
    for (int k = 0; k < 4; k++) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", s.cgroup[0], files[k]);
        unlink(path);
    }
    assert_int_equal(rmdir(s.cgroup[0]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_hosts_own_kind),
        cmocka_unit_test(test_version_2_where_it_is_mounted),
        cmocka_unit_test(test_sweep_removes_the_groups_of_the_dead),
        cmocka_unit_test(test_only_the_own_limit_counts_as_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
