/* What a request costs: empty replies, status reads and submits of 18 KB, at some connections, one
 * kind after the other on one service that judges nothing; and how much of the rate of parsing and
 * synced group commit alone the submits reach. That alone is the store of the service in this
 * process: bodies are parsed, and as many accepted in a group as there are connections.
 *   build/release/bench/bench_svc_http [seconds=5] [connections=256] [fsyncs=200]
 * fsyncs: of a file in the same folder, for the time of one. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/common/host.h"
#include "bench/common/svc_drive.h"
#include "svc/store.h"

enum { SOURCE_BYTES = 18000, EMPTY = 0, READ = 1, SUBMIT = 2 };

static int now, number; /* kind that is asked; of submits */
static char ids[64][32], filler[SOURCE_BYTES + 1];
static int nids;
static struct kg_buf body;

static void submit_body(struct kg_buf *out)
{
    kg_buf_reset(out);
    kg_buf_addf(out, "{\"problem\": \"silu\", \"key\": \"k%d\", \"reply\": \"%s\"}", ++number,
                filler);
}

static bool ask(void *ctx, int i, struct kg_bench_request *out)
{
    (void)ctx;
    out->kind = now;
    if (now == SUBMIT) {
        submit_body(&body);
        out->method = "POST";
        out->body = body.data;
        out->len = body.len;
        snprintf(out->path, sizeof out->path, "/v1/evaluations");
    } else if (now == READ) {
        snprintf(out->path, sizeof out->path, "/v1/evaluations/%s", ids[i % nids]);
    } else {
        snprintf(out->path, sizeof out->path, "/v1/live");
    }
    return true;
}

static void answer(void *ctx, int i, int status, const char *text, size_t len)
{
    (void)ctx;
    (void)i;
    (void)len;
    kg_bench_need(status == (now == SUBMIT ? 202 : 200), "status %d: %.200s", status, text);
    const char *id = strstr(text, "\"id\":\"");
    if (now == SUBMIT && id != NULL && nids < 64) {
        snprintf(ids[nids++], sizeof ids[0], "%.26s", id + 6);
    }
}

/* Parsing, and group commits of n jobs, without a service. Returns jobs/s. */
static double alone(double seconds, int group)
{
    struct kg_svc_store *s;
    struct kg_err err = KG_ERR_INIT;
    char place[4096], id[KG_ULID_LEN];
    bool known;
    int done = 0;
    snprintf(place, sizeof place, "%s/alone", kg_bench_folder());
    kg_bench_need_ok(kg_svc_store_sqlite.open(place, &s, &err), &err);
    const int64_t begun = kg_clock_ns();
    while ((double)(kg_clock_ns() - begun) < seconds * 1e9) {
        kg_bench_need_ok(s->kind->begin(s, &err), &err);
        for (int i = 0; i < group; i++, done++) {
            struct kg_svc_job job;
            json_t *j = NULL;
            submit_body(&body);
            kg_bench_need_ok(kg_json_parse(body.data, body.len, "body", &j, &err), &err);
            kg_svc_job_init(&job);
            kg_bench_need_ok(kg_ulid_new(job.id, &err), &err);
            job.problem = "silu";
            job.device = "cpu";
            job.configuration = "{}";
            job.key = json_string_value(json_object_get(j, "key"));
            job.task = json_string_value(json_object_get(j, "reply"));
            job.created_ms = kg_svc_now_ms();
            kg_bench_need_ok(s->kind->submit(s, &job, NULL, id, &known, &err), &err);
            kg_svc_job_deinit(&job);
            json_decref(j);
        }
        kg_bench_need_ok(s->kind->commit(s, &err), &err);
    }
    double rate = 1e9 * done / (double)(kg_clock_ns() - begun);
    s->kind->close(s);
    return rate;
}

static double fsync_ms(int n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/synced", kg_bench_folder());
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    kg_bench_need(fd >= 0, "%s", path);
    const int64_t begun = kg_clock_ns();
    for (int i = 0; i < n; i++) {
        kg_bench_need(write(fd, filler, 4096) == 4096 && fdatasync(fd) == 0, "%s", path);
    }
    close(fd);
    return 1e-6 * (double)(kg_clock_ns() - begun) / n;
}

int main(int argc, char **argv)
{
    static const char *const args[] = {"--no-work", "--queue-limit", "0", NULL};
    static const char *const names[] = {"empty replies", "status reads", "submits of 18 KB"};
    int seconds = kg_bench_count(argc, argv, 1, 1, 600, 5);
    int connections = kg_bench_count(argc, argv, 2, 1, 2000, 256);
    int syncs = kg_bench_count(argc, argv, 3, 1, 100000, 200);
    struct kg_bench_service s;
    struct kg_bench_driven got[3];
    memset(filler, 'x', SOURCE_BYTES);
    kg_buf_init(&body, 1 << 20);
    kg_bench_service_start(&s, "store", args);
    static const int order[] = {SUBMIT, READ, EMPTY}; /* reads need ids */
    for (int k = 0; k < 3; k++) {
        now = order[k];
        const struct kg_bench_drive d = {.connections = connections,
                                         .port = &s.port,
                                         .nports = 1,
                                         .ask = ask,
                                         .answer = answer,
                                         .seconds = seconds};
        struct kg_bench_driven all;
        kg_bench_drive(&d, &all);
        got[now] = all;
    }
    kg_bench_service_stop(&s);
    double store = alone(seconds, connections), sync = fsync_ms(syncs);
    printf("%d connections\n%-18s %10s %9s %9s\n", connections, "", "per s", "p50 ms", "p99 ms");
    json_t *result = json_object();
    for (int k = 0; k < 3; k++) {
        printf("%-18s %10.0f %9.2f %9.2f\n", names[k], got[k].per_s[k], got[k].p50_ms[k],
               got[k].p99_ms[k]);
        json_object_set_new(result, names[k],
                            json_pack("{s:f, s:f, s:f}", "per_s", got[k].per_s[k], "p50_ms",
                                      got[k].p50_ms[k], "p99_ms", got[k].p99_ms[k]));
    }
    printf("%-18s %10.0f\none fdatasync of 4 KiB: %.2f ms\n", "parse and commit", store, sync);
    printf("status reads / empty replies: %.2f\nsubmits / parse and commit: %.2f\n",
           got[READ].per_s[READ] / got[EMPTY].per_s[EMPTY], got[SUBMIT].per_s[SUBMIT] / store);
    json_object_set_new(result, "alone_per_s", json_real(store));
    json_object_set_new(result, "fdatasync_ms", json_real(sync));
    kg_bench_json("svc_http", result);
    kg_buf_deinit(&body);
    return 0;
}
