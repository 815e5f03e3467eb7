#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/values/law.h"

#define N 5000

/* x free, v in [0.5, 3), w f64, idx in [0, 7), wide i64, y the output. */
static const char source[] =
    "/*---kgym\n"
    "name: t\nlevel: 1\nentry: t\n"
    "dims: {rows: 50, cols: 100}\n"
    "args:\n"
    "  - {name: x, type: \"f32[rows,cols]\", role: in}\n"
    "  - {name: v, type: \"f32[rows,cols]\", role: in, range: [0.5, 3]}\n"
    "  - {name: w, type: \"f64[rows,cols]\", role: in}\n"
    "  - {name: idx, type: \"i32[rows,cols]\", role: in, range: [0, 7]}\n"
    "  - {name: big, type: \"i64[rows,cols]\", role: in, range: [-9, 1000000000000]}\n"
    "  - {name: y, type: \"f32[rows,cols]\", role: out}\n"
    "---*/\n"
    "void t(const real *x) { (void)x; }\n";

struct data {
    float x[N], v[N], y[N];
    double w[N];
    int32_t idx[N];
    int64_t big[N];
    void *buf[6];
};

static struct kg_problem *problem;
static struct kg_shape shape;
static struct data d, other;

static int set_up(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    if (kg_problem_parse(source, sizeof source - 1, "t.c", &problem, &err) != KG_OK) {
        printf("%s\n", err.message);
        return -1;
    }
    kg_shape_default(problem, &shape);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kg_problem_destroy(problem);
    return 0;
}

static struct kg_key key_of(uint64_t k)
{
    return (struct kg_key){{0x1234, k}};
}

static void fill(struct data *to, enum kg_law law, uint64_t k)
{
    memset(to, 0xee, sizeof *to);
    void *buf[] = {to->x, to->v, to->w, to->idx, to->big, NULL};
    kg_law_fill(problem, &shape, law, key_of(k), buf);
}

static void names_round_trip(void **state)
{
    (void)state;
    enum kg_law law;
    for (int k = 0; k < KG_LAW_COUNT; k++) {
        assert_true(kg_law_parse(kg_law_name((enum kg_law)k), &law));
        assert_int_equal(law, k);
    }
    assert_false(kg_law_parse("gauss", &law));
    assert_false(kg_law_parse("", &law));
}

static void same_key_gives_the_same_bytes_in_every_law(void **state)
{
    (void)state;
    for (int k = 0; k < KG_LAW_COUNT; k++) {
        fill(&d, (enum kg_law)k, 7);
        fill(&other, (enum kg_law)k, 7);
        assert_memory_equal(&d, &other, sizeof d);
        fill(&other, (enum kg_law)k, 8);
        assert_memory_not_equal(d.x, other.x, sizeof d.x);
    }
}

static void outputs_are_left_alone(void **state)
{
    (void)state;
    unsigned char untouched[sizeof d.y];
    memset(untouched, 0xee, sizeof untouched);
    fill(&d, KG_LAW_OWN, 1);
    assert_memory_equal(d.y, untouched, sizeof untouched);
}

static void every_law_keeps_ranges_and_is_finite(void **state)
{
    (void)state;
    for (int k = 0; k < KG_LAW_COUNT; k++) {
        for (uint64_t key = 0; key < 20; key++) {
            fill(&d, (enum kg_law)k, key);
            for (int i = 0; i < N; i++) {
                assert_true(isfinite(d.x[i]) && isfinite(d.w[i]));
                assert_true(d.v[i] >= 0.5f && d.v[i] < 3.0f);
                assert_true(d.idx[i] >= 0 && d.idx[i] < 7);
                assert_true(d.big[i] >= -9 && d.big[i] < 1000000000000);
            }
        }
    }
}

static double mean(const float *x)
{
    double s = 0;
    for (int i = 0; i < N; i++) {
        s += x[i];
    }
    return s / N;
}

static double deviation(const float *x)
{
    double m = mean(x), s = 0;
    for (int i = 0; i < N; i++) {
        s += (x[i] - m) * (x[i] - m);
    }
    return sqrt(s / N);
}

static void moments_are_those_of_the_law(void **state)
{
    (void)state;
    static const struct {
        enum kg_law law;
        double mean, deviation, slack;
    } cases[] = {
        {KG_LAW_OWN, 0, 0.577, 0.03},       {KG_LAW_NORMAL, 0, 1, 0.06},
        {KG_LAW_UNIFORM, 0.5, 0.289, 0.02}, {KG_LAW_OFFSET, 1000, 0.577, 0.03},
        {KG_LAW_SMALL, 0, 0.577e-4, 3e-6},  {KG_LAW_LARGE, 0, 577, 30},
        {KG_LAW_BF16, 0, 0.577, 0.03},      {KG_LAW_SORTED, 0, 0.577, 0.03},
        {KG_LAW_SMALLINT, 0, 2.58, 0.15},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fill(&d, cases[k].law, 3);
        assert_true(fabs(mean(d.x) - cases[k].mean) < cases[k].slack);
        assert_true(fabs(deviation(d.x) - cases[k].deviation) < cases[k].slack);
    }
}

static void own_covers_its_range_in_f32_and_f64(void **state)
{
    (void)state;
    double lo = 9, hi = -9, wlo = 9, whi = -9, vlo = 9, vhi = -9;
    fill(&d, KG_LAW_OWN, 5);
    for (int i = 0; i < N; i++) {
        lo = fmin(lo, d.x[i]), hi = fmax(hi, d.x[i]);
        wlo = fmin(wlo, d.w[i]), whi = fmax(whi, d.w[i]);
        vlo = fmin(vlo, d.v[i]), vhi = fmax(vhi, d.v[i]);
    }
    assert_true(lo >= -1 && lo < -0.99 && hi < 1 && hi > 0.99);
    assert_true(wlo >= -1 && wlo < -0.99 && whi < 1 && whi > 0.99);
    assert_true(vlo < 0.51 && vhi > 2.99);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov's distance of 5000 draws: 1.63 / sqrt(n) at 1 %. */
static void normal_has_the_normal_distribution(void **state)
{
    (void)state;
    double distance = 0;
    fill(&d, KG_LAW_NORMAL, 11);
    qsort(d.x, N, sizeof *d.x, by_value);
    for (int i = 0; i < N; i++) {
        double cdf = 0.5 * erfc(-d.x[i] / sqrt(2));
        distance = fmax(distance, fabs(cdf - (i + 0.5) / N));
    }
    assert_true(distance < 1.63 / sqrt(N));
    assert_true(d.x[N - 1] > 3 && d.x[N - 1] < 6 && d.x[0] < -3 && d.x[0] > -6);
}

static void heavy_tail_reaches_far_and_is_clipped(void **state)
{
    (void)state;
    float most = 0;
    for (uint64_t key = 0; key < 20; key++) {
        fill(&d, KG_LAW_HEAVY, key);
        for (int i = 0; i < N; i++) {
            assert_true(fabsf(d.x[i]) <= 1e4f);
            most = fmaxf(most, fabsf(d.x[i]));
        }
    }
    assert_true(most > 50);
}

static void sparse_is_mostly_zero(void **state)
{
    (void)state;
    int zeros = 0, low = 0;
    fill(&d, KG_LAW_SPARSE, 2);
    for (int i = 0; i < N; i++) {
        zeros += d.x[i] == 0;
        low += d.v[i] == 0.5f;
    }
    assert_in_range(zeros, N * 94 / 100, N * 96 / 100);
    assert_in_range(low, N * 94 / 100, N * 96 / 100);
}

static void outlier_is_one_element(void **state)
{
    (void)state;
    for (uint64_t key = 0; key < 10; key++) {
        int odd = 0;
        fill(&d, KG_LAW_OUTLIER, key);
        float common = d.x[0] == d.x[1] ? d.x[0] : d.x[2];
        for (int i = 0; i < N; i++) {
            odd += d.x[i] != common;
            assert_true(d.x[i] == common || fabsf(d.x[i]) == 1e3f);
        }
        assert_int_equal(odd, 1);
    }
}

static void sorted_rises_or_falls(void **state)
{
    (void)state;
    int rising = 0, irising = 0;
    for (uint64_t key = 0; key < 20; key++) {
        fill(&d, KG_LAW_SORTED, key);
        bool up = d.x[0] < d.x[N - 1], iup = d.idx[0] < d.idx[N - 1];
        for (int i = 1; i < N; i++) {
            assert_true(up ? d.x[i - 1] <= d.x[i] : d.x[i - 1] >= d.x[i]);
            assert_true(iup ? d.idx[i - 1] <= d.idx[i] : d.idx[i - 1] >= d.idx[i]);
        }
        rising += up;
        irising += iup;
    }
    assert_in_range(rising, 3, 17);
    assert_in_range(irising, 3, 17);
}

static void mixed_scales_rows(void **state)
{
    (void)state;
    float least = INFINITY, most = 0;
    fill(&d, KG_LAW_MIXED, 4);
    for (int row = 0; row < 50; row++) {
        float m = 0;
        for (int i = 0; i < 100; i++) {
            m = fmaxf(m, fabsf(d.x[row * 100 + i]));
        }
        least = fminf(least, m);
        most = fmaxf(most, m);
    }
    assert_true(most / least > 1e3f && most <= 1024);
}

static void piecewise_mixes_laws(void **state)
{
    (void)state;
    int integers = 0, wide = 0;
    for (uint64_t key = 0; key < 40; key++) {
        fill(&d, KG_LAW_PIECEWISE, key);
        for (int i = 0; i < N; i++) {
            integers += d.x[i] == floorf(d.x[i]);
            wide += fabsf(d.x[i]) > 1;
        }
    }
    assert_true(integers > N && wide > N && integers < 36 * N && wide < 36 * N);
}

static void small_integers_are_small_integers(void **state)
{
    (void)state;
    int seen[9] = {0};
    fill(&d, KG_LAW_SMALLINT, 6);
    for (int i = 0; i < N; i++) {
        assert_true(d.x[i] == floorf(d.x[i]) && fabsf(d.x[i]) <= 4);
        assert_true(d.v[i] == 1 || d.v[i] == 2); /* what [0.5, 3) holds */
        seen[(int)d.x[i] + 4]++;
    }
    for (int k = 0; k < 9; k++) {
        assert_true(seen[k] > N / 18);
    }
}

static bool is_wide(double x)
{
    return fabs(x) >= 4096 && fabs(x) < 8192 && fmod(fabs(x), 2) == 1;
}

/* One float input is wide and the others small; every float input's turn comes. A wide value times
 * a small one stays below 2^15, so a sum of 512 products is exact in f32. */
static void wide_integers_are_odd_with_13_bits(void **state)
{
    (void)state;
    int x_wide = 0, w_wide = 0;
    for (uint64_t key = 0; key < 40; key++) {
        int x = 0, w = 0, small = 0;
        fill(&d, KG_LAW_WIDEINT, key);
        for (int i = 0; i < N; i++) {
            x += is_wide(d.x[i]);
            w += is_wide(d.w[i]);
            small += fabsf(d.x[i]) <= 4 && d.x[i] == floorf(d.x[i]);
        }
        assert_true((x == N && small == 0) || (x == 0 && small == N));
        assert_true(w == N || w == 0);
        assert_true(!(x && w));
        x_wide += x == N;
        w_wide += w == N;
    }
    assert_true(x_wide > 4 && w_wide > 4);
}

static void equal_is_equal(void **state)
{
    (void)state;
    fill(&d, KG_LAW_EQUAL, 9);
    for (int i = 1; i < N; i++) {
        assert_true(d.x[i] == d.x[0] && d.v[i] == d.v[0] && d.w[i] == d.w[0]);
        assert_true(d.idx[i] == d.idx[0] && d.big[i] == d.big[0]);
    }
}

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static void bf16_values_have_eight_bits(void **state)
{
    (void)state;
    fill(&d, KG_LAW_BF16, 10);
    for (int i = 0; i < N; i++) {
        assert_int_equal(bits_of(d.x[i]) & 0xffff, 0);
        assert_int_equal(bits_of(d.v[i]) & 0xffff, 0);
    }
}

static void spike_is_one_huge_value_often_at_the_end(void **state)
{
    (void)state;
    int in_x = 0, in_tail = 0;
    for (uint64_t key = 0; key < 200; key++) {
        int spikes = 0, zero = 0, six = 0;
        fill(&d, KG_LAW_SPIKE, key);
        for (int i = 0; i < N; i++) {
            bool huge = fabsf(d.x[i]) == 1e4f;
            spikes += huge + (fabs(d.w[i]) == 1e4);
            in_x += huge;
            in_tail += huge && i >= N - 16;
            zero += d.idx[i] == 0;
            six += d.idx[i] == 6;
            assert_true(huge || fabsf(d.x[i]) <= 1);
        }
        assert_true(spikes <= 1); /* none where the input with a range got it */
        assert_true(zero > 0 && six > 0);
    }
    assert_in_range(in_x, 30, 110); /* a third of 200 */
    assert_in_range(in_tail, in_x / 8, in_x * 2 / 3);
}

static void spike_puts_both_edges_into_integers(void **state)
{
    (void)state;
    for (uint64_t key = 0; key < 30; key++) {
        int low = 0, high = 0;
        fill(&d, KG_LAW_SPIKE, key);
        for (int i = 0; i < N; i++) {
            low += d.big[i] == -9;
            high += d.big[i] == 999999999999;
        }
        assert_int_equal(low, 1);
        assert_int_equal(high, 1);
    }
}

/* Strays of one fill: their number; of the large ones their number, sum of signs and inputs. */
struct strays {
    int n, large, signs, in_x, moderate;
};

static void count_stray(struct strays *s, double v, bool in_x)
{
    double a = fabs(v);
    if (a <= 1) {
        return;
    }
    assert_true((a >= 2 && a < 64) || (a >= 90 && a < 256) || (a >= 1e3 && a < 1e4));
    s->n++;
    s->moderate += a < 64;
    s->large += a >= 90;
    s->signs += a >= 90 ? (v > 0 ? 1 : -1) : 0;
    s->in_x += a >= 90 && in_x;
}

static void strays_are_few_and_moderate_to_large(void **state)
{
    (void)state;
    int large = 0, moderate = 0, all = 0, ends = 0, even = 0, places[4] = {0};
    for (uint64_t key = 0; key < 600; key++) {
        struct strays s = {0};
        fill(&d, KG_LAW_STRAYS, key);
        fill(&other, KG_LAW_OWN, key);
        int differ = 0;
        for (int i = 0; i < N; i++) {
            bool x = d.x[i] != other.x[i], v = d.v[i] != other.v[i], w = d.w[i] != other.w[i];
            assert_true(d.idx[i] == other.idx[i] && d.big[i] == other.big[i]);
            count_stray(&s, d.x[i], true);
            count_stray(&s, d.w[i], false);
            assert_true(!v || d.v[i] == 0.5f || d.v[i] == nextafterf(3, 0));
            differ += x + v + w;
            ends += v;
            even += (x || w) && i % 2 == 0;
            places[i / (N / 4)] += x || w;
        }
        assert_in_range(differ, 1, 8);
        assert_true(s.large == 0 || (s.large == 2 && s.signs == 0 && s.in_x % 2 == 0));
        large += s.large > 0;
        moderate += s.moderate;
        all += s.n;
    }
    assert_in_range(large, 260, 380); /* 480, less those in the input with a range */
    assert_true(moderate > 1000 && ends > 500);
    assert_in_range(even, all * 2 / 5, all * 3 / 5);
    for (int k = 0; k < 4; k++) {
        assert_in_range(places[k], all / 6, all / 3);
    }
}

/* An honest kernel may lose everything beside a huge value; then the problem leaves out `spike`. */
static void strays_are_moderate_where_spike_is_left_out(void **state)
{
    (void)state;
    struct strays s = {0};
    problem->laws_off = 1u << KG_LAW_SPIKE;
    for (uint64_t key = 0; key < 200; key++) {
        fill(&d, KG_LAW_STRAYS, key);
        for (int i = 0; i < N; i++) {
            count_stray(&s, d.x[i], true);
        }
    }
    problem->laws_off = 0;
    assert_true(s.large == 0 && s.moderate > 200);
}

static void precision_has_full_significands_and_one_power_of_two(void **state)
{
    (void)state;
    double sum = 0;
    fill(&d, KG_LAW_PRECISION, 12);
    int e;
    for (int i = 0; i < N; i++) {
        assert_int_equal(bits_of(d.x[i]) & 1, 1);
        assert_true(fabsf(d.x[i]) >= 1 && fabsf(d.x[i]) < 2);
        assert_true(d.v[i] == d.v[0] && d.w[i] == d.w[0]);
        sum += d.x[i];
    }
    assert_true(fabs(sum / N) < 0.1);
    assert_true(frexp(d.v[0], &e) == 0.5 && frexp(d.w[0], &e) == 0.5);
}

/* Differences between two fills, as (argument, index) of the only one. */
static int differences(int *arg, int *at)
{
    int n = 0;
    for (int i = 0; i < N; i++) {
        bool differs[] = {d.x[i] != other.x[i], d.v[i] != other.v[i], d.w[i] != other.w[i],
                          d.idx[i] != other.idx[i], d.big[i] != other.big[i]};
        for (int k = 0; k < 5; k++) {
            if (differs[k]) {
                n++;
                *arg = k;
                *at = i;
            }
        }
    }
    return n;
}

static void an_edit_changes_exactly_one_element(void **state)
{
    (void)state;
    int hits[5] = {0};
    for (uint64_t key = 0; key < 60; key++) {
        int arg = -1, at = -1;
        fill(&d, KG_LAW_OWN, key);
        memcpy(&other, &d, sizeof d);
        void *buf[] = {d.x, d.v, d.w, d.idx, d.big, NULL};
        kg_law_edit(problem, &shape, key_of(key), buf);
        assert_int_equal(differences(&arg, &at), 1);
        hits[arg]++;
        assert_int_equal(at % 2, 1);
        assert_true(d.v[at] >= 0.5f && d.v[at] < 3 && d.idx[at] >= 0 && d.idx[at] < 7);
        assert_true(d.big[at] >= -9 && d.big[at] < 1000000000000);
    }
    for (int k = 0; k < 5; k++) {
        assert_true(hits[k] > 2);
    }
}

/* Every odd place but the last; any place where there are fewer than four. */
static void edits_avoid_the_ends(void **state)
{
    (void)state;
    struct kg_rng r;
    kg_rng_init(&r, key_of(3), 1);
    for (uint64_t n = 1; n < 10; n++) {
        unsigned seen = 0, odd = 0;
        for (uint64_t i = 1; i + 1 < n; i += 2) {
            odd |= 1u << i;
        }
        for (int k = 0; k < 200; k++) {
            seen |= 1u << kg_edit_place(&r, n);
        }
        assert_int_equal(seen, n < 4 ? (1u << n) - 1 : odd);
    }
    kg_rng_deinit(&r);
}

static void one_element_works_in_every_law(void **state)
{
    (void)state;
    struct kg_shape one = {.dim = {1, 1}};
    for (int k = 0; k < KG_LAW_COUNT; k++) {
        for (uint64_t key = 0; key < 8; key++) {
            void *buf[] = {d.x, d.v, d.w, d.idx, d.big, NULL};
            d.x[1] = 77;
            kg_law_fill(problem, &one, (enum kg_law)k, key_of(key), buf);
            kg_law_edit(problem, &one, key_of(key), buf);
            assert_true(isfinite(d.x[0]) && d.x[1] == 77);
        }
    }
}

/* The bytes are part of a record's replay: a change of these values is a change of format. */
static void values_are_pinned(void **state)
{
    (void)state;
    static const struct {
        enum kg_law law;
        uint64_t sum;
    } cases[] = {
        {KG_LAW_OWN, 0x8b4d63d8f3618602},    {KG_LAW_NORMAL, 0x34abfe1bc2d23edb},
        {KG_LAW_HEAVY, 0xaf064dccdbe1b2f1},  {KG_LAW_PIECEWISE, 0xdd5c10a630961a66},
        {KG_LAW_BF16, 0x2ef42e4eb925f6ed},   {KG_LAW_PRECISION, 0x904d0624120baa9f},
        {KG_LAW_STRAYS, 0x129eb673aec019a8},
    };
    int wrong = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint64_t h = 1469598103934665603u;
        fill(&d, cases[k].law, 42);
        const void *arrays[] = {d.x, d.v, d.idx};
        for (size_t a = 0; a < 3; a++) {
            for (size_t i = 0; i < N * 4; i++) {
                h = (h ^ ((const unsigned char *)arrays[a])[i]) * 1099511628211u;
            }
        }
        if (h != cases[k].sum) {
            printf("%s: 0x%016llx\n", kg_law_name(cases[k].law), (unsigned long long)h);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* The bound grows with the square root of what is counted. */
static void equal_terms_count_squared(void **state)
{
    (void)state;
    for (int law = 0; law < KG_LAW_COUNT; law++) {
        bool alike = law == KG_LAW_EQUAL || law == KG_LAW_OUTLIER || law == KG_LAW_PIECEWISE ||
                     law == KG_LAW_SORTED || law == KG_LAW_STRAYS;
        assert_int_equal(kg_law_terms((enum kg_law)law, 768), alike ? 768 * 768 : 768);
        assert_int_equal(kg_law_terms((enum kg_law)law, 1), 1);
        assert_true(kg_law_terms((enum kg_law)law, INT64_MAX) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_terms_count_squared),
        cmocka_unit_test(names_round_trip),
        cmocka_unit_test(same_key_gives_the_same_bytes_in_every_law),
        cmocka_unit_test(outputs_are_left_alone),
        cmocka_unit_test(every_law_keeps_ranges_and_is_finite),
        cmocka_unit_test(moments_are_those_of_the_law),
        cmocka_unit_test(own_covers_its_range_in_f32_and_f64),
        cmocka_unit_test(normal_has_the_normal_distribution),
        cmocka_unit_test(heavy_tail_reaches_far_and_is_clipped),
        cmocka_unit_test(sparse_is_mostly_zero),
        cmocka_unit_test(outlier_is_one_element),
        cmocka_unit_test(sorted_rises_or_falls),
        cmocka_unit_test(mixed_scales_rows),
        cmocka_unit_test(piecewise_mixes_laws),
        cmocka_unit_test(small_integers_are_small_integers),
        cmocka_unit_test(wide_integers_are_odd_with_13_bits),
        cmocka_unit_test(equal_is_equal),
        cmocka_unit_test(bf16_values_have_eight_bits),
        cmocka_unit_test(spike_is_one_huge_value_often_at_the_end),
        cmocka_unit_test(spike_puts_both_edges_into_integers),
        cmocka_unit_test(strays_are_few_and_moderate_to_large),
        cmocka_unit_test(strays_are_moderate_where_spike_is_left_out),
        cmocka_unit_test(precision_has_full_significands_and_one_power_of_two),
        cmocka_unit_test(an_edit_changes_exactly_one_element),
        cmocka_unit_test(edits_avoid_the_ends),
        cmocka_unit_test(one_element_works_in_every_law),
        cmocka_unit_test(values_are_pinned),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
