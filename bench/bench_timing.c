/* How well two equal kernels are told to be equal: the reference against itself, fresh processes in
 * every repetition, by four methods, on an idle host and with the other cores busy.
 *   build/release/bench/bench_timing [repetitions=200] ["5 us" "50 us" "0.5 ms" "2 ms": some of
 * them] Columns: median time; variation of the estimated time over repetitions; share of ratios
 * within 1 %; the middle 95 % of ratios; where a method gives an interval, how often it holds 1. */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "bench/common/host.h"
#include "gym/timing/lease.h"
#include "gym/timing/pairs.h"

#define MOST_REPETITIONS 2000
#define METHODS          4
#define MOST_AGAIN       20

static const struct {
    const char *name;
    int n, rounds;
} kernels[] = {{"5 us", 8192, 16}, {"50 us", 2048, 32}, {"0.5 ms", 16384, 40}, {"2 ms", 65536, 30}};
#define KERNELS ((int)(sizeof kernels / sizeof *kernels))

static const struct {
    enum kg_pairs_method method;
    const char *name;
} methods[METHODS] = {{KG_PAIRS_SINGLE, "single shot"},
                      {KG_PAIRS_MEAN, "mean of 50"},
                      {KG_PAIRS_CALIBRATED, "calibrated"},
                      {KG_PAIRS_PAIRED, "paired"}};

struct series {
    double time[MOST_REPETITIONS], ratio[MOST_REPETITIONS];
    int n, holds_one;
};

static struct series series[METHODS];
static char dir[128], build[512];
static int cpu, again; /* again: repetitions that could not be measured */

static void need(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench: %s\n", what);
        exit(2);
    }
}

static void need_ok(enum kg_code code, const struct kg_err *err)
{
    need(code == KG_OK, err->message);
}

static struct kg_problem *make_problem(int k, char *object, size_t cap)
{
    char text[2048], source[256], command[1024];
    struct kg_err err = KG_ERR_INIT;
    struct kg_problem *p = NULL;
    int n = snprintf(
        text, sizeof text,
        "/*---kgym\nname: poly\nlevel: 1\nentry: poly\ndims: {n: %d}\nargs:\n"
        "  - {name: x, type: \"f32[n]\", role: in}\n"
        "  - {name: y, type: \"f32[n]\", role: out}\n"
        "  - {name: n, type: i64, role: dim}\n---*/\n#include <stdint.h>\n"
        "void poly(const real *x, real *y, int64_t n)\n{\n"
        "    for (int64_t i = 0; i < n; i++) {\n        real v = x[i];\n"
        "        for (int k = 0; k < %d; k++) {\n            v = (v * v - x[i]) * (real)0.5;\n"
        "        }\n        y[i] = v;\n    }\n}\n",
        kernels[k].n, kernels[k].rounds);
    snprintf(source, sizeof source, "%s/poly%d.c", dir, k);
    snprintf(object, cap, "%s/poly%d.so", dir, k);
    need_ok(kg_file_write_atomic(source, text, (size_t)n, &err), &err);
    snprintf(command, sizeof command,
             "gcc -std=gnu17 -O3 -march=native -fPIC -shared -Dreal=float %s -o %s -lm", source,
             object);
    need(system(command) == 0, "gcc cannot build a kernel");
    need_ok(kg_problem_parse(text, (size_t)n, source, &p, &err), &err);
    return p;
}

static struct kg_runner_spec spec_of(const struct kg_judge *j, const char *object,
                                     const char *entry)
{
    static char program[600];
    snprintf(program, sizeof program, "%s/kgym-runner", build);
    return (struct kg_runner_spec){.program = program,
                                   .object = object,
                                   .entry = entry,
                                   .in = &j->in,
                                   .out = &j->out,
                                   .limits = {.memory_bytes = 512ll << 20,
                                              .processes = 16,
                                              .file_bytes = 1 << 20,
                                              .cpu_s = 600,
                                              .descriptors = 32},
                                   .output_bytes = 0,
                                   .cpu = cpu};
}

static void one(struct kg_pairs_input *in, int m, struct kg_pairs_result *res)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_pairs_options o = KG_PAIRS_DEFAULTS;
    struct series *s = &series[m];
    o.method = methods[m].method;
    o.trim = o.method == KG_PAIRS_MEAN ? 0 : o.trim;
    o.budget_ns = 60000000000;
    need_ok(kg_rng_secret(&in->key, &err), &err);
    if (kg_pairs_null(in, &o, res, &err) != KG_OK) { /* one of hundreds: the others still count */
        need(++again <= MOST_AGAIN, err.message);
        kg_pairs_result_deinit(res);
        return;
    }
    need(res->status == KG_PAIRS_MEASURED, res->why);
    bool trimmed = o.method == KG_PAIRS_MEAN || o.method == KG_PAIRS_CALIBRATED;
    s->time[s->n] = (double)(trimmed ? res->candidate_trimmed_ns : res->candidate_ns);
    s->ratio[s->n++] = res->ratio.ratio;
    s->holds_one += res->ratio.lo <= 1 && 1 <= res->ratio.hi;
    kg_pairs_result_deinit(res);
}

static json_t *show(const char *kernel, const char *load, int m)
{
    const struct series *s = &series[m];
    size_t n = (size_t)s->n;
    int near = 0;
    for (int i = 0; i < s->n; i++) {
        near += fabs(s->ratio[i] - 1) <= 0.01;
    }
    double cv = kg_stddev(s->time, n) / kg_mean(s->time, n);
    double lo = kg_quantile(s->ratio, n, 0.025), hi = kg_quantile(s->ratio, n, 0.975);
    bool has_interval =
        methods[m].method == KG_PAIRS_PAIRED || methods[m].method == KG_PAIRS_CALIBRATED;
    printf("%-8s %-6s %-12s %10.1f %7.2f %% %7.1f %%   %.4f .. %.4f", kernel, load, methods[m].name,
           kg_median(s->time, n) * 1e-3, 100 * cv, 100.0 * near / s->n, lo, hi);
    if (has_interval) {
        printf(" %7.1f %%", 100.0 * s->holds_one / s->n);
    }
    printf("\n");
    fflush(stdout);
    return json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:o}", "kernel", kernel, "load",
                     load, "method", methods[m].name, "median_ns", kg_median(s->time, n), "cv", cv,
                     "within_1_percent", (double)near / s->n, "ratio_p025", lo, "ratio_p975", hi,
                     "holds_1",
                     has_interval ? json_real((double)s->holds_one / s->n) : json_null());
}

/* One busy loop on every core but ours; ended by signal and with us. */
static int spin_elsewhere(pid_t *pids, int most)
{
    int n = 0, cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int c = 0; c < cores && n < most; c++) {
        pid_t pid = c == cpu ? -1 : fork();
        if (pid == 0) {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET((size_t)c, &set);
            sched_setaffinity(0, sizeof set, &set);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile unsigned i = 0;; i++) {
            }
        }
        if (pid > 0) {
            pids[n++] = pid;
        }
    }
    return n;
}

static void measure_kernel(int k, const char *load, int repetitions, struct kg_judge *j,
                           json_t *rows)
{
    char object[256], null_object[600];
    struct kg_err err = KG_ERR_INIT;
    struct kg_problem *p = make_problem(k, object, sizeof object);
    struct kg_pairs_result *res = calloc(1, sizeof *res);
    size_t in_bytes, out_bytes;
    need(res != NULL, "no memory");
    kg_pairs_region_bytes(p, &in_bytes, &out_bytes);
    need_ok(kg_judge_open(j, p, in_bytes, out_bytes, &err), &err);
    snprintf(null_object, sizeof null_object, "%s/null.so", build);
    struct kg_runner_spec ref = spec_of(j, object, "poly");
    struct kg_runner_spec null_runner = spec_of(j, null_object, "kgym_null");
    struct kg_pairs_input in = {
        .problem = p, .judge = j, .reference = &ref, .null_runner = &null_runner};
    kg_shape_default(p, &in.shape);
    memset(series, 0, sizeof series);
    for (int i = 0; i < repetitions; i++) { /* methods take turns: drift meets them alike */
        for (int m = 0; m < METHODS; m++) {
            one(&in, m, res);
        }
    }
    for (int m = 0; m < METHODS; m++) {
        json_array_append_new(rows, show(kernels[k].name, load, m));
    }
    free(res);
    kg_problem_destroy(p);
}

static void remove_dir(void)
{
    struct kg_err err = KG_ERR_INIT;
    if (kg_file_remove_tree(dir, &err) != KG_OK) {
        fprintf(stderr, "bench: %s\n", err.message);
    }
}

static void set_up(void)
{
    struct kg_err err = KG_ERR_INIT;
    cpu_set_t set;
    cpu = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    need_ok(kg_file_self_dir(build, sizeof build, &err), &err);
    char *slash = strrchr(build, '/'); /* build/release/bench */
    need(slash != NULL, "where is the build folder?");
    *slash = 0;
    snprintf(dir, sizeof dir, "/tmp/kgym-bench-timing-%d", (int)getpid());
    need_ok(kg_file_mkdirs(dir, 0755, &err), &err);
    atexit(remove_dir);
}

static int index_of(const char *name)
{
    int k = 0;
    while (k < KERNELS && strcmp(kernels[k].name, name) != 0) {
        k++;
    }
    return k;
}

int main(int argc, char **argv)
{
    long repetitions = argc > 1 ? strtol(argv[1], NULL, 10) : 200;
    struct kg_err err = KG_ERR_INIT;
    struct kg_judge judge;
    struct kg_lease lease = KG_LEASE_NONE;
    pid_t spinner[256];
    need(repetitions >= 2 && repetitions <= MOST_REPETITIONS, "2 to 2000 repetitions");
    for (int i = 2; i < argc; i++) {
        need(index_of(argv[i]) < KERNELS, "kernels: 5 us, 50 us, 0.5 ms, 2 ms");
    }
    set_up();
    need_ok(kg_lease_acquire(cpu, &lease, NULL, &err), &err);
    need_ok(kg_judge_start(cpu, &judge, &err), &err);
    json_t *rows = json_array();
    printf("reference against itself, %ld repetitions, core %d\n", repetitions, cpu);
    printf("%-8s %-6s %-12s %10s %9s %9s   %-16s %9s\n", "kernel", "load", "method", "median us",
           "cv", "in 1 %", "middle 95 %", "holds 1");
    for (int loaded = 0; loaded < 2; loaded++) {
        int n = loaded ? spin_elsewhere(spinner, 256) : 0;
        for (int k = 0; k < KERNELS; k++) {
            bool chosen = argc <= 2;
            for (int i = 2; i < argc; i++) {
                chosen = chosen || index_of(argv[i]) == k;
            }
            if (chosen) {
                measure_kernel(k, loaded ? "busy" : "idle", (int)repetitions, &judge, rows);
            }
        }
        for (int i = 0; i < n; i++) {
            kill(spinner[i], SIGKILL);
            waitpid(spinner[i], NULL, 0);
        }
    }
    kg_judge_stop(&judge);
    kg_lease_release(&lease);
    kg_bench_json("timing",
                  json_pack("{s:I, s:i, s:i, s:o}", "repetitions", (json_int_t)repetitions, "cpu",
                            cpu, "not_measured", again, "rows", rows));
    return 0;
}
