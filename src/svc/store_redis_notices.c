/* The Redis store: notices that are read. */
#include <stdlib.h>
#include <string.h>

#include "svc/store_redis.h"

struct found {
    const char *name, *line; /* line: "UNTIL TEXT" */
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

static void give(const struct found *f, size_t n, const char *kind, int64_t now_ms,
                 kg_svc_on_notice *each, void *ctx)
{
    bool more = true;
    for (size_t i = 0; i < n && more; i++) {
        char *end;
        int64_t until_ms = strtoll(f[i].line, &end, 10);
        const struct kg_svc_notice notice = {kind, f[i].name, *end == ' ' ? end + 1 : end,
                                             until_ms};
        more = notice.until_ms <= now_ms || each(ctx, &notice);
    }
}

enum kg_code kg_svc_redis_notices(struct kg_svc_store *store, const char *kind, int64_t now_ms,
                                  kg_svc_on_notice *each, void *ctx, struct kg_err *err)
{
    struct kg_svc_redis *s = (struct kg_svc_redis *)store;
    char key[64];
    snprintf(key, sizeof key, "kgym:notices:%.40s", kind);
    const char *const all[] = {"HGETALL", key};
    redisReply *r = kg_svc_link_ask(s, &s->read, err, 2, all);
    if (r == NULL) {
        return err->code;
    }
    size_t n = r->elements / 2;
    struct found *f = calloc(n + 1, sizeof *f);
    if (f == NULL) {
        freeReplyObject(r);
        return kg_fail_memory(err, KG_E_HOST, "no memory for %zu notices", n);
    }
    for (size_t i = 0; i < n; i++) {
        f[i] = (struct found){r->element[2 * i]->str, r->element[2 * i + 1]->str};
    }
    qsort(f, n, sizeof *f, by_name);
    give(f, n, kind, now_ms, each, ctx);
    free(f);
    freeReplyObject(r);
    return KG_OK;
}
