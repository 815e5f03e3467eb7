/* How many tokens a second the engine trains on and samples, with a model of the demo's size. Both
 * are measured in turn, round by round, on the same threads; the figure is the best round, and the
 * median stands beside it.
 *   build/release/bench/bench_lm [rounds=5] [threads=2] [form: plain|avx2|avx512] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/common/host.h"
#include "lm/lm.h"

#define ROWS    4096 /* of a micro-step */
#define SAMPLES 128  /* conversations at once */
#define PROMPT  96
#define REPLY   160

static const struct lm_config demo = {.vocab = 600,
                                      .hidden = 96,
                                      .inter = 256,
                                      .layers = 3,
                                      .heads = 4,
                                      .kv_heads = 2,
                                      .head_dim = 24,
                                      .max_pos = 512,
                                      .rope_theta = 1e4f,
                                      .rms_eps = 1e-6f,
                                      .tied = true,
                                      .qk_norm = true};

static double seconds(int64_t since_ns)
{
    return (double)(kg_clock_ns() - since_ns) / 1e9;
}

struct training {
    struct lm_trainer *t;
    struct lm_rows rows;
    float *c, *logp, *ent;
};

/* Sequences of 256 tokens, all of them targets. */
static void make_training(struct training *b, struct lm_model *m, struct lm_threads *threads)
{
    static int32_t start[ROWS / 256 + 1], ids[ROWS], target[ROWS];
    static float c[ROWS], logp[ROWS], ent[ROWS];
    struct kg_err err = KG_ERR_INIT;
    struct lm_trainer_options o = {.max_rows = ROWS, .max_seqs = ROWS / 256, .max_tokens = 512};
    for (int i = 0; i <= ROWS / 256; i++) {
        start[i] = i * 256;
    }
    for (int i = 0; i < ROWS; i++) {
        ids[i] = (i * 7919 + i / 13) % demo.vocab;
        target[i] = (ids[i] * 31 + 7) % demo.vocab;
        c[i] = 1.0f / ROWS;
    }
    kg_bench_need_ok(lm_trainer_create(m, threads, &o, &b->t, &err), &err);
    b->rows = (struct lm_rows){ROWS / 256, start, ids, target, 1, false, 0};
    b->c = c;
    b->logp = logp;
    b->ent = ent;
}

static double train(struct training *b, double *parts)
{
    const struct lm_adamw adam = {1e-3f, .9f, .95f, 1e-8f, .1f, 1};
    struct kg_err err = KG_ERR_INIT;
    int64_t begin = kg_clock_ns();
    kg_bench_need_ok(lm_trainer_forward(b->t, &b->rows, b->logp, b->ent, &err), &err);
    parts[0] = seconds(begin);
    lm_trainer_backward(b->t, b->c, NULL);
    parts[1] = seconds(begin) - parts[0];
    lm_trainer_update(b->t, &adam);
    double all = seconds(begin);
    parts[2] = all - parts[0] - parts[1];
    return ROWS / all;
}

/* Groups of 8 samples, each with its own prompt, until all have REPLY tokens. */
static double sample(struct lm_engine *e, int round)
{
    static struct lm_event events[SAMPLES];
    static int handles[SAMPLES];
    struct kg_err err = KG_ERR_INIT;
    struct lm_turn turn = {.sampling = {.temperature = 1, .seed = 42}, .max_tokens = REPLY};
    int64_t begin = kg_clock_ns();
    for (int g = 0; g < SAMPLES / 8; g++) {
        int32_t prompt[PROMPT];
        uint64_t requests[8];
        for (int i = 0; i < PROMPT; i++) {
            prompt[i] = (i * 13 + g * 7 + round) % demo.vocab;
        }
        for (int i = 0; i < 8; i++) {
            requests[i] = (uint64_t)(round * SAMPLES + g * 8 + i);
        }
        kg_bench_need_ok(
            lm_engine_submit(e, prompt, PROMPT, &turn, 8, requests, handles + g * 8, &err), &err);
    }
    int drawn = 0;
    while (lm_engine_busy(e)) {
        drawn += lm_engine_step(e, events, SAMPLES);
    }
    for (int i = 0; i < SAMPLES; i++) {
        lm_engine_release(e, handles[i]);
    }
    return drawn / seconds(begin);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int rounds = kg_bench_count(argc, argv, 1, 1, 64, 5);
    int n = kg_bench_count(argc, argv, 2, 1, 256, 2);
    struct kg_err err = KG_ERR_INIT;
    struct lm_threads *threads = NULL;
    struct lm_model *m = NULL;
    struct lm_engine *e = NULL;
    struct training b;
    double trained[64], sampled[64], parts[3], best[3] = {1e9, 1e9, 1e9};
    kg_bench_need_ok(lm_threads_create(n, &threads, &err), &err);
    kg_bench_need_ok(lm_model_create(&demo, 1, &m, &err), &err);
    if (argc > 3 && (m->ops = lm_ops_named(argv[3])) == NULL) {
        kg_bench_need(false, "this processor has no %s", argv[3]);
    }
    make_training(&b, m, threads);
    struct lm_engine_options o = {.max_seqs = SAMPLES, .max_tokens = 512};
    kg_bench_need_ok(lm_engine_create(m, threads, &o, &e, &err), &err);
    for (int r = 0; r < rounds; r++) {
        trained[r] = train(&b, parts);
        sampled[r] = sample(e, r);
        for (int i = 0; i < 3; i++) {
            best[i] = parts[i] < best[i] ? parts[i] : best[i];
        }
    }
    qsort(trained, (size_t)rounds, sizeof *trained, by_value);
    qsort(sampled, (size_t)rounds, sizeof *sampled, by_value);
    printf("%zu parameters, %s, %d threads, %d rounds\n", m->base.n, m->ops->name, n, rounds);
    printf("%-10s %14s %14s\n", "tokens/s", "best", "median");
    printf("%-10s %14.0f %14.0f   forward %.1f ms, backward %.1f, update %.1f for %d rows\n",
           "training", trained[rounds - 1], trained[rounds / 2], best[0] * 1e3, best[1] * 1e3,
           best[2] * 1e3, ROWS);
    printf("%-10s %14.0f %14.0f   %d at once, prompts of %d, replies of %d\n", "sampling",
           sampled[rounds - 1], sampled[rounds / 2], SAMPLES, PROMPT, REPLY);
    kg_bench_json("lm", json_pack("{s:I, s:s, s:i, s:i, s:f, s:f, s:f, s:f}", "parameters",
                                  (json_int_t)m->base.n, "form", m->ops->name, "threads", n,
                                  "rounds", rounds, "train_best", trained[rounds - 1],
                                  "train_median", trained[rounds / 2], "sample_best",
                                  sampled[rounds - 1], "sample_median", sampled[rounds / 2]));
    lm_engine_destroy(e);
    lm_trainer_destroy(b.t);
    lm_model_destroy(m);
    lm_threads_destroy(threads);
    return 0;
}
