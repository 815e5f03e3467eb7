/* Gradients of the engine against central differences, in the engine's f64 build: each operation
 * alone, then whole models with every kind of weight. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>

#include "tests/support/lm_model.h"

#define STEP 1e-5

/* A function of x, and what it needs. */
struct probe {
    double (*loss)(const struct probe *p);
    double *x;
    const double *in[6]; /* other inputs; in[0]: weights of the outputs in the loss */
    double *out;
    int n, m;
    struct lm_attn *attn;
    struct lm_head *head;
};

static double slope(const struct probe *p, double *x)
{
    double at = *x;
    *x = at + STEP;
    double up = p->loss(p);
    *x = at - STEP;
    double down = p->loss(p);
    *x = at;
    return (up - down) / (2 * STEP);
}

static void agree(const char *what, const struct probe *p, double *x, const double *g, int n)
{
    double worst = 0, largest = 1e-3;
    for (int i = 0; i < n; i++) {
        double d = slope(p, x + i);
        worst = fmax(worst, fabs(d - g[i]));
        largest = fmax(largest, fabs(d));
    }
    if (!(worst <= 1e-6 * largest)) {
        fail_msg("%s: differs by %g where the largest slope is %g", what, worst, largest);
    }
}

static void numbers(double *x, int n, uint32_t stream)
{
    for (int i = 0; i < n; i++) {
        x[i] = lm_test_number(stream, (uint32_t)i);
    }
}

static double weighted(const double *w, const double *y, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        s += w[i] * y[i];
    }
    return s;
}

#define N 37

static double norm_loss(const struct probe *p)
{
    lm_ops_plain.norm(p->in[1], p->in[2], N, 1e-3, p->out);
    return weighted(p->in[0], p->out, N);
}

static void norm_gradient(void **state)
{
    (void)state;
    double w[N], x[N], scale[N], y[N], dy[N], dx[N] = {0};
    numbers(w, N, 1);
    numbers(x, N, 2);
    numbers(scale, N, 3);
    struct probe p = {.loss = norm_loss, .in = {w, x, scale}, .out = y};
    memcpy(dy, w, sizeof dy);
    lm_ops_plain.norm_back(x, scale, N, 1e-3, dy, dx);
    agree("norm: x", &p, x, dx, N);
    agree("norm: weight", &p, scale, dy, N);
}

static double swiglu_loss(const struct probe *p)
{
    lm_ops_plain.swiglu(p->in[1], N, p->out);
    return weighted(p->in[0], p->out, N);
}

static void swiglu_gradient(void **state)
{
    (void)state;
    double w[N], gu[2 * N], y[N], dgu[2 * N];
    numbers(w, N, 1);
    numbers(gu, 2 * N, 2);
    struct probe p = {.loss = swiglu_loss, .in = {w, gu}, .out = y};
    lm_ops_plain.swiglu_back(gu, w, N, dgu);
    agree("swiglu", &p, gu, dgu, 2 * N);
}

static double rope_loss(const struct probe *p)
{
    memcpy(p->out, p->in[1], 22 * sizeof(double));
    lm_ops_plain.rope(p->out, p->in[2], p->in[3], 22, false);
    return weighted(p->in[0], p->out, 22);
}

static void rope_gradient(void **state)
{
    (void)state;
    double w[22], x[22], cs[11], sn[11], y[22], dx[22];
    numbers(w, 22, 1);
    numbers(x, 22, 2);
    for (int i = 0; i < 11; i++) {
        cs[i] = cos(i * .7);
        sn[i] = sin(i * .7);
    }
    struct probe p = {.loss = rope_loss, .in = {w, x, cs, sn}, .out = y};
    memcpy(dx, w, sizeof dx);
    lm_ops_plain.rope(dx, cs, sn, 22, true);
    agree("rope", &p, x, dx, 22);
}

static double gemm_loss(const struct probe *p)
{
    lm_ops_plain.gemm(
        &(struct lm_gemm){7, 35, 9, p->in[1], 9, 1, p->in[2], 35, LM_PANEL, p->out, 35, false});
    return weighted(p->in[0], p->out, 7 * 35);
}

/* The products by which a linear layer's backward goes. */
static void gemm_gradient(void **state)
{
    (void)state;
    double w[7 * 35], a[7 * 9], b[9 * 35], bt[35 * 9], c[7 * 35], da[7 * 9], db[9 * 35] = {0};
    numbers(w, 7 * 35, 1);
    numbers(a, 7 * 9, 2);
    numbers(b, 9 * 35, 3);
    for (int i = 0; i < 9 * 35; i++) {
        bt[i % 35 * 9 + i / 35] = b[i];
    }
    struct probe p = {.loss = gemm_loss, .in = {w, a, b}, .out = c};
    lm_ops_plain.gemm(&(struct lm_gemm){7, 9, 35, w, 35, 1, bt, 9, LM_PANEL, da, 9, false});
    agree("gemm: a", &p, a, da, 7 * 9);
    lm_ops_plain.gemm(&(struct lm_gemm){9, 35, 7, a, 1, 9, w, 35, LM_PANEL, db, 35, true});
    agree("gemm: b", &p, b, db, 9 * 35);
}

/* y = f (a + b + bias of each column), through all that is linear. */
static double linear_loss(const struct probe *p)
{
    enum { ROWS = 3, COLUMNS = N / ROWS };
    double y[ROWS * COLUMNS];
    lm_ops_plain.sum(p->in[1], p->in[2], ROWS * COLUMNS, y);
    for (int r = 0; r < ROWS; r++) {
        lm_ops_plain.add(y + (ptrdiff_t)r * COLUMNS, p->in[3], COLUMNS);
    }
    lm_ops_plain.scale(p->out, y, .7, ROWS * COLUMNS);
    return weighted(p->in[0], p->out, ROWS * COLUMNS);
}

static void linear_gradients(void **state)
{
    (void)state;
    enum { ROWS = 3, COLUMNS = N / ROWS };
    double w[N], a[N], b[N], bias[COLUMNS], y[N], dx[N], dbias[COLUMNS] = {0};
    numbers(w, N, 1);
    numbers(a, N, 2);
    numbers(b, N, 3);
    numbers(bias, COLUMNS, 4);
    struct probe p = {.loss = linear_loss, .in = {w, a, b, bias}, .out = y};
    lm_ops_plain.scale(dx, w, .7, N);
    lm_ops_plain.column_sum(dx, COLUMNS, ROWS, COLUMNS, dbias);
    agree("sum: a", &p, a, dx, ROWS * COLUMNS);
    agree("sum: b", &p, b, dx, ROWS * COLUMNS);
    agree("add: bias of a column", &p, bias, dbias, COLUMNS);
}

static double head_loss(const struct probe *p)
{
    struct lm_head h = *p->head;
    lm_ops_plain.head(p->in[1], &h);
    return -h.c * h.logp - h.eta * h.ent;
}

static void head_gradient(void **state)
{
    (void)state;
    double z[N], dz[N];
    numbers(z, N, 1);
    for (int i = 0; i < N; i++) {
        z[i] *= 3;
    }
    const double cs[] = {1, -.7, 0, .3}, etas[] = {0, .4, 1, -.2};
    for (int i = 0; i < 4; i++) {
        struct lm_head h = {.n = N, .inv_temp = 1.25, .target = 5 * i, .c = cs[i], .eta = etas[i]};
        struct probe p = {.loss = head_loss, .in = {NULL, z}, .head = &h};
        lm_ops_plain.head(z, &h);
        memcpy(dz, z, sizeof dz);
        lm_ops_plain.head_back(dz, &h);
        agree("head", &p, z, dz, N);
    }
}

enum { D = 6, GROUP = 2, TOKENS = 70 };

static double attn_loss(const struct probe *p)
{
    lm_ops_plain.attn(p->attn);
    return weighted(p->in[0], p->attn->o, TOKENS * GROUP * D);
}

/* Two pages, and more rows than one block of queries. */
static void attn_gradient(void **state)
{
    (void)state;
    static double w[TOKENS * GROUP * D], q[TOKENS * GROUP * D], o[TOKENS * GROUP * D];
    static double pool[3][2 * LM_PAGE * D], grad[TOKENS * (GROUP + 2) * D];
    const int32_t pages[] = {2, 0};
    double *scratch = calloc(lm_attn_back_scratch(D, TOKENS), sizeof *scratch);
    numbers(w, TOKENS * GROUP * D, 1);
    numbers(q, TOKENS * GROUP * D, 2);
    numbers(&pool[0][0], 3 * 2 * LM_PAGE * D, 3);
    enum { LD = (GROUP + 2) * D };
    struct lm_attn a = {.d = D,
                        .group = GROUP,
                        .rows = TOKENS,
                        .pool = &pool[0][0],
                        .pages = pages,
                        .page_stride = 2 * LM_PAGE * D,
                        .value_at = LM_PAGE * D,
                        .q = q,
                        .ldq = GROUP * D,
                        .o = o,
                        .ldo = GROUP * D,
                        .scratch = scratch,
                        .d_o = w,
                        .dq = grad,
                        .dk = grad + GROUP * D,
                        .dv = grad + (GROUP + 1) * D,
                        .ldd = LD};
    struct probe p = {.loss = attn_loss, .in = {w}, .attn = &a};
    lm_ops_plain.attn(&a);
    lm_ops_plain.attn_back(&a);
    for (int t = 0; t < TOKENS; t += 3) {
        double *page = pool[pages[t / LM_PAGE]], dk[D];
        agree("attention: query", &p, q + t * GROUP * D, a.dq + t * LD, GROUP * D);
        agree("attention: value", &p, page + LM_PAGE * D + t % LM_PAGE * D, a.dv + t * LD, D);
        for (int i = 0; i < D; i++) {
            dk[i] = slope(&p, page + i * LM_PAGE + t % LM_PAGE) - a.dk[t * LD + i];
            assert_true(fabs(dk[i]) < 1e-7);
        }
    }
    free(scratch);
}

static double loss_of(struct lm_trainer *t, struct lm_test_rows *r)
{
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(lm_trainer_forward(t, &r->rows, r->logp, r->ent, &err), KG_OK);
    double sum = 0;
    for (int i = 0; i < r->start[r->rows.n_seq]; i++) {
        sum -= r->c[i] * r->logp[i] + r->eta[i] * r->ent[i];
    }
    return sum;
}

/* Some numbers of every trained tensor. */
static void check_model(struct lm_model *m, struct lm_test_rows *r, int threads)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_threads *set = NULL;
    struct lm_trainer *t = NULL;
    struct lm_trainer_options o = {.max_rows = LM_TEST_ROWS, .max_seqs = 8, .max_tokens = 200};
    assert_int_equal(lm_threads_create(threads, &set, &err), KG_OK);
    assert_int_equal(lm_trainer_create(m, set, &o, &t, &err), KG_OK);
    loss_of(t, r);
    lm_trainer_backward(t, r->c, r->eta);
    struct lm_params *trained = lm_model_trained(m);
    for (int i = 0; i < trained->n_tensors; i++) {
        struct lm_tensor *x = &trained->tensors[i];
        const double *g = lm_trainer_gradient(t, i);
        double largest = 1e-3;
        for (size_t j = 0; j < x->count; j++) {
            largest = fmax(largest, fabs(g[j]));
        }
        for (size_t j = 0; j < 6; j++) {
            size_t k = x->count < 6 ? j % x->count : lm_test_bits(77, (uint32_t)j) % x->count;
            double at = x->data[k], up, down;
            x->data[k] = at + STEP;
            lm_model_pack(m);
            up = loss_of(t, r);
            x->data[k] = at - STEP;
            lm_model_pack(m);
            down = loss_of(t, r);
            x->data[k] = at;
            double d = (up - down) / (2 * STEP);
            if (!(fabs(d - g[k]) <= 1e-6 * largest)) {
                fail_msg("%s[%zu]: slope %.9g, gradient %.9g, largest %g", x->name, k, d, g[k],
                         largest);
            }
        }
    }
    lm_trainer_destroy(t);
    lm_threads_destroy(set);
}

static struct lm_model *model_of(struct lm_config c)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_model *m = NULL;
    assert_int_equal(lm_model_create(&c, 3, &m, &err), KG_OK);
    lm_test_stir(m);
    return m;
}

static const int lengths[] = {5, 1, 70};

static void qwen2_gradient(void **state)
{
    (void)state;
    struct lm_model *m = model_of(lm_test_qwen2());
    struct lm_test_rows r;
    lm_test_fill(&r, m->cfg.vocab, lengths, 3);
    check_model(m, &r, 1);
    lm_model_destroy(m);
}

static void qwen3_gradient(void **state)
{
    (void)state;
    struct lm_model *m = model_of(lm_test_qwen3());
    struct lm_test_rows r;
    lm_test_fill(&r, m->cfg.vocab, lengths, 3);
    check_model(m, &r, 1);
    lm_model_destroy(m);
}

static void adapter_gradient(void **state)
{
    (void)state;
    for (int drop = 0; drop < 2; drop++) {
        struct kg_err err = KG_ERR_INIT;
        struct lm_model *m = model_of(lm_test_qwen3());
        struct lm_lora_config c = {.r = 3, .alpha = 6, .dropout = drop ? .3f : 0, .targets = 0x7f};
        assert_int_equal(lm_lora_add(m, &c, 5, &err), KG_OK);
        lm_test_stir_adapter(m);
        struct lm_test_rows r;
        lm_test_fill(&r, m->cfg.vocab, lengths, 3);
        r.rows.dropout = drop;
        r.rows.dropout_seed = 9;
        check_model(m, &r, drop + 1);
        lm_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norm_gradient),    cmocka_unit_test(swiglu_gradient),
        cmocka_unit_test(rope_gradient),    cmocka_unit_test(gemm_gradient),
        cmocka_unit_test(linear_gradients), cmocka_unit_test(head_gradient),
        cmocka_unit_test(attn_gradient),    cmocka_unit_test(qwen2_gradient),
        cmocka_unit_test(qwen3_gradient),   cmocka_unit_test(adapter_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
