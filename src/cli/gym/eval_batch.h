/* kgym eval --batch: the progress bar and the exit status round kg_batch_run. */
#ifndef KG_CLI_GYM_EVAL_BATCH_H
#define KG_CLI_GYM_EVAL_BATCH_H

#include "cli/gym/config.h"
#include "gym/batch/batch.h"

/* The batch alone, with its progress bar and, of lines that ended in an error, what the first of
 * them were; without a last word. command names it in warnings; ok, out: lines with the verdict
 * `ok`. */
enum kg_code kg_cli_batch_run(const char *command, const struct kg_config *config, const char *in,
                              const char *out, const char *jobs, bool public_only,
                              const char *stop_after, const char *trace,
                              struct kg_batch_result *res, int64_t *ok,
                              struct kg_err *err) KG_MUST_USE;
/* jobs: text of --jobs, or NULL for the pool's default. stop_after: the last stage, or NULL. trace:
 * file for a trace, or NULL. */
int kg_cli_batch(const struct kg_config *config, const char *in, const char *out, const char *jobs,
                 bool public_only, const char *stop_after, const char *trace);

#endif
