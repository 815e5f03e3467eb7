/* Sampling: draws have the right shares, filters, stops and limits; groups, conversations that are
 * given up, new weights; a step and a micro-step allocate nothing. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>

#include "tests/support/lm_model.h"

#define VOCAB 20

static struct lm_draw draw(const float *z, struct lm_sampling s, uint64_t request, int position)
{
    static float scratch[2048];
    assert_true(lm_sample_scratch(VOCAB) <= 2048);
    return lm_sample(lm_ops_best(), z, VOCAB, &s, request, position, scratch);
}

static void fill_logits(float *z, double *p, double temperature)
{
    double sum = 0;
    for (int i = 0; i < VOCAB; i++) {
        z[i] = 2 * lm_test_number(1, (uint32_t)i);
        sum += p[i] = exp((double)z[i] / temperature);
    }
    for (int i = 0; i < VOCAB; i++) {
        p[i] /= sum;
    }
}

/* Chi-square with 19 degrees of freedom: above 43.8 once in a thousand; the draws are fixed. */
static void shares_are_right(void **state)
{
    (void)state;
    float z[VOCAB];
    double p[VOCAB], chi = 0;
    int count[VOCAB] = {0}, n = 20000;
    fill_logits(z, p, .7);
    for (int i = 0; i < n; i++) {
        struct lm_draw d = draw(z, (struct lm_sampling){.temperature = .7f, .seed = 5},
                                (uint64_t)i / 100, i % 100);
        assert_true(fabs((double)d.logp - log(p[d.token])) < 1e-5);
        count[d.token]++;
    }
    for (int i = 0; i < VOCAB; i++) {
        chi += (count[i] - n * p[i]) * (count[i] - n * p[i]) / (n * p[i]);
    }
    if (!(chi < 43.8)) {
        fail_msg("chi-square is %g", chi);
    }
}

/* The ids that 5000 draws give, as bits. */
static unsigned drawn(const float *z, struct lm_sampling s)
{
    unsigned seen = 0;
    for (int i = 0; i < 5000; i++) {
        seen |= 1u << draw(z, s, (uint64_t)i, 3).token;
    }
    return seen;
}

static void filters(void **state)
{
    (void)state;
    float z[VOCAB];
    double p[VOCAB];
    int order[VOCAB];
    fill_logits(z, p, 1);
    for (int i = 0; i < VOCAB; i++) {
        int rank = 0;
        for (int j = 0; j < VOCAB; j++) {
            rank += p[j] > p[i];
        }
        order[rank] = i;
    }
    struct lm_sampling s = {.temperature = 1, .seed = 1};
    assert_int_equal(drawn(z, s), (1u << VOCAB) - 1);
    s.top_k = 3;
    assert_int_equal(drawn(z, s), 1u << order[0] | 1u << order[1] | 1u << order[2]);
    s.top_p = (float)((p[order[0]] + p[order[1]] / 2) / (p[order[0]] + p[order[1]] + p[order[2]]));
    assert_int_equal(drawn(z, s), 1u << order[0] | 1u << order[1]);
    s = (struct lm_sampling){.temperature = 1,
                             .min_p = (float)((p[order[3]] + p[order[4]]) / 2 / p[order[0]])};
    assert_int_equal(drawn(z, s),
                     1u << order[0] | 1u << order[1] | 1u << order[2] | 1u << order[3]);
    s = (struct lm_sampling){.temperature = 1, .n_ids = 4};
    assert_int_equal(drawn(z, s), 15);
    s = (struct lm_sampling){0};
    assert_int_equal(drawn(z, s), 1u << order[0]);
    assert_true(fabs((double)draw(z, s, 0, 0).logp - log(p[order[0]])) < 1e-5);
}

struct rig {
    struct lm_threads *threads;
    struct lm_model *m;
    struct lm_engine *e;
};

static void open_rig(struct rig *r, const struct lm_engine_options *o)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_config c = lm_test_qwen2();
    assert_int_equal(lm_threads_create(1, &r->threads, &err), KG_OK);
    assert_int_equal(lm_model_create(&c, 3, &r->m, &err), KG_OK);
    lm_test_stir(r->m);
    assert_int_equal(lm_engine_create(r->m, r->threads, o, &r->e, &err), KG_OK);
}

static void close_rig(struct rig *r)
{
    lm_engine_destroy(r->e);
    lm_model_destroy(r->m);
    lm_threads_destroy(r->threads);
}

/* Steps until all rest; the last event of each conversation, and its tokens. */
static int run(struct rig *r, struct lm_event *last, int *tokens)
{
    struct lm_event events[8];
    int total = 0;
    while (lm_engine_busy(r->e)) {
        int n = lm_engine_step(r->e, events, 8);
        for (int i = 0; i < n; i++, total++) {
            last[events[i].conversation] = events[i];
            tokens[events[i].conversation]++;
        }
    }
    return total;
}

static const int32_t prompt[] = {5, 6, 7, 8, 9};
static const uint64_t requests[] = {10, 11, 12, 13, 14, 15, 16, 17};

static void turns_end(void **state)
{
    (void)state;
    struct rig r;
    struct lm_event last[8];
    struct kg_err err = KG_ERR_INIT;
    int tokens[8] = {0}, c[8], n;
    open_rig(&r, &(struct lm_engine_options){.max_seqs = 8, .max_tokens = 40});
    struct lm_turn turn = {.sampling = {.temperature = 1, .seed = 1}, .max_tokens = 9};
    assert_int_equal(lm_engine_submit(r.e, prompt, 5, &turn, 1, requests, c, &err), KG_OK);
    assert_int_equal(run(&r, last, tokens), 9);
    assert_int_equal(last[c[0]].finish, LM_LENGTH);
    assert_int_equal(last[c[0]].position, 13);
    int32_t stop = lm_engine_ids(r.e, c[0], &n)[8], before[40];
    assert_int_equal(n, 14);
    memcpy(before, lm_engine_ids(r.e, c[0], &n), sizeof before);
    /* the same request again stops at the fourth token, which is part of it, or at an equal one */
    turn.stop[0] = stop;
    turn.n_stop = 1;
    assert_int_equal(lm_engine_submit(r.e, prompt, 5, &turn, 1, requests, c + 1, &err), KG_OK);
    run(&r, last, tokens);
    assert_int_equal(last[c[1]].finish, LM_STOP);
    assert_int_equal(last[c[1]].token, stop);
    assert_true(tokens[c[1]] <= 4);
    const int32_t *again = lm_engine_ids(r.e, c[1], &n);
    assert_memory_equal(before, again, (size_t)n * sizeof *before);
    /* room for 40 tokens in all */
    turn.n_stop = 0;
    turn.max_tokens = 100;
    assert_int_equal(lm_engine_extend(r.e, c[0], prompt, 5, &turn, &err), KG_OK);
    run(&r, last, tokens);
    assert_int_equal(last[c[0]].finish, LM_FULL);
    lm_engine_ids(r.e, c[0], &n);
    assert_int_equal(n, 40);
    assert_int_equal(lm_engine_extend(r.e, c[0], prompt, 1, &turn, &err), KG_E_LIMIT);
    close_rig(&r);
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    struct rig r;
    struct kg_err err = KG_ERR_INIT;
    int c[9];
    int32_t bad[] = {1, 53};
    open_rig(&r, &(struct lm_engine_options){.max_seqs = 8, .max_tokens = 40});
    struct lm_turn turn = {.sampling = {.temperature = 1}, .max_tokens = 9};
    assert_int_equal(lm_engine_submit(r.e, bad, 2, &turn, 1, requests, c, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "53"));
    assert_int_equal(lm_engine_submit(r.e, bad, 0, &turn, 1, requests, c, &err), KG_E_INPUT);
    assert_int_equal(lm_engine_submit(r.e, prompt, 5, &turn, 9, requests, c, &err), KG_E_FULL);
    turn.max_tokens = 0;
    assert_int_equal(lm_engine_submit(r.e, prompt, 5, &turn, 1, requests, c, &err), KG_E_INPUT);
    struct lm_engine *e = NULL;
    struct lm_engine_options o = {.max_seqs = 8, .max_tokens = 401};
    assert_int_equal(lm_engine_create(r.m, r.threads, &o, &e, &err), KG_E_USAGE);
    o = (struct lm_engine_options){.max_seqs = 8, .max_tokens = 300, .n_pages = 4};
    assert_int_equal(lm_engine_create(r.m, r.threads, &o, &e, &err), KG_E_USAGE);
    close_rig(&r);
}

/* The prompt of a group is computed once, and is not lost with the one that computes it. */
static void groups_share(void **state)
{
    (void)state;
    struct rig r;
    struct kg_err err = KG_ERR_INIT;
    struct lm_event last[8];
    int32_t ids[130], kept[8][140];
    int c[8], n, tokens[8] = {0};
    for (int i = 0; i < 130; i++) {
        ids[i] = i % 53;
    }
    struct lm_engine_options o = {.max_seqs = 8, .max_tokens = 140, .max_rows = 50};
    open_rig(&r, &o);
    struct lm_turn turn = {.sampling = {.temperature = 1, .seed = 2}, .max_tokens = 4};
    assert_int_equal(lm_engine_submit(r.e, ids, 130, &turn, 8, requests, c, &err), KG_OK);
    assert_int_equal(run(&r, last, tokens), 32);
    assert_int_equal(lm_engine_stats(r.e).rows, 129 + 8 * 4);
    /* two whole pages together, one of each */
    assert_int_equal(lm_engine_stats(r.e).pages_free, 8 * 3 - 2 - 8);
    for (int i = 0; i < 8; i++) {
        memcpy(kept[i], lm_engine_ids(r.e, c[i], &n), 134 * sizeof **kept);
        lm_engine_release(r.e, c[i]);
    }
    assert_int_equal(lm_engine_submit(r.e, ids, 130, &turn, 8, requests, c, &err), KG_OK);
    lm_engine_step(r.e, last, 8);
    lm_engine_release(r.e, c[0]); /* in the middle of the prompt */
    lm_engine_release(r.e, c[3]);
    run(&r, last, tokens);
    for (int i = 0; i < 8; i++) {
        if (i != 0 && i != 3) {
            assert_memory_equal(kept[i], lm_engine_ids(r.e, c[i], &n), 134 * sizeof **kept);
            lm_engine_release(r.e, c[i]);
        }
    }
    assert_int_equal(lm_engine_stats(r.e).pages_free, 24);
    close_rig(&r);
}

/* A step after a change of weights has the log-probs of the new ones. */
static void new_weights_count(void **state)
{
    (void)state;
    struct rig r;
    struct lm_event a, b;
    struct kg_err err = KG_ERR_INIT;
    int c;
    open_rig(&r, &(struct lm_engine_options){.max_seqs = 8, .max_tokens = 40});
    struct lm_turn turn = {.sampling = {.temperature = 1, .seed = 2}, .max_tokens = 2};
    assert_int_equal(lm_engine_submit(r.e, prompt, 5, &turn, 1, requests, &c, &err), KG_OK);
    while (lm_engine_step(r.e, &a, 1) == 0) {
    }
    for (size_t i = 0; i < r.m->base.n; i += 3) {
        r.m->base.w[i] *= 1.5f;
    }
    lm_model_pack(r.m);
    while (lm_engine_step(r.e, &b, 1) == 0) {
    }
    assert_int_equal(b.version, a.version + 1);
    struct lm_trainer *t = NULL;
    struct lm_trainer_options o = {
        .max_rows = 64, .max_seqs = 1, .max_tokens = 40, .score_only = true};
    int n;
    const int32_t *ids = lm_engine_ids(r.e, c, &n);
    int32_t start[] = {0, 7}, target[] = {-1, -1, -1, -1, -1, ids[6], -1};
    /* ids 0..4 are the prompt, 5 and 6 are drawn */
    target[5] = ids[6];
    float logp[7];
    struct lm_rows rows = {1, start, ids, target, 1, false, 0};
    assert_int_equal(lm_trainer_create(r.m, r.threads, &o, &t, &err), KG_OK);
    assert_int_equal(lm_trainer_forward(t, &rows, logp, NULL, &err), KG_OK);
    assert_memory_equal(&logp[5], &b.logp, sizeof b.logp);
    lm_trainer_destroy(t);
    close_rig(&r);
}

#if !defined(__SANITIZE_ADDRESS__)
static _Atomic long allocations;

void *__libc_malloc(size_t n);
void *malloc(size_t n)
{
    allocations++;
    return __libc_malloc(n);
}

static void steps_allocate_nothing(void **state)
{
    (void)state;
    struct rig r;
    struct kg_err err = KG_ERR_INIT;
    struct lm_event last[8];
    struct lm_trainer *t = NULL;
    struct lm_trainer_options o = {.max_rows = 256, .max_seqs = 8, .max_tokens = 128};
    const struct lm_adamw adam = {1e-2f, .9f, .95f, 1e-8f, .1f, 1};
    static const int lengths[] = {9, 70};
    static struct lm_test_rows rows;
    int c[8], tokens[8] = {0};
    open_rig(&r, &(struct lm_engine_options){.max_seqs = 8, .max_tokens = 140, .n_pages = 7});
    assert_int_equal(lm_trainer_create(r.m, r.threads, &o, &t, &err), KG_OK);
    lm_test_fill(&rows, 53, lengths, 2);
    struct lm_turn turn = {.sampling = {.temperature = 1, .top_k = 20, .top_p = .9f, .seed = 2},
                           .max_tokens = 100};
    long before = allocations;
    assert_int_equal(lm_engine_submit(r.e, prompt, 5, &turn, 8, requests, c, &err), KG_OK);
    run(&r, last, tokens);
    assert_int_equal(lm_trainer_forward(t, &rows.rows, rows.logp, NULL, &err), KG_OK);
    lm_trainer_backward(t, rows.c, NULL);
    lm_trainer_update(t, &adam);
    assert_int_equal(allocations, before);
    void *volatile one = malloc(1);
    free(one);
    assert_int_equal(allocations, before + 1); /* they are seen */
    lm_trainer_destroy(t);
    close_rig(&r);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_right),
        cmocka_unit_test(filters),
        cmocka_unit_test(turns_end),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(groups_share),
        cmocka_unit_test(new_weights_count),
#if !defined(__SANITIZE_ADDRESS__)
        cmocka_unit_test(steps_allocate_nothing),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
