/* POST /v1/worker/finish: how an attempt ended. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "svc/api_private.h"

struct finish_op {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    json_t *body, *record;                 /* record: parsed; NULL: none */
    const char *outcome, *device, *reason; /* device: that is put aside; NULL: none */
    char stage[32];                        /* of the record */
    double speedup;
};

static const char *text(const json_t *body, const char *name)
{
    return json_string_value(json_object_get(body, name));
}

static enum kg_code run(struct kg_svc_op *op, struct kg_svc_store *store,
                        struct kg_svc_segments *segments, struct kg_err *err)
{
    struct finish_op *o = (struct finish_op *)op;
    const json_t *b = o->body, *record = json_object_get(b, "record");
    struct kg_svc_place place;
    struct kg_svc_end e = {.id = text(b, "id"),
                           .claim = text(b, "claim"),
                           .fence = json_integer_value(json_object_get(b, "fence")),
                           .now_ms = kg_svc_now_ms(),
                           .verdict = text(b, "verdict"),
                           .reason = text(b, "reason"),
                           .error = text(b, "error"),
                           .blame = text(b, "blame"),
                           .message = text(b, "message"),
                           .stage = o->stage,
                           .speedup = o->speedup,
                           .replay = json_is_string(json_object_get(o->record, "replay")),
                           .last = json_is_true(json_object_get(b, "last"))};
    if (strcmp(o->outcome, "handed_back") == 0) {
        return store->kind->give_back(store, &e, err);
    }
    if (json_is_string(record)) {
        /* First, since whoever may claim could else fill the disk with what no claim stands for. */
        if (store->kind->holds(store, e.id, e.claim, e.fence, err) != KG_OK ||
            kg_svc_segments_append(segments, json_string_value(record), json_string_length(record),
                                   &place, err) != KG_OK) {
            return err->code;
        }
        e.record = &place;
    }
    if (strcmp(o->outcome, "failed") != 0) {
        return store->kind->finish(store, &e, err);
    }
    enum kg_code code = store->kind->fail(store, &e, err);
    return code == KG_OK && o->device != NULL ? kg_svc_put_aside(store, o->device, o->reason, err)
                                              : code;
}

static void done(struct kg_svc_op *op)
{
    struct finish_op *o = (struct finish_op *)op;
    if (op->err.code == KG_E_NOT_FOUND) {
        kg_svc_reply_error(o->x, 409, "claim_ended", "", "%s", op->err.message);
    } else if (op->err.code != KG_OK) {
        kg_svc_answer_error(o->x, &op->err, "");
    } else {
        if (o->device != NULL) {
            kg_svc_notices_read(o->api);
        }
        kg_svc_reply_json(o->x, 200, json_pack("{s:b}", "accepted", 1));
        o->api->fresh = o->api->fresh || strcmp(o->outcome, "finished") != 0;
        kg_svc_ended(o->api, text(o->body, "id"));
        if (strcmp(o->outcome, "finished") == 0) {
            kg_svc_meters_record(o->api, o->record);
        }
    }
    json_decref(o->record);
    json_decref(o->body);
    free(o);
}

/* What lists and counts show of a record. Only a time that was measured by the gym is a speed: a
 * hack may have been timed as well, so its speed is left out below. */
static void look_into(const json_t *record, char stage[32], double *speedup)
{
    const json_t *timing = json_object_get(record, "timing");
    const char *status = text(timing, "status"), *entered = text(record, "stage");
    double ratio = json_number_value(json_object_get(json_object_get(record, "speedup"), "ratio"));
    bool measured = status != NULL && strcmp(status, "measured") == 0 &&
                    !json_is_object(json_object_get(timing, "claims"));
    snprintf(stage, 32, "%s", entered != NULL ? entered : "");
    *speedup = measured && isfinite(ratio) && ratio > 0 ? ratio : 0;
}

/* Members that answers repeat have the types that openapi.json promises. */
static bool is_shaped(const json_t *record)
{
    static const char *const texts[] = {"verdict", "reason", "stage"};
    const json_t *rewards = json_object_get(record, "rewards");
    bool ok = rewards == NULL || json_is_null(rewards) || json_is_object(rewards);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const json_t *v = json_object_get(record, texts[i]);
        ok = ok && (v == NULL || json_is_null(v) || json_is_string(v));
    }
    return ok;
}

/* A record is stored, and given out, as it is: it must be one JSON object in one line. NULL: it is
 * none. */
static json_t *parse_record(const json_t *record)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    const char *t = json_string_value(record);
    size_t n = json_string_length(record);
    if (t == NULL || memchr(t, '\n', n) != NULL ||
        kg_json_parse(t, n, "record", &j, &err) != KG_OK) {
        return NULL;
    }
    if (!json_is_object(j) || !is_shaped(j)) {
        json_decref(j);
        return NULL;
    }
    return j;
}

/* Names of verdicts and of errors are labels of /metrics, too. NULL is none. */
static bool is_word(const char *text)
{
    size_t n = text != NULL ? strspn(text, "abcdefghijklmnopqrstuvwxyz_") : 1;
    return n > 0 && n <= 40 && (text == NULL || text[n] == '\0');
}

static bool is_outcome(const char *outcome)
{
    return outcome != NULL && (strcmp(outcome, "finished") == 0 || strcmp(outcome, "failed") == 0 ||
                               strcmp(outcome, "handed_back") == 0);
}

/* Lists show them, so they have a bound. */
static bool are_texts(const json_t *body)
{
    static const struct {
        const char *name;
        size_t most;
    } texts[] = {
        {"verdict", 40}, {"reason", 200}, {"error", 40}, {"blame", 40}, {"message", 16384}};
    bool ok = true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const json_t *v = json_object_get(body, texts[i].name);
        ok = ok && (v == NULL || json_is_null(v) ||
                    (json_is_string(v) && json_string_length(v) <= texts[i].most));
    }
    return ok;
}

/* Only an attempt that failed may be the last one of its job. */
static bool is_last(const json_t *body)
{
    const json_t *last = json_object_get(body, "last");
    return last == NULL || (json_is_boolean(last) && strcmp(text(body, "outcome"), "failed") == 0);
}

/* A worker puts aside devices of its own, and only when an attempt there has failed. */
static bool is_aside(struct kg_svc_api *a, const json_t *body, const json_t *aside)
{
    const char *device = text(aside, "device");
    return strcmp(text(body, "outcome"), "failed") == 0 && device != NULL &&
           text(aside, "reason") != NULL && kg_svc_has_device(a, text(body, "id"), device);
}

void kg_svc_post_finish(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const members[] = {"id",      "claim",  "fence", "outcome", "record",
                                          "verdict", "reason", "error", "blame",   "message",
                                          "aside",   "last",   NULL};
    json_t *body = kg_svc_body(x, members);
    if (body == NULL) {
        return;
    }
    const char *outcome = text(body, "outcome");
    const json_t *record = json_object_get(body, "record");
    char stage[32] = "";
    double speedup = 0;
    const json_t *aside = json_object_get(body, "aside");
    bool needs = outcome != NULL && strcmp(outcome, "finished") == 0;
    if (!is_outcome(outcome) || text(body, "id") == NULL || text(body, "claim") == NULL ||
        !json_is_integer(json_object_get(body, "fence")) || !are_texts(body) ||
        !is_word(text(body, "verdict")) || !is_word(text(body, "error")) || !is_last(body)) {
        json_decref(body);
        kg_svc_reply_error(x, 400, "bad_finish", "outcome",
                           "`id`, `claim`, `fence` and `outcome` (finished, failed, handed_back) "
                           "are needed; `verdict` and `error` are names; `last` is a boolean of "
                           "one that failed");
        return;
    }
    json_t *parsed = parse_record(record);
    if ((record != NULL || needs) && parsed == NULL) {
        json_decref(body);
        kg_svc_reply_error(x, 400, "bad_record", "record",
                           "`record` must be a text: one JSON object in one line");
        return;
    }
    look_into(parsed, stage, &speedup);
    if (aside != NULL && !is_aside(ctx, body, aside)) {
        json_decref(parsed);
        json_decref(body);
        kg_svc_reply_error(x, 400, "bad_aside", "aside",
                           "`aside` must have `device`, one of this worker's, and `reason`");
        return;
    }
    struct finish_op *o = calloc(1, sizeof *o);
    KG_ASSERT(o != NULL);
    const char *verdict = text(body, "verdict");
    bool ok = verdict != NULL && strcmp(verdict, "ok") == 0;
    *o = (struct finish_op){.op = {.run = run, .done = done},
                            .api = ctx,
                            .x = x,
                            .body = body,
                            .record = parsed,
                            .outcome = outcome,
                            .device = text(aside, "device"),
                            .reason = text(aside, "reason"),
                            .speedup = ok ? speedup : 0};
    memcpy(o->stage, stage, sizeof o->stage);
    kg_svc_writer_post(o->api->writer, &o->op);
}
