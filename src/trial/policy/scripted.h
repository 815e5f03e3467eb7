/* A policy without a model: kernels for generated chains (rl/chains/chains.h) that become better by
 * what the conversation tells, in a known way. For tests, for measuring a gym's or a driver's own
 * cost, and for comparing strategies where a real model would be too dear.
 *
 *   learner   the default. A first reply is a draw of rl_mix_weak, and has a flaw with chance 1/2.
 *             Each failure that a feedback tells takes away 2/5 of that chance, down to 1/20.
 *             Where a feedback tells a speed-up, the reply begins from the style of the fastest:
 *             one step up (1/2), one change of any kind (1/4), or a new draw of rl_mix_rich.
 *             Answers without a verdict behind them: it begins from any of them.
 *   deaf      the same, and each reply is a first one
 *
 * The draws are keyed by seed, problem, sample and turn. With the messages they decide the reply;
 * nothing else does. A problem that is no chain gets a reply without code. Tokens are four bytes,
 * rounded up in each message; a conversation above the context is refused, and a reply above
 * max_tokens cut, as a model's would be. */
#ifndef KG_TRIAL_POLICY_SCRIPTED_H
#define KG_TRIAL_POLICY_SCRIPTED_H

#include "trial/policy/policy.h"

/* name: "", "learner" or "deaf". Of the options sampling.max_tokens, sampling.context and parallel
 * are read. Errors: KG_E_USAGE (no such script), KG_E_HOST (memory). */
enum kg_code tr_scripted_open(const char *name, const struct tr_policy_options *o,
                              struct tr_policy *out, struct kg_err *err) KG_MUST_USE;

#endif
