/* Does the C function of a reference have the parameters that its block lists? A wrong one, such as
 * `int rows` for a dim, passes at small sizes by luck: caller and function agree on registers. */
#ifndef KG_GYM_NATIVE_REFERENCE_SIGNATURE_H
#define KG_GYM_NATIVE_REFERENCE_SIGNATURE_H

#include "gym/eval/onboard.h"

/* Adds a check `signature`, which fails, if the function of the worker's current problem does not
 * fit; nothing if it fits. `const` and `restrict` may differ. One build. */
enum kg_code kg_reference_signature(struct kg_worker *w, struct kg_onboard *o,
                                    struct kg_err *err) KG_MUST_USE;

#endif
