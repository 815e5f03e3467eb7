/* What workers ask: renewals with news, and which of their requests wait. Claims: api_claim.c. */
#include <event2/event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "svc/api_worker.h"

enum { HELD_MAX = 8192 };

static void unlink_poll(struct kg_svc_poll *p)
{
    struct kg_svc_poll **at = &p->api->polls;
    while (*at != p) {
        at = &(*at)->next;
    }
    *at = p->next;
}

void kg_svc_poll_free(struct kg_svc_poll *p)
{
    unlink_poll(p);
    if (p->timer != NULL) {
        event_free(p->timer);
    }
    json_decref(p->body);
    free(p->slot);
    free(p->job);
    free(p->of);
    free(p->on);
    free(p->device);
    free(p);
}

static void on_gone(struct kg_svc_exchange *x, void *arg)
{
    struct kg_svc_poll *p = arg;
    (void)x;
    p->gone = true;
    if (!p->posted) {
        kg_svc_poll_free(p);
    }
}

/* Its time is up. */
static void answer_empty(struct kg_svc_poll *p)
{
    kg_svc_poll_answer(p, json_pack("{s:[]}", p->is_claim ? "claims" : "lost"));
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct kg_svc_poll *p = arg;
    (void)fd;
    (void)what;
    if (!p->posted) {
        answer_empty(p);
    }
}

/* A short term of claims is renewed several times a second, so a poll has a timer of its own: the
 * tick of a second would answer it after its worker has given the claim up. */
static void start_timer(struct kg_svc_poll *p, double wait_s)
{
    const struct timeval t = {.tv_sec = (time_t)wait_s,
                              .tv_usec = (suseconds_t)(fmod(wait_s, 1) * 1e6)};
    p->timer = wait_s > 0 ? evtimer_new(p->api->base, on_timer, p) : NULL;
    if (p->timer != NULL) {
        evtimer_add(p->timer, &t);
    }
}

struct kg_svc_poll *kg_svc_poll_new(struct kg_svc_api *a, struct kg_svc_exchange *x, json_t *body,
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
    start_timer(p, wait_s);
    kg_svc_on_gone(x, on_gone, p);
    return p;
}

void kg_svc_poll_answer(struct kg_svc_poll *p, json_t *body)
{
    if (p->gone) {
        json_decref(body);
    } else {
        kg_svc_on_gone(p->x, NULL, NULL);
        kg_svc_reply_json(p->x, 200, body);
    }
    kg_svc_poll_free(p);
}

json_t *kg_svc_worker_body(struct kg_svc_exchange *x, const char *const *known, double *wait_s)
{
    json_t *body = kg_svc_body(x, known);
    if (body == NULL) {
        return NULL;
    }
    const char *worker = json_string_value(json_object_get(body, "worker"));
    const json_t *wait = json_object_get(body, "wait_s");
    *wait_s = json_number_value(wait);
    if (worker == NULL || strlen(worker) > KG_SVC_WORKER_NAME_MAX) {
        json_decref(body);
        kg_svc_reply_error(x, 400, "bad_claim", "worker",
                           "`worker` must be a name of at most %d bytes", KG_SVC_WORKER_NAME_MAX);
        return NULL;
    }
    if (wait != NULL && (!json_is_number(wait) || !(*wait_s >= 0 && *wait_s <= 60))) {
        json_decref(body);
        kg_svc_reply_error(x, 400, "bad_wait", "wait_s", "`wait_s` must be a number from 0 to 60");
        return NULL;
    }
    return body;
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
            json_array_append_new(lost, json_pack("{s:O, s:O}", "id", json_object_get(v, "id"),
                                                  "fence", json_object_get(v, "fence")));
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
        kg_svc_poll_new(o->api, o->x, o->body, o->wait_s);
    }
    free(o);
}

static bool are_claims(const json_t *body)
{
    const json_t *claims = json_object_get(body, "claims");
    size_t i;
    json_t *v;
    if (!json_is_array(claims) || json_array_size(claims) > HELD_MAX) {
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
    json_t *body = kg_svc_worker_body(x, members, &wait);
    if (body == NULL) {
        return;
    }
    if (!are_claims(body)) {
        json_decref(body);
        kg_svc_reply_error(x, 400, "bad_claim", "claims", "`claims` must list id, claim and fence");
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

void kg_svc_tell_worker(struct kg_svc_api *a, const struct kg_svc_job *job)
{
    for (struct kg_svc_poll *p = a->polls, *next; p != NULL; p = next) {
        next = p->next;
        if (!p->is_claim && strcmp(p->worker, job->worker) == 0) {
            kg_svc_poll_answer(p, json_pack("{s:[{s:s, s:I}]}", "lost", "id", job->id, "fence",
                                            (json_int_t)job->fence));
        }
    }
}

void kg_svc_polls_look(struct kg_svc_api *a)
{
    bool fresh = a->fresh;
    a->fresh = false;
    for (struct kg_svc_poll *p = fresh ? a->polls : NULL, *next; p != NULL; p = next) {
        next = p->next;
        if (!p->is_claim) {
            continue;
        }
        if (p->posted) { /* it may have looked before the job came */
            p->again = true;
        } else if (kg_svc_is_there(p->x)) {
            kg_svc_claim_again(p);
        } else { /* a job that it claimed would wait for nobody */
            kg_svc_poll_answer(p, json_pack("{s:[]}", "claims"));
        }
    }
}

void kg_svc_polls_end(struct kg_svc_api *a, const char *worker, bool claims_only)
{
    for (struct kg_svc_poll *p = a->polls; p != NULL; p = p->next) {
        if (strcmp(p->worker, worker) == 0 && (p->is_claim || !claims_only)) {
            p->until_ms = 0;
        }
    }
    kg_svc_polls_tick(a);
}

/* Those whose time is up get an empty answer. */
void kg_svc_polls_tick(struct kg_svc_api *a)
{
    int64_t now = kg_svc_now_ms();
    for (struct kg_svc_poll *p = a->polls, *next; p != NULL; p = next) {
        next = p->next;
        if (!p->posted && (now >= p->until_ms || a->stopping)) {
            answer_empty(p);
        }
    }
}
