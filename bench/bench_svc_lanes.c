/* How long a claim takes where many lanes wait, one job in each: the store alone, without HTTP.
 * build/release/bench/bench_svc_lanes [store=sqlite] [lanes=100000] [claims=50] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/common/host.h"
#include "bench/common/svc_redis.h"
#include "svc/store.h"

enum { GROUP = 1000, CLAIMS = 1000, TERM_MS = 30000 };

static struct kg_svc_store *store;
static const struct kg_svc_store_kind *kind;
static struct kg_err err;

static void must(enum kg_code code)
{
    kg_bench_need_ok(code, &err);
    kg_bench_need_ok(err.code, &err); /* of a call that answers in commit() */
}

static void submit(int i, char id[KG_ULID_LEN], bool *known)
{
    char problem[32];
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    snprintf(problem, sizeof problem, "sha256:%d", i);
    must(kg_ulid_new(job.id, &err));
    job.device = "cpu";
    job.configuration = "{}";
    job.problem = problem;
    job.task = "{\"text\":\"t\"}";
    job.created_ms = kg_svc_now_ms();
    must(kind->submit(store, &job, NULL, id, known, &err));
    kg_svc_job_deinit(&job);
}

static void fill(int lanes)
{
    static char id[GROUP][KG_ULID_LEN];
    static bool known[GROUP];
    for (int i = 0; i < lanes; i++) {
        if (i % GROUP == 0) {
            must(kind->begin(store, &err));
        }
        submit(i, id[i % GROUP], &known[i % GROUP]);
        if (i % GROUP == GROUP - 1 || i == lanes - 1) {
            must(kind->commit(store, &err));
        }
    }
}

static double claim_ms(void)
{
    static const char *const devices[] = {"cpu"};
    const struct kg_svc_slot slot = {.lane = ""};
    const struct kg_svc_ask ask = {.worker = "w",
                                   .devices = devices,
                                   .ndevices = 1,
                                   .slots = &slot,
                                   .nslots = 1,
                                   .term_ms = TERM_MS,
                                   .now_ms = kg_svc_now_ms()};
    struct kg_svc_job job;
    size_t of, n;
    kg_svc_job_init(&job);
    int64_t begun = kg_clock_ns();
    must(kind->begin(store, &err));
    must(kind->claim(store, &ask, &job, &of, &n, &err));
    must(kind->commit(store, &err));
    double ms = (double)(kg_clock_ns() - begun) / 1e6;
    kg_bench_need(n == 1, "no job was claimed");
    kg_svc_job_deinit(&job);
    return ms;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "sqlite";
    int lanes = kg_bench_count(argc, argv, 2, 1, 10000000, 100000);
    int claims = kg_bench_count(argc, argv, 3, 1, CLAIMS, 50);
    static double ms[CLAIMS];
    char address[300];
    pid_t pid = 0;
    bool shared = strcmp(name, "redis") == 0;
    kg_bench_need(!shared || kg_bench_redis_start(address, sizeof address, &pid),
                  "redis-server is not installed");
    kind = shared ? &kg_svc_store_redis : &kg_svc_store_sqlite;
    must(kind->open(shared ? address : kg_bench_folder(), &store, &err));
    fill(lanes);
    for (int i = 0; i < claims; i++) {
        ms[i] = claim_ms();
    }
    qsort(ms, (size_t)claims, sizeof *ms, by_value);
    double p50 = ms[claims / 2], p99 = ms[claims * 99 / 100];
    printf("%-10s %9s %12s %12s\n%-10s %9d %12.2f %12.2f\n", "store", "lanes", "claim p50 ms",
           "p99 ms", name, lanes, p50, p99);
    kg_bench_json("svc_lanes", json_pack("{s:s, s:i, s:f, s:f}", "store", name, "lanes", lanes,
                                         "p50_ms", p50, "p99_ms", p99));
    kind->close(store);
    if (shared) {
        kg_bench_redis_stop(pid);
    }
    return 0;
}
