/* Training: packed rows equal rows alone, a run resumes with the same bits, threads do not change
 * them, a model learns, bad steps are skipped, schedules, clipping, adapters. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>

#include "tests/support/lm_model.h"

struct bench {
    struct lm_threads *threads;
    struct lm_model *m;
    struct lm_trainer *t;
    struct lm_test_rows r;
};

static const int lengths[] = {9, 1, 70, 33};
static const struct lm_adamw adam = {1e-2f, .9f, .95f, 1e-8f, .1f, 1};

static void open_bench(struct bench *b, struct lm_config c, int threads,
                       const struct lm_lora_config *l)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_trainer_options o = {.max_rows = 256, .max_seqs = 8, .max_tokens = 128};
    memset(b, 0, sizeof *b);
    assert_int_equal(lm_threads_create(threads, &b->threads, &err), KG_OK);
    assert_int_equal(lm_model_create(&c, 3, &b->m, &err), KG_OK);
    if (l != NULL) {
        assert_int_equal(lm_lora_add(b->m, l, 5, &err), KG_OK);
    }
    assert_int_equal(lm_trainer_create(b->m, b->threads, &o, &b->t, &err), KG_OK);
    lm_test_fill(&b->r, c.vocab, lengths, 4);
}

static void close_bench(struct bench *b)
{
    lm_trainer_destroy(b->t);
    lm_model_destroy(b->m);
    lm_threads_destroy(b->threads);
}

static void forward(struct bench *b)
{
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(lm_trainer_forward(b->t, &b->r.rows, b->r.logp, b->r.ent, &err), KG_OK);
}

static void steps(struct bench *b, int first, int n)
{
    for (int i = first; i < first + n; i++) {
        b->r.ids[0] = i % 53; /* each step has data of its own */
        for (int micro = 0; micro < 2; micro++) {
            b->r.rows.dropout_seed = (uint64_t)(2 * i + micro);
            forward(b);
            lm_trainer_backward(b->t, b->r.c, b->r.eta);
        }
        assert_false(lm_trainer_update(b->t, &adam).skipped);
    }
}

static void packed_equals_alone(void **state)
{
    (void)state;
    struct bench b;
    struct lm_test_rows one;
    struct kg_err err = KG_ERR_INIT;
    open_bench(&b, lm_test_qwen3(), 1, NULL);
    lm_test_stir(b.m);
    forward(&b);
    lm_trainer_backward(b.t, b.r.c, b.r.eta);
    size_t n = b.m->base.n;
    float *packed = calloc(n, sizeof *packed);
    memcpy(packed, lm_trainer_gradient(b.t, 0), n * sizeof *packed);
    lm_trainer_zero(b.t);
    for (int s = 0; s < 4; s++) {
        int at = b.r.start[s], rows = lengths[s];
        memset(&one, 0, sizeof one);
        one.start[1] = rows;
        one.rows = (struct lm_rows){1, one.start, b.r.ids + at, b.r.target + at, .75f, false, 0};
        assert_int_equal(lm_trainer_forward(b.t, &one.rows, one.logp, one.ent, &err), KG_OK);
        assert_memory_equal(one.logp, b.r.logp + at, (size_t)rows * sizeof *one.logp);
        assert_memory_equal(one.ent, b.r.ent + at, (size_t)rows * sizeof *one.ent);
        lm_trainer_backward(b.t, b.r.c + at, b.r.eta + at);
    }
    const float *g = lm_trainer_gradient(b.t, 0);
    for (size_t i = 0; i < n; i++) {
        assert_true(fabsf(g[i] - packed[i]) <= 1e-4f * (1 + fabsf(packed[i])));
    }
    free(packed);
    close_bench(&b);
}

/* Weights and state copied into a new trainer of a new model. */
static void copy_state(struct bench *to, struct bench *from)
{
    struct lm_params *a = lm_model_trained(from->m), *b = lm_model_trained(to->m);
    memcpy(b->w, a->w, a->n * sizeof *a->w);
    for (int i = 0; i < lm_trainer_states(from->t); i++) {
        struct lm_state x = lm_trainer_state(from->t, i), y = lm_trainer_state(to->t, i);
        assert_string_equal(x.name, y.name);
        memcpy(y.data, x.data, x.count * sizeof *x.data);
    }
    *lm_trainer_counters(to->t) = *lm_trainer_counters(from->t);
    lm_model_pack(to->m);
}

static void check_resume(const struct lm_lora_config *l, bool dropout)
{
    struct bench all, half, rest;
    open_bench(&all, lm_test_qwen3(), 1, l);
    open_bench(&half, lm_test_qwen3(), 2, l);
    open_bench(&rest, lm_test_qwen3(), 1, l);
    all.r.rows.dropout = half.r.rows.dropout = rest.r.rows.dropout = dropout;
    steps(&all, 0, 10);
    steps(&half, 0, 5);
    copy_state(&rest, &half);
    steps(&rest, 5, 5);
    struct lm_params *a = lm_model_trained(all.m), *b = lm_model_trained(rest.m);
    assert_memory_equal(a->w, b->w, a->n * sizeof *a->w);
    struct lm_model *fresh = half.m;
    assert_memory_not_equal(a->w, lm_model_trained(fresh)->w, a->n * sizeof *a->w);
    close_bench(&all);
    close_bench(&half);
    close_bench(&rest);
}

/* One thread, or two and then one: 10 steps are 5, a copy and 5. */
static void ten_steps_are_five_and_five(void **state)
{
    (void)state;
    const struct lm_lora_config l = {.r = 4, .alpha = 8, .dropout = .1f, .targets = 0x7f};
    check_resume(NULL, false);
    check_resume(&l, true);
}

static void adapter_leaves_the_base(void **state)
{
    (void)state;
    const struct lm_lora_config l = {
        .r = 4, .alpha = 8, .targets = 1u << LM_Q_PROJ | 1u << LM_UP_PROJ};
    struct bench b, plain;
    open_bench(&b, lm_test_qwen2(), 1, &l);
    open_bench(&plain, lm_test_qwen2(), 1, NULL);
    forward(&b);
    forward(&plain);
    /* B = 0: the bits of the base */
    assert_memory_equal(b.r.logp, plain.r.logp, sizeof b.r.logp);
    assert_int_equal(b.m->lora->params.n_tensors, 2 * 2 * b.m->cfg.layers);
    assert_non_null(
        lm_model_find(b.m, "base_model.model.model.layers.1.mlp.up_proj.lora_B.weight"));
    assert_non_null(lm_model_find(b.m, "model.layers.1.self_attn.k_proj.bias"));
    assert_null(lm_model_find(b.m, "base_model.model.model.layers.1.mlp.down_proj.lora_B.weight"));
    steps(&b, 0, 2);
    assert_memory_equal(b.m->base.w, plain.m->base.w, b.m->base.n * sizeof(float));
    forward(&b);
    assert_memory_not_equal(b.r.logp, plain.r.logp, sizeof b.r.logp);
    close_bench(&b);
    close_bench(&plain);
}

/* A few steps learn the targets by heart. */
static void it_learns(void **state)
{
    (void)state;
    struct bench b;
    float one[LM_TEST_ROWS];
    open_bench(&b, lm_test_qwen3(), 1, NULL);
    int rows = b.r.start[4];
    for (int i = 0; i < rows; i++) {
        b.r.target[i] = (b.r.ids[i] * 3 + 1) % 53;
        one[i] = 1.0f / (float)rows;
    }
    b.r.rows.temperature = 1;
    double loss = 0;
    for (int i = 0; i < 120; i++) {
        forward(&b);
        lm_trainer_backward(b.t, one, NULL);
        lm_trainer_update(b.t, &adam);
    }
    forward(&b);
    for (int i = 0; i < rows; i++) {
        loss -= (double)(b.r.logp[i] * one[i]);
    }
    if (!(loss < .05)) {
        fail_msg("the loss is still %g", loss);
    }
    close_bench(&b);
}

static void bad_steps_are_skipped(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, lm_test_qwen2(), 1, NULL);
    steps(&b, 0, 1);
    float *before = malloc(b.m->base.n * sizeof *before);
    memcpy(before, b.m->base.w, b.m->base.n * sizeof *before);
    forward(&b);
    b.r.c[3] = NAN;
    lm_trainer_backward(b.t, b.r.c, NULL);
    assert_true(lm_trainer_update(b.t, &adam).skipped);
    assert_memory_equal(before, b.m->base.w, b.m->base.n * sizeof *before);
    assert_int_equal(lm_trainer_counters(b.t)->skipped, 1);
    assert_int_equal(lm_trainer_counters(b.t)->steps, 1);
    b.r.c[3] = 0;
    steps(&b, 1, 1); /* and nothing of it is left */
    free(before);
    close_bench(&b);
}

static void clipping_scales(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, lm_test_qwen2(), 1, NULL);
    forward(&b);
    lm_trainer_backward(b.t, b.r.c, NULL);
    struct lm_adamw o = {0, 0, 0, 1, 0, 0}; /* first moment = scaled gradient */
    double sum = 0;
    const float *g = lm_trainer_gradient(b.t, 0);
    for (size_t i = 0; i < b.m->base.n; i++) {
        sum += (double)g[i] * (double)g[i];
    }
    o.clip = (float)sqrt(sum) / 4;
    double norm = lm_trainer_update(b.t, &o).norm;
    assert_true(fabs(norm - sqrt(sum)) < 1e-4 * norm);
    sum = 0;
    for (size_t i = 0; i < b.m->base.n; i++) {
        double m = (double)lm_trainer_state(b.t, 0).data[i];
        sum += m * m;
    }
    assert_true(fabs(sqrt(sum) - norm / 4) < 1e-4 * norm);
    close_bench(&b);
}

/* With no gradient, matrices shrink and norms stay. */
static void decay_spares_norms(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, lm_test_qwen2(), 1, NULL);
    lm_test_stir(b.m);
    float *before = malloc(b.m->base.n * sizeof *before);
    memcpy(before, b.m->base.w, b.m->base.n * sizeof *before);
    lm_trainer_update(b.t, &adam);
    for (int i = 0; i < b.m->base.n_tensors; i++) {
        struct lm_tensor *t = &b.m->base.tensors[i];
        for (size_t j = 0; j < t->count; j++) {
            float was = before[t->data - b.m->base.w + (ptrdiff_t)j];
            float want = t->rank == 2 ? was * (1 - 1e-2f * .1f) : was;
            assert_true(fabsf(t->data[j] - want) < 1e-6f);
        }
    }
    free(before);
    close_bench(&b);
}

static void schedules(void **state)
{
    (void)state;
    struct lm_schedule s = {.kind = LM_COSINE, .rate = 1, .lowest = .1f, .warmup = 4, .steps = 14};
    assert_true(fabsf(lm_schedule_rate(&s, 0) - .25f) < 1e-6f);
    assert_true(fabsf(lm_schedule_rate(&s, 3) - 1) < 1e-6f);
    assert_true(fabsf(lm_schedule_rate(&s, 4) - 1) < 1e-6f);
    assert_true(fabsf(lm_schedule_rate(&s, 9) - .55f) < 1e-6f);
    assert_true(fabsf(lm_schedule_rate(&s, 14) - .1f) < 1e-6f);
    assert_true(fabsf(lm_schedule_rate(&s, 99) - .1f) < 1e-6f);
    s.kind = LM_CONSTANT;
    assert_true(fabsf(lm_schedule_rate(&s, 99) - 1) < 1e-6f);
    s.warmup = 0;
    assert_true(fabsf(lm_schedule_rate(&s, 0) - 1) < 1e-6f);
}

static void bad_rows_are_refused(void **state)
{
    (void)state;
    struct bench b;
    struct kg_err err = KG_ERR_INIT;
    open_bench(&b, lm_test_qwen2(), 1, NULL);
    b.r.ids[7] = 53;
    assert_int_equal(lm_trainer_forward(b.t, &b.r.rows, b.r.logp, NULL, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "row 7"));
    b.r.ids[7] = 0;
    b.r.target[8] = -2;
    assert_int_equal(lm_trainer_forward(b.t, &b.r.rows, b.r.logp, NULL, &err), KG_E_INPUT);
    b.r.target[8] = -1;
    b.r.rows.temperature = 0;
    assert_int_equal(lm_trainer_forward(b.t, &b.r.rows, b.r.logp, NULL, &err), KG_E_INPUT);
    b.r.rows.temperature = 1;
    b.r.start[1] = 0;
    assert_int_equal(lm_trainer_forward(b.t, &b.r.rows, b.r.logp, NULL, &err), KG_E_LIMIT);
    b.r.start[1] = 9;
    b.r.start[4] = 300;
    assert_int_equal(lm_trainer_forward(b.t, &b.r.rows, b.r.logp, NULL, &err), KG_E_LIMIT);
    close_bench(&b);
}

static void bad_sizes_are_refused(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_model *m = NULL;
    struct lm_config c = lm_test_qwen2();
    c.kv_heads = 3;
    assert_int_equal(lm_model_create(&c, 1, &m, &err), KG_E_INPUT);
    c = lm_test_qwen2();
    c.head_dim = 7;
    assert_int_equal(lm_model_create(&c, 1, &m, &err), KG_E_INPUT);
    c = lm_test_qwen2();
    c.rope_theta = NAN;
    assert_int_equal(lm_model_create(&c, 1, &m, &err), KG_E_INPUT);
    c.rope_theta = 1e4f;
    assert_int_equal(lm_model_create(&c, 1, &m, &err), KG_OK);
    struct lm_lora_config l = {.r = 0, .alpha = 1, .targets = 1};
    assert_int_equal(lm_lora_add(m, &l, 1, &err), KG_E_USAGE);
    l = (struct lm_lora_config){.r = 1, .alpha = 1, .dropout = 1, .targets = 1};
    assert_int_equal(lm_lora_add(m, &l, 1, &err), KG_E_USAGE);
    l.dropout = 0;
    l.targets = 0x80;
    assert_int_equal(lm_lora_add(m, &l, 1, &err), KG_E_USAGE);
    lm_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_equals_alone),
        cmocka_unit_test(ten_steps_are_five_and_five),
        cmocka_unit_test(adapter_leaves_the_base),
        cmocka_unit_test(it_learns),
        cmocka_unit_test(bad_steps_are_skipped),
        cmocka_unit_test(clipping_scales),
        cmocka_unit_test(schedules),
        cmocka_unit_test(decay_spares_norms),
        cmocka_unit_test(bad_rows_are_refused),
        cmocka_unit_test(bad_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
