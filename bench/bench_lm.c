/* How many tokens a second the engine trains on and samples, with the model of configs/demo.yaml,
 * beside PyTorch and the generate() of transformers with the same model, threads and work in the
 * same run. They take turns, round by round. The figure is the best round, the median beside it.
 *   build/release/bench/bench_lm [rounds=5] [threads=2] [form: plain|avx2|avx512] [configuration]
 * Training: one micro-batch of rows, all of them targets: forward, loss, backward, clip, AdamW.
 * Sampling: 128 conversations at once, in groups of 8 with one prompt, at temperature 1. Without
 * PyTorch (see bench/common/peer.h) the engine is measured alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/common/host.h"
#include "bench/common/peer.h"
#include "lm/lm.h"
#include "rl/run/options.h"

#define ROWS     4096 /* of a micro-step */
#define LENGTH   256  /* of a sequence in it */
#define SAMPLES  128  /* conversations at once */
#define EACH     8    /* of one prompt */
#define PROMPT   96
#define REPLY    160
#define CONTROLS 32 /* about as many ids as operators and control tokens of the chains have */
#define ROUNDS   64

enum side { ENGINE_TRAINS, TORCH_TRAINS, LIBRARY_TRAINS, ENGINE_SAMPLES, LIBRARY_SAMPLES, SIDES };
static const char *const side_name[SIDES] = {"train", "train_torch", "train_transformers", "sample",
                                             "sample_transformers"};
static const char *const side_word[SIDES] = {NULL, "train", "train-hf", NULL, "sample"};

struct side_result {
    double rate[ROUNDS], best, median;
    int n;
};

static struct lm_config shape;

static void read_shape(const char *path)
{
    static struct rl_config c;
    struct kg_err err = KG_ERR_INIT;
    char usual[512];
    rl_config_defaults(&c);
    snprintf(usual, sizeof usual, "%s/configs/demo.yaml", kg_bench_tree());
    kg_bench_need_ok(rl_config_file(&c, path != NULL ? path : usual, &err), &err);
    shape = (struct lm_config){.vocab = 256 + (int)c.merges + CONTROLS,
                               .hidden = (int)c.hidden,
                               .inter = (int)c.inter,
                               .layers = (int)c.layers,
                               .heads = (int)c.heads,
                               .kv_heads = (int)c.heads,
                               .head_dim = (int)(c.hidden / c.heads),
                               .max_pos = 512,
                               .rope_theta = 1e4f,
                               .rms_eps = 1e-6f,
                               .tied = true,
                               .qk_norm = true};
}

static double seconds(int64_t since_ns)
{
    return (double)(kg_clock_ns() - since_ns) / 1e9;
}

struct training {
    struct lm_trainer *t;
    struct lm_rows rows;
    float *c, *logp, *ent;
};

/* Sequences of LENGTH tokens, all of them targets. */
static void make_training(struct training *b, struct lm_model *m, struct lm_threads *threads)
{
    static int32_t start[ROWS / LENGTH + 1], ids[ROWS], target[ROWS];
    static float c[ROWS], logp[ROWS], ent[ROWS];
    struct kg_err err = KG_ERR_INIT;
    struct lm_trainer_options o = {.max_rows = ROWS, .max_seqs = ROWS / LENGTH, .max_tokens = 512};
    for (int i = 0; i <= ROWS / LENGTH; i++) {
        start[i] = i * LENGTH;
    }
    for (int i = 0; i < ROWS; i++) {
        ids[i] = (i * 7919 + i / 13) % shape.vocab;
        target[i] = (ids[i] * 31 + 7) % shape.vocab;
        c[i] = 1.0f / ROWS;
    }
    kg_bench_need_ok(lm_trainer_create(m, threads, &o, &b->t, &err), &err);
    b->rows = (struct lm_rows){ROWS / LENGTH, start, ids, target, 1, false, 0};
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

/* Groups of EACH samples, each with its own prompt, until all have REPLY tokens. */
static double sample(struct lm_engine *e, int round)
{
    static struct lm_event events[SAMPLES];
    static int handles[SAMPLES];
    struct kg_err err = KG_ERR_INIT;
    struct lm_turn turn = {.sampling = {.temperature = 1, .seed = 42}, .max_tokens = REPLY};
    int64_t begin = kg_clock_ns();
    for (int g = 0; g < SAMPLES / EACH; g++) {
        int32_t prompt[PROMPT];
        uint64_t requests[EACH];
        for (int i = 0; i < PROMPT; i++) {
            prompt[i] = (i * 13 + g * 7 + round) % shape.vocab;
        }
        for (int i = 0; i < EACH; i++) {
            requests[i] = (uint64_t)(round * SAMPLES + g * EACH + i);
        }
        kg_bench_need_ok(
            lm_engine_submit(e, prompt, PROMPT, &turn, EACH, requests, handles + g * EACH, &err),
            &err);
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

static void settle(struct side_result *r)
{
    qsort(r->rate, (size_t)r->n, sizeof *r->rate, by_value);
    r->best = r->n > 0 ? r->rate[r->n - 1] : 0;
    r->median = r->n > 0 ? r->rate[r->n / 2] : 0;
}

static bool start_peer(struct kg_bench_peer *peer, int threads)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"vocab\": %d, \"hidden\": %d, \"inter\": %d, \"layers\": %d, \"heads\": %d, "
             "\"head_dim\": %d, \"rows\": %d, \"length\": %d, \"threads\": %d, \"samples\": %d, "
             "\"each\": %d, \"prompt\": %d, \"reply\": %d}",
             shape.vocab, shape.hidden, shape.inter, shape.layers, shape.heads, shape.head_dim,
             ROWS, LENGTH, threads, SAMPLES, EACH, PROMPT, REPLY);
    return kg_bench_peer_start(peer, "lm_peer.py", text);
}

static void one_round(struct training *b, struct lm_engine *e, struct kg_bench_peer *peer,
                      int round, double *parts, struct side_result *r)
{
    for (int s = 0; s < SIDES; s++) {
        double rate = -1;
        if (s == ENGINE_TRAINS) {
            rate = train(b, parts);
        } else if (s == ENGINE_SAMPLES) {
            rate = sample(e, round);
        } else if (peer != NULL) {
            rate = kg_bench_peer_ask(peer, side_word[s]);
        }
        if (rate > 0) {
            r[s].rate[r[s].n++] = rate;
        }
    }
}

static void print_side(const char *name, const struct side_result *r, const struct side_result *to)
{
    if (r->n == 0) {
        printf("%-34s %10s\n", name, "not there");
        return;
    }
    printf("%-34s %10.0f %10.0f", name, r->best, r->median);
    if (to != NULL) {
        printf(" %11.2f %11.2f", to->best / r->best, to->median / r->median);
    }
    printf("\n");
}

static void print_table(const struct side_result *r, const double *best)
{
    printf("%-34s %10s %10s %11s %11s\n", "tokens/s", "best", "median", "engine/best",
           "engine/median");
    print_side("training, engine", &r[ENGINE_TRAINS], NULL);
    print_side("training, plain PyTorch", &r[TORCH_TRAINS], &r[ENGINE_TRAINS]);
    print_side("training, transformers", &r[LIBRARY_TRAINS], &r[ENGINE_TRAINS]);
    print_side("sampling, engine", &r[ENGINE_SAMPLES], NULL);
    print_side("sampling, transformers' generate()", &r[LIBRARY_SAMPLES], &r[ENGINE_SAMPLES]);
    printf("training: %d rows in sequences of %d; of the engine: forward %.1f ms, backward %.1f, "
           "update %.1f\n",
           ROWS, LENGTH, best[0] * 1e3, best[1] * 1e3, best[2] * 1e3);
    printf("sampling: %d at once, prompts of %d, replies of %d\n", SAMPLES, PROMPT, REPLY);
}

static void print_json(const struct lm_model *m, const struct kg_bench_peer *peer, int threads,
                       int rounds, const struct side_result *r)
{
    json_t *o = json_pack("{s:I, s:i, s:i, s:i, s:s, s:i, s:i, s:s}", "parameters",
                          (json_int_t)m->base.n, "hidden", shape.hidden, "layers", shape.layers,
                          "vocab", shape.vocab, "form", m->ops->name, "threads", threads, "rounds",
                          rounds, "peer", peer != NULL ? peer->says : "none");
    for (int s = 0; s < SIDES; s++) {
        if (r[s].n > 0) {
            json_object_set_new(o, side_name[s],
                                json_pack("{s:f, s:f}", "best", r[s].best, "median", r[s].median));
        }
    }
    kg_bench_json("lm", o);
}

static void measure(struct lm_model *m, struct lm_threads *threads, int n, int rounds)
{
    static struct side_result r[SIDES];
    struct kg_err err = KG_ERR_INIT;
    struct lm_engine *e = NULL;
    struct training b;
    struct kg_bench_peer peer;
    double parts[3], best[3] = {1e9, 1e9, 1e9};
    make_training(&b, m, threads);
    struct lm_engine_options o = {.max_seqs = SAMPLES, .max_tokens = 512};
    kg_bench_need_ok(lm_engine_create(m, threads, &o, &e, &err), &err);
    bool compared = start_peer(&peer, n);
    for (int i = 0; i < rounds; i++) {
        one_round(&b, e, compared ? &peer : NULL, i, parts, r);
        for (int k = 0; k < 3; k++) {
            best[k] = parts[k] < best[k] ? parts[k] : best[k];
        }
    }
    for (int s = 0; s < SIDES; s++) {
        settle(&r[s]);
    }
    printf("%zu parameters, %s, %d threads, %d rounds, beside %s\n", m->base.n, m->ops->name, n,
           rounds, compared ? peer.says : "nothing");
    print_table(r, best);
    print_json(m, compared ? &peer : NULL, n, rounds, r);
    if (compared) {
        kg_bench_peer_end(&peer);
    }
    lm_engine_destroy(e);
    lm_trainer_destroy(b.t);
}

int main(int argc, char **argv)
{
    int rounds = kg_bench_count(argc, argv, 1, 1, ROUNDS, 5);
    int n = kg_bench_count(argc, argv, 2, 1, 256, 2);
    struct kg_err err = KG_ERR_INIT;
    struct lm_threads *threads = NULL;
    struct lm_model *m = NULL;
    read_shape(argc > 4 ? argv[4] : NULL);
    kg_bench_need_ok(lm_threads_create(n, &threads, &err), &err);
    kg_bench_need_ok(lm_model_create(&shape, 1, &m, &err), &err);
    if (argc > 3 && (m->ops = lm_ops_named(argv[3])) == NULL) {
        kg_bench_need(false, "this processor has no %s", argv[3]);
    }
    measure(m, threads, n, rounds);
    lm_model_destroy(m);
    lm_threads_destroy(threads);
    return 0;
}
