/* Whether the position of an element tells how near it is: the same work done from the front, from
 * the back and from the middle out, directly after a fill, as a timed call finds it.
 *   build/release/bench/bench_pass_order [repetitions=400] [core=0]
 * The work adds 1 to each element of x into y, half a cache line at a time. Sizes are those of x
 * and y together, from a quarter of the core's second-level cache to four times; warm, and after a
 * flush. Each repetition has a fresh fill for each order, in random turns. A ratio is that of the
 * medians, front over the other; beside it the interval that the front against itself has (halves
 * of its own repetitions, drawn at random, 200 times: the middle 95 %). */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/common/host.h"
#include "gym/judge/judge.h"
#include "gym/timing/stats.h"

#define RUN      128 /* halves of lines */
#define MOST     5000
#define HALVES   200
#define SIZES    5
#define ORDERS   3
#define LEAST_L2 (256 << 10)

static const char source[] = "/*---kgym\nname: pass\nlevel: 1\nentry: pass\n"
                             "dims: {n: %ld}\n"
                             "args:\n  - {name: x, type: \"f32[n]\", role: in}\n"
                             "  - {name: y, type: \"f32[n]\", role: out}\n"
                             "  - {name: n, type: i64, role: dim}\n---*/\n"
                             "void pass(const real *x) { (void)x; }\n";
static const char *const names[ORDERS] = {"front", "back", "middle"};

static struct kg_err err;
static struct kg_rng rng;
static struct kg_judge judge;

/* Half a cache line: one register. With narrower ones the arithmetic would hide the caches. */
typedef float half_line __attribute__((vector_size(32), may_alias));

/* The middle out: a run upwards, then one downwards. */
__attribute__((target("avx2"))) static void work(int order, const half_line *restrict x,
                                                 half_line *restrict y, size_t n)
{
    for (size_t k = 0; order == 0 && k < n; k++) {
        y[k] = x[k] + 1;
    }
    for (size_t k = n; order == 1 && k-- > 0;) {
        y[k] = x[k] + 1;
    }
    for (size_t half = n / 2, k = 0; order == 2 && k < half; k += RUN) {
        for (size_t i = k; i < k + RUN; i++) {
            y[half + i] = x[half + i] + 1;
        }
        for (size_t i = k; i < k + RUN; i++) {
            y[half - 1 - i] = x[half - 1 - i] + 1;
        }
    }
}

struct row {
    bool cold;
    size_t bytes, n;
    double us[ORDERS][MOST];
};

static void once(const struct kg_problem *p, struct row *r, int order, const unsigned char *in,
                 unsigned char *out)
{
    struct kg_case c = {.law = KG_LAW_OWN};
    struct kg_layout l;
    kg_shape_default(p, &c.shape);
    kg_rng_bytes(&rng, &c.key, sizeof c.key);
    kg_bench_need_ok(kg_judge_fill(&judge, &c, false, &err), &err);
    if (r->cold) {
        kg_bench_need_ok(kg_judge_flush(&judge, &c, &err), &err);
    }
    kg_layout_plan(p, &c.shape, false, 0, 0, 0, &l);
    const half_line *x = (const void *)(in + l.offset[0]);
    half_line *y = (void *)(out + l.offset[1]);
    int64_t t0 = kg_clock_ns();
    work(order, x, y, l.bytes[0] / sizeof *x);
    r->us[order][r->n] = (double)(kg_clock_ns() - t0) * 1e-3;
}

/* The log ratios of random halves of the front's times: where 95 % of them lie. */
static double own_error(const struct row *r)
{
    double x[MOST], ratio[HALVES];
    memcpy(x, r->us[0], r->n * sizeof *x);
    for (int h = 0; h < HALVES; h++) {
        for (size_t i = r->n; i-- > 1;) {
            size_t k = kg_rng_below(&rng, i + 1);
            double other = x[k];
            x[k] = x[i];
            x[i] = other;
        }
        size_t half = r->n / 2;
        ratio[h] = fabs(log(kg_median(x, half) / kg_median(x + half, half)));
    }
    return kg_quantile(ratio, HALVES, 0.95);
}

static void measure(struct row *r, size_t repetitions)
{
    char text[sizeof source + 32];
    struct kg_problem *p;
    int len = snprintf(text, sizeof text, source, (long)(r->bytes / 2 / sizeof(float)));
    kg_bench_need_ok(kg_problem_parse(text, (size_t)len, "suite/pass.c", &p, &err), &err);
    kg_bench_need_ok(kg_judge_open(&judge, p, 0, 0, &err), &err);
    unsigned char *in = mmap(NULL, judge.in.bytes, PROT_READ, MAP_SHARED, judge.in.runner_fd, 0);
    unsigned char *out =
        mmap(NULL, judge.out.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, judge.out.runner_fd, 0);
    kg_bench_need(in != MAP_FAILED && out != MAP_FAILED, "the regions cannot be mapped");
    for (r->n = 0; r->n < repetitions; r->n++) {
        int first = (int)kg_rng_below(&rng, ORDERS);
        for (int k = 0; k < ORDERS; k++) {
            once(p, r, (first + k) % ORDERS, in, out);
        }
    }
    munmap(in, judge.in.bytes);
    munmap(out, judge.out.bytes);
    kg_problem_destroy(p);
}

static json_t *show(const struct row *r, size_t l2)
{
    double front = kg_median(r->us[0], r->n), own = own_error(r);
    printf("%6zu KB (%4.2f L2) %-4s %9.1f us", r->bytes >> 10, (double)r->bytes / (double)l2,
           r->cold ? "cold" : "warm", front);
    json_t *j = json_pack("{s:I, s:b, s:f, s:f}", "bytes", (json_int_t)r->bytes, "cold", r->cold,
                          "us", front, "own_error", own);
    for (int k = 1; k < ORDERS; k++) {
        double ratio = front / kg_median(r->us[k], r->n);
        printf("   %s %.3f", names[k], ratio);
        json_object_set_new(j, names[k], json_real(ratio));
    }
    printf("   itself within %.3f\n", exp(own));
    return j;
}

int main(int argc, char **argv)
{
    static struct row r;
    size_t repetitions = (size_t)kg_bench_count(argc, argv, 1, 20, MOST, 400);
    int core = kg_bench_count(argc, argv, 2, 0, CPU_SETSIZE - 1, 0);
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    l2 = l2 < LEAST_L2 ? LEAST_L2 : l2;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    kg_bench_need(sched_setaffinity(0, sizeof one, &one) == 0, "core %d cannot be had", core);
    struct kg_key key;
    kg_bench_need_ok(kg_rng_secret(&key, &err), &err);
    kg_rng_init(&rng, key, 0);
    kg_bench_need_ok(kg_judge_start(core, &judge, &err), &err);
    json_t *rows = json_array();
    for (int k = 0; k < 2 * SIZES; k++) {
        r.cold = k >= SIZES;
        r.bytes = (size_t)(l2 / 4) << (k % SIZES);
        measure(&r, repetitions);
        json_array_append_new(rows, show(&r, (size_t)l2));
    }
    kg_judge_stop(&judge);
    kg_bench_json("pass_order",
                  json_pack("{s:i, s:o}", "repetitions", (int)repetitions, "rows", rows));
    return 0;
}
