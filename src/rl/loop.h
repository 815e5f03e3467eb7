/* The loop of RL over steps: problems, rollouts, learning, one line of metrics each. Not thread
 * safe. */
#ifndef KG_RL_LOOP_H
#define KG_RL_LOOP_H

#include "rl/run.h"

/* Runs rl.steps steps, or rl.seconds. Errors: those of rollouts and steps. */
enum kg_code rl_loop_run(struct rl_run *run, struct kg_err *err) KG_MUST_USE;

/* How much is done, in thousandths: of the seconds where they are limited, else of the steps. */
int64_t rl_loop_done(double seconds, double limit, double step, double steps);

#endif
