/* The Redis store: what is read. */
#include <stdlib.h>
#include <string.h>

#include "svc/store_redis.h"

enum { PAGE = 256 };

static struct kg_svc_redis *own(struct kg_svc_store *s)
{
    return (struct kg_svc_redis *)s;
}

/* --- a job --- */

void kg_svc_redis_set(const struct kg_svc_redis_member *m, void *of, const redisReply *value)
{
    char *at = (char *)of + m->at;
    if (value->type != REDIS_REPLY_STRING) { /* absent */
        return;
    }
    if (m->type == REDIS_INT64) {
        *(int64_t *)(void *)at = strtoll(value->str, NULL, 10);
    } else if (m->type == REDIS_INT) {
        *(int *)(void *)at = (int)strtol(value->str, NULL, 10);
    } else {
        KG_ASSERT(m->type == REDIS_CHARS);
        snprintf(at, m->size, "%s", value->str);
    }
}

int kg_svc_redis_hmget(const struct kg_svc_redis_member *m, size_t n, const char *key,
                       const char **argv)
{
    argv[0] = "HMGET";
    argv[1] = key;
    for (size_t i = 0; i < n; i++) {
        argv[i + 2] = m[i].name;
    }
    return (int)n + 2;
}

const char *kg_svc_redis_text(const redisReply *array, size_t i)
{
    return i < array->elements && array->element[i]->str != NULL ? array->element[i]->str : "";
}

static const struct kg_svc_redis_member fields[] = {
#define FIELD(name, type, member) KG_SVC_REDIS_MEMBER(kg_svc_job, name, type, member)
    FIELD("id", REDIS_CHARS, id),
    FIELD("key", REDIS_KEPT, key),
    FIELD("body_hash", REDIS_CHARS, body_hash),
    FIELD("device", REDIS_KEPT, device),
    FIELD("configuration", REDIS_KEPT, configuration),
    FIELD("problem", REDIS_KEPT, problem),
    FIELD("priority", REDIS_INT, priority),
    FIELD("deadline", REDIS_INT64, deadline_ms),
    FIELD("batch", REDIS_KEPT, batch),
    FIELD("batch_at", REDIS_INT64, batch_at),
    FIELD("state", REDIS_INT, state),
    FIELD("attempts", REDIS_INT, attempts),
    FIELD("fence", REDIS_INT64, fence),
    FIELD("claim", REDIS_CHARS, claim),
    FIELD("worker", REDIS_KEPT, worker),
    FIELD("claim_until", REDIS_INT64, claim_until_ms),
    FIELD("created", REDIS_INT64, created_ms),
    FIELD("started", REDIS_INT64, started_ms),
    FIELD("finished", REDIS_INT64, finished_ms),
    FIELD("segment", REDIS_CHARS, record.segment),
    FIELD("offset", REDIS_INT64, record.offset),
    FIELD("len", REDIS_INT64, record.len),
    FIELD("sum", REDIS_CHARS, record.sum),
    FIELD("verdict", REDIS_KEPT, verdict),
    FIELD("reason", REDIS_KEPT, reason),
    FIELD("error", REDIS_KEPT, error),
    FIELD("blame", REDIS_KEPT, blame),
    FIELD("message", REDIS_KEPT, message),
    FIELD("task", REDIS_KEPT, task), /* the last one: it is large, and not always wanted */
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields };
_Static_assert(sizeof(enum kg_svc_state) == sizeof(int) &&
                   sizeof(enum kg_svc_priority) == sizeof(int),
               "REDIS_INT is an int");

static enum kg_code set_field(struct kg_svc_job *job, size_t which, const redisReply *value,
                              struct kg_err *err)
{
    if (fields[which].type != REDIS_KEPT) {
        kg_svc_redis_set(&fields[which], job, value);
        return KG_OK;
    }
    char *at = (char *)job + fields[which].at;
    return value->type == REDIS_REPLY_STRING
               ? kg_svc_job_keep(job, (const char **)(void *)at, value->str, value->len, err)
               : KG_OK;
}

enum kg_code kg_svc_redis_field(struct kg_svc_job *job, const char *name, const redisReply *value,
                                struct kg_err *err)
{
    for (size_t i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            return set_field(job, i, value, err);
        }
    }
    return KG_OK; /* a field of the script's own */
}

/* HMGET kgym:job:ID, all fields or all but the task. */
struct get {
    char key[64];
    const char *argv[FIELDS + 2];
    int argc;
};

static void make_get(struct get *g, const char *id, bool with_task)
{
    snprintf(g->key, sizeof g->key, "kgym:job:%.40s", id);
    g->argc = kg_svc_redis_hmget(fields, (size_t)FIELDS - !with_task, g->key, g->argv);
}

static enum kg_code read_job(const redisReply *r, struct kg_svc_job *out, struct kg_err *err)
{
    for (size_t i = 0; i < r->elements && i < FIELDS; i++) {
        if (set_field(out, i, r->element[i], err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

enum kg_code kg_svc_redis_get(struct kg_svc_store *store, const char *id, bool with_task,
                              struct kg_svc_job *out, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    struct get g = {.argc = 0};
    make_get(&g, id, with_task);
    redisReply *r = kg_svc_link_ask(s, &s->read, err, g.argc, g.argv);
    if (r == NULL) {
        return err->code;
    }
    enum kg_code code = read_job(r, out, err);
    freeReplyObject(r);
    return code != KG_OK || out->id[0] != '\0' ? code
                                               : kg_fail(err, KG_E_NOT_FOUND, "no job %.40s", id);
}

/* --- lists --- */

static bool is(const char *wanted, const char *text)
{
    return wanted == NULL || wanted[0] == '\0' || strcmp(wanted, text) == 0;
}

static bool fits(const struct kg_svc_filter *f, const struct kg_svc_job *job)
{
    return (f->by_line || f->state < 0 || f->state == (int)job->state) &&
           (f->by_line || (is(f->problem, job->problem) && is(f->verdict, job->verdict))) &&
           is(f->batch, job->batch);
}

/* The set to go through: the one that holds least, by experience. */
static void choose_set(const struct kg_svc_filter *f, char *out, size_t cap)
{
    if (f->verdict != NULL && f->verdict[0] != '\0') {
        snprintf(out, cap, "kgym:verdict:%s", f->verdict);
    } else if (f->problem != NULL && f->problem[0] != '\0') {
        snprintf(out, cap, "kgym:problem:%s", f->problem);
    } else if (f->state >= 0) {
        snprintf(out, cap, "kgym:state:%d", f->state);
    } else {
        snprintf(out, cap, "kgym:all");
    }
}

/* Ids of a batch's next page, last line first: below the line of job `after`. */
static redisReply *batch_ids(struct kg_svc_redis *s, const char *key, const char *after,
                             struct kg_err *err)
{
    char job[64], below[40] = "+inf", count[16];
    snprintf(count, sizeof count, "%d", PAGE);
    if (after[0] != '\0') {
        snprintf(job, sizeof job, "kgym:job:%.26s", after);
        const char *const line[] = {"HGET", job, "batch_at"};
        redisReply *r = kg_svc_link_ask(s, &s->read, err, 3, line);
        if (r == NULL) {
            return NULL;
        }
        snprintf(below, sizeof below, "(%.30s", r->str != NULL ? r->str : "-inf");
        freeReplyObject(r);
    }
    const char *const range[] = {"ZRANGE", key,     below, "-inf", "BYSCORE",
                                 "REV",    "LIMIT", "0",   count};
    return kg_svc_link_ask(s, &s->read, err, 9, range);
}

/* Ids of the next page. By line: from line `from` on, skipping `skip`; else below job `after`. */
static redisReply *next_ids(struct kg_svc_redis *s, const struct kg_svc_filter *f,
                            const char *after, size_t skip, struct kg_err *err)
{
    char key[512], from[32], offset[24], count[16];
    snprintf(offset, sizeof offset, "%zu", skip);
    snprintf(count, sizeof count, "%d", PAGE);
    if (f->by_line || (f->batch != NULL && f->batch[0] != '\0')) {
        snprintf(key, sizeof key, "kgym:batch:%s", f->batch != NULL ? f->batch : "");
        snprintf(from, sizeof from, "%lld", (long long)f->from);
        const char *const line[] = {"ZRANGE", key, from, "+inf", "BYSCORE", "LIMIT", offset, count};
        return f->by_line ? kg_svc_link_ask(s, &s->read, err, 8, line)
                          : batch_ids(s, key, after, err);
    }
    choose_set(f, key, sizeof key);
    snprintf(from, sizeof from, "%s%.26s", after[0] != '\0' ? "(" : "+", after);
    const char *const list[] = {"ZRANGE", key, from, "-", "BYLEX", "REV", "LIMIT", "0", count};
    return kg_svc_link_ask(s, &s->read, err, 9, list);
}

struct listing {
    kg_svc_on_job *each;
    void *ctx;
    size_t left;
    bool more;
    char last[KG_ULID_LEN]; /* that was looked at */
};

/* Jobs of these ids, in one round trip. */
static enum kg_code list_page(struct kg_svc_redis *s, const struct kg_svc_filter *f,
                              const redisReply *ids, struct listing *l, struct kg_err *err)
{
    if (kg_svc_link_up(s, &s->read, err) != KG_OK) {
        return err->code;
    }
    for (size_t i = 0; i < ids->elements; i++) {
        struct get g = {.argc = 0};
        make_get(&g, ids->element[i]->str, false);
        redisAppendCommandArgv(s->read.c, g.argc, g.argv, NULL);
    }
    for (size_t i = 0; i < ids->elements; i++) {
        redisReply *r = kg_svc_link_answer(s, &s->read, err);
        struct kg_svc_job job;
        if (r == NULL) {
            kg_svc_link_down(&s->read); /* answers to the others may be under way */
            return err->code;
        }
        kg_svc_job_init(&job);
        enum kg_code code = read_job(r, &job, err);
        freeReplyObject(r);
        if (code == KG_OK && l->more && l->left > 0) {
            snprintf(l->last, sizeof l->last, "%.26s", ids->element[i]->str);
        }
        if (code == KG_OK && l->more && l->left > 0 && job.id[0] != '\0' && fits(f, &job)) {
            l->left--;
            l->more = l->each(l->ctx, &job);
        }
        kg_svc_job_deinit(&job);
        if (code != KG_OK) {
            kg_svc_link_down(&s->read);
            return code;
        }
    }
    return KG_OK;
}

enum kg_code kg_svc_redis_list(struct kg_svc_store *store, const struct kg_svc_filter *f,
                               kg_svc_on_job *each, void *ctx, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    struct listing l = {.each = each, .ctx = ctx, .left = f->limit, .more = true};
    if (f->after != NULL) {
        snprintf(l.last, sizeof l.last, "%.26s", f->after);
    }
    if (f->next != NULL) {
        f->next[0] = '\0';
    }
    for (size_t skip = 0; l.more && l.left > 0; skip += PAGE) {
        if (f->next != NULL && skip >= KG_SVC_LOOK_MOST) {
            break;
        }
        redisReply *ids = next_ids(s, f, l.last, skip, err);
        if (ids == NULL) {
            return err->code;
        }
        bool last = ids->elements < PAGE;
        enum kg_code code = list_page(s, f, ids, &l, err);
        freeReplyObject(ids);
        if (code != KG_OK || (last && l.left > 0)) {
            return code;
        }
    }
    if (f->next != NULL) {
        snprintf(f->next, KG_ULID_LEN, "%s", l.last);
    }
    return KG_OK;
}

/* --- events --- */

static enum kg_code events_of(struct kg_svc_redis *s, int64_t after, const char *id, size_t limit,
                              kg_svc_on_event *each, void *ctx, struct kg_err *err)
{
    char key[64], type[32];
    snprintf(key, sizeof key, "kgym:life:%.40s", id);
    const char *const range[] = {"LRANGE", key, "0", "-1"};
    redisReply *r = kg_svc_link_ask(s, &s->read, err, 4, range);
    if (r == NULL) {
        return err->code;
    }
    bool more = true;
    for (size_t i = 0; i < r->elements && more && limit > 0; i++) {
        long long seq, ms;
        int detail = 0;
        const char *line = r->element[i]->str;
        if (sscanf(line, "%lld %lld %31s%n", &seq, &ms, type, &detail) == 3 && seq > after) {
            const struct kg_svc_event e = {
                .seq = seq, .ms = ms, .id = id, .type = type, .detail = line + detail + 1};
            limit--;
            more = each(ctx, &e);
        }
    }
    freeReplyObject(r);
    return KG_OK;
}

/* One entry of the stream: [id, [name, value, ...]], in the order that the script writes. */
static bool read_event(const redisReply *entry, struct kg_svc_event *out)
{
    const redisReply *v = entry->elements == 2 ? entry->element[1] : NULL;
    if (v == NULL || v->elements != 8) {
        return false;
    }
    *out = (struct kg_svc_event){.seq = strtoll(entry->element[0]->str, NULL, 10),
                                 .ms = strtoll(v->element[1]->str, NULL, 10),
                                 .id = v->element[3]->str,
                                 .type = v->element[5]->str,
                                 .detail = v->element[7]->str};
    return true;
}

enum kg_code kg_svc_redis_events(struct kg_svc_store *store, int64_t after, const char *id,
                                 size_t limit, kg_svc_on_event *each, void *ctx, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    char from[32], count[24];
    if (id != NULL) {
        return events_of(s, after, id, limit, each, ctx, err);
    }
    if (limit == 0) {
        return KG_OK;
    }
    snprintf(from, sizeof from, "%lld", (long long)after + 1);
    snprintf(count, sizeof count, "%zu", limit);
    const char *const range[] = {"XRANGE", "kgym:events", from, "+", "COUNT", count};
    redisReply *r = kg_svc_link_ask(s, &s->read, err, 6, range);
    if (r == NULL) {
        return err->code;
    }
    bool more = true;
    for (size_t i = 0; i < r->elements && more; i++) {
        struct kg_svc_event e;
        more = !read_event(r->element[i], &e) || each(ctx, &e);
    }
    freeReplyObject(r);
    return KG_OK;
}
