/* A checkpoint of the learner as a policy: its engine samples on this machine. System and user
 * messages become ids by the chat template; an assistant's message with ids is spliced by them, so
 * a conversation is never encoded again. One without ids is encoded. A reply's ids are those that
 * were sampled, the end included. Draws depend on the ask's seed and ids alone. Replies are
 * whole in text; `stop` texts are looked for in it. Not thread safe. */
#ifndef KG_TRIAL_POLICY_CHECKPOINT_H
#define KG_TRIAL_POLICY_CHECKPOINT_H

#include "trial/policy/policy.h"

/* dir: a folder of Hugging Face or of kgym. o->policy, model, key_file and stream are not read.
 * Errors: those of rl_source_*, KG_E_HOST (memory; the message says how much is needed). */
enum kg_code tr_checkpoint_open(const char *dir, const struct tr_policy_options *o,
                                struct tr_policy *out, struct kg_err *err) KG_MUST_USE;

#endif
