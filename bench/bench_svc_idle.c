/* What waits costs: memory of an api process for each idle stream of events, and rates of claims
 * and status reads with an empty queue and with a long one. build/release/bench/bench_svc_idle
 * [streams=4000] [jobs=100000] [seconds=3] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/host.h"
#include "bench/common/svc_drive.h"

enum { STREAMS = 4000, LINES = 1000, CONNECTIONS = 16, SETTLE_S = 2 };
enum { READ, CLAIM, SUBMIT };

static int fd[STREAMS], left, now;
static struct kg_buf batch;
static char id[32];

static bool ask(void *ctx, int i, struct kg_bench_request *out)
{
    static const char claim[] = "{\"worker\": \"w\", \"devices\": [\"none\"], \"slots\": [{}]}";
    (void)ctx;
    (void)i;
    out->kind = now;
    if (now == READ) {
        snprintf(out->path, sizeof out->path, "/v1/evaluations/%s", id);
        return true;
    }
    out->method = "POST";
    out->body = now == CLAIM ? claim : batch.data;
    out->len = now == CLAIM ? sizeof claim - 1 : batch.len;
    snprintf(out->path, sizeof out->path, now == CLAIM ? "/v1/worker/claim" : "/v1/batches");
    left -= now == SUBMIT;
    return now == CLAIM || left >= 0;
}

static void answer(void *ctx, int i, int status, const char *text, size_t len)
{
    (void)ctx;
    (void)i;
    (void)len;
    kg_bench_need(status == 200 || status == 202, "%d: %.200s", status, text);
    const char *at = strstr(text, "\"evaluations\":[{\"id\":\"");
    snprintf(id, sizeof id, "%.26s", at != NULL ? at + 22 : id);
}

static void drive(int port, int kind, int connections, double seconds, struct kg_bench_driven *out)
{
    const struct kg_bench_drive d = {.connections = connections,
                                     .port = &port,
                                     .nports = 1,
                                     .ask = ask,
                                     .answer = answer,
                                     .seconds = seconds};
    now = kind;
    kg_bench_drive(&d, out);
}

/* So many jobs more, in batches. */
static void fill(int port, int jobs)
{
    struct kg_bench_driven got;
    left = jobs / LINES;
    while (left > 0) {
        drive(port, SUBMIT, 1, 1, &got);
    }
}

static void row(json_t *result, const char *name, const struct kg_bench_driven *got, int kind)
{
    printf("%-32s %9.0f %9.2f %9.2f\n", name, got->per_s[kind], got->p50_ms[kind],
           got->p99_ms[kind]);
    json_object_set_new(result, name,
                        json_pack("{s:f, s:f, s:f}", "per_s", got->per_s[kind], "p50_ms",
                                  got->p50_ms[kind], "p99_ms", got->p99_ms[kind]));
}

int main(int argc, char **argv)
{
    static const char *const args[] = {"--no-work", "--queue-limit", "0", NULL};
    int streams = kg_bench_count(argc, argv, 1, 0, STREAMS, STREAMS);
    int jobs = kg_bench_count(argc, argv, 2, LINES, 10000000, 100000);
    int seconds = kg_bench_count(argc, argv, 3, 1, 600, 3);
    struct kg_bench_service s;
    struct kg_bench_driven got;
    json_t *result = json_object();
    kg_buf_init(&batch, 1 << 20);
    for (int i = 0; i < LINES; i++) {
        kg_buf_addf(&batch, "{\"id\": \"l%d\", \"problem\": \"silu\", \"reply\": \"no\"}\n", i);
    }
    kg_bench_service_start(&s, "store", args);
    printf("%-32s %9s %9s %9s\n", "", "per s", "p50 ms", "p99 ms");
    drive(s.port, CLAIM, CONNECTIONS, seconds, &got);
    row(result, "claims, empty queue", &got, CLAIM);
    fill(s.port, LINES);
    snprintf(id, sizeof id, "%s", "");
    drive(s.port, READ, 1, 0.2, &got); /* the list: an id */
    drive(s.port, READ, CONNECTIONS, seconds, &got);
    row(result, "status reads, short queue", &got, READ);
    fill(s.port, jobs - LINES);
    drive(s.port, READ, CONNECTIONS, seconds, &got);
    row(result, "status reads, long queue", &got, READ);
    drive(s.port, CLAIM, CONNECTIONS, seconds, &got);
    row(result, "claims, long queue", &got, CLAIM);
    double before = kg_bench_service_mib(&s);
    kg_bench_streams_open(s.port, "/v1/events?after=9000000000000000", fd, streams);
    sleep(SETTLE_S);
    double after = kg_bench_service_mib(&s);
    printf("%d jobs wait; %d idle streams: %.1f MiB, %.1f before\n", jobs, streams, after, before);
    json_object_set_new(result, "streams", json_integer(streams));
    json_object_set_new(result, "jobs", json_integer(jobs));
    json_object_set_new(result, "streams_mib", json_real(after - before));
    kg_bench_json("svc_idle", result);
    for (int i = 0; i < streams; i++) {
        close(fd[i]);
    }
    kg_bench_service_stop(&s);
    kg_buf_deinit(&batch);
    return 0;
}
