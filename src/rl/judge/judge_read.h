/* Private to judge*.c: a result of the gym as a verdict. */
#ifndef KG_RL_JUDGE_JUDGE_READ_H
#define KG_RL_JUDGE_JUDGE_READ_H

#include "rl/judge/judge.h"

/* With the terms of the reward of the options, and feedback as they ask for it. */
void rl_judge_read(const struct kgym_result *r, const struct rl_judge_options *o,
                   struct rl_verdict *v);

#endif
