/* Every step of the ladder has an attack that the whole ladder stops, and that works once the step
 * is taken out. Where several steps stop the same attack, the overlapping ones are left out on both
 * sides; each test says which and why. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "gym/sandbox/plan.h"
#include "tests/support/attack.h"

static bool worked(struct attack a, uint32_t without)
{
    a.without = without;
    struct kg_isolation isolation;
    struct kg_exit e = attack_run(&a, NULL, &isolation);
    assert_int_equal(isolation.has & without, 0);
    return e.kind == KG_EXIT_CODE && e.code == 0;
}

/* overlap: left out on both sides. */
static void expect_only(const struct attack *a, uint32_t step, uint32_t overlap)
{
    if (!attack_has(step)) {
        skip();
    }
    assert_false(worked(*a, 0));
    assert_false(worked(*a, overlap));
    assert_true(worked(*a, overlap | step));
}

static const char *scratch(void)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/scratch", attack_folder());
    mkdir(path, 0755);
    return path;
}

static void test_rlimit_stops_a_large_file(void **state)
{
    (void)state;
    char path[200];
    snprintf(path, sizeof path, "%s/big", scratch());
    const struct attack a = {
        .name = "bigfile", .args = {path, "4"}, .bind = {scratch(), scratch(), true}, .file_mb = 1};
    expect_only(&a, KG_STEP_RLIMIT, 0);
    unlink(path);
}

static void test_cgroup_stops_a_memory_flood(void **state)
{
    (void)state;
    /* Below the address-space limit, which alone has to leave room for what is never touched. */
    const struct attack a = {.name = "memory", .args = {"200"}, .memory_mb = 64};
    expect_only(&a, KG_STEP_CGROUP, 0);
}

static const char *make_setuid_program(void)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/setuid-root", attack_folder());
    char command[512];
    snprintf(command, sizeof command, "cp %s %s && chmod 4755 %s", attack_program("setuid"), path,
             path);
    assert_int_equal(system(command), 0);
    return path;
}

/* A mount namespace mounts everything nosuid; filters and Landlock can't be loaded by an
 * unprivileged process that has not given up new privileges. */
#define SETUID_OVERLAP (KG_STEP_MOUNTNS | KG_STEP_LANDLOCK | KG_STEP_SECCOMP)

static void test_no_new_privileges_stops_setuid_programs(void **state)
{
    (void)state;
    if (!attack_has(KG_STEP_UID)) {
        skip();
    }
    /* In a user namespace root's uid is not mapped, and the bit is ignored. */
    const struct attack a = {.name = "setuid", .args = {make_setuid_program()}};
    expect_only(&a, KG_STEP_NNP, SETUID_OVERLAP | KG_STEP_USERNS);
}

static void test_user_namespace_stops_setuid_programs(void **state)
{
    (void)state;
    if (!attack_has(KG_STEP_USERNS)) {
        skip();
    }
    if (kg_sandbox_caps()->root) {
        const struct attack a = {.name = "setuid", .args = {make_setuid_program()}};
        expect_only(&a, KG_STEP_USERNS, SETUID_OVERLAP | KG_STEP_NNP);
    } else { /* for others it is what allows all other namespaces */
        const struct attack a = {.name = "readfile", .args = {"/etc/passwd"}};
        expect_only(&a, KG_STEP_USERNS, KG_STEP_LANDLOCK);
    }
}

static void test_mount_namespace_hides_the_hosts_files(void **state)
{
    (void)state;
    const struct attack a = {.name = "readfile", .args = {"/etc/passwd"}};
    expect_only(&a, KG_STEP_MOUNTNS, KG_STEP_LANDLOCK);
}

static void test_landlock_hides_the_hosts_files(void **state)
{
    (void)state;
    const struct attack a = {.name = "readfile", .args = {"/etc/passwd"}};
    expect_only(&a, KG_STEP_LANDLOCK, KG_STEP_MOUNTNS);
}

/* True if a process outlived the end of its sandbox; it is then killed. */
static bool leaves_a_survivor(uint32_t without)
{
    const struct attack a = {.name = "daemon", .without = without};
    struct kg_sandbox box;
    int reader;
    attack_start(&a, &box, &reader);
    attack_wait_output(reader);
    char text[32] = "";
    assert_true(read(reader, text, sizeof text - 1) > 0);
    kg_sandbox_end(&box);
    /* End of file means that nobody holds the other end. */
    fcntl(reader, F_SETFL, O_NONBLOCK);
    char byte;
    bool lives = read(reader, &byte, 1) < 0 && errno == EAGAIN;
    if (lives) {
        kill((pid_t)strtol(text, NULL, 10), SIGKILL);
    }
    close(reader);
    return lives;
}

static void test_pid_namespace_ends_survivors(void **state)
{
    (void)state;
    if (!attack_has(KG_STEP_PIDNS)) {
        skip();
    }
    assert_false(leaves_a_survivor(0));
    assert_false(leaves_a_survivor(KG_STEP_CGROUP));
    /* A cgroup is listed and killed, too. */
    assert_true(leaves_a_survivor(KG_STEP_CGROUP | KG_STEP_PIDNS));
    if (attack_has(KG_STEP_CGROUP)) {
        assert_false(leaves_a_survivor(KG_STEP_PIDNS));
    }
}

static void test_network_namespace_hides_the_loopback(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    char port[16];
    snprintf(port, sizeof port, "%d", ntohs(at.sin_port));
    /* The filter knows no sockets; Landlock refuses to connect. */
    const struct attack a = {.name = "connect", .args = {port}};
    expect_only(&a, KG_STEP_NETNS, KG_STEP_SECCOMP | KG_STEP_LANDLOCK);
    close(fd);
}

static void test_ipc_namespace_hides_shared_memory(void **state)
{
    (void)state;
    int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666);
    char *at = shmat(id, NULL, 0);
    assert_true(at != (char *)-1);
    memcpy(at, "secret", 7);
    shmdt(at);
    char number[16];
    snprintf(number, sizeof number, "%d", id);
    const struct attack a = {.name = "sysvshm", .args = {number}};
    bool here = attack_has(KG_STEP_IPCNS);
    bool full = here && worked(a, 0);
    bool alone = here && worked(a, KG_STEP_SECCOMP); /* the filter refuses it, too */
    bool open = here && worked(a, KG_STEP_SECCOMP | KG_STEP_IPCNS);
    shmctl(id, IPC_RMID, NULL);
    if (!here) {
        skip();
    }
    assert_false(full);
    assert_false(alone);
    assert_true(open);
}

static const char *secret_file(void)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/secret", attack_folder());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "secret", 6), 6);
    close(fd);
    return path;
}

/* Without a mount namespace a runner keeps the broker's uid where another one could not reach what
 * it is given. */
static void test_own_uid_cannot_read_the_brokers_files(void **state)
{
    (void)state;
    if (!attack_has(KG_STEP_MOUNTNS)) {
        skip();
    }
    const char *path = secret_file();
    const struct attack a = {.name = "readfile", .args = {path}, .bind = {path, path, false}};
    expect_only(&a, KG_STEP_UID, 0);
}

static void test_filter_refuses_new_namespaces(void **state)
{
    (void)state;
    const struct attack a = {.name = "namespace"};
    if (!attack_has(KG_STEP_SECCOMP | KG_STEP_USERNS)) {
        skip();
    }
    expect_only(&a, KG_STEP_SECCOMP, 0);
}

/* The step is the scratch folder's: a tmpfs of 4 MB, or a plain folder. */
static bool fills(struct kg_scratch *s, bool *recorded)
{
    const struct attack a = {
        .name = "manyfiles", .args = {s->path, "32"}, .bind = {s->path, s->path, true}};
    struct kg_isolation isolation;
    struct kg_exit e = attack_run(&a, NULL, &isolation);
    *recorded = (isolation.has & KG_STEP_TMPFS) != 0;
    return e.kind == KG_EXIT_CODE && e.code == 0;
}

static void test_tmpfs_stops_a_disk_fill(void **state)
{
    (void)state;
    if (!attack_has(KG_STEP_TMPFS)) {
        skip();
    }
    struct kg_err err = KG_ERR_INIT;
    struct kg_scratch small, plain;
    assert_int_equal(kg_scratch_open(4 << 20, 100, &small, &err), KG_OK);
    assert_int_equal(kg_scratch_open_plain(&plain, &err), KG_OK);
    bool recorded_small, recorded_plain;
    bool filled_small = fills(&small, &recorded_small);
    bool filled_plain = fills(&plain, &recorded_plain);
    kg_scratch_close(&small);
    kg_scratch_close(&plain);
    assert_false(filled_small);
    assert_true(recorded_small);
    assert_true(filled_plain);
    assert_false(recorded_plain);
}

static void test_environment_is_not_inherited(void **state)
{
    (void)state;
    setenv("KGYM_TEST_SECRET", "x", 1);
    const struct attack a = {.name = "environ"};
    expect_only(&a, KG_STEP_ENV, 0);
    unsetenv("KGYM_TEST_SECRET");
}

static void test_descriptors_are_closed(void **state)
{
    (void)state;
    int fd = open(secret_file(), O_RDONLY); /* without O_CLOEXEC, as a careless library would */
    assert_true(fd >= 0);
    const struct attack a = {.name = "descriptors"};
    expect_only(&a, KG_STEP_FDS, 0);
    close(fd);
}

static volatile sig_atomic_t hit;

static void on_signal(int sig)
{
    (void)sig;
    hit = 1;
}

/* In a process group of its own, so that only this broker is hit. */
static bool hits_the_broker(uint32_t without)
{
    attack_program("groupkill");
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        signal(SIGUSR1, on_signal);
        const struct attack a = {.name = "groupkill", .without = without};
        attack_run(&a, NULL, NULL);
        _exit(hit ? 1 : 0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 1;
}

static void test_session_shields_the_brokers_group(void **state)
{
    (void)state;
    /* A group reaches across pid namespaces. Another uid may not signal the broker, and newer
     * Landlock keeps signals inside. */
    const uint32_t overlap = KG_STEP_LANDLOCK | KG_STEP_UID;
    assert_false(hits_the_broker(0));
    assert_false(hits_the_broker(overlap));
    assert_true(hits_the_broker(overlap | KG_STEP_SESSION));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rlimit_stops_a_large_file),
        cmocka_unit_test(test_cgroup_stops_a_memory_flood),
        cmocka_unit_test(test_user_namespace_stops_setuid_programs),
        cmocka_unit_test(test_mount_namespace_hides_the_hosts_files),
        cmocka_unit_test(test_pid_namespace_ends_survivors),
        cmocka_unit_test(test_network_namespace_hides_the_loopback),
        cmocka_unit_test(test_ipc_namespace_hides_shared_memory),
        cmocka_unit_test(test_own_uid_cannot_read_the_brokers_files),
        cmocka_unit_test(test_landlock_hides_the_hosts_files),
        cmocka_unit_test(test_no_new_privileges_stops_setuid_programs),
        cmocka_unit_test(test_filter_refuses_new_namespaces),
        cmocka_unit_test(test_tmpfs_stops_a_disk_fill),
        cmocka_unit_test(test_environment_is_not_inherited),
        cmocka_unit_test(test_descriptors_are_closed),
        cmocka_unit_test(test_session_shields_the_brokers_group),
    };
    return cmocka_run_group_tests(tests, attack_setup, attack_teardown);
}
