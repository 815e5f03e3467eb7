/* POST /v1/batches: lines as `kgym eval --batch` takes them, accepted all or none. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_private.h"

static const char *const members[] = {"id", "problem", "reply", "source", NULL};
static const char *const parameters[] = {"preset",     "set", "rewards", "priority",
                                         "deadline_s", "key", NULL};

struct batch_op {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    struct kg_svc_job *job; /* [n] */
    size_t n;
    char id[KG_ULID_LEN];
    char first[KG_ULID_LEN], other[KG_ULID_LEN]; /* jobs that the lines are */
    bool known, other_known;                     /* first, other: from before */
};

static void free_batch(struct batch_op *o)
{
    for (size_t i = 0; i < o->n; i++) {
        kg_svc_job_deinit(&o->job[i]);
    }
    free(o->job);
    free(o);
}

/* A key's first line tells whether the batch is known, since all its lines share one hash; the
 * others are then known as well. */
static enum kg_code run(struct kg_svc_op *op, struct kg_svc_store *store,
                        struct kg_svc_segments *segments, struct kg_err *err)
{
    struct batch_op *o = (struct batch_op *)op;
    const struct kg_svc_room room = kg_svc_room_for(o->api, o->n - 1);
    (void)segments;
    for (size_t i = 0; i < o->n; i++) {
        if (store->kind->submit(store, &o->job[i], i == 0 ? &room : NULL,
                                i == 0 ? o->first : o->other, i == 0 ? &o->known : &o->other_known,
                                err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

static void done(struct kg_svc_op *op)
{
    struct batch_op *o = (struct batch_op *)op;
    struct kg_svc_api *a = o->api;
    struct kg_err err = op->err;
    struct kg_svc_job first;
    kg_svc_job_init(&first);
    if (err.code == KG_OK && o->known) {
        (void)!a->store->kind->get(a->store, o->first, false, &first, &err);
    }
    if (err.code != KG_OK) {
        kg_svc_answer_error(o->x, &err, "key");
    } else {
        a->fresh = a->fresh || !o->known;
        kg_svc_reply_json(o->x, 202,
                          json_pack("{s:s, s:I}", "id", o->known ? first.batch : o->id, "lines",
                                    (json_int_t)o->n));
    }
    kg_svc_job_deinit(&first);
    free_batch(o);
}

/* --- the query --- */

/* ?set=key=value,key=value */
static bool read_set(struct kg_svc_exchange *x, json_t *set)
{
    const char *text = kg_svc_query(x, "set");
    while (text != NULL && *text != '\0') {
        size_t n = strcspn(text, ","), key = strcspn(text, "=");
        char name[64];
        if (key >= n || key >= sizeof name) {
            kg_svc_reply_error(x, 400, "bad_set", "set", "`set` must be key=value,key=value");
            return false;
        }
        snprintf(name, sizeof name, "%.*s", (int)key, text);
        json_object_set_new(set, name, kg_json_text(text + key + 1, n - key - 1));
        text += n + (text[n] == ',');
    }
    return true;
}

static bool read_query(struct kg_svc_exchange *x, struct kg_svc_ask_for *ask, json_t *set)
{
    if (kg_svc_query_unknown(x, parameters) != NULL) {
        kg_svc_reply_error(x, 400, "bad_query", "",
                           "the query may have preset, set, rewards, priority, deadline_s, key");
        return false;
    }
    ask->preset = kg_svc_query(x, "preset");
    ask->rewards = kg_svc_query(x, "rewards");
    ask->key = kg_svc_query(x, "key");
    if (ask->key != NULL && (ask->key[0] == '\0' || strlen(ask->key) > KG_SVC_KEY_MAX - 8)) {
        kg_svc_reply_error(x, 400, "bad_key", "key", "`key` has 1 to %d bytes", KG_SVC_KEY_MAX - 8);
        return false;
    }
    ask->set = set;
    return kg_svc_query_number(x, "deadline_s", 7 * 86400, &ask->deadline_s) &&
           kg_svc_read_priority(x, kg_svc_query(x, "priority"), &ask->priority) && read_set(x, set);
}

/* --- lines --- */

/* Is the value a name? It holds no NUL then: what follows one would be lost. */
static bool is_name(const char *member)
{
    return strcmp(member, "id") == 0 || strcmp(member, "problem") == 0;
}

static bool read_line(struct kg_svc_exchange *x, const char *text, size_t len, size_t at,
                      json_t **out)
{
    struct kg_err err = KG_ERR_INIT;
    const char *name;
    json_t *value;
    *out = NULL;
    if (kg_json_parse(text, len, "line", out, &err) != KG_OK || !json_is_object(*out)) {
        json_decref(*out);
        kg_svc_reply_error(x, 400, "bad_json", "", "line %zu: no JSON object", at + 1);
        return false;
    }
    json_object_foreach(*out, name, value)
    {
        size_t i = 0;
        while (members[i] != NULL && strcmp(members[i], name) != 0) {
            i++;
        }
        if (members[i] == NULL || !json_is_string(value) ||
            (is_name(members[i]) &&
             strlen(json_string_value(value)) != json_string_length(value))) {
            kg_svc_reply_error(x, 400, "bad_line", "",
                               "line %zu: a line has `id` and `problem`, which hold no NUL, and "
                               "`reply` or `source`: texts, and no other member",
                               at + 1);
            json_decref(*out);
            return false;
        }
    }
    return true;
}

static bool make_line(struct kg_svc_api *a, struct kg_svc_exchange *x, const json_t *line,
                      size_t at, struct kg_svc_ask_for ask, struct kg_svc_job *job)
{
    char key[KG_SVC_KEY_MAX + 16];
    ask.tag = json_string_value(json_object_get(line, "id"));
    ask.problem = json_string_value(json_object_get(line, "problem"));
    if (ask.tag == NULL || ask.tag[0] == '\0' || strlen(ask.tag) > KG_SVC_KEY_MAX) {
        kg_svc_reply_error(x, 400, "bad_line", "id", "line %zu: `id` has 1 to %d bytes", at + 1,
                           KG_SVC_KEY_MAX);
        return false;
    }
    if (ask.key != NULL) {
        snprintf(key, sizeof key, "%s#%zu", ask.key, at);
        ask.key = key;
    }
    return kg_svc_take_text(x, json_object_get(line, "reply"), json_object_get(line, "source"),
                            (int)at, &ask) &&
           kg_svc_make_job(a, x, &ask, (int)at, job);
}

/* The jobs of all lines. False: it was answered. */
static bool make_all(struct kg_svc_api *a, struct kg_svc_exchange *x,
                     const struct kg_svc_ask_for *ask, struct batch_op *o)
{
    const struct kg_svc_request *r = kg_svc_request(x);
    struct kg_err err = KG_ERR_INIT;
    json_t *ids = json_object();
    bool ok = true;
    for (size_t at = 0, n; ok && at < r->len; at += n + 1) { /* not ok: r is gone */
        const char *end = memchr(r->body + at, '\n', r->len - at);
        n = end != NULL ? (size_t)(end - r->body) - at : r->len - at;
        if (strspn(r->body + at, " \t\r") >= n) {
            continue;
        }
        json_t *line = NULL;
        if (o->n == KG_SVC_BATCH_MAX) {
            kg_svc_reply_error(x, 413, "too_many", "", "a batch has at most %d lines",
                               KG_SVC_BATCH_MAX);
            ok = false;
            break;
        }
        ok = read_line(x, r->body + at, n, o->n, &line);
        if (!ok) {
            break;
        }
        struct kg_svc_job *job = &o->job[o->n];
        kg_svc_job_init(job);
        job->batch_at = (int64_t)o->n++;
        ok = make_line(a, x, line, o->n - 1, *ask, job);
        const char *id = json_string_value(json_object_get(line, "id"));
        if (ok && json_object_get(ids, id) != NULL) {
            kg_svc_reply_error(x, 400, "bad_line", "id", "line %zu: an earlier line has this `id`",
                               o->n);
            ok = false;
        }
        if (ok) {
            json_object_set_new(ids, id, json_true());
            ok = kg_svc_job_keep(job, &job->batch, o->id, strlen(o->id), &err) == KG_OK;
        }
        json_decref(line);
    }
    json_decref(ids);
    if (ok && o->n == 0) {
        kg_svc_reply_error(x, 400, "bad_body", "", "a batch has at least one line");
        ok = false;
    }
    return ok;
}

/* One hash for all lines: of the body, and of what the query asks for. */
static void share_hash(struct batch_op *o)
{
    struct kg_sha256 h;
    char sum[KG_SHA256_HEX];
    kg_sha256_begin(&h);
    for (size_t i = 0; i < o->n; i++) {
        kg_sha256_part(&h, o->job[i].body_hash, strlen(o->job[i].body_hash));
    }
    kg_sha256_end(&h, sum);
    for (size_t i = 0; i < o->n; i++) {
        snprintf(o->job[i].body_hash, sizeof o->job[i].body_hash, "%s", sum);
    }
}

void kg_svc_post_batch(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_ask_for ask = {.problem = NULL};
    struct kg_err err = KG_ERR_INIT;
    json_t *set = json_object();
    struct batch_op *o = calloc(1, sizeof *o);
    KG_ASSERT(o != NULL);
    o->job = calloc(KG_SVC_BATCH_MAX, sizeof *o->job);
    KG_ASSERT(o->job != NULL);
    bool ok = read_query(x, &ask, set);
    if (ok && kg_ulid_new(o->id, &err) != KG_OK) {
        kg_svc_reply_error(x, 503, "no_random", "", "%s", err.message);
        ok = false;
    }
    if (ok && make_all(ctx, x, &ask, o)) {
        share_hash(o);
        o->op.run = run;
        o->op.done = done;
        o->api = ctx;
        o->x = x;
        kg_svc_writer_post(o->api->writer, &o->op);
    } else {
        free_batch(o);
    }
    json_decref(set);
}
