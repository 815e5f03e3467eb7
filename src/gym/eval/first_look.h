/* The part of `kgym problems check` that costs little, of a problem that nobody has checked: after
 * its first evaluation, where its own run has left something in doubt. So a problem that any answer
 * suits, or that none does, is told from its candidates. */
#ifndef KG_GYM_EVAL_FIRST_LOOK_H
#define KG_GYM_EVAL_FIRST_LOOK_H

#include "gym/eval/evaluate.h"

/* r: the record of an evaluation that has ended. True: the problem is defective. That is kept
 * (findings.h), and known to the executor, so the same evaluation now ends in KG_E_PROBLEM. */
bool kg_first_look(struct kg_worker *w, const struct kg_task *t, const struct kg_record *r);

#endif
