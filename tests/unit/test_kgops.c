#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/opcall.h"

/* Maps, broadcasts and row operators in both widths against a naive loop in double, at extents of
 * 1, odd extents and extents on both sides of a vector. */

static const int64_t SIZES[] = {1, 2, 7, 15, 16, 17, 33, 257};
#define NSIZES (int)(sizeof SIZES / sizeof SIZES[0])

static int open_library(void **state)
{
    (void)state;
    return opcall_open();
}

static void test_scale(void **state)
{
    (void)state;
    for (int s = 0; s < NSIZES; s++) {
        int64_t n = SIZES[s];
        opcall_begin("scale");
        const double *x = opcall_in(n);
        opcall_scalar(-1.5);
        opcall_out(n);
        opcall_dim(n);
        opcall_run();
        for (int64_t i = 0; i < n; i++) {
            opcall_expect(i, -1.5 * x[i], 0);
        }
    }
}

static void test_add_and_mul(void **state)
{
    (void)state;
    for (int s = 0; s < 2 * NSIZES; s++) {
        int64_t n = SIZES[s / 2];
        opcall_begin(s % 2 ? "add" : "mul");
        const double *a = opcall_in(n), *b = opcall_in(n);
        opcall_out(n);
        opcall_dim(n);
        opcall_run();
        for (int64_t i = 0; i < n; i++) {
            opcall_expect(i, s % 2 ? a[i] + b[i] : a[i] * b[i], 1);
        }
    }
}

static void test_max(void **state)
{
    (void)state;
    for (int s = 0; s < NSIZES; s++) {
        int64_t n = SIZES[s];
        opcall_begin("max");
        const double *a = opcall_in(n), *b = opcall_in(n);
        opcall_out(n);
        opcall_dim(n);
        opcall_run();
        for (int64_t i = 0; i < n; i++) {
            opcall_expect(i, fmax(a[i], b[i]), 0);
        }
    }
}

static void test_abs_and_relu(void **state)
{
    (void)state;
    for (int s = 0; s < 2 * NSIZES; s++) {
        int64_t n = SIZES[s / 2];
        opcall_begin(s % 2 ? "abs" : "relu");
        const double *x = opcall_in(n);
        opcall_out(n);
        opcall_dim(n);
        opcall_run();
        for (int64_t i = 0; i < n; i++) {
            opcall_expect(i, s % 2 ? fabs(x[i]) : fmax(x[i], 0), 0);
        }
    }
}

static void test_abs_and_relu_keep_nan(void **state)
{
    (void)state;
    static const char *const ops[] = {"abs", "relu"};
    const float nan = NAN;
    for (int k = 0; k < 2; k++) {
        float y = 0;
        void (*map)(const float *, float *, int64_t);
        *(void **)&map = opcall_symbol(ops[k], "f32");
        map(&nan, &y, 1);
        assert_true(isnan(y));
    }
}

static void test_maps_may_work_in_place(void **state)
{
    (void)state;
    double before[33];
    opcall_begin("sigmoid");
    const double *x = opcall_in(33);
    for (int i = 0; i < 33; i++) {
        before[i] = x[i];
    }
    opcall_in_place();
    opcall_dim(33);
    opcall_run();
    for (int i = 0; i < 33; i++) {
        opcall_expect(i, 1 / (1 + exp(-before[i])), 0);
    }
}

static void test_sigmoid_gelu(void **state)
{
    (void)state;
    for (int s = 0; s < 2 * NSIZES; s++) {
        int64_t n = SIZES[s / 2];
        opcall_begin(s % 2 ? "sigmoid" : "gelu");
        const double *x = opcall_in(n);
        opcall_out(n);
        opcall_dim(n);
        opcall_run();
        for (int64_t i = 0; i < n; i++) {
            double sigmoid = 1 / (1 + exp(-x[i])), gelu = x[i] / 2 * (1 + erf(x[i] * M_SQRT1_2));
            opcall_expect(i, s % 2 ? sigmoid : gelu, 0.1);
        }
    }
}

static void test_sigmoid_at_the_ends(void **state)
{
    (void)state;
    const float x[6] = {-INFINITY, -200, -88, 88, 200, INFINITY};
    float y[6];
    void (*sigmoid)(const float *, float *, int64_t);
    *(void **)&sigmoid = opcall_symbol("sigmoid", "f32");
    sigmoid(x, y, 6);
    for (int i = 0; i < 6; i++) {
        assert_true(i < 3 ? y[i] < 1e-37f : y[i] == 1.0f);
    }
    const float nan = NAN;
    sigmoid(&nan, y, 1);
    assert_true(isnan(y[0]));
}

static void test_rsqrt(void **state)
{
    (void)state;
    const float x[3] = {0, 4, 1e-6f};
    float y[3];
    void (*rsqrt)(const float *, float, float *, int64_t);
    *(void **)&rsqrt = opcall_symbol("rsqrt", "f32");
    rsqrt(x, 0.25f, y, 3);
    assert_true(y[0] == 2.0f && fabsf(y[1] - 0.48507127f) < 1e-7f);
    opcall_begin("rsqrt");
    const double *in = opcall_in(17);
    opcall_scalar(3.0);
    opcall_out(17);
    opcall_dim(17);
    opcall_run();
    for (int64_t i = 0; i < 17; i++) {
        opcall_expect(i, 1 / sqrt(in[i] + 3), 0);
    }
}

static void broadcast(const char *op, int which)
{
    for (int s = 0; s < OPCALL_PLANES; s++) {
        int64_t rows = opcall_plane[s][0], cols = opcall_plane[s][1];
        opcall_begin(op);
        const double *x = opcall_in(rows * cols), *v = opcall_in(which < 2 ? cols : rows);
        opcall_out(rows * cols);
        opcall_run_plane(rows, cols);
        for (int64_t i = 0; i < rows * cols; i++) {
            double c = v[i % cols % (which < 2 ? cols : rows)], r = which < 2 ? 0 : v[i / cols];
            double want[4] = {x[i] + c, x[i] * c, x[i] - r, x[i] * r};
            opcall_expect(i, want[which], 1);
        }
    }
}

static void test_broadcasts(void **state)
{
    (void)state;
    broadcast("add_cols", 0);
    broadcast("mul_cols", 1);
    broadcast("sub_rows", 2);
    broadcast("mul_rows", 3);
}

static void test_causal_mask(void **state)
{
    (void)state;
    for (int s = 0; s < OPCALL_PLANES; s++) {
        int64_t rows = opcall_plane[s][0], cols = opcall_plane[s][1];
        const double *x = opcall_map_plane("causal_mask", rows, cols, rows * cols);
        for (int64_t i = 0; i < rows * cols; i++) {
            opcall_expect(i, i % cols > i / cols ? -INFINITY : x[i], 0);
        }
    }
}

static double mean_of(const double *x, int64_t n)
{
    double s = 0;
    for (int64_t j = 0; j < n; j++) {
        s += x[j];
    }
    return s / (double)n;
}

static void test_row_mean(void **state)
{
    (void)state;
    for (int s = 0; s < OPCALL_PLANES; s++) {
        int64_t rows = opcall_plane[s][0], cols = opcall_plane[s][1];
        const double *x = opcall_map_plane("row_mean", rows, cols, rows);
        for (int64_t i = 0; i < rows; i++) {
            opcall_expect(i, mean_of(x + i * cols, cols), 1);
        }
    }
}

static double max_of(const double *x, int64_t n)
{
    double m = x[0];
    for (int64_t j = 1; j < n; j++) {
        m = fmax(m, x[j]);
    }
    return m;
}

static void test_row_sum_and_row_max(void **state)
{
    (void)state;
    for (int s = 0; s < 2 * OPCALL_PLANES; s++) {
        int64_t rows = opcall_plane[s / 2][0], cols = opcall_plane[s / 2][1];
        const double *x = opcall_map_plane(s % 2 ? "row_sum" : "row_max", rows, cols, rows);
        for (int64_t i = 0; i < rows; i++) {
            const double *row = x + i * cols;
            double want = s % 2 ? mean_of(row, cols) * (double)cols : max_of(row, cols);
            opcall_expect(i, want, s % 2 ? (double)cols : 0);
        }
    }
}

static void test_argmax(void **state)
{
    (void)state;
    for (int s = 0; s < OPCALL_PLANES; s++) {
        int64_t rows = opcall_plane[s][0], cols = opcall_plane[s][1];
        opcall_begin("argmax");
        const double *x = opcall_in(rows * cols);
        opcall_out_index(rows);
        opcall_run_plane(rows, cols);
        for (int64_t i = 0; i < rows; i++) {
            int32_t best = 0;
            for (int32_t j = 1; j < cols; j++) {
                best = x[i * cols + j] > x[i * cols + best] ? j : best;
            }
            opcall_expect_index(i, best);
        }
    }
}

static void test_argmax_takes_the_first_of_equals(void **state)
{
    (void)state;
    float x[40];
    int32_t at;
    void (*argmax)(const float *, int32_t *, int64_t, int64_t);
    *(void **)&argmax = opcall_symbol("argmax", "f32");
    for (int i = 0; i < 40; i++) {
        x[i] = i == 11 || i == 21 || i == 38 ? 5.0f : -1.0f;
    }
    argmax(x, &at, 1, 40);
    assert_int_equal(at, 11);
    argmax(x, &at, 1, 9);
    assert_int_equal(at, 0);
}

static double log_sum_exp(const double *x, int64_t n)
{
    double s = 0;
    for (int64_t j = 0; j < n; j++) {
        s += exp(x[j]);
    }
    return log(s);
}

static void test_softmax_and_log_softmax(void **state)
{
    (void)state;
    for (int s = 0; s < 2 * OPCALL_PLANES; s++) {
        int64_t rows = opcall_plane[s / 2][0], cols = opcall_plane[s / 2][1];
        const double *x =
            opcall_map_plane(s % 2 ? "softmax" : "log_softmax", rows, cols, rows * cols);
        for (int64_t i = 0; i < rows * cols; i++) {
            double logp = x[i] - log_sum_exp(x + i / cols * cols, cols);
            opcall_expect(i, s % 2 ? exp(logp) : logp, s % 2 ? 0 : 1);
        }
    }
}

static void test_softmax_of_large_and_masked(void **state)
{
    (void)state;
    const float x[4] = {-1e6f, 3e4f, 3e4f, -INFINITY};
    float y[4];
    void (*softmax)(const float *, float *, int64_t, int64_t);
    *(void **)&softmax = opcall_symbol("softmax", "f32");
    softmax(x, y, 1, 4);
    assert_true(y[0] == 0 && y[1] == 0.5f && y[2] == 0.5f && y[3] == 0);
}

static void test_layer_norm(void **state)
{
    (void)state;
    for (int s = 0; s < OPCALL_PLANES; s++) {
        int64_t rows = opcall_plane[s][0], cols = opcall_plane[s][1];
        opcall_begin("layer_norm");
        const double *x = opcall_in(rows * cols), *gamma = opcall_in(cols);
        const double *beta = opcall_in(cols);
        opcall_scalar(0.125);
        opcall_out(rows * cols);
        opcall_run_plane(rows, cols);
        for (int64_t i = 0; i < rows; i++) {
            const double *row = x + i * cols;
            double mean = mean_of(row, cols), var = 0.125;
            for (int64_t j = 0; j < cols; j++) {
                var += (row[j] - mean) * (row[j] - mean) / (double)cols;
            }
            for (int64_t j = 0; j < cols; j++) {
                double want = (row[j] - mean) / sqrt(var) * gamma[j] + beta[j];
                opcall_expect(i * cols + j, want, 2);
            }
        }
    }
}

static void test_cumsum(void **state)
{
    (void)state;
    for (int s = 0; s < OPCALL_PLANES; s++) {
        int64_t rows = opcall_plane[s][0], cols = opcall_plane[s][1];
        const double *x = opcall_map_plane("cumsum", rows, cols, rows * cols);
        for (int64_t i = 0; i < rows * cols; i++) {
            int64_t first = i / cols * cols;
            opcall_expect(i, mean_of(x + first, i - first + 1) * (double)(i - first + 1), 20);
        }
    }
}

static void test_temp_is_aligned_and_whole(void **state)
{
    (void)state;
    for (int s = 0; s < NSIZES; s++) {
        float *(*temp)(int64_t);
        double *(*wide)(int64_t);
        *(void **)&temp = opcall_symbol("temp", "f32");
        *(void **)&wide = opcall_symbol("temp", "f64");
        float *a = temp(SIZES[s]);
        double *b = wide(SIZES[s]);
        assert_true((uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
        for (int64_t i = 0; i < SIZES[s]; i++) {
            a[i] = 1;
            b[i] = 1;
        }
        free(a);
        free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_add_and_mul),
        cmocka_unit_test(test_max),
        cmocka_unit_test(test_abs_and_relu),
        cmocka_unit_test(test_abs_and_relu_keep_nan),
        cmocka_unit_test(test_maps_may_work_in_place),
        cmocka_unit_test(test_sigmoid_gelu),
        cmocka_unit_test(test_sigmoid_at_the_ends),
        cmocka_unit_test(test_rsqrt),
        cmocka_unit_test(test_broadcasts),
        cmocka_unit_test(test_causal_mask),
        cmocka_unit_test(test_row_mean),
        cmocka_unit_test(test_row_sum_and_row_max),
        cmocka_unit_test(test_argmax),
        cmocka_unit_test(test_argmax_takes_the_first_of_equals),
        cmocka_unit_test(test_softmax_and_log_softmax),
        cmocka_unit_test(test_softmax_of_large_and_masked),
        cmocka_unit_test(test_layer_norm),
        cmocka_unit_test(test_cumsum),
        cmocka_unit_test(test_temp_is_aligned_and_whole),
    };
    return cmocka_run_group_tests_name("kgops", tests, open_library, NULL);
}
