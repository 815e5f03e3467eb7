/* One training step, with the real sampler and made-up verdicts: log-probs have the sampler's bits,
 * good replies become likelier, what must not train does not. */
#include "loop_rig.h"

#include <math.h>

#include "lm/infer/engine.h"

#define GROUPS   2
#define ROLLOUTS 4
#define REPLY    20

struct stage {
    struct loop l;
    struct lm_engine *engine;
    struct rl_rollouts *r;
    struct rl_verdict verdict[GROUPS * ROLLOUTS];
};

/* Trajectories of one turn, sampled by the engine. */
static void sample(struct stage *s)
{
    struct rl_chain chain;
    struct lm_ids ids;
    struct lm_event e[GROUPS * ROLLOUTS];
    const struct lm_turn turn = {
        .sampling = {.temperature = 1, .seed = 7}, .max_tokens = REPLY, .stop = {-1}, .n_stop = 0};
    lm_ids_init(&ids);
    loop_ok(rl_chain_parse("relu", &chain, &loop_err));
    loop_ok(rl_talker_prompt(&s->l.talker, &chain, &ids, &loop_err));
    s->r->n = GROUPS * ROLLOUTS;
    for (int i = 0; i < s->r->n; i++) {
        uint64_t request = (uint64_t)i;
        struct rl_walk *w = &s->r->walk[i];
        *w = (struct rl_walk){.chain = chain,
                              .group = (uint32_t)i / ROLLOUTS,
                              .rollout = (uint32_t)i % ROLLOUTS + 1,
                              .end = RL_WALK_DONE,
                              .ids = s->r->ids + (size_t)i * LOOP_TOKENS,
                              .mu = s->r->mu + (size_t)i * LOOP_TOKENS,
                              .n = (int)ids.n,
                              .turns = 1};
        memcpy(w->ids, ids.id, ids.n * sizeof *w->ids);
        w->turn[0] = (struct rl_turn){.first = w->n, .finish = LM_STOP, .verdict = &s->verdict[i]};
        w->turn[0].index = rl_row_index(w->group, w->rollout, 1, ROLLOUTS, 1);
        loop_ok(lm_engine_submit(s->engine, ids.id, (int)ids.n, &turn, 1, &request,
                                 &w->conversation, &loop_err));
    }
    while (lm_engine_busy(s->engine)) {
        int n = lm_engine_step(s->engine, e, GROUPS * ROLLOUTS);
        for (int k = 0; k < n; k++) {
            struct rl_walk *w = &s->r->walk[e[k].request];
            w->ids[w->n] = e[k].token;
            w->mu[w->n++] = e[k].logp;
            w->turn[0].length++;
        }
    }
    for (int i = 0; i < s->r->n; i++) {
        lm_engine_release(s->engine, s->r->walk[i].conversation);
        s->verdict[i] = (struct rl_verdict){.name = "wrong", .coverage = (double)NAN};
    }
    lm_ids_deinit(&ids);
}

static void pay(struct stage *s, int i, double reward)
{
    s->verdict[i] = (struct rl_verdict){.name = "ok",
                                        .correct = true,
                                        .speedup = reward - 1,
                                        .reward = reward,
                                        .coverage = (double)NAN};
}

static int setup(void **state)
{
    struct stage *s = calloc(1, sizeof *s);
    const struct lm_engine_options o = {.max_seqs = GROUPS * ROLLOUTS, .max_tokens = LOOP_TOKENS};
    loop_open(&s->l, 1024, 8);
    loop_ok(lm_engine_create(s->l.model, s->l.threads, &o, &s->engine, &loop_err));
    loop_ok(
        rl_rollouts_create(GROUPS * ROLLOUTS, LOOP_TOKENS, GROUPS * ROLLOUTS, &s->r, &loop_err));
    sample(s);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct stage *s = *state;
    rl_rollouts_destroy(s->r);
    lm_engine_destroy(s->engine);
    loop_close(&s->l);
    free(s);
    return 0;
}

static struct rl_step *open_step(struct stage *s, int max_rows, int max_seqs)
{
    struct rl_step *step;
    struct rl_step_options o = {.seed = 1,
                                .adamw = {1e-3f, .9f, .95f, 1e-8f, 0, 1},
                                .max_rows = max_rows,
                                .max_seqs = max_seqs,
                                .walks = GROUPS * ROLLOUTS,
                                .max_tokens = LOOP_TOKENS,
                                .same_bits = true};
    rl_methods_defaults(&o.methods, GROUPS, ROLLOUTS, 1, REPLY);
    loop_ok(rl_step_create(s->l.trainer, &o, &step, &loop_err));
    return step;
}

/* Sum of log-probs of a trajectory's reply at the weights of now. */
static double likelihood(struct stage *s, const struct rl_walk *w)
{
    int32_t start[2] = {0, w->n - 1}, target[LOOP_TOKENS];
    float logp[LOOP_TOKENS];
    double sum = 0;
    for (int i = 0; i < w->n - 1; i++) {
        target[i] = i + 1 >= w->turn[0].first ? w->ids[i + 1] : -1;
    }
    const struct lm_rows rows = {
        .n_seq = 1, .start = start, .ids = w->ids, .target = target, .temperature = 1};
    loop_ok(lm_trainer_forward(s->l.trainer, &rows, logp, NULL, &loop_err));
    for (int i = 0; i < w->n - 1; i++) {
        sum += (double)logp[i];
    }
    return sum;
}

static void good_replies_become_likelier(void **state)
{
    struct stage *s = *state;
    struct rl_step *step = open_step(s, 1024, 8);
    struct rl_step_stats out;
    double before[GROUPS * ROLLOUTS];
    pay(s, 1, 2.5); /* of group 0; group 1 has no difference */
    for (int i = 0; i < s->r->n; i++) {
        before[i] = likelihood(s, &s->r->walk[i]);
    }
    loop_ok(rl_step_learn(step, s->r, 0, &out, &loop_err));
    assert_int_equal(out.rows, 8);
    assert_int_equal(out.live, 8);
    assert_int_equal(out.kept, 4);
    assert_int_equal(out.groups, 2);
    assert_int_equal(out.dropped, 1);
    assert_int_equal(out.of_drop[RL_DROP_ZERO], 1);
    assert_int_equal(out.micro, 1);
    assert_false(out.skipped);
    assert_true(out.norm > 0 && out.max_diff == 0);
    assert_true(fabs(out.reward - 2.5 / 8) < 1e-12 && out.correct == .125 && out.fast == .125);
    assert_true(likelihood(s, &s->r->walk[1]) > before[1]);
    assert_true(likelihood(s, &s->r->walk[0]) < before[0]);
    const struct rl_row *row = rl_step_rows(step)->row;
    assert_true(fabs(row[1].adv - 2.5) < 1e-12 && fabs(row[0].adv + 2.5 / 3) < 1e-12);
    rl_step_destroy(step);
}

/* Several micro-batches: the same update but for the order of sums. */
static void micro_batches_agree(void **state)
{
    struct stage *s = *state;
    struct rl_step_stats one, many;
    struct rl_step *a = open_step(s, 1024, 8), *b = open_step(s, LOOP_TOKENS, 3);
    size_t n = s->l.model->base.n;
    float *w = malloc(n * sizeof *w);
    pay(s, 1, 2.5);
    pay(s, 6, 1.5);
    memcpy(w, s->l.model->base.w, n * sizeof *w);
    loop_ok(rl_step_learn(a, s->r, 0, &one, &loop_err));
    memcpy(s->l.model->base.w, w, n * sizeof *w);
    lm_model_pack(s->l.model);
    loop_ok(rl_step_learn(b, s->r, 0, &many, &loop_err));
    assert_int_equal(one.micro, 1);
    assert_int_equal(many.micro, 3);
    assert_true(fabs(one.norm - many.norm) < 1e-5 * one.norm);
    assert_true(one.loss == many.loss);
    free(w);
    rl_step_destroy(a);
    rl_step_destroy(b);
}

static void censored_rows_do_not_train(void **state)
{
    struct stage *s = *state;
    struct rl_step *step = open_step(s, 1024, 8);
    struct rl_step_stats out;
    pay(s, 1, 2.5);
    pay(s, 0, 0);
    s->verdict[0].state = RL_NO_VERDICT;
    s->r->walk[0].end = RL_WALK_INFRA;
    s->verdict[5].state = RL_DEFECT;
    s->r->walk[5].end = RL_WALK_DEFECT;
    loop_ok(rl_step_learn(step, s->r, 0, &out, &loop_err));
    assert_int_equal(out.live, 6);
    assert_int_equal(out.kept, 3);
    assert_int_equal(out.of_drop[RL_DROP_PROBLEM], 1);
    assert_true(rl_step_rows(step)->row[0].adv == 0);
    rl_step_destroy(step);
}

static void nothing_to_learn_changes_nothing(void **state)
{
    struct stage *s = *state;
    struct rl_step *step = open_step(s, 1024, 8);
    struct rl_step_stats out;
    uint64_t version = s->l.model->version;
    loop_ok(rl_step_learn(step, s->r, 0, &out, &loop_err));
    assert_int_equal(out.dropped, 2);
    assert_true(s->l.model->version == version);
    rl_step_destroy(step);
}

/* One bit in one log-prob. */
static void other_bits_are_refused(void **state)
{
    struct stage *s = *state;
    struct rl_step *step = open_step(s, 1024, 8);
    struct rl_step_stats out;
    const struct rl_walk *w = &s->r->walk[3];
    float *mu = &w->mu[w->turn[0].first + 2];
    pay(s, 1, 2.5);
    *mu = nextafterf(*mu, -100);
    assert_int_equal(rl_step_learn(step, s->r, 0, &out, &loop_err), KG_E_INPUT);
    assert_non_null(strstr(loop_err.message, "token 62 of 160"));
    rl_step_destroy(step);
}

/* One id of a prompt: what the learner scores is all of what was sampled from. */
static void test_D_05_the_learner_scores_the_sampled_context(void **state)
{
    struct stage *s = *state;
    struct rl_step *step = open_step(s, 1024, 8);
    struct rl_step_stats out;
    struct rl_walk *w = &s->r->walk[1];
    pay(s, 1, 2.5);
    int32_t first = w->ids[0];
    w->ids[0] = first == 5 ? 6 : 5;
    assert_int_equal(rl_step_learn(step, s->r, 0, &out, &loop_err), KG_E_INPUT);
    rl_step_destroy(step);
    step = open_step(s, 1024, 8);
    w->ids[0] = first;
    loop_ok(rl_step_learn(step, s->r, 0, &out, &loop_err));
    assert_true(out.max_diff == 0);
    rl_step_destroy(step);
}

/* Two turns are one sequence: where all tokens of the batch just fit, they are one micro-batch.
 * With the context of turn 2 once more they would not. */
static void test_D_20_each_token_is_processed_once(void **state)
{
    struct stage *s = *state;
    struct rl_step_stats out;
    int rows = 0, longest = 0;
    for (int i = 0; i < s->r->n; i++) { /* the last ten ids become a turn of their own */
        struct rl_walk *w = &s->r->walk[i];
        w->turn[1] = w->turn[0];
        w->turn[0].length = w->turn[0].length - 10;
        w->turn[1].first += w->turn[0].length;
        w->turn[1].length = 10;
        w->turn[0].index = rl_row_index(w->group, w->rollout, 1, ROLLOUTS, 2);
        w->turn[1].index = rl_row_index(w->group, w->rollout, 2, ROLLOUTS, 2);
        w->turns = 2;
        rows += w->n - 1;
        longest = w->n > longest ? w->n : longest;
    }
    s->r->max_tokens = longest;
    pay(s, 1, 2.5);
    pay(s, 5, 2.5);
    struct rl_step_options o = {.seed = 1,
                                .adamw = {1e-3f, .9f, .95f, 1e-8f, 0, 1},
                                .max_rows = rows,
                                .max_seqs = 8,
                                .walks = GROUPS * ROLLOUTS,
                                .max_tokens = longest,
                                .same_bits = true};
    struct rl_step *step;
    rl_methods_defaults(&o.methods, GROUPS, ROLLOUTS, 2, REPLY);
    loop_ok(rl_step_create(s->l.trainer, &o, &step, &loop_err));
    loop_ok(rl_step_learn(step, s->r, 0, &out, &loop_err));
    assert_int_equal(out.rows, 2 * GROUPS * ROLLOUTS);
    assert_int_equal(out.micro, 1);
    assert_true(out.max_diff == 0);
    rl_step_destroy(step);
}

static void pools_are_taken_without_replacement(void **state)
{
    (void)state;
    struct rl_chain pool[2][6], got[8];
    struct rl_picker p;
    int seen[6] = {0}, triples = 0;
    const size_t n[2] = {6, 6};
    for (int i = 0; i < 6; i++) {
        pool[0][i] = (struct rl_chain){.n = 2, .op = {(uint8_t)i, 1}};
        pool[1][i] = (struct rl_chain){.n = 3, .op = {(uint8_t)i, 1, 2}};
    }
    struct rl_curriculum_options o;
    rl_curriculum_defaults(&o);
    o.p_fixed = .25;
    loop_ok(rl_picker_init(&p, 3, &o, (const struct rl_chain *const[]){pool[0], pool[1]}, n,
                           &loop_err));
    rl_picker_next(&p, 0, 8, got);
    for (int i = 0; i < 8; i++) {
        triples += got[i].n == 3;
        seen[got[i].op[0]] += got[i].n == 2;
    }
    assert_int_equal(triples, 2);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(seen[i], 1);
    }
    rl_picker_deinit(&p);
    const size_t none[2] = {6, 0};
    assert_int_equal(rl_picker_init(&p, 3, &o, (const struct rl_chain *const[]){pool[0], pool[1]},
                                    none, &loop_err),
                     KG_E_USAGE);
}

#define staged(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        staged(test_D_05_the_learner_scores_the_sampled_context),
        staged(test_D_20_each_token_is_processed_once),
        staged(good_replies_become_likelier),
        staged(micro_batches_agree),
        staged(censored_rows_do_not_train),
        staged(nothing_to_learn_changes_nothing),
        staged(other_bits_are_refused),
        cmocka_unit_test(pools_are_taken_without_replacement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
