#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../support/opcall.h"

/* Products, operators on planes and table look-ups in both widths against a naive loop in double,
 * at extents of 1, odd extents and extents on both sides of a vector, a tile and a block. */

static int open_library(void **state)
{
    (void)state;
    return opcall_open();
}

static void product(const char *op, int nt, int64_t m, int64_t n, int64_t k)
{
    opcall_begin(op);
    const double *a = opcall_in(m * k), *b = opcall_in(k * n);
    opcall_out(m * n);
    opcall_dim(m);
    opcall_dim(n);
    opcall_dim(k);
    opcall_run();
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double s = 0;
            for (int64_t l = 0; l < k; l++) {
                s += a[i * k + l] * (nt ? b[j * k + l] : b[l * n + j]);
            }
            opcall_expect(i * n + j, s, (double)k);
        }
    }
}

static void test_matmul(void **state)
{
    (void)state;
    static const int64_t S[][3] = {{1, 1, 1},   {1, 17, 3},   {5, 1, 9},
                                   {7, 33, 31}, {3, 515, 16}, {9, 21, 261}};
    for (int s = 0; s < 6; s++) {
        product("matmul", 0, S[s][0], S[s][1], S[s][2]);
        product("matmul_nt", 1, S[s][0], S[s][1], S[s][2]);
    }
}

/* d: batch, cin, h, w, cout, kh, kw; one output element. */
static double conv_at(const double *x, const double *f, const int64_t *d, int64_t at)
{
    int64_t oh = d[2] - d[5] + 1, ow = d[3] - d[6] + 1;
    int64_t j = at % ow, i = at / ow % oh, o = at / ow / oh % d[4], b = at / ow / oh / d[4];
    double s = 0;
    for (int64_t t = 0; t < d[1] * d[5] * d[6]; t++) {
        int64_t q = t % d[6], p = t / d[6] % d[5], c = t / d[6] / d[5];
        s += x[((b * d[1] + c) * d[2] + i + p) * d[3] + j + q] * f[o * d[1] * d[5] * d[6] + t];
    }
    return s;
}

static void test_conv2d(void **state)
{
    (void)state;
    static const int64_t S[][7] = {{1, 1, 1, 1, 1, 1, 1},
                                   {2, 3, 9, 19, 5, 3, 2},
                                   {1, 2, 5, 4, 1, 5, 4},
                                   {3, 1, 6, 35, 2, 1, 3}};
    for (int s = 0; s < 4; s++) {
        const int64_t *d = S[s];
        int64_t n = d[0] * d[4] * (d[2] - d[5] + 1) * (d[3] - d[6] + 1);
        opcall_begin("conv2d");
        const double *x = opcall_in(d[0] * d[1] * d[2] * d[3]);
        const double *f = opcall_in(d[4] * d[1] * d[5] * d[6]);
        opcall_out(n);
        for (int k = 0; k < 7; k++) {
            opcall_dim(d[k]);
        }
        opcall_run();
        for (int64_t i = 0; i < n; i++) {
            opcall_expect(i, conv_at(x, f, d, i), (double)(d[1] * d[5] * d[6]));
        }
    }
}

static void test_add_channels(void **state)
{
    (void)state;
    opcall_begin("add_channels");
    const double *x = opcall_in(2 * 5 * 19), *v = opcall_in(5);
    opcall_out(2 * 5 * 19);
    opcall_dim(2);
    opcall_dim(5);
    opcall_dim(19);
    opcall_run();
    for (int64_t i = 0; i < 2 * 5 * 19; i++) {
        opcall_expect(i, x[i] + v[i / 19 % 5], 1);
    }
}

static void test_max_pool2d(void **state)
{
    (void)state;
    static const int64_t S[][5] = {
        {1, 1, 1, 1, 1}, {3, 7, 18, 3, 2}, {2, 9, 9, 2, 3}, {1, 5, 33, 5, 1}};
    for (int s = 0; s < 4; s++) {
        int64_t h = S[s][1], w = S[s][2], k = S[s][3], stride = S[s][4];
        int64_t oh = (h - k) / stride + 1, ow = (w - k) / stride + 1, n = S[s][0] * oh * ow;
        opcall_begin("max_pool2d");
        const double *x = opcall_in(S[s][0] * h * w);
        opcall_out(n);
        for (int d = 0; d < 5; d++) {
            opcall_dim(S[s][d]);
        }
        opcall_run();
        for (int64_t i = 0; i < n; i++) {
            const double *corner = x + i / ow / oh * h * w + i / ow % oh * stride * w;
            double m = -INFINITY;
            for (int64_t t = 0; t < k * k; t++) {
                m = fmax(m, corner[t / k * w + i % ow * stride + t % k]);
            }
            opcall_expect(i, m, 0);
        }
    }
}

static void test_transpose(void **state)
{
    (void)state;
    for (int s = 0; s < OPCALL_PLANES; s++) {
        int64_t rows = opcall_plane[s][0], cols = opcall_plane[s][1];
        const double *x = opcall_map_plane("transpose", rows, cols, rows * cols);
        for (int64_t i = 0; i < rows * cols; i++) {
            opcall_expect(i, x[i % rows * cols + i / rows], 0);
        }
    }
}

static void test_gather_rows_and_nll(void **state)
{
    (void)state;
    for (int s = 0; s < OPCALL_PLANES; s++) {
        int64_t rows = opcall_plane[s][0], cols = opcall_plane[s][1];
        opcall_begin("gather_rows");
        const double *table = opcall_in(rows * cols);
        const int32_t *index = opcall_index(11, (int32_t)rows);
        opcall_out(11 * cols);
        opcall_run_plane(11, cols);
        for (int64_t i = 0; i < 11 * cols; i++) {
            opcall_expect(i, table[index[i / cols] * cols + i % cols], 0);
        }
        opcall_begin("nll");
        const double *logp = opcall_in(rows * cols);
        const int32_t *label = opcall_index(rows, (int32_t)cols);
        opcall_out(rows);
        opcall_run_plane(rows, cols);
        for (int64_t i = 0; i < rows; i++) {
            opcall_expect(i, -logp[i * cols + label[i]], 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),       cmocka_unit_test(test_conv2d),
        cmocka_unit_test(test_add_channels), cmocka_unit_test(test_max_pool2d),
        cmocka_unit_test(test_transpose),    cmocka_unit_test(test_gather_rows_and_nll),
    };
    return cmocka_run_group_tests_name("kgops_planes", tests, open_library, NULL);
}
