/* Reward presets: pure functions of a record, with itemised terms that sum to the value. C (verdict
 * `ok` and league eligible) multiplies every term, so a stray speed-up on a failed record can't
 * pay. Errors never become rewards, but for those with blame `candidate`, which count as the lowest
 * failure, so that no candidate drops out of its sample; and nothing that is not finite goes in or
 * comes out (assertions). No I/O, no clock; thread safe. Formulas and golden values:
 * docs/rewards.md.
 *
 * Speed-up s: speedup.ratio where timing.status is `measured`, else the terms in speed are 0. Times
 * below T (20 times the least K for C, 100 us else) are too short to trust: a reference below T
 * earns no speed, and a candidate below T counts as if it took T. Coverage null counts as 0. */
#ifndef KG_GYM_REWARD_REWARD_H
#define KG_GYM_REWARD_REWARD_H

#include "gym/record/record.h"

struct kg_reward_params {
    double cap;          /* of s in phi; 3 */
    double hack_penalty; /* <= 0, added on verdict hack; 0 */
    bool s_deadzone;     /* s := 1 where the interval holds 1 */
    double step;         /* training step, for staged-anneal; 0 */
    double anneal_steps; /* K of staged-anneal; 50 */
    double kevin_cap;    /* of s in kevin; 0: none, as published */
};
void kg_reward_params_default(struct kg_reward_params *p);
/* NULL-terminated names of the presets that are built. */
const char *const *kg_reward_names(void);
/* KG_E_USAGE: unknown preset (with the nearest name), or one whose inputs are absent (`milestones`
 * without a compile baseline, `tritonrl-hrd`), refused by name. */
enum kg_code kg_reward_check(const char *name, struct kg_err *err) KG_MUST_USE;
/* Why no preset rewards this record, whatever its verdict; NULL: they may. Records that were judged
 * by another project's procedure are never rewarded: it believes the process that it times. Nor is
 * a replay: its cases were known before. */
const char *kg_reward_absent(const struct kg_record *r);
/* Is there something to reward: a verdict, or an error that the candidate may have brought about?
 */
bool kg_reward_may(const struct kg_record *r);
enum kg_reward_short { KG_SHORT_NONE, KG_SHORT_REFERENCE, KG_SHORT_CANDIDATE };
/* Which of the two times is too short to be rewarded as it is, and, in out, what follows; "": none
 * is, or nothing was measured. For timing.why. */
enum kg_reward_short kg_reward_too_short(const struct kg_record *r, char *out, size_t cap);
/* The text in w->why without the time that is too short, for a page that shows timing.why, too. w
 * is of r, by kg_reward_compute. */
const char *kg_reward_why_besides(const struct kg_record *r, const struct kg_reward *w);
/* Fills out->why where the preset's speed term counts for less than the speed-up that the record
 * shows, or where PR is 0 because its measurement told nothing. Asserts a checked name,
 * kg_reward_may, and that nothing forbids its reward. */
void kg_reward_compute(const struct kg_record *r, const char *name,
                       const struct kg_reward_params *p, struct kg_reward *out);

/* The preset's formula as one line, and its range, for tables and help; name must be checked. */
const char *kg_reward_formula(const char *name);

#endif
