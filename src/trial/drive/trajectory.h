/* A conversation as a line of kgym.trajectory/1 (docs/trajectory.md). */
#ifndef KG_TRIAL_DRIVE_TRAJECTORY_H
#define KG_TRIAL_DRIVE_TRAJECTORY_H

#include "trial/drive/drive.h"

/* A turn with a reply. feedback: the user message that follows; NULL: there is none, which
 * tr_trajectory also makes of the last turn's. The caller owns the object. */
json_t *tr_trajectory_turn(const struct tr_turn *t, const char *feedback);

struct tr_trajectory {
    const char *id, *group;
    const struct tr_problem *problem;
    const char *configuration; /* SHA-256 of the gym's; "" is not known */
    const char *system;        /* NULL: none */
    const char *prompt;
    const char *end; /* "done", "full", "infra", "defect"; "open": it goes on */
    json_t *turns;   /* an array of at least one, taken over */
    json_t *extra;   /* an object, taken over; NULL: empty */
};
json_t *tr_trajectory(const struct tr_trajectory *t);

#endif
