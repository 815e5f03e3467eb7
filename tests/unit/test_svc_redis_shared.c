/* The Redis store under kills, and shared by several processes. */
#include <fcntl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/support/svc_rig.h"
#include "tests/unit/redis_rig.h"

static bool count_job(void *ctx, const struct kg_svc_job *job)
{
    (void)job;
    ++*(int64_t *)ctx;
    return true;
}

/* --- kills --- */

static void a_kill_loses_nothing_that_was_accepted(void **state)
{
    static const char *const problems[] = {"p", "q", NULL};
    char ids[16][KG_ULID_LEN], none[1][KG_ULID_LEN];
    struct kg_svc_job jobs[SLOTS], job;
    size_t n;
    (void)state;
    need_redis();
    for (int round = 0; round < 4; round++) {
        assert_int_equal(submit(store, 4, problems, &ids[round * 4]), KG_OK);
        assert_int_equal(claim(store, 1, "", T0, jobs, &n), KG_OK);
        assert_int_equal(n, 1);
        redis_server_kill(&server);
        enum kg_code empty = kind->begin(store, &err);
        empty = empty == KG_OK ? kind->commit(store, &err) : empty;
        assert_int_equal(empty, KG_E_IO); /* so /v1/ready tells */
        assert_int_equal(submit(store, 1, problems, none), KG_E_IO);
        kg_svc_job_init(&job);
        assert_int_equal(kind->get(store, ids[0], false, &job, &err), KG_E_IO);
        kg_svc_job_deinit(&job);
        redis_server_again(&server);
        const struct kg_svc_end e = {.id = jobs[0].id,
                                     .claim = jobs[0].claim,
                                     .fence = jobs[0].fence,
                                     .now_ms = T0,
                                     .verdict = "ok"};
        int64_t until = kg_clock_ns() + INT64_C(30000000000);
        for (enum kg_code code = KG_E_IO; code != KG_OK;) { /* it comes back by itself */
            err = (struct kg_err)KG_ERR_INIT;
            code = kind->begin(store, &err);
            assert_true(code == KG_OK || code == KG_E_IO);
            assert_true(kg_clock_ns() < until);
            usleep(10000);
        }
        (void)!kind->finish(store, &e, &err);
        assert_int_equal(kind->commit(store, &err), KG_OK);
        assert_int_equal(err.code, KG_OK);
        release(jobs);
    }
    struct kg_svc_stats s;
    for (int64_t until = kg_clock_ns() + INT64_C(30000000000);
         kind->stats(store, &s, &err) != KG_OK;) { /* the reader's pause */
        assert_true(kg_clock_ns() < until);
        usleep(10000);
    }
    assert_int_equal(s.jobs[KG_SVC_WAITING], 12);
    assert_int_equal(s.jobs[KG_SVC_DONE], 4);
    assert_int_equal(s.refused, 0);
    for (int i = 0; i < 16; i++) {
        kg_svc_job_init(&job);
        assert_int_equal(kind->get(store, ids[i], true, &job, &err), KG_OK);
        kg_svc_job_deinit(&job);
    }
}

/* A restart between two groups costs neither an error nor the script. */
static void a_short_restart_is_not_noticed(void **state)
{
    static const char *const problems[] = {"p", NULL};
    char ids[3][KG_ULID_LEN];
    (void)state;
    need_redis();
    assert_int_equal(submit(store, 1, problems, &ids[0]), KG_OK);
    redis_server_kill(&server);
    redis_server_again(&server);
    assert_int_equal(submit(store, 1, problems, &ids[1]), KG_OK);
    assert_true(redis_server_tell(&server, "SCRIPT FLUSH"));
    assert_int_equal(submit(store, 1, problems, &ids[2]), KG_OK);
    struct kg_svc_stats s;
    assert_int_equal(kind->stats(store, &s, &err), KG_OK);
    assert_int_equal(s.jobs[KG_SVC_WAITING], 3);
}

/* A group whose answer was lost is asked again: done once, and the claims are those of the first
 * time. The same number again stands for the second sending. */
static void a_group_sent_twice_is_done_once(void **state)
{
    static const char *const problems[] = {"p", NULL};
    struct kg_svc_redis *s = (struct kg_svc_redis *)store;
    struct kg_svc_job first[SLOTS], again[SLOTS];
    char ids[3][KG_ULID_LEN];
    size_t n;
    (void)state;
    need_redis();
    assert_int_equal(submit(store, 3, problems, ids), KG_OK);
    assert_int_equal(claim(store, 2, "", T0, first, &n), KG_OK);
    assert_int_equal(n, 2);
    s->group--;
    assert_int_equal(claim(store, 2, "", T0, again, &n), KG_OK);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(again[i].id, first[i].id);
        assert_string_equal(again[i].claim, first[i].claim);
        assert_string_equal(again[i].task, "{}");
    }
    release(first);
    release(again);
    struct kg_svc_stats stats;
    assert_int_equal(kind->stats(store, &stats, &err), KG_OK);
    assert_int_equal(stats.jobs[KG_SVC_WAITING], 1);
    s->group -= 2; /* and one that comes late is refused */
    assert_int_equal(submit(store, 1, problems, ids), KG_E_IO);
    assert_int_equal(kind->stats(store, &stats, &err), KG_OK);
    assert_int_equal(stats.jobs[KG_SVC_WAITING], 1);
}

/* Nor does it get what another worker has claimed since. */
static void a_group_sent_twice_gets_no_claim_of_others(void **state)
{
    static const char *const problems[] = {"p", NULL};
    struct kg_svc_redis *s = (struct kg_svc_redis *)store;
    struct kg_svc_store *other;
    struct kg_svc_job first[SLOTS], theirs[SLOTS], again[SLOTS];
    char ids[2][KG_ULID_LEN];
    int64_t expired;
    size_t n;
    (void)state;
    need_redis();
    assert_int_equal(submit(store, 2, problems, ids), KG_OK);
    assert_int_equal(claim(store, 2, "", T0, first, &n), KG_OK);
    assert_int_equal(n, 2);
    assert_int_equal(kind->open(server.place, &other, &err), KG_OK);
    assert_int_equal(kind->begin(other, &err), KG_OK);
    assert_int_equal(kind->renew(other, first[1].id, first[1].claim, 1, T0 + 90000, &err), KG_OK);
    assert_int_equal(kind->expire(other, T0 + 60000, &expired, &err), KG_OK);
    assert_int_equal(kind->commit(other, &err), KG_OK);
    assert_int_equal(expired, 1);
    assert_int_equal(claim(other, 1, "", T0 + 60000, theirs, &n), KG_OK);
    assert_int_equal(n, 1);
    s->group--;
    assert_int_equal(claim(store, 2, "", T0, again, &n), KG_OK);
    assert_int_equal(n, 1);
    assert_string_equal(theirs[0].id, first[0].id);
    assert_string_equal(again[0].id, first[1].id);
    assert_string_equal(again[0].claim, first[1].claim);
    release(first);
    release(theirs);
    release(again);
    kind->close(other);
}

/* --- kills under load --- */

/* Submits and finishes for as long as it lives; what was accepted goes to the pipe, then what is
 * done, each after its commit: "+ID" and "-ID". */
static void load_store(int out)
{
    static const char *const problems[] = {"p", "q", "r", NULL};
    char ids[5][KG_ULID_LEN], line[KG_ULID_LEN + 1];
    struct kg_svc_job jobs[SLOTS];
    struct kg_svc_store *s;
    size_t n;
    if (kind->open(server.place, &s, &err) != KG_OK) {
        _exit(1);
    }
    for (;;) {
        if (submit(s, 5, problems, ids) == KG_OK) {
            for (int i = 0; i < 5; i++) {
                snprintf(line, sizeof line, "+%s", ids[i]);
                (void)!write(out, line, sizeof line);
            }
        }
        bool took = claim(s, SLOTS, "", T0, jobs, &n) == KG_OK && kind->begin(s, &err) == KG_OK;
        struct kg_err each[SLOTS];
        for (size_t i = 0; i < n && took; i++) {
            const struct kg_svc_end e = {.id = jobs[i].id,
                                         .claim = jobs[i].claim,
                                         .fence = jobs[i].fence,
                                         .now_ms = T0,
                                         .verdict = "ok"};
            each[i] = (struct kg_err)KG_ERR_INIT;
            (void)!kind->finish(s, &e, &each[i]);
        }
        took = took && kind->commit(s, &err) == KG_OK;
        for (size_t i = 0; i < n && took; i++) {
            snprintf(line, sizeof line, "%c%s", each[i].code == KG_OK ? '-' : '!', jobs[i].id);
            (void)!write(out, line, sizeof line);
        }
        release(jobs);
    }
}

static void check_ledger(int in, size_t *accepted)
{
    char line[KG_ULID_LEN + 1];
    *accepted = 0;
    while (read(in, line, sizeof line) == (ssize_t)sizeof line) {
        struct kg_svc_job job;
        kg_svc_job_init(&job);
        assert_int_not_equal(line[0], '!'); /* no claim runs out here */
        assert_int_equal(kind->get(store, line + 1, false, &job, &err), KG_OK);
        assert_true(line[0] == '+' || job.state == KG_SVC_DONE);
        *accepted += line[0] == '+';
        kg_svc_job_deinit(&job);
    }
}

static void kills_at_any_moment_lose_nothing(void **state)
{
    int ends[2];
    size_t accepted;
    pid_t pid[2];
    (void)state;
    need_redis();
    assert_int_equal(pipe(ends), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) >= 0); /* the ledger is read at the end */
    for (int i = 0; i < 2; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            load_store(ends[1]);
        }
    }
    close(ends[1]);
    for (int i = 0; i < 4; i++) {
        usleep(40000 + 13700 * (unsigned)i);
        redis_server_kill(&server);
        usleep(20000);
        redis_server_again(&server);
        usleep(150000);
    }
    for (int i = 0; i < 2; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
    kind->close(store);
    open_store();
    check_ledger(ends[0], &accepted);
    close(ends[0]);
    assert_true(accepted > 0);
    struct kg_svc_stats s; /* nothing is half-done: the counts agree with the lists */
    assert_int_equal(kind->stats(store, &s, &err), KG_OK);
    for (int st = 0; st < KG_SVC_STATES; st++) {
        int64_t n = 0;
        const struct kg_svc_filter f = {.state = st, .limit = SIZE_MAX};
        assert_int_equal(kind->list(store, &f, count_job, &n, &err), KG_OK);
        assert_int_equal(n, s.jobs[st]);
    }
}

/* --- two processes, one queue --- */

enum { JOBS = 2000 };

/* Claims and finishes until nothing waits; each claim's id goes to the pipe. */
static void work_off(int out)
{
    struct kg_svc_store *s;
    struct kg_svc_job jobs[SLOTS];
    size_t n = 1;
    if (kind->open(server.place, &s, &err) != KG_OK) {
        _exit(1);
    }
    while (n > 0) {
        if (claim(s, SLOTS, "", T0, jobs, &n) != KG_OK || kind->begin(s, &err) != KG_OK) {
            _exit(2);
        }
        for (size_t i = 0; i < n; i++) {
            const struct kg_svc_end e = {.id = jobs[i].id,
                                         .claim = jobs[i].claim,
                                         .fence = jobs[i].fence,
                                         .now_ms = T0,
                                         .verdict = "ok"};
            (void)!kind->finish(s, &e, &err);
            if (write(out, jobs[i].id, KG_ULID_LEN) != KG_ULID_LEN) {
                _exit(3);
            }
        }
        if (kind->commit(s, &err) != KG_OK || err.code != KG_OK) {
            _exit(4);
        }
        release(jobs);
    }
    kind->close(s);
    _exit(0);
}

static int by_text(const void *a, const void *b)
{
    return memcmp(a, b, KG_ULID_LEN);
}

static void two_processes_never_claim_one_job(void **state)
{
    static const char *const problems[] = {"p", "q", "r", "s", "t", NULL};
    static char ids[JOBS][KG_ULID_LEN], claimed[2 * JOBS][KG_ULID_LEN];
    int ends[2], status;
    size_t n = 0;
    (void)state;
    need_redis();
    assert_int_equal(submit(store, JOBS, problems, ids), KG_OK);
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            close(ends[0]);
            work_off(ends[1]);
        }
    }
    close(ends[1]);
    /* A line is shorter than PIPE_BUF, so lines of two writers don't mix. */
    while (n < 2 * JOBS && read(ends[0], claimed[n], KG_ULID_LEN) == KG_ULID_LEN) {
        n++;
    }
    close(ends[0]);
    for (int i = 0; i < 2; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(n, JOBS);
    qsort(claimed, n, KG_ULID_LEN, by_text);
    for (size_t i = 1; i < n; i++) {
        assert_memory_not_equal(claimed[i - 1], claimed[i], KG_ULID_LEN);
    }
    struct kg_svc_stats s;
    assert_int_equal(kind->stats(store, &s, &err), KG_OK);
    assert_int_equal(s.jobs[KG_SVC_DONE], JOBS);
    assert_int_equal(s.lanes, 0);
}

/* --- two services --- */

/* Two api processes, one store: what one accepts the other one's worker judges, and both answer;
 * one is killed, and the other one goes on; so does it when Redis was gone. */
static void two_services_share_a_store(void **state)
{
    char options[256], path[64];
    (void)state;
    need_redis();
    assert_int_equal(svc_setup(state), 0);
    snprintf(options, sizeof options, "--store %s --no-work", server.place);
    svc_start(options);
    const pid_t first_pid = svc_pid;
    const int first_port = svc_port;
    json_t *j = svc_json(202, "POST", "/v1/evaluations",
                         "{\"problem\": \"silu\", \"reply\": \"nothing\", \"key\": \"k\"}");
    snprintf(path, sizeof path, "/v1/evaluations/%s", svc_text(j, "id"));
    json_decref(j);
    svc_port = 0;
    snprintf(options, sizeof options, "--store %s --jobs 1", server.place);
    svc_start(options);
    svc_await(path + strlen("/v1/evaluations/"), "done");
    const pid_t second_pid = svc_pid;
    const int second_port = svc_port;
    svc_port = first_port; /* the record is in a segment of neither's own */
    j = svc_json(200, "GET", path, "");
    assert_string_equal(svc_text(json_object_get(j, "record"), "schema"), "kgym.record/1");
    json_decref(j);
    j = svc_json(200, "POST", "/v1/evaluations?wait=200", /* an end that the other one hears of */
                 "{\"problem\": \"silu\", \"reply\": \"none\"}");
    assert_string_equal(svc_text(j, "state"), "done");
    json_decref(j);
    svc_pid = first_pid;
    assert_int_equal(svc_end(SIGKILL), -1);
    svc_pid = second_pid;
    svc_port = second_port;
    redis_server_kill(&server);
    json_decref(svc_json(503, "GET", path, ""));
    assert_int_equal(svc_request("GET", "/v1/ready", "", "", 0, NULL), 503);
    redis_server_again(&server);
    for (int64_t until = kg_clock_ns() + INT64_C(60000000000);
         svc_request("GET", "/v1/ready", "", "", 0, NULL) != 200 ||
         svc_request("GET", path, "", "", 0, NULL) != 200;) {
        assert_true(kg_clock_ns() < until);
        usleep(20000);
    }
    j = svc_json(200, "POST", "/v1/evaluations?wait=200",
                 "{\"problem\": \"silu\", \"reply\": \"nothing\", \"key\": \"k\"}");
    assert_string_equal(svc_text(j, "id"), path + strlen("/v1/evaluations/"));
    json_decref(j);
    assert_int_equal(svc_teardown(state), 0);
}

/* A worker that waits for news at one service hears of what another one has cancelled, long before
 * it would have renewed its claims. */
static void a_worker_hears_of_what_another_service_cancelled(void **state)
{
    char options[256], path[64], body[512];
    int status;
    (void)state;
    need_redis();
    assert_int_equal(svc_setup(state), 0);
    snprintf(options, sizeof options, "--store %s --no-work", server.place);
    svc_start(options);
    const pid_t first_pid = svc_pid;
    const int first_port = svc_port;
    svc_port = 0;
    svc_start(options);
    json_t *j =
        svc_json(202, "POST", "/v1/evaluations", "{\"problem\": \"silu\", \"reply\": \"nothing\"}");
    snprintf(path, sizeof path, "/v1/evaluations/%s", svc_text(j, "id"));
    json_decref(j);
    j = svc_json(200, "POST", "/v1/worker/claim",
                 "{\"worker\": \"w\", \"devices\": [\"cpu\"], \"slots\": [{}]}");
    const json_t *c = json_array_get(json_object_get(j, "claims"), 0);
    assert_string_equal(svc_text(c, "id"), path + strlen("/v1/evaluations/"));
    snprintf(body, sizeof body,
             "{\"worker\": \"w\", \"wait_s\": 60, \"claims\": [{\"id\": \"%s\", \"claim\": "
             "\"%s\", \"fence\": 1}]}",
             svc_text(c, "id"), svc_text(c, "claim"));
    json_decref(j);
    pid_t other = fork();
    if (other == 0) {
        svc_port = first_port;
        usleep(300000); /* the poll is there by then; an earlier end would be told at once */
        _exit(svc_request("DELETE", path, "", "", 0, NULL) == 200 ? 0 : 1);
    }
    j = svc_json(200, "POST", "/v1/worker/renew", body);
    const json_t *lost = json_array_get(json_object_get(j, "lost"), 0);
    assert_string_equal(svc_text(lost, "id"), path + strlen("/v1/evaluations/"));
    assert_int_equal(json_integer_value(json_object_get(lost, "fence")), 1);
    json_decref(j);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    const pid_t second_pid = svc_pid;
    svc_pid = first_pid;
    assert_int_equal(svc_end(SIGTERM), 0);
    svc_pid = second_pid;
    assert_int_equal(svc_teardown(state), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_kill_loses_nothing_that_was_accepted),
        T(a_short_restart_is_not_noticed),
        T(a_group_sent_twice_is_done_once),
        T(a_group_sent_twice_gets_no_claim_of_others),
        T(kills_at_any_moment_lose_nothing),
        T(two_processes_never_claim_one_job),
        T(two_services_share_a_store),
        T(a_worker_hears_of_what_another_service_cancelled),
    };
    signal(SIGPIPE, SIG_IGN); /* as the api process does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
