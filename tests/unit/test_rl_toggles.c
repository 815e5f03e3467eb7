/* Every component is a key: off leaves the bits as they are, whatever its other keys say; on
 * changes them, and its counter shows that it looked. Two steps with the real sampler and trainer,
 * and verdicts that are a function of the reply. */
#include "methods_rig.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

struct toggle {
    const char *off[6], *on[6];
    enum rl_component c;
};

static const struct toggle toggles[] = {
    {{"void=no"}, {"adv=grpo"}, RL_C_ADVANTAGE},
    {{"mrs=off", "mrs_lo=0.5", "mrs_hi=2", "sampler=engine"},
     {"mrs=geometric", "sampler=noise 0.3"},
     RL_C_MRS},
    {{"mrs=off"}, {"mrs=token", "sampler=noise 0.3"}, RL_C_MRS_TOKEN},
    {{"veto=0"}, {"veto=0.9", "sampler=noise 0.3"}, RL_C_VETO},
    {{"tis=off", "tis_cap=1.5"}, {"tis=token", "sampler=noise 0.3"}, RL_C_TIS},
    {{"sampler=engine"}, {"sampler=bf16-weights", "tis=token"}, RL_C_SAMPLER},
    {{"sampler=engine"}, {"sampler=stale 2"}, RL_C_SAMPLER},
    {{"prs=no", "prs_tau=0.9", "prs_sigma=0", "prs_mode=all"},
     {"prs=yes", "prs_tau=0.9", "prs_mode=all"},
     RL_C_PRS},
    {{"curriculum=static", "cur_min=0.5"}, {"adv=none"}, RL_C_ADVANTAGE},
    {{"sample_over=1"}, {"sample_over=2"}, RL_C_OVER},
    {{"prompt_over=1"}, {"prompt_over=2"}, RL_C_SURPLUS},
    {{"trainer=pg", "bestof_n=4", "bestof_k=1"}, {"trainer=topk", "bestof_n=4"}, RL_C_TOPK},
    {{"kl_loss=0", "kl=k3"}, {"kl_loss=10"}, RL_C_KL_LOSS},
    {{"kl_reward=0"}, {"kl_reward=1"}, RL_C_KL_REWARD},
    {{"lora.r=0", "lora.alpha=4", "lora.dropout=0.5"}, {"lora.r=4"}, RL_C_LORA},
    {{"entropy=0"}, {"entropy=0.1"}, RL_C_ENTROPY},
    {{"ent_mask=0"}, {"ent_mask=0.5"}, RL_C_ENT_MASK},
    {{"risk_mask=0"}, {"risk_mask=0.5"}, RL_C_RISK_MASK},
    {{"offpolicy=onpolicy", "pure_cap=1"}, {"offpolicy=pure", "sampler=noise 0.3"}, RL_C_SAMPLER},
    {{"min_group=0"}, {"no_overlong=no", "scale=2", "agg=token-mean"}, RL_C_FILTER},
    {{"adv_clip=0", "batch_std=no"}, {"adv_clip=0.1"}, RL_C_ADVANTAGE},
};
#define N (sizeof toggles / sizeof *toggles)

static struct bench plain;

static bool same(const struct bench *a, const struct bench *b)
{
    return a->n == b->n && memcmp(a->weights, b->weights, a->n * sizeof *a->weights) == 0;
}

static void off_leaves_the_bits(void **state)
{
    (void)state;
    static struct bench b;
    assert_true(plain.stats[0].updated && plain.stats[1].updated);
    for (size_t i = 0; i < N; i++) {
        bench_run(&b, toggles[i].off);
        if (!same(&plain, &b)) {
            fail_msg("%s: other weights", toggles[i].off[0]);
        }
        bench_close(&b);
    }
}

static void on_acts_and_is_counted(void **state)
{
    (void)state;
    static struct bench b;
    for (size_t i = 0; i < N; i++) {
        bool on[RL_C_N];
        bench_run(&b, toggles[i].on);
        const struct rl_counts *c = rl_step_counts(b.run.step);
        rl_config_on(&b.config, &b.run.methods, on);
        if (same(&plain, &b)) {
            fail_msg("%s: the same weights", toggles[i].on[0]);
        }
        if (c->of[toggles[i].c].looked == 0) {
            fail_msg("%s: %s looked at nothing", toggles[i].on[0], rl_count_name(toggles[i].c));
        }
        on[RL_C_REUSE] = on[RL_C_REFILL] = false; /* of the loop and the judge */
        if (rl_counts_idle(c, on) != NULL) {
            fail_msg("%s: %s is idle", toggles[i].on[0], rl_counts_idle(c, on));
        }
        bench_close(&b);
    }
}

/* D-38: what is off has looked at nothing. */
static void D_38_off_counts_nothing(void **state)
{
    (void)state;
    const struct rl_counts *c = rl_step_counts(plain.run.step);
    static const enum rl_component off[] = {
        RL_C_VOID, RL_C_FILL,      RL_C_KL_REWARD, RL_C_REFILL,    RL_C_MRS,       RL_C_MRS_TOKEN,
        RL_C_VETO, RL_C_TIS,       RL_C_PRS,       RL_C_PRS_BLIND, RL_C_CV,        RL_C_ENT_MASK,
        RL_C_TOPK, RL_C_RISK_MASK, RL_C_KL_LOSS,   RL_C_ENTROPY,   RL_C_OVER,      RL_C_CURRICULUM,
        RL_C_LORA, RL_C_SURPLUS,   RL_C_SAMPLER,   RL_C_TURNS,     RL_C_EARLY_STOP};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        if (c->of[off[i]].looked != 0) {
            fail_msg("%s is off and looked at %llu", rl_count_name(off[i]),
                     (unsigned long long)c->of[off[i]].looked);
        }
    }
}

/* D-38: on, and never looked: the run names it. */
static void D_38_an_idle_component_is_named(void **state)
{
    (void)state;
    struct rl_counts c = {0};
    bool on[RL_C_N] = {false};
    assert_null(rl_counts_idle(&c, on));
    on[RL_C_PRS] = true;
    assert_string_equal(rl_counts_idle(&c, on), "prs");
    rl_count(&c, RL_C_PRS, false);
    assert_null(rl_counts_idle(&c, on));
}

/* The sampler's log-probs are those of the weights that it draws with. */
static void log_probs_are_those_of_the_actor(void **state)
{
    (void)state;
    static const char *const forms[] = {"sampler=noise 0.3", "sampler=bf16-weights"};
    for (size_t f = 0; f < 2; f++) {
        static struct bench b;
        struct lm_trainer *scorer;
        int32_t start[2] = {0}, target[128];
        float logp[128];
        const struct lm_trainer_options t = {
            .max_rows = 128, .max_seqs = 1, .max_tokens = 128, .score_only = true};
        bench_open(&b, LIST(forms[f]));
        rl_sampler_refresh(&b.run.sampler, 3);
        bench_sample(&b, 3, 0, 2);
        assert_true(b.run.sampler.actor != b.run.model);
        loop_ok(lm_trainer_create(b.run.sampler.actor, loop.threads, &t, &scorer, &loop_err));
        for (int i = 0; i < b.run.rollouts->n; i++) {
            const struct rl_walk *w = &b.run.rollouts->walk[i];
            start[1] = w->n - 1;
            for (int k = 0; k < w->n - 1; k++) {
                target[k] = k + 1 >= w->turn[0].first ? w->ids[k + 1] : -1;
            }
            const struct lm_rows rows = {
                .n_seq = 1, .start = start, .ids = w->ids, .target = target, .temperature = 1};
            loop_ok(lm_trainer_forward(scorer, &rows, logp, NULL, &loop_err));
            int first = w->turn[0].first;
            assert_memory_equal(logp + first - 1, w->mu + first,
                                (size_t)(w->n - first) * sizeof *logp);
        }
        lm_trainer_destroy(scorer);
        bench_close(&b);
    }
}

static void samplers_do_what_they_say(void **state)
{
    (void)state;
    static struct bench b;
    bench_open(&b, LIST("sampler=bf16-weights"));
    rl_sampler_refresh(&b.run.sampler, 0);
    for (size_t k = 0; k < b.run.model->base.n; k++) {
        uint32_t bits;
        float a = b.run.sampler.actor->base.w[k], w = b.run.model->base.w[k];
        memcpy(&bits, &a, sizeof bits);
        assert_true((bits & 0xffff) == 0 && fabsf(a - w) <= fabsf(w) / 256);
    }
    rl_sampler_exact(&b.run.sampler);
    assert_memory_equal(b.run.sampler.actor->base.w, b.run.model->base.w,
                        b.run.model->base.n * sizeof(float));
    bench_close(&b);
    bench_open(&b, LIST("sampler=stale 2"));
    rl_sampler_refresh(&b.run.sampler, 0);
    float before = b.run.model->base.w[5];
    b.run.model->base.w[5] = 1;
    rl_sampler_refresh(&b.run.sampler, 1);
    assert_true(b.run.sampler.actor->base.w[5] == before);
    rl_sampler_refresh(&b.run.sampler, 2);
    assert_true(b.run.sampler.actor->base.w[5] == 1);
    bench_close(&b);
    bench_open(&b, LIST("sampler=noise 0.03"));
    float got[3];
    for (uint32_t i = 0; i < 3; i++) {
        rl_sampler_refresh(&b.run.sampler, i % 2);
        got[i] = b.run.sampler.actor->base.w[9];
    }
    assert_true(got[0] == got[2] && got[0] != got[1]);
    bench_close(&b);
}

/* Only the adapter learns; the base keeps its bits. */
static void an_adapter_alone_learns(void **state)
{
    (void)state;
    static struct bench b;
    bench_run(&b, LIST("lora.r=4", "lora.dropout=0.1", "lora.targets=q,down"));
    assert_memory_equal(b.weights, fresh, loop.model->base.n * sizeof *fresh);
    bool moved = false;
    for (size_t k = loop.model->base.n; k < b.n; k++) {
        moved = moved || b.weights[k] != 0;
    }
    assert_true(moved && b.stats[1].max_diff == 0);
    bench_close(&b);
}

/* Two updates of a round are more than one; winners alone have an advantage. */
static void rounds_train_on_winners(void **state)
{
    (void)state;
    static struct bench one, two;
    bench_run(&one, LIST("trainer=sft", "bestof_n=4", "bestof_k=1", "bestof_epochs=1"));
    bench_run(&two, LIST("trainer=sft", "bestof_n=4", "bestof_k=1", "bestof_epochs=2"));
    assert_false(same(&one, &two));
    const struct rl_rows *rows = rl_step_rows(one.run.step);
    int winners = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct rl_row *r = &rows->row[i];
        assert_true(r->adv == 0 || (r->adv == 1 && r->correct));
        winners += r->adv > 0;
    }
    assert_true(winners > 0 && winners <= 2 && winners == one.stats[1].winners);
    assert_int_equal(rows->n, 8); /* no group is dropped for lack of a difference */
    bench_close(&one);
    bench_close(&two);
}

/* Where nothing is right nothing wins, so nothing changes. */
static void wrong_replies_never_win(void **state)
{
    (void)state;
    static struct bench b;
    bench_open(&b, LIST("trainer=topk", "bestof_n=4"));
    bench_sample(&b, 0, 0, 2);
    for (int i = 0; i < 8; i++) {
        b.verdict[i] = (struct rl_verdict){.name = "wrong", .coverage = (double)NAN};
    }
    loop_ok(rl_step_learn(b.run.step, b.run.rollouts, 0, &b.stats[0], &loop_err));
    assert_int_equal(b.stats[0].winners, 0);
    assert_int_equal(b.stats[0].of_drop[RL_DROP_NO], 2);
    assert_true(b.stats[0].norm == 0);
    bench_close(&b);
}

static int setup(void **state)
{
    bench_setup(state);
    bench_run(&plain, LIST("seed=1"));
    return 0;
}

static int teardown(void **state)
{
    bench_close(&plain);
    return bench_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_leaves_the_bits),
        cmocka_unit_test(on_acts_and_is_counted),
        cmocka_unit_test(D_38_off_counts_nothing),
        cmocka_unit_test(D_38_an_idle_component_is_named),
        cmocka_unit_test(log_probs_are_those_of_the_actor),
        cmocka_unit_test(samplers_do_what_they_say),
        cmocka_unit_test(an_adapter_alone_learns),
        cmocka_unit_test(rounds_train_on_winners),
        cmocka_unit_test(wrong_replies_never_win),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
