/* Conformance of a store's trajectories (traj.h), on each store. Answers are looked at after
 * commit(), as store.h has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/svc_stores.h"

#define T0 1000000 /* ms: when the tests begin */

static const struct kg_svc_traj_rows *rows;

static int setup_rows(void **state)
{
    rows = kind->trajectories;
    return setup(state);
}

static void begin(void)
{
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kind->begin(store, &err), KG_OK);
}

/* Of the one call of a group. */
static enum kg_code commit(void)
{
    struct kg_err e = KG_ERR_INIT;
    assert_int_equal(kind->commit(store, &e), KG_OK);
    return err.code;
}

/* --- one call in a group of its own --- */

static enum kg_code open_as(const char *key, const char *hash, const char *problem,
                            char id[KG_ULID_LEN], bool *known)
{
    struct kg_err e = KG_ERR_INIT;
    struct kg_svc_traj t = {.most_turns = 2,
                            .idle_ms = 500,
                            .created_ms = T0,
                            .due_ms = T0 + 500,
                            .head = {.segment = "S", .offset = 7, .len = 9, .sum = "x"}};
    assert_int_equal(kg_ulid_new(t.id, &e), KG_OK);
    snprintf(t.key, sizeof t.key, "%s", key);
    snprintf(t.body_hash, sizeof t.body_hash, "%s", hash);
    snprintf(t.problem, sizeof t.problem, "%s", problem);
    snprintf(t.group, sizeof t.group, "g-%s", problem);
    begin();
    (void)!rows->open(store, &t, id, known, &err);
    return commit();
}

static void open_one(const char *problem, char id[KG_ULID_LEN])
{
    bool known;
    assert_int_equal(open_as("", "h", problem, id, &known), KG_OK);
    assert_false(known);
}

static enum kg_code take(const char *id, int64_t n, const char *hash, const char *lost,
                         int64_t most, char job_id[KG_ULID_LEN], bool *known)
{
    struct kg_err e = KG_ERR_INIT;
    struct kg_svc_job job;
    struct kg_svc_turn t = {
        .n = n, .taken_ms = T0 + n, .content = {.segment = "C", .offset = 3, .len = 4, .sum = "y"}};
    snprintf(t.trajectory, sizeof t.trajectory, "%s", id);
    snprintf(t.hash, sizeof t.hash, "%s", hash);
    kg_svc_job_init(&job);
    assert_int_equal(kg_ulid_new(job.id, &e), KG_OK);
    job.problem = "p";
    job.device = "cpu";
    job.configuration = "{}";
    job.task = "{}";
    job.created_ms = T0;
    begin();
    (void)!rows->take(store, &t, T0 + 1000 * n, lost, &job, &(struct kg_svc_room){.most = most},
                      job_id, known, &err);
    kg_svc_job_deinit(&job);
    return commit();
}

static enum kg_code end_as(const char *id, int64_t turns, const char *how, bool *changed)
{
    begin();
    (void)!rows->end(store, id, turns, how, T0 + 9, changed, &err);
    return commit();
}

static void cancel(const char *job)
{
    bool changed;
    begin();
    (void)!kind->cancel(store, job, T0 + 8, &changed, &err);
    assert_int_equal(commit(), KG_OK);
    assert_true(changed);
}

static struct kg_svc_traj get(const char *id)
{
    struct kg_svc_traj t;
    struct kg_err e = KG_ERR_INIT;
    assert_int_equal(rows->get(store, id, &t, &e), KG_OK);
    return t;
}

static int64_t waiting(void)
{
    struct kg_svc_stats s;
    struct kg_err e = KG_ERR_INIT;
    assert_int_equal(kind->stats(store, &s, &e), KG_OK);
    return s.jobs[KG_SVC_WAITING];
}

struct seen {
    struct kg_svc_traj traj[8];
    struct kg_svc_turn turn[8];
    size_t n, most;
};

static bool see(void *ctx, const struct kg_svc_traj *t)
{
    struct seen *s = ctx;
    s->traj[s->n++] = *t;
    return s->n < s->most;
}

static bool see_turn(void *ctx, const struct kg_svc_turn *t)
{
    struct seen *s = ctx;
    s->turn[s->n++] = *t;
    return s->n < s->most;
}

static struct seen listed(const struct kg_svc_traj_filter *f)
{
    struct seen s = {.most = 8};
    struct kg_err e = KG_ERR_INIT;
    assert_int_equal(rows->list(store, f, see, &s, &e), KG_OK);
    return s;
}

/* --- tests --- */

static void one_is_opened_and_kept(void **state)
{
    char id[KG_ULID_LEN], job[2][KG_ULID_LEN];
    bool known;
    struct seen s = {.most = 8};
    (void)state;
    open_one("p", id);
    assert_int_equal(take(id, 1, "h1", "", 0, job[0], &known), KG_OK);
    assert_false(known);
    assert_int_equal(take(id, 2, "h2", "", 0, job[1], &known), KG_OK);
    kind->close(store);
    assert_int_equal(kind->open(place, &store, &err), KG_OK);
    const struct kg_svc_traj t = get(id);
    assert_string_equal(t.problem, "p");
    assert_string_equal(t.group, "g-p");
    assert_string_equal(t.head.segment, "S");
    assert_int_equal(t.head.offset, 7);
    assert_string_equal(t.head.sum, "x");
    assert_int_equal(t.most_turns, 2);
    assert_int_equal(t.idle_ms, 500);
    assert_int_equal(t.created_ms, T0);
    assert_int_equal(t.due_ms, T0 + 2000);
    assert_int_equal(t.turns, 2);
    assert_int_equal(t.seq, 0);
    assert_int_equal(rows->turns(store, id, 1, 8, see_turn, &s, &err), KG_OK);
    assert_int_equal(s.n, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(s.turn[i].n, i + 1);
        assert_string_equal(s.turn[i].job, job[i]);
        assert_string_equal(s.turn[i].hash, i == 0 ? "h1" : "h2");
        assert_int_equal(s.turn[i].taken_ms, T0 + i + 1);
        assert_int_equal(s.turn[i].jobs, 1);
        assert_string_equal(s.turn[i].content.segment, "C");
        assert_int_equal(s.turn[i].content.len, 4);
        assert_string_equal(s.turn[i].content.sum, "y");
        assert_string_equal(s.turn[i].trajectory, id);
    }
    s.n = 0;
    s.most = 1;
    assert_int_equal(rows->turns(store, id, 2, 1, see_turn, &s, &err), KG_OK);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.turn[0].n, 2);
    struct kg_svc_traj none;
    assert_int_equal(rows->get(store, "none", &none, &err), KG_E_NOT_FOUND);
}

static void a_key_opens_one(void **state)
{
    char first[KG_ULID_LEN], id[KG_ULID_LEN];
    bool known;
    (void)state;
    assert_int_equal(open_as("k", "h", "p", first, &known), KG_OK);
    assert_false(known);
    assert_int_equal(open_as("k", "h", "p", id, &known), KG_OK);
    assert_true(known);
    assert_string_equal(id, first);
    assert_int_equal(open_as("k", "other", "p", id, &known), KG_E_USAGE);
    assert_int_equal(listed(&(struct kg_svc_traj_filter){.limit = 8}).n, 1);
}

static void a_turn_belongs_to_its_content(void **state)
{
    char id[KG_ULID_LEN], first[KG_ULID_LEN], job[KG_ULID_LEN];
    bool known;
    (void)state;
    open_one("p", id);
    assert_int_equal(take("01ARZ3NDEKTSV4RRFFQ69G5FAV", 1, "h", "", 0, job, &known),
                     KG_E_NOT_FOUND);
    assert_int_equal(take(id, 2, "h", "", 0, job, &known), KG_E_USAGE); /* not the next */
    assert_int_equal(take(id, 1, "h", "", 0, first, &known), KG_OK);
    assert_int_equal(take(id, 1, "h", "", 0, job, &known), KG_OK);
    assert_true(known);
    assert_string_equal(job, first);
    assert_int_equal(take(id, 1, "other", "", 0, job, &known), KG_E_USAGE);
    assert_int_equal(waiting(), 1); /* what is refused submits no job */
    assert_int_equal(take(id, 2, "h", "", 1, job, &known), KG_E_FULL);
    assert_int_equal(get(id).turns, 1); /* nor is there a turn without one */
    assert_int_equal(take(id, 2, "h", "", 2, job, &known), KG_OK);
    assert_int_equal(take(id, 3, "h", "", 0, job, &known), KG_E_USAGE); /* beyond the most */
    assert_int_equal(waiting(), 2);
}

static void a_lost_turn_gets_another_job(void **state)
{
    char id[KG_ULID_LEN], lost[KG_ULID_LEN], job[KG_ULID_LEN];
    bool known;
    struct seen s = {.most = 8};
    (void)state;
    open_one("p", id);
    assert_int_equal(take(id, 1, "h", "", 0, lost, &known), KG_OK);
    assert_int_equal(take(id, 1, "other", lost, 0, job, &known), KG_E_USAGE);
    for (int i = 2; i <= KG_SVC_TURN_JOBS; i++) {
        assert_int_equal(take(id, 1, "h", lost, 0, job, &known), KG_OK);
        assert_false(known);
        assert_string_not_equal(job, lost);
        char again[KG_ULID_LEN]; /* the same request once more: the job is there */
        assert_int_equal(take(id, 1, "h", lost, 0, again, &known), KG_OK);
        assert_true(known);
        assert_string_equal(again, job);
        snprintf(lost, sizeof lost, "%s", job);
    }
    assert_int_equal(take(id, 1, "h", lost, 0, job, &known), KG_E_USAGE);
    assert_int_equal(waiting(), KG_SVC_TURN_JOBS);
    assert_int_equal(rows->turns(store, id, 1, 8, see_turn, &s, &err), KG_OK);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.turn[0].jobs, KG_SVC_TURN_JOBS);
    assert_string_equal(s.turn[0].content.sum, "y");
    assert_int_equal(get(id).turns, 1);
}

static void an_end_is_numbered_and_final(void **state)
{
    char id[3][KG_ULID_LEN], job[KG_ULID_LEN];
    bool known, changed;
    (void)state;
    for (int i = 0; i < 3; i++) {
        open_one("p", id[i]);
    }
    assert_int_equal(take(id[1], 1, "h", "", 0, job, &known), KG_OK);
    assert_int_equal(end_as(id[1], 0, "idle", &changed), KG_OK);
    assert_false(changed); /* a turn came meanwhile */
    for (int turns = -1; turns <= 1; turns += 2) {
        assert_int_equal(end_as(id[1], turns, "infra", &changed), KG_OK);
        assert_false(changed); /* its job waits */
    }
    cancel(job);
    assert_int_equal(end_as(id[1], 1, "done", &changed), KG_OK);
    assert_true(changed);
    assert_int_equal(end_as(id[1], 1, "full", &changed), KG_OK);
    assert_false(changed);
    assert_int_equal(end_as(id[0], -1, "idle", &changed), KG_OK);
    assert_true(changed);
    assert_int_equal(end_as("01ARZ3NDEKTSV4RRFFQ69G5FAV", -1, "idle", &changed), KG_E_NOT_FOUND);
    assert_int_equal(take(id[1], 2, "h", "", 0, job, &known), KG_E_USAGE);
    char again[KG_ULID_LEN];
    assert_int_equal(take(id[1], 1, "h", job, 0, again, &known), KG_E_USAGE);
    assert_int_equal(take(id[1], 1, "h", "", 0, again, &known), KG_OK); /* as it is */
    assert_true(known);
    assert_string_equal(again, job);
    assert_int_equal(waiting(), 0);
    assert_string_equal(get(id[1]).end, "done");
    assert_int_equal(get(id[1]).ended_ms, T0 + 9);
    struct kg_svc_traj_filter f = {.by = KG_SVC_TRAJ_ENDED, .limit = 8};
    struct seen s = listed(&f);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.traj[0].id, id[1]); /* in the order of their ends */
    assert_string_equal(s.traj[1].id, id[0]);
    assert_true(s.traj[1].seq > s.traj[0].seq);
    f.above = s.traj[0].seq;
    assert_int_equal(listed(&f).n, 1);
    f.above = s.traj[1].seq;
    assert_int_equal(listed(&f).n, 0);
}

static void what_is_due_is_listed(void **state)
{
    char id[2][KG_ULID_LEN], job[KG_ULID_LEN];
    bool known, changed;
    struct kg_svc_traj_filter f = {.by = KG_SVC_TRAJ_DUE, .above = T0 + 499, .limit = 8};
    (void)state;
    open_one("p", id[0]);
    open_one("q", id[1]);
    assert_int_equal(listed(&f).n, 0);
    f.above = T0 + 500;
    assert_int_equal(listed(&f).n, 2);
    f.limit = 1;
    assert_int_equal(listed(&f).n, 1);
    f.limit = 8;
    begin();
    (void)!rows->put_off(store, id[0], 0, T0 + 600, &err);
    assert_int_equal(commit(), KG_OK);
    begin();
    (void)!rows->put_off(store, id[1], 1, T0 + 600, &err); /* it has no turn: not that one */
    assert_int_equal(commit(), KG_OK);
    assert_int_equal(listed(&f).n, 1);
    assert_string_equal(listed(&f).traj[0].id, id[1]);
    assert_int_equal(take(id[1], 1, "h", "", 0, job, &known), KG_OK); /* due at T0 + 1000 */
    f.above = T0 + 700;
    assert_string_equal(listed(&f).traj[0].id, id[0]);
    assert_int_equal(end_as(id[0], 0, "idle", &changed), KG_OK);
    assert_int_equal(listed(&f).n, 0);
    f.above = T0 + 1000;
    assert_int_equal(listed(&f).n, 1);
}

static void lists_are_newest_first(void **state)
{
    char id[4][KG_ULID_LEN];
    (void)state;
    for (int i = 0; i < 4; i++) {
        open_one(i % 2 ? "q" : "p", id[i]);
    }
    struct kg_svc_traj_filter f = {.limit = 3};
    struct seen s = listed(&f);
    assert_int_equal(s.n, 3);
    assert_string_equal(s.traj[0].id, id[3]);
    f.after = s.traj[2].id;
    s = listed(&f);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.traj[0].id, id[0]);
    f = (struct kg_svc_traj_filter){.limit = 8, .problem = "q"};
    assert_int_equal(listed(&f).n, 2);
    f = (struct kg_svc_traj_filter){.limit = 8, .group = "g-p"};
    s = listed(&f);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.traj[0].id, id[2]);
    f.problem = "q";
    assert_int_equal(listed(&f).n, 0);
}

/* A turn and its job are taken together, or neither. */
static void what_is_rolled_back_is_not_there(void **state)
{
    char id[KG_ULID_LEN], job_id[KG_ULID_LEN];
    bool known;
    struct kg_svc_turn t = {.n = 1, .content = {.segment = "C", .sum = "y"}, .hash = "h"};
    struct kg_svc_job job;
    (void)state;
    open_one("p", id);
    snprintf(t.trajectory, sizeof t.trajectory, "%s", id);
    kg_svc_job_init(&job);
    assert_int_equal(kg_ulid_new(job.id, &err), KG_OK);
    job.problem = job.device = job.configuration = job.task = "p";
    begin();
    (void)!rows->take(store, &t, T0, "", &job, NULL, job_id, &known, &err);
    kind->rollback(store);
    kg_svc_job_deinit(&job);
    assert_int_equal(waiting(), 0);
    assert_int_equal(get(id).turns, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup_rows, teardown)
#define ALL                                                                                        \
    T(one_is_opened_and_kept), T(a_key_opens_one), T(a_turn_belongs_to_its_content),               \
        T(a_lost_turn_gets_another_job), T(an_end_is_numbered_and_final),                          \
        T(what_is_due_is_listed), T(lists_are_newest_first), T(what_is_rolled_back_is_not_there)

int main(void)
{
    const struct CMUnitTest tests[] = {ALL};
    int failed = cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);
    const struct CMUnitTest both[] = {ALL};
    return failed + in_redis(both, sizeof both / sizeof *both);
}
