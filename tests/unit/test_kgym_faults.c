/* The public header where processes of the pool die or never come up, where a task is cancelled
 * before its worker is open, and where the caller has no standard input, output and error. */
#include "kgym_rig.h"

#include <dlfcn.h>
#include <spawn.h>

#include "gym/kgym.h"
#include "pool_children.h"

/* Does a descriptor of the pool stand where a caller without stdio prints while a process starts?
 */
static bool stdio_taken;
/* So many of the next supervisors are killed as they start. */
static int killed_as_they_start;
int posix_spawn(pid_t *restrict pid, const char *restrict path,
                const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *restrict attr,
                char *const argv[restrict], char *const envp[restrict])
{
    __typeof__(&posix_spawn) real = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "posix_spawn");
    for (int fd = 0; fd < 3; fd++) {
        int flags = fcntl(fd, F_GETFD);
        stdio_taken = stdio_taken || (flags >= 0 && (flags & FD_CLOEXEC));
    }
    int rc = real(pid, path, actions, attr, argv, envp);
    if (rc == 0 && killed_as_they_start > 0) {
        killed_as_they_start--;
        kill(*pid, SIGKILL);
    }
    return rc;
}

static const char *const quick[] = {"stage.timing=false"};
static const char *const slow[] = {"stage.timing=false", "deadline.run=60", "deadline.eval=60"};

static struct kgym_error err;

static struct kgym_pool *open_pool(const char *const *settings, size_t n)
{
    const struct kgym_options o = {
        .size = sizeof o, .settings = settings, .nsettings = n, .workers = 1};
    struct kgym_pool *p = NULL;
    if (kgym_open(&o, &p, &err) != KGYM_OK) {
        fail_msg("%s", err.message);
    }
    return p;
}

static uint64_t submit(struct kgym_pool *p, const char *source)
{
    const struct kgym_task t = {.size = sizeof t,
                                .problem = "silu",
                                .text = source,
                                .text_len = strlen(source),
                                .source = 1,
                                .tag = "tag"};
    uint64_t id = 0;
    if (kgym_submit(p, &t, &id, &err) != KGYM_OK) {
        fail_msg("%s", err.message);
    }
    return id;
}

/* The next result, which must come. */
static struct kgym_result *must(struct kgym_pool *p)
{
    struct kgym_result *r = NULL;
    if (kgym_next(p, 60000, &r, &err) != KGYM_OK) {
        fail_msg("%s", err.message);
    }
    assert_non_null(r);
    return r;
}

static void must_be_good(struct kgym_pool *p)
{
    struct kgym_result *r;
    submit(p, GOOD);
    r = must(p);
    if (!r->verdict || strcmp(r->verdict, "ok") != 0) {
        fail_msg("%s", r->message);
    }
    kgym_result_free(r);
}

/* Waits until a worker has a task. */
static void wait_until_taken(struct kgym_pool *p)
{
    struct kgym_info info = {.size = sizeof info};
    for (int k = 0; k < 3000 && info.running == 0; k++) {
        usleep(5000);
        assert_int_equal(kgym_info(p, &info, &err), KGYM_OK);
    }
    assert_int_equal(info.running, 1);
}

/* A death before the greeting is a death like others: no task is lost over it. */
static void test_a_supervisor_killed_as_it_starts_is_replaced(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1);
    must_be_good(p);
    submit(p, GOOD);
    killed_as_they_start = 2;
    kill_supervisor();
    struct kgym_result *r = must(p);
    assert_int_equal(killed_as_they_start, 0);
    assert_string_equal(r->verdict, "ok");
    kgym_result_free(r);
    must_be_good(p);
    kgym_close(p);
}

/* A supervisor that dies while a worker has the task is replaced, and the task gets one more try.
 * Other tasks have results in between, so that the pool itself goes on. */
static void test_a_task_that_takes_two_supervisors_is_an_error(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(slow, 3);
    uint64_t id = submit(p, ENDLESS), waits = submit(p, GOOD);
    for (int i = 0; i < 2; i++) {
        wait_until_taken(p);
        kill_supervisor();
    }
    struct kgym_result *r = must(p);
    assert_int_equal(r->id, id);
    assert_int_equal(r->error, KGYM_E_GYM);
    assert_null(r->verdict);
    assert_string_equal(r->tag, "tag");
    assert_non_null(strstr(r->message, "supervisor died twice"));
    assert_non_null(strstr(r->record, "\"batch_id\":\"tag\""));
    kgym_result_free(r);
    r = must(p);
    assert_int_equal(r->id, waits); /* no worker had it: it is not to blame */
    assert_string_equal(r->verdict, "ok");
    kgym_result_free(r);
    must_be_good(p);
    kgym_close(p);
    rig_nothing_left();
}

/* Four deaths and no result: the pool has ended, and every call says so. */
static void test_supervisors_that_die_end_the_pool(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1);
    struct kgym_info info = {.size = sizeof info};
    struct kgym_result *r;
    const struct kgym_task t = {.size = sizeof t, .problem = "silu", .text = "x", .text_len = 1};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(kgym_info(p, &info, &err), KGYM_OK);
        kill_supervisor();
    }
    assert_int_equal(kgym_info(p, &info, &err), KGYM_E_GYM);
    assert_non_null(strstr(err.message, "died 4 times"));
    assert_int_equal(kgym_next(p, 0, &r, &err), KGYM_E_GYM);
    assert_null(r);
    assert_int_equal(kgym_submit(p, &t, NULL, &err), KGYM_E_GYM);
    assert_int_equal(kgym_resize(p, 2, &err), KGYM_E_GYM);
    assert_int_equal(kgym_release_core(p, 0, &err), KGYM_E_GYM);
    assert_int_equal(kgym_drain(p, &err), KGYM_OK);
    kgym_close(p);
    rig_nothing_left();
}

/* A worker that was told to stop while it opened could not open: that says nothing about the host,
 * and the next one opens. */
static void test_cancel_while_the_worker_opens(void **state)
{
    (void)state;
    char script[700], compiler[300];
    snprintf(script, sizeof script,
             "#!/bin/sh\nsleep 0.4\n[ -e %s/broken ] && exit 1\nexec gcc \"$@\"\n", rig_dir);
    rig_text("slow-gcc", script);
    assert_int_equal(chmod("slow-gcc", 0755), 0);
    snprintf(compiler, sizeof compiler, "compiler=%s/slow-gcc", rig_dir);
    const char *const settings[] = {"stage.timing=false", compiler};
    struct kgym_pool *p = open_pool(settings, 2);
    rig_text("broken", "");
    uint64_t id = submit(p, GOOD);
    wait_until_taken(p);
    assert_int_equal(kgym_cancel(p, id, &err), KGYM_OK);
    struct kgym_result *r = must(p);
    assert_int_equal(r->id, id);
    assert_int_equal(r->error, KGYM_E_CANCELLED);
    assert_non_null(strstr(r->message, "cancelled by the caller"));
    kgym_result_free(r);
    assert_int_equal(unlink("broken"), 0);
    must_be_good(p);
    kgym_close(p);
}

/* Runs in a child. Returns what went wrong. */
static int without_stdio(void)
{
    char path[64], target[64] = "";
    struct kgym_pool *p = NULL;
    struct kgym_result *r = NULL;
    const struct kgym_options o = {
        .size = sizeof o, .settings = quick, .nsettings = 1, .workers = 2};
    const struct kgym_task t = {
        .size = sizeof t, .problem = "silu", .text = GOOD, .text_len = strlen(GOOD), .source = 1};
    for (int fd = 0; fd < 3; fd++) {
        close(fd);
    }
    if (kgym_open(&o, &p, &err) != KGYM_OK || kgym_submit(p, &t, NULL, &err) != KGYM_OK) {
        return 1;
    }
    if (stdio_taken) {
        return 5;
    }
    for (int fd = 0; fd < 3; fd++) { /* a caller that prints must not write into the pool */
        if (fcntl(fd, F_GETFD) != -1) {
            return 2;
        }
    }
    if (kgym_next(p, 60000, &r, &err) != KGYM_OK || !r) {
        return 3;
    }
    if (!r->verdict || strcmp(r->verdict, "ok") != 0) {
        return 4;
    }
    long supervisor = child_of(getpid()), worker = child_of(supervisor);
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "/proc/%ld/fd/%d", i < 3 ? supervisor : worker, i % 3);
        ssize_t n = readlink(path, target, sizeof target - 1);
        target[n < 0 ? 0 : n] = 0;
        if (strcmp(target, "/dev/null") != 0) {
            return 10 + i;
        }
    }
    kgym_result_free(r);
    kgym_close(p);
    return 0;
}

static void test_a_caller_without_stdio(void **state)
{
    (void)state;
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(without_stdio());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    rig_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_supervisor_killed_as_it_starts_is_replaced),
        cmocka_unit_test(test_a_task_that_takes_two_supervisors_is_an_error),
        cmocka_unit_test(test_supervisors_that_die_end_the_pool),
        cmocka_unit_test(test_cancel_while_the_worker_opens),
        cmocka_unit_test(test_a_caller_without_stdio),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
