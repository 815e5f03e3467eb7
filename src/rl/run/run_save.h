/* Checkpoints of a run: weights, optimiser and tokenizer in the form of lm/io/checkpoint.h, and in
 * its state.json all that the run needs to go on with the same bits: configuration, place, cursors,
 * counters, seconds, lengths of the files, what was asked of the journal, the first evaluation.
 * Not thread safe. */
#ifndef KG_RL_RUN_RUN_SAVE_H
#define KG_RL_RUN_RUN_SAVE_H

#include "rl/run/run.h"

/* Writes the checkpoint. Errors: KG_E_IO (disk full too: the one before stays whole), KG_E_HOST. */
enum kg_code rl_run_save(struct rl_run *run, struct kg_err *err) KG_MUST_USE;
/* The same where it is due: `steps` steps of RL are done, or the seconds have passed. */
enum kg_code rl_run_save_due(struct rl_run *run, uint32_t steps, struct kg_err *err) KG_MUST_USE;
/* The weights after SFT, for whoever wants them. */
enum kg_code rl_run_save_sft(const struct rl_run *run, struct kg_err *err) KG_MUST_USE;

/* run.saved of the folder; NULL where it has no checkpoint yet. KG_E_USAGE: another configuration;
 * KG_E_INPUT: the checkpoint is damaged. */
enum kg_code rl_run_load(struct rl_run *run, struct kg_err *err) KG_MUST_USE;
/* The model of the checkpoint that was loaded, and later the optimiser and all parts of the run. */
enum kg_code rl_run_load_model(struct rl_run *run, struct kg_err *err) KG_MUST_USE;
enum kg_code rl_run_restore(struct rl_run *run, struct kg_err *err) KG_MUST_USE;

/* Whether the run of a folder has ended. Errors: KG_E_NOT_FOUND (no run), KG_E_INPUT. */
enum kg_code rl_run_ended(const char *folder, bool *ended, struct kg_err *err) KG_MUST_USE;
/* The key in which two dumps of configurations differ. False: in none that changes what is
 * computed: `threads`, `journal` and the times of checkpoints do not. */
bool rl_config_differs(const char *a, const char *b, char *key, size_t cap);
/* Names a configuration, by the keys that count. */
void rl_config_hash(const struct rl_config *c, char out[KG_SHA256_HEX]);

#endif
