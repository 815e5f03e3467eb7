/* Scoring more rows than one chunk of logits holds, on several threads: the log-probs are those of
 * one thread. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include "tests/support/lm_model.h"

#define SEQS 60
#define LEN  100
#define ROWS (SEQS * LEN)

static int32_t start[SEQS + 1], ids[ROWS], target[ROWS];

static void score(int threads, float *logp)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_threads *set;
    struct lm_model *m;
    struct lm_trainer *t;
    struct lm_config c = lm_test_qwen3();
    const struct lm_trainer_options o = {.max_rows = ROWS, .max_seqs = SEQS, .max_tokens = LEN};
    const struct lm_rows rows = {
        .n_seq = SEQS, .start = start, .ids = ids, .target = target, .temperature = 1};
    c.vocab = 700;
    assert_int_equal(lm_threads_create(threads, &set, &err), KG_OK);
    assert_int_equal(lm_model_create(&c, 3, &m, &err), KG_OK);
    lm_test_stir(m);
    assert_int_equal(lm_trainer_create(m, set, &o, &t, &err), KG_OK);
    for (int time = 0; time < (threads > 1 ? 6 : 1); time++) {
        float *out = threads > 1 ? calloc(ROWS, sizeof *out) : logp;
        assert_int_equal(lm_trainer_forward(t, &rows, out, NULL, &err), KG_OK);
        assert_memory_equal(out, logp, ROWS * sizeof *out);
        if (out != logp) {
            free(out);
        }
    }
    lm_trainer_destroy(t);
    lm_model_destroy(m);
    lm_threads_destroy(set);
}

static void chunks_have_the_bits_of_one_thread(void **state)
{
    (void)state;
    static float logp[ROWS];
    for (int i = 0; i < ROWS; i++) {
        ids[i] = (int32_t)(lm_test_bits(1, (uint32_t)i) % 700);
        target[i] = (int32_t)(lm_test_bits(2, (uint32_t)i) % 700);
        start[i / LEN + 1] = i + 1;
    }
    score(1, logp);
    score(2, logp);
    score(5, logp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chunks_have_the_bits_of_one_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
