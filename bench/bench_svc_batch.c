/* A batch through the service and the same lines by `kgym eval --batch`, in turns: evaluations a
 * second from the start of the one, or from the POST of the other one, to the last record.
 *   build/release/bench/bench_svc_batch [lines=60] [jobs=2] [rounds=3] [what=source]
 * what: source, candidates of C without a timing, each a new text; empty, replies without code,
 * whose judging costs next to nothing. Both sides have warmed up: the service runs, and its first
 * batch, like the first run of the command, is not counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/common/candidates.h"
#include "bench/common/host.h"
#include "bench/common/svc_drive.h"
#include "gym/timing/stats.h"

enum { ROUNDS = 50, PATIENCE_S = 600 };

static int number;
static bool empty;
static struct kg_buf lines;
static char batch[32];
static bool posted, done;

static void make(int n)
{
    struct kg_buf text;
    kg_buf_init(&text, 1 << 16);
    kg_buf_reset(&lines);
    for (int i = 0; i < n; i++) {
        if (empty) {
            kg_buf_reset(&text);
            kg_buf_addf(&text, "nothing %d", ++number);
            kg_bench_line(&lines, i, "axpby", "reply", text.data);
            continue;
        }
        const char *template = kg_bench_candidates[0].text, *at = strstr(template, "%d");
        kg_buf_reset(&text);
        kg_buf_addf(&text, "%.*s%d%s", (int)(at - template), template, ++number, at + 2);
        kg_bench_line(&lines, i, "axpby", "source", text.data);
    }
    kg_buf_deinit(&text);
}

static bool ask(void *ctx, int i, struct kg_bench_request *out)
{
    (void)ctx;
    (void)i;
    if (done) {
        return false;
    }
    if (!posted) {
        out->method = "POST";
        out->body = lines.data;
        out->len = lines.len;
        snprintf(out->path, sizeof out->path, "/v1/batches?set=stage.timing=no");
    } else {
        usleep(10000); /* each look reads all jobs of the batch */
        snprintf(out->path, sizeof out->path, "/v1/batches/%s", batch);
    }
    return true;
}

static void answer(void *ctx, int i, int status, const char *text, size_t len)
{
    (void)ctx;
    (void)i;
    (void)len;
    kg_bench_need(status == 200 || status == 202, "%d: %.200s", status, text);
    if (!posted) {
        snprintf(batch, sizeof batch, "%.26s", strstr(text, "\"id\":\"") + 6);
        posted = true;
    }
    done = kg_bench_json_number(text, "done") == kg_bench_json_number(text, "lines") &&
           strstr(text, "\"jobs\"") != NULL;
}

/* Seconds of one batch. */
static double by_service(int port)
{
    struct kg_bench_driven got;
    const struct kg_bench_drive d = {.connections = 1,
                                     .port = &port,
                                     .nports = 1,
                                     .ask = ask,
                                     .answer = answer,
                                     .seconds = PATIENCE_S,
                                     .stop = &done};
    const int64_t begun = kg_clock_ns();
    posted = done = false;
    kg_bench_drive(&d, &got);
    kg_bench_need(done, "a batch did not end in %d s", PATIENCE_S);
    return 1e-9 * (double)(kg_clock_ns() - begun);
}

static double by_command(int jobs)
{
    static const char *const set[] = {"stage.timing=no", NULL};
    const struct kg_bench_batch b = {
        .in = "in.jsonl", .out = "out.jsonl", .jobs = jobs, .set = set};
    kg_bench_write("in.jsonl", lines.data, lines.len);
    return kg_bench_batch_run(&b);
}

int main(int argc, char **argv)
{
    int n = kg_bench_count(argc, argv, 1, 1, 10000, 60);
    int jobs = kg_bench_count(argc, argv, 2, 1, 512, 2);
    int rounds = kg_bench_count(argc, argv, 3, 1, ROUNDS, 3);
    const char *what = argc > 4 ? argv[4] : "source";
    char count[16];
    empty = strcmp(what, "empty") == 0;
    kg_bench_need(empty || strcmp(what, "source") == 0, "what is source or empty, not %s", what);
    const char *const args[] = {"--jobs", count, NULL};
    double service[ROUNDS], command[ROUNDS];
    struct kg_bench_service s;
    snprintf(count, sizeof count, "%d", jobs);
    setenv("KGYM_CACHE", "none", 1);
    kg_buf_init(&lines, 64 << 20);
    kg_bench_service_start(&s, "store", args);
    for (int i = -1; i < rounds; i++) {
        double mine[2];
        for (int turn = 0; turn < 2; turn++) {
            int side = (turn + i) & 1;
            make(n);
            mine[side] = side ? by_command(jobs) : by_service(s.port);
        }
        if (i >= 0) {
            service[i] = mine[0];
            command[i] = mine[1];
        }
    }
    kg_bench_service_stop(&s);
    double a = kg_median(service, (size_t)rounds), b = kg_median(command, (size_t)rounds);
    printf("%d evaluations (%s), %d at once, median of %d rounds\n", n, what, jobs, rounds);
    printf("kgym eval --batch  %8.1f per s\nthe service        %8.1f per s\n", n / b, n / a);
    printf("service / command: %.3f; %.1f ms more for each evaluation\n", b / a,
           1e3 * (a - b) / n * jobs);
    kg_bench_json("svc_batch",
                  json_pack("{s:s, s:i, s:i, s:f, s:f, s:f}", "what", what, "lines", n, "jobs",
                            jobs, "service_per_s", n / a, "command_per_s", n / b, "ratio", b / a));
    kg_buf_deinit(&lines);
    return 0;
}
