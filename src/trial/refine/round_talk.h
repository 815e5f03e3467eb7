/* Conversations of a refinement as lines of kgym.trajectory/1 (docs/trajectory.md): one for each
 * `sample`, its rounds in order. A turn's extra.context says which earlier turns it was shown, and
 * extra.round which round it was. */
#ifndef KG_TRIAL_REFINE_ROUND_TALK_H
#define KG_TRIAL_REFINE_ROUND_TALK_H

#include <jansson.h>

#include "trial/refine/rounds.h"

/* Puts all conversations of round [n] into the folder. ended: the run has come to its end, so
 * conversations that have not are "done". Errors: KG_E_IO. */
enum kg_code tr_round_talks(struct tr_folder *f, const struct tr_problem *p, const char *prompt,
                            enum tr_strategy strategy, const struct tr_round *round, int n,
                            bool ended, struct kg_err *err) KG_MUST_USE;

#endif
