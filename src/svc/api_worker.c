/* What workers ask: claims, renewals with news, and answers. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_private.h"

enum { SLOTS_MAX = 512, DEVICES_MAX = 16, HELD_MAX = 8192 };

/* A worker's request that waits: for a job (an idle claim), or for news of its claims. */
struct kg_svc_poll {
    struct kg_svc_op op; /* of a claim; must be first */
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    json_t *body;
    const char *worker;
    bool is_claim, posted, gone;
    int64_t until_ms;
    const char *devices[DEVICES_MAX];
    struct kg_svc_slot *slot; /* [nslots], as are the next two */
    struct kg_svc_job *job;
    size_t *of, ndevices, nslots, n;
    struct kg_svc_poll *next;
};

static void unlink_poll(struct kg_svc_poll *p)
{
    struct kg_svc_poll **at = &p->api->polls;
    while (*at != p) {
        at = &(*at)->next;
    }
    *at = p->next;
}

static void free_poll(struct kg_svc_poll *p)
{
    unlink_poll(p);
    json_decref(p->body);
    free(p->slot);
    free(p->job);
    free(p->of);
    free(p);
}

static void on_gone(struct kg_svc_exchange *x, void *arg)
{
    struct kg_svc_poll *p = arg;
    (void)x;
    p->gone = true;
    if (!p->posted) {
        free_poll(p);
    }
}

static struct kg_svc_poll *new_poll(struct kg_svc_api *a, struct kg_svc_exchange *x, json_t *body,
                                    double wait_s)
{
    struct kg_svc_poll *p = calloc(1, sizeof *p);
    KG_ASSERT(p != NULL);
    p->api = a;
    p->x = x;
    p->body = body;
    p->worker = json_string_value(json_object_get(body, "worker"));
    p->until_ms = kg_svc_now_ms() + (int64_t)(wait_s * 1000);
    p->next = a->polls;
    a->polls = p;
    kg_svc_on_gone(x, on_gone, p);
    return p;
}

/* Answers, and ends the poll. */
static void answer(struct kg_svc_poll *p, json_t *body)
{
    if (p->gone) {
        json_decref(body);
    } else {
        kg_svc_on_gone(p->x, NULL, NULL);
        kg_svc_reply_json(p->x, 200, body);
    }
    free_poll(p);
}

static bool read_wait(struct kg_svc_exchange *x, const json_t *body, double *out)
{
    const json_t *wait = json_object_get(body, "wait_s");
    *out = json_number_value(wait);
    if (wait != NULL && (!json_is_number(wait) || !(*out >= 0 && *out <= 60))) {
        kg_svc_reply_error(x, 400, "bad_wait", "wait_s", "`wait_s` must be a number from 0 to 60");
        return false;
    }
    return true;
}

/* --- claims --- */

static enum kg_code run_claim(struct kg_svc_op *op, struct kg_svc_store *store,
                              struct kg_svc_segments *segments, struct kg_err *err)
{
    struct kg_svc_poll *p = (struct kg_svc_poll *)op;
    (void)segments;
    for (size_t i = 0; i < p->nslots; i++) { /* an earlier try may have failed half-way */
        kg_svc_job_deinit(&p->job[i]);
        kg_svc_job_init(&p->job[i]);
    }
    const struct kg_svc_ask ask = {.worker = p->worker,
                                   .devices = p->devices,
                                   .ndevices = p->ndevices,
                                   .slots = p->slot,
                                   .nslots = p->nslots,
                                   .term_ms = p->api->o->term_ms,
                                   .now_ms = kg_svc_now_ms()};
    return store->kind->claim(store, &ask, p->job, p->of, &p->n, err);
}

static json_t *raw(const char *text)
{
    return json_loads(text, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
}

static json_t *claim_json(const struct kg_svc_poll *p, size_t i)
{
    const struct kg_svc_job *j = &p->job[i];
    char lane[KG_SHA256_HEX];
    kg_svc_lane_name(j, lane);
    json_t *out =
        json_pack("{s:I, s:s, s:s, s:I, s:s, s:I, s:o, s:o}", "slot", (json_int_t)p->of[i], "id",
                  j->id, "claim", j->claim, "fence", (json_int_t)j->fence, "lane", lane, "term_ms",
                  (json_int_t)p->api->o->term_ms, "configuration", raw(j->configuration), "task",
                  raw(j->task));
    if (j->deadline_ms > 0) {
        double left = (double)(j->deadline_ms - kg_svc_now_ms()) / 1000;
        json_object_set_new(out, "deadline_s", json_real(left > 0.01 ? left : 0.01));
    }
    return out;
}

static void free_jobs(struct kg_svc_poll *p)
{
    for (size_t i = 0; i < p->nslots; i++) {
        kg_svc_job_deinit(&p->job[i]);
    }
}

static void claim_done(struct kg_svc_op *op)
{
    struct kg_svc_poll *p = (struct kg_svc_poll *)op;
    p->posted = false;
    if (op->err.code != KG_OK && !p->gone) {
        struct kg_err err = op->err;
        struct kg_svc_exchange *x = p->x;
        free_jobs(p);
        free_poll(p);
        kg_svc_on_gone(x, NULL, NULL);
        kg_svc_answer_error(x, &err, "");
        return;
    }
    if (p->n == 0 && !p->gone && !p->api->stopping && kg_svc_now_ms() < p->until_ms) {
        free_jobs(p);
        memset(p->job, 0, p->nslots * sizeof *p->job);
        return; /* it waits for a job */
    }
    json_t *claims = json_array();
    for (size_t i = 0; i < p->n; i++) {
        json_array_append_new(claims, claim_json(p, i));
    }
    free_jobs(p);
    answer(p, json_pack("{s:o}", "claims", claims));
}

static void post_claim(struct kg_svc_poll *p)
{
    p->posted = true;
    p->op.run = run_claim;
    p->op.done = claim_done;
    kg_svc_writer_post(p->api->writer, &p->op);
}

static bool read_slots(struct kg_svc_poll *p)
{
    const json_t *devices = json_object_get(p->body, "devices");
    const json_t *slots = json_object_get(p->body, "slots");
    size_t i;
    json_t *v;
    if (p->worker == NULL || strlen(p->worker) > 100 || json_array_size(devices) == 0 ||
        json_array_size(devices) > DEVICES_MAX || json_array_size(slots) == 0 ||
        json_array_size(slots) > SLOTS_MAX) {
        return false;
    }
    json_array_foreach(devices, i, v)
    {
        p->devices[p->ndevices] = json_string_value(v);
        if (p->devices[p->ndevices++] == NULL) {
            return false;
        }
    }
    p->slot = calloc(json_array_size(slots), sizeof *p->slot);
    p->job = calloc(json_array_size(slots), sizeof *p->job);
    p->of = calloc(json_array_size(slots), sizeof *p->of);
    KG_ASSERT(p->slot != NULL && p->job != NULL && p->of != NULL);
    json_array_foreach(slots, i, v)
    {
        const char *lane = json_string_value(json_object_get(v, "lane"));
        const json_t *held = json_object_get(v, "held_ms");
        p->slot[p->nslots++] =
            (struct kg_svc_slot){lane != NULL ? lane : "", json_integer_value(held)};
    }
    return true;
}

void kg_svc_post_claim(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const members[] = {"worker", "devices", "slots", "wait_s", NULL};
    double wait;
    json_t *body = kg_svc_body(x, members);
    if (body == NULL) {
        return;
    }
    if (!read_wait(x, body, &wait)) {
        json_decref(body);
        return;
    }
    struct kg_svc_poll *p = new_poll(ctx, x, body, wait);
    p->is_claim = true;
    if (!read_slots(p)) {
        kg_svc_on_gone(x, NULL, NULL);
        free_poll(p);
        kg_svc_reply_error(x, 400, "bad_claim", "",
                           "`worker`, `devices` and 1 to %d `slots` are needed", SLOTS_MAX);
        return;
    }
    post_claim(p);
}

/* --- renewals, and news --- */

struct renew_op {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    json_t *body;
    double wait_s;
    struct kg_err each[]; /* one for each claim of the body */
};

static enum kg_code run_renew(struct kg_svc_op *op, struct kg_svc_store *store,
                              struct kg_svc_segments *segments, struct kg_err *err)
{
    struct renew_op *o = (struct renew_op *)op;
    const json_t *claims = json_object_get(o->body, "claims");
    int64_t until = kg_svc_now_ms() + o->api->o->term_ms;
    size_t i;
    json_t *v;
    (void)segments;
    memset(o->each, 0, json_array_size(claims) * sizeof *o->each);
    json_array_foreach(claims, i, v)
    {
        const char *id = json_string_value(json_object_get(v, "id"));
        const char *claim = json_string_value(json_object_get(v, "claim"));
        int64_t fence = json_integer_value(json_object_get(v, "fence"));
        enum kg_code code = store->kind->renew(store, id, claim, fence, until, &o->each[i]);
        if (code != KG_OK && code != KG_E_NOT_FOUND) {
            *err = o->each[i];
            return code;
        }
    }
    return KG_OK;
}

static void renew_done(struct kg_svc_op *op)
{
    struct renew_op *o = (struct renew_op *)op;
    json_t *lost = json_array(), *news = json_pack("{s:o}", "lost", lost), *v;
    size_t i;
    json_array_foreach(json_object_get(o->body, "claims"), i, v)
    {
        if (o->each[i].code == KG_E_NOT_FOUND) {
            json_array_append(lost, json_object_get(v, "id"));
        }
    }
    if (op->err.code != KG_OK) {
        json_decref(news);
        json_decref(o->body);
        kg_svc_answer_error(o->x, &op->err, "");
    } else if (json_array_size(lost) > 0 || o->wait_s <= 0 || o->api->stopping) {
        json_decref(o->body);
        kg_svc_reply_json(o->x, 200, news);
    } else {
        json_decref(news);
        new_poll(o->api, o->x, o->body, o->wait_s);
    }
    free(o);
}

static bool are_claims(const json_t *body)
{
    const json_t *claims = json_object_get(body, "claims");
    size_t i;
    json_t *v;
    if (!json_is_array(claims) || json_array_size(claims) > HELD_MAX ||
        !json_is_string(json_object_get(body, "worker"))) {
        return false;
    }
    json_array_foreach(claims, i, v)
    {
        if (!json_is_string(json_object_get(v, "id")) ||
            !json_is_string(json_object_get(v, "claim")) ||
            !json_is_integer(json_object_get(v, "fence"))) {
            return false;
        }
    }
    return true;
}

void kg_svc_post_renew(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const members[] = {"worker", "claims", "wait_s", NULL};
    double wait;
    json_t *body = kg_svc_body(x, members);
    if (body == NULL) {
        return;
    }
    if (!read_wait(x, body, &wait)) {
        json_decref(body);
        return;
    }
    if (!are_claims(body)) {
        json_decref(body);
        kg_svc_reply_error(x, 400, "bad_claim", "claims",
                           "`claims` must list id, claim and fence; `worker` names their holder");
        return;
    }
    size_t n = json_array_size(json_object_get(body, "claims"));
    struct renew_op *o = calloc(1, sizeof *o + n * sizeof o->each[0]);
    KG_ASSERT(o != NULL);
    *o = (struct renew_op){.op = {.run = run_renew, .done = renew_done},
                           .api = ctx,
                           .x = x,
                           .body = body,
                           .wait_s = wait};
    kg_svc_writer_post(o->api->writer, &o->op);
}

void kg_svc_tell_worker(struct kg_svc_api *a, const char *worker, const char *id)
{
    for (struct kg_svc_poll *p = a->polls, *next; p != NULL; p = next) {
        next = p->next;
        if (!p->is_claim && p->worker != NULL && strcmp(p->worker, worker) == 0) {
            answer(p, json_pack("{s:[s]}", "lost", id));
        }
    }
}

void kg_svc_polls_look(struct kg_svc_api *a)
{
    bool fresh = a->fresh;
    a->fresh = false;
    for (struct kg_svc_poll *p = fresh ? a->polls : NULL, *next; p != NULL; p = next) {
        next = p->next;
        if (!p->is_claim || p->posted) {
            continue;
        }
        if (kg_svc_is_there(p->x)) {
            post_claim(p);
        } else { /* a job that it claimed would wait for nobody */
            answer(p, json_pack("{s:[]}", "claims"));
        }
    }
}

void kg_svc_post_leave(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const members[] = {"worker", NULL};
    struct kg_svc_api *a = ctx;
    json_t *body = kg_svc_body(x, members);
    if (body == NULL) {
        return;
    }
    const char *worker = json_string_value(json_object_get(body, "worker"));
    for (struct kg_svc_poll *p = a->polls, *next; p != NULL; p = next) {
        next = p->next;
        if (worker != NULL && p->worker != NULL && strcmp(p->worker, worker) == 0) {
            p->until_ms = 0;
        }
    }
    json_decref(body);
    kg_svc_reply_json(x, 200, json_pack("{s:b}", "left", 1));
    kg_svc_polls_tick(a);
}

/* Those whose time is up get an empty answer. */
void kg_svc_polls_tick(struct kg_svc_api *a)
{
    int64_t now = kg_svc_now_ms();
    for (struct kg_svc_poll *p = a->polls, *next; p != NULL; p = next) {
        next = p->next;
        if (!p->posted && (now >= p->until_ms || a->stopping)) {
            answer(p, json_pack("{s:[]}", p->is_claim ? "claims" : "lost"));
        }
    }
}
