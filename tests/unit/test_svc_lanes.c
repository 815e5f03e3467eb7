/* A store need not look at all lanes for a claim, but it must choose as kg_svc_lanes_choose() does
 * among all of them. Random jobs come, are claimed by several slots at once or cancelled, and end;
 * a list of these jobs says what each claim must be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/rng.h"
#include "svc/lanes.h"
#include "tests/support/svc_stores.h"

enum { STEPS = 900, JOBS = 12 * STEPS, PHASE = 150, PROBLEMS = 30, SLOTS = 4, T0 = 1000000 };
enum { LANES = PROBLEMS * KG_SVC_PRIORITIES, SEED = 11 };

/* Problems of a class: that of PyTorch, of more memory than some devices have, and the rest. */
static const char *const classes[] = {"cpu", "torch", "cpu memory:100"};
enum { CLASSES = sizeof classes / sizeof *classes };

static struct job {
    char id[KG_ULID_LEN], claim[KG_SVC_CLAIM_LEN];
    int lane; /* problem * KG_SVC_PRIORITIES + priority */
    enum kg_svc_state state;
    int64_t fence;
} jobs[JOBS];
static size_t njobs;
static int64_t served[LANES], now;
static struct kg_rng rng;

static int below(int n)
{
    return (int)kg_rng_below(&rng, (uint64_t)n);
}

static void fill(struct kg_svc_job *job, int lane)
{
    static char problem[PROBLEMS][8];
    int p = lane / KG_SVC_PRIORITIES;
    snprintf(problem[p], sizeof problem[p], "p%d", p);
    job->problem = problem[p];
    job->device = classes[p % CLASSES];
    job->priority = (enum kg_svc_priority)(lane % KG_SVC_PRIORITIES);
    job->configuration = "{}";
    job->task = "{}";
}

static void name_of(int problem, char out[KG_SHA256_HEX])
{
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    fill(&job, problem * KG_SVC_PRIORITIES);
    kg_svc_lane_name(&job, out);
    kg_svc_job_deinit(&job);
}

static void begin(void)
{
    assert_int_equal(kind->begin(store, &err), KG_OK);
}

static void commit(void)
{
    assert_int_equal(kind->commit(store, &err), KG_OK);
    assert_int_equal(err.code, KG_OK);
}

/* All lanes that the offer serves, as the jobs have them. Returns how many wait. */
static size_t lanes_of(const struct kg_svc_offer *offer, struct kg_svc_lane lane[LANES])
{
    size_t n = 0;
    for (int i = 0; i < LANES; i++) {
        struct kg_svc_lane l = {.id = i, .priority = i % KG_SVC_PRIORITIES, .served_ms = served[i]};
        for (size_t j = 0; j < njobs; j++) {
            bool mine = jobs[j].lane == i && jobs[j].state == KG_SVC_WAITING;
            if (mine && l.waiting++ == 0) {
                memcpy(l.first, jobs[j].id, sizeof l.first); /* ids grow */
            }
            l.holders += jobs[j].state == KG_SVC_RUNNING &&
                         jobs[j].lane / KG_SVC_PRIORITIES == i / KG_SVC_PRIORITIES;
        }
        name_of(i / KG_SVC_PRIORITIES, l.name);
        if (l.waiting > 0 && kg_svc_offer_serves(offer, classes[i / KG_SVC_PRIORITIES % CLASSES])) {
            lane[n++] = l;
        }
    }
    return n;
}

static struct job *job_of(const char *id)
{
    size_t i = 0;
    while (i < njobs && strcmp(jobs[i].id, id) != 0) {
        i++;
    }
    assert_true(i < njobs);
    return &jobs[i];
}

static void submit(int lane)
{
    char id[KG_ULID_LEN];
    bool known;
    struct kg_svc_job job;
    struct job *j = &jobs[njobs];
    j->lane = lane;
    bool empty = true;
    for (size_t i = 0; i < njobs; i++) {
        empty = empty && !(jobs[i].lane == j->lane && jobs[i].state == KG_SVC_WAITING);
    }
    kg_svc_job_init(&job);
    fill(&job, j->lane);
    snprintf(job.id, sizeof job.id, "01J%023zu", njobs);
    memcpy(j->id, job.id, sizeof j->id);
    job.created_ms = now;
    begin();
    assert_int_equal(kind->submit(store, &job, NULL, id, &known, &err), KG_OK);
    commit();
    kg_svc_job_deinit(&job);
    served[j->lane] = empty ? now : served[j->lane];
    j->state = KG_SVC_WAITING;
    njobs++;
}

/* The store has taken this job for the slot: was it to? Of lanes that are due for the same time any
 * will do. */
static void compare(const struct kg_svc_lane *lane, size_t n, const struct kg_svc_slot *slot,
                    bool others, const struct kg_svc_job *got)
{
    size_t at = kg_svc_lanes_choose(lane, n, slot, now, others);
    assert_true(at < n);
    struct job *j = job_of(got->id);
    bool due = now - served[j->lane] >= KG_SVC_LANE_WAIT_MS;
    if (lane[at].id != j->lane && !(due && served[j->lane] == lane[at].served_ms)) {
        fail_msg("seed %d, job %zu: lane %d, not %d", SEED, njobs, j->lane, (int)lane[at].id);
    }
    assert_int_equal(j->state, KG_SVC_WAITING);
    j->state = KG_SVC_RUNNING;
    j->fence = got->fence;
    memcpy(j->claim, got->claim, sizeof j->claim);
    served[j->lane] = now;
}

static void claim(void)
{
    static const char *const words[] = {"cpu", "torch"};
    const struct kg_svc_offer offers[] = {
        {.words = words, .nwords = 1, .memory_mb = 50},
        {.words = words, .nwords = 2, .memory_mb = 200},
    };
    static char name[SLOTS][KG_SHA256_HEX];
    struct kg_svc_lane lane[LANES];
    struct kg_svc_slot slot[SLOTS];
    struct kg_svc_job out[SLOTS];
    size_t of[SLOTS], n, at = 0, nslots = 1 + (size_t)below(SLOTS);
    bool busy[SLOTS] = {false};
    for (size_t i = 0; i < nslots; i++) {
        name_of(below(PROBLEMS), name[i]);
        slot[i] = (struct kg_svc_slot){.lane = below(2) == 0 ? name[i] : "",
                                       .held_ms = below(2) * 20000,
                                       .offer = &offers[below(2)]};
        kg_svc_job_init(&out[i]);
    }
    const struct kg_svc_ask ask = {
        .worker = "w", .slots = slot, .nslots = nslots, .term_ms = 1000000000, .now_ms = now};
    begin();
    assert_int_equal(kind->claim(store, &ask, out, of, &n, &err), KG_OK);
    commit();
    for (int others = 0; others < 2; others++) {
        for (size_t i = 0; i < nslots; i++) {
            size_t nlanes = busy[i] ? 0 : lanes_of(slot[i].offer, lane);
            if (nlanes > 0 &&
                kg_svc_lanes_choose(lane, nlanes, &slot[i], now, others > 0) < nlanes) {
                assert_true(at < n && of[at] == i);
                compare(lane, nlanes, &slot[i], others > 0, &out[at++]);
                busy[i] = true;
            }
        }
    }
    assert_int_equal(at, n);
    for (size_t i = 0; i < nslots; i++) {
        kg_svc_job_deinit(&out[i]);
    }
}

/* One of those in a state, or NULL. */
static struct job *any(enum kg_svc_state state)
{
    struct job *j = NULL;
    for (size_t i = 0, n = 0; i < njobs; i++) {
        n += jobs[i].state == state;
        j = jobs[i].state == state && below((int)n) == 0 ? &jobs[i] : j;
    }
    return j;
}

static void cancel(struct job *j)
{
    bool changed;
    if (j == NULL) {
        return;
    }
    begin();
    assert_int_equal(kind->cancel(store, j->id, now, &changed, &err), KG_OK);
    commit();
    assert_true(changed);
    j->state = KG_SVC_CANCELLED;
}

static void finish(void)
{
    struct job *j = any(KG_SVC_RUNNING);
    if (j == NULL) {
        return;
    }
    const struct kg_svc_end e = {
        .id = j->id, .claim = j->claim, .fence = j->fence, .now_ms = now, .verdict = "ok"};
    begin();
    assert_int_equal(kind->finish(store, &e, &err), KG_OK);
    commit();
    j->state = KG_SVC_DONE;
}

static void claims_are_as_among_all_lanes(void **state)
{
    (void)state;
    kg_rng_init(&rng, (struct kg_key){{SEED, 0}}, 0);
    njobs = 0;
    now = T0;
    for (int i = 0; i < STEPS; i++) {
        /* In one phase many lanes wait, in the next few, so that all that waits is held. */
        bool spread = i / PHASE % 2 == 0;
        now += 1 + below(below(50) == 0 ? 2 * KG_SVC_LANE_WAIT_MS : 200);
        switch (below(5)) {
        case 0:
            claim();
            break;
        case 1:
            for (int n = below(8); n > 0; n--) {
                finish();
            }
            break;
        case 2:
            for (int n = below(8); n > 0; n--) {
                cancel(any(KG_SVC_WAITING));
            }
            break;
        default:
            for (int n = below(spread ? 12 : 3); n > 0; n--, now++) {
                submit(below(spread ? LANES : 2 * KG_SVC_PRIORITIES));
            }
        }
    }
    kg_rng_deinit(&rng);
}

/* The first jobs of most lanes are gone: the last lane has the oldest one. */
static void a_lane_is_as_old_as_its_first_job(void **state)
{
    enum { N = 8 };
    (void)state;
    kg_rng_init(&rng, (struct kg_key){{SEED, 1}}, 0);
    njobs = 0;
    now = T0;
    for (int i = 0; i < 2 * N; i++) { /* problems of one class */
        submit(i % N * CLASSES * KG_SVC_PRIORITIES);
    }
    for (int i = 0; i < N - 1; i++) {
        cancel(&jobs[i]);
    }
    while (jobs[N - 1].state == KG_SVC_WAITING) {
        claim();
    }
    kg_rng_deinit(&rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(claims_are_as_among_all_lanes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lane_is_as_old_as_its_first_job, setup, teardown)};
    int failed = cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);
    return failed + in_redis(tests, sizeof tests / sizeof *tests);
}
