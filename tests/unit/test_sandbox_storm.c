/* After a storm of hostile programs the host is as before: processes, mounts, shared memory, IPC
 * objects, cgroups, temporary files, descriptors. Only what kgym could have left is compared, so
 * that other programs on the machine do not disturb. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "gym/sandbox/cgroup.h"
#include "gym/sandbox/plan.h"
#include "tests/support/attack.h"

struct snapshot {
    int processes, mounts, shared, ipc, cgroups, temporary, descriptors;
};

static int count_lines(const char *path, const char *with)
{
    FILE *f = fopen(path, "re");
    char line[2048];
    int n = 0;
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        n += with == NULL || strstr(line, with) != NULL;
    }
    if (f != NULL) {
        fclose(f);
    }
    return n;
}

static int count_entries(const char *folder, const char *prefix)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    int n = 0;
    while (d != NULL && (e = readdir(d)) != NULL) {
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

/* Processes whose command line names this test's folder: every fixture does. */
static int count_processes(void)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    int n = 0;
    while (d != NULL && (e = readdir(d)) != NULL) {
        char path[300], line[512] = "";
        snprintf(path, sizeof path, "/proc/%.20s/cmdline", e->d_name);
        int fd = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (fd >= 0) {
            ssize_t got = read(fd, line, sizeof line - 1);
            n += got > 0 && strstr(line, attack_folder()) != NULL;
            close(fd);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

static int count_children(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    int n = 0, pid;
    while (f != NULL && fscanf(f, "%d", &pid) == 1) {
        n++;
    }
    if (f != NULL) {
        fclose(f);
    }
    return n;
}

static struct snapshot look(void)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, "kgym-%d-", (int)getpid());
    struct snapshot s = {0};
    s.processes = count_processes() + count_children();
    s.mounts = count_lines("/proc/self/mountinfo", NULL);
    s.shared = count_entries("/dev/shm", "kgym");
    s.ipc = count_lines("/proc/sysvipc/shm", NULL) + count_lines("/proc/sysvipc/sem", NULL) +
            count_lines("/proc/sysvipc/msg", NULL);
    const struct kg_cgroup_host *h = kg_cgroup_host();
    for (int i = 0; i < 3; i++) {
        s.cgroups += h->base[i][0] != '\0' ? count_entries(h->base[i], prefix) : 0;
    }
    snprintf(prefix, sizeof prefix, "kgym-scratch-%d-", (int)getpid());
    s.temporary = count_entries("/tmp", prefix);
    s.descriptors = count_entries("/proc/self/fd", "");
    return s;
}

static void expect_same(const struct snapshot *a, const struct snapshot *b, const char *after)
{
    if (memcmp(a, b, sizeof *a) != 0) {
        fail_msg("after %s: processes %d %d, mounts %d %d, /dev/shm %d %d, ipc %d %d, cgroups %d "
                 "%d, temporary %d %d, descriptors %d %d",
                 after, a->processes, b->processes, a->mounts, b->mounts, a->shared, b->shared,
                 a->ipc, b->ipc, a->cgroups, b->cgroups, a->temporary, b->temporary, a->descriptors,
                 b->descriptors);
    }
}

static const char *scratch_path; /* of the scratch folder of a storm */

struct gust {
    struct attack attack;
    enum kg_exit_kind kind;
    int code; /* -1: any */
};

static void blow(const struct gust *g, uint32_t without)
{
    struct attack a = g->attack;
    a.without = without;
    if (strcmp(a.name, "manyfiles") == 0) {
        a.args[0] = scratch_path;
        a.bind = (struct kg_bind){scratch_path, scratch_path, true};
    }
    struct kg_exit e = attack_run(&a, NULL, NULL);
    if (without == 0 && (e.kind != g->kind || (g->code >= 0 && e.code != g->code))) {
        fail_msg("%s %s: kind %d code %d", a.name, a.args[0], (int)e.kind, e.code);
    }
}

static const struct gust storm[] = {
    {{.name = "probe", .args = {"forkbomb"}, .processes = 20, .memory_mb = 64, .ms = 300},
     KG_EXIT_KILLED,
     SIGKILL},
    {{.name = "memory", .args = {"300"}, .memory_mb = 48}, KG_EXIT_OOM, -1},
    {{.name = "manyfiles", .args = {"", "200"}}, KG_EXIT_CODE, 1},
    {{.name = "probe", .args = {"flood"}, .ms = 300}, KG_EXIT_KILLED, SIGKILL},
    {{.name = "probe", .args = {"ignore"}, .ms = 300}, KG_EXIT_KILLED, SIGKILL},
    {{.name = "probe", .args = {"spin"}, .cpu_s = 1}, KG_EXIT_SIGNAL, SIGXCPU},
    {{.name = "daemon"}, KG_EXIT_CODE, 0},
    {{.name = "probe", .args = {"segv"}}, KG_EXIT_SIGNAL, SIGSEGV},
    {{.name = "namespace"}, KG_EXIT_CODE, 1},
};

static void test_nothing_is_left_behind(void **state)
{
    (void)state;
    if (!attack_has(KG_STEP_CGROUP | KG_STEP_TMPFS | KG_STEP_PIDNS)) {
        skip();
    }
    struct kg_err err = KG_ERR_INIT;
    struct kg_scratch warm;
    assert_int_equal(kg_scratch_open(1 << 20, 64, &warm, &err), KG_OK); /* moves this process */
    kg_scratch_close(&warm);
    for (size_t i = 0; i < sizeof storm / sizeof *storm; i++) {
        attack_program(storm[i].attack.name);
    }
    const struct snapshot before = look();
    for (size_t i = 0; i < sizeof storm / sizeof *storm; i++) {
        struct kg_scratch s;
        assert_int_equal(kg_scratch_open(8 << 20, 64, &s, &err), KG_OK);
        scratch_path = s.path;
        blow(&storm[i], 0);
        kg_scratch_close(&s);
        struct snapshot after = look();
        expect_same(&before, &after, storm[i].attack.name);
    }
}

/* With no pid namespace the cgroup has to find them all; without a cgroup, the namespace. */
static void test_one_of_two_nets_is_enough(void **state)
{
    (void)state;
    if (!attack_has(KG_STEP_CGROUP | KG_STEP_PIDNS)) {
        skip();
    }
    static const uint32_t nets[] = {KG_STEP_PIDNS, KG_STEP_CGROUP};
    const struct gust few[] = {storm[0], storm[6]};
    attack_program("probe");
    attack_program("daemon");
    const struct snapshot before = look();
    for (size_t n = 0; n < 2; n++) {
        for (size_t i = 0; i < 2; i++) {
            blow(&few[i], nets[n]);
            struct snapshot after = look();
            expect_same(&before, &after, few[i].attack.name);
        }
    }
}

/* A neighbour's sandbox, running meanwhile, is not disturbed. */
static void test_a_neighbour_is_not_disturbed(void **state)
{
    (void)state;
    const struct attack quiet = {.name = "probe", .args = {"ignore"}};
    struct kg_sandbox box;
    int reader;
    attack_start(&quiet, &box, &reader);
    attack_wait_output(reader);
    const struct attack bomb = {.name = "probe", .args = {"forkbomb"}, .processes = 20, .ms = 300};
    attack_run(&bomb, NULL, NULL);
    const struct attack flood = {.name = "memory", .args = {"300"}, .memory_mb = 48};
    attack_run(&flood, NULL, NULL);
    assert_false(kg_sandbox_poll(&box));
    kg_sandbox_end(&box);
    assert_int_equal(box.exit.kind, KG_EXIT_KILLED);
    close(reader);
}

/* The snapshot can see: each kind of leftover changes it. */
static void test_the_snapshot_sees_leftovers(void **state)
{
    (void)state;
    const struct snapshot before = look();
    const struct attack a = {.name = "probe", .args = {"ignore"}};
    struct kg_sandbox box;
    int reader;
    attack_start(&a, &box, &reader);
    attack_wait_output(reader);
    struct snapshot during = look();
    assert_true(during.processes > before.processes);
    assert_true(during.descriptors > before.descriptors);
    if (kg_sandbox_caps()->steps & KG_STEP_CGROUP) {
        assert_true(during.cgroups > before.cgroups);
    }
    kg_sandbox_end(&box);
    close(reader);
    struct kg_scratch s;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_scratch_open(1 << 20, 64, &s, &err), KG_OK);
    during = look();
    assert_true(during.temporary > before.temporary);
    assert_true(!s.tmpfs || during.mounts > before.mounts);
    kg_scratch_close(&s);
    struct snapshot after = look();
    expect_same(&before, &after, "nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_left_behind),
        cmocka_unit_test(test_one_of_two_nets_is_enough),
        cmocka_unit_test(test_a_neighbour_is_not_disturbed),
        cmocka_unit_test(test_the_snapshot_sees_leftovers),
    };
    return cmocka_run_group_tests(tests, attack_setup, attack_teardown);
}
