/* Reward presets: pure functions of a record, with itemised terms. C (verdict `ok` and league
 * eligible) multiplies every term, so a stray speed-up on a failed record can't pay. Errors never
 * become rewards. Formulas and golden values: docs/rewards.md. */
#ifndef KG_GYM_REWARD_REWARD_H
#define KG_GYM_REWARD_REWARD_H

#include "gym/record/record.h"

struct kg_reward_params {
    double cap;          /* of s in phi; 3 */
    double hack_penalty; /* <= 0, added on verdict hack; 0 */
    bool s_deadzone;     /* s := 1 where the interval holds 1 */
    double step;         /* training step, for staged-anneal; 0 */
    double anneal_steps; /* K of staged-anneal; 50 */
};
void kg_reward_params_default(struct kg_reward_params *p);
/* NULL-terminated names of the presets that are built. */
const char *const *kg_reward_names(void);
/* KG_E_USAGE: unknown preset (with the nearest name), or one whose inputs are absent (`milestones`
 * without a compile baseline, `tritonrl-hrd`), refused by name. */
enum kg_code kg_reward_check(const char *name, struct kg_err *err) KG_MUST_USE;
/* Asserts a checked name and no error in r. */
void kg_reward_compute(const struct kg_record *r, const char *name,
                       const struct kg_reward_params *p, struct kg_reward *out);

#endif
