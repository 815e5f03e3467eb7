/* Hosts that refuse: containers without namespaces, kernels without Landlock. Played by a filter in
 * a child, since what a host allows is found out once per process. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
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

#include "gym/sandbox/plan.h"
#include "tests/support/attack.h"

/* As a container's default profile: namespaces EPERM, clone3 ENOSYS. */
static bool refuse_namespaces(void)
{
    const uint32_t spaces = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
                            CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
    bool good = seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 &&
                seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 0) == 0 &&
                seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(mount), 0) == 0;
    for (uint32_t bit = 1; bit != 0; bit <<= 1) {
        good = good &&
               (!(spaces & bit) || seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                                    SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit)) == 0);
    }
    good = good && seccomp_load(c) == 0;
    seccomp_release(c);
    return good;
}

static bool refuse_landlock(void)
{
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
    bool good =
        seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_create_ruleset), 0) == 0 &&
        seccomp_load(c) == 0;
    seccomp_release(c);
    return good;
}

/* In a child: play the host, then check; a failed check prints and fails the test. */
static void on_host(bool (*play)(void), const char *(*check)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        const char *wrong = play() ? check() : "the filter could not be loaded";
        if (wrong != NULL) {
            fprintf(stderr, "%s\n", wrong);
        }
        _exit(wrong == NULL ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static const char *check_no_namespaces(void)
{
    const uint32_t gone = KG_STEP_MOUNTNS | KG_STEP_PIDNS | KG_STEP_NETNS | KG_STEP_IPCNS |
                          KG_STEP_USERNS | KG_STEP_TMPFS;
    const uint32_t kept = KG_STEP_RLIMIT | KG_STEP_LANDLOCK | KG_STEP_NNP | KG_STEP_SECCOMP |
                          KG_STEP_ENV | KG_STEP_FDS | KG_STEP_SESSION;
    const struct kg_host_caps *c = kg_sandbox_caps();
    struct kg_err err = KG_ERR_INIT;
    if ((c->steps & gone) != 0 || (c->steps & kept) != kept) {
        return "steps";
    }
    for (int i = 0; i < KG_STEP_COUNT; i++) {
        if ((gone & (1u << i)) && c->why[i][0] == '\0') {
            return "no reason for a missing step";
        }
    }
    if (kg_sandbox_require(false, &err) != KG_OK || kg_sandbox_isolation(0).level != 1) {
        return "level 1 is enough to go on";
    }
    struct kg_isolation isolation;
    struct kg_exit e =
        attack_run(&(struct attack){.name = "probe", .args = {"exit", "9"}}, NULL, &isolation);
    if (e.kind != KG_EXIT_CODE || e.code != 9 || isolation.level != 1) {
        return "a program does not run at level 1";
    }
    e = attack_run(&(struct attack){.name = "readfile", .args = {"/etc/passwd"}}, NULL, NULL);
    return e.kind == KG_EXIT_CODE && e.code == 1 ? NULL : "a host file was read at level 1";
}

static const char *check_no_landlock(void)
{
    struct kg_err err = KG_ERR_INIT;
    if (kg_sandbox_caps()->landlock_abi != 0 || (kg_sandbox_caps()->steps & KG_STEP_LANDLOCK)) {
        return "Landlock is said to be there";
    }
    if (kg_sandbox_require(false, &err) != KG_E_HOST ||
        strstr(err.message, "no landlock") == NULL ||
        strstr(err.message, "--allow-unconfined") == NULL) {
        return "it does not refuse, or not by name";
    }
    if (kg_sandbox_require(true, &err) != KG_OK || kg_sandbox_isolation(0).level != 0) {
        return "allowed, it is level 0";
    }
    struct kg_exit e =
        attack_run(&(struct attack){.name = "probe", .args = {"exit", "9"}}, NULL, NULL);
    return e.kind == KG_EXIT_CODE && e.code == 9 ? NULL : "a program does not run at level 0";
}

static void test_without_namespaces_it_is_level_1(void **state)
{
    (void)state;
    on_host(refuse_namespaces, check_no_namespaces);
}

static void test_without_landlock_it_refuses(void **state)
{
    (void)state;
    on_host(refuse_landlock, check_no_landlock);
}

static int setup(void **state)
{
    if (attack_setup(state) != 0) {
        return -1;
    }
    attack_program("probe");
    attack_program("readfile");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_namespaces_it_is_level_1),
        cmocka_unit_test(test_without_landlock_it_refuses),
    };
    return cmocka_run_group_tests(tests, setup, attack_teardown);
}
