/* The Redis store beyond conformance: who is refused, which lane a claim takes, what is kept. */
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "svc/lanes.h"
#include "tests/unit/redis_rig.h"

/* --- who is refused --- */

static void a_place_is_read(void **state)
{
    static const char *const bad[] = {"redis:/x",      "redis://",        "redis://h:70000",
                                      "redis://h:x",   "redis://user@h",  "redis://u:%4@h",
                                      "redis://h:1/x", "redis://h:1/2/3", "redis+unix://socket",
                                      "http://h:1",    "redis://[::1:5"};
    struct kg_svc_redis_place p;
    (void)state;
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kg_svc_redis_parse("redis://me:a%40b:c@host:7000/3", &p, &err), KG_OK);
    assert_string_equal(p.user, "me");
    assert_string_equal(p.password, "a@b:c");
    assert_string_equal(p.host, "host");
    assert_int_equal(p.port, 7000);
    assert_int_equal(p.db, 3);
    assert_string_equal(p.shown, "redis://host:7000/3"); /* no password in a message */
    assert_int_equal(kg_svc_redis_parse("redis://[::1]", &p, &err), KG_OK);
    assert_string_equal(p.host, "::1");
    assert_int_equal(p.port, 6379);
    assert_int_equal(kg_svc_redis_parse("redis+unix://u:p@/a/b", &p, &err), KG_OK);
    assert_string_equal(p.socket, "/a/b");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (struct kg_err)KG_ERR_INIT;
        assert_int_equal(kg_svc_redis_parse(bad[i], &p, &err), KG_E_USAGE);
    }
}

static void a_server_that_may_lose_is_refused(void **state)
{
    static const char *const lax[][2] = {
        {"appendfsync everysec", "appendfsync always"},
        {"appendonly no", "appendonly yes"},
        {"no-appendfsync-on-rewrite yes", "no-appendfsync-on-rewrite no"},
        {"maxmemory-policy allkeys-lru", "maxmemory-policy noeviction"},
    };
    struct kg_svc_store *s;
    (void)state;
    need_redis();
    for (size_t i = 0; i < sizeof lax / sizeof *lax; i++) {
        assert_true(redis_server_tell(&server, "CONFIG SET %s", lax[i][0]));
        err = (struct kg_err)KG_ERR_INIT;
        assert_int_equal(kind->open(server.place, &s, &err), KG_E_USAGE);
        assert_null(s);
        err = (struct kg_err)KG_ERR_INIT;
        assert_int_equal(kg_svc_store_redis_relaxed.open(server.place, &s, &err), KG_OK);
        kind->close(s);
        assert_true(redis_server_tell(&server, "CONFIG SET %s", lax[i][1]));
    }
    assert_true(redis_server_tell(&server, "SET kgym:schema 99"));
    assert_int_equal(kind->open(server.place, &s, &err), KG_E_USAGE);
    assert_true(redis_server_tell(&server, "SET kgym:schema 2"));
}

/* Schema 1 had no lanes by kind. */
static void an_older_store_is_brought_up_to_date(void **state)
{
    static const char *const problems[] = {"p", "q", NULL};
    char ids[3][KG_ULID_LEN];
    struct kg_svc_store *s;
    struct kg_svc_job jobs[SLOTS];
    size_t n;
    (void)state;
    need_redis();
    assert_int_equal(submit(store, 3, problems, ids), KG_OK);
    assert_true(redis_server_tell(&server, "DEL kgym:kinds kgym:served kgym:found"));
    assert_true(redis_server_tell(&server, "DEL kgym:served:1/cpu kgym:free:1/cpu"));
    assert_true(redis_server_tell(&server, "SET kgym:schema 1"));
    assert_int_equal(claim(store, 1, "", T0, jobs, &n), KG_OK);
    assert_int_equal(n, 0);
    for (int again = 0; again < 2; again++) {
        err = (struct kg_err)KG_ERR_INIT;
        assert_int_equal(kind->open(server.place, &s, &err), KG_OK);
        assert_int_equal(claim(s, 1, "", T0, jobs, &n), KG_OK);
        assert_int_equal(n, 1);
        assert_string_equal(jobs[0].id, ids[again]);
        release(jobs);
        kind->close(s);
    }
}

static void a_user_may_do_what_is_used_alone(void **state)
{
    char place[256], ids[2][KG_ULID_LEN];
    static const char *const problems[] = {"p", NULL};
    struct kg_svc_store *s;
    struct kg_svc_job jobs[SLOTS];
    size_t n;
    (void)state;
    need_redis();
    assert_true(
        redis_server_tell(&server, "ACL SETUSER few on >pw ~kgym:* -@all " REDIS_SERVER_COMMANDS));
    snprintf(place, sizeof place, "redis+unix://few:pw@%s/socket", server.folder);
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kind->open(place, &s, &err), KG_OK);
    assert_int_equal(submit(s, 2, problems, ids), KG_OK);
    assert_int_equal(claim(s, 1, "", T0, jobs, &n), KG_OK);
    assert_int_equal(n, 1);
    assert_int_equal(kind->begin(s, &err), KG_OK);
    bool changed;
    int64_t expired;
    (void)!kind->cancel(s, ids[1], T0, &changed, &err);
    (void)!kind->extend(s, T0 + 70000, &err);
    (void)!kind->expire(s, T0 + 4000000, &expired, &err); /* trims events, too */
    assert_int_equal(kind->commit(s, &err), KG_OK);
    assert_int_equal(expired, 1);
    struct kg_svc_stats stats;
    assert_int_equal(kind->stats(s, &stats, &err), KG_OK);
    release(jobs);
    kind->close(s);
    /* One command less is noticed at the start, not half-way through a group. */
    assert_true(redis_server_tell(&server, "ACL SETUSER few -xadd"));
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kind->open(place, &s, &err), KG_E_USAGE);
    assert_true(redis_server_tell(&server, "ACL SETUSER few +xadd -time"));
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kind->open(place, &s, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, "time"));
    snprintf(place, sizeof place, "redis+unix://few:wrong@%s/socket", server.folder);
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kind->open(place, &s, &err), KG_E_IO);
    assert_null(strstr(err.message, "wrong"));
}

/* How far the service's clock is ahead of the server's, which has this host's, after a group. */
static int64_t ahead_after_a_group(struct kg_svc_store *s)
{
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kind->begin(s, &err), KG_OK);
    assert_int_equal(kind->commit(s, &err), KG_OK);
    return kg_svc_now_ms() - kg_clock_wall_ms();
}

/* A service that began with another clock than the server's dates claims by the server's. */
static void claims_are_dated_by_the_servers_clock(void **state)
{
    static const int64_t off[] = {3600000, -7200000};
    struct kg_svc_store *s;
    (void)state;
    need_redis();
    struct kg_svc_link *link = &((struct kg_svc_redis *)store)->write;
    for (size_t i = 0; i < 2; i++) {
        kg_svc_now_is(kg_clock_wall_ms() + off[i]);
        err = (struct kg_err)KG_ERR_INIT;
        assert_int_equal(kind->open(server.place, &s, &err), KG_OK);
        assert_true(llabs(kg_svc_now_ms() - kg_clock_wall_ms()) < 1500);
        kg_svc_now_is(kg_clock_wall_ms() + off[i]);
        assert_true(llabs(ahead_after_a_group(s) - off[i]) < 1500); /* it has just looked */
        kind->close(s);
        link->clock_at_ms = kg_clock_ns() / 1000000 - 61000; /* a minute ago */
        assert_true(llabs(ahead_after_a_group(store)) < 1500);
    }
    kg_svc_now_is(kg_clock_wall_ms() + 500); /* let be */
    link->clock_at_ms = 0;
    int64_t ahead = ahead_after_a_group(store);
    assert_true(ahead > 400 && ahead < 600);
    kg_svc_now_is(kg_clock_wall_ms());
}

static void another_folder_is_refused(void **state)
{
    char one[96], two[96], record[160];
    (void)state;
    need_redis();
    snprintf(one, sizeof one, "%s/one", server.folder);
    snprintf(two, sizeof two, "%s/two", server.folder);
    assert_int_equal(mkdir(one, 0700) | mkdir(two, 0700), 0);
    assert_int_equal(kind->share(store, one, &err), KG_OK);
    snprintf(record, sizeof record, "%s/01ARZ3NDEKTSV4RRFFQ69G5FAV.zst", one);
    assert_int_equal(kg_file_write_atomic(record, "r", 1, &err), KG_OK);
    assert_int_equal(kind->share(store, one, &err), KG_OK);
    assert_int_equal(kind->share(store, two, &err), KG_E_USAGE);
    assert_true(redis_server_tell(&server, "FLUSHALL")); /* what named the records is lost */
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kind->share(store, one, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, "restore a backup"));
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kind->share(store, two, &err), KG_OK);
}

/* What a process leaves that was killed as it marked the folder stops no later one: the empty file
 * of an older kgym, or a mark that has no name yet. */
static void a_mark_that_was_not_finished_is_none(void **state)
{
    char folder[96], path[160], other[160];
    struct stat st;
    (void)state;
    need_redis();
    snprintf(folder, sizeof folder, "%s/marked", server.folder);
    snprintf(path, sizeof path, "%s/shared-by", folder);
    snprintf(other, sizeof other, "%s/shared-by.01ARZ3NDEKTSV4RRFFQ69G5FAV", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (int i = 0; i < 2; i++) {
        FILE *empty = fopen(i == 0 ? path : other, "w");
        assert_non_null(empty);
        fclose(empty);
        err = (struct kg_err)KG_ERR_INIT;
        assert_int_equal(kind->share(store, folder, &err), KG_OK);
        assert_int_equal(kind->share(store, folder, &err), KG_OK);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, KG_ULID_LEN - 1);
        assert_int_equal(st.st_nlink, 1);
    }
}

/* --- which lane --- */

enum { LANES = 9, STEPS = 300, HELD = 8 };

/* What lanes.h is told, kept beside the store. */
struct model {
    struct kg_svc_lane lane[LANES];
    char ids[LANES][STEPS][KG_ULID_LEN];
    int64_t holders[LANES / 3]; /* of each name */
};

static void model_first(struct model *m, int l)
{
    struct kg_svc_lane *lane = &m->lane[l];
    lane->first[0] = '\0';
    for (int64_t i = 0; i < lane->waiting; i++) {
        if (lane->first[0] == '\0' || strcmp(m->ids[l][i], lane->first) < 0) {
            snprintf(lane->first, sizeof lane->first, "%s", m->ids[l][i]);
        }
    }
    for (int i = 0; i < LANES; i++) {
        m->lane[i].holders = m->holders[i / 3];
    }
}

static void model_add(struct model *m, int l, int64_t now_ms)
{
    struct kg_svc_job job;
    bool known;
    char id[KG_ULID_LEN];
    const char *const problems[] = {"a", "b", "c"};
    kg_svc_job_init(&job);
    assert_int_equal(kg_ulid_new(job.id, &err), KG_OK);
    job.problem = problems[l / 3];
    job.device = "cpu";
    job.configuration = job.task = "{}";
    job.priority = (enum kg_svc_priority)(l % 3);
    job.created_ms = now_ms;
    kg_svc_lane_name(&job, m->lane[l].name);
    m->lane[l].priority = l % 3;
    snprintf(m->ids[l][m->lane[l].waiting++], KG_ULID_LEN, "%s", job.id);
    if (m->lane[l].waiting == 1) {
        m->lane[l].served_ms = now_ms;
    }
    model_first(m, l);
    assert_int_equal(kind->begin(store, &err), KG_OK);
    (void)!kind->submit(store, &job, NULL, id, &known, &err);
    assert_int_equal(kind->commit(store, &err), KG_OK);
    kg_svc_job_deinit(&job);
}

static void model_take(struct model *m, size_t l, int64_t now_ms)
{
    struct kg_svc_lane *lane = &m->lane[l];
    for (int64_t i = 0; i < lane->waiting; i++) {
        if (strcmp(m->ids[l][i], lane->first) == 0) {
            snprintf(m->ids[l][i], KG_ULID_LEN, "%s", m->ids[l][lane->waiting - 1]);
        }
    }
    lane->waiting--;
    lane->served_ms = now_ms;
    m->holders[l / 3]++;
    model_first(m, (int)l);
}

/* The script's choice is that of kg_svc_lanes_choose(), whatever waits, runs and is held. */
static void a_claim_follows_the_rules_of_lanes(void **state)
{
    static struct model m;
    struct kg_svc_job running[HELD][SLOTS], jobs[SLOTS];
    struct kg_rng rng;
    int of[HELD], nrunning = 0;
    int64_t now_ms = T0;
    size_t n;
    (void)state;
    need_redis();
    memset(&m, 0, sizeof m);
    kg_rng_init(&rng, (struct kg_key){{31, 8}}, 0);
    for (int step = 0; step < STEPS; step++) {
        now_ms += (int64_t)kg_rng_below(&rng, 12000);
        if (kg_rng_below(&rng, 5) < 3) {
            model_add(&m, (int)kg_rng_below(&rng, LANES), now_ms);
            continue;
        }
        const char *lane = m.lane[kg_rng_below(&rng, LANES)].name;
        const struct kg_svc_slot slot = {.lane = lane};
        size_t want = kg_svc_lanes_choose(m.lane, LANES, &slot, now_ms, true);
        char first[KG_ULID_LEN] = "";
        if (want < LANES) {
            snprintf(first, sizeof first, "%s", m.lane[want].first);
        }
        assert_int_equal(claim(store, 1, lane, now_ms, jobs, &n), KG_OK);
        assert_int_equal(n, want < LANES);
        if (n == 0) {
            release(jobs);
            continue;
        }
        assert_string_equal(jobs[0].id, first);
        model_take(&m, want, now_ms);
        of[nrunning] = (int)want / 3;
        memcpy(running[nrunning++], jobs, sizeof jobs);
        for (; nrunning == HELD; nrunning--) {
            const struct kg_svc_job *j = &running[HELD - 1][0];
            const struct kg_svc_end e = {
                .id = j->id, .claim = j->claim, .fence = j->fence, .now_ms = now_ms};
            assert_int_equal(kind->begin(store, &err), KG_OK);
            (void)!kind->finish(store, &e, &err);
            assert_int_equal(kind->commit(store, &err), KG_OK);
            release(running[HELD - 1]);
            m.holders[of[HELD - 1]]--;
            model_first(&m, 0);
        }
    }
    while (nrunning > 0) {
        release(running[--nrunning]);
    }
    kg_rng_deinit(&rng);
}

/* --- what is kept --- */

static bool count_event(void *ctx, const struct kg_svc_event *e)
{
    (void)e;
    ++*(int *)ctx;
    return true;
}

/* Entries of the stream go an hour after their job has ended, and no others; the job keeps its own.
 */
static void events_go_by_id(void **state)
{
    static const char *const problems[] = {"p", NULL};
    char ids[2][KG_ULID_LEN];
    struct kg_svc_job jobs[SLOTS];
    int64_t expired;
    size_t n;
    (void)state;
    need_redis();
    assert_int_equal(submit(store, 2, problems, ids), KG_OK);
    assert_int_equal(claim(store, 1, "", T0, jobs, &n), KG_OK);
    for (int late = 0; late < 2; late++) {
        int all = 0, own = 0;
        assert_int_equal(kind->begin(store, &err), KG_OK);
        const struct kg_svc_end e = {
            .id = jobs[0].id, .claim = jobs[0].claim, .fence = jobs[0].fence, .now_ms = T0};
        struct kg_err refused = KG_ERR_INIT;
        (void)!kind->finish(store, &e, &refused);
        (void)!kind->expire(store, T0 + 3599999 + late, &expired, &err);
        assert_int_equal(kind->commit(store, &err), KG_OK);
        assert_int_equal(refused.code, late ? KG_E_NOT_FOUND : KG_OK);
        assert_int_equal(kind->events(store, 0, NULL, 100, count_event, &all, &err), KG_OK);
        assert_int_equal(all, late ? 1 : 4);
        assert_int_equal(kind->events(store, 0, jobs[0].id, 100, count_event, &own, &err), KG_OK);
        assert_int_equal(own, 3);
    }
    release(jobs);
}

/* One look a second keeps up with what ends meanwhile. */
static void events_of_many_jobs_go_at_once(void **state)
{
    enum { MANY = 1000 };
    static char ids[MANY][KG_ULID_LEN];
    static bool changed[MANY];
    static const char *const problems[] = {"p", NULL};
    int64_t expired;
    int left = 0;
    (void)state;
    need_redis();
    assert_int_equal(submit(store, MANY, problems, ids), KG_OK);
    assert_int_equal(kind->begin(store, &err), KG_OK);
    for (int i = 0; i < MANY; i++) {
        (void)!kind->cancel(store, ids[i], T0, &changed[i], &err);
    }
    (void)!kind->expire(store, T0 + 3600000, &expired, &err);
    assert_int_equal(kind->commit(store, &err), KG_OK);
    assert_int_equal(err.code, KG_OK);
    assert_int_equal(kind->events(store, 0, NULL, 10, count_event, &left, &err), KG_OK);
    assert_int_equal(left, 0);
}

static bool note_line(void *ctx, const struct kg_svc_job *job)
{
    struct kg_buf *out = ctx;
    kg_buf_addf(out, "%s:%d ", job->problem, (int)job->batch_at);
    return true;
}

static bool note_id(void *ctx, const struct kg_svc_job *job)
{
    snprintf(ctx, KG_ULID_LEN, "%s", job->id);
    return true;
}

/* Lists longer than a page, both ways. */
static void lists_go_on_past_a_page(void **state)
{
    enum { N = 600 };
    struct kg_buf text;
    bool known;
    char id[KG_ULID_LEN];
    (void)state;
    need_redis();
    assert_int_equal(kind->begin(store, &err), KG_OK);
    for (int i = 0; i < N; i++) {
        struct kg_svc_job job;
        kg_svc_job_init(&job);
        assert_int_equal(kg_ulid_new(job.id, &err), KG_OK);
        job.problem = i % 300 == 7 ? "rare" : "often";
        job.device = job.configuration = job.task = "x";
        job.batch = "B";
        job.batch_at = i;
        (void)!kind->submit(store, &job, NULL, id, &known, &err);
        kg_svc_job_deinit(&job);
    }
    assert_int_equal(kind->commit(store, &err), KG_OK);
    kg_buf_init(&text, 65536);
    const struct kg_svc_filter rare = {
        .state = KG_SVC_WAITING, .problem = "rare", .batch = "B", .limit = 10};
    assert_int_equal(kind->list(store, &rare, note_line, &text, &err), KG_OK);
    assert_int_equal(text.len, strlen("rare:307 rare:7 "));
    kg_buf_reset(&text);
    char last[KG_ULID_LEN];
    const struct kg_svc_filter two = {.state = -1, .batch = "B", .limit = 2};
    assert_int_equal(kind->list(store, &two, note_id, last, &err), KG_OK);
    const struct kg_svc_filter next = {.state = -1, .batch = "B", .after = last, .limit = 2};
    assert_int_equal(kind->list(store, &next, note_line, &text, &err), KG_OK);
    assert_string_equal(text.data, "often:597 often:596 ");
    kg_buf_reset(&text);
    const struct kg_svc_filter from = {
        .state = -1, .batch = "B", .by_line = true, .from = 305, .limit = 3};
    assert_int_equal(kind->list(store, &from, note_line, &text, &err), KG_OK);
    assert_string_equal(text.data, "often:305 often:306 rare:307 ");
    kg_buf_reset(&text);
    const struct kg_svc_filter all = {.state = -1, .batch = "B", .by_line = true, .limit = N + 1};
    assert_int_equal(kind->list(store, &all, note_line, &text, &err), KG_OK);
    size_t lines = 0;
    for (size_t i = 0; i < text.len; i++) {
        lines += text.data[i] == ' ';
    }
    assert_int_equal(lines, N);
    kg_buf_deinit(&text);
}

/* A filter that no set serves costs a page so many jobs at most: the next page goes on from there.
 */
static void a_page_looks_at_so_many_jobs(void **state)
{
    enum { N = KG_SVC_LOOK_MOST + 10 };
    char next[KG_ULID_LEN], after[KG_ULID_LEN], id[KG_ULID_LEN], first[KG_ULID_LEN] = "";
    bool known;
    (void)state;
    need_redis();
    assert_int_equal(kind->begin(store, &err), KG_OK);
    for (int i = 0; i < N; i++) {
        struct kg_svc_job job;
        kg_svc_job_init(&job);
        assert_int_equal(kg_ulid_new(job.id, &err), KG_OK);
        job.problem = "p";
        job.device = job.configuration = job.task = i == 0 ? "first" : "x";
        (void)!kind->submit(store, &job, NULL, id, &known, &err);
        if (i == 0) {
            memcpy(first, id, sizeof first);
        }
        kg_svc_job_deinit(&job);
    }
    assert_int_equal(kind->commit(store, &err), KG_OK);
    assert_int_equal(kind->begin(store, &err), KG_OK);
    (void)!kind->cancel(store, first, T0, &known, &err);
    assert_int_equal(kind->commit(store, &err), KG_OK);
    id[0] = '\0';
    struct kg_svc_filter f = {.state = KG_SVC_CANCELLED, .problem = "p", .limit = 5, .next = next};
    assert_int_equal(kind->list(store, &f, note_id, id, &err), KG_OK);
    assert_string_equal(id, "");
    assert_int_equal(strlen(next), KG_ULID_LEN - 1);
    memcpy(after, next, sizeof after);
    f.after = after;
    assert_int_equal(kind->list(store, &f, note_id, id, &err), KG_OK);
    assert_string_equal(id, first);
    assert_string_equal(next, "");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_read),
        T(a_server_that_may_lose_is_refused),
        T(an_older_store_is_brought_up_to_date),
        T(a_user_may_do_what_is_used_alone),
        T(claims_are_dated_by_the_servers_clock),
        T(another_folder_is_refused),
        T(a_mark_that_was_not_finished_is_none),
        T(a_claim_follows_the_rules_of_lanes),
        T(events_go_by_id),
        T(events_of_many_jobs_go_at_once),
        T(lists_go_on_past_a_page),
        T(a_page_looks_at_so_many_jobs),
    };
    signal(SIGPIPE, SIG_IGN); /* as the api process does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
