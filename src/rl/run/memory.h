/* How much memory a model takes, from its configuration alone, so that a command can refuse before
 * it allocates. Estimates in bytes: within a few per cent for models above 10 MB. Thread safe. */
#ifndef KG_RL_RUN_MEMORY_H
#define KG_RL_RUN_MEMORY_H

#include "lm/model/config.h"

uint64_t rl_memory_parameters(const struct lm_config *c); /* numbers, not bytes */
/* Weights, their packed copies, angles. */
uint64_t rl_memory_model(const struct lm_config *c);
/* Sampling of so many conversations of so many tokens, batches of so many rows. */
uint64_t rl_memory_engine(const struct lm_config *c, int seqs, int tokens, int rows);
/* Training on so many rows; trained: numbers that change (all, or those of the adapter). */
uint64_t rl_memory_trainer(const struct lm_config *c, uint64_t trained, int rows);
/* Numbers of an adapter of rank r on the parts in targets (bits 1 << enum lm_part). */
uint64_t rl_memory_adapter(const struct lm_config *c, int r, unsigned targets);

/* What this process may still take: the host's available memory and the room below the limit of
 * its control group, whichever is less. 0: not known. */
uint64_t rl_memory_free(void);
/* KG_E_HOST: there is less than `need`; the message says how much, for what, and how much is
 * there. */
enum kg_code rl_memory_check(uint64_t need, const char *what, struct kg_err *err) KG_MUST_USE;

#endif
