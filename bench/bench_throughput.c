/* How many distinct small candidates per second go through the whole funnel, against the bound that
 * the compiler alone sets on the same sources at the same parallelism, in the same run.
 *   build/release/bench/bench_throughput [candidates=96] [jobs=2] [candidates with timing=12]
 *                                        [problem ...]
 * Problems: the four of bench/common/candidates.h, or those named; `all`: every one that has an
 * example in problems/candidates, whose .fast.c is then the candidate of those beyond the four.
 * Counts are per problem. For each: gcc alone before and after (its spread is what the host adds);
 * kgym with timing off; kgym with timing on (0: not at all), where jobs take turns, because timing
 * is exclusive. No cache.
 * `whole` is from the start of the command to its end: it starts the workers, builds two references
 * in each and fills their pools of inputs. `steady` is the second half of the candidates, when most
 * of that is over. With few candidates the idle end of one job shows in `the rest`. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "bench/common/candidates.h"
#include "bench/common/host.h"

#define MOST 64

struct row {
    const char *problem;
    double gcc_before, gcc_after; /* per second, as below */
    double off, on;
    struct kg_bench_tally tally_off, tally_on;
};

/* Never freed: the bench ends soon. */
static char *own_text(const char *text, size_t n)
{
    char *copy = strndup(text, n);
    kg_bench_need(copy != NULL, "no memory");
    return copy;
}

static struct kg_bench_candidate candidate_of(const char *problem)
{
    static const char numbered[] =
        "int candidate(void);\nint candidate(void)\n{\n    return %d;\n}\n";
    char path[512];
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    for (int i = 0; i < KG_BENCH_CANDIDATES; i++) {
        if (strcmp(problem, kg_bench_candidates[i].problem) == 0) {
            return kg_bench_candidates[i];
        }
    }
    snprintf(path, sizeof path, "%s/../../problems/candidates/%s.fast.c", kg_bench_build(),
             problem);
    kg_buf_init(&b, 1u << 20);
    kg_buf_addf(&b, "%s", numbered);
    kg_bench_need_ok(kg_file_read(path, &b, &err), &err);
    struct kg_bench_candidate c = {own_text(problem, strlen(problem)), own_text(b.data, b.len)};
    kg_buf_deinit(&b);
    return c;
}

/* The names after the counts; none: the usual four. */
static int choose(int argc, char **argv, struct kg_bench_candidate out[MOST])
{
    char pattern[512];
    glob_t g;
    int n = 0;
    for (int i = 4; i < argc && strcmp(argv[4], "all") != 0 && n < MOST; i++) {
        out[n++] = candidate_of(argv[i]);
    }
    if (argc > 4 && n > 0) {
        return n;
    }
    if (argc <= 4) {
        memcpy(out, kg_bench_candidates, sizeof kg_bench_candidates);
        return KG_BENCH_CANDIDATES;
    }
    snprintf(pattern, sizeof pattern, "%s/../../problems/candidates/*.fast.c", kg_bench_build());
    kg_bench_need(glob(pattern, 0, NULL, &g) == 0, "nothing matches %s", pattern);
    for (size_t k = 0; k < g.gl_pathc && n < MOST; k++) {
        char *name = strrchr(g.gl_pathv[k], '/') + 1;
        *strchr(name, '.') = 0;
        out[n++] = candidate_of(name);
    }
    globfree(&g);
    return n;
}

static void make_sources(const struct kg_bench_candidate *c, int n, const char *batch)
{
    struct kg_buf lines, text;
    kg_buf_init(&lines, 64u << 20);
    kg_buf_init(&text, 64u << 10);
    for (int i = 0; i < n; i++) {
        char name[32];
        const char *at = strstr(c->text, "%d");
        kg_buf_reset(&text);
        kg_buf_addf(&text, "%.*s%d%s", (int)(at - c->text), c->text, i + 1, at + 2);
        snprintf(name, sizeof name, "c%d.c", i);
        kg_bench_write(name, text.data, text.len);
        kg_bench_line(&lines, i, c->problem, "source", text.data);
    }
    kg_bench_write(batch, lines.data, lines.len);
    kg_buf_deinit(&text);
    kg_buf_deinit(&lines);
}

static void compile(int i)
{
    char name[16];
    snprintf(name, sizeof name, "c%d", i);
    kg_bench_gcc_start(name);
}

/* Candidates per second of gcc alone. */
static double compile_all(int n, int jobs)
{
    int started = 0, ended = 0, status;
    int64_t t0 = kg_clock_ns();
    while (ended < n) {
        while (started < n && started - ended < jobs) {
            compile(started++);
        }
        if (wait(&status) > 0) {
            ended++;
            kg_bench_need(status == 0, "gcc failed");
        }
    }
    return n / ((double)(kg_clock_ns() - t0) * 1e-9);
}

static double judge(const char *in, int n, int jobs, bool timing, struct kg_bench_tally *t)
{
    const char *const set[] = {timing ? "stage.timing=true" : "stage.timing=false", NULL};
    const struct kg_bench_batch batch = {in, "out.jsonl", jobs, set};
    double seconds = kg_bench_batch_run(&batch);
    kg_bench_tally("out.jsonl", t);
    int ok = t->verdict[KG_V_OK];
    kg_bench_need(ok == n, "%d of %d candidates were judged ok", ok, n);
    return n / seconds;
}

static void measure(const struct kg_bench_candidate *c, int n, int few, int jobs, struct row *r)
{
    *r = (struct row){.problem = c->problem};
    make_sources(c, few, "few.jsonl");
    make_sources(c, n, "all.jsonl");
    r->gcc_before = compile_all(n, jobs);
    r->off = judge("all.jsonl", n, jobs, false, &r->tally_off);
    r->gcc_after = compile_all(n, jobs);
    if (few > 0) {
        r->on = judge("few.jsonl", few, jobs, true, &r->tally_on);
    }
}

static double gcc_of(const struct row *r)
{
    return (r->gcc_before + r->gcc_after) / 2;
}

/* What a job spends per candidate beyond the stages: setup, record, hand-out, end. */
static double rest_ms(const struct kg_bench_tally *t, int jobs)
{
    double ms = 1e3 * jobs / t->steady_per_s;
    for (int s = 0; s < KG_ST_COUNT; s++) {
        ms -= t->stage_ms[s];
    }
    return ms > 0 ? ms : 0;
}

static void print_rows(const struct row *rows, int n, int jobs)
{
    struct kg_bench_tally tally[MOST];
    const char *head[MOST];
    double rest[MOST];
    printf("%-16s %9s %9s %9s %9s %9s %9s %9s %9s\n", "candidates/s", "gcc", "gcc", "off", "off",
           "off/gcc", "off/gcc", "on", "on/gcc");
    printf("%-16s %9s %9s %9s %9s %9s %9s %9s %9s\n", "", "before", "after", "whole", "steady",
           "whole", "steady", "steady", "steady");
    for (int i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        double gcc = gcc_of(r);
        printf("%-16s %9.2f %9.2f %9.2f %9.2f %7.1f %% %7.1f %% %9.2f %7.1f %%\n", r->problem,
               r->gcc_before, r->gcc_after, r->off, r->tally_off.steady_per_s, 100 * r->off / gcc,
               100 * r->tally_off.steady_per_s / gcc, r->tally_on.steady_per_s,
               100 * r->tally_on.steady_per_s / gcc);
    }
    for (int on = 0; on < 2 && (!on || rows[0].on > 0); on++) {
        for (int i = 0; i < n; i++) {
            head[i] = rows[i].problem;
            tally[i] = on ? rows[i].tally_on : rows[i].tally_off;
            rest[i] = rest_ms(&tally[i], jobs);
        }
        printf("where a job's time goes per candidate, timing %s\n", on ? "on" : "off");
        kg_bench_print_stages(head, tally, rest, n);
    }
}

static json_t *json_of(const struct row *r, int n, int jobs)
{
    double gcc = gcc_of(r);
    json_t *o = json_pack(
        "{s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:f}", "problem", r->problem, "candidates",
        n, "gcc_before_per_s", r->gcc_before, "gcc_after_per_s", r->gcc_after, "off_per_s", r->off,
        "off_steady_per_s", r->tally_off.steady_per_s, "ratio_off", r->off / gcc,
        "ratio_off_steady", r->tally_off.steady_per_s / gcc, "stage_ms_off",
        kg_bench_stages(&r->tally_off), "rest_ms_off", rest_ms(&r->tally_off, jobs));
    if (r->on > 0) {
        json_t *on =
            json_pack("{s:i, s:f, s:f, s:o, s:f}", "candidates_on", r->tally_on.n, "on_per_s",
                      r->on, "on_steady_per_s", r->tally_on.steady_per_s, "stage_ms_on",
                      kg_bench_stages(&r->tally_on), "rest_ms_on", rest_ms(&r->tally_on, jobs));
        json_object_update(o, on);
        json_decref(on);
    }
    return o;
}

int main(int argc, char **argv)
{
    int n = kg_bench_count(argc, argv, 1, 2, 10000, 96);
    int jobs = kg_bench_count(argc, argv, 2, 1, 64, 2);
    int few = kg_bench_count(argc, argv, 3, 0, 10000, 12);
    struct row rows[MOST] = {{.problem = NULL}};
    struct kg_bench_candidate list[MOST];
    int problems = choose(argc, argv, list);
    kg_bench_need(problems > 0, "no problem to measure");
    double gcc_s = 0, off_s = 0, steady_s = 0;
    json_t *results = json_array();
    for (int i = 0; i < problems; i++) {
        measure(&list[i], n, few, jobs, &rows[i]);
        json_array_append_new(results, json_of(&rows[i], n, jobs));
        gcc_s += 1 / gcc_of(&rows[i]);
        off_s += 1 / rows[i].off;
        steady_s += 1 / rows[i].tally_off.steady_per_s;
    }
    printf("%d distinct candidates of each problem (timing on: %d), %d jobs, no cache\n", n,
           rows[0].tally_on.n, jobs);
    print_rows(rows, problems, jobs);
    printf("all %d together, timing off: %.1f %% of gcc alone whole, %.1f %% steady\n", problems,
           100 * gcc_s / off_s, 100 * gcc_s / steady_s);
    kg_bench_json("throughput",
                  json_pack("{s:i, s:i, s:f, s:f, s:o}", "candidates", n, "jobs", jobs, "ratio_off",
                            gcc_s / off_s, "ratio_off_steady", gcc_s / steady_s, "rows", results));
    return 0;
}
