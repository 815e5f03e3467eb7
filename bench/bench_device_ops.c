/* What the operations of a device of the judge cost (gym/device/device.h): medians of microseconds
 * from the call to its end as the host sees it, and the bytes of device memory that it reads and
 * writes per second.
 *   build/release/bench/bench_device_ops [MB=64] [device=cuda:0] [repetitions=30] */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "bench/common/host.h"
#include "gym/device/device.h"
#include "gym/timing/stats.h"

#define MOST 1000

static struct kg_device d;
static struct kg_err err;
static uint64_t a, b, wide, bytes, n;
static struct kg_tbound bound;

static void op_sync(void) {}

static void op_copy(void)
{
    d.ops->copy(&d, b, a, bytes);
}

static void op_pattern(void)
{
    d.ops->pattern(&d, b, bytes, 0x7ff17ff27ff37ff4u);
}

static void op_check(void)
{
    struct kg_dspan span = {b, bytes};
    int bad;
    kg_bench_need_ok(d.ops->check(&d, &span, 1, 0x7ff17ff27ff37ff4u, &bad, &err), &err);
    kg_bench_need(bad == -1, "the pattern is not there");
}

static void digest(uint64_t of)
{
    struct kg_dspan span = {a, of};
    struct kg_digest out;
    kg_bench_need_ok(d.ops->digest(&d, &span, 1, &out, &err), &err);
}

static void op_digest(void)
{
    digest(bytes);
}

static void op_digest_small(void)
{
    digest(4096);
}

static void op_take(void)
{
    struct kg_dtake t = {.dst = b, .src = a, .bytes = bytes, .dtype = KG_TD_F32, .look = true};
    kg_bench_need_ok(d.ops->take(&d, &t, 1, 0x7ff17ff27ff37ff4u, &err), &err);
}

static void fill(uint32_t kind, enum kg_tdtype t, uint64_t count)
{
    struct kg_dj_law law = {.kind = kind, .key = {{1, 2}}, .a = 0, .b = 1};
    d.ops->fill(&d, a, t, count, &law);
}

static void op_uniform(void)
{
    fill(KG_DJ_UNIFORM, KG_TD_F32, n);
}

static void op_normal(void)
{
    fill(KG_DJ_NORMAL, KG_TD_F32, n);
}

static void op_integer(void)
{
    fill(KG_DJ_INTEGER, KG_TD_I64, n / 2);
}

static void op_widen(void)
{
    d.ops->widen(&d, wide, KG_TD_F32, a, n);
}

static void op_bounds(void)
{
    kg_bench_need_ok(
        d.ops->bounds(&d, KG_TD_F32, a, wide, n, &(struct kg_bound_ask){.k = 1}, &bound, &err),
        &err);
}

static void compare(uint64_t oracle)
{
    struct kg_tcompare c;
    kg_bench_need_ok(d.ops->compare(&d, KG_TD_F32, a, a, oracle, n, &bound, false, &c, &err), &err);
    kg_bench_need(c.pass && c.bit_equal, "a tensor is unlike itself");
}

static void op_compare_oracle(void)
{
    compare(wide);
}

static void op_compare_float(void)
{
    compare(0);
}

static void op_flush(void)
{
    d.ops->flush(&d);
}

static const struct {
    const char *what;
    void (*run)(void);
    double moves; /* bytes read and written, in tensors of `bytes`; 0: says nothing */
} ops[] = {
    {"wait for nothing", op_sync, 0},
    {"copy", op_copy, 2},
    {"pattern", op_pattern, 1},
    {"check", op_check, 1},
    {"digest", op_digest, 1},
    {"digest of 4 KB", op_digest_small, 0},
    {"fill uniform f32", op_uniform, 1},
    {"fill integer i64", op_integer, 1},
    {"fill normal f32", op_normal, 1},
    {"take, look", op_take, 4},
    {"widen", op_widen, 3},
    {"bounds", op_bounds, 21},
    {"compare with oracle", op_compare_oracle, 4},
    {"compare with float", op_compare_float, 2},
    {"flush", op_flush, 0},
};

static json_t *measure(size_t i, int repetitions)
{
    double us[MOST];
    for (int k = -2; k < repetitions; k++) {
        int64_t t = d.ops->clock(&d);
        ops[i].run();
        kg_bench_need_ok(d.ops->sync(&d, &err), &err);
        us[k < 0 ? 0 : k] = (double)(d.ops->clock(&d) - t) * 1e-3;
    }
    double mid = kg_median(us, (size_t)repetitions),
           p90 = kg_quantile(us, (size_t)repetitions, 0.9);
    double rate = ops[i].moves * (double)bytes / mid * 1e-3;
    printf("%-22s %9.1f us  p90 %9.1f  %7.0f GB/s\n", ops[i].what, mid, p90, rate);
    return json_pack("{s:s, s:f, s:f, s:f}", "op", ops[i].what, "us", mid, "p90_us", p90,
                     "gb_per_s", rate);
}

int main(int argc, char **argv)
{
    uint64_t mb = (uint64_t)kg_bench_count(argc, argv, 1, 1, 8192, 64);
    int repetitions = kg_bench_count(argc, argv, 3, 1, MOST, 30);
    int64_t t = kg_clock_ns();
    kg_bench_need_ok(kg_device_open(argc > 2 ? argv[2] : "cuda:0", &d, &err), &err);
    double opened = (double)(kg_clock_ns() - t) * 1e-6;
    bytes = mb << 20;
    n = bytes / 4;
    kg_bench_need_ok(d.ops->alloc(&d, bytes, &a, &err), &err);
    kg_bench_need_ok(d.ops->alloc(&d, bytes, &b, &err), &err);
    kg_bench_need_ok(d.ops->alloc(&d, 2 * bytes, &wide, &err), &err);
    printf("%s, %s, L2 %.1f MB, opened in %.0f ms; %llu MB\n", d.facts.name, d.facts.driver,
           (double)d.facts.l2_bytes / 1e6, opened, (unsigned long long)mb);
    json_t *all = json_array();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        json_array_append_new(all, measure(i, repetitions));
    }
    kg_bench_json("device_ops", json_pack("{s:s, s:f, s:i, s:o}", "device", d.facts.name, "open_ms",
                                          opened, "mb", (int)mb, "ops", all));
    kg_device_close(&d);
    return 0;
}
