/* Some correct replies of RL are judged again, with the pool of the run idle. */
#include "rl/run/loop.h"

enum kg_code rl_loop_open_recheck(const struct rl_run *run, struct rl_recheck **out,
                                  struct kg_err *err)
{
    const struct rl_config *c = run->config;
    const struct rl_recheck_options o = {.gym = c->service[0] != '\0' ? c->service : NULL,
                                         .token_file =
                                             c->token_file[0] != '\0' ? c->token_file : NULL,
                                         .seed = (uint64_t)run->config->seed,
                                         .one_in = (int)run->config->recheck,
                                         .cancel = run->cancel};
    *out = NULL;
    return run->config->recheck == 0 || run->pool == NULL ? KG_OK : rl_recheck_create(&o, out, err);
}

/* Is this row of the step a winner of best-of-N? */
static bool won(const struct rl_rows *rows, uint32_t index)
{
    for (size_t i = 0; i < rows->n; i++) {
        if (rows->row[i].index == index) {
            return rows->row[i].win > 0;
        }
    }
    return false;
}

enum kg_code rl_loop_offer(const struct rl_run *run, struct rl_recheck *r, uint32_t step,
                           struct kg_err *err)
{
    struct kg_buf text;
    enum kg_code code = KG_OK;
    bool winners = run->config->trainer != RL_TRAINER_PG;
    kg_buf_init(&text, 1u << 20);
    for (int i = 0; r != NULL && i < run->rollouts->n && code == KG_OK; i++) {
        const struct rl_walk *w = &run->rollouts->walk[i];
        for (int t = 0; t < w->turns && code == KG_OK; t++) {
            const struct rl_turn *turn = &w->turn[t];
            if (turn->verdict == NULL || !turn->verdict->correct || turn->shared) {
                continue;
            }
            if (winners && !won(rl_step_rows(run->step), turn->index)) {
                continue;
            }
            kg_buf_reset(&text);
            rl_talker_text(&run->talker, w->ids + turn->first, (size_t)turn->length, &text);
            code = rl_recheck_offer(r, step, turn->index, &w->chain, text.data, text.len,
                                    turn->verdict, err);
        }
    }
    kg_buf_deinit(&text);
    return code;
}

enum kg_code rl_loop_recheck(struct rl_run *run, struct rl_recheck *r, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    if (r != NULL) {
        double limit = run->config->recheck_seconds;
        code = limit > 0 ? rl_recheck_finish(r, limit, err) : KG_OK;
        run->recheck = rl_recheck_counts(r);
    }
    return code;
}
