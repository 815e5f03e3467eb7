/* A rehearsal without a model: a script answers with correct, wrong, hacking and garbage replies,
 * and the verdicts and rewards that come back must be the expected ones. A gym that pays for the
 * bad ones, or that refuses the good ones, is not fit to train with.
 *
 * Rollout i of a group plays role (i - 1) modulo RL_DRY_ROLES. In later turns the wrong one and the
 * garbage are corrected, the others say the same again. Pure functions. */
#ifndef KG_RL_ROLLOUT_DRYRUN_H
#define KG_RL_ROLLOUT_DRYRUN_H

#include "rl/methods/rows.h"
#include "rl/rollout/rollout.h"

enum rl_dry_role { RL_DRY_CORRECT, RL_DRY_WRONG, RL_DRY_HACK, RL_DRY_GARBAGE, RL_DRY_ROLES };
const char *rl_dry_name(enum rl_dry_role role);

/* The chains of a dry run: those whose only input is x. Returns how many; the first cap to out. */
size_t rl_dry_chains(struct rl_chain *out, size_t cap);

/* An rl_script; user is not read. */
void rl_dry_say(void *user, const struct rl_speaker *who, struct kg_buf *out);

/* Compares all turns with what is expected: the verdict of each role; a failure pays less than each
 * correct reply, a hack no more than the other failures. This holds for every reward preset.
 * Appends one line for each role to report. Returns how many turns are not as expected; all of them
 * must have a verdict. */
int rl_dry_check(const struct rl_rollouts *r, struct kg_buf *report);

/* The same for advantages: no hack has one above 0, and some correct reply has. rows: of these
 * trajectories, after rl_step_rehearse. Returns how many turns are at fault. */
int rl_dry_check_rows(const struct rl_rows *rows, struct kg_buf *report);

#endif
