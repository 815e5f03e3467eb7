/* POST /v1/reward: trainers' bodies as jobs of one group, and an answer once all have ended. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_group.h"
#include "svc/trainers.h"

enum {
    WAIT_S = 100, /* below the 120 s after which slime gives up, and OpenRLHF's 180 s */
    HOLD_S = 10,  /* a refusal waits: OpenRLHF asks five times, a second after each answer */
    HELD_MOST = 256,
};

struct reward {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    struct kg_trainers_request request;
    struct kg_svc_job *job;  /* [n] as they are submitted */
    char (*id)[KG_ULID_LEN]; /* [n] of the jobs */
    size_t n;
    double *value; /* [n] rewards of the items before `ready`, which have ended */
    size_t ready;
    bool missing;    /* one of them has none, */
    char why[300];   /* and why */
    char preset[64]; /* of the reward */
    double wait_s;
};

static void destroy(void *ctx)
{
    struct reward *r = ctx;
    for (size_t i = 0; i < r->n; i++) {
        kg_svc_job_deinit(&r->job[i]);
    }
    kg_trainers_deinit(&r->request);
    free(r->job);
    free(r->value);
    free(r->id);
    free(r);
}

/* --- the jobs --- */

/* A retry joins the job of its item. Where that was lost before, it takes the key. */
static enum kg_code name_it(const struct reward *r, size_t i, struct kg_err *err)
{
    struct kg_svc_job *job = &r->job[i];
    struct kg_sha256 h;
    char sum[KG_SHA256_HEX], key[KG_SVC_KEY_MAX];
    const char *asked = r->request.item[i].key;
    kg_sha256_begin(&h);
    kg_sha256_part(&h, asked, strlen(asked));
    kg_sha256_part(&h, job->body_hash, strlen(job->body_hash));
    kg_sha256_end(&h, sum);
    int n = snprintf(key, sizeof key, "r/%s", sum);
    job->renews = true;
    return kg_svc_job_keep(job, &job->key, key, (size_t)n, err);
}

/* All items are accepted or none: the first new one asks for the room of all that follow. */
static enum kg_code run(struct kg_svc_op *op, struct kg_svc_store *store,
                        struct kg_svc_segments *segments, struct kg_err *err)
{
    struct reward *r = (struct reward *)op;
    (void)segments;
    bool known;
    for (size_t i = 0; i < r->n; i++) {
        const struct kg_svc_room room = kg_svc_room_for(r->api, r->n - i - 1);
        if (name_it(r, i, err) != KG_OK ||
            store->kind->submit(store, &r->job[i], &room, r->id[i], &known, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

/* --- the answer --- */

static void unavailable(struct reward *r, const char *why)
{
    kg_svc_header(r->x, "Retry-After", "1");
    kg_svc_reply_error(r->x, 503, "no_reward", "", "%s: ask again", why);
}

/* The reward of a job that has ended. False: there is none, and why says so. */
static bool reward_of(struct reward *r, const struct kg_svc_job *job, double *out, char *why,
                      size_t n)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf text;
    json_t *record = NULL;
    bool good = false;
    kg_buf_init(&text, KG_SVC_RECORD_MAX);
    if (job->record.segment[0] != '\0' &&
        kg_svc_segments_read(r->api->segments, &job->record, &text, &err) == KG_OK &&
        kg_json_parse(text.data, text.len, "record", &record, &err) == KG_OK) {
        good = kg_trainers_reward(record, r->preset, out, why, n);
    } else {
        snprintf(why, n, "job %s has no record", job->id);
    }
    json_decref(record);
    kg_buf_deinit(&text);
    return good;
}

/* Looks at the items that had not ended when it looked last. True: answered. now: answer also where
 * a job still runs. */
static bool answer(void *ctx, bool now)
{
    struct reward *r = ctx;
    for (bool runs = false; r->ready < r->n && !runs; r->ready += !runs) {
        struct kg_err err = KG_ERR_INIT;
        struct kg_svc_job job;
        kg_svc_job_init(&job);
        bool there =
            r->api->store->kind->get(r->api->store, r->id[r->ready], false, &job, &err) == KG_OK;
        runs = there && (job.state == KG_SVC_WAITING || job.state == KG_SVC_RUNNING);
        if (!runs && !r->missing) {
            r->missing = !reward_of(r, &job, &r->value[r->ready], r->why, sizeof r->why);
        }
        kg_svc_job_deinit(&job);
    }
    if (r->ready < r->n && !now) {
        return false;
    }
    if (r->ready < r->n || r->missing) {
        unavailable(r, r->missing ? r->why : "the evaluations still run");
    } else {
        kg_svc_reply_json(r->x, 200, kg_trainers_answer(&r->request, r->value));
    }
    return true;
}

static bool refuse(void *ctx, bool now)
{
    struct reward *r = ctx;
    if (now) {
        kg_svc_answer_error(r->x, &r->op.err, "");
    }
    return now;
}

static void let_go(void *ctx)
{
    struct reward *r = ctx;
    r->api->held--;
    destroy(r);
}

/* A trainer soon gives up, so its tries must not pass while the queue is full or the store is away.
 * Each request that is held has a file and its body, so there is a bound. */
static void refuse_later(struct reward *r)
{
    struct kg_svc_api *a = r->api;
    bool later = r->op.err.code != KG_E_USAGE && r->op.err.code != KG_E_NOT_FOUND;
    double hold_s = r->wait_s < HOLD_S ? r->wait_s : HOLD_S;
    a->held++;
    kg_svc_group_wait(a, r->x, r->id, 0, later && a->held <= HELD_MOST ? hold_s : 0, refuse, let_go,
                      r);
}

static void done(struct kg_svc_op *op)
{
    struct reward *r = (struct reward *)op;
    struct kg_svc_api *a = r->api;
    if (op->err.code != KG_OK) {
        refuse_later(r);
        return;
    }
    a->fresh = true;
    kg_svc_group_wait(a, r->x, r->id, r->n, r->wait_s, answer, destroy, r);
}

/* --- the request --- */

/* False: it was answered. */
static bool make_jobs(struct reward *r, const char *preset)
{
    size_t n = r->request.n;
    r->job = calloc(n, sizeof *r->job);
    r->id = calloc(n, sizeof *r->id);
    r->value = calloc(n, sizeof *r->value);
    KG_ASSERT(r->job != NULL && r->id != NULL && r->value != NULL);
    for (size_t i = 0; i < n; i++) {
        const struct kg_trainers_item *item = &r->request.item[i];
        json_t *text = json_stringn(item->reply, item->reply_len);
        const struct kg_svc_ask_for ask = {.problem = item->problem,
                                           .text = text,
                                           .preset = preset,
                                           .rewards = r->preset,
                                           .priority = KG_SVC_NORMAL};
        kg_svc_job_init(&r->job[r->n++]);
        bool made =
            text != NULL && kg_svc_make_job(r->api, r->x, &ask, n > 1 ? (int)i : -1, &r->job[i]);
        json_decref(text);
        if (!made) {
            return false;
        }
    }
    return true;
}

/* ?reward=NAME&preset=NAME&wait=S. False: 400 was answered. */
static bool read_query(struct kg_svc_exchange *x, struct reward *r)
{
    static const char *const known[] = {"reward", "preset", "wait", NULL};
    const char *reward = kg_svc_query(x, "reward");
    reward = reward != NULL ? reward : "dr-kernel";
    if (kg_svc_query_unknown(x, known) != NULL) {
        kg_svc_reply_error(x, 400, "bad_query", "", "the query may have reward, preset, wait");
        return false;
    }
    if (strlen(reward) >= sizeof r->preset || strpbrk(reward, ", ") != NULL || *reward == '\0') {
        kg_svc_reply_error(x, 400, "bad_query", "reward", "`reward` must be one preset's name");
        return false;
    }
    snprintf(r->preset, sizeof r->preset, "%s", reward);
    r->wait_s = WAIT_S;
    return kg_svc_query(x, "wait") == NULL || kg_svc_query_number(x, "wait", WAIT_S, &r->wait_s);
}

void kg_svc_post_reward(struct kg_svc_exchange *x, void *ctx)
{
    const struct kg_svc_request *q = kg_svc_request(x);
    const char *preset = kg_svc_query(x, "preset");
    struct kg_svc_refusal no;
    struct reward *r = calloc(1, sizeof *r);
    KG_ASSERT(r != NULL);
    *r = (struct reward){.op = {.run = run, .done = done}, .api = ctx, .x = x};
    if (!read_query(x, r)) {
        destroy(r);
        return;
    }
    if (preset != NULL && strcmp(preset, "kernelbench") == 0) {
        kg_svc_reply_error(x, 400, "bad_query", "preset",
                           "the preset `kernelbench` earns no reward");
        destroy(r);
        return;
    }
    if (!kg_trainers_read(q->body, q->len, &r->request, &no)) {
        kg_svc_reply_error(x, no.status, no.code, no.field, "%s", no.message);
        destroy(r);
        return;
    }
    if (make_jobs(r, preset)) {
        kg_svc_writer_post(r->api->writer, &r->op);
    } else {
        destroy(r);
    }
}
