/* Finished trajectories as lines of kgym.trajectory/1 (docs/trajectory.md). Pure; the caller writes
 * the lines. */
#ifndef KG_RL_RUN_RUN_TRAJECTORY_H
#define KG_RL_RUN_RUN_TRAJECTORY_H

#include <jansson.h>

#include "rl/step/step.h"

struct rl_trajectory_options {
    const char *phase; /* "eval-before", "rl", "eval-after" */
    int step;          /* -1: of an evaluation */
    int turns;         /* the most there could be */
    const char *configuration, *reward;
    uint64_t version; /* updates that the sampling weights had seen */
    const struct rl_talker *talker;
    const struct rl_step *learned; /* the step that took them; NULL: none */
};

/* The line of trajectory w. Ask for those of a batch in their order; *place is 0 before the first.
 * The caller decrefs. */
json_t *rl_trajectory_line(const struct rl_walk *w, const struct rl_trajectory_options *o,
                           size_t *place);

#endif
