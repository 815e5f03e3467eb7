/* Starting, watching and ending one confined program. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "gym/sandbox/plan.h"
#include "tests/support/attack.h"

#define SECOND ((int64_t)1000000000)

static struct kg_exit probe(const char *what, const char *arg)
{
    const struct attack a = {.name = "probe", .args = {what, arg}};
    return attack_run(&a, NULL, NULL);
}

static void test_exit_status_is_reported(void **state)
{
    (void)state;
    static const int codes[] = {0, 1, 42, 255};
    for (size_t i = 0; i < 4; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", codes[i]);
        struct kg_exit e = probe("exit", text);
        assert_int_equal(e.kind, KG_EXIT_CODE);
        assert_int_equal(e.code, codes[i]);
        assert_true(e.cpu_ns >= 0 && e.peak_bytes > 0);
    }
}

static void test_a_fault_ends_it_by_its_signal(void **state)
{
    (void)state;
    struct kg_exit e = probe("segv", NULL);
    assert_int_equal(e.kind, KG_EXIT_SIGNAL);
    assert_int_equal(e.code, SIGSEGV);
}

/* Pid 1 of a namespace ignores what it raises itself and does not handle. */
static void test_raised_signals_as_pid_1(void **state)
{
    (void)state;
    bool pid1 = kg_sandbox_caps()->steps & KG_STEP_PIDNS;
    struct kg_exit e = probe("raise", NULL);
    assert_int_equal(e.kind, pid1 ? KG_EXIT_CODE : KG_EXIT_SIGNAL);
    assert_int_equal(e.code, pid1 ? 7 : SIGTERM);
    e = probe("abort", NULL); /* its last resort is a faulting instruction */
    assert_int_equal(e.kind, KG_EXIT_SIGNAL);
    assert_int_equal(e.code, pid1 ? SIGSEGV : SIGABRT);
}

static void test_what_cannot_be_executed_exits_127_and_says_so(void **state)
{
    (void)state;
    char out[4096];
    char path[200];
    snprintf(path, sizeof path, "%s/text", attack_folder());
    FILE *f = fopen(path, "w");
    fputs("not a program", f);
    fclose(f);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const char *argv[] = {path, NULL};
    struct kg_bind bind = {path, path, false};
    int fds[] = {-1, ends[1], ends[1]};
    struct kg_sandbox_spec spec = {.profile = KG_PROFILE_RUN,
                                   .argv = argv,
                                   .binds = &bind,
                                   .nbinds = 1,
                                   .fds = fds,
                                   .nfds = 3,
                                   .cpu = -1};
    struct kg_sandbox box;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_sandbox_spawn(&spec, &box, &err), KG_OK);
    close(ends[1]);
    ssize_t n = read(ends[0], out, sizeof out - 1);
    out[n > 0 ? n : 0] = '\0';
    assert_true(kg_sandbox_wait(&box, kg_clock_ns() + 5 * SECOND));
    kg_sandbox_end(&box);
    close(ends[0]);
    assert_int_equal(box.exit.kind, KG_EXIT_CODE);
    assert_int_equal(box.exit.code, 127);
    assert_non_null(strstr(out, "cannot execute"));
    assert_non_null(strstr(out, path));
}

static void test_a_bind_that_is_missing_is_the_hosts_fault(void **state)
{
    (void)state;
    const char *argv[] = {"/x", NULL};
    struct kg_bind bind = {"/nowhere/at/all", "/x", false};
    struct kg_sandbox_spec spec = {
        .profile = KG_PROFILE_RUN, .argv = argv, .binds = &bind, .nbinds = 1, .cpu = -1};
    struct kg_sandbox box;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_sandbox_spawn(&spec, &box, &err), KG_E_HOST);
    assert_int_equal(err.blame, KG_BLAME_HOST);
    assert_string_equal(err.message,
                        "sandbox: cannot show /nowhere/at/all: No such file or directory");
    assert_int_equal(box.pid, -1);
    kg_sandbox_end(&box);
}

static void test_a_step_that_fails_is_named(void **state)
{
    (void)state;
    const char *argv[] = {"/x", NULL};
    int fds[] = {1000000};
    struct kg_sandbox_spec spec = {
        .profile = KG_PROFILE_RUN, .argv = argv, .fds = fds, .nfds = 1, .cpu = -1};
    struct kg_sandbox box;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_sandbox_spawn(&spec, &box, &err), KG_E_HOST);
    assert_non_null(strstr(err.message, "step fds failed"));
    assert_int_equal(box.ncgroup, 0);
}

static void test_it_gets_exactly_what_was_listed(void **state)
{
    (void)state;
    char out[4096], want[64];
    const char *envp[] = {"ONLY=this", NULL};
    struct kg_isolation isolation;
    struct attack a = {.name = "probe",
                       .args = {"report"},
                       .envp = envp,
                       .workdir = attack_folder(),
                       .cpu_plus_1 = 1,
                       .no_aslr = true};
    struct kg_exit e = attack_run(&a, out, &isolation);
    assert_int_equal(e.code, 0);
    assert_non_null(strstr(out, "fds 3\n"));
    assert_non_null(strstr(out, "env ONLY=this -\n"));
    snprintf(want, sizeof want, "cwd %s\n", attack_folder());
    assert_non_null(strstr(out, want));
    assert_non_null(strstr(out, "cpus 1\n"));
    assert_non_null(strstr(out, "nnp 1\n"));
    assert_non_null(strstr(out, "write refused\n"));
    if (isolation.has & KG_STEP_PIDNS) {
        assert_non_null(strstr(out, "pid 1 "));
    }
    if (kg_sandbox_caps()->root) {
        assert_non_null(strstr(out, "bounding 0\n"));
    }
    if (isolation.has & KG_STEP_UID) {
        assert_null(strstr(out, "uid 0\n"));
    }
    a.no_aslr = false;
    a.cpu_plus_1 = 0;
    a.envp = NULL;
    attack_run(&a, out, NULL);
    assert_non_null(strstr(out, "env - -\n"));
}

/* Its /tmp: written by the broker while it runs, read when it is dead, and nobody else's. */
static void test_its_tmp_outlives_it_for_the_broker(void **state)
{
    (void)state;
    if (!(kg_sandbox_caps()->steps & KG_STEP_MOUNTNS)) {
        printf("skip: no mount namespace\n");
        skip();
    }
    char text[16] = "";
    struct stat st;
    int tmp = -2;
    struct kg_err err = KG_ERR_INIT;
    const char *argv[] = {"/usr/bin/sh", "-c",
                          "while ! test -s /tmp/in; do sleep 0.01; done; "
                          "cat /tmp/in /tmp/in > /tmp/out; echo more > /tmp/in && sleep 60",
                          NULL};
    struct kg_bind bind = {"/usr", "/usr", false};
    int fds[] = {-1, -1, -1};
    struct kg_sandbox_spec spec = {.profile = KG_PROFILE_PYTHON,
                                   .argv = argv,
                                   .binds = &bind,
                                   .nbinds = 1,
                                   .fds = fds,
                                   .nfds = 3,
                                   .tmp_bytes = 1 << 20,
                                   .tmp_fd = &tmp,
                                   .cpu = -1};
    struct kg_sandbox s;
    assert_int_equal(kg_sandbox_spawn(&spec, &s, &err), KG_OK);
    assert_true(tmp >= 0);
    assert_int_equal(fcntl(tmp, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    int fd = openat(tmp, "in", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchown(fd, s.uid, s.gid), 0);
    assert_int_equal(write(fd, "ab", 2), 2);
    close(fd);
    int64_t until = kg_clock_ns() + 30 * SECOND;
    while (fstatat(tmp, "in", &st, 0) == 0 && st.st_size != 5 && kg_clock_ns() < until) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    assert_false(kg_sandbox_poll(&s));
    kg_sandbox_end(&s);
    fd = openat(tmp, "out", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, text, sizeof text - 1), 4);
    assert_string_equal(text, "abab");
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_uid, s.uid);
    close(fd);
    fd = openat(tmp, "in", O_RDONLY | O_NOFOLLOW | O_CLOEXEC); /* it was its own to change */
    assert_int_equal(read(fd, text, sizeof text - 1), 5);
    close(fd);
    close(tmp);
    assert_int_not_equal(access("/tmp/out", F_OK), 0);
}

static void test_a_deadline_passes_and_the_end_is_final(void **state)
{
    (void)state;
    const struct attack a = {.name = "probe", .args = {"ignore"}};
    struct kg_sandbox box;
    int reader;
    attack_start(&a, &box, &reader);
    attack_wait_output(reader);
    assert_false(kg_sandbox_poll(&box));
    assert_false(kg_sandbox_wait(&box, kg_clock_ns() + SECOND / 100));
    kg_sandbox_end(&box);
    assert_int_equal(box.exit.kind, KG_EXIT_KILLED);
    assert_int_equal(box.exit.code, SIGKILL);
    assert_int_equal(box.pid, -1);
    assert_true(kg_sandbox_poll(&box));
    kg_sandbox_end(&box);
    assert_int_equal(box.exit.kind, KG_EXIT_KILLED);
    close(reader);
}

static void test_end_is_safe_on_nothing(void **state)
{
    (void)state;
    struct kg_sandbox box = {.pid = -1};
    kg_sandbox_end(&box);
    kg_sandbox_end(&box);
    assert_true(fcntl(0, F_GETFD) >= 0); /* its pidfd of 0 was not taken for one */
    assert_true(kg_sandbox_poll(&box));
    assert_false(kg_sandbox_freeze(&box));
    assert_false(kg_sandbox_thaw(&box));
}

static int64_t cpu_ns_of(pid_t pid)
{
    clockid_t id;
    struct timespec t;
    assert_int_equal(clock_getcpuclockid(pid, &id), 0);
    assert_int_equal(clock_gettime(id, &t), 0);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static void test_a_frozen_program_does_not_run(void **state)
{
    (void)state;
    const struct attack a = {.name = "probe", .args = {"spin"}};
    struct kg_sandbox box;
    int reader;
    attack_start(&a, &box, &reader);
    attack_wait_output(reader);
    for (int i = 0; i < 3; i++) {
        assert_true(kg_sandbox_freeze(&box));
        assert_true(kg_sandbox_freeze(&box)); /* twice is once */
        int64_t before = cpu_ns_of(box.pid);
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        assert_int_equal(cpu_ns_of(box.pid) - before, 0);
        assert_true(kg_sandbox_thaw(&box));
        for (int tries = 0; cpu_ns_of(box.pid) == before && tries < 500; tries++) {
            nanosleep(&(struct timespec){0, 2000000}, NULL);
        }
        assert_true(cpu_ns_of(box.pid) > before);
    }
    assert_true(kg_sandbox_freeze(&box));
    kg_sandbox_end(&box); /* a frozen one dies too */
    assert_int_equal(box.exit.kind, KG_EXIT_KILLED);
    close(reader);
}

/* As one that is given no processor. */
static void test_one_that_cannot_stop_yet_is_waited_for(void **state)
{
    (void)state;
    const struct attack a = {.name = "probe", .args = {"lend", "1500"}};
    struct kg_sandbox box;
    int reader;
    attack_start(&a, &box, &reader);
    attack_wait_output(reader);
    int64_t begun = kg_clock_ns();
    assert_true(kg_sandbox_freeze(&box));
    assert_true(kg_clock_ns() - begun > SECOND); /* else this shows nothing */
    int64_t before = cpu_ns_of(box.pid);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    assert_int_equal(cpu_ns_of(box.pid) - before, 0);
    kg_sandbox_end(&box);
    close(reader);
}

static void test_freezing_one_that_ended_says_so(void **state)
{
    (void)state;
    const struct attack a = {.name = "probe", .args = {"exit", "3"}};
    struct kg_sandbox box;
    int reader;
    attack_start(&a, &box, &reader);
    siginfo_t si;
    assert_int_equal(waitid(P_PID, (id_t)box.pid, &si, WEXITED | WNOWAIT), 0);
    assert_false(kg_sandbox_freeze(&box));
    assert_true(kg_sandbox_poll(&box));
    assert_int_equal(box.exit.kind, KG_EXIT_CODE);
    assert_int_equal(box.exit.code, 3);
    kg_sandbox_end(&box);
    close(reader);
}

static void test_the_cpu_limit_is_told_from_a_kill(void **state)
{
    (void)state;
    const struct attack a = {.name = "probe", .args = {"spin"}, .cpu_s = 1};
    struct kg_exit e = attack_run(&a, NULL, NULL);
    assert_int_equal(e.kind, KG_EXIT_SIGNAL);
    assert_int_equal(e.code, SIGXCPU);
}

static void test_out_of_memory_is_told_from_a_kill(void **state)
{
    (void)state;
    if (!attack_has(KG_STEP_CGROUP)) {
        skip();
    }
    const struct attack a = {.name = "memory", .args = {"200"}, .memory_mb = 32};
    struct kg_exit e = attack_run(&a, NULL, NULL);
    assert_int_equal(e.kind, KG_EXIT_OOM);
    assert_true(e.peak_bytes > (int64_t)16 << 20 && e.peak_bytes <= (int64_t)33 << 20);
}

static void test_without_a_cgroup_memory_is_still_limited(void **state)
{
    (void)state;
    const struct attack a = {
        .name = "memory", .args = {"600"}, .memory_mb = 32, .without = KG_STEP_CGROUP};
    struct kg_exit e = attack_run(&a, NULL, NULL);
    assert_int_equal(e.kind, KG_EXIT_CODE);
    assert_int_equal(e.code, 1);
}

static void test_processes_are_limited(void **state)
{
    (void)state;
    struct attack a = {.name = "probe", .args = {"forks"}, .processes = 8};
    struct kg_exit e = attack_run(&a, NULL, NULL);
    assert_int_equal(e.kind, KG_EXIT_CODE);
    assert_int_equal(e.code, 7);
    a.without = KG_STEP_CGROUP; /* the rlimit alone */
    e = attack_run(&a, NULL, NULL);
    assert_int_equal(e.code, 7);
}

static void test_isolation_says_what_is_there_and_what_lacks(void **state)
{
    (void)state;
    struct kg_isolation full = kg_sandbox_isolation(0);
    assert_int_equal(full.has | full.lacks, KG_ALL_STEPS);
    assert_int_equal(full.has & full.lacks, 0);
    assert_int_equal(kg_sandbox_isolation(KG_STEP_SECCOMP).level, 0);
    assert_int_equal(kg_sandbox_isolation(KG_STEP_NNP).level, 0);
    assert_true(kg_sandbox_isolation(KG_STEP_NNP).lacks & KG_STEP_LANDLOCK);
    assert_int_equal(kg_sandbox_isolation(KG_STEP_NETNS).level, full.level > 0 ? 1 : 0);
    struct kg_isolation spawned;
    const struct attack a = {.name = "probe", .args = {"exit", "0"}, .without = KG_STEP_NETNS};
    attack_run(&a, NULL, &spawned);
    assert_int_equal(spawned.has | KG_STEP_TMPFS,
                     kg_sandbox_isolation(KG_STEP_NETNS).has | KG_STEP_TMPFS);
}

static void test_steps_fall_with_what_they_need(void **state)
{
    (void)state;
    const uint32_t namespaces = KG_STEP_MOUNTNS | KG_STEP_PIDNS | KG_STEP_NETNS | KG_STEP_IPCNS;
    assert_int_equal(kg_steps_possible(KG_ALL_STEPS, true), KG_ALL_STEPS);
    assert_int_equal(kg_steps_possible(KG_ALL_STEPS & ~(uint32_t)KG_STEP_USERNS, true) & namespaces,
                     namespaces);
    uint32_t left = kg_steps_possible(KG_ALL_STEPS & ~(uint32_t)KG_STEP_USERNS, false);
    assert_int_equal(left & (namespaces | KG_STEP_UID), 0);
    assert_true(left & KG_STEP_SECCOMP);
}

static void test_every_missing_capability_has_a_reason(void **state)
{
    (void)state;
    const struct kg_host_caps *c = kg_sandbox_caps();
    for (int i = 0; i < KG_STEP_COUNT; i++) {
        assert_string_not_equal(kg_step_name(1 << i), "?");
        assert_int_equal(c->why[i][0] == '\0', (c->steps >> i) & 1);
    }
    assert_string_equal(kg_step_name(3), "?");
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_sandbox_require(true, &err), KG_OK);
    assert_ptr_equal(c, kg_sandbox_caps());
}

/* The broker is killed: what it started must not live on. */
static void test_the_program_dies_with_its_broker(void **state)
{
    (void)state;
    attack_program("probe");
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t broker = fork();
    if (broker == 0) {
        struct kg_sandbox box;
        int reader;
        const struct attack a = {.name = "probe", .args = {"ignore"}};
        attack_start(&a, &box, &reader);
        attack_wait_output(reader);
        if (write(ends[1], &box.pid, sizeof box.pid) > 0) {
            pause();
        }
        _exit(1);
    }
    pid_t pid = 0;
    assert_int_equal(read(ends[0], &pid, sizeof pid), sizeof pid);
    kill(broker, SIGKILL);
    waitpid(broker, NULL, 0);
    bool gone = false;
    for (int i = 0; i < 500 && !gone; i++) {
        nanosleep(&(struct timespec){0, 5000000}, NULL);
        gone = kill(pid, 0) != 0 && errno == ESRCH;
    }
    assert_true(gone);
    kg_sandbox_sweep(); /* and its cgroups */
    close(ends[0]);
    close(ends[1]);
}

static ino_t network_of(const struct kg_sandbox *s)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)s->pid);
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

static void start_one(struct kg_sandbox *box, uint32_t without)
{
    const struct attack a = {.name = "probe", .args = {"ignore"}, .without = without};
    int reader;
    attack_start(&a, box, &reader);
    attack_wait_output(reader);
    close(reader);
}

/* In a fork of this process: does what it starts live in the network that this process keeps? */
static bool a_fork_shares(ino_t network)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct kg_sandbox box;
        start_one(&box, 0);
        ino_t own = network_of(&box);
        kg_sandbox_end(&box);
        _exit(own == network);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* A network namespace serves one program at a time, and another only after its end is certain. */
static void test_networks_are_never_shared(void **state)
{
    (void)state;
    uint32_t need = KG_STEP_NETNS | KG_STEP_PIDNS | KG_STEP_SECCOMP;
    if (geteuid() != 0 || !attack_has(need)) {
        skip();
    }
    struct stat host;
    assert_int_equal(stat("/proc/self/ns/net", &host), 0);
    struct kg_sandbox box[8];
    ino_t seen[8];
    for (int i = 0; i < 8; i++) {
        start_one(&box[i], 0);
        seen[i] = network_of(&box[i]);
        assert_true(seen[i] != host.st_ino);
        for (int k = 0; k < i; k++) {
            assert_true(seen[i] != seen[k]);
        }
    }
    kg_sandbox_end(&box[0]); /* the first to be kept */
    assert_false(a_fork_shares(seen[0]));
    start_one(&box[0], KG_STEP_PIDNS); /* could leave somebody behind: neither takes nor gives */
    assert_true(network_of(&box[0]) != seen[0]);
    ino_t other = network_of(&box[0]);
    kg_sandbox_end(&box[0]);
    start_one(&box[0], 0);
    assert_true(network_of(&box[0]) == seen[0] && seen[0] != other);
    for (int i = 0; i < 8; i++) {
        kg_sandbox_end(&box[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_status_is_reported),
        cmocka_unit_test(test_a_fault_ends_it_by_its_signal),
        cmocka_unit_test(test_raised_signals_as_pid_1),
        cmocka_unit_test(test_what_cannot_be_executed_exits_127_and_says_so),
        cmocka_unit_test(test_a_bind_that_is_missing_is_the_hosts_fault),
        cmocka_unit_test(test_a_step_that_fails_is_named),
        cmocka_unit_test(test_it_gets_exactly_what_was_listed),
        cmocka_unit_test(test_its_tmp_outlives_it_for_the_broker),
        cmocka_unit_test(test_a_deadline_passes_and_the_end_is_final),
        cmocka_unit_test(test_end_is_safe_on_nothing),
        cmocka_unit_test(test_a_frozen_program_does_not_run),
        cmocka_unit_test(test_one_that_cannot_stop_yet_is_waited_for),
        cmocka_unit_test(test_freezing_one_that_ended_says_so),
        cmocka_unit_test(test_the_cpu_limit_is_told_from_a_kill),
        cmocka_unit_test(test_out_of_memory_is_told_from_a_kill),
        cmocka_unit_test(test_without_a_cgroup_memory_is_still_limited),
        cmocka_unit_test(test_processes_are_limited),
        cmocka_unit_test(test_isolation_says_what_is_there_and_what_lacks),
        cmocka_unit_test(test_steps_fall_with_what_they_need),
        cmocka_unit_test(test_every_missing_capability_has_a_reason),
        cmocka_unit_test(test_the_program_dies_with_its_broker),
        cmocka_unit_test(test_networks_are_never_shared),
    };
    return cmocka_run_group_tests(tests, attack_setup, attack_teardown);
}
