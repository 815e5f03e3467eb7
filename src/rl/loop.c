/* The loop of RL: one step after the other, until the steps or the seconds are over. */
#include "rl/loop.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/term.h"

static double since(int64_t began)
{
    return (double)(kg_clock_ns() - began) * 1e-9;
}

int64_t rl_loop_done(double seconds, double limit, double step, double steps)
{
    double a = limit > 0 ? seconds / limit : 0, b = steps > 0 ? step / steps : 0;
    double done = a > b ? a : b;
    return (int64_t)(1000 * (done < 1 ? done : 1));
}

/* One step: problems, rollouts, learning. */
static enum kg_code step(struct rl_run *run, uint32_t at, struct rl_chain *chains,
                         struct rl_step_stats *s, double seconds, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    struct rl_policy policy = rl_policy_engine(&run->policy);
    struct rl_rollout_stats r;
    const struct rl_rollout_options o = {.step = at,
                                         .rollouts = (uint32_t)c->rollouts,
                                         .turns = (uint32_t)c->turns,
                                         .min_reply = (int)c->min_resp,
                                         .cancel = run->cancel,
                                         .cores = &run->cores};
    rl_picker_next(&run->picker, at, (int)c->groups, chains);
    if (rl_rollout_run(run->rollouts, &run->talker, &policy, run->judge, chains, (int)c->groups, &o,
                       &r, err) != KG_OK) {
        return err->code;
    }
    int64_t began = kg_clock_ns();
    if (rl_cores_hold(&run->cores, err) != KG_OK ||
        rl_step_learn(run->step, run->rollouts, at, s, err) != KG_OK ||
        rl_cores_release(&run->cores, err) != KG_OK) {
        return err->code;
    }
    run->updates += s->micro > 0 && rl_step_rows(run->step)->n > 0;
    run->skipped += s->skipped;
    return rl_run_log(
        run, rl_log_step(at, s, &r, rl_judge_counts(run->judge), seconds, since(began)), err);
}

enum kg_code rl_loop_run(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    int64_t began = kg_clock_ns();
    struct kg_progress progress;
    struct rl_chain *chains = calloc((size_t)c->groups, sizeof *chains);
    enum kg_code code = chains != NULL ? KG_OK : kg_fail(err, KG_E_HOST, "no memory");
    kg_progress_init(&progress, run->terminal, "RL", 1000);
    for (uint32_t at = 0; at < (uint64_t)c->steps && code == KG_OK; at++) {
        struct rl_step_stats s = {0};
        char note[120];
        if (c->seconds > 0 && since(began) >= c->seconds) {
            break;
        }
        code = step(run, at, chains, &s, since(began), err);
        if (code == KG_OK) {
            snprintf(note, sizeof note,
                     "step %u, reward %.2f, correct %.2f, fast_1.2 %.2f, hack %.2f", at + 1,
                     s.reward, s.correct, s.fast, s.hack);
            kg_progress_step(
                &progress, rl_loop_done(since(began), c->seconds, at + 1, (double)c->steps), note);
        }
    }
    kg_progress_end(&progress);
    free(chains);
    run->seconds[RL_PHASE_RL] = since(began);
    return code;
}
