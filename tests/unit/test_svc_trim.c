/* `kgym store trim`: what ended long ago goes, all else stays as the service knows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/svc_rig.h"
#include "tests/support/svc_stub.h"

#define FAST                                                                                       \
    "{\"schema\": \"kgym.record/1\", \"verdict\": \"ok\", \"error\": null, \"setup_ns\": 1, "      \
    "\"timing\": {\"status\": \"measured\"}, \"speedup\": {\"ratio\": 2.0}, \"stages\": []}"
#define LATE SVC_STUB_RECORD("\"wrong\"")

/* It prints these numbers, and the store is sound after it. */
static void trim(int jobs, int trajectories, int left)
{
    char text[4096], want[80];
    assert_int_equal(svc_kgym(text, "store trim %s/store --keep-days 30", svc_folder()), 0);
    snprintf(want, sizeof want, ": %d jobs, %d trajectories and ", jobs, trajectories);
    if (strstr(text, want) == NULL) {
        fail_msg("no `%s` in: %s", want, text);
    }
    snprintf(want, sizeof want, " are gone, %d jobs stay", left);
    if (strstr(text, want) == NULL) {
        fail_msg("no `%s` in: %s", want, text);
    }
    assert_int_equal(svc_kgym(text, "store check %s/store", svc_folder()), 0);
}

/* What SQL says of the store, a number; or changes it. No service runs. */
static int64_t sql(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int64_t sql(const char *fmt, ...)
{
    char path[256], text[1024];
    sqlite3 *db;
    sqlite3_stmt *st;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(path, sizeof path, "%s/store/store.db", svc_folder());
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK);
    int step = sqlite3_step(st);
    assert_true(step == SQLITE_ROW || step == SQLITE_DONE);
    int64_t n = step == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

/* The job ended 40 days ago. */
static void age(const char *id)
{
    sql("UPDATE jobs SET finished=finished-40*86400000 WHERE id='%s'", id);
}

static void submit(const char *problem, const char *more, char id[32])
{
    char body[256];
    snprintf(body, sizeof body, "{\"problem\": \"%s\", \"reply\": \"r\"%s}", problem, more);
    json_t *j = svc_json(202, "POST", "/v1/evaluations", body);
    snprintf(id, 32, "%s", svc_text(j, "id"));
    json_decref(j);
}

static void expect(int status, const char *of, const char *id)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/%s/%s", of, id);
    json_decref(svc_json(status, "GET", path, ""));
}

static void old_jobs_go(void **state)
{
    enum { OLD, BEST, YOUNG, CANCELLED, DEAD, WAITING, JOBS };
    char id[JOBS][32], path[128], again[32];
    (void)state;
    svc_start("--no-work");
    submit("silu", ", \"key\": \"k\"", id[OLD]);
    svc_stub_finish(svc_stub_claim("cpu"), LATE, "wrong", 200);
    submit("silu", "", id[BEST]);
    svc_stub_finish(svc_stub_claim("cpu"), FAST, "ok", 200);
    submit("silu", "", id[YOUNG]);
    svc_stub_finish(svc_stub_claim("cpu"), LATE, "wrong", 200);
    submit("silu", "", id[DEAD]);
    for (int i = 0; i < 3; i++) {
        svc_stub_fail(svc_stub_claim("cpu"));
    }
    submit("silu", "", id[CANCELLED]);
    snprintf(path, sizeof path, "/v1/evaluations/%s", id[CANCELLED]);
    json_decref(svc_json(200, "DELETE", path, ""));
    submit("silu", "", id[WAITING]);
    assert_int_equal(svc_end(SIGTERM), 0);
    for (int i = 0; i < JOBS; i++) {
        if (i != YOUNG) {
            age(id[i]);
        }
    }
    trim(3, 0, 3);
    trim(0, 0, 3);
    assert_int_equal(sql("SELECT count(*) FROM events WHERE id='%s'", id[OLD]), 0);
    assert_int_equal(sql("SELECT count(*) FROM tasks"), 1);
    assert_int_equal(sql("SELECT sum(n) FROM states"), 3);
    svc_start("--no-work");
    expect(404, "evaluations", id[OLD]);
    expect(404, "evaluations", id[DEAD]);
    expect(404, "evaluations", id[CANCELLED]);
    expect(200, "evaluations", id[YOUNG]);
    expect(200, "evaluations", id[WAITING]);
    snprintf(path, sizeof path, "/v1/evaluations/%s", id[BEST]);
    json_t *best = svc_json(200, "GET", path, "");
    assert_true(json_is_object(json_object_get(best, "record")));
    json_decref(best);
    submit("silu", ", \"key\": \"k\"", again);
    assert_string_not_equal(again, id[OLD]); /* its key was free */
    assert_int_equal(svc_end(SIGTERM), 0);
}

/* Two lines, of which the second one is the fastest of its problem. */
static void send_batch(char batch[32])
{
    json_t *j = svc_json(202, "POST", "/v1/batches?key=b",
                         "{\"id\": \"a\", \"problem\": \"softmax\", \"reply\": \"1\"}\n"
                         "{\"id\": \"b\", \"problem\": \"softmax\", \"reply\": \"2\"}\n");
    snprintf(batch, 32, "%s", svc_text(j, "id"));
    json_decref(j);
}

static void a_batch_goes_whole(void **state)
{
    char batch[32], again[32];
    (void)state;
    svc_start("--no-work");
    send_batch(batch);
    svc_stub_finish(svc_stub_claim("cpu"), LATE, "wrong", 200);
    svc_stub_finish(svc_stub_claim("cpu"), FAST, "ok", 200);
    assert_int_equal(svc_end(SIGTERM), 0);
    sql("UPDATE jobs SET finished=finished-40*86400000 WHERE batch_at=0");
    trim(0, 0, 2); /* its other line is young */
    sql("UPDATE jobs SET finished=finished-40*86400000 WHERE batch_at=1");
    trim(1, 0, 1); /* the fastest one is no line any more */
    svc_start("--no-work");
    char path[128];
    snprintf(path, sizeof path, "%s/records", batch);
    expect(404, "batches", path);
    send_batch(again);
    assert_string_not_equal(again, batch);
    assert_int_equal(svc_end(SIGTERM), 0);
    assert_int_equal(sql("SELECT count(*) FROM jobs WHERE batch='%s'", again), 2);
}

/* One with a turn that is judged. */
static void open_one(char id[32], char job[32])
{
    json_t *j = svc_json(200, "POST", "/v1/trajectories", "{\"problem\": \"softmax\"}");
    char path[128];
    snprintf(id, 32, "%s", svc_text(j, "id"));
    json_decref(j);
    snprintf(path, sizeof path, "/v1/trajectories/%s/turns", id);
    j = svc_json(202, "POST", path, "{\"n\": 1, \"reply\": \"r\"}");
    snprintf(job, 32, "%s", svc_text(j, "evaluation"));
    json_decref(j);
    svc_stub_finish(svc_stub_claim("cpu"), LATE, "wrong", 200);
}

static void end_one(const char *id)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/trajectories/%s", id);
    json_decref(svc_json(200, "DELETE", path, ""));
}

static void trajectories_go_with_their_jobs(void **state)
{
    enum { OLD, YOUNG, OPEN, LAST, N };
    char id[N][32], job[N][32];
    (void)state;
    svc_start("--no-work");
    for (int i = 0; i < N; i++) {
        open_one(id[i], job[i]);
        if (i != OPEN) {
            end_one(id[i]);
        }
    }
    assert_int_equal(svc_end(SIGTERM), 0);
    for (int i = 0; i < N; i++) {
        age(job[i]);
    }
    sql("UPDATE trajectories SET ended=ended-40*86400000 WHERE id IN ('%s','%s')", id[OLD],
        id[LAST]);
    int64_t seq = sql("SELECT max(seq) FROM trajectories");
    trim(1, 1, 3);
    assert_int_equal(sql("SELECT count(*) FROM turns"), 3);
    svc_start("--no-work");
    expect(404, "trajectories", id[OLD]);
    expect(404, "evaluations", job[OLD]);
    for (int i = YOUNG; i < N; i++) {
        expect(200, "trajectories", id[i]);
        expect(200, "evaluations", job[i]);
    }
    end_one(id[OPEN]);
    assert_int_equal(svc_end(SIGTERM), 0);
    /* The number of an end is given once: what ended later comes later in an export. */
    assert_int_equal(sql("SELECT seq FROM trajectories WHERE id='%s'", id[OPEN]), seq + 1);
}

static bool has_segment(const char *name)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/store/segments/%s.zst", svc_folder(), name);
    return stat(path, &st) == 0;
}

static void segments_without_records_go(void **state)
{
    char id[2][32], line[512];
    static const char orphan[] = "01ARZ3NDEKTSV4RRFFQ69G5FAV", other[] = "notes";
    (void)state;
    for (int i = 0; i < 2; i++) { /* each start writes a segment of its own */
        svc_start("--no-work");
        submit("silu", "", id[i]);
        svc_stub_finish(svc_stub_claim("cpu"), LATE, "wrong", 200);
        assert_int_equal(svc_end(SIGTERM), 0);
    }
    snprintf(line, sizeof line, "cd %s/store/segments && touch %s.zst %s.zst", svc_folder(), orphan,
             other);
    assert_int_equal(system(line), 0);
    assert_int_equal(sql("SELECT count(DISTINCT segment) FROM jobs"), 2);
    age(id[0]);
    trim(1, 0, 1);
    snprintf(line, sizeof line, "test $(ls %s/store/segments | wc -l) = 2", svc_folder());
    assert_int_equal(system(line), 0);
    assert_false(has_segment(orphan));
    assert_true(has_segment(other));
}

/* A task of KernelGYM is a batch of one, and the batch's name is long. */
static void a_task_of_kernelgym_goes(void **state)
{
    (void)state;
    svc_start("--no-work");
    json_decref(svc_json(200, "POST", "/evaluate",
                         "{\"task_id\": \"t\", \"reference_code\": \"class Model: pass\", "
                         "\"kernel_code\": \"class ModelNew: pass\", "
                         "\"detect_decoy_kernel\": true}"));
    svc_stub_finish(svc_stub_claim("torch"), LATE, "wrong", 200);
    assert_int_equal(svc_end(SIGTERM), 0);
    assert_int_equal(sql("SELECT max(length(batch))>64 FROM jobs"), 1);
    trim(0, 0, 1);
    sql("UPDATE jobs SET finished=finished-40*86400000");
    trim(1, 0, 0);
}

/* Its process takes no lock of the folder. */
static void records_of_redis_are_left(void **state)
{
    char text[4096], line[512];
    (void)state;
    svc_start("--no-work");
    assert_int_equal(svc_end(SIGTERM), 0);
    snprintf(line, sizeof line, "echo mark > %s/store/segments/shared-by", svc_folder());
    assert_int_equal(system(line), 0);
    assert_int_equal(svc_kgym(text, "store trim %s/store --keep-days 0", svc_folder()), 2);
    assert_non_null(strstr(text, "a store in Redis has records here"));
}

static void what_is_no_free_store_is_refused(void **state)
{
    char text[4096];
    static const char *const days[] = {"-1", "x", "1.5", "36501", "99999999999999999999", "''"};
    (void)state;
    svc_start("--no-work");
    assert_int_equal(svc_kgym(text, "store trim %s/store --keep-days 0", svc_folder()), 2);
    assert_non_null(strstr(text, "another process serves this store"));
    assert_int_equal(svc_end(SIGTERM), 0);
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        assert_int_equal(
            svc_kgym(text, "store trim %s/store --keep-days %s", svc_folder(), days[i]), 2);
        assert_non_null(strstr(text, "is not a whole number from 0 to 36500"));
    }
    assert_int_equal(svc_kgym(text, "store trim %s --keep-days 3", svc_folder()), 2);
    assert_non_null(strstr(text, "has no store.db"));
    assert_int_equal(svc_kgym(text, "store trim %s/store", svc_folder()), 2);
    assert_int_equal(svc_kgym(text, "store check %s/store --keep-days 3", svc_folder()), 2);
    assert_int_equal(svc_kgym(text, "store trim %s/store --keep-days 0", svc_folder()), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, svc_setup, svc_teardown)
    const struct CMUnitTest tests[] = {
        TEST(old_jobs_go),
        TEST(a_batch_goes_whole),
        TEST(trajectories_go_with_their_jobs),
        TEST(segments_without_records_go),
        TEST(a_task_of_kernelgym_goes),
        TEST(records_of_redis_are_left),
        TEST(what_is_no_free_store_is_refused),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
