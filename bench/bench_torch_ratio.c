/* How well a measurement's ratio and interval hold, by the pairs of a batch that was timed on a
 * GPU: its measurements are drawn again, two pairs at a time, stopped as evaluations are, and
 * asked for a ratio that is known.
 *   build/release/bench/bench_torch_ratio RECORDS [draws=4000]
 *
 * RECORDS: of `kgym eval --batch`; those without 8 pairs are left out. From where the twos of a
 * drawn measurement come: its own (what one says of itself), one in three from others of its
 * problem, or all from any of its problem. Rows: kgym's rule; and a mean of log ratios with a t
 * interval, stopped alike, which disturbed calls move. Columns: pairs used, and how often all 48;
 * how often the interval holds the truth, of 95 % nominal; quantiles of the error, in percent. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/host.h"
#include "gym/record/samples.h"
#include "gym/torch/timing/torch_pairs_private.h"

#define DRAWN 2                                  /* pairs at a time */
#define LOOK  ((size_t)KG_TPAIRS_DEFAULTS.pairs) /* of a block: kgym's rule looks after each */
#define LEAST (LOOK * (size_t)KG_TPAIRS_DEFAULTS.min_blocks)
#define MOST  48

struct measurement {
    char problem[65]; /* its digest */
    struct kg_pair pair[MOST];
    size_t n;
};

static struct measurement *all;
static size_t nall;
static struct kg_rng rng;

static struct kg_torch torch; /* K is 0: what a record shows is after K */
static struct kg_worker worker;
static struct kg_tpairs_result result;
static struct kg_tpairs session = {.w = &worker, .out = &result, .nnull = 1};

/* --- records --- */

/* The candidate's times by so much longer that the ratio is 1. */
static void centre(struct measurement *m)
{
    double ratio = exp(kg_pairs_log_ratio(m->pair, m->n, 0));
    for (size_t i = 0; i < m->n; i++) {
        m->pair[i].cand_ns = (int64_t)((double)m->pair[i].cand_ns * ratio);
    }
}

static void add(const json_t *record, void *ctx)
{
    (void)ctx;
    const char *digest =
        json_string_value(json_object_get(json_object_get(record, "problem"), "sha256"));
    const struct kg_timing timing = {
        .samples = json_object_get(json_object_get(record, "timing"), "samples")};
    struct kg_sample_pair sample[MOST];
    size_t n = kg_samples_pairs(&timing, sample, MOST);
    struct measurement m = {.n = (n < MOST ? n : MOST) / LOOK * LOOK};
    if (m.n < LEAST || !digest) {
        return;
    }
    snprintf(m.problem, sizeof m.problem, "%s", digest);
    for (size_t i = 0; i < m.n; i++) {
        const struct kg_sample_pair *p = &sample[i];
        m.pair[i] = (struct kg_pair){(int64_t)p->reference_ns, (int64_t)p->candidate_ns,
                                     p->candidate_first};
    }
    centre(&m);
    all = realloc(all, (nall + 1) * sizeof *all);
    KG_ASSERT(all);
    all[nall++] = m;
}

/* --- measurements drawn again --- */

static const struct measurement *any_like(const struct measurement *m)
{
    const struct measurement *other;
    do {
        other = &all[kg_rng_below(&rng, nall)];
    } while (strcmp(other->problem, m->problem) != 0);
    return other;
}

/* The first two of a measurement are the first of one. */
static void draw(double others, struct kg_pair out[MOST])
{
    const struct measurement *own = &all[kg_rng_below(&rng, nall)];
    for (size_t n = 0; n < MOST; n += DRAWN) {
        bool other = (double)kg_rng_below(&rng, 1000) < 1000 * others;
        const struct measurement *m = other ? any_like(own) : own;
        size_t two = n == 0 ? 0 : 1 + kg_rng_below(&rng, m->n / DRAWN - 1);
        memcpy(out + n, m->pair + two * DRAWN, DRAWN * sizeof *out);
    }
}

typedef struct kg_ratio (*ratio_of)(struct kg_pair *pair, size_t n);

static struct kg_ratio kgyms(struct kg_pair *pair, size_t n)
{
    struct kg_ratio r;
    result = (struct kg_tpairs_result){.pair = pair, .n = n, .block = LOOK};
    kg_tpairs_ratio(&session, &r);
    return r;
}

static struct kg_ratio plain(struct kg_pair *pair, size_t n)
{
    struct kg_ratio r;
    double l[MOST];
    for (size_t i = 0; i < n; i++) {
        l[i] = kg_pairs_log_ratio(pair + i, 1, 0);
    }
    kg_ratio_of(l, n, (int64_t)n, &r);
    return r;
}

struct row {
    double pairs, whole, holds, p50, p95, p99;
};

static struct row ask(ratio_of rule, double others, int draws)
{
    struct row r = {0};
    double *errors = malloc((size_t)draws * sizeof *errors);
    KG_ASSERT(errors);
    for (int i = 0; i < draws; i++) {
        struct kg_pair pair[MOST];
        draw(others, pair);
        size_t n = LEAST;
        struct kg_ratio got = rule(pair, n);
        while (got.half_width > session.opt.half_width && n < MOST) {
            n += LOOK;
            got = rule(pair, n);
        }
        errors[i] = fabs(log(got.ratio));
        r.pairs += (double)n / draws;
        r.whole += (n == MOST) / (double)draws;
        r.holds += (got.lo <= 1 && got.hi >= 1) / (double)draws;
    }
    r.p50 = kg_quantile(errors, (size_t)draws, 0.5);
    r.p95 = kg_quantile(errors, (size_t)draws, 0.95);
    r.p99 = kg_quantile(errors, (size_t)draws, 0.99);
    free(errors);
    return r;
}

static json_t *table(int draws)
{
    static const struct {
        const char *name;
        ratio_of rule;
    } rules[] = {{"kgym", kgyms}, {"mean and t", plain}};
    static const double others[] = {0, 0.3, 1};
    json_t *rows = json_array();
    printf("%-12s %6s | %6s %6s  %6s | error p50    p95    p99 %%\n", "rule", "others", "pairs",
           "all 48", "holds");
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
            struct row r = ask(rules[i].rule, others[k], draws);
            printf("%-12s %6.1f | %6.1f %6.3f  %6.3f |    %6.2f %6.2f %6.2f\n", rules[i].name,
                   others[k], r.pairs, r.whole, r.holds, 100 * r.p50, 100 * r.p95, 100 * r.p99);
            json_array_append_new(rows, json_pack("{s:s, s:f, s:f, s:f, s:f, s:[fff]}", "rule",
                                                  rules[i].name, "others", others[k], "pairs",
                                                  r.pairs, "all_48", r.whole, "holds", r.holds,
                                                  "error_p50_p95_p99", r.p50, r.p95, r.p99));
        }
    }
    return rows;
}

int main(int argc, char **argv)
{
    kg_worker_set_part(&worker, &kg_executor_torch, &torch);
    kg_bench_need(argc >= 2, "usage: bench_torch_ratio RECORDS [draws]: of kgym eval --batch");
    int draws = kg_bench_count(argc, argv, 2, 100, 1000000, 4000);
    session.opt = KG_TPAIRS_DEFAULTS;
    kg_bench_records_of(argv[1], add, NULL);
    kg_bench_need(nall > 0, "%s: no record with %zu pairs of a timed candidate", argv[1], LEAST);
    kg_rng_init(&rng, (struct kg_key){{3, 5}}, 0);
    printf("%zu measurements of %s, %d draws\n", nall, argv[1], draws);
    kg_bench_json("torch_ratio", json_pack("{s:i, s:i, s:o}", "measurements", (int)nall, "draws",
                                           draws, "rows", table(draws)));
    kg_rng_deinit(&rng);
    free(all);
    return 0;
}
