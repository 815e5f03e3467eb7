/* Pools whose judge is a service: all that holds for a pool of this host (kgym_cases.h), and what
 * is a service's own: it restarts, it refuses, another process of the same run finds its jobs. One
 * service runs for all tests. */
#include "kgym_cases.h"

#include <sys/prctl.h>
#include <sys/socket.h>

#include "gym/pool/client.h"
#include "tests/support/svc_rig.h"

static char url[64];

static void serve(void)
{
    setenv("KGYM_BUILD", getenv("KGYM_HOME"), 1);
    setenv("KGYM_DEADLINE_RUN", "60", 1);
    setenv("KGYM_DEADLINE_EVAL", "60", 1);
    svc_start("--jobs 2 --term 5");
    unsetenv("KGYM_DEADLINE_EVAL");
    unsetenv("KGYM_DEADLINE_RUN");
    unsetenv("KGYM_BUILD");
    other_child = svc_pid;
}

static int start(void **state)
{
    if (svc_setup(state) != 0 || rig_setup(state) != 0) {
        return -1;
    }
    serve();
    snprintf(url, sizeof url, "http://127.0.0.1:%d", svc_port);
    judge = url;
    return 0;
}

static int stop(void **state)
{
    return rig_teardown(state) != 0 || svc_teardown(state) != 0;
}

/* --- what is a service's own --- */

static struct kgym_pool *open_run(const char *run)
{
    const struct kgym_options o = {
        .size = sizeof o, .settings = quick, .nsettings = 1, .gym = url, .run = run};
    struct kgym_pool *p = NULL;
    if (kgym_open(&o, &p, &err) != KGYM_OK) {
        fail_msg("%s", err.message);
    }
    return p;
}

static int64_t jobs(const char *state)
{
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    int64_t n = json_integer_value(json_object_get(json_object_get(j, "jobs"), state));
    json_decref(j);
    return n;
}

static int64_t all_jobs(void)
{
    static const char *const states[] = {"waiting", "running", "done", "cancelled", "dead"};
    int64_t n = 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        n += jobs(states[i]);
    }
    return n;
}

static void await_none(const char *state)
{
    for (int i = 0; i < 3000 && jobs(state) > 0; i++) {
        usleep(10000);
    }
    assert_int_equal(jobs(state), 0);
}

static void record_id(const struct kgym_result *r, char out[64])
{
    const char *at = strstr(r->record, "\"id\":\"");
    assert_non_null(at);
    snprintf(out, 64, "%.26s", at + strlen("\"id\":\""));
}

static void test_a_run_that_goes_on_judges_nothing_twice(void **state)
{
    char first[64], again[64];
    (void)state;
    struct kgym_pool *p = open_run("one");
    submit(p, "int x;\n", "a", 0);
    struct kgym_result *r = must(p);
    record_id(r, first);
    kgym_result_free(r);
    kgym_close(p);
    int64_t before = all_jobs();
    p = open_run("one");
    submit(p, "int x;\n", "a", 0);
    r = must(p);
    record_id(r, again);
    assert_string_equal(first, again);
    assert_string_equal(r->verdict, "rejected");
    kgym_result_free(r);
    assert_int_equal(all_jobs(), before);
    submit(p, "int x;\n", "b", 0); /* another line of the run */
    submit(p, "int y;\n", "a", 0); /* the same line, with another text */
    kgym_result_free(must(p));
    kgym_result_free(must(p));
    assert_int_equal(all_jobs(), before + 2);
    kgym_close(p);
    p = open_run("two");
    submit(p, "int x;\n", "a", 0);
    r = must(p);
    record_id(r, again);
    assert_string_not_equal(first, again);
    kgym_result_free(r);
    kgym_close(p);
}

static void must_be_cancelled(struct kgym_pool *p, uint64_t id)
{
    struct kgym_result *r = must(p);
    assert_int_equal(r->id, id);
    assert_int_equal(r->error, KGYM_E_CANCELLED);
    assert_int_equal(r->nrewards, 0);
    kgym_result_free(r);
}

/* A job that was cancelled is no answer for who asks again. */
static void test_a_lost_job_frees_its_key(void **state)
{
    (void)state;
    int64_t before = all_jobs();
    struct kgym_pool *p = open_run("three");
    for (int i = 0; i < 2; i++) {
        uint64_t id = submit(p, ENDLESS, "a", 0);
        await_running(p, 1);
        assert_int_equal(kgym_cancel(p, id, &err), KGYM_OK);
        must_be_cancelled(p, id);
        await_none("running");
    }
    assert_int_equal(all_jobs(), before + 2);
    kgym_close(p);
}

/* Equal tasks of a run are one job, and its end is news to each of them: a task that hears nothing
 * asks by itself only after 20 s. */
static void test_equal_tasks_hear_of_their_job_together(void **state)
{
    (void)state;
    int64_t before = all_jobs();
    struct kgym_pool *p = open_run("five");
    for (int i = 0; i < 3; i++) {
        submit(p, GOOD, "a", 0);
    }
    kgym_result_free(must(p));
    for (int i = 0; i < 2; i++) {
        struct kgym_result *r = next(p, 10000);
        assert_non_null(r);
        assert_string_equal(r->verdict, "ok");
        kgym_result_free(r);
    }
    assert_int_equal(all_jobs(), before + 1);
    kgym_close(p);
}

/* Who gives up takes the job from nobody else. */
static void test_a_shared_job_goes_on_for_the_others(void **state)
{
    (void)state;
    struct kgym_pool *p = open_run("six");
    uint64_t first = submit(p, ENDLESS, "a", 0), second = submit(p, ENDLESS, "a", 0);
    await_running(p, 2);
    assert_int_equal(kgym_cancel(p, first, &err), KGYM_OK);
    must_be_cancelled(p, first);
    must_be_cancelled(p, submit(p, ENDLESS, "a", 0.5));
    assert_null(next(p, 500));
    assert_int_equal(jobs("running"), 1);
    assert_int_equal(kgym_cancel(p, second, &err), KGYM_OK);
    must_be_cancelled(p, second);
    await_none("running");
    kgym_close(p);
}

static void test_a_pool_that_is_closed_leaves_nothing_behind(void **state)
{
    (void)state;
    struct kgym_pool *p = open_run("four");
    for (int i = 0; i < 6; i++) {
        char text[sizeof ENDLESS + 16];
        snprintf(text, sizeof text, "%s// %d\n", ENDLESS, i);
        submit(p, text, NULL, 0);
    }
    await_running(p, 2);
    kgym_close(p);
    assert_int_equal(jobs("waiting"), 0);
    await_none("running");
}

/* Its last words reach the pool's process though that has found already that nobody listens, and
 * though the socket has no room for them at first. */
static void test_a_pool_that_is_closed_is_heard_to_its_end(void **state)
{
    int full = 1, status = -1;
    (void)state;
    struct kgym_pool *p = open_run("eight");
    submit(p, ENDLESS, "a", 0);
    await_running(p, 1);
    long remote = child_of(getpid());
    assert_int_equal(shutdown(p->channel.fd, SHUT_RD), 0);
    submit(p, ENDLESS, "b", 0);
    usleep(500000); /* nobody has heard that it is taken */
    assert_int_equal(kill((pid_t)remote, SIGSTOP), 0);
    for (int i = 0; i < 30; i++) {
        char tag[16];
        snprintf(tag, sizeof tag, "%d", i);
        submit(p, ENDLESS, tag, 0);
    }
    assert_int_equal(setsockopt(p->channel.fd, SOL_SOCKET, SO_SNDBUF, &full, sizeof full), 0);
    pid_t waker = fork();
    if (waker == 0) {
        usleep(300000);
        _exit(kill((pid_t)remote, SIGCONT) == 0 ? 0 : 1);
    }
    kgym_close(p);
    assert_int_equal(waitpid(waker, &status, 0), waker);
    assert_int_equal(status, 0);
    assert_int_equal(jobs("waiting"), 0);
    await_none("running");
}

/* A caller that dies while the service does not answer: one task has its answer and waits for its
 * job's id, the other one is left as it is. Returns the pool's process by the pipe. */
static void die_with_requests_under_way(int out)
{
    struct kgym_info info = {.size = sizeof info};
    struct kgym_pool *p = open_run("seven");
    long remote = child_of(getpid());
    bool good = kill(svc_child("serve-api"), SIGSTOP) == 0;
    submit(p, "int x;\n", "a", 0);
    uint64_t id = submit(p, ENDLESS, "a", 0);
    for (int i = 0; i < 2; i++) { /* the second answer comes after both requests have left */
        good = kgym_info(p, &info, &err) == KGYM_OK && good;
    }
    good = kgym_cancel(p, id, &err) == KGYM_OK && good;
    kgym_result_free(must(p));
    good = write(out, &remote, sizeof remote) == sizeof remote && good;
    _exit(good ? 0 : 1);
}

static void test_a_caller_that_dies_leaves_its_requests(void **state)
{
    int fd[2], status = -1;
    long remote = 0;
    (void)state;
    struct kgym_pool *p = open_run("seven"); /* the job that is left has a record already */
    submit(p, "int x;\n", "a", 0);
    kgym_result_free(must(p));
    kgym_close(p);
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* the pool's process comes to us */
    pid_t caller = fork();
    assert_true(caller >= 0);
    if (caller == 0) {
        die_with_requests_under_way(fd[1]);
    }
    close(fd[1]);
    assert_int_equal(waitpid(caller, &status, 0), caller);
    usleep(300000);
    assert_int_equal(kill(svc_child("serve-api"), SIGCONT), 0);
    assert_int_equal(status, 0);
    assert_int_equal(read(fd[0], &remote, sizeof remote), sizeof remote);
    close(fd[0]);
    assert_int_equal(waitpid((pid_t)remote, &status, 0), remote);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    assert_int_equal(status, 0);
    await_none("running");
    assert_int_equal(jobs("waiting"), 0);
}

/* The next process does not know yet whether the service has the task's job. */
static void test_a_cancel_after_a_death_reaches_the_service(void **state)
{
    (void)state;
    struct kgym_pool *p = open_run(NULL);
    uint64_t id = submit(p, ENDLESS, NULL, 0);
    await_running(p, 1);
    kill_supervisor();
    assert_int_equal(kgym_cancel(p, id, &err), KGYM_OK);
    must_be_cancelled(p, id);
    await_none("running");
    kgym_close(p);
}

static void test_a_service_that_restarts_is_waited_for(void **state)
{
    enum { N = 8 };
    (void)state;
    int seen[N] = {0};
    char tag[8];
    struct kgym_pool *p = open_run(NULL);
    int64_t before = all_jobs();
    for (int i = 0; i < N; i++) {
        snprintf(tag, sizeof tag, "%d", i);
        submit(p, GOOD, tag, 0);
    }
    struct kgym_result *r = must(p);
    seen[atoi(r->tag)]++;
    kgym_result_free(r);
    svc_end(SIGKILL);
    other_child = 0;
    uint64_t late = submit(p, "int x;\n", "0", 0); /* while nobody is there */
    serve();
    for (int i = 0; i < N; i++) {
        r = must(p);
        assert_string_equal(r->verdict, r->id == late ? "rejected" : "ok");
        seen[atoi(r->tag)] += r->id != late;
        kgym_result_free(r);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(seen[i], 1);
    }
    assert_int_equal(all_jobs(), before + N + 1);
    kgym_close(p);
}

static void test_a_deadline_needs_no_service(void **state)
{
    (void)state;
    struct kgym_pool *p = open_run(NULL);
    assert_int_equal(kill(svc_child("serve-api"), SIGSTOP), 0);
    submit(p, GOOD, NULL, 0.3);
    struct kgym_result *r = must(p);
    assert_int_equal(r->error, KGYM_E_CANCELLED);
    kgym_result_free(r);
    assert_int_equal(kill(svc_child("serve-api"), SIGCONT), 0);
    kgym_close(p);
    await_none("running");
}

static void test_what_a_service_cannot_do_is_an_error(void **state)
{
    static const char bytes[] = "void silu \xff\n";
    (void)state;
    struct kgym_pool *p = open_run(NULL);
    const struct kgym_task task[] = {
        {.size = sizeof *task, .problem = "silu", .text = bytes, .text_len = strlen(bytes)},
        {.size = sizeof *task, .problem = "silu", .kind = KGYM_CHECK},
        {.size = sizeof *task, .problem = "silux", .text = "x", .text_len = 1},
        {.size = sizeof *task, .problem = "/nowhere/x.c", .text = "x", .text_len = 1},
    };
    static const enum kgym_code code[] = {KGYM_E_INPUT, KGYM_E_USAGE, KGYM_E_NOT_FOUND,
                                          KGYM_E_NOT_FOUND};
    for (size_t i = 0; i < sizeof task / sizeof *task; i++) {
        assert_int_equal(kgym_submit(p, &task[i], NULL, &err), KGYM_OK);
        struct kgym_result *r = must(p);
        if (r->error != code[i]) {
            fail_msg("%zu: %d: %s", i, (int)r->error, r->message);
        }
        assert_null(r->verdict);
        assert_int_equal(r->nrewards, 0);
        kgym_result_free(r);
    }
    kgym_close(p);
}

static enum kgym_code open_with(struct kgym_options o)
{
    struct kgym_pool *p = NULL;
    o.size = sizeof o;
    enum kgym_code code = kgym_open(&o, &p, &err);
    kgym_close(p);
    return code;
}

static void test_options_that_a_service_does_not_take(void **state)
{
    static const char *const limit[] = {"limit.memory_mb=512"}, *const laws[] = {"laws=1"};
    static const int core = 0;
    (void)state;
    assert_int_equal(open_with((struct kgym_options){.gym = "localhost:1"}), KGYM_E_USAGE);
    assert_int_equal(open_with((struct kgym_options){.gym = "http://h:0"}), KGYM_E_USAGE);
    assert_int_equal(open_with((struct kgym_options){.run = "r"}), KGYM_E_USAGE);
    assert_int_equal(open_with((struct kgym_options){.gym = url, .run = "a b"}), KGYM_E_USAGE);
    assert_int_equal(open_with((struct kgym_options){.gym = url, .devices = "cpu"}), KGYM_E_USAGE);
    assert_int_equal(open_with((struct kgym_options){.gym = url, .cores = &core, .ncores = 1}),
                     KGYM_E_USAGE);
    assert_int_equal(
        open_with((struct kgym_options){.gym = url, .settings = limit, .nsettings = 1}),
        KGYM_E_USAGE);
    assert_non_null(strstr(err.message, "limit.memory_mb"));
    setenv("KGYM_LIMIT_MEMORY_MB", "1000", 1); /* this host's, which judges nothing */
    assert_int_equal(open_with((struct kgym_options){.gym = url, .settings = laws, .nsettings = 1}),
                     KGYM_OK);
    unsetenv("KGYM_LIMIT_MEMORY_MB");
}

/* The configuration that is asked for is the one that judges. */
static void test_settings_reach_the_judge(void **state)
{
    static const char *const settings[] = {"stage.timing=false", "laws=3", "rewards=binary"};
    const struct kgym_options o = {.size = sizeof o,
                                   .preset = "train",
                                   .settings = settings,
                                   .nsettings = 3,
                                   .public_only = 1,
                                   .gym = url};
    (void)state;
    struct kgym_pool *p;
    assert_int_equal(kgym_open(&o, &p, &err), KGYM_OK);
    submit(p, GOOD, NULL, 0);
    struct kgym_result *r = must(p);
    json_t *record = json_loads(r->record, 0, NULL);
    const json_t *config = json_object_get(record, "config");
    assert_int_equal(json_integer_value(json_object_get(config, "laws")), 3);
    assert_string_equal(json_string_value(json_object_get(config, "preset")), "train");
    assert_null(json_object_get(record, "private"));
    assert_int_equal(r->nrewards, 1);
    assert_string_equal(r->rewards[0].name, "binary");
    json_decref(record);
    kgym_result_free(r);
    assert_int_equal(kgym_hold_core(p, -1, 0, &err), KGYM_OK); /* no task runs on one of ours */
    assert_int_equal(kgym_release_core(p, -1, &err), KGYM_OK);
    char *text;
    assert_int_equal(kgym_prompt(p, "silu", NULL, 0, NULL, &text, &err), KGYM_OK);
    assert_non_null(strstr(text, "silu"));
    kgym_free(text);
    kgym_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KGYM_CASES,
        cmocka_unit_test(test_a_run_that_goes_on_judges_nothing_twice),
        cmocka_unit_test(test_a_lost_job_frees_its_key),
        cmocka_unit_test(test_equal_tasks_hear_of_their_job_together),
        cmocka_unit_test(test_a_shared_job_goes_on_for_the_others),
        cmocka_unit_test(test_a_pool_that_is_closed_leaves_nothing_behind),
        cmocka_unit_test(test_a_pool_that_is_closed_is_heard_to_its_end),
        cmocka_unit_test(test_a_caller_that_dies_leaves_its_requests),
        cmocka_unit_test(test_a_cancel_after_a_death_reaches_the_service),
        cmocka_unit_test(test_a_service_that_restarts_is_waited_for),
        cmocka_unit_test(test_a_deadline_needs_no_service),
        cmocka_unit_test(test_what_a_service_cannot_do_is_an_error),
        cmocka_unit_test(test_options_that_a_service_does_not_take),
        cmocka_unit_test(test_settings_reach_the_judge),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
