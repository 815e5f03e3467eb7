/* What the pool costs: the same evaluations through kgym.h, with one worker, and by direct calls in
 * one process, in turns. Three kinds of task: one that is refused at once (what remains is the pool
 * itself), a cheap C evaluation without timing, and a pool's start and end.
 *   build/release/bench/bench_pool [rounds=7] [tasks=40]
 * The direct side is a process that judges on the core that the pool's worker has. Each round runs
 * both sides, in an order that alternates; figures are medians over rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/common/candidates.h"
#include "bench/common/host.h"
#include "gym/eval/evaluate.h"
#include "gym/kgym.h"
#include "gym/timing/stats.h"

#define MAX_ROUNDS 100

static int number; /* of a candidate: each text is new */

static void make(bool refused, struct kg_buf *out)
{
    kg_buf_reset(out);
    if (refused) {
        kg_buf_addf(out, "%d. One would tile the loops.\n", ++number);
        return;
    }
    const char *text = kg_bench_candidates[0].text, *at = strstr(text, "%d");
    kg_buf_addf(out, "%.*s%d%s", (int)(at - text), text, ++number, at + 2);
}

static void configure(struct kg_config *c)
{
    struct kg_err err = KG_ERR_INIT;
    kg_bench_need(kg_config_load(c, NULL, NULL, NULL, &err) == KG_OK, "%s", err.message);
    c->stage_timing = false;
    snprintf(c->cache, sizeof c->cache, "none");
}

/* In a child: a worker pins its process. Returns milliseconds per task, of the tasks alone. */
static double direct(int tasks, bool refused)
{
    int out[2];
    double ms = -1;
    kg_bench_need(pipe(out) == 0, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        struct kg_config c;
        struct kg_worker *w;
        struct kg_err err = KG_ERR_INIT;
        struct kg_buf text;
        int core = -1;
        configure(&c);
        kg_worker_cores(&core, 1);
        kg_bench_need(kg_worker_open(&c, core, NULL, &w, &err) == KG_OK, "%s", err.message);
        kg_buf_init(&text, 1 << 20);
        int64_t begun = 0;
        for (int i = -1; i < tasks; i++) { /* the first makes the problem current */
            begun = i == 0 ? kg_clock_ns() : begun;
            make(refused, &text);
            struct kg_task t = {.problem = "axpby",
                                .text = text.data,
                                .len = text.len,
                                .source = !refused,
                                .stop_after = KG_ST_PROFILE};
            struct kg_record r;
            kg_record_init(&r);
            kg_eval(w, &t, &r);
            kg_bench_need(!r.has_error, "%s", r.error.message);
            kg_record_deinit(&r);
        }
        ms = 1e-6 * (double)(kg_clock_ns() - begun) / tasks;
        kg_worker_close(w);
        _exit(write(out[1], &ms, sizeof ms) == (ssize_t)sizeof ms ? 0 : 1);
    }
    close(out[1]);
    kg_bench_need(read(out[0], &ms, sizeof ms) == (ssize_t)sizeof ms, "the direct side ended");
    waitpid(pid, NULL, 0);
    close(out[0]);
    number += tasks + 1;
    return ms;
}

static struct kgym_pool *open_pool(void)
{
    static const char *const settings[] = {"stage.timing=false", "cache=none"};
    const struct kgym_options o = {
        .size = sizeof o, .settings = settings, .nsettings = 2, .workers = 1};
    struct kgym_pool *p;
    struct kgym_error err;
    kg_bench_need(kgym_open(&o, &p, &err) == KGYM_OK, "%s", err.message);
    return p;
}

static void one(struct kgym_pool *p, bool refused, struct kg_buf *text)
{
    make(refused, text);
    const struct kgym_task t = {.size = sizeof t,
                                .problem = "axpby",
                                .text = text->data,
                                .text_len = text->len,
                                .source = !refused};
    struct kgym_result *r = NULL;
    struct kgym_error err;
    kg_bench_need(kgym_submit(p, &t, NULL, &err) == KGYM_OK &&
                      kgym_next(p, -1, &r, &err) == KGYM_OK,
                  "%s", err.message);
    kg_bench_need(r && r->error == KGYM_OK, "%s", r ? r->message : "no result");
    kgym_result_free(r);
}

/* One task at a time: nothing overlaps, so the whole cost of the way there and back shows. */
static double pooled(int tasks, bool refused)
{
    struct kgym_pool *p = open_pool();
    struct kg_buf text;
    kg_buf_init(&text, 1 << 20);
    one(p, refused, &text);
    int64_t begun = kg_clock_ns();
    for (int i = 0; i < tasks; i++) {
        one(p, refused, &text);
    }
    double ms = 1e-6 * (double)(kg_clock_ns() - begun) / tasks;
    kg_buf_deinit(&text);
    kgym_close(p);
    return ms;
}

static double start_and_end(void)
{
    int64_t begun = kg_clock_ns();
    kgym_close(open_pool());
    return 1e-6 * (double)(kg_clock_ns() - begun);
}

static json_t *compare(const char *what, int rounds, int tasks, bool refused)
{
    double d[MAX_ROUNDS], p[MAX_ROUNDS], ratio[MAX_ROUNDS], more[MAX_ROUNDS];
    for (int i = 0; i < rounds; i++) {
        d[i] = i % 2 ? direct(tasks, refused) : 0;
        p[i] = pooled(tasks, refused);
        d[i] = i % 2 ? d[i] : direct(tasks, refused);
        ratio[i] = p[i] / d[i];
        more[i] = p[i] - d[i];
    }
    size_t n = (size_t)rounds;
    double dm = kg_median(d, n), pm = kg_median(p, n), mm = kg_median(more, n);
    printf("%-28s direct %8.3f ms, pool %8.3f ms, pool more %+7.3f ms, ratio %.3f\n", what, dm, pm,
           mm, kg_median(ratio, n));
    fflush(stdout);
    return json_pack("{s:s, s:f, s:f, s:f, s:f}", "task", what, "direct_ms", dm, "pool_ms", pm,
                     "more_ms", mm, "ratio", kg_median(ratio, n));
}

int main(int argc, char **argv)
{
    int rounds = kg_bench_count(argc, argv, 1, 1, MAX_ROUNDS, 7);
    int tasks = kg_bench_count(argc, argv, 2, 1, 10000, 40);
    double start[MAX_ROUNDS];
    json_t *rows = json_array();
    setenv("KGYM_HOME", kg_bench_build(), 1);
    json_array_append_new(rows, compare("refused at once", rounds, 5 * tasks, true));
    json_array_append_new(rows, compare("C evaluation, no timing", rounds, tasks, false));
    for (int i = 0; i < rounds; i++) {
        start[i] = start_and_end();
    }
    printf("%-28s %.3f ms\n", "a pool's start and end", kg_median(start, (size_t)rounds));
    kg_bench_json("pool", json_pack("{s:i, s:i, s:f, s:o}", "rounds", rounds, "tasks", tasks,
                                    "start_ms", kg_median(start, (size_t)rounds), "rows", rows));
    return 0;
}
