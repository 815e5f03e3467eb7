/* SFT: which rows get a gradient, validation, micro-batches, going on where a run was. */
#include "loop_rig.h"

#include <math.h>

static struct rl_sft_options options(void)
{
    return (struct rl_sft_options){.seed = 3,
                                   .rows = 1024,
                                   .seqs = 32,
                                   .steps = 8,
                                   .warmup = 2,
                                   .lowest = .1f,
                                   .adamw = {1e-2f, .9f, .95f, 1e-8f, .01f, 1}};
}

/* A model and a trainer of their own, so each test begins at the same weights. */
struct learner {
    struct lm_model *model;
    struct lm_trainer *trainer;
};

static struct learner begin(const struct loop *l, const struct lm_lora_config *lora)
{
    struct learner x;
    const struct lm_trainer_options t = {
        .max_rows = 1024, .max_seqs = 32, .max_tokens = LOOP_TOKENS};
    loop_ok(lm_model_create(&l->model->cfg, 9, &x.model, &loop_err));
    if (lora != NULL) {
        loop_ok(lm_lora_add(x.model, lora, 4, &loop_err));
    }
    loop_ok(lm_trainer_create(x.model, l->threads, &t, &x.trainer, &loop_err));
    return x;
}

static void end(struct learner *x)
{
    lm_trainer_destroy(x->trainer);
    lm_model_destroy(x->model);
}

/* The conversation of EX-7.5, with ids of this vocabulary. */
static struct rl_corpus example(struct rl_document *doc)
{
    enum { S = 300, USR, E, N, A, A1, A2, B1 };
    static int32_t ids[17] = {S, USR, E, N, A, A1, A2, E, N, S, USR, E, N, A, B1, E, N};
    static uint8_t mask[17] = {0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0};
    *doc = (struct rl_document){.first = 0, .n = 17, .turns = 2};
    return (struct rl_corpus){
        .doc = doc, .n = 1, .longest = 17, .ids = {.id = ids, .mask = mask, .n = 17, .cap = 17}};
}

/* The loss is the mean over rows 4, 5, 6, 13 and 14: a reply from its first id to its end. */
static void d_25_loss_of_ex_7_5(void **state)
{
    const struct loop *l = *state;
    static const int rows[] = {4, 5, 6, 13, 14};
    struct rl_document doc;
    struct rl_corpus c = example(&doc);
    struct learner x = begin(l, NULL);
    struct rl_sft_options o = options();
    struct rl_sft_stats s;
    int32_t start[2] = {0, 16}, target[16];
    float logp[16];
    double loss = 0;
    for (int i = 0; i < 16; i++) {
        target[i] = c.ids.id[i + 1];
    }
    const struct lm_rows all = {
        .n_seq = 1, .start = start, .ids = c.ids.id, .target = target, .temperature = 1};
    loop_ok(lm_trainer_forward(x.trainer, &all, logp, NULL, &loop_err));
    for (int i = 0; i < 5; i++) {
        loss -= (double)logp[rows[i]] / 5;
    }
    o.steps = 1;
    o.rows = 16;
    loop_ok(rl_sft_run(x.trainer, &c, &o, NULL, NULL, &s, &loop_err));
    assert_int_equal(s.trained, 5);
    assert_int_equal(s.tokens, 16);
    assert_true(fabs(s.loss - loss) < 1e-6);
    end(&x);
}

/* A model that has learned the example knows what it was trained on, and the end of the turn. */
static void d_35_the_end_is_learned(void **state)
{
    const struct loop *l = *state;
    struct rl_document doc;
    struct rl_corpus c = example(&doc);
    struct learner x = begin(l, NULL);
    struct rl_sft_options o = options();
    struct rl_sft_stats s;
    int32_t start[2] = {0, 16};
    float logp[16];
    o.steps = 80;
    o.rows = 16;
    loop_ok(rl_sft_run(x.trainer, &c, &o, NULL, NULL, &s, &loop_err));
    const struct lm_rows all = {
        .n_seq = 1, .start = start, .ids = c.ids.id, .target = c.ids.id + 1, .temperature = 1};
    loop_ok(lm_trainer_forward(x.trainer, &all, logp, NULL, &loop_err));
    for (int i = 0; i < 16; i++) {
        bool trained = c.ids.mask[i + 1];
        assert_true(trained ? (double)logp[i] > -.3 : (double)logp[i] < -1);
    }
    end(&x);
}

static void validation_is_the_mean_of_its_tokens(void **state)
{
    const struct loop *l = *state;
    struct learner x = begin(l, NULL);
    struct rl_corpus valid = l->corpus, train = l->corpus;
    struct rl_sft_options o = options();
    struct rl_sft_stats s;
    double before, after, one, sum = 0;
    uint64_t counted = 0;
    valid.n = 40;
    train.doc += 40;
    train.n -= 40;
    loop_ok(rl_sft_loss(x.trainer, &valid, &o, &before, &loop_err));
    for (size_t i = 0; i < valid.n; i++) { /* one document at a time */
        struct rl_corpus single = valid;
        uint64_t n = 0;
        single.doc += i;
        single.n = 1;
        for (size_t k = 0; k < single.doc->n; k++) {
            n += valid.ids.mask[single.doc->first + k];
        }
        loop_ok(rl_sft_loss(x.trainer, &single, &o, &one, &loop_err));
        sum += one * (double)n;
        counted += n;
    }
    assert_true(fabs(before - sum / (double)counted) < 1e-6);
    o.valid = &valid;
    o.steps = 30;
    loop_ok(rl_sft_run(x.trainer, &train, &o, NULL, NULL, &s, &loop_err));
    loop_ok(rl_sft_loss(x.trainer, &valid, &o, &after, &loop_err));
    assert_true(s.valid == after); /* of the last step */
    assert_true(after < .8 * before);
    end(&x);
}

/* Two micro-batches of half the rows: the same mean over all tokens. */
static void micro_batches_share_one_mean(void **state)
{
    const struct loop *l = *state;
    struct learner x = begin(l, NULL);
    struct rl_sft_options o = options();
    struct rl_sft_stats s;
    o.steps = 1;
    o.micro = 3;
    loop_ok(rl_sft_run(x.trainer, &l->corpus, &o, NULL, NULL, &s, &loop_err));
    assert_true(s.tokens > 2 * 800);
    /* the same documents at once: by their sum of -log p */
    struct learner y = begin(l, NULL);
    struct rl_pack p;
    const struct rl_pack_options po = {.seed = o.seed, .shuffle = true, .rows = 1024, .seqs = 32};
    double sum = 0;
    uint64_t counted = 0;
    float logp[1024];
    loop_ok(rl_pack_open(&l->corpus, &po, &p, &loop_err));
    for (int i = 0; i < 3; i++) {
        rl_pack_next(&p, false);
        const struct lm_rows rows = rl_pack_rows(&p);
        loop_ok(lm_trainer_forward(y.trainer, &rows, logp, NULL, &loop_err));
        for (int k = 0; k < p.rows; k++) {
            sum -= p.target[k] >= 0 ? (double)logp[k] : 0;
        }
        counted += (uint64_t)p.counted;
    }
    assert_true(s.trained == counted);
    assert_true(fabs(s.loss - sum / (double)counted) < 1e-9);
    rl_pack_close(&p);
    end(&x);
    end(&y);
}

static bool stop_at_five(void *user, const struct rl_sft_stats *s)
{
    (void)user;
    return s->step < 5;
}

/* Eight steps, or five and then three: the same bits, with an adapter's dropout too. */
static void going_on_has_the_same_bits(void **state)
{
    const struct loop *l = *state;
    const struct lm_lora_config lora = {.r = 4, .alpha = 8, .dropout = .1f, .targets = 0x7f};
    struct learner whole = begin(l, &lora), parts = begin(l, &lora);
    struct rl_sft_options o = options();
    struct rl_sft_stats a, b, five;
    o.micro = 2;
    o.dropout = true;
    loop_ok(rl_sft_run(whole.trainer, &l->corpus, &o, NULL, NULL, &a, &loop_err));
    loop_ok(rl_sft_run(parts.trainer, &l->corpus, &o, stop_at_five, NULL, &five, &loop_err));
    assert_int_equal(five.step, 5);
    o.from = &five;
    loop_ok(rl_sft_run(parts.trainer, &l->corpus, &o, NULL, NULL, &b, &loop_err));
    assert_int_equal(b.step, 8);
    assert_true(a.tokens == b.tokens && a.trained == b.trained && a.loss == b.loss);
    const struct lm_params *p = lm_model_trained(whole.model), *q = lm_model_trained(parts.model);
    assert_memory_equal(p->w, q->w, p->n * sizeof *p->w);
    end(&whole);
    end(&parts);
}

/* Every document once in an epoch, and epochs differ. */
static void packing_takes_each_document_once(void **state)
{
    const struct loop *l = *state;
    struct rl_pack p;
    const struct rl_pack_options o = {.seed = 3, .shuffle = true, .rows = 1024, .seqs = 32};
    uint64_t rows = 0, want = 0, first[2];
    int n = 0;
    loop_ok(rl_pack_open(&l->corpus, &o, &p, &loop_err));
    for (rl_pack_next(&p, true); p.seqs > 0; rl_pack_next(&p, true)) {
        rows += (uint64_t)p.rows;
        n += p.seqs;
    }
    for (size_t i = 0; i < l->corpus.n; i++) {
        want += l->corpus.doc[i].n - 1;
    }
    assert_int_equal(n, l->corpus.n);
    assert_true(rows == want);
    for (uint32_t e = 0; e < 2; e++) {
        rl_pack_seek(&p, (struct rl_pack_place){.epoch = e + 1});
        first[e] = p.order[0];
    }
    assert_true(first[0] != first[1]);
    struct rl_sft_options s = options();
    int steps, twice;
    s.steps = 1000;
    loop_ok(rl_sft_steps(&l->corpus, &s, 1, &steps, &loop_err));
    s.micro = 2;
    loop_ok(rl_sft_steps(&l->corpus, &s, 2, &twice, &loop_err));
    assert_in_range(steps, rows / 1024, rows / 700);
    assert_in_range(twice, steps - 1, steps + 1);
    rl_pack_close(&p);
}

/* A document that the trainer cannot hold is left out and counted. */
static void long_documents_are_left_out(void **state)
{
    const struct loop *l = *state;
    struct learner x = begin(l, NULL);
    struct rl_sft_options o = options();
    struct rl_sft_stats s;
    uint64_t more = 0;
    o.longest = (int)l->corpus.longest - 20;
    for (size_t i = 0; i < l->corpus.n; i++) {
        more += l->corpus.doc[i].n - 1 > (size_t)o.longest;
    }
    assert_in_range(more, 1, l->corpus.n / 2);
    loop_ok(rl_sft_steps(&l->corpus, &o, 1, &o.steps, &loop_err));
    loop_ok(rl_sft_run(x.trainer, &l->corpus, &o, NULL, NULL, &s, &loop_err));
    assert_in_range(s.left_out, o.steps == 8 ? 1 : more, 2 * more);
    o.longest = 3;
    assert_int_equal(rl_sft_run(x.trainer, &l->corpus, &o, NULL, NULL, &s, &loop_err), KG_E_INPUT);
    end(&x);
}

int main(void)
{
    static struct loop l;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(d_25_loss_of_ex_7_5, &l),
        cmocka_unit_test_prestate(d_35_the_end_is_learned, &l),
        cmocka_unit_test_prestate(validation_is_the_mean_of_its_tokens, &l),
        cmocka_unit_test_prestate(micro_batches_share_one_mean, &l),
        cmocka_unit_test_prestate(going_on_has_the_same_bits, &l),
        cmocka_unit_test_prestate(long_documents_are_left_out, &l),
        cmocka_unit_test_prestate(packing_takes_each_document_once, &l),
    };
    loop_open(&l, 1024, 32);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    loop_close(&l);
    return failed;
}
