/* The checks of a C problem that need no candidate: what its source says (words of one width,
 * sanitizers), and what kgym cannot do for it (time it, bound its sums). Parts of `kgym problems
 * check`; a part that could not be asked, and a limit, are notes, which pass. */
#ifndef KG_GYM_NATIVE_NATIVE_CHECKS_H
#define KG_GYM_NATIVE_NATIVE_CHECKS_H

#include "gym/eval/onboard.h"

/* Checks `real` and `sanitizers` of the worker's current problem. *sound: both pass. */
enum kg_code kg_native_source_checks(struct kg_worker *w, struct kg_onboard *o, bool *sound,
                                     struct kg_err *err) KG_MUST_USE;
/* Checks `bound` and `long enough`, once the reference is right. */
enum kg_code kg_native_limits_checks(struct kg_worker *w, struct kg_onboard *o,
                                     struct kg_err *err) KG_MUST_USE;

#endif
