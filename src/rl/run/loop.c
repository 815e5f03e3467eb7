/* The loop of RL: one step after the other, until the steps or the seconds are over. */
#include "rl/run/loop.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/term.h"
#include "rl/run/run_save.h"

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

static void add(struct rl_rollout_stats *sum, const struct rl_rollout_stats *r)
{
    sum->sampled += r->sampled;
    sum->infra += r->infra;
    sum->defect += r->defect;
    sum->full += r->full;
    sum->cut += r->cut;
    sum->seconds += r->seconds;
    sum->judge_seconds += r->judge_seconds;
    sum->draw_seconds += r->draw_seconds;
}

/* Rollouts and refills of a step, all with the same weights. */
static enum kg_code collect(struct rl_run *run, uint32_t at, struct rl_chain *chains,
                            struct rl_rollout_stats *sum, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    struct rl_shape shape = rl_config_shape(c);
    struct rl_policy policy = rl_policy_engine(&run->policy);
    struct rl_rollout_options o = {.step = at,
                                   .rollouts = shape.rollouts,
                                   .turns = shape.turns,
                                   .early_stop = c->early_stop,
                                   .min_reply = (int)c->min_resp,
                                   .cancel = run->cancel,
                                   .cores = &run->cores};
    *sum = (struct rl_rollout_stats){0};
    rl_step_begin(run->step, at);
    for (uint32_t want = shape.first; want > 0;) {
        struct rl_rollout_stats r;
        uint32_t n = want;
        rl_picker_next(&run->picker, at, (int)n, chains);
        if (rl_rollout_run(run->rollouts, &run->talker, &policy, run->judge, chains, (int)n, &o, &r,
                           err) != KG_OK ||
            rl_step_add(run->step, run->rollouts, &want, err) != KG_OK) {
            return err->code;
        }
        o.first += n;
        add(sum, &r);
    }
    return KG_OK;
}

/* One step: problems, rollouts, learning. */
static enum kg_code step(struct rl_run *run, uint32_t at, struct rl_chain *chains,
                         struct rl_recheck *again, struct rl_step_stats *s, double seconds,
                         struct kg_err *err)
{
    struct rl_rollout_stats r;
    struct rl_loop_line line = {
        .step = at, .seconds = seconds, .share = rl_picker_share(&run->picker)};
    rl_sampler_refresh(&run->sampler, at);
    rl_run_sampling(run, RL_PHASE_RL, at);
    if (collect(run, at, chains, &r, err) != KG_OK || rl_loop_offer(run, again, at, err) != KG_OK) {
        return err->code;
    }
    int64_t began = kg_clock_ns();
    if (rl_cores_hold(&run->cores, err) != KG_OK ||
        rl_step_update(run->step, run->rollouts, s, err) != KG_OK ||
        rl_cores_release(&run->cores, err) != KG_OK) {
        return err->code;
    }
    rl_picker_learn(&run->picker, s->right, s->level1, rl_step_counts(run->step));
    run->updates += s->updated;
    run->skipped += s->skipped;
    line.learn_seconds = since(began);
    enum kg_code code =
        rl_run_log(run, rl_loop_log(&line, s, &r, rl_judge_counts(run->judge)), err);
    return code == KG_OK ? rl_run_write(run, RL_PHASE_RL, at, run->step, err) : code;
}

enum kg_code rl_loop_run(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    struct kg_progress progress;
    struct rl_recheck *again = NULL;
    struct rl_chain *chains = calloc(rl_config_shape(c).groups, sizeof *chains);
    enum kg_code code = chains != NULL ? KG_OK : kg_fail(err, KG_E_HOST, "no memory");
    code = code != KG_OK ? code : rl_loop_prepare(run, err);
    code = code != KG_OK ? code : rl_loop_open_recheck(run, &again, err);
    int64_t began = kg_clock_ns() - (int64_t)(run->seconds[RL_PHASE_RL] * 1e9);
    kg_progress_init(&progress, run->terminal, "RL", 1000);
    for (uint32_t at = run->place.step; at < (uint64_t)c->steps && code == KG_OK; at++) {
        struct rl_step_stats s = {0};
        char note[240];
        double before = since(began);
        if (c->seconds > 0 && before >= c->seconds) {
            break;
        }
        code = step(run, at, chains, again, &s, before, err);
        if (code == KG_OK) {
            run->place.step = at + 1;
            run->seconds[RL_PHASE_RL] = since(began);
            rl_run_note(run, at + 1, &s, since(began) - before, note, sizeof note);
            kg_progress_step(
                &progress, rl_loop_done(since(began), c->seconds, at + 1, (double)c->steps), note);
            code = rl_run_save_due(run, at + 1, err);
        }
    }
    kg_progress_end(&progress);
    free(chains);
    run->seconds[RL_PHASE_RL] = since(began);
    code = code != KG_OK ? code : rl_loop_recheck(run, again, err);
    rl_recheck_destroy(again);
    return code;
}
