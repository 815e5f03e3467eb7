/* Rollouts with a script, through the real pool: verdicts and rewards of good and bad replies, two
 * turns, contexts that only grow, shared records; and with the engine. */
#include "loop_pool_rig.h"

#include "rl/rollout/dryrun.h"
#include "rl/run/evaluate.h"

static struct rl_judge *open_judge(int tickets, bool reuse)
{
    const struct rl_judge_options o = {
        .reward = "dr-kernel-nopr", .tickets = tickets, .reuse = reuse};
    struct rl_judge *j;
    loop_ok(rl_judge_create(pool, &o, &j, &loop_err));
    return j;
}

/* The context of a trajectory, put together from its parts. */
static void check_context(const struct rl_walk *w)
{
    struct lm_ids ids;
    lm_ids_init(&ids);
    loop_ok(rl_talker_prompt(&loop.talker, &w->chain, &ids, &loop_err));
    for (int t = 0; t < w->turns; t++) {
        const struct rl_turn *turn = &w->turn[t];
        if (t > 0) {
            loop_ok(rl_talker_feedback(&loop.talker, true, w->turn[t - 1].verdict->feedback, &ids,
                                       &loop_err));
        }
        assert_int_equal(turn->first, ids.n);
        lm_ids_add(&ids, w->ids + turn->first, (size_t)turn->length);
        assert_int_equal(w->ids[turn->first + turn->length - 1], loop.talker.end);
    }
    assert_int_equal(ids.n, w->n);
    assert_memory_equal(ids.id, w->ids, ids.n * sizeof *ids.id);
    lm_ids_deinit(&ids);
}

static void good_and_bad_replies_of(struct rl_cores *cores)
{
    struct rl_chain chains[3];
    struct rl_scripted *script;
    struct rl_rollouts *r;
    struct rl_rollout_stats stats;
    struct kg_buf report;
    struct rl_judge *j = open_judge(12, true);
    const struct rl_rollout_options o = {
        .rollouts = 4, .turns = 2, .min_reply = 16, .cores = cores};
    assert_int_equal(rl_dry_chains(chains, 3), 3);
    loop_ok(rl_scripted_create(&loop.talker, rl_dry_say, NULL, 8, 2048, &script, &loop_err));
    loop_ok(rl_rollouts_create(12, 2048, 8, &r, &loop_err)); /* one group waits for room */
    struct rl_policy policy = rl_policy_scripted(script);
    loop_ok(rl_rollout_run(r, &loop.talker, &policy, j, chains, 3, &o, &stats, &loop_err));
    kg_buf_init(&report, 4096);
    if (rl_dry_check(r, &report) != 0) {
        fail_msg("%s", report.data);
    }
    for (int i = 0; i < 12; i++) {
        assert_int_equal(r->walk[i].end, RL_WALK_DONE);
        assert_int_equal(r->walk[i].turns, 2);
        check_context(&r->walk[i]);
    }
    struct rl_judge_counts c = rl_judge_counts(j);
    assert_int_equal(c.asked, 24);
    assert_int_equal(c.shared, 12); /* all of turn 2, which repeats a correct reply or the hack */
    assert_int_equal(stats.infra + stats.defect + stats.full + stats.cut, 0);
    assert_int_equal(rl_judge_pending(j), 0);
    r->walk[1].turn[0].verdict = r->walk[0].turn[0].verdict; /* a gym that pays for a wrong one */
    assert_int_equal(rl_dry_check(r, &report), 1);
    struct rl_verdict paid = *r->walk[5].turn[0].verdict; /* the right verdict, and a reward */
    assert_string_equal(paid.name, "wrong");
    paid.reward = r->walk[0].turn[0].verdict->reward + 1;
    r->walk[1].turn[0].verdict = &paid;
    assert_int_equal(rl_dry_check(r, &report), 1);
    kg_buf_deinit(&report);
    rl_judge_destroy(j);
    rl_rollouts_destroy(r);
    rl_scripted_destroy(script);
}

static void good_and_bad_replies(void **state)
{
    (void)state;
    good_and_bad_replies_of(NULL);
}

/* With the gym's cores held while the script speaks: few bursts, and the same verdicts. */
static void cores_are_held_in_bursts(void **state)
{
    (void)state;
    struct rl_cores cores;
    rl_cores_init(&cores, pool);
    good_and_bad_replies_of(&cores);
    assert_false(cores.held);
    assert_in_range(cores.holds, 3, 12);
    assert_true(cores.owned > 0 && cores.waited >= 0);
    loop_ok(rl_cores_hold(&cores, &loop_err));
    loop_ok(rl_cores_hold(&cores, &loop_err));
    assert_true(cores.held);
    loop_ok(rl_cores_release(&cores, &loop_err));
    loop_ok(rl_cores_release(&cores, &loop_err));
    assert_false(cores.held);
}

/* Feedback does not fit: the trajectory ends after its first turn, and nothing is cut. */
static void a_full_context_ends(void **state)
{
    (void)state;
    struct rl_chain chain;
    struct rl_scripted *script;
    struct rl_rollouts *r;
    struct rl_rollout_stats stats;
    struct rl_judge *j = open_judge(4, true);
    struct rl_rollout_options o = {.rollouts = 4, .turns = 2, .min_reply = 16};
    rl_dry_chains(&chain, 1);
    loop_ok(rl_scripted_create(&loop.talker, rl_dry_say, NULL, 4, 60, &script, &loop_err));
    loop_ok(rl_rollouts_create(4, 60, 4, &r, &loop_err));
    struct rl_policy policy = rl_policy_scripted(script);
    loop_ok(rl_rollout_run(r, &loop.talker, &policy, j, &chain, 1, &o, &stats, &loop_err));
    assert_int_equal(r->walk[0].turns, 1);
    assert_int_equal(r->walk[0].end, RL_WALK_FULL);
    assert_int_equal(r->walk[0].turn[0].finish, LM_FULL);
    assert_true(stats.full >= 3 && stats.cut >= 3);
    o.min_reply = 100;
    assert_int_equal(rl_rollout_run(r, &loop.talker, &policy, j, &chain, 1, &o, &stats, &loop_err),
                     KG_E_LIMIT);
    rl_judge_destroy(j);
    rl_rollouts_destroy(r);
    rl_scripted_destroy(script);
}

/* A gym that fails at first. */
static void recovers(void *user, const struct rl_chain *chain, const char *text, size_t len,
                     struct rl_verdict *v)
{
    int *asked = user;
    (void)chain;
    (void)text;
    (void)len;
    *v = (struct rl_verdict){.state = ++*asked <= 1 ? RL_NO_VERDICT : RL_JUDGED, .reward = *asked};
}

/* Who was given no verdict stays without one, also who has it to come, when the gym has one for the
 * next that asks for the same reply. */
static void no_verdict_stays(void **state)
{
    (void)state;
    int asked = 0;
    const struct rl_judge_options o = {.reward = "dr-kernel-nopr",
                                       .tickets = 3,
                                       .reuse = true,
                                       .script = recovers,
                                       .script_user = &asked};
    const struct rl_verdict *first, *second;
    struct rl_chain chain;
    struct rl_judge *j;
    int ticket;
    rl_dry_chains(&chain, 1);
    loop_ok(rl_judge_create(NULL, &o, &j, &loop_err));
    loop_ok(rl_judge_submit(j, 0, &chain, "x", 1, &loop_err));
    loop_ok(rl_judge_submit(j, 1, &chain, "x", 1, &loop_err));
    loop_ok(rl_judge_next(j, -1, &ticket, &first, &loop_err));
    assert_int_equal(ticket, 0);
    loop_ok(rl_judge_next(j, -1, &ticket, &second, &loop_err));
    assert_int_equal(ticket, 1);
    assert_int_equal(first->state, RL_NO_VERDICT);
    assert_int_equal(second->state, RL_JUDGED);
    loop_ok(rl_judge_submit(j, 2, &chain, "x", 1, &loop_err));
    loop_ok(rl_judge_next(j, -1, &ticket, &second, &loop_err));
    assert_int_equal(asked, 2); /* a verdict is shared */
    assert_true(second->reward == 2 && first->reward == 1 && first->state == RL_NO_VERDICT);
    rl_judge_destroy(j);
}

/* The gym cannot judge: it is asked three times, then the trajectory is censored, and the same
 * reply is judged anew later. */
static void no_verdict_is_censored(void **state)
{
    (void)state;
    const struct rl_judge_options jo = {.reward = "none-such", .tickets = 4, .reuse = true};
    struct rl_chain chain;
    struct rl_scripted *script;
    struct rl_rollouts *r;
    struct rl_rollout_stats stats;
    struct rl_judge *j;
    const struct rl_rollout_options o = {.rollouts = 4, .turns = 2, .min_reply = 16};
    rl_dry_chains(&chain, 1);
    loop_ok(rl_judge_create(pool, &jo, &j, &loop_err));
    loop_ok(rl_scripted_create(&loop.talker, rl_dry_say, NULL, 4, 2048, &script, &loop_err));
    loop_ok(rl_rollouts_create(4, 2048, 4, &r, &loop_err));
    struct rl_policy policy = rl_policy_scripted(script);
    for (uint64_t time = 1; time <= 2; time++) {
        loop_ok(rl_rollout_run(r, &loop.talker, &policy, j, &chain, 1, &o, &stats, &loop_err));
        assert_int_equal(stats.infra, 4);
        assert_int_equal(r->walk[2].end, RL_WALK_INFRA);
        assert_int_equal(r->walk[2].turns, 1);
        assert_int_equal(rl_judge_counts(j).failed, 4 * time);
        assert_int_equal(rl_judge_counts(j).sent, 12 * time);
    }
    struct kg_buf report;
    kg_buf_init(&report, 4096);
    assert_int_equal(rl_dry_check(r, &report), 4);
    kg_buf_deinit(&report);
    rl_judge_destroy(j);
    rl_rollouts_destroy(r);
    rl_scripted_destroy(script);
}

/* The engine speaks: two turns of a model that knows nothing, and a step that has the same bits. */
static void the_engine_speaks(void **state)
{
    (void)state;
    struct rl_chain chains[2];
    struct lm_engine *engine;
    struct rl_rollouts *r;
    struct rl_rollout_stats stats;
    struct rl_step *step;
    struct rl_step_stats learned;
    struct rl_evaluation e;
    const struct lm_engine_options eo = {.max_seqs = 4, .max_tokens = 200};
    struct rl_engine_policy p = {.turn = {.sampling = {.temperature = 1, .seed = 3},
                                          .max_tokens = 40,
                                          .stop = {loop.talker.end},
                                          .n_stop = 1}};
    const struct rl_rollout_options o = {.step = 4, .rollouts = 4, .turns = 2, .min_reply = 16};
    struct rl_step_options so = {.seed = 1,
                                 .adamw = {1e-3f, .9f, .95f, 1e-8f, 0, 1},
                                 .max_rows = 1024,
                                 .max_seqs = 16,
                                 .walks = 8,
                                 .max_tokens = 200,
                                 .same_bits = true};
    struct rl_judge *j = open_judge(8, true);
    rl_methods_defaults(&so.methods, 2, 4, 2, 40);
    so.methods.filter.zero_var = RL_ZERO_VAR_OFF; /* or no row would be compared */
    rl_dry_chains(chains, 2);
    loop_ok(lm_engine_create(loop.model, loop.threads, &eo, &engine, &loop_err));
    loop_ok(rl_rollouts_create(8, 200, 4, &r, &loop_err));
    loop_ok(rl_step_create(loop.trainer, &so, &step, &loop_err));
    p.engine = engine;
    struct rl_policy policy = rl_policy_engine(&p);
    loop_ok(rl_rollout_run(r, &loop.talker, &policy, j, chains, 2, &o, &stats, &loop_err));
    assert_true(stats.sampled > 100);
    loop_ok(rl_step_learn(step, r, 4, &learned, &loop_err));
    assert_int_equal(learned.rows, 16);
    assert_true(learned.max_diff == 0);
    const struct rl_evaluate_options ev = {
        .seed = 1, .step = 9, .samples = 4, .turns = 2, .min_reply = 16};
    loop_ok(rl_evaluate(r, &loop.talker, &policy, j, chains, 2, &ev, &e, &loop_err));
    assert_true(e.score[RL_SCORE_CORRECT].value == 0 && e.score[RL_SCORE_FAST_12].hi == 0);
    struct rl_results all = rl_evaluation_part(&e, 0, 2);
    const struct rl_view best = {RL_OF_BEST, 2};
    struct rl_interval d = rl_score_difference(&all, &all, best, RL_SCORE_VALID, 1);
    assert_true(d.value == 0 && d.lo == 0 && d.hi == 0);
    rl_evaluation_deinit(&e);
    rl_step_destroy(step);
    rl_judge_destroy(j);
    rl_rollouts_destroy(r);
    lm_engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_and_bad_replies), cmocka_unit_test(cores_are_held_in_bursts),
        cmocka_unit_test(a_full_context_ends),  cmocka_unit_test(no_verdict_is_censored),
        cmocka_unit_test(no_verdict_stays),     cmocka_unit_test(the_engine_speaks),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
