/* The operations of the engine: all forms have the bits of plain C at every size, rows do not
 * depend on how many there are, and exp, log and the draws' generator are right. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>

#include "lm/model/model.h"
#include "tests/support/lm_model.h"

static const struct lm_ops *forms[3];
static int n_forms;

static int find_forms(void **state)
{
    static const char *const names[] = {"plain", "avx2", "avx512"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct lm_ops *ops = lm_ops_named(names[i]);
        if (ops != NULL) {
            assert_string_equal(ops->name, names[i]);
            forms[n_forms++] = ops;
        }
    }
    assert_null(lm_ops_named("none"));
    return 0;
}

static void numbers(float *x, size_t n, uint32_t stream, float f)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = lm_test_number(stream, (uint32_t)i) * f;
    }
}

#define SAME(a, b, n, what, size)                                                                  \
    do {                                                                                           \
        if (memcmp(a, b, (size_t)(n) * sizeof(float)) != 0) {                                      \
            fail_msg("%s: %s differs from plain C at size %d", forms[f]->name, what, size);        \
        }                                                                                          \
    } while (0)

/* One chain of fmaf over k ascending, in three layouts of B and two of A. */
static void gemm_is_one_chain(void **state)
{
    (void)state;
    static float a[70 * 40], b[40 * 100], panels[40 * 128], c[3][70 * 100], want[70 * 100];
    static const int ms[] = {1, 2, 3, 4, 5, 7, 12, 13, 25, 70},
                     ns[] = {1, 15, 16, 17, 31, 32, 33, 48, 100};
    numbers(a, 70 * 40, 1, 1);
    numbers(b, 40 * 100, 2, 1);
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) {
        for (size_t j = 0; j < sizeof ns / sizeof *ns; j++) {
            int m = ms[i], n = ns[j], k = 1 + (int)(i * j) % 40;
            lm_model_pack_panels(b, n, k, 1, panels);
            for (int x = 0; x < m * n; x++) {
                float s = 0;
                for (int y = 0; y < k; y++) {
                    s = fmaf(a[x / n * k + y], b[x % n * k + y], s);
                }
                want[x] = s;
            }
            for (int f = 0; f < n_forms; f++) {
                struct lm_gemm g = {m,    n, k,    a, k, 1, panels, LM_PANEL, LM_PANEL * k,
                                    c[f], n, false};
                forms[f]->gemm(&g);
                SAME(want, c[f], m * n, "gemm", n);
                /* in two parts, the second goes on with the first's chains */
                g.k = k / 2;
                forms[f]->gemm(&g);
                g.a += k / 2;
                g.b += k / 2 * LM_PANEL;
                g.k = k - k / 2;
                g.chain = true;
                forms[f]->gemm(&g);
                SAME(want, c[f], m * n, "gemm in two parts", n);
            }
        }
    }
}

/* What every operation on rows of n makes, one after the other in out. */
static int row_results(const struct lm_ops *o, int n, float *out)
{
    static float x[200], w[100], cs[50], sn[50], *at;
    numbers(x, 200, 1, 4);
    numbers(w, 100, 2, 1);
    numbers(cs, 50, 3, 1);
    numbers(sn, 50, 4, 1);
    at = out;
    o->norm(x, w, n, 1e-6f, at);
    at += n;
    memcpy(at, w, sizeof w);
    numbers(at + n, (size_t)n, 5, 1);
    o->norm_back(x, w, n, 1e-6f, at, at + n);
    at += 2 * n;
    o->swiglu(x, n, at);
    at += n;
    o->swiglu_back(x, w, n, at);
    at += 2 * n;
    memcpy(at, x, sizeof x);
    o->rope(at, cs, sn, n, n % 4 == 0);
    at += n;
    struct lm_head h = {.n = n, .inv_temp = 1.3f, .target = n / 2, .c = .7f, .eta = .2f};
    memcpy(at, x, sizeof x);
    o->head(at, &h);
    o->head_back(at, &h);
    at += n;
    memset(at, 0, sizeof x);
    o->column_sum(x, n, 2, n, at);
    o->add(at, w, n);
    at += n;
    o->sum(x, w, n, at);
    o->scale(at, at, .3f, n);
    return (int)(at + n - out);
}

static void rows_are_equal(void **state)
{
    (void)state;
    static float want[1600], got[1600];
    for (int n = 2; n <= 100; n += 2) {
        int count = row_results(forms[0], n, want);
        for (int f = 1; f < n_forms; f++) {
            row_results(forms[f], n, got);
            SAME(want, got, count, "an operation on rows", n);
        }
    }
}

static void adam_is_equal(void **state)
{
    (void)state;
    const struct lm_adam a = {1e-2f, .9f, .95f, 1e-8f, .1f, 2, 3, .5f};
    static float g[67], w[3][67], m[3][67], v[3][67];
    numbers(g, 67, 1, 1);
    for (int f = 0; f < n_forms; f++) {
        numbers(w[f], 67, 2, 1);
        for (int i = 0; i < 3; i++) {
            forms[f]->adam(&a, w[f], m[f], v[f], g, 67);
        }
        SAME(w[0], w[f], 67, "adam", 67);
        float s = forms[f]->sum_squares(g, 67), first = forms[0]->sum_squares(g, 67);
        SAME(&first, &s, 1, "sum_squares", 67);
    }
}

/* One step from zero state: w - rate (sign-like step + decay w). */
static void adam_is_adamw(void **state)
{
    (void)state;
    const struct lm_adam a = {.1f, .9f, .99f, 1e-8f, .5f, 10, 100, 1};
    float w = 2, m = 0, v = 0, g = -3;
    lm_ops_plain.adam(&a, &w, &m, &v, &g, 1);
    assert_true(fabsf(w - (2 - .1f * (-1 + .5f * 2))) < 1e-6f);
    assert_true(fabsf(m + .3f) < 1e-6f && fabsf(v - .09f) < 1e-6f);
}

static void attention_is_equal(void **state)
{
    (void)state;
    enum { D = 24, G = 2, ROWS = 150, LD = (G + 2) * D };
    static float q[ROWS * G * D], pool[3 * 2 * LM_PAGE * D], o[3][ROWS * G * D], grad[3][ROWS * LD];
    const int32_t pages[] = {1, 0, 2};
    float *scratch = calloc(lm_attn_back_scratch(D, ROWS), sizeof *scratch);
    numbers(q, ROWS * G * D, 1, 2);
    numbers(pool, 3 * 2 * LM_PAGE * D, 2, 1);
    for (int f = 0; f < n_forms; f++) {
        struct lm_attn a = {.d = D,
                            .group = G,
                            .rows = ROWS,
                            .pool = pool,
                            .pages = pages,
                            .page_stride = 2 * LM_PAGE * D,
                            .value_at = LM_PAGE * D,
                            .q = q,
                            .ldq = G * D,
                            .o = o[f],
                            .ldo = G * D,
                            .scratch = scratch,
                            .d_o = q,
                            .dq = grad[f],
                            .dk = grad[f] + G * D,
                            .dv = grad[f] + (G + 1) * D,
                            .ldd = LD};
        forms[f]->attn(&a);
        SAME(o[0], o[f], ROWS * G * D, "attention", ROWS);
        forms[f]->attn_back(&a);
        SAME(grad[0], grad[f], ROWS * LD, "attention's backward", ROWS);
    }
    free(scratch);
}

/* Through the operations that use them: swiglu's sigmoid and the noise. */
static void exp_and_log_are_right(void **state)
{
    (void)state;
    static float gu[2000], y[1000], noise[1008];
    static uint32_t bits[1008];
    for (int i = 0; i < 1000; i++) {
        gu[i] = -85 + .17f * (float)i;
        gu[1000 + i] = 1;
    }
    lm_ops_best()->swiglu(gu, 1000, y);
    for (int i = 0; i < 1000; i++) {
        double want = (double)gu[i] / (1 + exp(-(double)gu[i]));
        assert_true(fabs((double)y[i] - want) <= 3e-7 * fabs(want) + 1e-37);
    }
    for (uint32_t i = 0; i < 1008; i++) {
        bits[i] = i < 500 ? i << 8 : lm_test_bits(3, i);
    }
    bits[1007] = UINT32_MAX;
    lm_ops_best()->gumbel(bits, 1008, noise);
    for (int i = 0; i < 1008; i++) {
        /* the sum with 1/2 rounds to 24 bits in f32, and the highest to 1 */
        double u = fmin((double)(((float)(bits[i] >> 8) + .5f) * 0x1p-24f), 1 - 0x1p-24);
        double want = -log(-log(u));
        assert_true(fabs((double)noise[i] - want) <= 1e-6 * fabs(want) + 3e-7);
    }
    for (int f = 1; f < n_forms; f++) {
        static float other[1008];
        forms[f]->gumbel(bits, 1008, other);
        lm_ops_plain.gumbel(bits, 1008, noise);
        SAME(noise, other, 1008, "gumbel", 1008);
    }
}

static void philox_known_answers(void **state)
{
    (void)state;
    static const uint32_t rows[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];
        kg_philox4x32(rows[i], rows[i] + 4, out);
        assert_memory_equal(out, rows[i] + 6, sizeof out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_is_one_chain),    cmocka_unit_test(rows_are_equal),
        cmocka_unit_test(adam_is_equal),        cmocka_unit_test(adam_is_adamw),
        cmocka_unit_test(attention_is_equal),   cmocka_unit_test(exp_and_log_are_right),
        cmocka_unit_test(philox_known_answers),
    };
    return cmocka_run_group_tests(tests, find_forms, NULL);
}
