/* The weights that rollouts are drawn with. They are the learner's own, or a copy that differs in a
 * chosen way, so that methods against a mismatch have one to act on:
 *
 *   engine        the learner's weights; log-probs of sampler and learner have the same bits
 *   bf16-weights  each weight rounded to the nearest bfloat16, ties to even
 *   stale K       the learner's weights of the last step that K divides
 *   noise SIGMA   each weight plus a normal number of (seed, step), whose deviation is a third of
 *                 SIGMA times the root mean square of the tensor: in the demo's model log-probs
 *                 then differ with a deviation of about SIGMA
 * Log-probs are those of the distribution that was really drawn from. Evaluations draw with exact
 * weights. Not thread safe. */
#ifndef KG_RL_RUN_SAMPLER_H
#define KG_RL_RUN_SAMPLER_H

#include "lm/model/lora.h"
#include "rl/run/options.h"

enum rl_sampler_kind { RL_SAMPLER_ENGINE, RL_SAMPLER_BF16, RL_SAMPLER_STALE, RL_SAMPLER_NOISE };

struct rl_sampler_options {
    enum rl_sampler_kind kind;
    uint32_t every; /* stale */
    float sigma;    /* noise */
};

struct rl_sampler {
    struct rl_sampler_options o;
    uint64_t seed;
    struct lm_model *learner;
    struct lm_model *actor; /* the learner, or a copy that is owned */
    float *scratch;         /* [largest tensor] */
};

/* KG_E_USAGE: none of the forms above. */
enum kg_code rl_sampler_parse(const char *text, struct rl_sampler_options *out,
                              struct kg_err *err) KG_MUST_USE;
/* The learner must outlive it, and keep the form that it has now (adapter or none). KG_E_HOST. */
enum kg_code rl_sampler_open(struct rl_sampler *s, const struct rl_sampler_options *o,
                             uint64_t seed, struct lm_model *learner,
                             struct kg_err *err) KG_MUST_USE;
void rl_sampler_close(struct rl_sampler *s); /* zeroed is nothing */
/* Before the rollouts of a step. After it the actor's weights depend on the learner's, the seed and
 * the step; of `stale` on those of an earlier step, so a checkpoint holds them. */
void rl_sampler_refresh(struct rl_sampler *s, uint32_t step);
/* Before an evaluation: the learner's weights. */
void rl_sampler_exact(struct rl_sampler *s);

/* A copy of a model with its adapter. KG_E_HOST. */
enum kg_code rl_model_copy(const struct lm_model *m, struct lm_model **out,
                           struct kg_err *err) KG_MUST_USE;

/* The adapter of a run. KG_E_USAGE names the key. */
enum kg_code rl_lora_parse(const struct rl_config *c, struct lm_lora_config *out,
                           struct kg_err *err) KG_MUST_USE;

#endif
