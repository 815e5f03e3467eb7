/* A checkpoint of the learner as a policy: its engine samples on this machine. System and user
 * messages become ids by the chat template; an assistant's message with ids is spliced by them, so
 * a conversation is never encoded again. One without ids is encoded. A reply's ids are those that
 * were sampled, the end included. Draws depend on the ask alone: its ids, its seed and its speaker.
 * A thought stays in the text, as in training. A stop text ends a reply, which goes up to it; its
 * ids hold the stop. Fewer asks than o->parallel are taken at once where memory is short. Not
 * thread safe. */
#ifndef KG_TRIAL_POLICY_CHECKPOINT_H
#define KG_TRIAL_POLICY_CHECKPOINT_H

#include "trial/policy/policy.h"

/* dir: a folder of Hugging Face or of kgym. o->policy, model, key_file and stream are not read.
 * Errors: those of rl_source_*, KG_E_HOST (memory; the message says how much is needed). */
enum kg_code tr_checkpoint_open(const char *dir, const struct tr_policy_options *o,
                                struct tr_policy *out, struct kg_err *err) KG_MUST_USE;

#endif
