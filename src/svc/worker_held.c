/* What a worker holds, from its result to the answer that the service has heard. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "svc/worker_private.h"

enum { CANARIES = 2 };

static void send_answer(struct kg_svc_claimed *c);
static void start_canary(struct kg_svc_claimed *c);

void kg_svc_worker_later(struct event *e, int ms)
{
    const struct timeval t = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    evtimer_add(e, &t);
}

void kg_svc_worker_drop(struct kg_svc_claimed *c)
{
    *c->link = c->next;
    if (c->next != NULL) {
        c->next->link = c->link;
    }
    if (c->retry != NULL) {
        event_free(c->retry);
    }
    kg_svc_worker_leave_slot(c);
    c->worker->unheard -= c->answer != NULL;
    json_decref(c->answer);
    json_decref(c->failed);
    free(c);
}

/* The service will not take this record. Without an answer the claim would run out, and nobody
 * would learn why: the attempt fails for that reason, which is told once. It is the job's last one
 * where the record itself was refused, since another judging would end with the same. False: there
 * is no record. */
static bool answer_without_record(struct kg_svc_claimed *c, int status)
{
    char message[80];
    bool finished =
        strcmp(json_string_value(json_object_get(c->answer, "outcome")), "finished") == 0;
    if (status == 401 || status == 403 || json_object_del(c->answer, "record") != 0) {
        return false;
    }
    json_object_del(c->answer, "verdict");
    json_object_del(c->answer, "reason");
    snprintf(message, sizeof message, "the service refused the record with status %d", status);
    json_t *error = kg_svc_worker_error(status == 413 ? "limit" : "gym", "gym", message);
    json_object_update(c->answer, error);
    json_decref(error);
    json_object_set_new(c->answer, "outcome", json_string("failed"));
    if (finished && (status == 400 || status == 413)) {
        json_object_set_new(c->answer, "last", json_true());
    }
    send_answer(c);
    return true;
}

static void on_answered(void *ctx, int status, const json_t *answer)
{
    struct kg_svc_claimed *c = ctx;
    struct kg_svc_worker *w = c->worker;
    (void)answer;
    if (status == 0 || status == 429 || status >= 500) {
        kg_svc_worker_later(c->retry, kg_svc_worker_pause(w));
        return;
    }
    if (status != 200 && status != 409) {
        kg_log(KG_LOG_ERROR, "the service refused an answer with status %d", status);
        if (answer_without_record(c, status)) {
            return;
        }
    }
    bool aside = json_object_get(c->answer, "aside") != NULL;
    w->slot[c->slot].busy = w->slot[c->slot].busy && !aside;
    kg_svc_worker_drop(c);
    kg_svc_worker_go_on(w);
    kg_svc_worker_end_if_done(w);
}

/* An answer again, or the next canary. */
static void on_retry(evutil_socket_t fd, short what, void *arg)
{
    struct kg_svc_claimed *c = arg;
    (void)fd;
    (void)what;
    if (c->answer != NULL) {
        send_answer(c);
    } else {
        start_canary(c);
    }
}

static struct event *retry_of(struct kg_svc_claimed *c)
{
    if (c->retry == NULL) {
        c->retry = evtimer_new(c->worker->base, on_retry, c);
        KG_ASSERT(c->retry != NULL);
    }
    return c->retry;
}

/* On the connection that is least busy: answers under way together share one sync of the store. */
static void send_answer(struct kg_svc_claimed *c)
{
    struct kg_svc_client *const *link = c->worker->answers, *least = link[0];
    for (int i = 1; i < KG_SVC_WORKER_LINKS; i++) {
        if (kg_svc_client_open_calls(link[i]) < kg_svc_client_open_calls(least)) {
            least = link[i];
        }
    }
    kg_svc_client_post(least, "/v1/worker/finish", json_incref(c->answer), on_answered, c);
}

static void leave_pool(struct kg_svc_claimed *c)
{
    if (c->pool != NULL) {
        c->pool->running--;
        c->pool = NULL;
    }
}

/* The attempt has ended: its slot is free, and the service is told until it has heard. */
void kg_svc_worker_end_attempt(struct kg_svc_claimed *c, const char *outcome, json_t *more)
{
    struct kg_svc_worker *w = c->worker;
    bool aside = json_object_get(more, "aside") != NULL;
    leave_pool(c);
    if (c->waiting == NULL) {
        w->slot[c->slot].busy = aside && !c->lost; /* until the service knows */
    }
    kg_svc_worker_leave_slot(c);
    if (strcmp(outcome, "finished") == 0) {
        kg_svc_worker_took(c);
    }
    w->dry = false;
    if (c->lost) {
        json_decref(more);
        kg_svc_worker_drop(c);
        kg_svc_worker_end_if_done(w);
    } else {
        c->answer = json_pack("{s:s, s:s, s:I, s:s}", "id", c->id, "claim", c->claim, "fence",
                              (json_int_t)c->fence, "outcome", outcome);
        json_object_update(c->answer, more);
        json_decref(more);
        w->unheard++;
        evtimer_del(retry_of(c)); /* of a canary: it would send a second answer */
        send_answer(c);
    }
    kg_svc_worker_later(w->go_on, 0); /* the pool that told of it is done with it then */
}

json_t *kg_svc_worker_error(const char *code, const char *blame, const char *message)
{
    return json_pack("{s:s, s:s, s:o}", "error", code, "blame", blame, "message",
                     kg_json_text(message, strlen(message)));
}

/* --- canaries --- */

void kg_svc_worker_fail_attempt(struct kg_svc_claimed *c, json_t *more)
{
    const struct kg_svc_worker *w = c->worker;
    const struct kg_svc_device *d = &w->device[w->slot[c->slot].device];
    if (c->lost || w->stopping || kg_svc_device_canary(d, c->torch) == NULL) {
        kg_svc_worker_end_attempt(c, "failed", more);
        return;
    }
    leave_pool(c);
    c->canaries = 0;
    c->failed = more;
    kg_svc_worker_later(retry_of(c), 0); /* the pool that told of it is done with it then */
}

/* A canary has ended. message: why it failed; NULL: it has passed. */
static void count_canary(struct kg_svc_claimed *c, const char *message)
{
    const struct kg_svc_worker *w = c->worker;
    const struct kg_svc_device *d = &w->device[w->slot[c->slot].device];
    json_t *more = json_incref(c->failed);
    leave_pool(c);
    if (message != NULL && ++c->canaries < CANARIES && !c->lost) {
        json_decref(more);
        kg_svc_worker_later(retry_of(c), 0);
        return;
    }
    if (message != NULL) {
        kg_log(KG_LOG_ERROR, "%s is put aside: a known good candidate failed there twice", d->name);
        json_object_set_new(more, "aside",
                            json_pack("{s:s, s:o}", "device", d->name, "reason",
                                      kg_json_text(message, strlen(message))));
    }
    kg_svc_worker_end_attempt(c, "failed", more);
}

static void start_canary(struct kg_svc_claimed *c)
{
    struct kg_svc_worker *w = c->worker;
    struct kg_err err = KG_ERR_INIT;
    const json_t *canary = kg_svc_device_canary(&w->device[w->slot[c->slot].device], c->torch);
    json_t *task = json_pack("{s:O, s:O, s:O, s:b}", "problem", json_object_get(canary, "problem"),
                             "text", json_object_get(canary, "text"), "stop_after",
                             json_object_get(canary, "stop_after"), "source", 1);
    json_t *plain = json_pack("{s:[]}", "set");
    struct kg_svc_pool *p = kg_svc_pool_for(w, c->slot, plain, &err);
    if (p != NULL && kg_svc_pool_submit(p, task, 0, &c->task, &err) == KG_OK) {
        c->pool = p;
    } else {
        count_canary(c, err.message);
    }
    json_decref(task);
    json_decref(plain);
}

/* --- results --- */

static const char *code_name(enum kgym_code code)
{
    static const char *const names[] = {"ok",  "usage",     "input",     "not_found",
                                        "io",  "limit",     "host",      "problem",
                                        "gym", "cancelled", "needs_gpu", "full"};
    return (size_t)code < sizeof names / sizeof *names ? names[code] : "gym";
}

/* Whose fault the record says its error is: "host", "gym", "problem", "candidate"; "": no error. */
static void read_blame(const struct kgym_result *r, char out[16])
{
    struct kg_err ignored = KG_ERR_INIT;
    json_t *record = NULL;
    out[0] = '\0';
    if (r->error != KGYM_OK &&
        kg_json_parse(r->record, r->record_len, "record", &record, &ignored) == KG_OK) {
        const char *blame =
            json_string_value(json_object_get(json_object_get(record, "error"), "blame"));
        snprintf(out, 16, "%s", blame != NULL ? blame : "host");
    }
    json_decref(record);
}

/* May another attempt end otherwise, with no change of what was asked? What a candidate may have
 * brought about is its answer. */
static bool passes(enum kgym_code code, const char *blame)
{
    return strcmp(blame, "candidate") != 0 && strcmp(blame, "problem") != 0 &&
           (code == KGYM_E_GYM || code == KGYM_E_HOST || code == KGYM_E_IO || code == KGYM_E_FULL);
}

static json_t *result_json(const struct kgym_result *r, const char *blame)
{
    json_t *j = json_pack("{s:o}", "record", json_stringn(r->record, r->record_len));
    if (r->verdict != NULL) {
        json_object_set_new(j, "verdict", json_string(r->verdict));
    }
    if (r->reason != NULL) {
        json_object_set_new(j, "reason", json_string(r->reason));
    }
    if (r->error != KGYM_OK) {
        json_t *e =
            kg_svc_worker_error(code_name(r->error), blame, r->message != NULL ? r->message : "");
        json_object_update(j, e);
        json_decref(e);
    }
    return j;
}

/* r NULL: its pool has ended. */
static void take_result(struct kg_svc_claimed *c, const struct kgym_result *r,
                        const struct kgym_error *err)
{
    char blame[16];
    if (c->canaries >= 0) {
        const char *why = r == NULL ? err->message : r->error != KGYM_OK ? r->message : r->verdict;
        bool passed = r != NULL && r->error == KGYM_OK && (r->verdict == NULL || r->correct == 1);
        count_canary(c, passed ? NULL : why != NULL ? why : "it ended without a verdict");
    } else if (r == NULL) {
        kg_svc_worker_fail_attempt(c,
                                   kg_svc_worker_error(code_name(err->code), "gym", err->message));
    } else {
        read_blame(r, blame);
        if (passes(r->error, blame)) {
            kg_svc_worker_fail_attempt(c, result_json(r, blame));
        } else {
            kg_svc_worker_end_attempt(c, "finished", result_json(r, blame));
        }
    }
}

void kg_svc_worker_result(struct kg_svc_pool *p, const struct kgym_result *r,
                          const struct kgym_error *err)
{
    for (struct kg_svc_claimed *c = p->worker->held, *next; c != NULL; c = next) {
        next = c->next; /* the end of an attempt may free c, and no other */
        if (c->pool == p && (r == NULL || c->task == r->id)) {
            take_result(c, r, err);
            if (r != NULL) {
                return;
            }
        }
    }
}
