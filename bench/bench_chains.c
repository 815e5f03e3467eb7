/* How much faster than its reference can a generated chain be? Candidates of the generator in
 * several styles, for chains that a split holds out, judged by the preset `default` with the stage
 * `profile`. A candidate takes about four seconds of a core; `styles` N tries the first N columns
 * of the table, and the best style can then only be better than it says.
 *   build/release/bench/bench_chains [pairs=14] [triples=6] [seed=7] [jobs=1] [styles=9]
 * Table: the speed-up by chain and style, then the median by style. Below it, what the demo needs:
 * how long references take, in T; the range of copies of the reference; on how many chains the best
 * style exceeds 1.5; and the coverage of the lazy styles, which call the library. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "bench/common/chain_task.h"
#include "bench/common/host.h"
#include "gym/kgym.h"
#include "gym/timing/stats.h"
#include "rl/chains/chains.h"

#define MAX_CHAINS 400
#define ENOUGH     1.5 /* of a best style */
#define COPY_LO    0.9
#define COPY_HI    1.1
#define LAZY       0.3 /* of a lazy style's coverage */
#define LONG       3   /* T that a reference takes */

static const struct {
    const char *name;
    struct rl_style style;
} tried[] = {
    {"copy", {.form = RL_LIBRARY}},
    {"lib rows", {.form = RL_LIBRARY_ROWS}},
    {"fused p+l", {.form = RL_OWN_FUSED, .exp = RL_EXP_POLY, .lanes = true}},
    {"rows p+l", {.form = RL_OWN_ROWS, .exp = RL_EXP_POLY, .lanes = true}},
    {"own p+l", {.form = RL_OWN, .exp = RL_EXP_POLY, .lanes = true}},
    {"own", {.form = RL_OWN}},
    {"own poly", {.form = RL_OWN, .exp = RL_EXP_POLY}},
    {"fused", {.form = RL_OWN_FUSED}},
    {"fused p", {.form = RL_OWN_FUSED, .exp = RL_EXP_POLY}},
};
#define TRIED (sizeof tried / sizeof *tried)

static size_t styles; /* of them, the first ones */

/* NaN: not measured. */
static double speedup[TRIED][MAX_CHAINS], coverage[TRIED][MAX_CHAINS], length[MAX_CHAINS];

static void ask(struct kgym_pool *pool, const struct rl_chain *c, size_t chain, size_t k)
{
    char tag[32];
    snprintf(tag, sizeof tag, "%zu %zu", chain, k);
    kg_bench_chain_task(pool, c, rl_style_plain(c, tried[k].style), tag);
}

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void take(const struct kgym_result *r, size_t k, size_t chain)
{
    json_t *record = json_loads(r->record, 0, NULL);
    const json_t *t = json_object_get(record, "timing");
    double in_t = number(t, "reference_ns") / number(t, "shortest_ns");
    speedup[k][chain] = r->speedup;
    coverage[k][chain] = number(record, "coverage");
    length[chain] = fmin(length[chain], in_t); /* fmin takes the other of a number and NaN */
    json_decref(record);
}

static void collect(struct kgym_pool *pool, size_t tasks)
{
    struct kgym_error err;
    struct kg_progress progress;
    for (size_t i = 0; i < MAX_CHAINS; i++) {
        length[i] = NAN;
    }
    kg_progress_init(&progress, stderr, "chains", (int64_t)tasks);
    for (size_t i = 0; i < tasks; i++) {
        struct kgym_result *r = NULL;
        size_t chain, k;
        kg_bench_need(kgym_next(pool, -1, &r, &err) == KGYM_OK && r, "no result: %s", err.message);
        kg_bench_need(sscanf(r->tag, "%zu %zu", &chain, &k) == 2, "a result without its tag");
        bool ok = r->verdict && strcmp(r->verdict, "ok") == 0;
        kg_bench_need(ok, "a candidate is not right: %s", r->message ? r->message : "");
        take(r, k, chain);
        kgym_result_free(r);
        kg_progress_step(&progress, (int64_t)i + 1, "");
    }
    kg_progress_end(&progress);
}

/* What was timed, of a row of the table. */
static size_t timed(const double *row, size_t n, double *out)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(row[i])) {
            out[found++] = row[i];
        }
    }
    return found;
}

static void print_rows(const struct rl_chain *c, size_t n)
{
    printf("%-26s", "chain");
    for (size_t k = 0; k < styles; k++) {
        printf(" %9s", tried[k].name);
    }
    printf("\n");
    for (size_t i = 0; i < n; i++) {
        char name[RL_CHAIN_NAME];
        rl_chain_name(&c[i], name);
        printf("%-26s", name);
        for (size_t k = 0; k < styles; k++) {
            printf(" %9.2f", speedup[k][i]);
        }
        printf("\n");
    }
}

static json_t *show_medians(size_t n)
{
    double row[MAX_CHAINS];
    json_t *medians = json_object();
    printf("%-26s", "median");
    for (size_t k = 0; k < styles; k++) {
        size_t found = timed(speedup[k], n, row);
        double median = found > 0 ? kg_median(row, found) : NAN;
        printf(" %9.2f", median);
        json_object_set_new(medians, tried[k].name,
                            isfinite(median) ? json_real(median) : json_null());
    }
    printf("\n");
    return medians;
}

/* Values of a row that lie in [lo, hi): {n, inside, lo, hi}, the latter two what was seen. */
static json_t *inside(const char *what, const double *all, size_t n, double lo, double hi)
{
    double row[2 * MAX_CHAINS], least = INFINITY, most = -INFINITY;
    size_t found = timed(all, n, row), in = 0;
    for (size_t i = 0; i < found; i++) {
        least = fmin(least, row[i]);
        most = fmax(most, row[i]);
        in += row[i] >= lo && row[i] < hi;
    }
    if (found == 0) {
        printf("%s: none was measured\n", what);
        return json_pack("{s:i}", "n", 0);
    }
    printf("%s: %.3f to %.3f, %zu of %zu within [%g, %g)\n", what, least, most, in, found, lo, hi);
    return json_pack("{s:I, s:I, s:f, s:f}", "n", (json_int_t)found, "inside", (json_int_t)in, "lo",
                     least, "hi", most);
}

static json_t *sum_up(size_t n)
{
    double best[MAX_CHAINS], lazy[2 * MAX_CHAINS];
    json_t *result = json_object();
    json_object_set_new(result, "chains", json_integer((json_int_t)n));
    json_object_set_new(result, "median", show_medians(n));
    for (size_t i = 0; i < n; i++) {
        best[i] = NAN;
        for (size_t k = 0; k < styles; k++) {
            best[i] = fmax(best[i], speedup[k][i]);
        }
        lazy[2 * i] = coverage[0][i];
        lazy[2 * i + 1] = coverage[1][i];
    }
    json_object_set_new(result, "reference_t",
                        inside("references, in T", length, n, LONG, INFINITY));
    json_object_set_new(result, "copy",
                        inside("copies of the reference", speedup[0], n, COPY_LO, COPY_HI));
    json_object_set_new(result, "best", inside("best style", best, n, ENOUGH, INFINITY));
    json_object_set_new(result, "lazy", inside("coverage of lazy styles", lazy, 2 * n, 0, LAZY));
    return result;
}

int main(int argc, char **argv)
{
    size_t npairs = (size_t)kg_bench_count(argc, argv, 1, 0, MAX_CHAINS / 2, 14);
    size_t ntriples = (size_t)kg_bench_count(argc, argv, 2, 0, MAX_CHAINS / 2, 6);
    int seed = kg_bench_count(argc, argv, 3, 0, 1 << 30, 7);
    int jobs = kg_bench_count(argc, argv, 4, 1, 256, 1);
    struct rl_chain c[MAX_CHAINS];
    struct rl_split split;
    struct kgym_pool *pool = NULL;
    struct kgym_error err;
    static const char *const settings[] = {"stage.profile=yes"};
    const struct kgym_options o = {
        .size = sizeof o, .workers = jobs, .settings = settings, .nsettings = 1};
    styles = (size_t)kg_bench_count(argc, argv, 5, 2, TRIED, TRIED);
    setenv("KGYM_HOME", kg_bench_build(), 1);
    rl_split_init(&split, (uint64_t)seed, 0);
    size_t held = rl_split_list(&split, 2, true, c, npairs);
    npairs = held < npairs ? held : npairs;
    rl_split_list(&split, 3, true, c + npairs, ntriples);
    size_t n = npairs + ntriples;
    kg_bench_need(n > 0, "no chains: pairs or triples must be above 0");
    kg_bench_need(kgym_open(&o, &pool, &err) == KGYM_OK, "%s", err.message);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < styles; k++) {
            ask(pool, &c[i], i, k);
        }
    }
    collect(pool, n * styles);
    kgym_close(pool);
    print_rows(c, n);
    kg_bench_json("chains", sum_up(n));
    return 0;
}
