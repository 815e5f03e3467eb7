/* Workers and nodes that register as KernelGYM's do, and what its operators ask. Such a worker
 * fetches tasks from a Redis of KernelGYM's, so it gets none here: it is listed, and counts as no
 * capacity. Who has registered is kept as notices of the store, so any api process answers. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_kernelgym.h"
#include "svc/kernelgym_metadata.h"
#include "svc/kernelgym_time.h"

/* Kinds of notices, by the name of a worker or of a node. */
#define WORKERS "kernelgym-worker"
#define NODES   "kernelgym-node"
#define DAY_MS  ((int64_t)86400 * 1000)

enum {
    WORD_MOST = 200,   /* bytes of a name */
    NAMES_MOST = 4096, /* workers, and nodes */
    LIVE_MS = 30000,   /* a worker without a heartbeat for three intervals is gone */
    WORKER_DAYS = 7,   /* then it is forgotten */
    OTHER_DAYS = 365,
    ROUNDS = 64 /* another request allocates: it is waited for so many groups */
};

/* --- the notices --- */

static bool add_notice(void *ctx, const struct kg_svc_notice *notice)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *value;
    if (kg_json_parse(notice->text, strlen(notice->text), "notice", &value, &err) == KG_OK) {
        json_object_set_new(ctx, notice->name, value);
    }
    return json_object_size(ctx) < NAMES_MOST;
}

json_t *kg_svc_kernelgym_notices(struct kg_svc_api *a, const char *kind)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *all = json_object();
    if (a->store->kind->notices(a->store, kind, kg_svc_now_ms(), add_notice, all, &err) != KG_OK) {
        json_decref(all);
        return NULL;
    }
    return all;
}

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s != NULL ? s : "";
}

static bool is_live(const json_t *worker)
{
    int64_t seen = json_integer_value(json_object_get(worker, "seen_ms"));
    return !json_is_true(json_object_get(worker, "evicted")) && kg_svc_now_ms() - seen < LIVE_MS;
}

static json_t *shown(const json_t *worker)
{
    int64_t seen = json_integer_value(json_object_get(worker, "seen_ms"));
    return json_pack("{s:s, s:s, s:o, s:s, s:s}", "device", text(worker, "device"), "status",
                     is_live(worker) ? "online" : "offline", "last_heartbeat",
                     kg_kernelgym_time(seen * 1000), "node_id", text(worker, "node_id"), "hostname",
                     text(worker, "hostname"));
}

/* --- changes --- */

struct change {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    const char *kind;                 /* of the notice */
    char name[WORD_MOST + 1], *value; /* value NULL: it goes */
    bool allocates;                   /* a node */
    bool waits;                       /* this round only waits for another allocation */
    int rounds;
    json_t *answer;
};

static void allocate(struct change *c);

static enum kg_code run(struct kg_svc_op *op, struct kg_svc_store *store,
                        struct kg_svc_segments *segments, struct kg_err *err)
{
    struct change *c = (struct change *)op;
    (void)segments;
    if (c->waits) {
        return KG_OK;
    }
    int64_t now = kg_svc_now_ms(), days = strcmp(c->kind, WORKERS) == 0 ? WORKER_DAYS : OTHER_DAYS;
    const struct kg_svc_notice notice = {c->kind, c->name, c->value, now + days * DAY_MS};
    return store->kind->notice(store, &notice, now, err);
}

static void finish(struct change *c, int status)
{
    if (status == 200) {
        kg_svc_reply_json(c->x, 200, json_incref(c->answer));
    } else {
        kg_svc_kernelgym_detail(c->x, status, "the store can't be changed now: ask again", "", "");
    }
    json_decref(c->answer);
    free(c->value);
    free(c);
}

static void done(struct kg_svc_op *op)
{
    struct change *c = (struct change *)op;
    if (c->waits && op->err.code == KG_OK && c->rounds++ < ROUNDS) {
        allocate(c);
        return;
    }
    if (c->allocates && !c->waits) {
        c->api->allocating = false;
    }
    bool gone = c->value == NULL && op->err.code == KG_E_NOT_FOUND;
    finish(c, (op->err.code == KG_OK || gone) && !c->waits ? 200 : 503);
}

static struct change *new_change(struct kg_svc_api *a, struct kg_svc_exchange *x)
{
    struct change *c = calloc(1, sizeof *c);
    KG_ASSERT(c != NULL);
    *c = (struct change){.op = {.run = run, .done = done}, .api = a, .x = x};
    return c;
}

/* Takes value. */
static void change(struct kg_svc_api *a, struct kg_svc_exchange *x, const char *kind,
                   const char *id, json_t *value, json_t *answer)
{
    struct change *c = new_change(a, x);
    c->kind = kind;
    snprintf(c->name, sizeof c->name, "%s", id);
    c->value = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    c->answer = answer;
    json_decref(value);
    kg_svc_writer_post(c->api->writer, &c->op);
}

static json_t *message(const char *id, const char *what)
{
    struct kg_buf b;
    kg_buf_init(&b, 512);
    kg_buf_addf(&b, "Worker %s %s", id, what);
    json_t *j = json_pack("{s:b, s:o}", "success", 1, "message", kg_json_text(b.data, b.len));
    kg_buf_deinit(&b);
    return j;
}

/* A parameter: a name of 1 to WORD_MOST bytes, UTF-8, without a slash. NULL: absent, or answered
 * (*ok is false then). */
static const char *word(struct kg_svc_exchange *x, const char *name, bool needed, bool *ok)
{
    const char *s = kg_svc_query(x, name);
    json_t *valid = s != NULL ? json_string(s) : NULL;
    bool good = s == NULL ? !needed
                          : valid != NULL && strlen(s) <= WORD_MOST && strchr(s, '/') == NULL &&
                                (!needed || s[0] != '\0');
    json_decref(valid);
    if (*ok && !good) {
        char line[120];
        snprintf(line, sizeof line, "query.%s: %s", name,
                 s == NULL ? "is missing" : "must be 1 to 200 bytes of text, without a slash");
        kg_svc_kernelgym_bad(x, line);
        *ok = false;
    }
    return good ? s : NULL;
}

struct asked {
    const char *id, *device, *node, *host; /* "": not given */
};

static bool read_worker(struct kg_svc_exchange *x, bool device, struct asked *out)
{
    bool ok = true;
    const char *id = word(x, "worker_id", true, &ok), *on = word(x, "device", device, &ok);
    const char *node = word(x, "node_id", false, &ok), *host = word(x, "hostname", false, &ok);
    *out = (struct asked){id, on != NULL ? on : "", node != NULL ? node : "",
                          host != NULL ? host : ""};
    return ok;
}

static json_t *worker_state(const struct asked *w, const json_t *old)
{
    const char *node = w->node[0] != '\0' ? w->node : text(old, "node_id");
    const char *host = w->host[0] != '\0' ? w->host : text(old, "hostname");
    const char *device = w->device[0] != '\0' ? w->device : text(old, "device");
    return json_pack("{s:s, s:s, s:s, s:I, s:b}", "device", device, "node_id", node, "hostname",
                     host, "seen_ms", (json_int_t)kg_svc_now_ms(), "evicted", 0);
}

static json_t *workers_or_refuse(struct kg_svc_api *a, struct kg_svc_exchange *x, const char *id)
{
    json_t *all = kg_svc_kernelgym_notices(a, WORKERS);
    if (all == NULL || (json_object_size(all) >= NAMES_MOST && json_object_get(all, id) == NULL)) {
        kg_svc_kernelgym_detail(x, 503, all == NULL ? "the store can't be read now" : "too many",
                                "", "");
        json_decref(all);
        return NULL;
    }
    return all;
}

void kg_svc_kernelgym_register(struct kg_svc_exchange *x, void *ctx)
{
    struct asked w;
    json_t *all = read_worker(x, true, &w) ? workers_or_refuse(ctx, x, w.id) : NULL;
    if (all != NULL) {
        json_t *answer = message(w.id, "registered");
        json_object_set_new(answer, "node_id", json_string(w.node));
        change(ctx, x, WORKERS, w.id, worker_state(&w, NULL), answer);
        json_decref(all);
    }
}

/* Does another live worker of the node hold the device? */
static bool is_held(const json_t *all, const struct asked *w)
{
    const char *id;
    json_t *other;
    json_object_foreach((json_t *)(uintptr_t)all, id, other)
    {
        if (strcmp(id, w->id) != 0 && is_live(other) &&
            strcmp(text(other, "node_id"), w->node) == 0 &&
            strcmp(text(other, "device"), w->device) == 0) {
            return true;
        }
    }
    return false;
}

void kg_svc_kernelgym_heartbeat(struct kg_svc_exchange *x, void *ctx)
{
    struct asked w;
    json_t *all = read_worker(x, false, &w) ? workers_or_refuse(ctx, x, w.id) : NULL;
    if (all == NULL) {
        return;
    }
    const json_t *old = json_object_get(all, w.id);
    bool other = old != NULL && w.device[0] != '\0' && strcmp(w.device, text(old, "device")) != 0;
    if (other || (old == NULL && (w.device[0] == '\0' || is_held(all, &w)))) {
        kg_svc_kernelgym_detail(x, 409, "Worker ", w.id,
                                other ? " is registered with another device"
                                : w.device[0] == '\0'
                                    ? " is not registered"
                                    : " asks for a device that another worker holds");
    } else {
        change(ctx, x, WORKERS, w.id, worker_state(&w, old), message(w.id, "heartbeat received"));
    }
    json_decref(all);
}

void kg_svc_kernelgym_unregister(struct kg_svc_exchange *x, void *ctx)
{
    bool ok = true;
    const char *id = word(x, "worker_id", true, &ok);
    if (ok) {
        change(ctx, x, WORKERS, id, NULL, message(id, "unregistered"));
    }
}

void kg_svc_kernelgym_evict(struct kg_svc_exchange *x, void *ctx)
{
    bool ok = true;
    const char *id = word(x, "worker_id", true, &ok);
    json_t *all = ok ? workers_or_refuse(ctx, x, id) : NULL;
    if (all == NULL) {
        return;
    }
    json_t *old = json_object_get(all, id);
    if (old == NULL) {
        kg_svc_reply_json(x, 200, message(id, "evicted"));
    } else {
        json_object_set_new(old, "evicted", json_true());
        change(ctx, x, WORKERS, id, json_incref(old), message(id, "evicted"));
    }
    json_decref(all);
}

/* --- nodes --- */

/* The id that the host has, or "node-N" with the next N. */
static void node_of(const json_t *all, const char *host, char out[WORD_MOST + 1])
{
    long most = 0;
    const char *id;
    json_t *owner;
    json_object_foreach((json_t *)(uintptr_t)all, id, owner)
    {
        const char *rest = strncmp(id, "node-", 5) == 0 ? id + 5 : "";
        size_t digits = strspn(rest, "0123456789"); /* node-1-rack is a name like any other */
        long n = digits <= 9 && rest[digits] == '\0' ? strtol(rest, NULL, 10) : 0;
        most = n > most ? n : most;
        if (strcmp(json_string_value(owner), host) == 0) {
            snprintf(out, WORD_MOST + 1, "%s", id);
            return;
        }
    }
    snprintf(out, WORD_MOST + 1, "node-%ld", most + 1);
}

/* One allocation at a time: what the one before has chosen is in the store then. Services that
 * share a store and are asked by new hosts in the same moment may give both one number. */
static void allocate(struct change *c)
{
    struct kg_svc_api *a = c->api;
    const char *host = kg_svc_query(c->x, "hostname"), *name = kg_svc_query(c->x, "node_name");
    char own[WORD_MOST + 1];
    c->waits = a->allocating;
    if (c->waits) {
        kg_svc_writer_post(c->api->writer, &c->op);
        return;
    }
    json_t *all = kg_svc_kernelgym_notices(a, NODES);
    if (all == NULL || json_object_size(all) >= NAMES_MOST) {
        finish(c, 503);
        json_decref(all);
        return;
    }
    node_of(all, host, own);
    const char *id = name != NULL && name[0] != '\0' ? name : own;
    const char *owner = json_string_value(json_object_get(all, id));
    if (owner != NULL && strcmp(owner, host) != 0) {
        kg_svc_kernelgym_detail(c->x, 409, "node ", id, " belongs to another host");
        free(c);
    } else {
        json_t *value = json_string(host);
        c->kind = NODES;
        snprintf(c->name, sizeof c->name, "%s", id);
        c->value = json_dumps(value, JSON_ENCODE_ANY);
        c->answer = json_pack("{s:s, s:s}", "node_id", id, "hostname", host);
        json_decref(value);
        a->allocating = true;
        kg_svc_writer_post(c->api->writer, &c->op);
    }
    json_decref(all);
}

void kg_svc_kernelgym_allocate(struct kg_svc_exchange *x, void *ctx)
{
    bool ok = true;
    (void)word(x, "hostname", true, &ok);
    (void)word(x, "node_name", false, &ok);
    if (ok) {
        struct change *c = new_change(ctx, x);
        c->allocates = true;
        allocate(c);
    }
}

/* --- what is listed --- */

/* wrapped: as a member of an answer. */
static void show_workers(struct kg_svc_exchange *x, struct kg_svc_api *a, bool wrapped)
{
    json_t *all = kg_svc_kernelgym_notices(a, WORKERS), *w;
    json_t *out = all != NULL ? kg_svc_kernelgym_own_workers(a) : NULL;
    const char *id;
    json_object_foreach(all, id, w)
    {
        json_object_set_new(out, id, shown(w));
    }
    if (all == NULL) {
        kg_svc_kernelgym_detail(x, 503, "the store can't be read now", "", "");
    } else {
        kg_svc_reply_json(
            x, 200, wrapped ? json_pack("{s:s, s:o}", "status", "success", "workers", out) : out);
    }
    json_decref(all);
}

void kg_svc_kernelgym_get_workers(struct kg_svc_exchange *x, void *ctx)
{
    show_workers(x, ctx, false);
}

void kg_svc_kernelgym_worker_health(struct kg_svc_exchange *x, void *ctx)
{
    show_workers(x, ctx, true);
}

void kg_svc_kernelgym_clear_errors(struct kg_svc_exchange *x, void *ctx)
{
    const char *hash = kg_svc_request(x)->arg[0];
    json_t *answer =
        json_pack("{s:s, s:s}", "status", "success", "message", "the error history is cleared");
    if (strlen(hash) != KG_SHA256_HEX - 1 ||
        strspn(hash, "0123456789abcdef") != KG_SHA256_HEX - 1) {
        kg_svc_reply_json(x, 200, answer); /* of no content: nothing is kept */
        return;
    }
    change(ctx, x, KG_SVC_KERNELGYM_CLEARED, hash, json_integer(kg_svc_now_ms()), answer);
}
