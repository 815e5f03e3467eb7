/* kgym eval --batch: the progress bar and the exit status round kg_batch_run. */
#ifndef KG_CLI_EVAL_BATCH_H
#define KG_CLI_EVAL_BATCH_H

#include "cli/cli.h"

/* jobs: text of --jobs, or NULL for one per CPU. */
int kg_cli_batch(const struct kg_config *config, const char *in, const char *out, const char *jobs,
                 bool public_only, enum kg_stage stop_after);

#endif
