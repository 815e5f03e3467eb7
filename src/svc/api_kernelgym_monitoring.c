/* What KernelGYM's operators ask: contents that crash again and again, and jobs that wait for
 * another attempt. Both look at the newest jobs only. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_kernelgym.h"
#include "svc/kernelgym_time.h"

enum { CRASHES_MOST = 1000, RETRIES_LOOK = 5000, RETRIES_SHOWN = 10 };

static void unreadable(struct kg_svc_exchange *x)
{
    kg_svc_kernelgym_detail(x, 503, "the store can't be read now", "", "");
}

struct crashes {
    json_t *cleared, *counts;
};

/* Crashes by content, without those before its history was cleared. */
static bool add_crash(void *ctx, const struct kg_svc_job *job)
{
    struct crashes *c = ctx;
    int64_t since = json_integer_value(json_object_get(c->cleared, job->body_hash));
    if (strncmp(job->batch, "kernelgym-", 10) == 0 && job->finished_ms > since) {
        int64_t n = json_integer_value(json_object_get(c->counts, job->body_hash));
        json_object_set_new(c->counts, job->body_hash, json_integer(n + 1));
    }
    return true;
}

/* Falling: the most frequent of those that are left, again and again. */
static json_t *most_first(json_t *counts, int64_t least)
{
    json_t *out = json_array(), *n;
    const char *hash;
    for (;;) {
        const char *best = NULL;
        int64_t most = least - 1;
        json_object_foreach(counts, hash, n)
        {
            if (json_integer_value(n) > most) {
                most = json_integer_value(n);
                best = hash;
            }
        }
        if (best == NULL) {
            return out;
        }
        json_array_append_new(
            out, json_pack("{s:s, s:I}", "code_hash", best, "error_count", (json_int_t)most));
        json_object_del(counts, best);
    }
}

void kg_svc_kernelgym_problematic(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    const char *given = kg_svc_query(x, "min_errors");
    char *end = NULL;
    long least = given != NULL ? strtol(given, &end, 10) : 3;
    if (given != NULL && (end == given || *end != '\0' || least < -1000000 || least > 1000000)) {
        kg_svc_kernelgym_bad(x, "query.min_errors: must be an integer");
        return;
    }
    const struct kg_svc_filter f = {.state = -1, .verdict = "crash", .limit = CRASHES_MOST};
    struct kg_err err = KG_ERR_INIT;
    struct crashes c = {.cleared = kg_svc_kernelgym_notices(a, KG_SVC_KERNELGYM_CLEARED),
                        .counts = json_object()};
    if (c.cleared == NULL || a->store->kind->list(a->store, &f, add_crash, &c, &err) != KG_OK) {
        unreadable(x);
    } else {
        json_t *codes = most_first(c.counts, least);
        kg_svc_reply_json(x, 200,
                          json_pack("{s:s, s:i, s:o, s:I}", "status", "success",
                                    "min_errors_threshold", (int)least, "problematic_codes", codes,
                                    "total_count", (json_int_t)json_array_size(codes)));
    }
    json_decref(c.cleared);
    json_decref(c.counts);
}

struct retries {
    json_t *rows;
    int64_t n;
};

static bool add_retry(void *ctx, const struct kg_svc_job *job)
{
    struct retries *r = ctx;
    if (job->attempts > 0) {
        r->n++;
        if (json_array_size(r->rows) < RETRIES_SHOWN) {
            json_array_append_new(r->rows, json_pack("{s:s, s:i, s:o}", "task_id", job->id,
                                                     "retry_count", job->attempts, "scheduled_for",
                                                     kg_kernelgym_time(kg_svc_now_ms() * 1000)));
        }
    }
    return true;
}

void kg_svc_kernelgym_retry_queue(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    const struct kg_svc_filter f = {.state = KG_SVC_WAITING, .limit = RETRIES_LOOK};
    struct retries r = {.rows = json_array()};
    struct kg_err err = KG_ERR_INIT;
    if (a->store->kind->list(a->store, &f, add_retry, &r, &err) != KG_OK) {
        json_decref(r.rows);
        unreadable(x);
        return;
    }
    kg_svc_reply_json(x, 200,
                      json_pack("{s:s, s:I, s:o}", "status", "success", "retry_queue_size",
                                (json_int_t)r.n, "next_retries", r.rows));
}
