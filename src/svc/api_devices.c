/* Workers and their devices: what they say of themselves, and who is put aside.
 * Both are notices in the store, so any api process answers for all workers. Each reads them once a
 * second. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_worker.h"

enum {
    FRESH_MS = 1000,
    GONE_MS = 20000,              /* a worker says that it is there each 5 s */
    WORKER_KEEP_MS = 3600 * 1000, /* one that is gone is listed for so long */
    HOLDS_MAX = 512,
    SLOTS_MAX = 512,
    STATE_BYTES = 256 << 10,
    REASON_MAX = 400
};
#define FOREVER_MS ((int64_t)100 * 365 * 86400 * 1000)

/* --- what is known --- */

static bool add_notice(void *ctx, const struct kg_svc_notice *n)
{
    json_t *text = json_loads(n->text, 0, NULL);
    if (json_is_object(text)) {
        json_object_set(ctx, n->name, text);
    }
    json_decref(text);
    return true;
}

static json_t *read_notices(struct kg_svc_api *a, const char *kind, json_t *before)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *all = json_object();
    if (a->store->kind->notices(a->store, kind, kg_svc_now_ms(), add_notice, all, &err) != KG_OK) {
        json_decref(all);
        return before != NULL ? before : json_object();
    }
    json_decref(before);
    return all;
}

void kg_svc_notices_read(struct kg_svc_api *a)
{
    json_t *before = json_incref(a->asides);
    a->notices_ms = kg_svc_now_ms();
    a->workers = read_notices(a, "worker", a->workers);
    a->asides = read_notices(a, "aside", a->asides);
    a->fresh = a->fresh || (before != NULL && !json_equal(before, a->asides));
    json_decref(before);
}

void kg_svc_notices_tick(struct kg_svc_api *a)
{
    if (kg_svc_now_ms() - a->notices_ms >= FRESH_MS) {
        kg_svc_notices_read(a);
    }
}

void kg_svc_notices_close(struct kg_svc_api *a)
{
    json_decref(a->workers);
    json_decref(a->asides);
}

bool kg_svc_is_aside(const struct kg_svc_api *a, const char *device)
{
    return device[0] != '\0' && json_object_get(a->asides, device) != NULL;
}

bool kg_svc_worker_is_there(const json_t *worker, int64_t now_ms)
{
    return now_ms - json_integer_value(json_object_get(worker, "seen_ms")) < GONE_MS;
}

/* --- a worker says what it has --- */

static bool is_name(const char *s, size_t most)
{
    if (s == NULL || s[0] == '\0' || strlen(s) > most) {
        return false;
    }
    for (; *s != '\0'; s++) {
        if (*s < 0x20 || *s > 0x7e || strchr("\"\\<>&", *s) != NULL) {
            return false;
        }
    }
    return true;
}

static bool is_list_of_ids(const json_t *list)
{
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v)
    {
        if (json_string_length(v) != KG_ULID_LEN - 1 || !is_name(json_string_value(v), 40)) {
            return false;
        }
    }
    return list == NULL || (json_is_array(list) && json_array_size(list) <= HOLDS_MAX);
}

/* A device as it is kept. NULL: it is none. */
static json_t *device_of(const json_t *v)
{
    const char *words[KG_SVC_WORDS_MAX];
    struct kg_svc_offer o;
    const char *name = json_string_value(json_object_get(v, "name"));
    const json_t *slots = json_object_get(v, "slots");
    json_t *holds = json_object_get(v, "holds");
    if (!is_name(name, KG_SVC_WORKER_NAME_MAX) || !kg_svc_offer_read(v, words, &o) ||
        !json_is_integer(slots) || json_integer_value(slots) < 1 ||
        json_integer_value(slots) > SLOTS_MAX || !is_list_of_ids(holds)) {
        return NULL;
    }
    json_t *none = holds != NULL ? NULL : json_array();
    json_t *out =
        json_pack("{s:s, s:O, s:I, s:i, s:O, s:O}", "name", name, "words",
                  json_object_get(v, "words"), "memory_mb", (json_int_t)o.memory_mb, "isolation",
                  o.isolation, "slots", slots, "holds", holds != NULL ? holds : none);
    json_decref(none);
    return out;
}

struct notice_op {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    struct kg_buf name, text; /* text empty: the notice is forgotten */
    const char *kind;
    int64_t until_ms;
    json_t *answer;
    bool must; /* 404 where there is none to forget */
};

static enum kg_code run_notice(struct kg_svc_op *op, struct kg_svc_store *store,
                               struct kg_svc_segments *segments, struct kg_err *err)
{
    struct notice_op *o = (struct notice_op *)op;
    const struct kg_svc_notice n = {o->kind, o->name.data, o->text.len > 0 ? o->text.data : NULL,
                                    o->until_ms};
    (void)segments;
    return store->kind->notice(store, &n, kg_svc_now_ms(), err);
}

static void notice_done(struct kg_svc_op *op)
{
    struct notice_op *o = (struct notice_op *)op;
    bool unknown = op->err.code == KG_E_NOT_FOUND && !o->must;
    if (op->err.code == KG_OK || unknown) {
        if (o->must) { /* a device works again */
            kg_svc_notices_read(o->api);
        }
        kg_svc_reply_json(o->x, 200, json_incref(o->answer));
    } else {
        kg_svc_answer_error(o->x, &op->err, "");
    }
    json_decref(o->answer);
    kg_buf_deinit(&o->name);
    kg_buf_deinit(&o->text);
    free(o);
}

/* text NULL: forgets it. Takes answer. */
static void post_notice(struct kg_svc_api *a, struct kg_svc_exchange *x, const char *kind,
                        const char *name, const json_t *text, json_t *answer, bool must)
{
    struct notice_op *o = calloc(1, sizeof *o);
    KG_ASSERT(o != NULL);
    *o = (struct notice_op){.op = {.run = run_notice, .done = notice_done},
                            .api = a,
                            .x = x,
                            .kind = kind,
                            .until_ms = kg_svc_now_ms() + WORKER_KEEP_MS,
                            .answer = answer,
                            .must = must};
    kg_buf_init(&o->name, 1024);
    kg_buf_init(&o->text, STATE_BYTES);
    kg_buf_adds(&o->name, name);
    if (text != NULL) {
        kg_json_dump(text, &o->text);
    }
    kg_svc_writer_post(a->writer, &o->op);
}

void kg_svc_post_hello(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const members[] = {"worker", "host", "devices", "changed", NULL};
    struct kg_svc_api *a = ctx;
    double wait;
    size_t i;
    json_t *v, *body = kg_svc_worker_body(x, members, &wait);
    if (body == NULL) {
        return;
    }
    const char *worker = json_string_value(json_object_get(body, "worker"));
    const char *host = json_string_value(json_object_get(body, "host"));
    const json_t *devices = json_object_get(body, "devices");
    json_t *kept = json_array();
    bool ok = is_name(worker, KG_SVC_WORKER_NAME_MAX) && is_name(host, KG_SVC_WORKER_NAME_MAX) &&
              json_array_size(devices) > 0 && json_array_size(devices) <= KG_SVC_DEVICES_MAX;
    json_array_foreach(devices, i, v)
    {
        json_t *d = ok ? device_of(v) : NULL;
        ok = ok && d != NULL;
        json_array_append_new(kept, d != NULL ? d : json_null());
    }
    if (ok) {
        json_t *state = json_pack("{s:s, s:O, s:I}", "host", host, "devices", kept, "seen_ms",
                                  (json_int_t)kg_svc_now_ms());
        if (json_is_true(json_object_get(body, "changed"))) { /* its claim has what it was */
            kg_svc_polls_end(a, worker, true);
        }
        post_notice(a, x, "worker", worker, state,
                    json_pack("{s:I}", "term_ms", (json_int_t)a->o->term_ms), false);
        json_decref(state);
    } else {
        kg_svc_reply_error(x, 400, "bad_worker", "devices",
                           "`worker`, `host` and `devices` (name, words, slots) are needed");
    }
    json_decref(kept);
    json_decref(body);
}

void kg_svc_post_leave(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const members[] = {"worker", NULL};
    struct kg_svc_api *a = ctx;
    double wait;
    json_t *body = kg_svc_worker_body(x, members, &wait);
    if (body != NULL) {
        const char *worker = json_string_value(json_object_get(body, "worker"));
        kg_svc_polls_end(a, worker, false);
        post_notice(a, x, "worker", worker, NULL, json_pack("{s:b}", "left", 1), false);
        json_decref(body);
    }
}

/* --- devices that are put aside --- */

bool kg_svc_has_device(struct kg_svc_api *a, const char *id, const char *device)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_job job;
    size_t i;
    json_t *v;
    bool has = false;
    kg_svc_job_init(&job);
    kg_svc_notices_read(a);
    if (a->store->kind->get(a->store, id, false, &job, &err) == KG_OK) {
        json_array_foreach(json_object_get(json_object_get(a->workers, job.worker), "devices"), i,
                           v)
        {
            has = has || strcmp(json_string_value(json_object_get(v, "name")), device) == 0;
        }
    }
    kg_svc_job_deinit(&job);
    return has;
}

enum kg_code kg_svc_put_aside(struct kg_svc_store *store, const char *device, const char *reason,
                              struct kg_err *err)
{
    struct kg_buf text;
    int64_t now = kg_svc_now_ms();
    kg_buf_init(&text, 4096);
    size_t n = strlen(reason) < REASON_MAX ? strlen(reason) : REASON_MAX;
    json_t *why =
        json_pack("{s:o, s:I}", "reason", kg_json_text(reason, n), "since_ms", (json_int_t)now);
    kg_json_dump(why, &text);
    json_decref(why);
    const struct kg_svc_notice notice = {"aside", device, text.data, now + FOREVER_MS};
    enum kg_code code = store->kind->notice(store, &notice, now, err);
    kg_buf_deinit(&text);
    return code;
}

void kg_svc_post_enable(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const members[] = {"device", NULL};
    json_t *body = kg_svc_body(x, members);
    bool ok = true;
    if (body == NULL) {
        return;
    }
    const char *device = kg_svc_body_text(x, body, "device", &ok);
    if (ok && !is_name(device, KG_SVC_WORKER_NAME_MAX)) {
        kg_svc_reply_error(x, 400, "bad_device", "device",
                           "`device` must be a name of GET /v1/devices");
    } else if (ok) {
        post_notice(ctx, x, "aside", device, NULL,
                    json_pack("{s:s, s:b}", "device", device, "enabled", 1), true);
    }
    json_decref(body);
}

/* --- GET /v1/devices --- */

static json_t *time_of(const json_t *j, const char *name)
{
    return json_real((double)json_integer_value(json_object_get(j, name)) / 1000);
}

static json_t *device_json(const struct kg_svc_api *a, const char *worker, const json_t *w,
                           const json_t *d, int64_t now_ms)
{
    json_t *out = json_copy((json_t *)(uintptr_t)d);
    const char *name = json_string_value(json_object_get(d, "name"));
    const json_t *aside = json_object_get(a->asides, name);
    const char *state = aside != NULL                                      ? "aside"
                        : !kg_svc_worker_is_there(w, now_ms)               ? "gone"
                        : json_array_size(json_object_get(d, "holds")) > 0 ? "working"
                                                                           : "idle";
    json_object_set_new(out, "state", json_string(state));
    json_object_set_new(out, "worker", json_string(worker));
    json_object_set(out, "host", json_object_get(w, "host"));
    json_object_set_new(out, "seen", time_of(w, "seen_ms"));
    if (aside != NULL) {
        json_object_set_new(out, "aside",
                            json_pack("{s:O, s:o}", "reason", json_object_get(aside, "reason"),
                                      "since", time_of(aside, "since_ms")));
    }
    return out;
}

void kg_svc_get_devices(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    json_t *out = json_array(), *w, *d;
    int64_t now = kg_svc_now_ms();
    const char *worker;
    size_t i;
    kg_svc_notices_read(a);
    json_object_foreach(a->workers, worker, w)
    {
        json_array_foreach(json_object_get(w, "devices"), i, d)
        {
            json_array_append_new(out, device_json(a, worker, w, d, now));
        }
    }
    kg_svc_reply_json(x, 200, json_pack("{s:o}", "devices", out));
}
