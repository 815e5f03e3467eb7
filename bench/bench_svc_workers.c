/* Jobs a second from end to end, with stub workers: jobs come in batches of 100, workers claim,
 * hold each for a while, renew what they hold every 10 s, and answer with a record of 2 KB. Memory
 * of an api process at half the time and at the end tells whether it grows. The first half fills
 * the slots and is not counted in the table. build/release/bench/bench_svc_workers [store=sqlite]
 * [seconds=10] [workers=8] [slots=16] [hold_ms=0] [services=1] store: sqlite, redis. A driver of
 * 1,000 GPUs: redis 60 1000 16 8000 2. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "bench/common/host.h"
#include "bench/common/svc_drive.h"
#include "bench/common/svc_redis.h"

enum { CLAIM, FINISH, RENEW, SUBMIT };
enum { WORKERS = 4000, SLOTS = 64, FINISHERS = 64, RENEWERS = 16, SUBMITTERS = 4, LINES = 100 };
enum { RENEW_MS = 10000, EMPTY_MS = 50, RECORD_BYTES = 2000 };

struct held {
    char id[32], claim[48];
    long long fence;
    bool there, ending;
};

static struct worker {
    struct held slot[SLOTS];
    int64_t renewed_ns, empty_ns;
} worker[WORKERS];
static int workers, slots, at_finisher[FINISHERS], next_renewed;
static int64_t hold_ns;
static size_t submitted, finished, refused, waits_most;
static struct kg_buf body;
static char record[RECORD_BYTES + 64];

/* What is held, in the order of its ends: all are held for the same time. */
static struct due {
    int64_t ns;
    int at; /* worker * SLOTS + slot */
} * due;
static size_t due_first, due_end, due_cap;

static bool ask_claim(int w, struct kg_bench_request *out)
{
    bool any = false;
    if (kg_clock_ns() - worker[w].empty_ns < EMPTY_MS * INT64_C(1000000)) {
        return false;
    }
    kg_buf_addf(&body, "{\"worker\": \"w%d\", \"devices\": [\"cpu\"], \"slots\": [", w);
    for (int i = 0; i < slots; i++) {
        if (!worker[w].slot[i].there) {
            kg_buf_adds(&body, any ? ", {}" : "{}");
            any = true;
        }
    }
    kg_buf_adds(&body, "]}");
    snprintf(out->path, sizeof out->path, "/v1/worker/claim");
    return any;
}

static bool ask_finish(int i, struct kg_bench_request *out)
{
    if (due_first == due_end || due[due_first % due_cap].ns > kg_clock_ns()) {
        return false;
    }
    at_finisher[i] = due[due_first++ % due_cap].at;
    struct held *h = &worker[at_finisher[i] / SLOTS].slot[at_finisher[i] % SLOTS];
    h->ending = true;
    kg_buf_addf(&body,
                "{\"id\": \"%s\", \"claim\": \"%s\", \"fence\": %lld, \"outcome\": \"finished\", "
                "\"verdict\": \"ok\", \"record\": \"%s\"}",
                h->id, h->claim, h->fence, record);
    snprintf(out->path, sizeof out->path, "/v1/worker/finish");
    return true;
}

static bool ask_renew(struct kg_bench_request *out)
{
    struct worker *w = &worker[next_renewed];
    bool any = false;
    if (kg_clock_ns() - w->renewed_ns < RENEW_MS * INT64_C(1000000)) {
        return false; /* they are renewed in turn, so the others are not due, either */
    }
    w->renewed_ns = kg_clock_ns();
    kg_buf_addf(&body, "{\"worker\": \"w%d\", \"claims\": [", next_renewed);
    next_renewed = (next_renewed + 1) % workers;
    for (int i = 0; i < slots; i++) {
        const struct held *h = &w->slot[i];
        if (h->there && !h->ending) {
            kg_buf_addf(&body, "%s{\"id\": \"%s\", \"claim\": \"%s\", \"fence\": %lld}",
                        any ? ", " : "", h->id, h->claim, h->fence);
            any = true;
        }
    }
    kg_buf_adds(&body, "]}");
    snprintf(out->path, sizeof out->path, "/v1/worker/renew");
    return any;
}

static bool ask_submit(struct kg_bench_request *out)
{
    if (submitted - finished > waits_most) {
        return false;
    }
    for (int i = 0; i < LINES; i++) {
        kg_buf_addf(&body, "{\"id\": \"l%d\", \"problem\": \"silu\", \"reply\": \"nothing %zu\"}\n",
                    i, submitted + (size_t)i);
    }
    submitted += LINES;
    snprintf(out->path, sizeof out->path, "/v1/batches");
    return true;
}

static bool ask(void *ctx, int i, struct kg_bench_request *out)
{
    (void)ctx;
    kg_buf_reset(&body);
    out->method = "POST";
    out->kind = i < workers                          ? CLAIM
                : i < workers + FINISHERS            ? FINISH
                : i < workers + FINISHERS + RENEWERS ? RENEW
                                                     : SUBMIT;
    bool has = out->kind == CLAIM    ? ask_claim(i, out)
               : out->kind == FINISH ? ask_finish(i - workers, out)
               : out->kind == RENEW  ? ask_renew(out)
                                     : ask_submit(out);
    out->body = body.data;
    out->len = body.len;
    return has;
}

static void take(int w, const char *text, size_t len)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL, *c;
    size_t i;
    kg_bench_need_ok(kg_json_parse(text, len, "claims", &j, &err), &err);
    int at = 0;
    json_array_foreach(json_object_get(j, "claims"), i, c)
    {
        while (at < slots && worker[w].slot[at].there) {
            at++;
        }
        kg_bench_need(at < slots, "more claims than slots");
        struct held *h = &worker[w].slot[at];
        *h = (struct held){.fence = json_integer_value(json_object_get(c, "fence")), .there = true};
        snprintf(h->id, sizeof h->id, "%s", json_string_value(json_object_get(c, "id")));
        snprintf(h->claim, sizeof h->claim, "%s", json_string_value(json_object_get(c, "claim")));
        due[due_end++ % due_cap] = (struct due){kg_clock_ns() + hold_ns, w * SLOTS + at};
    }
    if (i == 0) {
        worker[w].empty_ns = kg_clock_ns();
    }
    json_decref(j);
}

static void answer(void *ctx, int i, int status, const char *text, size_t len)
{
    (void)ctx;
    if (i < workers) {
        kg_bench_need(status == 200, "claim: %d: %.200s", status, text);
        take(i, text, len);
    } else if (i < workers + FINISHERS) {
        int at = at_finisher[i - workers];
        worker[at / SLOTS].slot[at % SLOTS].there = false;
        finished++;
        refused += status != 200;
    } else {
        kg_bench_need(status == 200 || status == 202, "%d: %.200s", status, text);
    }
}

/* Half of the time is over. */
static struct half {
    const struct kg_bench_service *service;
    size_t finished;
    double mib;
} half;

static void at_half(void *ctx)
{
    (void)ctx;
    half.finished = finished;
    half.mib = kg_bench_service_mib(half.service);
}

static size_t held_now(void)
{
    size_t n = 0;
    for (int w = 0; w < workers; w++) {
        for (int i = 0; i < slots; i++) {
            n += worker[w].slot[i].there;
        }
    }
    return n;
}

static void report(const char *store, int services, double half_s,
                   const struct kg_bench_driven *rest, const double mib[3])
{
    static const char *const names[] = {"claims", "answers", "renewals", "batches"};
    json_t *result =
        json_pack("{s:s, s:i, s:i, s:i, s:f, s:i, s:I, s:f, s:f, s:f}", "store", store, "workers",
                  workers, "slots", slots, "services", services, "jobs_per_s", rest->per_s[FINISH],
                  "refused", (int)refused, "held", (json_int_t)held_now(), "mib_start", mib[0],
                  "mib_half", mib[1], "mib_end", mib[2]);
    printf("%s, %d services, %d workers of %d slots, jobs held %.1f s\n%-10s %9s %9s %9s\n", store,
           services, workers, slots, 1e-9 * (double)hold_ns, "second half", "per s", "p50 ms",
           "p99 ms");
    for (int k = 0; k < 4; k++) {
        printf("%-10s %9.0f %9.2f %9.2f\n", names[k], rest->per_s[k], rest->p50_ms[k],
               rest->p99_ms[k]);
        json_object_set_new(result, names[k],
                            json_pack("{s:f, s:f, s:f}", "per_s", rest->per_s[k], "p50_ms",
                                      rest->p50_ms[k], "p99_ms", rest->p99_ms[k]));
    }
    printf("jobs/s: %.0f, then %.0f; answers refused: %zu; held at the end: %zu\n",
           (double)half.finished / half_s, rest->per_s[FINISH], refused, held_now());
    printf("memory of an api process: %.0f MiB, %.0f at half, %.0f at the end\n", mib[0], mib[1],
           mib[2]);
    kg_bench_json("svc_workers", result);
}

int main(int argc, char **argv)
{
    const char *store = argc > 1 ? argv[1] : "sqlite";
    int seconds = kg_bench_count(argc, argv, 2, 1, 3600, 10);
    workers = kg_bench_count(argc, argv, 3, 1, WORKERS, 8);
    slots = kg_bench_count(argc, argv, 4, 1, SLOTS, 16);
    hold_ns = kg_bench_count(argc, argv, 5, 0, 600000, 0) * INT64_C(1000000);
    int services = kg_bench_count(argc, argv, 6, 1, 2, 1), port[2];
    bool redis = strcmp(store, "redis") == 0;
    kg_bench_need(redis || (strcmp(store, "sqlite") == 0 && services == 1),
                  "store is sqlite, with one service, or redis");
    char place[4200];
    pid_t server = 0;
    kg_bench_need(!redis || kg_bench_redis_start(place, sizeof place, &server),
                  "no redis-server is installed");
    const char *const args[] = {"--no-work", "--queue-limit", "0", redis ? "--store" : NULL, place,
                                NULL};
    struct kg_bench_service s[2];
    struct kg_bench_driven rest;
    for (int i = 0; i < services; i++) {
        kg_bench_service_start(&s[i], "store", args);
        port[i] = s[i].port;
    }
    due_cap = (size_t)WORKERS * SLOTS + 1;
    due = malloc(due_cap * sizeof *due);
    kg_bench_need(due != NULL, "no memory");
    waits_most = (size_t)workers * (size_t)slots + 2000;
    kg_buf_init(&body, 16 << 20);
    snprintf(record, sizeof record, "{\\\"x\\\": \\\"%0*d\\\"}", RECORD_BYTES, 0);
    const struct kg_bench_drive d = {.connections = workers + FINISHERS + RENEWERS + SUBMITTERS,
                                     .port = port,
                                     .nports = services,
                                     .ask = ask,
                                     .answer = answer,
                                     .warm_s = seconds / 2.0,
                                     .warm = at_half,
                                     .seconds = seconds / 2.0};
    half.service = &s[0];
    double mib[3] = {kg_bench_service_mib(&s[0])};
    kg_bench_drive(&d, &rest);
    mib[1] = half.mib;
    mib[2] = kg_bench_service_mib(&s[0]);
    report(store, services, seconds / 2.0, &rest, mib);
    for (int i = 0; i < services; i++) {
        kg_bench_service_stop(&s[i]);
    }
    if (redis) {
        kg_bench_redis_stop(server);
    }
    free(due);
    kg_buf_deinit(&body);
    return 0;
}
