/* The problem's own law of an input, as the judge can make it, and the two laws that come from it.
 * `touched`: the own law, but for a few elements of moderate to large magnitude, which a kernel
 * that looks at a sample does not see. `raised`: all elements times a random factor, plus a random
 * shift. An input whose own law is none of the judge's is drawn by the reference. Pure. */
#ifndef KG_GYM_TORCH_PROBLEM_OWN_LAW_H
#define KG_GYM_TORCH_PROBLEM_OWN_LAW_H

#include "gym/torch/problem/input_plan.h"

/* May the judge make the values of input `at` under a law? *out says how. False: the reference
 * draws them (kg_tplan_draw). drawn: it draws all whose own law matters.
 *   key  of the case; with input and law it tells all values */
bool kg_tplan_made(const struct kg_task_desc *d, size_t at, enum kg_tlaw law, struct kg_key key,
                   bool drawn, struct kg_dj_law *out);
bool kg_tplan_touches(enum kg_tlaw law);
/* Is `touched` under this key without large elements? */
bool kg_tplan_gentle(struct kg_key key);
/* The key as one of a gentle `touched`, or not. */
struct kg_key kg_tplan_gently(struct kg_key key, bool gentle);
/* The key by which the judge touches an input. Each of both laws has places of its own. */
struct kg_key kg_tplan_touch_key(struct kg_key key, enum kg_tlaw law);
/* What the judge touches input `at` by (kg_dj_case_touch); 0: it does not. */
double kg_tplan_touch_unit(const struct kg_task_desc *d, size_t at, enum kg_tlaw law);

#endif
