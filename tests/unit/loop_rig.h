/* What tests of the learner's loop share: a small corpus with its tokenizer, and a model that fits
 * it. Everything is static: each test program has its own. */
#ifndef LOOP_RIG_H
#define LOOP_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lm/lm.h"
#include "rl/step/sft.h"
#include "rl/step/step.h"

#define LOOP_TOKENS 512

static struct kg_err loop_err = KG_ERR_INIT;

#define loop_ok(call)                                                                              \
    do {                                                                                           \
        if ((call) != KG_OK) {                                                                     \
            fail_msg("%s", loop_err.message);                                                      \
        }                                                                                          \
    } while (0)

static inline struct rl_corpus_options loop_corpus_options(void)
{
    return (struct rl_corpus_options){.seed = 5,
                                      .documents = 300,
                                      .triples = .3,
                                      .merges = 400,
                                      .feedback = 24,
                                      .mix = &rl_mix_rich};
}

struct loop {
    struct rl_split split;
    struct rl_talker talker;
    struct rl_corpus corpus;
    struct lm_threads *threads;
    struct lm_model *model;
    struct lm_trainer *trainer;
};

static inline void loop_open(struct loop *l, int rows, int seqs)
{
    const struct rl_corpus_options o = loop_corpus_options();
    const struct lm_trainer_options t = {
        .max_rows = rows, .max_seqs = seqs, .max_tokens = LOOP_TOKENS};
    rl_split_init(&l->split, 5, 0);
    loop_ok(rl_corpus_create(&o, &l->split, NULL, NULL, &l->talker, &l->corpus, &loop_err));
    const struct lm_config c = {.vocab = l->talker.vocab,
                                .hidden = 32,
                                .inter = 64,
                                .layers = 2,
                                .heads = 2,
                                .kv_heads = 2,
                                .head_dim = 16,
                                .max_pos = LOOP_TOKENS,
                                .rope_theta = 1e4f,
                                .rms_eps = 1e-6f,
                                .tied = true,
                                .qk_norm = true};
    loop_ok(lm_threads_create(1, &l->threads, &loop_err));
    loop_ok(lm_model_create(&c, 3, &l->model, &loop_err));
    loop_ok(lm_trainer_create(l->model, l->threads, &t, &l->trainer, &loop_err));
}

static inline void loop_close(struct loop *l)
{
    lm_trainer_destroy(l->trainer);
    lm_model_destroy(l->model);
    lm_threads_destroy(l->threads);
    rl_corpus_destroy(&l->corpus);
    rl_talker_close(&l->talker);
}

#endif
