/* How many distinct candidates of generated chains go through the gym in a second, by the presets
 * `train` and `default`, and where their time goes.
 *   build/release/bench/bench_train_eval [train problems=24] [default problems=4] [each=8] [jobs=2]
 * The problems are held-out pairs; each candidate is one of the generator's styles for its chain
 * and right, so it goes through all stages: broken ones cost less. Nothing is cached. Groups of a
 * step look like this too: a few problems with several candidates of each.
 * `whole` is from the first task to the last record: it starts the workers and builds references.
 * `steady` is the second half of the candidates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/common/chain_task.h"
#include "bench/common/host.h"
#include "gym/kgym.h"
#include "rl/chains/chains.h"

#define MOST  400
#define SPLIT 11 /* seed of the split */
#define SKIP  20 /* pairs at the front of the list, which other benches take */

struct row {
    const char *preset;
    int problems, n;
    double whole_per_s;
    struct kg_bench_tally tally;
};

static void ask(struct kgym_pool *pool, const struct rl_chain *c, struct rl_style style, int i)
{
    char tag[32];
    snprintf(tag, sizeof tag, "%d", i);
    kg_bench_chain_task(pool, c, style, tag);
}

/* Records of all tasks, in the folder's out.jsonl. */
static void collect(struct kgym_pool *pool, int tasks)
{
    struct kgym_error err;
    struct kg_buf lines;
    kg_buf_init(&lines, 256u << 20);
    for (int i = 0; i < tasks; i++) {
        struct kgym_result *r = NULL;
        kg_bench_need(kgym_next(pool, -1, &r, &err) == KGYM_OK && r, "no result: %s", err.message);
        kg_buf_addf(&lines, "%.*s\n", (int)r->record_len, r->record);
        kgym_result_free(r);
    }
    kg_bench_write("out.jsonl", lines.data, lines.len);
    kg_buf_deinit(&lines);
}

static void measure(struct row *r, const struct rl_chain *c, int each, int jobs)
{
    struct kgym_pool *pool = NULL;
    struct kgym_error err;
    const char *const settings[] = {"cache=none"};
    const struct kgym_options o = {.size = sizeof o,
                                   .preset = strcmp(r->preset, "default") == 0 ? NULL : r->preset,
                                   .settings = settings,
                                   .nsettings = 1,
                                   .workers = jobs};
    kg_bench_need(kgym_open(&o, &pool, &err) == KGYM_OK, "%s", err.message);
    int64_t began = kg_clock_ns();
    for (int k = 0; k < r->problems; k++) {
        struct rl_style style[RL_STYLES];
        int styles = rl_styles_list(&c[k], style);
        for (int i = 0; i < each && i < styles; i++) { /* spread over the list */
            ask(pool, &c[k], style[i * styles / (each < styles ? each : styles)], r->n++);
        }
    }
    collect(pool, r->n);
    r->whole_per_s = r->n / ((double)(kg_clock_ns() - began) * 1e-9);
    kgym_close(pool);
    kg_bench_tally("out.jsonl", &r->tally);
    int ok = r->tally.verdict[KG_V_OK];
    kg_bench_need(ok == r->n, "%d of %d candidates were judged ok", ok, r->n);
}

/* What a worker spends per candidate beyond the stages. */
static double rest_ms(const struct kg_bench_tally *t, int jobs)
{
    double ms = 1e3 * jobs / t->steady_per_s;
    for (int s = 0; s < KG_ST_COUNT; s++) {
        ms -= t->stage_ms[s];
    }
    return ms > 0 ? ms : 0;
}

static json_t *json_of(const struct row *r, int jobs)
{
    return json_pack("{s:s, s:i, s:i, s:f, s:f, s:o, s:f}", "preset", r->preset, "problems",
                     r->problems, "candidates", r->n, "whole_per_s", r->whole_per_s, "steady_per_s",
                     r->tally.steady_per_s, "stage_ms", kg_bench_stages(&r->tally), "rest_ms",
                     rest_ms(&r->tally, jobs));
}

int main(int argc, char **argv)
{
    struct row row[2] = {{.preset = "train"}, {.preset = "default"}};
    row[0].problems = kg_bench_count(argc, argv, 1, 1, MOST, 24);
    row[1].problems = kg_bench_count(argc, argv, 2, 1, MOST, 4);
    int each = kg_bench_count(argc, argv, 3, 2, RL_STYLES, 8);
    int jobs = kg_bench_count(argc, argv, 4, 1, 64, 2);
    struct rl_chain c[MOST + SKIP];
    struct rl_split split;
    struct kg_bench_tally tally[2];
    const char *head[2];
    double rest[2];
    json_t *rows = json_array();
    setenv("KGYM_HOME", kg_bench_build(), 1);
    rl_split_init(&split, SPLIT, 0);
    int held = (int)rl_split_list(&split, 2, true, c, MOST + SKIP) - SKIP;
    printf("%-10s %9s %11s %11s %11s\n", "preset", "problems", "candidates", "whole/s", "steady/s");
    for (int i = 0; i < 2; i++) {
        kg_bench_need(row[i].problems <= held, "only %d pairs are held out", held);
        measure(&row[i], c + SKIP, each, jobs);
        printf("%-10s %9d %11d %11.2f %11.2f\n", row[i].preset, row[i].problems, row[i].n,
               row[i].whole_per_s, row[i].tally.steady_per_s);
        head[i] = row[i].preset;
        tally[i] = row[i].tally;
        rest[i] = rest_ms(&row[i].tally, jobs);
        json_array_append_new(rows, json_of(&row[i], jobs));
    }
    printf(
        "train is %.1f times as fast (steady); where a worker's time goes per candidate, %d jobs\n",
        row[0].tally.steady_per_s / row[1].tally.steady_per_s, jobs);
    kg_bench_print_stages(head, tally, rest, 2);
    kg_bench_json("train_eval",
                  json_pack("{s:i, s:f, s:o}", "jobs", jobs, "train_of_default",
                            row[0].tally.steady_per_s / row[1].tally.steady_per_s, "rows", rows));
    return 0;
}
