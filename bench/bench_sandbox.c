/* What confinement costs: starting and ending a trivial program, compiling one small candidate, and
 * starting and ending a runner, each bare and with more and more steps of the ladder; then what
 * that is of one whole evaluation, which confines one compilation and one runner.
 *   build/release/bench/bench_sandbox [starts=300] [compilations and runners=40] [evaluations=24]
 * Variants take turns, so that drift of the host meets them alike. Milliseconds of the wall clock.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/common/candidates.h"
#include "bench/common/host.h"
#include "gym/build/cc.h"
#include "gym/run/runner.h"
#include "gym/timing/stats.h"

#define TRUE "/usr/bin/true"
#define MOST 5000
#define ROWS 12

static const uint32_t every_step = (1u << KG_STEP_COUNT) - 1;
static const uint32_t groups = KG_STEP_CGROUP;
static const uint32_t where_allowed = KG_STEP_CGROUP | KG_STEP_USERNS | KG_STEP_MOUNTNS |
                                      KG_STEP_PIDNS | KG_STEP_NETNS | KG_STEP_IPCNS | KG_STEP_UID |
                                      KG_STEP_TMPFS;

struct row {
    const char *what;
    double (*once)(uint32_t without); /* milliseconds */
    uint32_t without;
    double ms[MOST];
    size_t n;
};

static struct row rows[ROWS];
static char source[2048], scratch[320], object[600];
static struct kg_cc *cc[3]; /* bare, always, full */
static struct kg_region in_region, out_region;
static struct kg_err err;

static double ms_since(int64_t t0)
{
    return (double)(kg_clock_ns() - t0) * 1e-6;
}

static double exec_bare(uint32_t without)
{
    (void)without;
    int status;
    int64_t t0 = kg_clock_ns();
    pid_t pid = fork();
    kg_bench_need(pid >= 0, "fork failed");
    if (pid == 0) {
        execl(TRUE, TRUE, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    kg_bench_need(status == 0, TRUE " failed");
    return ms_since(t0);
}

static double exec_confined(uint32_t without)
{
    static const char *const argv[] = {TRUE, NULL};
    static const struct kg_bind bind = {TRUE, TRUE, false};
    static const int fds[] = {-1, -1, -1};
    const struct kg_sandbox_spec spec = {.profile = KG_PROFILE_COMPILE,
                                         .argv = argv,
                                         .binds = &bind,
                                         .nbinds = 1,
                                         .fds = fds,
                                         .nfds = 3,
                                         .limits = {.memory_bytes = 256 << 20,
                                                    .processes = 16,
                                                    .file_bytes = 1 << 20,
                                                    .cpu_s = 10,
                                                    .descriptors = 32},
                                         .cpu = -1,
                                         .without = without};
    struct kg_sandbox box;
    int64_t t0 = kg_clock_ns();
    kg_bench_need_ok(kg_sandbox_spawn(&spec, &box, &err), &err);
    kg_bench_need(kg_sandbox_wait(&box, kg_clock_ns() + 10000000000), "a program did not end");
    kg_bench_need(box.exit.kind == KG_EXIT_CODE && box.exit.code == 0,
                  TRUE " ended with kind %d, code %d", (int)box.exit.kind, box.exit.code);
    kg_sandbox_end(&box);
    return ms_since(t0);
}

static double driver_bare(uint32_t without)
{
    (void)without;
    int status;
    int64_t t0 = kg_clock_ns();
    waitpid(kg_bench_gcc_start("c"), &status, 0);
    kg_bench_need(status == 0, "gcc failed");
    return ms_since(t0);
}

static double compile(uint32_t without)
{
    struct kg_cc_result res;
    struct kg_cc *with = without == every_step ? cc[0] : without == where_allowed ? cc[1] : cc[2];
    int64_t t0 = kg_clock_ns();
    kg_bench_need_ok(kg_cc_build(with, KG_CC_CANDIDATE, source, strlen(source),
                                 kg_bench_candidates[0].problem, scratch, &res, &err),
                     &err);
    double ms = ms_since(t0);
    kg_bench_need(res.status == KG_CC_OK, "the candidate does not compile: %s", res.text.data);
    kg_buf_deinit(&res.text);
    return ms;
}

static double start_runner(uint32_t without)
{
    char program[600];
    snprintf(program, sizeof program, "%s/kgym-runner", kg_bench_build());
    const struct kg_runner_spec spec = {.program = program,
                                        .object = object,
                                        .entry = "kgym_null",
                                        .in = &in_region,
                                        .out = &out_region,
                                        .limits = {.memory_bytes = 512ll << 20,
                                                   .processes = 16,
                                                   .file_bytes = 1 << 20,
                                                   .cpu_s = 60,
                                                   .descriptors = 32},
                                        .output_bytes = 2048,
                                        .cpu = -1,
                                        .without = without};
    struct kg_runner r;
    enum kg_run_status status;
    int64_t t0 = kg_clock_ns();
    kg_bench_need_ok(kg_runner_start(&spec, kg_clock_ns() + 10000000000, &r, &status, &err), &err);
    kg_bench_need(status == KG_RUN_OK, "the null candidate does not load: %s", r.note);
    kg_runner_stop(&r);
    return ms_since(t0);
}

static void open_compilers(void)
{
    static const uint32_t without[] = {every_step, where_allowed, 0};
    char kgops[600];
    snprintf(kgops, sizeof kgops, "%s/kgops", kg_bench_build());
    for (int i = 0; i < 3; i++) {
        const struct kg_cc_spec spec = {.compiler = "gcc",
                                        .kgops_dir = kgops,
                                        .cpu = -1,
                                        .limits = {.memory_bytes = 1024ll << 20,
                                                   .processes = 16,
                                                   .file_bytes = 8 << 20,
                                                   .cpu_s = 20,
                                                   .descriptors = 64},
                                        .timeout_ns = 20000000000,
                                        .without = without[i]};
        kg_bench_need_ok(kg_cc_open(&spec, &cc[i], &err), &err);
    }
}

static void set_up(void)
{
    const struct kg_bench_candidate *c = &kg_bench_candidates[0];
    const char *at = strstr(c->text, "%d");
    snprintf(source, sizeof source, "%.*s%d%s", (int)(at - c->text), c->text, 1, at + 2);
    kg_bench_write("c.c", source, strlen(source));
    snprintf(scratch, sizeof scratch, "%s/build", kg_bench_folder());
    kg_bench_need(mkdir(scratch, 0755) == 0, "%s: cannot be made", scratch);
    snprintf(object, sizeof object, "%s/null.so", kg_bench_build());
    kg_bench_need_ok(kg_region_create(1 << 20, true, &in_region, &err), &err);
    kg_bench_need_ok(kg_region_map(&in_region, true, true, &err), &err);
    kg_bench_need_ok(kg_region_create(1 << 20, false, &out_region, &err), &err);
    kg_bench_need_ok(kg_region_map(&out_region, false, true, &err), &err);
    open_compilers();
}

static void plan(void)
{
    static const struct row all[ROWS] = {
        {.what = "true: fork, exec, wait", .once = exec_bare},
        {.what = "true: sandbox, no step", .once = exec_confined, .without = every_step},
        {.what = "true: always-steps", .once = exec_confined, .without = where_allowed},
        {.what = "true: and namespaces", .once = exec_confined, .without = groups},
        {.what = "true: all steps", .once = exec_confined},
        {.what = "compile: gcc, bare", .once = driver_bare},
        {.what = "compile: cc1, as, ld, bare", .once = compile, .without = every_step},
        {.what = "compile: always-steps", .once = compile, .without = where_allowed},
        {.what = "compile: all steps", .once = compile},
        {.what = "runner: no step", .once = start_runner, .without = every_step},
        {.what = "runner: always-steps", .once = start_runner, .without = where_allowed},
        {.what = "runner: all steps", .once = start_runner},
    };
    memcpy(rows, all, sizeof rows);
}

static double median_of(int i)
{
    return kg_median(rows[i].ms, rows[i].n);
}

/* Mean milliseconds of an evaluation with timing off, in the steady state. */
static double evaluation_ms(int n)
{
    struct kg_bench_tally t;
    struct kg_buf lines;
    static const char *const set[] = {"stage.timing=false", NULL};
    const struct kg_bench_batch batch = {"in.jsonl", "out.jsonl", 1, set};
    kg_buf_init(&lines, 16u << 20);
    for (int i = 0; i < n; i++) {
        kg_bench_line(&lines, i, kg_bench_candidates[0].problem, "source", source);
    }
    kg_bench_write("in.jsonl", lines.data, lines.len);
    kg_buf_deinit(&lines);
    kg_bench_batch_run(&batch);
    kg_bench_tally("out.jsonl", &t);
    kg_bench_need(t.verdict[KG_V_OK] == n, "%d of %d candidates were judged ok", t.verdict[KG_V_OK],
                  n);
    return 1e3 / t.steady_per_s;
}

static json_t *print_rows(void)
{
    json_t *list = json_array();
    printf("%-28s %6s %10s %10s %12s\n", "milliseconds", "n", "median", "p90", "over bare");
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];
        int bare = i < 5 ? 0 : i < 9 ? 6 : 9;
        double median = median_of(i), p90 = kg_quantile(r->ms, r->n, 0.9);
        printf("%-28s %6zu %10.3f %10.3f %+12.3f\n", r->what, r->n, median, p90,
               median - median_of(bare));
        json_array_append_new(list, json_pack("{s:s, s:i, s:f, s:f}", "what", r->what, "n",
                                              (int)r->n, "median_ms", median, "p90_ms", p90));
    }
    return list;
}

int main(int argc, char **argv)
{
    int starts = kg_bench_count(argc, argv, 1, 3, MOST, 300);
    int slow = kg_bench_count(argc, argv, 2, 3, MOST, 40);
    int evaluations = kg_bench_count(argc, argv, 3, 4, MOST, 24);
    set_up();
    plan();
    for (int turn = 0; turn < starts || turn < slow; turn++) {
        for (int i = 0; i < ROWS; i++) {
            if (turn < (i < 5 ? starts : slow)) {
                rows[i].ms[rows[i].n++] = rows[i].once(rows[i].without);
            }
        }
    }
    json_t *list = print_rows();
    int level = kg_sandbox_isolation(0).level;
    double whole = evaluation_ms(evaluations);
    double cost = median_of(8) - median_of(6) + median_of(11) - median_of(9);
    printf("one evaluation of `%s`, timing off: %.1f ms; confining its compilation and its runner "
           "costs %.2f ms, %.1f %% (isolation L%d)\n",
           kg_bench_candidates[0].problem, whole, cost, 100 * cost / whole, level);
    kg_bench_json("sandbox", json_pack("{s:s, s:i, s:f, s:f, s:f, s:o}", "problem",
                                       kg_bench_candidates[0].problem, "isolation_level", level,
                                       "evaluation_ms", whole, "confinement_ms", cost, "share",
                                       cost / whole, "rows", list));
    for (int i = 0; i < 3; i++) {
        kg_cc_close(cc[i]);
    }
    kg_region_destroy(&in_region);
    kg_region_destroy(&out_region);
    return 0;
}
