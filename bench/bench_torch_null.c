/* How well two equal modules are told to be equal on a GPU, by the whole path: Python runners, a
 * fresh process of the second one in every repetition, the paired protocol with all that it
 * verifies.
 *   build/release/bench/bench_torch_null [repetitions=20] [device=cuda:0] [kernels]
 *                                        [beside=repetitions/2] [blocks=128] [references=5]
 * Ratios to one reference are off together, so the repetitions of a kernel are shared out among so
 * many processes of it, one kernel after the other.
 * What the clock can tell: half-widths of 0.125 % are asked for, of so many blocks of 4 pairs at
 * most; blocks 0: as evaluations are timed. kernels: those whose name holds this. The problem
 * applies sin() in turn, a launch for each round, or multiplies matrices, which is one launch and
 * no matter of memory. Columns: median time after K; K and its spread; share of ratios within 0.5,
 * 1, 2 and 5 %; how often the interval holds 1; pairs used; share of results that are trusted.
 * Below: where the time of calls goes, by side, each ratio, and the mean of each reference's. The
 * second table: while another process makes contexts (`beside` repetitions, 0: none). Needs a GPU.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/common/gpu_runner.h"
#include "bench/common/host.h"
#include "gym/batch/batch.h"
#include "gym/eval/executor.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/timing/torch_pairs.h"

#define MOST 200

static const struct {
    const char *name;
    int length, rounds; /* about 45 us per round of 16 M; 0: a product of length by length */
} kernels[] = {{"20 us", 6 << 20, 1},  {"10 ms", 16 << 20, 220},     {"100 us", 22 << 20, 2},
               {"1 ms", 16 << 20, 22}, {"100 us, product", 1072, 0}, {"1 ms, product", 2816, 0}};
#define KERNELS ((int)(sizeof kernels / sizeof *kernels))
#define BESIDE  2 /* from here on also beside contexts */

#define EXACT 0.00125

static struct kg_worker *worker;
static struct kg_err err;
static int blocks, references;

/* Where the time of calls goes: the judge's copies, in the runner as it says, the rest (release,
 * both context switches, digest). */
enum side { NOTHING, REFERENCE, CANDIDATE, SIDES };
enum { COPIES, RUNNER, REST, PARTS };
#define CALLS (1 << 14)

/* What was seen of a kernel. */
static struct series {
    double log_ratio[MOST], time[MOST], k[3][MOST], pairs;
    int n, holds_one, repeated, trusted, loud;
    int upto[MOST]; /* repetitions, with each reference */
    struct {
        double us[PARTS][CALLS];
        size_t n;
    } part[SIDES];
} seen[KERNELS], *now;

static enum kg_code spied(struct kg_dj *j, const struct kg_dj_call *c, struct kg_dj_report *out,
                          struct kg_err *e)
{
    enum kg_code code = kg_dj_run(j, c, out, e);
    enum side side = c->command == KG_TC_NULL ? NOTHING
                     : c->port == kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].ref.port
                         ? REFERENCE
                         : CANDIDATE;
    bool timed = c->timed && j->held && (c->command == KG_TC_NULL || c->command == KG_TC_CALL);
    if (code == KG_OK && timed && now->part[side].n < CALLS) {
        size_t i = now->part[side].n++;
        double in = (double)out->call_ns * 1e-3, copies = (double)out->setup_ns * 1e-3;
        now->part[side].us[COPIES][i] = copies;
        now->part[side].us[RUNNER][i] = in;
        now->part[side].us[REST][i] = (double)out->window_ns * 1e-3 - copies - in;
    }
    return code;
}

static void show_parts(struct series *of_kernel)
{
    static const char *const of[] = {"null calls, ", "reference's, ", "candidates', "};
    static const char *const names[] = {"copies", "in the runner", "the rest"};
    for (int k = 0; k < PARTS; k++) {
        for (int s = 0; s < SIDES; s++) {
            double *us = of_kernel->part[s].us[k];
            size_t n = of_kernel->part[s].n;
            printf("         %-14s%-14s p10 %6.1f  median %6.1f  p90 %6.1f us\n", of[s], names[k],
                   kg_quantile(us, n, 0.1), kg_median(us, n), kg_quantile(us, n, 0.9));
        }
    }
}

static void open_worker(const char *device)
{
    static struct kg_config config;
    int cpu = -1;
    setenv("KGYM_HOME", kg_bench_build(), 1);
    kg_bench_need_ok(kg_config_load(&config, NULL, NULL, environ, &err), &err);
    snprintf(config.device, sizeof config.device, "%s", device);
    snprintf(config.cache, sizeof config.cache, "none");
    kg_bench_need_ok(kg_config_check(&config, &err), &err);
    kg_worker_cores(&cpu, 1);
    kg_bench_need_ok(kg_worker_open(&config, cpu, NULL, &worker, &err), &err);
}

/* Another name is another problem, and has a reference of its own. */
static void use_problem(int k, int reference)
{
    char name[32], text[800], path[512];
    bool product = kernels[k].rounds == 0;
    int n = snprintf(text, sizeof text,
                     "import torch\nimport torch.nn as nn\n\nlength = %d\nrounds = %d\n\n\n"
                     "class Model(nn.Module):\n    def forward(self, *given):\n"
                     "        x = given[0]\n"
                     "        for _ in range(rounds):\n            x = torch.sin(x)\n"
                     "        return %s\n\n\n"
                     "def get_inputs():\n    return %s\n\n\n"
                     "def get_init_inputs():\n    return []\n",
                     kernels[k].length, kernels[k].rounds, product ? "x @ given[1]" : "x",
                     product ? "[torch.randn(length, length) for _ in range(2)]"
                             : "[torch.randn(length)]");
    snprintf(name, sizeof name, "null%d_%d.py", k, reference);
    kg_bench_write(name, text, (size_t)n);
    snprintf(path, sizeof path, "%s/%s", kg_bench_folder(), name);
    kg_bench_need_ok(kg_executor_problem(worker, path, &err), &err);
}

static struct kg_tpairs_options options(void)
{
    struct kg_tpairs_options opt = KG_TPAIRS_DEFAULTS;
    opt.blocks = blocks > 0 ? blocks : opt.blocks;
    opt.half_width = blocks > 0 ? EXACT : opt.half_width;
    return opt;
}

static void repeat(struct series *s, int upto)
{
    struct kg_tpairs_options opt = options();
    while (s->n < upto) {
        struct kg_tpairs_result res;
        struct kg_key key;
        kg_bench_need_ok(kg_rng_secret(&key, &err), &err);
        kg_bench_need_ok(kg_tpairs_null(worker,
                                        &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED], &opt,
                                        key, &res, &err),
                         &err);
        bool trusted = res.status == KG_TPAIRS_MEASURED;
        if (res.status == KG_TPAIRS_LOUD) {
            s->loud++;
            kg_bench_need(s->loud <= upto, "the device is not quiet");
            kg_tpairs_result_deinit(&res);
            continue;
        }
        kg_bench_need(trusted || res.status == KG_TPAIRS_NOT_TRUSTED, "not measured: %s", res.why);
        s->trusted += trusted;
        s->log_ratio[s->n] = log(res.ratio.ratio);
        s->time[s->n] = (double)res.reference_ns * 1e-3;
        s->k[0][s->n] = (double)res.k_lease_ns * 1e-3;
        s->k[1][s->n] = (double)res.k_p10_ns * 1e-3;
        s->k[2][s->n] = (double)res.k_p90_ns * 1e-3;
        s->pairs += (double)res.ratio.pairs;
        s->holds_one += res.ratio.lo <= 1 && 1 <= res.ratio.hi;
        s->repeated += res.repeated;
        s->n++;
        kg_tpairs_result_deinit(&res);
    }
}

static double within(const struct series *s, double share)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        n += fabs(expm1(s->log_ratio[i])) <= share;
    }
    return 100.0 * n / s->n;
}

static json_t *show(const char *name, const char *load, const struct series *s)
{
    size_t n = (size_t)s->n;
    double t = kg_median(s->time, n), k[3];
    for (int i = 0; i < 3; i++) {
        k[i] = kg_median(s->k[i], n);
    }
    printf("%-16s %9.1f %7.1f %7.1f %7.1f | %6.0f %6.0f %6.0f %6.0f | %7.0f %6.1f %8d %7.0f\n",
           name, t, k[0], k[1], k[2], within(s, 0.005), within(s, 0.01), within(s, 0.02),
           within(s, 0.05), 100.0 * s->holds_one / s->n, s->pairs / s->n, s->repeated,
           100.0 * s->trusted / s->n);
    json_t *logs = json_array(), *upto = json_array();
    for (int i = 0; i < s->n; i++) {
        json_array_append_new(logs, json_real(s->log_ratio[i]));
    }
    for (int r = 0; r < references; r++) {
        json_array_append_new(upto, json_integer(s->upto[r]));
    }
    return json_pack("{s:s, s:s, s:f, s:f, s:[f,f,f], s:[f,f,f,f], s:f, s:f, s:i, s:f, s:o, s:o}",
                     "kernel", name, "load", load, "half_width", options().half_width, "median_us",
                     t, "k_us_median_p10_p90", k[0], k[1], k[2], "within_pct_0.5_1_2_5",
                     within(s, 0.005), within(s, 0.01), within(s, 0.02), within(s, 0.05), "holds_1",
                     (double)s->holds_one / s->n, "pairs", s->pairs / s->n, "repeated", s->repeated,
                     "trusted", (double)s->trusted / s->n, "references_upto", upto, "log_ratios",
                     logs);
}

static void show_ratios(const struct series *s)
{
    printf("         ratios");
    for (int r = 0, i = 0; r < references; r++) {
        double sum = 0;
        int first = i;
        for (; i < s->upto[r]; i++) {
            printf(" %.4f", exp(s->log_ratio[i]));
            sum += s->log_ratio[i];
        }
        printf(" (mean %.4f)%s", exp(sum / (i - first)), r + 1 < references ? "," : "");
    }
    printf("; %d repetitions once more, because the device was loud\n", s->loud);
}

static void table(const char *load, int from, const char *which, int repetitions, json_t *rows)
{
    int first = -1;
    memset(seen, 0, sizeof seen);
    references = references < repetitions ? references : repetitions;
    for (int r = 0; r < references; r++) {
        for (int k = from; k < KERNELS; k++) {
            if (strstr(kernels[k].name, which) != NULL) {
                first = first < 0 ? k : first;
                now = &seen[k];
                now->upto[r] = repetitions * (r + 1) / references;
                use_problem(k, r);
                repeat(now, now->upto[r]);
            }
        }
        fprintf(stderr, "%s: %d of %d references\n", load, r + 1, references);
    }
    kg_bench_need(first >= 0, "no kernel's name holds '%s'", which);
    printf("\n%s\n%-16s %9s %7s %7s %7s | %6s %6s %6s %6s | %7s %6s %8s %7s\n", load, "kernel",
           "median us", "K", "K p10", "K p90", "0.5 %", "1 %", "2 %", "5 %", "holds 1", "pairs",
           "repeated", "trusted");
    for (int k = first; k < KERNELS; k++) {
        if (seen[k].n > 0) {
            json_array_append_new(rows, show(kernels[k].name, load, &seen[k]));
            show_parts(&seen[k]);
            show_ratios(&seen[k]);
        }
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int repetitions = kg_bench_count(argc, argv, 1, 1, MOST, 20);
    const char *device = argc > 2 ? argv[2] : "cuda:0", *which = argc > 3 ? argv[3] : "";
    int beside = kg_bench_count(argc, argv, 4, 0, MOST, (repetitions + 1) / 2);
    blocks = kg_bench_count(argc, argv, 5, 0, KG_TPAIRS_BLOCKS, KG_TPAIRS_BLOCKS);
    references = kg_bench_count(argc, argv, 6, 1, MOST, 5);
    kg_bench_need_gpu(device);
    open_worker(device);
    kg_torch_test(worker)->run = spied;
    json_t *rows = json_array();
    printf("reference against itself, %d repetitions, %d processes of it, ", repetitions,
           references);
    printf(blocks > 0 ? "half-width %g %%, %d blocks at most\n" : "as evaluations are timed\n",
           100 * EXACT, blocks);
    table("alone", 0, which, repetitions, rows);
    if (beside > 0) {
        pid_t maker = kg_gpu_contexts_start();
        table("beside contexts being made", BESIDE, which, beside, rows);
        kg_gpu_contexts_stop(maker);
    }
    kg_bench_json("torch_null",
                  json_pack("{s:i, s:i, s:s, s:o}", "repetitions", repetitions, "blocks", blocks,
                            "device", kg_torch_of(worker)->judge.facts.name, "rows", rows));
    kg_worker_close(worker);
    return 0;
}
