/* Conformance of a store: what any row of functions must do. Each test opens an empty store, so a
 * further implementation is a further call of cmocka_run_group_tests. Answers are looked at after
 * commit(), as store.h has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <unistd.h>

#include "svc/lanes.h"
#include "svc/store_sqlite.h"
#include "tests/support/svc_stores.h"

#define T0 1000000 /* ms: when the tests begin */

static void begin(void)
{
    assert_int_equal(kind->begin(store, &err), KG_OK);
}

static void commit(void)
{
    struct kg_err e = KG_ERR_INIT;
    assert_int_equal(kind->commit(store, &e), KG_OK);
}

/* Of the one call of a group. */
static enum kg_code commit_one(void)
{
    commit();
    enum kg_code code = err.code;
    err = (struct kg_err)KG_ERR_INIT;
    return code;
}

struct wish {
    const char *problem, *key, *hash, *task;
    enum kg_svc_priority priority;
    int64_t now_ms, deadline_ms;
    struct kg_svc_room room;
    const char *owner;
    bool renews;
};

/* Within a group. id: of the job; e: its answer. */
static void submit(const struct wish *w, char id[KG_ULID_LEN], bool *known, struct kg_err *e)
{
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    assert_int_equal(kg_ulid_new(job.id, &err), KG_OK);
    job.problem = w->problem;
    job.key = w->key != NULL ? w->key : "";
    job.device = "cpu";
    job.configuration = "{}";
    job.task = w->task != NULL ? w->task : "{\"text\":\"t\"}";
    job.priority = w->priority;
    job.created_ms = w->now_ms != 0 ? w->now_ms : T0;
    job.deadline_ms = w->deadline_ms;
    job.renews = w->renews;
    snprintf(job.body_hash, sizeof job.body_hash, "%s", w->hash != NULL ? w->hash : "h");
    *e = (struct kg_err)KG_ERR_INIT;
    snprintf(job.owner, sizeof job.owner, "%s", w->owner != NULL ? w->owner : "");
    (void)!kind->submit(store, &job, &w->room, id, known, e);
    kg_svc_job_deinit(&job);
}

static void add(const char *problem, enum kg_svc_priority priority, int64_t now_ms,
                char id[KG_ULID_LEN])
{
    bool known;
    begin();
    const struct wish w = {.problem = problem, .priority = priority, .now_ms = now_ms};
    submit(&w, id, &known, &err);
    assert_int_equal(commit_one(), KG_OK);
    assert_false(known);
}

struct taken {
    char id[KG_ULID_LEN], claim[KG_SVC_CLAIM_LEN], lane[KG_SHA256_HEX], problem[64], task[64];
    int64_t fence;
};

/* One slot that holds `lane` for held_ms; false: no job. */
static bool claim(const char *worker, const char *lane, int64_t held_ms, int64_t now_ms,
                  struct taken *out)
{
    static const char *const devices[] = {"cpu"};
    const struct kg_svc_slot slot = {.lane = lane, .held_ms = held_ms};
    const struct kg_svc_ask ask = {.worker = worker,
                                   .devices = devices,
                                   .ndevices = 1,
                                   .slots = &slot,
                                   .nslots = 1,
                                   .term_ms = 1000,
                                   .now_ms = now_ms};
    struct kg_svc_job job;
    size_t of, n;
    kg_svc_job_init(&job);
    begin();
    assert_int_equal(kind->claim(store, &ask, &job, &of, &n, &err), KG_OK);
    commit();
    if (n > 0) {
        memset(out, 0, sizeof *out);
        snprintf(out->id, sizeof out->id, "%s", job.id);
        snprintf(out->claim, sizeof out->claim, "%s", job.claim);
        snprintf(out->problem, sizeof out->problem, "%s", job.problem);
        snprintf(out->task, sizeof out->task, "%s", job.task);
        kg_svc_lane_name(&job, out->lane);
        out->fence = job.fence;
        assert_int_equal(job.state, KG_SVC_RUNNING);
    }
    kg_svc_job_deinit(&job);
    return n > 0;
}

typedef enum kg_code ending(struct kg_svc_store *, const struct kg_svc_end *, struct kg_err *);

static enum kg_code end_as(ending *how, const struct taken *t, int64_t now_ms)
{
    static const struct kg_svc_place record = {.segment = "S", .offset = 7, .len = 9, .sum = "x"};
    const struct kg_svc_end e = {.id = t->id,
                                 .claim = t->claim,
                                 .fence = t->fence,
                                 .now_ms = now_ms,
                                 .record = &record,
                                 .verdict = "ok"};
    begin();
    (void)!how(store, &e, &err);
    return commit_one();
}

static int64_t expire(int64_t now_ms)
{
    int64_t n;
    begin();
    assert_int_equal(kind->expire(store, now_ms, &n, &err), KG_OK);
    commit();
    return n;
}

static enum kg_svc_state state_of(const char *id, int *attempts)
{
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    assert_int_equal(kind->get(store, id, true, &job, &err), KG_OK);
    enum kg_svc_state s = job.state;
    if (attempts != NULL) {
        *attempts = job.attempts;
    }
    kg_svc_job_deinit(&job);
    return s;
}

static struct kg_svc_stats stats(void)
{
    struct kg_svc_stats s;
    assert_int_equal(kind->stats(store, &s, &err), KG_OK);
    return s;
}

/* --- acceptance --- */

static void a_job_goes_through(void **state)
{
    char id[KG_ULID_LEN];
    struct taken t;
    (void)state;
    add("relu", KG_SVC_NORMAL, T0, id);
    assert_int_equal(stats().jobs[KG_SVC_WAITING], 1);
    assert_int_equal(stats().oldest_ms, T0);
    assert_true(claim("w", "", 0, T0 + 1, &t));
    assert_string_equal(t.id, id);
    assert_string_equal(t.task, "{\"text\":\"t\"}");
    assert_int_equal(strlen(t.claim), KG_SVC_CLAIM_LEN - 1);
    assert_false(claim("w", "", 0, T0 + 1, &t));
    assert_int_equal(end_as(kind->finish, &t, T0 + 5), KG_OK);
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    assert_int_equal(kind->get(store, id, true, &job, &err), KG_OK);
    assert_int_equal(job.state, KG_SVC_DONE);
    assert_string_equal(job.verdict, "ok");
    assert_string_equal(job.record.segment, "S");
    assert_int_equal(job.record.offset, 7);
    assert_int_equal(job.finished_ms, T0 + 5);
    assert_string_equal(job.task, ""); /* the store stays small */
    kg_svc_job_deinit(&job);
    assert_int_equal(stats().jobs[KG_SVC_DONE], 1);
    assert_int_equal(stats().lanes, 0);
}

static void a_key_names_one_job(void **state)
{
    char first[KG_ULID_LEN], id[KG_ULID_LEN], other[KG_ULID_LEN];
    bool known[3];
    struct kg_err e[3];
    (void)state;
    begin();
    submit(&(struct wish){.problem = "p", .key = "k"}, first, &known[0], &e[0]);
    submit(&(struct wish){.problem = "p", .key = "k"}, id, &known[1], &e[1]);
    submit(&(struct wish){.problem = "p", .key = "k", .hash = "other"}, other, &known[2], &e[2]);
    commit();
    assert_int_equal(e[0].code, KG_OK);
    assert_false(known[0]);
    assert_int_equal(e[1].code, KG_OK);
    assert_true(known[1]);
    assert_string_equal(id, first);
    assert_int_equal(e[2].code, KG_E_USAGE);
    assert_int_equal(stats().jobs[KG_SVC_WAITING], 1);
}

/* The job that has key "k" after another request for it; *anew: it is a new one. */
static void ask_again(bool renews, char id[KG_ULID_LEN], bool *anew)
{
    bool known;
    begin();
    submit(&(struct wish){.problem = "p", .key = "k", .renews = renews}, id, &known, &err);
    assert_int_equal(commit_one(), KG_OK);
    *anew = !known;
}

static void finish_with(const char *verdict, const char *blame)
{
    struct taken t;
    assert_true(claim("a", "", 0, T0, &t));
    const struct kg_svc_end e = {.id = t.id,
                                 .claim = t.claim,
                                 .fence = t.fence,
                                 .now_ms = T0,
                                 .verdict = verdict,
                                 .error = blame != NULL ? "gym" : NULL,
                                 .blame = blame};
    begin();
    (void)!kind->finish(store, &e, &err);
    assert_int_equal(commit_one(), KG_OK);
}

/* However often the gym loses it. A verdict stays. */
static void a_lost_job_gives_its_key_away(void **state)
{
    char id[KG_ULID_LEN], other[KG_ULID_LEN];
    bool anew, changed;
    (void)state;
    ask_again(true, id, &anew);
    assert_true(anew);
    for (int i = 0; i < 12; i++) {
        if (i % 2 == 0) {
            finish_with(NULL, "gym");
        } else {
            begin();
            assert_int_equal(kind->cancel(store, id, T0, &changed, &err), KG_OK);
            assert_int_equal(commit_one(), KG_OK);
        }
        ask_again(false, other, &anew);
        assert_false(anew);
        assert_string_equal(other, id);
        ask_again(true, other, &anew);
        assert_true(anew);
        assert_string_not_equal(other, id);
        ask_again(true, id, &anew); /* the new one waits */
        assert_false(anew);
        assert_string_equal(other, id);
    }
    finish_with("ok", NULL);
    ask_again(true, other, &anew);
    assert_false(anew);
    assert_string_equal(other, id);
}

static void what_the_gym_did_not_lose_keeps_its_key(void **state)
{
    static const char *const blames[] = {"candidate", "problem"};
    char id[KG_ULID_LEN], other[KG_ULID_LEN];
    (void)state;
    for (size_t i = 0; i < sizeof blames / sizeof *blames; i++) {
        const struct wish w = {.problem = "p", .key = blames[i], .renews = true};
        bool known;
        begin();
        submit(&w, id, &known, &err);
        assert_int_equal(commit_one(), KG_OK);
        finish_with(NULL, blames[i]);
        begin();
        submit(&w, other, &known, &err);
        assert_int_equal(commit_one(), KG_OK);
        assert_true(known);
        assert_string_equal(other, id);
    }
}

static void a_full_queue_refuses(void **state)
{
    char id[KG_ULID_LEN];
    bool known;
    struct kg_err e[3];
    (void)state;
    begin();
    for (int i = 0; i < 3; i++) {
        submit(&(struct wish){.problem = "p", .room = {.most = 2}}, id, &known, &e[i]);
    }
    commit();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(e[i].code, i < 2 ? KG_OK : KG_E_FULL);
    }
    assert_int_equal(stats().jobs[KG_SVC_WAITING], 2);
}

/* One owner's jobs wait: as many as it may have, also after some have left the queue and come back.
 * Others are let in meanwhile. */
static void an_owner_fills_its_own_part(void **state)
{
    static const struct kg_svc_room two = {.most_of_owner = 2},
                                    both = {.most_of_owner = 2, .more = 1};
    const struct wish a = {.problem = "p", .owner = "a", .room = two},
                      b = {.problem = "q", .owner = "b", .room = two},
                      two_of_a = {.problem = "p", .owner = "a", .room = both},
                      nobody = {.problem = "p", .room = two};
    char id[KG_ULID_LEN], gone[KG_ULID_LEN];
    bool known;
    struct kg_err e[6];
    struct taken t;
    (void)state;
    begin();
    submit(&a, id, &known, &e[0]);
    submit(&two_of_a, id, &known, &e[1]);
    submit(&a, gone, &known, &e[2]);
    submit(&a, id, &known, &e[3]);
    submit(&b, id, &known, &e[4]);
    submit(&nobody, id, &known, &e[5]);
    commit();
    for (int i = 0; i < 6; i++) {
        assert_int_equal(e[i].code, i == 1 || i == 3 ? KG_E_FULL : KG_OK);
    }
    assert_non_null(strstr(e[3].message, "2 jobs of this token"));
    assert_true(claim("w", "", 0, T0, &t)); /* of a */
    begin();
    submit(&a, id, &known, &e[0]);
    submit(&a, id, &known, &e[1]);
    commit();
    assert_int_equal(e[0].code, KG_OK);
    assert_int_equal(e[1].code, KG_E_FULL);
    begin();
    assert_int_equal(kind->has_room(store, "a", &two, &e[0]), KG_E_FULL);
    assert_int_equal(kind->has_room(store, "b", &two, &e[0]), KG_OK);
    assert_int_equal(kind->has_room(store, "b", &both, &e[0]), KG_E_FULL);
    assert_int_equal(kind->has_room(store, "", &(struct kg_svc_room){.most = 4}, &e[0]), KG_E_FULL);
    assert_int_equal(kind->has_room(store, "", &(struct kg_svc_room){.most = 5}, &e[0]), KG_OK);
    commit();
    assert_int_equal(end_as(kind->give_back, &t, T0), KG_OK); /* three wait */
    begin();
    assert_int_equal(kind->cancel(store, gone, T0, &known, &err), KG_OK);
    submit(&a, id, &known, &e[0]);
    commit();
    assert_int_equal(e[0].code, KG_E_FULL);
    assert_non_null(strstr(e[0].message, "2 jobs of this token"));
}

/* A batch is accepted whole or not at all, whoever asks at once or in commit(). */
static void after_a_refusal_a_chain_ends(void **state)
{
    char id[KG_ULID_LEN];
    bool known;
    struct kg_svc_job job;
    struct kg_err chain = KG_ERR_INIT, alone;
    const struct kg_svc_room one = {.most = 1};
    (void)state;
    add("p", KG_SVC_NORMAL, T0, id);
    kg_svc_job_init(&job);
    begin();
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(kg_ulid_new(job.id, &err), KG_OK);
        job.problem = job.device = job.configuration = job.task = "p";
        if (kind->submit(store, &job, i == 0 ? &one : NULL, id, &known, &chain) != KG_OK) {
            break;
        }
    }
    submit(&(struct wish){.problem = "q"}, id, &known, &alone);
    commit();
    kg_svc_job_deinit(&job);
    assert_int_equal(chain.code, KG_E_FULL);
    assert_int_equal(alone.code, KG_OK);
    assert_int_equal(stats().jobs[KG_SVC_WAITING], 2);
}

static void what_is_rolled_back_is_not_there(void **state)
{
    char id[KG_ULID_LEN], kept[KG_ULID_LEN];
    bool known;
    (void)state;
    add("p", KG_SVC_NORMAL, T0, kept);
    begin();
    submit(&(struct wish){.problem = "p"}, id, &known, &err);
    kind->rollback(store);
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    assert_int_equal(kind->get(store, id, false, &job, &err), KG_E_NOT_FOUND);
    kg_svc_job_deinit(&job);
    kind->close(store); /* and what was committed is there after a start anew */
    assert_int_equal(kind->open(place, &store, &err), KG_OK);
    assert_int_equal(state_of(kept, NULL), KG_SVC_WAITING);
}

/* --- claims --- */

static void an_old_claim_is_refused(void **state)
{
    char id[KG_ULID_LEN];
    struct taken old, now;
    (void)state;
    add("p", KG_SVC_NORMAL, T0, id);
    assert_true(claim("a", "", 0, T0, &old));
    assert_int_equal(expire(T0 + 999), 0);
    assert_int_equal(expire(T0 + 1000), 1);
    assert_true(claim("b", "", 0, T0 + 1001, &now));
    assert_string_not_equal(now.claim, old.claim);
    assert_true(now.fence > old.fence);
    assert_int_equal(end_as(kind->finish, &old, T0 + 1002), KG_E_NOT_FOUND);
    assert_int_equal(end_as(kind->fail, &old, T0 + 1002), KG_E_NOT_FOUND);
    assert_int_equal(end_as(kind->give_back, &old, T0 + 1002), KG_E_NOT_FOUND);
    struct taken forged = now;
    forged.claim[0] = forged.claim[0] == '0' ? '1' : '0'; /* the fence alone is no claim */
    assert_int_equal(end_as(kind->finish, &forged, T0 + 1002), KG_E_NOT_FOUND);
    forged = now;
    forged.fence = old.fence; /* nor is the claim alone */
    assert_int_equal(end_as(kind->finish, &forged, T0 + 1002), KG_E_NOT_FOUND);
    assert_int_equal(state_of(id, NULL), KG_SVC_RUNNING);
    assert_int_equal(end_as(kind->finish, &now, T0 + 1003), KG_OK);
    assert_int_equal(end_as(kind->finish, &now, T0 + 1004), KG_E_NOT_FOUND); /* once only */
    assert_int_equal(stats().refused, 6);
    assert_int_equal(stats().expired, 1);
}

static enum kg_code renew(const struct taken *t, int64_t until_ms)
{
    begin();
    (void)!kind->renew(store, t->id, t->claim, t->fence, until_ms, &err);
    return commit_one();
}

/* It answers within its group, where an end that nobody has committed counts already. */
static void what_is_not_held_is_known_at_once(void **state)
{
    char id[KG_ULID_LEN];
    struct taken t;
    struct kg_err e = KG_ERR_INIT, no[3] = {KG_ERR_INIT, KG_ERR_INIT, KG_ERR_INIT};
    (void)state;
    add("p", KG_SVC_NORMAL, T0, id);
    assert_true(claim("w", "", 0, T0, &t));
    const struct kg_svc_end end = {.id = t.id, .claim = t.claim, .fence = t.fence, .now_ms = T0};
    begin();
    assert_int_equal(kind->holds(store, t.id, t.claim, t.fence, &e), KG_OK);
    assert_int_equal(kind->holds(store, t.id, t.claim, t.fence + 1, &no[0]), KG_E_NOT_FOUND);
    assert_int_equal(kind->holds(store, t.id, "other", t.fence, &no[1]), KG_E_NOT_FOUND);
    (void)!kind->finish(store, &end, &e);
    assert_int_equal(kind->holds(store, t.id, t.claim, t.fence, &no[2]), KG_E_NOT_FOUND);
    commit();
    assert_int_equal(e.code, KG_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(no[i].code, KG_E_NOT_FOUND);
    }
    assert_int_equal(stats().refused, 3);
    assert_int_equal(state_of(id, NULL), KG_SVC_DONE);
    begin();
    assert_int_equal(kind->holds(store, "01ARZ3NDEKTSV4RRFFQ69G5FAV", t.claim, 1, &e),
                     KG_E_NOT_FOUND);
    commit();
}

/* Nor does it end the attempt that runs: both may answer in one group, the old one first. */
static void an_old_answer_ends_no_newer_attempt(void **state)
{
    char id[KG_ULID_LEN];
    struct taken old, now;
    struct kg_err late = KG_ERR_INIT, e = KG_ERR_INIT;
    (void)state;
    add("p", KG_SVC_NORMAL, T0, id);
    assert_true(claim("a", "", 0, T0, &old));
    assert_int_equal(expire(T0 + 1000), 1);
    assert_true(claim("b", "", 0, T0 + 1001, &now));
    const struct kg_svc_end ends[] = {
        {.id = id, .claim = old.claim, .fence = old.fence, .now_ms = T0 + 1002},
        {.id = id, .claim = now.claim, .fence = now.fence, .now_ms = T0 + 1002}};
    begin();
    (void)!kind->give_back(store, &ends[0], &late);
    assert_int_equal(kind->holds(store, id, now.claim, now.fence, &e), KG_OK);
    (void)!kind->finish(store, &ends[1], &e);
    commit();
    assert_int_equal(late.code, KG_E_NOT_FOUND);
    assert_int_equal(e.code, KG_OK);
    assert_int_equal(state_of(id, NULL), KG_SVC_DONE);
}

static void a_renewed_claim_lasts(void **state)
{
    char id[KG_ULID_LEN];
    struct taken t;
    (void)state;
    add("p", KG_SVC_NORMAL, T0, id);
    assert_true(claim("a", "", 0, T0, &t));
    assert_int_equal(renew(&t, T0 + 5000), KG_OK);
    assert_int_equal(expire(T0 + 4999), 0);
    begin();
    assert_int_equal(kind->extend(store, T0 + 9000, &err), KG_OK);
    commit();
    assert_int_equal(expire(T0 + 8999), 0);
    assert_int_equal(expire(T0 + 9000), 1);
    assert_int_equal(renew(&t, T0 + 20000), KG_E_NOT_FOUND);
}

static void three_attempts_then_dead(void **state)
{
    char id[KG_ULID_LEN];
    struct taken t;
    int attempts;
    struct kg_err again = KG_ERR_INIT;
    (void)state;
    add("p", KG_SVC_NORMAL, T0, id);
    assert_true(claim("a", "", 0, T0, &t));
    assert_int_equal(end_as(kind->give_back, &t, T0), KG_OK); /* is not counted */
    assert_int_equal(state_of(id, &attempts), KG_SVC_WAITING);
    assert_int_equal(attempts, 0);
    for (int i = 1; i <= KG_SVC_ATTEMPTS; i++) {
        assert_true(claim("a", "", 0, T0, &t));
        if (i == 2) {
            assert_int_equal(end_as(kind->fail, &t, T0), KG_OK);
        } else {
            assert_int_equal(expire(T0 + 1000), 1);
        }
        assert_int_equal(state_of(id, &attempts),
                         i < KG_SVC_ATTEMPTS ? KG_SVC_WAITING : KG_SVC_DEAD);
        assert_int_equal(attempts, i);
    }
    assert_false(claim("a", "", 0, T0, &t));
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    assert_int_equal(kind->get(store, id, true, &job, &err), KG_OK);
    assert_string_equal(job.blame, "gym"); /* no fault of the candidate */
    assert_string_equal(job.verdict, "");
    kg_svc_job_deinit(&job);
    begin();
    (void)!kind->requeue(store, id, T0, &err);
    (void)!kind->requeue(store, id, T0, &again);
    assert_int_equal(commit_one(), KG_OK);
    assert_int_equal(again.code, KG_E_USAGE);
    assert_true(claim("a", "", 0, T0, &t));
    assert_string_equal(t.task, "{\"text\":\"t\"}"); /* a dead job keeps it */
    assert_int_equal(end_as(kind->finish, &t, T0), KG_OK);
}

static void an_attempt_can_be_the_last(void **state)
{
    char id[KG_ULID_LEN];
    struct taken t;
    int attempts;
    ending *how = kind->fail;
    (void)state;
    add("p", KG_SVC_NORMAL, T0, id);
    assert_true(claim("a", "", 0, T0, &t));
    const struct kg_svc_end e = {.id = t.id,
                                 .claim = t.claim,
                                 .fence = t.fence,
                                 .now_ms = T0,
                                 .error = "limit",
                                 .blame = "gym",
                                 .message = "refused",
                                 .last = true};
    begin();
    (void)!how(store, &e, &err);
    assert_int_equal(commit_one(), KG_OK);
    assert_int_equal(state_of(id, &attempts), KG_SVC_DEAD);
    assert_int_equal(attempts, 1);
    begin();
    (void)!kind->requeue(store, id, T0, &err);
    assert_int_equal(commit_one(), KG_OK);
    assert_true(claim("a", "", 0, T0, &t));
    assert_int_equal(end_as(kind->fail, &t, T0), KG_OK); /* others are not the last one */
    assert_int_equal(state_of(id, &attempts), KG_SVC_WAITING);
}

static void a_cancelled_job_has_ended(void **state)
{
    char waits[KG_ULID_LEN], runs[KG_ULID_LEN];
    struct taken t;
    bool changed[4];
    struct kg_err e[4] = {KG_ERR_INIT, KG_ERR_INIT, KG_ERR_INIT, KG_ERR_INIT};
    (void)state;
    add("p", KG_SVC_NORMAL, T0, runs);
    add("q", KG_SVC_NORMAL, T0, waits);
    assert_true(claim("a", "", 0, T0, &t));
    begin();
    const char *const ids[] = {runs, waits, waits, "none"};
    for (int i = 0; i < 4; i++) {
        (void)!kind->cancel(store, ids[i], T0, &changed[i], &e[i]);
    }
    commit();
    for (int i = 0; i < 4; i++) {
        assert_int_equal(e[i].code, i < 3 ? KG_OK : KG_E_NOT_FOUND);
        assert_int_equal(changed[i], i < 2);
    }
    assert_int_equal(renew(&t, T0 + 9000), KG_E_NOT_FOUND); /* so its holder hears of it */
    assert_int_equal(end_as(kind->finish, &t, T0), KG_E_NOT_FOUND);
    assert_int_equal(state_of(runs, NULL), KG_SVC_CANCELLED);
    assert_false(claim("a", "", 0, T0, &t));
}

static void a_deadline_ends_what_waits(void **state)
{
    char id[KG_ULID_LEN];
    bool known;
    (void)state;
    begin();
    submit(&(struct wish){.problem = "p", .deadline_ms = T0 + 50}, id, &known, &err);
    assert_int_equal(commit_one(), KG_OK);
    assert_int_equal(expire(T0 + 49), 0);
    assert_int_equal(expire(T0 + 50), 1);
    assert_int_equal(state_of(id, NULL), KG_SVC_CANCELLED);
}

/* --- lanes --- */

static void a_slot_stays_with_its_problem(void **state)
{
    char id[KG_ULID_LEN];
    struct taken a, b, next;
    (void)state;
    for (int i = 0; i < 3; i++) {
        add("p", KG_SVC_NORMAL, T0, id);
        add("q", KG_SVC_NORMAL, T0, id);
    }
    assert_true(claim("a", "", 0, T0, &a));
    assert_string_equal(a.problem, "p"); /* the oldest */
    assert_true(claim("b", "", 0, T0, &b));
    assert_string_equal(b.problem, "q"); /* nobody holds it */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(end_as(kind->finish, &b, T0), KG_OK);
        assert_true(claim("b", b.lane, 1, T0, &next));
        assert_string_equal(next.problem, "q");
        b = next;
    }
    assert_int_equal(end_as(kind->finish, &b, T0), KG_OK);
    assert_true(claim("b", b.lane, 1, T0, &next)); /* its lane is empty: it joins another */
    assert_string_equal(next.problem, "p");
}

/* A worker of one slot and an endless supply of high jobs: the low one's turn comes in time. */
static void no_lane_starves(void **state)
{
    char id[KG_ULID_LEN], low[KG_ULID_LEN];
    struct taken t;
    int64_t now = T0, since = T0;
    char lane[KG_SHA256_HEX] = "";
    (void)state;
    add("low", KG_SVC_LOW, now, low);
    while (state_of(low, NULL) == KG_SVC_WAITING) {
        add("high", KG_SVC_HIGH, now, id);
        assert_true(claim("w", lane, now - since, now, &t));
        if (strcmp(lane, t.lane) != 0) {
            snprintf(lane, sizeof lane, "%s", t.lane);
            since = now;
        }
        now += 500;
        assert_int_equal(end_as(kind->finish, &t, now), KG_OK);
        assert_true(now - T0 <= KG_SVC_LANE_WAIT_MS + KG_SVC_TURN_MS + 1000);
    }
    assert_true(now - T0 > KG_SVC_LANE_WAIT_MS); /* and not before */
}

static void a_job_goes_where_it_can_run(void **state)
{
    static const char *const devices[] = {"torch"};
    const struct kg_svc_slot slot = {.lane = ""};
    const struct kg_svc_ask ask = {
        .worker = "w", .devices = devices, .ndevices = 1, .slots = &slot, .nslots = 1};
    struct kg_svc_job job;
    char id[KG_ULID_LEN];
    size_t of, n;
    (void)state;
    add("p", KG_SVC_NORMAL, T0, id);
    kg_svc_job_init(&job);
    begin();
    assert_int_equal(kind->claim(store, &ask, &job, &of, &n, &err), KG_OK);
    commit();
    kg_svc_job_deinit(&job);
    assert_int_equal(n, 0);
}

static void add_needing(const char *needs, char id[KG_ULID_LEN])
{
    struct kg_svc_job job;
    bool known;
    kg_svc_job_init(&job);
    assert_int_equal(kg_ulid_new(job.id, &err), KG_OK);
    job.problem = "p";
    job.device = needs;
    job.configuration = job.task = "{}";
    job.priority = KG_SVC_NORMAL;
    job.created_ms = T0;
    begin();
    (void)!kind->submit(store, &job, NULL, id, &known, &err);
    assert_int_equal(commit_one(), KG_OK);
    kg_svc_job_deinit(&job);
}

/* Each slot asks for its own device, and each need is compared as offer.h has it. */
static void a_device_must_offer_all_that_is_needed(void **state)
{
    static const char *const small_words[] = {"cpu", "torch"};
    static const char *const large_words[] = {"cpu", "torch", "cuda", "model:H100"};
    static const char *const needs[] = {"torch",
                                        "cuda torch",
                                        "memory:4000 torch",
                                        "memory:4001 torch",
                                        "isolation:2 torch",
                                        "isolation:3 torch",
                                        "cuda model:H100 torch",
                                        "cuda model:H10 torch",
                                        "cuda model:A100 torch"};
    static const bool by_small[] = {1, 0, 1, 0, 0, 0, 0, 0, 0};
    static const bool by_large[] = {1, 1, 1, 1, 1, 0, 1, 0, 0};
    const struct kg_svc_offer small = {small_words, 2, 4000, 1}, large = {large_words, 4, 80000, 2};
    const struct kg_svc_offer none = {.memory_mb = 80000, .isolation = 3};
    (void)state;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const struct kg_svc_slot slots[] = {{.lane = "", .offer = &none},
                                            {.lane = "", .offer = &small},
                                            {.lane = "", .offer = &large}};
        struct kg_svc_job job[3];
        size_t of[3], n;
        bool gone, small_first = i % 2 == 0;
        char id[KG_ULID_LEN];
        add_needing(needs[i], id);
        for (int side = 0; side < 2; side++) {
            bool is_small = (side == 0) == small_first;
            const struct kg_svc_slot mine[] = {slots[0], slots[is_small ? 1 : 2]};
            const struct kg_svc_ask ask = {
                .worker = "w", .slots = mine, .nslots = 2, .term_ms = 1000, .now_ms = T0};
            kg_svc_job_init(&job[0]);
            kg_svc_job_init(&job[1]);
            begin();
            assert_int_equal(kind->claim(store, &ask, job, of, &n, &err), KG_OK);
            commit();
            if (n != (is_small ? by_small[i] : by_large[i])) {
                fail_msg("`%s`: %zu claims by the %s device", needs[i], n,
                         is_small ? "small" : "large");
            }
            if (n == 1) {
                assert_int_equal(of[0], 1);
                struct taken t = {.fence = job[0].fence};
                snprintf(t.id, sizeof t.id, "%s", job[0].id);
                snprintf(t.claim, sizeof t.claim, "%s", job[0].claim);
                assert_int_equal(end_as(kind->give_back, &t, T0), KG_OK);
            }
            kg_svc_job_deinit(&job[0]);
            kg_svc_job_deinit(&job[1]);
        }
        begin();
        assert_int_equal(kind->cancel(store, id, T0, &gone, &err), KG_OK);
        commit();
    }
}

/* --- notices --- */

static enum kg_code write_notice(const char *sort, const char *name, const char *text,
                                 int64_t until_ms, int64_t now_ms)
{
    const struct kg_svc_notice n = {sort, name, text, until_ms};
    begin();
    (void)!kind->notice(store, &n, now_ms, &err);
    return commit_one();
}

static bool add_notice(void *ctx, const struct kg_svc_notice *n)
{
    char *out = ctx;
    size_t len = strlen(out);
    snprintf(out + len, 256 - len, "%s=%s@%d ", n->name, n->text, (int)(n->until_ms - T0));
    return true;
}

static const char *notices_of(const char *sort, int64_t now_ms)
{
    static char text[256];
    text[0] = '\0';
    assert_int_equal(kind->notices(store, sort, now_ms, add_notice, text, &err), KG_OK);
    return text;
}

static void a_notice_is_kept_until_its_time(void **state)
{
    (void)state;
    assert_string_equal(notices_of("worker", T0), "");
    assert_int_equal(write_notice("worker", "b 1", "{\"x y\": 1}", T0 + 10, T0), KG_OK);
    assert_int_equal(write_notice("worker", "a", "old", T0 + 10, T0), KG_OK);
    assert_int_equal(write_notice("worker", "a", "new", T0 + 20, T0), KG_OK);
    assert_int_equal(write_notice("aside", "a", "why", T0 + 30, T0), KG_OK);
    assert_string_equal(notices_of("worker", T0 + 9), "a=new@20 b 1={\"x y\": 1}@10 ");
    assert_string_equal(notices_of("worker", T0 + 10), "a=new@20 ");
    assert_string_equal(notices_of("aside", T0 + 10), "a=why@30 ");
    assert_int_equal(write_notice("aside", "a", NULL, 0, T0 + 10), KG_OK);
    assert_int_equal(write_notice("aside", "a", NULL, 0, T0 + 10), KG_E_NOT_FOUND);
    assert_int_equal(write_notice("worker", "b 1", NULL, 0, T0 + 10),
                     KG_E_NOT_FOUND); /* its time */
    assert_string_equal(notices_of("aside", T0 + 10), "");
    kind->close(store);
    assert_int_equal(kind->open(place, &store, &err), KG_OK);
    assert_string_equal(notices_of("worker", T0 + 10), "a=new@20 ");
}

/* --- reads --- */

static bool note(void *ctx, const struct kg_svc_event *e)
{
    char *out = ctx;
    size_t n = strlen(out);
    snprintf(out + n, 512 - n, "%s ", e->type);
    return true;
}

static bool count(void *ctx, const struct kg_svc_job *job)
{
    (void)job;
    ++*(int *)ctx;
    return true;
}

static void events_and_lists(void **state)
{
    char id[KG_ULID_LEN], other[KG_ULID_LEN], text[512] = "";
    struct taken t;
    int n = 0;
    (void)state;
    add("p", KG_SVC_NORMAL, T0, id);
    add("q", KG_SVC_NORMAL, T0, other);
    assert_true(claim("a", "", 0, T0, &t));
    assert_int_equal(end_as(kind->finish, &t, T0), KG_OK);
    assert_int_equal(kind->events(store, 0, id, 100, note, text, &err), KG_OK);
    assert_string_equal(text, "submitted claimed finished ");
    text[0] = '\0';
    assert_int_equal(kind->events(store, 2, NULL, 100, note, text, &err), KG_OK);
    assert_string_equal(text, "claimed finished ");
    assert_int_equal(stats().last_event, 4);
    assert_int_equal(
        kind->list(store, &(struct kg_svc_filter){.state = -1, .limit = 10}, count, &n, &err),
        KG_OK);
    assert_int_equal(n, 2);
    n = 0;
    const struct kg_svc_filter f = {
        .state = KG_SVC_DONE, .problem = "p", .verdict = "ok", .limit = 10};
    assert_int_equal(kind->list(store, &f, count, &n, &err), KG_OK);
    assert_int_equal(n, 1);
    n = 0;
    const struct kg_svc_filter after = {.state = -1, .after = id, .limit = 10};
    assert_int_equal(kind->list(store, &after, count, &n, &err), KG_OK);
    assert_int_equal(n, 0); /* newest first: nothing is older than the first job */
}

static bool count_event(void *ctx, const struct kg_svc_event *e)
{
    (void)e;
    ++*(int *)ctx;
    return true;
}

static bool last_seq(void *ctx, const struct kg_svc_event *e)
{
    *(int64_t *)ctx = e->seq;
    return true;
}

/* Long after a job's end its events have left the list of all; those of a job that waits stay, and
 * numbers go on. */
static void events_of_ended_jobs_go(void **state)
{
    const int64_t week = (int64_t)7 * 86400 * 1000;
    char waits[KG_ULID_LEN], id[KG_ULID_LEN], text[512] = "";
    struct taken t;
    int64_t seq = 0;
    (void)state;
    add("p", KG_SVC_HIGH, T0, id);
    add("q", KG_SVC_LOW, T0, waits);
    assert_true(claim("a", "", 0, T0, &t));
    assert_int_equal(end_as(kind->finish, &t, T0 + 500), KG_OK);
    assert_int_equal(expire(T0 + 1000), 0);
    assert_int_equal(kind->events(store, 0, NULL, 100, note, text, &err), KG_OK);
    assert_string_equal(text, "submitted submitted claimed finished ");
    for (int64_t late = 0; late < 3; late++) {
        text[0] = '\0';
        assert_int_equal(expire(T0 + 500 + week + late), 0);
        assert_int_equal(kind->events(store, 0, NULL, 100, note, text, &err), KG_OK);
        assert_string_equal(text, "submitted ");
    }
    text[0] = '\0';
    assert_int_equal(kind->events(store, 0, waits, 100, note, text, &err), KG_OK);
    assert_string_equal(text, "submitted ");
    assert_int_equal(stats().last_event, 4);
    add("r", KG_SVC_NORMAL, T0, id);
    assert_int_equal(kind->events(store, 0, NULL, 100, last_seq, &seq, &err), KG_OK);
    assert_int_equal(seq, 5);
}

/* More old events of jobs that wait than one call looks at hide nothing. */
static void old_events_that_stay_hide_none(void **state)
{
    enum { WAITING = 1500 };
    char id[KG_ULID_LEN];
    const int64_t later = T0 + (int64_t)8 * 86400 * 1000;
    struct taken t;
    bool known;
    (void)state;
    begin();
    for (int i = 0; i < WAITING; i++) {
        submit(&(struct wish){.problem = "p", .priority = KG_SVC_LOW}, id, &known, &err);
    }
    commit();
    add("q", KG_SVC_HIGH, T0, id);
    assert_true(claim("a", "", 0, T0, &t));
    assert_string_equal(t.id, id);
    assert_int_equal(end_as(kind->finish, &t, T0), KG_OK);
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(expire(later + i), 0);
    }
    int n = 0;
    assert_int_equal(kind->events(store, 0, NULL, 2 * WAITING, count_event, &n, &err), KG_OK);
    assert_int_equal(n, WAITING);
}

/* --- counts and pages --- */

static bool replayed;

static void finish_as(const char *problem, int64_t now_ms, const char *verdict, const char *reason,
                      const char *stage, double speedup)
{
    char id[KG_ULID_LEN];
    struct taken t;
    add(problem, KG_SVC_NORMAL, now_ms, id);
    assert_true(claim("a", "", 0, now_ms, &t));
    const struct kg_svc_end e = {.id = t.id,
                                 .claim = t.claim,
                                 .fence = t.fence,
                                 .now_ms = now_ms,
                                 .verdict = verdict,
                                 .reason = reason,
                                 .error = verdict == NULL ? "host" : NULL,
                                 .stage = stage,
                                 .speedup = speedup,
                                 .replay = replayed};
    begin();
    (void)!kind->finish(store, &e, &err);
    assert_int_equal(commit_one(), KG_OK);
}

static bool note_tally(void *ctx, const struct kg_svc_tally *t)
{
    char one[128], *out = ctx;
    snprintf(one, sizeof one, "[%s %s %s %d]", t->verdict, t->reason, t->stage, (int)t->n);
    strncat(out, one, 511 - strlen(out));
    return true;
}

static bool note_best(void *ctx, const struct kg_svc_best *b)
{
    char one[128], *out = ctx;
    snprintf(one, sizeof one, "[%s %d %d %g %s]", b->problem, (int)b->done, (int)b->ok, b->speedup,
             b->id[0] != '\0' ? "id" : "-");
    strncat(out, one, 511 - strlen(out));
    return true;
}

static void ends_are_counted(void **state)
{
    char text[512] = "";
    int64_t minutes[KG_SVC_MINUTES];
    (void)state;
    finish_as("relu", T0, "ok", NULL, "timing", 1.5);
    finish_as("relu", T0, "ok", NULL, "timing", 2.25);
    finish_as("relu", T0 + 60000, "ok", NULL, "timing", 1.75);
    finish_as("gelu", T0 + 60000, "hack", "replay", "full", 0);
    finish_as("sha256:00", T0 + 60000, NULL, NULL, "tiny", 0);
    replayed = true; /* counts as work, but as no verdict */
    finish_as("relu", T0 + 60000, "ok", NULL, "timing", 4);
    replayed = false;
    assert_int_equal(kind->tallies(store, note_tally, text, &err), KG_OK);
    assert_non_null(strstr(text, "[ok  timing 3]"));
    assert_non_null(strstr(text, "[hack replay full 1]"));
    assert_non_null(strstr(text, "[ host tiny 1]"));
    text[0] = '\0';
    assert_int_equal(kind->bests(store, note_best, text, &err), KG_OK);
    assert_non_null(strstr(text, "[relu 3 3 2.25 id]"));
    assert_non_null(strstr(text, "[gelu 1 0 0 -]"));
    assert_null(strstr(text, "sha256"));
    assert_int_equal(kind->minutes(store, T0 + 60000, minutes, &err), KG_OK);
    assert_int_equal(minutes[0], 4);
    assert_int_equal(minutes[1], 2);
    assert_int_equal(minutes[2], 0);
    finish_as("relu", T0 + (int64_t)KG_SVC_MINUTES * 60000, "wrong", "value", "full", 0);
    assert_int_equal(kind->minutes(store, T0 + (int64_t)KG_SVC_MINUTES * 60000, minutes, &err),
                     KG_OK);
    assert_int_equal(minutes[0], 1); /* it has the place of the first one */
    assert_int_equal(minutes[KG_SVC_MINUTES - 1], 4);
}

static bool count_tally(void *ctx, const struct kg_svc_tally *t)
{
    *(int64_t *)ctx += t->n;
    return true;
}

/* A worker that makes up reasons fills no store. */
static void kinds_of_ends_are_bounded(void **state)
{
    char reason[32];
    int64_t n = 0;
    (void)state;
    for (int i = 0; i < KG_SVC_TALLIES + 3; i++) {
        snprintf(reason, sizeof reason, "r%d", i);
        finish_as("relu", T0, "wrong", reason, "full", 0);
    }
    finish_as("relu", T0, "wrong", "r7", "full", 0); /* a known one counts */
    assert_int_equal(kind->tallies(store, count_tally, &n, &err), KG_OK);
    assert_int_equal(n, KG_SVC_TALLIES + 1);
}

/* Follows the pages of a list: how many jobs they hold. */
static int through_pages(struct kg_svc_filter f)
{
    char next[KG_ULID_LEN], after[KG_ULID_LEN];
    int n = 0;
    for (int page = 0; page < 20; page++) {
        f.next = next;
        assert_int_equal(kind->list(store, &f, count, &n, &err), KG_OK);
        if (next[0] == '\0') {
            return n;
        }
        memcpy(after, next, sizeof after);
        f.after = after;
    }
    return -1;
}

static void pages_follow_each_other(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++) {
        finish_as(i % 2 == 0 ? "even" : "odd", T0 + i, i % 3 == 0 ? "ok" : "wrong", NULL, "", 0);
    }
    assert_int_equal(through_pages((struct kg_svc_filter){.state = -1, .limit = 2}), 7);
    assert_int_equal(
        through_pages((struct kg_svc_filter){.state = KG_SVC_DONE, .problem = "even", .limit = 1}),
        4);
    assert_int_equal(through_pages((struct kg_svc_filter){
                         .state = -1, .problem = "even", .verdict = "ok", .limit = 1}),
                     2);
    assert_int_equal(
        through_pages((struct kg_svc_filter){.state = -1, .verdict = "ok", .limit = 10}), 3);
    assert_int_equal(
        through_pages((struct kg_svc_filter){.state = KG_SVC_DEAD, .verdict = "ok", .limit = 1}),
        0);
}

struct tallied {
    char text[512];
};

static bool add_count(void *ctx, const char *name, int64_t n)
{
    struct tallied *t = ctx;
    size_t at = strlen(t->text);
    assert_true(at < sizeof t->text - 1);
    snprintf(t->text + at, sizeof t->text - at, "%s=%lld ", name, (long long)n);
    return true;
}

static bool has(const struct tallied *t, const char *word)
{
    return strstr(t->text, word) != NULL;
}

/* Counters outlive the process, and what is rolled back was not counted. */
static void events_are_counted(void **state)
{
    const struct kg_svc_count list[] = {{"time:full:sum", 700}, {"time:full:3", 1}};
    char id[KG_ULID_LEN];
    struct taken t;
    struct tallied all = {""};
    (void)state;
    for (int i = 0; i < 2; i++) {
        add("p", KG_SVC_NORMAL, T0, id);
        assert_true(claim("a", "", 0, T0, &t));
        assert_int_equal(end_as(i == 0 ? kind->finish : kind->fail, &t, T0), KG_OK);
    }
    for (int i = 0; i < 3; i++) {
        begin();
        assert_int_equal(kind->add_counts(store, list, 2, &err), KG_OK);
        if (i < 2) {
            commit();
        } else {
            kind->rollback(store);
        }
    }
    kind->close(store);
    assert_int_equal(kind->open(place, &store, &err), KG_OK);
    assert_int_equal(kind->counts(store, add_count, &all, &err), KG_OK);
    assert_true(has(&all, "event:submitted=2 "));
    assert_true(has(&all, "event:claimed=2 "));
    assert_true(has(&all, "event:finished:ok=1 "));
    assert_true(has(&all, "event:failed=1 "));
    assert_true(has(&all, "time:full:sum=1400 "));
    assert_true(has(&all, "time:full:3=2 "));
}

/* --- of SQLite alone --- */

/* A clock that was set back leaves claims that would last for as long as it was ahead. */
static void a_restart_gives_a_new_term_after_a_wrong_clock(void **state)
{
    char id[KG_ULID_LEN];
    struct taken t;
    (void)state;
    add("p", KG_SVC_NORMAL, T0, id);
    assert_true(claim("a", "", 0, T0 + 3600000, &t));
    begin();
    assert_int_equal(kind->extend(store, T0 + 1000, &err), KG_OK);
    commit();
    assert_int_equal(expire(T0 + 999), 0);
    assert_int_equal(expire(T0 + 1000), 1);
    assert_int_equal(state_of(id, NULL), KG_SVC_WAITING);
}

/* How the planner finds rows of the tables that grow with jobs. It knows nothing of how many rows
 * have a state, so it may take an index that leads through the whole queue. Of a statement that
 * looks in such a table, each line of the plan is here. */
static const struct plan {
    enum sql sql;
    const char *lines;
} plans[] = {
    {SQL_BY_KEY, "jobs USING INDEX jobs_key (key=?)"},
    {SQL_TASK_DROP, "tasks USING INDEX sqlite_autoindex_tasks_1 (id=?)"},
    {SQL_LANES_NEXT, "lanes USING INDEX lanes_due (device=? AND priority>?)|lanes USING INDEX "
                     "lanes_due (device>?)"},
    {SQL_LANES_DUE, "lanes USING INDEX lanes_due (device=? AND priority=? AND served<?)"},
    {SQL_LANES_FREE, "lanes USING INDEX lanes_free (device=? AND priority=?)"},
    {SQL_LANES_HELD, "lanes USING INDEX lanes_held (device=? AND priority=?)"},
    {SQL_LANES_NAMED, "lanes USING INDEX sqlite_autoindex_lanes_1 (name=?)"},
    {SQL_FIRST, "lanes USING INTEGER PRIMARY KEY (rowid=?)"},
    {SQL_SERVED, "lanes USING INTEGER PRIMARY KEY (rowid=?)"},
    {SQL_CLAIM, "jobs USING PRIMARY KEY (id=?)"},
    {SQL_JOB, "jobs USING PRIMARY KEY (id=?)"},
    {SQL_TASK, "tasks USING INDEX sqlite_autoindex_tasks_1 (id=?)"},
    {SQL_KEY_DROP, "jobs USING PRIMARY KEY (id=?)"},
    {SQL_RENEW, "jobs USING PRIMARY KEY (id=?)"},
    {SQL_END, "jobs USING PRIMARY KEY (id=?)"},
    {SQL_AGAIN, "jobs USING PRIMARY KEY (id=?)"},
    {SQL_REQUEUE, "jobs USING PRIMARY KEY (id=?)"},
    {SQL_EXPIRED, "jobs USING INDEX jobs_claims (claim_until<?)"},
    {SQL_LATE, "jobs USING INDEX jobs_deadline (deadline>? AND deadline<?)"},
    {SQL_OLD_EVENTS, "e USING INTEGER PRIMARY KEY (rowid>?)|j USING PRIMARY KEY (id=?)"},
    {SQL_EVENT_DROP, "events USING INTEGER PRIMARY KEY (rowid=?)"},
    {SQL_EXTEND, "jobs USING INDEX jobs_claims"}, /* all that run */
    {SQL_TRAJ_KEY, "trajectories USING INDEX trajectories_key (key=?)"},
    {SQL_TRAJ, "trajectories USING PRIMARY KEY (id=?)"},
    {SQL_TURN, "turns USING PRIMARY KEY (trajectory=? AND n=?)"},
    {SQL_TURN_AGAIN, "turns USING PRIMARY KEY (trajectory=? AND n=?)"},
    {SQL_TRAJ_TAKEN, "trajectories USING PRIMARY KEY (id=?)"},
    {SQL_TRAJ_PUT_OFF, "trajectories USING PRIMARY KEY (id=?)"},
    {SQL_TRAJ_END, "trajectories USING PRIMARY KEY (id=?)|"
                   "turns USING PRIMARY KEY (trajectory=?)|"
                   "j USING COVERING INDEX jobs_state (state=? AND id=?)|"
                   "trajectories USING COVERING INDEX trajectories_ended (seq>?)"},
    {SQL_GET, "jobs USING PRIMARY KEY (id=?)"},
    {SQL_GET_TASK, "tasks USING INDEX sqlite_autoindex_tasks_1 (id=?)"},
    {SQL_LIST, "jobs USING PRIMARY KEY (id<?)"},
    {SQL_LIST_STATE, "jobs USING INDEX jobs_state (state=? AND id<?)"},
    {SQL_LIST_PROBLEM, "jobs USING INDEX jobs_problem (problem=? AND id<?)"},
    {SQL_LIST_PROBLEM_STATE,
     "jobs USING INDEX jobs_problem_state (problem=? AND state=? AND id<?)"},
    {SQL_LIST_VERDICT, "jobs USING INDEX jobs_verdict (verdict=? AND id<?)"},
    {SQL_LIST_PROBLEM_VERDICT,
     "jobs USING INDEX jobs_problem_verdict (problem=? AND verdict=? AND id<?)"},
    {SQL_LIST_OF_BATCH, "jobs USING INDEX jobs_of_batch (batch=? AND id<?)"},
    {SQL_LIST_BATCH, "jobs USING INDEX jobs_batch (batch=? AND batch_at>?)"},
    {SQL_EVENTS, "events USING INTEGER PRIMARY KEY (rowid>?)"},
    {SQL_EVENTS_OF, "events USING INDEX events_of (id=? AND seq>?)"},
    {SQL_COUNTERS, "lanes USING INDEX lanes_due"}, /* all that wait, counted */
    {SQL_OLDEST, "jobs USING INDEX jobs_oldest"},  /* the first row of it */
    {SQL_TRAJ_GET, "trajectories USING PRIMARY KEY (id=?)"},
    {SQL_TURNS, "turns USING PRIMARY KEY (trajectory=? AND n>?)"},
    {SQL_TRAJ_LIST, "trajectories USING PRIMARY KEY (id<?)"},
    {SQL_TRAJ_LIST_GROUP, "trajectories USING INDEX trajectories_group (grp=? AND id<?)"},
    {SQL_TRAJ_LIST_PROBLEM, "trajectories USING INDEX trajectories_problem (problem=? AND id<?)"},
    {SQL_TRAJ_ENDED, "trajectories USING INDEX trajectories_ended (seq>?)"},
    {SQL_TRAJ_DUE, "trajectories USING INDEX trajectories_due (due<?)"},
};

/* Is the table, or alias, of a plan's line one that grows with jobs? */
static bool grows(const char *name)
{
    static const char *const tables[] = {"jobs", "tasks", "events", "turns", "trajectories",
                                         "e",    "j",     "lanes",  NULL};
    for (size_t i = 0; tables[i] != NULL; i++) {
        size_t n = strlen(tables[i]);
        if (strncmp(name, tables[i], n) == 0 && (name[n] == ' ' || name[n] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Lines of the plan on such tables, with `|` between them; "sorts" where rows of one are sorted. */
static void plan_of(sqlite3 *db, const char *sql, char *out, size_t cap)
{
    char query[4096];
    sqlite3_stmt *st;
    bool sorts = false;
    snprintf(query, sizeof query, "EXPLAIN QUERY PLAN %s", sql);
    assert_int_equal(sqlite3_prepare_v2(db, query, -1, &st, NULL), SQLITE_OK);
    out[0] = '\0';
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *line = (const char *)sqlite3_column_text(st, 3);
        const char *name = strchr(line, ' ');
        sorts = sorts || strstr(line, "TEMP B-TREE") != NULL;
        if (name != NULL && grows(name + 1)) {
            snprintf(out + strlen(out), cap - strlen(out), "%s%s", out[0] != '\0' ? "|" : "",
                     name + 1);
        }
    }
    sqlite3_finalize(st);
    if (sorts && out[0] != '\0') {
        snprintf(out, cap, "sorts");
    }
}

/* A statement that had to look at all jobs, or to sort them, would take longer with each of them.
 */
static void each_statement_has_an_index(void **state)
{
    char path[128], plan[512];
    sqlite3 *db;
    bool good = true;
    (void)state;
    snprintf(path, sizeof path, "%s/store.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (int sql = SQL_BY_KEY; sql < SQL_N; sql++) {
        const char *wanted = "";
        for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
            wanted = (int)plans[i].sql == sql ? plans[i].lines : wanted;
        }
        if (kg_svc_sql[sql] == NULL) {
            continue; /* SQL_WRITES */
        }
        plan_of(db, kg_svc_sql[sql], plan, sizeof plan);
        if (strcmp(plan, wanted) != 0) {
            print_error("%s\n  is: %s\n  wanted: %s\n", kg_svc_sql[sql], plan, wanted);
            good = false;
        }
    }
    sqlite3_close(db);
    assert_true(good);
}

static void change_file(const char *sql)
{
    char path[128];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/store.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void a_newer_store_is_refused(void **state)
{
    (void)state;
    kind->close(store);
    store = NULL;
    change_file("PRAGMA user_version=99");
    assert_int_equal(kind->open(folder, &store, &err), KG_E_USAGE);
    assert_null(store);
}

/* What is named by no row any more may be all that there is, so nothing new is put beside it. */
static void a_lost_store_is_no_new_one(void **state)
{
    static const char *const gone[] = {"store.db", "store.db-wal", "store.db-shm"};
    char path[128];
    (void)state;
    kind->close(store);
    snprintf(path, sizeof path, "%s/segments", folder);
    assert_int_equal(kg_file_mkdirs(path, 0700, &err), KG_OK);
    snprintf(path, sizeof path, "%s/segments/01ARZ3NDEKTSV4RRFFQ69G5FAV.zst", folder);
    assert_int_equal(kg_file_write_atomic(path, "r", 1, &err), KG_OK);
    assert_int_equal(kind->open(folder, &store, &err), KG_OK); /* the store that has written it */
    kind->close(store);
    for (int empty = 0; empty < 2; empty++) {
        for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
            snprintf(path, sizeof path, "%s/%s", folder, gone[i]);
            unlink(path);
        }
        snprintf(path, sizeof path, "%s/store.db", folder);
        assert_true(!empty || kg_file_write_atomic(path, "", 0, &err) == KG_OK);
        err = (struct kg_err)KG_ERR_INIT;
        assert_int_equal(kind->open(folder, &store, &err), KG_E_USAGE);
        assert_non_null(strstr(err.message, "restore a backup"));
        assert_null(store);
    }
    snprintf(path, sizeof path, "%s/segments/01ARZ3NDEKTSV4RRFFQ69G5FAV.zst", folder);
    assert_int_equal(unlink(path), 0);
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kind->open(folder, &store, &err), KG_OK);
}

static sqlite3 *open_file(void)
{
    char path[128];
    sqlite3 *db;
    kind->close(store);
    store = NULL;
    snprintf(path, sizeof path, "%s/store.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

static int version_of(sqlite3 *db)
{
    int version = -1;
    assert_int_equal(kg_svc_sql_version(db, "db", &version, &err), KG_OK);
    return version;
}

/* A store that an older kgym has left: its jobs are there, and its events are counted. */
static void an_older_store_is_migrated(void **state)
{
    static const char left[] =
        "INSERT INTO lanes VALUES(1,'n','cpu',1,0,0,0);"
        "INSERT INTO jobs VALUES('01JOLDOLDOLDOLDOLDOLDOLDOL','','h',1,'cpu','{}','p',1,0,'',0,0,0,"
        "0,'','',0,5,0,0,'',0,0,'','','','','','');"
        "INSERT INTO tasks VALUES('01JOLDOLDOLDOLDOLDOLDOLDOL','old');"
        "INSERT INTO jobs SELECT '01JOLDOLDOLDOLDOLDOLDOLDOM',key,body_hash,lane,device,"
        "configuration,'relu',priority,deadline,batch,batch_at,2,attempts,fence,claim,worker,"
        "claim_until,created,started,finished,segment,offset,len,sum,'ok',reason,error,blame,"
        "message FROM jobs;"
        "INSERT INTO events(ms,id,type,detail) VALUES(5,'01J','submitted','p'),(6,'01J','finished',"
        "'ok'),(7,'01J','finished','ok'),(8,'01J','finished','wrong')";
    struct tallied all = {""};
    struct taken t;
    char path[128], text[512] = "";
    (void)state;
    sqlite3 *db = open_file();
    sqlite3_close(db);
    snprintf(path, sizeof path, "%s/store.db", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(kg_svc_sql_migrate(db, path, kg_svc_sql_steps, 1, &err), KG_OK);
    assert_int_equal(sqlite3_exec(db, left, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(version_of(db), 1);
    sqlite3_close(db);
    assert_int_equal(kind->open(place, &store, &err), KG_OK);
    assert_int_equal(kind->counts(store, add_count, &all, &err), KG_OK);
    assert_true(has(&all, "event:submitted=1 "));
    assert_true(has(&all, "event:finished:ok=2 "));
    assert_true(has(&all, "event:finished:wrong=1 "));
    assert_int_equal(kind->tallies(store, note_tally, text, &err), KG_OK);
    assert_string_equal(text, "[ok   1]");
    text[0] = '\0';
    assert_int_equal(kind->bests(store, note_best, text, &err), KG_OK);
    assert_string_equal(text, "[relu 1 1 0 -]");
    assert_int_equal(write_notice("worker", "a", "t", T0 + 1, T0), KG_OK);
    assert_string_equal(notices_of("worker", T0), "a=t@1 ");
    assert_int_equal(stats().jobs[KG_SVC_WAITING], 1);
    assert_int_equal(state_of("01JOLDOLDOLDOLDOLDOLDOLDOL", NULL), KG_SVC_WAITING);
    assert_true(claim("w", "", 0, T0, &t));
    assert_string_equal(t.task, "old");
    db = open_file();
    assert_int_equal(version_of(db), KG_SVC_SCHEMA);
    sqlite3_close(db);
    assert_int_equal(kind->open(place, &store, &err), KG_OK);
}

/* A step that fails leaves the schema before it, whole. */
static void a_step_that_fails_changes_nothing(void **state)
{
    static const char *const steps[] = {"CREATE TABLE a(x)", "CREATE TABLE b(x);NO SUCH WORD",
                                        "CREATE TABLE c(x)"};
    static const char *const mended[] = {"CREATE TABLE a(x)", "CREATE TABLE b(x)",
                                         "CREATE TABLE c(x)"};
    struct kg_err e = KG_ERR_INIT;
    sqlite3 *db;
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(kg_svc_sql_migrate(db, "db", steps, 3, &e), KG_E_IO);
    assert_int_equal(version_of(db), 1);
    assert_int_equal(sqlite3_exec(db, "SELECT * FROM b", NULL, NULL, NULL), SQLITE_ERROR);
    assert_int_equal(kg_svc_sql_migrate(db, "db", mended, 3, &e), KG_OK);
    assert_int_equal(version_of(db), 3);
    assert_int_equal(kg_svc_sql_migrate(db, "db", mended, 3, &e), KG_OK);
    assert_int_equal(kg_svc_sql_migrate(db, "db", mended, 2, &e), KG_E_USAGE);
    sqlite3_close(db);
}

static void a_store_has_one_server(void **state)
{
    struct kg_svc_store *second;
    (void)state;
    assert_int_equal(kind->open(folder, &second, &err), KG_E_USAGE);
    assert_null(second);
}

enum { SLOTS = 3 };

/* Three empty slots at once. Returns how many jobs they got. */
static size_t claim_three(struct kg_svc_job job[SLOTS])
{
    static const char *const devices[] = {"cpu"};
    static const struct kg_svc_slot slot[SLOTS] = {{.lane = ""}, {.lane = ""}, {.lane = ""}};
    const struct kg_svc_ask ask = {.worker = "w",
                                   .devices = devices,
                                   .ndevices = 1,
                                   .slots = slot,
                                   .nslots = SLOTS,
                                   .term_ms = 1000,
                                   .now_ms = T0 + 1};
    size_t of[SLOTS], n;
    for (int i = 0; i < SLOTS; i++) {
        kg_svc_job_init(&job[i]);
    }
    begin();
    assert_int_equal(kind->claim(store, &ask, job, of, &n, &err), KG_OK);
    commit();
    return n;
}

static void give_up(struct kg_svc_job job[SLOTS])
{
    for (int i = 0; i < SLOTS; i++) {
        kg_svc_job_deinit(&job[i]);
    }
}

/* Each slot sees what the one before has taken. */
static void slots_of_one_claim_spread(void **state)
{
    char id[4][KG_ULID_LEN];
    struct kg_svc_job job[SLOTS];
    (void)state;
    add("a", KG_SVC_NORMAL, T0, id[0]);
    add("a", KG_SVC_NORMAL, T0, id[1]);
    add("a", KG_SVC_NORMAL, T0, id[2]);
    add("b", KG_SVC_NORMAL, T0, id[3]);
    assert_int_equal(claim_three(job), 3);
    assert_string_equal(job[0].id, id[0]);
    assert_string_equal(job[1].id, id[3]); /* nobody holds b */
    assert_string_equal(job[2].id, id[1]);
    give_up(job);
    assert_int_equal(claim_three(job), 1);
    assert_string_equal(job[0].id, id[2]);
    give_up(job);
    assert_int_equal(claim_three(job), 0);
    give_up(job);
}

/* An answer that no worker can take would lose the attempts of all jobs in it. */
static void a_claim_has_a_bound_of_bytes(void **state)
{
    enum { BYTES = 20 << 20 };
    struct kg_svc_job job[SLOTS];
    char id[KG_ULID_LEN], *task = calloc(1, BYTES + 1);
    bool known;
    (void)state;
    assert_non_null(task);
    memset(task, 'x', BYTES);
    for (int i = 0; i < SLOTS; i++) {
        const struct wish w = {.problem = "a", .task = task};
        begin();
        submit(&w, id, &known, &err);
        assert_int_equal(commit_one(), KG_OK);
    }
    for (size_t want = SLOTS - 1; want > 0; want--) {
        assert_int_equal(claim_three(job), want);
        for (size_t i = 0; i < SLOTS; i++) {
            assert_int_equal(strlen(job[i].task), i < want ? BYTES : 0);
        }
        give_up(job);
    }
    free(task);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define ALL                                                                                        \
    T(a_job_goes_through), T(a_key_names_one_job), T(a_lost_job_gives_its_key_away),               \
        T(what_the_gym_did_not_lose_keeps_its_key), T(a_full_queue_refuses),                       \
        T(an_owner_fills_its_own_part), T(after_a_refusal_a_chain_ends),                           \
        T(what_is_rolled_back_is_not_there), T(an_old_claim_is_refused),                           \
        T(what_is_not_held_is_known_at_once), T(an_old_answer_ends_no_newer_attempt),              \
        T(a_renewed_claim_lasts), T(three_attempts_then_dead), T(an_attempt_can_be_the_last),      \
        T(a_cancelled_job_has_ended), T(a_deadline_ends_what_waits),                               \
        T(a_slot_stays_with_its_problem), T(no_lane_starves), T(a_job_goes_where_it_can_run),      \
        T(a_device_must_offer_all_that_is_needed), T(a_claim_has_a_bound_of_bytes),                \
        T(slots_of_one_claim_spread), T(a_notice_is_kept_until_its_time), T(events_and_lists),     \
        T(events_of_ended_jobs_go), T(old_events_that_stay_hide_none), T(ends_are_counted),        \
        T(kinds_of_ends_are_bounded), T(pages_follow_each_other), T(events_are_counted)

int main(void)
{
    const struct CMUnitTest tests[] = {ALL,
                                       T(a_newer_store_is_refused),
                                       T(a_lost_store_is_no_new_one),
                                       T(a_store_has_one_server),
                                       T(each_statement_has_an_index),
                                       T(a_restart_gives_a_new_term_after_a_wrong_clock),
                                       T(an_older_store_is_migrated),
                                       cmocka_unit_test(a_step_that_fails_changes_nothing)};
    int failed = cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);
    const struct CMUnitTest both[] = {ALL};
    return failed + in_redis(both, sizeof both / sizeof *both);
}
