/* Tests of the public header from a caller's side that hold for both kinds of pool: this host
 * judges, or a service does. test_kgym and test_pool_remote run them. Everything is static: each
 * test program has its own. */
#ifndef KG_TESTS_KGYM_CASES_H
#define KG_TESTS_KGYM_CASES_H

#include "kgym_rig.h"

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include "gym/kgym.h"
#include "pool_children.h"

static const char *const quick[] = {"stage.timing=false"};
static const char *const slow[] = {"stage.timing=false", "deadline.run=60", "deadline.eval=60"};

/* The service that judges; NULL: this host does. Its host then has the two deadlines. */
static const char *judge;

static struct kgym_error err;

static struct kgym_pool *open_pool(const char *const *settings, size_t n, int workers, int limit)
{
    const struct kgym_options o = {.size = sizeof o,
                                   .settings = settings,
                                   .nsettings = judge ? 1 : n,
                                   .gym = judge,
                                   .workers = workers,
                                   .queue_limit = limit};
    struct kgym_pool *p = NULL;
    if (kgym_open(&o, &p, &err) != KGYM_OK) {
        print_error("%s\n", err.message);
    }
    assert_non_null(p);
    return p;
}

static uint64_t submit(struct kgym_pool *p, const char *source, const char *tag, double deadline_s)
{
    const struct kgym_task t = {.size = sizeof t,
                                .problem = "silu",
                                .text = source,
                                .text_len = strlen(source),
                                .source = 1,
                                .tag = tag,
                                .deadline_s = deadline_s};
    uint64_t id = 0;
    if (kgym_submit(p, &t, &id, &err) != KGYM_OK) {
        print_error("%s\n", err.message);
    }
    assert_int_not_equal(id, 0);
    return id;
}

static struct kgym_result *next(struct kgym_pool *p, int timeout_ms)
{
    struct kgym_result *r = NULL;
    if (kgym_next(p, timeout_ms, &r, &err) != KGYM_OK) {
        print_error("%s\n", err.message);
        fail();
    }
    return r;
}

/* The next result, which must come. */
static struct kgym_result *must(struct kgym_pool *p)
{
    struct kgym_result *r = next(p, 60000);
    assert_non_null(r);
    return r;
}

static void await_running(struct kgym_pool *p, int running)
{
    struct kgym_info info = {.size = sizeof info, .running = -1};
    for (int i = 0; i < 3000 && info.running != running; i++) {
        assert_int_equal(kgym_info(p, &info, &err), KGYM_OK);
        usleep(5000);
    }
    assert_int_equal(info.running, running);
}

static void test_results_come_as_they_end(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1, 2, 0);
    uint64_t id[3] = {submit(p, GOOD, "a", 0), submit(p, "int x;\n", "b", 0),
                      submit(p, GOOD "\n", NULL, 0)};
    bool seen[3] = {false};
    for (int i = 0; i < 3; i++) {
        struct kgym_result *r = must(p);
        int k = 0;
        while (k < 3 && id[k] != r->id) {
            k++;
        }
        assert_in_range(k, 0, 2);
        assert_false(seen[k]);
        seen[k] = true;
        assert_int_equal(r->kind, KGYM_EVALUATE);
        assert_int_equal(r->error, KGYM_OK);
        assert_int_equal(strlen(r->record), r->record_len);
        assert_true(k == 2 ? r->tag == NULL : strcmp(r->tag, k == 0 ? "a" : "b") == 0);
        assert_string_equal(r->verdict, k == 1 ? "rejected" : "ok");
        assert_true(isnan(r->speedup)); /* it was not timed */
        assert_int_equal(r->nrewards, 1);
        assert_string_equal(r->rewards[0].name, "dr-kernel");
        assert_true(r->rewards[0].value == (k == 1 ? 0 : 1));
        kgym_result_free(r);
    }
    assert_null(next(p, -1)); /* nothing is in the pool: no wait */
    kgym_close(p);
}

static void test_a_task_says_what_it_wants(void **state)
{
    (void)state;
    static const char reference[] = "/*---kgym\nname: twice\nlevel: 1\nentry: twice\n"
                                    "dims: {n: 4096}\nargs:\n"
                                    "  - {name: x, type: \"f32[n]\", role: in}\n"
                                    "  - {name: y, type: \"f32[n]\", role: out}\n"
                                    "  - {name: n, type: i64, role: dim}\n---*/\n"
                                    "#include \"kgops.h\"\n"
                                    "void twice(const real *x, real *y, int64_t n)\n"
                                    "{\n    for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];\n}\n";
    static const char answer[] = "Here:\n```c\n#include <stdint.h>\n"
                                 "void twice(const float *x, float *y, int64_t n)\n"
                                 "{ for (int64_t i = 0; i < n; i++) y[i] = x[i] + x[i]; }\n```\n";
    struct kgym_pool *p = open_pool(quick, 1, 1, 0);
    struct kgym_task t = {.size = sizeof t,
                          .problem = "twice.c",
                          .problem_text = reference,
                          .problem_text_len = strlen(reference),
                          .text = answer,
                          .text_len = strlen(answer),
                          .rewards = "binary,kevin",
                          .stop_after = "tiny"};
    assert_int_equal(kgym_submit(p, &t, NULL, &err), KGYM_OK);
    struct kgym_result *r = must(p);
    assert_int_equal(r->error, KGYM_OK);
    assert_null(r->verdict); /* it stopped before one */
    assert_non_null(strstr(r->record, "\"name\":\"twice\""));
    kgym_result_free(r);
    t.stop_after = NULL;
    assert_int_equal(kgym_submit(p, &t, NULL, &err), KGYM_OK);
    r = must(p);
    assert_string_equal(r->verdict, "ok");
    assert_int_equal(r->nrewards, 2);
    assert_string_equal(r->rewards[0].name, "binary");
    assert_string_equal(r->rewards[1].name, "kevin");
    struct kgym_reward again[4];
    size_t n = 4;
    assert_int_equal(kgym_rewards(r->record, r->record_len, "binary, kevin", again, &n, &err),
                     KGYM_OK);
    assert_int_equal(n, 2);
    assert_true(again[1].value == r->rewards[1].value);
    char *text;
    assert_int_equal(kgym_feedback(r->record, r->record_len, NULL, &text, &err), KGYM_OK);
    assert_non_null(strstr(text, "correct"));
    kgym_free(text);
    kgym_result_free(r);
    t.rewards = "no-such";
    assert_int_equal(kgym_submit(p, &t, NULL, &err), KGYM_OK);
    r = must(p);
    assert_int_equal(r->error, KGYM_E_USAGE);
    assert_non_null(strstr(r->message, "no-such"));
    kgym_result_free(r);
    kgym_close(p);
}

static void test_replay(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1, 1, 0);
    submit(p, GOOD, NULL, 0);
    struct kgym_result *first = must(p);
    const struct kgym_task t = {.size = sizeof t,
                                .problem = "silu",
                                .text = GOOD,
                                .text_len = strlen(GOOD),
                                .source = 1,
                                .replay = first->record,
                                .replay_len = first->record_len};
    assert_int_equal(kgym_submit(p, &t, NULL, &err), KGYM_OK);
    struct kgym_result *second = must(p);
    const char *a = strstr(first->record, "\"key\":"), *b = strstr(second->record, "\"key\":");
    assert_non_null(a);
    assert_non_null(b);
    assert_memory_equal(a, b, 40);
    kgym_result_free(first);
    kgym_result_free(second);
    kgym_close(p);
}

static void test_a_full_queue_says_so(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1, 1, 3);
    for (int i = 0; i < 3; i++) {
        submit(p, "int x;\n", NULL, 0);
    }
    const struct kgym_task t = {.size = sizeof t, .problem = "silu", .text = "x", .text_len = 1};
    assert_int_equal(kgym_submit(p, &t, NULL, &err), KGYM_E_FULL);
    kgym_result_free(must(p));
    assert_int_equal(kgym_submit(p, &t, NULL, &err), KGYM_OK);
    for (int i = 0; i < 3; i++) {
        kgym_result_free(must(p));
    }
    assert_int_equal(kgym_drain(p, &err), KGYM_OK);
    assert_int_equal(kgym_submit(p, &t, NULL, &err), KGYM_E_USAGE);
    kgym_close(p);
}

static void test_bad_arguments_are_named(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1, 1, 0);
    struct kgym_task good = {.size = sizeof good, .problem = "silu", .text = "x", .text_len = 1};
    struct kgym_task bad[] = {good, good, good, good, good, good, good, good, good};
    static char long_tag[300], long_name[5000];
    memset(long_tag, 'a', sizeof long_tag - 1);
    memset(long_name, 1, sizeof long_name - 1);
    bad[0].size = sizeof bad[0] + 8;
    bad[1].problem = NULL;
    bad[2].text = NULL;
    bad[3].tag = long_tag;
    bad[4].deadline_s = -1;
    bad[5].tag = "\xff";
    bad[6].problem = long_name;
    bad[7].problem_text = "";
    bad[8].replay = "";
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(kgym_submit(p, &bad[i], NULL, &err), KGYM_E_USAGE);
        assert_true(err.message[0] != 0);
    }
    assert_int_equal(kgym_cancel(p, 99, &err), KGYM_E_NOT_FOUND);
    assert_int_equal(kgym_resize(p, 0, &err), KGYM_E_USAGE);
    assert_int_equal(kgym_hold_core(p, 9999, 0, &err), KGYM_E_USAGE);
    struct kgym_info info = {.size = sizeof info + 8};
    assert_int_equal(kgym_info(p, &info, &err), KGYM_E_USAGE);
    kgym_close(p);
    static const char *const wrong[] = {"timing.pears=3"};
    const struct kgym_options o = {.size = sizeof o, .settings = wrong, .nsettings = 1};
    assert_int_equal(kgym_open(&o, &p, &err), KGYM_E_USAGE);
    assert_non_null(strstr(err.message, "timing.pairs"));
    assert_null(p);
    const struct kgym_options preset = {.size = sizeof preset, .preset = "no-such"};
    assert_int_equal(kgym_open(&preset, &p, &err), KGYM_E_USAGE);
    char *text;
    struct kgym_reward one;
    size_t n = 1;
    assert_int_equal(kgym_feedback("{}", 2, NULL, &text, &err), KGYM_E_INPUT);
    assert_int_equal(kgym_rewards("[1", 2, "binary", &one, &n, &err), KGYM_E_INPUT);
}

static void test_cancel(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(slow, 3, 1, 0);
    uint64_t running = submit(p, ENDLESS, NULL, 0), waiting = submit(p, ENDLESS "\n", NULL, 0),
             last = submit(p, GOOD, NULL, 0);
    await_running(p, 1);
    usleep(300000);
    assert_int_equal(kgym_cancel(p, waiting, &err), KGYM_OK);
    struct kgym_result *r = must(p);
    assert_int_equal(r->id, waiting);
    assert_int_equal(r->error, KGYM_E_CANCELLED);
    kgym_result_free(r);
    assert_int_equal(kgym_cancel(p, running, &err), KGYM_OK);
    r = must(p);
    assert_int_equal(r->id, running);
    assert_int_equal(r->error, KGYM_E_CANCELLED);
    assert_non_null(strstr(r->message, "cancelled by the caller"));
    kgym_result_free(r);
    r = must(p);
    assert_int_equal(r->id, last); /* the worker goes on, and judges well */
    assert_string_equal(r->verdict, "ok");
    kgym_result_free(r);
    kgym_close(p);
}

/* Cancelled at random moments, a worker's next task is never the one that is hit. */
static void test_cancel_hits_its_own_task(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1, 1, 0);
    int cancelled = 0;
    for (int i = 0; i < 12; i++) {
        uint64_t a = submit(p, i % 2 ? GOOD : GOOD " ", NULL, 0), b = submit(p, GOOD, NULL, 0);
        usleep((useconds_t)(i * 9000));
        assert_int_equal(kgym_cancel(p, a, &err), KGYM_OK);
        for (int k = 0; k < 2; k++) {
            struct kgym_result *r = must(p);
            cancelled += r->error == KGYM_E_CANCELLED;
            assert_true(r->id == a || r->id == b);
            assert_true(r->id == a || (r->verdict && strcmp(r->verdict, "ok") == 0));
            kgym_result_free(r);
        }
    }
    assert_true(cancelled > 0);
    kgym_close(p);
}

static void test_deadlines(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(slow, 3, 1, 0);
    uint64_t running = submit(p, ENDLESS, NULL, 0.7), waiting = submit(p, GOOD, NULL, 0.2);
    struct kgym_result *r = must(p);
    assert_int_equal(r->id, waiting);
    assert_int_equal(r->error, KGYM_E_CANCELLED);
    assert_non_null(strstr(r->message, "deadline of 0.2 s"));
    kgym_result_free(r);
    r = must(p);
    assert_int_equal(r->id, running);
    assert_int_equal(r->error, KGYM_E_CANCELLED);
    assert_non_null(strstr(r->message, "deadline of 0.7 s"));
    kgym_result_free(r);
    kgym_close(p);
}

static void test_nothing_accepted_is_lost_with_the_supervisor(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1, 1, 0);
    for (int i = 0; i < 6; i++) {
        submit(p, i % 2 ? GOOD : GOOD " ", NULL, 0);
    }
    kgym_result_free(must(p));
    kill_supervisor();
    for (int i = 0; i < 5; i++) {
        struct kgym_result *r = must(p);
        assert_string_equal(r->verdict, "ok");
        kgym_result_free(r);
    }
    assert_null(next(p, 0));
    kgym_close(p);
}

/* A request finds the next supervisor. */
static void test_a_request_after_the_supervisor_died(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1, 1, 0);
    struct kgym_info info = {.size = sizeof info};
    kill_supervisor();
    assert_int_equal(kgym_info(p, &info, &err), KGYM_OK);
    assert_int_equal(info.workers, 1);
    kgym_close(p);
}

/* --- a caller's process --- */

static void *poll_results(void *arg)
{
    struct kgym_pool *p = arg;
    long got = 0;
    for (int i = 0; i < 20; i++) {
        struct kgym_result *r = NULL;
        struct kgym_error e;
        if (kgym_next(p, 60000, &r, &e) == KGYM_OK && r) {
            got++;
        }
        kgym_result_free(r);
    }
    return (void *)got;
}

static void *ask(void *arg)
{
    struct kgym_info info = {.size = sizeof info};
    struct kgym_error e;
    for (int i = 0; i < 200; i++) {
        if (kgym_info(arg, &info, &e) != KGYM_OK) {
            return NULL;
        }
    }
    return arg;
}

static void test_threads(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1, 2, 0);
    pthread_t waits[2], asks;
    for (int i = 0; i < 20; i++) {
        submit(p, "int x;\n", NULL, 0);
    }
    assert_int_equal(pthread_create(&waits[0], NULL, poll_results, p), 0);
    assert_int_equal(pthread_create(&asks, NULL, ask, p), 0);
    for (int i = 0; i < 20; i++) {
        submit(p, "int x;\n", NULL, 0);
    }
    assert_int_equal(pthread_create(&waits[1], NULL, poll_results, p), 0);
    void *got[2], *asked;
    pthread_join(asks, &asked);
    pthread_join(waits[0], &got[0]);
    pthread_join(waits[1], &got[1]);
    assert_ptr_equal(asked, p);
    assert_int_equal((long)got[0] + (long)got[1], 40);
    kgym_close(p);
}

static void test_the_descriptor_tells_of_results(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1, 1, 0);
    struct pollfd fd = {.fd = kgym_fd(p), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 0), 0);
    submit(p, "int x;\n", NULL, 0);
    submit(p, "int y;\n", NULL, 0);
    for (int got = 0; got < 2;) {
        assert_int_equal(poll(&fd, 1, 60000), 1);
        struct kgym_result *r = next(p, 0);
        got += r != NULL;
        kgym_result_free(r);
    }
    assert_int_equal(poll(&fd, 1, 0), 0);
    kgym_close(p);
}

static volatile int signals;

static void count(int sig)
{
    (void)sig;
    signals++;
}

/* Affinity, signal handlers, children, descriptors and memory of the caller. */
static void test_a_callers_process_stays_as_it_is(void **state)
{
    (void)state;
    cpu_set_t before, after;
    struct sigaction old, now, mine = {.sa_handler = count};
    int leak = open("/dev/null", O_RDONLY); /* not closed on exec */
    assert_true(leak >= 0);
    sigaction(SIGPIPE, &mine, NULL);
    sigaction(SIGTERM, NULL, &old);
    sched_getaffinity(0, sizeof before, &before);
    pid_t mine_too = fork();
    if (mine_too == 0) {
        _exit(7);
    }
    struct kgym_pool *p = open_pool(quick, 1, 2, 0);
    submit(p, GOOD, NULL, 0);
    kgym_result_free(must(p));
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", child_of(getpid()), leak);
    assert_int_not_equal(access(path, F_OK), 0);
    kgym_close(p);
    int status = 0;
    assert_int_equal(waitpid(mine_too, &status, 0), mine_too); /* its status was not taken */
    assert_int_equal(WEXITSTATUS(status), 7);
    sched_getaffinity(0, sizeof after, &after);
    assert_true(CPU_EQUAL(&before, &after));
    sigaction(SIGTERM, NULL, &now);
    assert_ptr_equal(old.sa_handler, now.sa_handler);
    sigaction(SIGPIPE, NULL, &now);
    assert_ptr_equal(now.sa_handler, count);
    assert_int_equal(signals, 0);
    signal(SIGPIPE, SIG_DFL);
    close(leak);
    assert_int_equal(child_of(getpid()), 0);
}

/* A caller that ignores SIGCHLD never sees a child's status. */
static void test_a_caller_that_ignores_its_children(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    struct kgym_pool *p = open_pool(quick, 1, 1, 0);
    submit(p, "int x;\n", NULL, 0);
    struct kgym_result *r = must(p);
    assert_string_equal(r->verdict, "rejected");
    kgym_result_free(r);
    kgym_close(p);
    signal(SIGCHLD, SIG_DFL);
}

static void test_two_pools(void **state)
{
    (void)state;
    struct kgym_pool *a = open_pool(quick, 1, 1, 0), *b = open_pool(quick, 1, 1, 0);
    submit(a, GOOD, "a", 0);
    submit(b, "int x;\n", "b", 0);
    struct kgym_result *r = must(b);
    assert_string_equal(r->tag, "b");
    kgym_result_free(r);
    r = must(a);
    assert_string_equal(r->tag, "a");
    kgym_result_free(r);
    kgym_close(a);
    kgym_close(b);
    if (!judge) {
        rig_nothing_left();
    }
}

#define KGYM_CASES                                                                                 \
    cmocka_unit_test(test_results_come_as_they_end),                                               \
        cmocka_unit_test(test_a_task_says_what_it_wants), cmocka_unit_test(test_replay),           \
        cmocka_unit_test(test_a_full_queue_says_so),                                               \
        cmocka_unit_test(test_bad_arguments_are_named), cmocka_unit_test(test_cancel),             \
        cmocka_unit_test(test_cancel_hits_its_own_task), cmocka_unit_test(test_deadlines),         \
        cmocka_unit_test(test_nothing_accepted_is_lost_with_the_supervisor),                       \
        cmocka_unit_test(test_a_request_after_the_supervisor_died),                                \
        cmocka_unit_test(test_threads), cmocka_unit_test(test_the_descriptor_tells_of_results),    \
        cmocka_unit_test(test_a_callers_process_stays_as_it_is),                                   \
        cmocka_unit_test(test_a_caller_that_ignores_its_children),                                 \
        cmocka_unit_test(test_two_pools)

#endif
