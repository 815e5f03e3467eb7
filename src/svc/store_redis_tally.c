/* The Redis store: tallies and counters, which the script keeps in hashes. */
#include <stdlib.h>
#include <string.h>

#include "svc/store_redis.h"

static redisReply *ask(struct kg_svc_store *store, const char *key, struct kg_err *err)
{
    struct kg_svc_redis *s = (struct kg_svc_redis *)store;
    const char *const all[] = {"HGETALL", key};
    return kg_svc_link_ask(s, &s->read, err, 2, all);
}

/* VERDICT TAB REASON TAB STAGE: count. */
enum kg_code kg_svc_redis_tallies(struct kg_svc_store *store, kg_svc_on_tally *each, void *ctx,
                                  struct kg_err *err)
{
    redisReply *r = ask(store, "kgym:tallies", err);
    if (r == NULL) {
        return err->code;
    }
    bool more = true;
    for (size_t i = 0; more && i + 1 < r->elements; i += 2) {
        char *reason = strchr(r->element[i]->str, '\t');
        char *stage = reason != NULL ? strchr(reason + 1, '\t') : NULL;
        if (stage != NULL) {
            *reason = *stage = '\0';
            const struct kg_svc_tally t = {.verdict = r->element[i]->str,
                                           .reason = reason + 1,
                                           .stage = stage + 1,
                                           .n = strtoll(r->element[i + 1]->str, NULL, 10)};
            more = each(ctx, &t);
        }
    }
    freeReplyObject(r);
    return KG_OK;
}

/* PROBLEM: "DONE OK SPEEDUP ID". */
enum kg_code kg_svc_redis_bests(struct kg_svc_store *store, kg_svc_on_best *each, void *ctx,
                                struct kg_err *err)
{
    redisReply *r = ask(store, "kgym:bests", err);
    if (r == NULL) {
        return err->code;
    }
    bool more = true;
    for (size_t i = 0; more && i + 1 < r->elements; i += 2) {
        long long done, ok;
        char speedup[32], id[KG_ULID_LEN] = "";
        if (sscanf(r->element[i + 1]->str, "%lld %lld %31s %26s", &done, &ok, speedup, id) >= 3) {
            const struct kg_svc_best b = {.problem = r->element[i]->str,
                                          .done = done,
                                          .ok = ok,
                                          .speedup = strtod(speedup, NULL),
                                          .id = id};
            more = each(ctx, &b);
        }
    }
    freeReplyObject(r);
    return KG_OK;
}

/* MINUTE % 60: "MINUTE COUNT". */
enum kg_code kg_svc_redis_minutes(struct kg_svc_store *store, int64_t now_ms, int64_t *out,
                                  struct kg_err *err)
{
    memset(out, 0, KG_SVC_MINUTES * sizeof *out);
    redisReply *r = ask(store, "kgym:minutes", err);
    if (r == NULL) {
        return err->code;
    }
    for (size_t i = 0; i + 1 < r->elements; i += 2) {
        long long minute, n;
        if (sscanf(r->element[i + 1]->str, "%lld %lld", &minute, &n) == 2) {
            int64_t ago = now_ms / 60000 - minute;
            if (ago >= 0 && ago < KG_SVC_MINUTES) {
                out[ago] = n;
            }
        }
    }
    freeReplyObject(r);
    return KG_OK;
}

/* --- of the whole store --- */

static void read_counts(const redisReply *r, struct kg_svc_stats *out)
{
    for (size_t i = 0; i + 1 < r->elements; i += 2) {
        const char *name = r->element[i]->str;
        int64_t n = strtoll(r->element[i + 1]->str, NULL, 10);
        if (strncmp(name, "state", 5) == 0 && name[5] >= '0' && name[5] < '0' + KG_SVC_STATES) {
            out->jobs[name[5] - '0'] = n;
        } else if (strcmp(name, "expired") == 0) {
            out->expired = n;
        } else if (strcmp(name, "refused") == 0) {
            out->refused = n;
        } else if (strcmp(name, "events") == 0) {
            out->last_event = n;
        }
    }
}

enum kg_code kg_svc_redis_stats(struct kg_svc_store *store, struct kg_svc_stats *out,
                                struct kg_err *err)
{
    struct kg_svc_redis *s = (struct kg_svc_redis *)store;
    static const char *const counts[] = {"HGETALL", "kgym:counts"};
    static const char *const lanes[] = {"ZCARD", "kgym:lanes"};
    static const char *const oldest[] = {"ZRANGE", "kgym:waiting", "0", "0", "WITHSCORES"};
    memset(out, 0, sizeof *out);
    redisReply *r = kg_svc_link_ask(s, &s->read, err, 2, counts);
    if (r == NULL) {
        return err->code;
    }
    read_counts(r, out);
    freeReplyObject(r);
    r = kg_svc_link_ask(s, &s->read, err, 2, lanes);
    if (r == NULL) {
        return err->code;
    }
    out->lanes = r->integer;
    freeReplyObject(r);
    r = kg_svc_link_ask(s, &s->read, err, 5, oldest);
    if (r == NULL) {
        return err->code;
    }
    out->oldest_ms = r->elements == 2 ? strtoll(r->element[1]->str, NULL, 10) : 0;
    freeReplyObject(r);
    return KG_OK;
}

/* --- counters --- */

enum kg_code kg_svc_redis_add_counts(struct kg_svc_store *store, const struct kg_svc_count *list,
                                     size_t n, struct kg_err *err)
{
    struct kg_svc_redis *s = (struct kg_svc_redis *)store;
    if (kg_svc_redis_op(s, "add_counts", OP_CHANGE, "", err) == NULL) {
        return err->code;
    }
    kg_svc_redis_add(s, "i", (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        kg_svc_redis_add(s, "ti", list[i].name, list[i].n);
    }
    return KG_OK;
}

enum kg_code kg_svc_redis_counts(struct kg_svc_store *store, kg_svc_on_count *each, void *ctx,
                                 struct kg_err *err)
{
    redisReply *r = ask(store, "kgym:counts", err);
    if (r == NULL) {
        return err->code;
    }
    bool more = true;
    for (size_t i = 0; more && i + 1 < r->elements; i += 2) {
        const char *name = r->element[i]->str;
        more =
            strchr(name, ':') == NULL || each(ctx, name, strtoll(r->element[i + 1]->str, NULL, 10));
    }
    freeReplyObject(r);
    return KG_OK;
}
