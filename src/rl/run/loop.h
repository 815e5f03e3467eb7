/* The loop of RL over steps: problems, rollouts, refills, learning, one line of metrics each. Not
 * thread safe. */
#ifndef KG_RL_RUN_LOOP_H
#define KG_RL_RUN_LOOP_H

#include "rl/run/run.h"

/* Runs rl.steps steps, or rl.seconds. Errors: those of rollouts and steps. */
enum kg_code rl_loop_run(struct rl_run *run, struct kg_err *err) KG_MUST_USE;

/* How much is done, in thousandths: of the seconds where they are limited, else of the steps. */
int64_t rl_loop_done(double seconds, double limit, double step, double steps);

/* --- loop_parts.c: what the loop works with --- */

/* Sampler and engine, on the model as it is now. */
enum kg_code rl_loop_open_engine(struct rl_run *run, struct kg_err *err) KG_MUST_USE;
/* The step, on the trainer as it is now. */
enum kg_code rl_loop_open_step(struct rl_run *run, struct kg_err *err) KG_MUST_USE;
/* Before the first step of RL, at the weights that RL starts from: the adapter (lora.r) with a
 * trainer, an engine and a step of its own, and the reference policy of KL. What is there already
 * stays: a resumed run brings its adapter and its reference. */
enum kg_code rl_loop_prepare(struct rl_run *run, struct kg_err *err) KG_MUST_USE;

/* --- loop_recheck.c --- */

/* Judges some correct replies again by the gym's preset `default`. *out is NULL where `recheck` is
 * 0, or where the run has no gym of its own. */
enum kg_code rl_loop_open_recheck(const struct rl_run *run, struct rl_recheck **out,
                                  struct kg_err *err) KG_MUST_USE;
/* Offers the correct replies of a step, a shared record once; under trainers of best-of-N its
 * winners alone, because they were chosen for their speed. r NULL is nothing. */
enum kg_code rl_loop_offer(const struct rl_run *run, struct rl_recheck *r, uint32_t step,
                           struct kg_err *err) KG_MUST_USE;
/* Judges those that were chosen, as far as time allows, and keeps the counts in the run. */
enum kg_code rl_loop_recheck(struct rl_run *run, struct rl_recheck *r,
                             struct kg_err *err) KG_MUST_USE;

/* --- loop_log.c --- */

/* One line of metrics.jsonl for a step. */
struct rl_loop_line {
    uint32_t step;
    double seconds, learn_seconds; /* since RL began; of the update */
    double share;                  /* of level 2 */
};
json_t *rl_loop_log(const struct rl_loop_line *l, const struct rl_step_stats *s,
                    const struct rl_rollout_stats *r, struct rl_judge_counts j);
/* Components by name: rows looked at and changed; and what is idle. */
json_t *rl_loop_components(const struct rl_run *run);
/* How many correct replies were judged again, and how many held. */
json_t *rl_loop_recheck_json(const struct rl_run *run);
/* The same for people, with one line for each component that is on. */
void rl_loop_component_table(const struct rl_run *run, struct kg_buf *out);
/* The first component that is on and has looked at nothing; NULL: none, or no update was made. */
const char *rl_loop_idle(const struct rl_run *run);

/* --- table.c --- */

/* Before and after RL, of pairs and triples, by turn and best of turns, and the styles: appended as
 * a table for people. Returns [before, after, difference, low, high] by part, view and score.
 * Takes about a second. */
json_t *rl_loop_compare(const struct rl_run *run, struct kg_buf *out);

#endif
