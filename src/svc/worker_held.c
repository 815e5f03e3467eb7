/* What a worker holds, from its result to the answer that the service has heard. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "svc/worker_private.h"

static void send_answer(struct kg_svc_claimed *c);

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
    json_decref(c->answer);
    free(c);
}

static void on_answered(void *ctx, int status, const json_t *answer)
{
    struct kg_svc_claimed *c = ctx;
    struct kg_svc_worker *w = c->worker;
    (void)answer;
    if (status == 0 || status == 429 || status >= 500) {
        kg_svc_worker_later(c->retry, KG_SVC_AGAIN_MS);
        return;
    }
    if (status != 200 && status != 409) {
        kg_log(KG_LOG_ERROR, "the service refused an answer with status %d", status);
    }
    kg_svc_worker_drop(c);
    kg_svc_worker_end_if_done(w);
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    send_answer(arg);
}

static void send_answer(struct kg_svc_claimed *c)
{
    kg_svc_client_post(c->worker->answers, "/v1/worker/finish", json_incref(c->answer), on_answered,
                       c);
}

/* The attempt has ended: its slot is free, and the service is told until it has heard. */
void kg_svc_worker_end_attempt(struct kg_svc_claimed *c, const char *outcome, json_t *more)
{
    struct kg_svc_worker *w = c->worker;
    if (c->pool != NULL) {
        c->pool->running--;
        c->pool = NULL;
    }
    w->slot[c->slot].busy = false;
    if (c->lost) {
        json_decref(more);
        kg_svc_worker_drop(c);
        kg_svc_worker_end_if_done(w);
    } else {
        c->answer = json_pack("{s:s, s:s, s:I, s:s}", "id", c->id, "claim", c->claim, "fence",
                              (json_int_t)c->fence, "outcome", outcome);
        json_object_update(c->answer, more);
        json_decref(more);
        c->retry = evtimer_new(w->base, on_retry, c);
        KG_ASSERT(c->retry != NULL);
        send_answer(c);
    }
    kg_svc_worker_claim(w);
}

json_t *kg_svc_worker_error(const char *code, const char *blame, const char *message)
{
    return json_pack("{s:s, s:s, s:o}", "error", code, "blame", blame, "message",
                     kg_json_text(message, strlen(message)));
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

void kg_svc_worker_result(struct kg_svc_pool *p, const struct kgym_result *r,
                          const struct kgym_error *err)
{
    char blame[16];
    for (struct kg_svc_claimed *c = p->worker->held, *next; c != NULL; c = next) {
        next = c->next; /* the end of an attempt may free c, and no other */
        if (c->pool != p || (r != NULL && c->task != r->id)) {
            continue;
        }
        if (r == NULL) {
            kg_svc_worker_end_attempt(
                c, "failed", kg_svc_worker_error(code_name(err->code), "gym", err->message));
        } else {
            read_blame(r, blame);
            kg_svc_worker_end_attempt(c, passes(r->error, blame) ? "failed" : "finished",
                                      result_json(r, blame));
            return;
        }
    }
}
