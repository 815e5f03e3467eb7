/* The Redis store: counters and notes. Both are one hash each, and small. */
#include <stdlib.h>
#include <string.h>

#include "svc/store_redis.h"

static struct kg_svc_redis *own(struct kg_svc_store *s)
{
    return (struct kg_svc_redis *)s;
}

enum kg_code kg_svc_redis_tally(struct kg_svc_store *store, const struct kg_svc_count *list,
                                size_t n, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    if (kg_svc_redis_op(s, "tally", OP_CHANGE, "", err) == NULL) {
        return err->code;
    }
    kg_svc_redis_add(s, "i", (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        kg_svc_redis_add(s, "ti", list[i].name, list[i].n);
    }
    return KG_OK;
}

enum kg_code kg_svc_redis_note(struct kg_svc_store *store, const char *name, const char *text,
                               struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    if (kg_svc_redis_op(s, "note", OP_CHANGE, "", err) == NULL) {
        return err->code;
    }
    kg_svc_redis_add(s, "tit", name, (int64_t)(text != NULL), text);
    return KG_OK;
}

/* All fields of a hash; each(ctx, name, value) until it says no. */
static enum kg_code each_field(struct kg_svc_redis *s, const char *key,
                               bool (*each)(void *ctx, const char *name, const char *value),
                               void *ctx, struct kg_err *err)
{
    const char *const all[] = {"HGETALL", key};
    redisReply *r = kg_svc_link_ask(s, &s->read, err, 2, all);
    if (r == NULL) {
        return err->code;
    }
    bool more = true;
    for (size_t i = 0; i + 1 < r->elements && more; i += 2) {
        more = r->element[i]->str == NULL || r->element[i + 1]->str == NULL ||
               each(ctx, r->element[i]->str, r->element[i + 1]->str);
    }
    freeReplyObject(r);
    return KG_OK;
}

struct reader {
    kg_svc_on_count *count;
    kg_svc_on_note *note;
    const char *prefix;
    void *ctx;
};

static bool give_count(void *ctx, const char *name, const char *value)
{
    const struct reader *r = ctx;
    return strchr(name, ':') == NULL || r->count(r->ctx, name, strtoll(value, NULL, 10));
}

static bool give_note(void *ctx, const char *name, const char *value)
{
    const struct reader *r = ctx;
    return strncmp(name, r->prefix, strlen(r->prefix)) != 0 || r->note(r->ctx, name, value);
}

enum kg_code kg_svc_redis_counts(struct kg_svc_store *store, kg_svc_on_count *each, void *ctx,
                                 struct kg_err *err)
{
    struct reader r = {.count = each, .ctx = ctx};
    return each_field(own(store), "kgym:counts", give_count, &r, err);
}

enum kg_code kg_svc_redis_notes(struct kg_svc_store *store, const char *prefix,
                                kg_svc_on_note *each, void *ctx, struct kg_err *err)
{
    struct reader r = {.note = each, .prefix = prefix, .ctx = ctx};
    return each_field(own(store), "kgym:notes", give_note, &r, err);
}
