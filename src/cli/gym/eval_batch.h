/* kgym eval --batch: the progress bar and the exit status round kg_batch_run. */
#ifndef KG_CLI_GYM_EVAL_BATCH_H
#define KG_CLI_GYM_EVAL_BATCH_H

#include "cli/gym/config.h"
#include "gym/batch/batch.h"

struct kg_cli_batch_args {
    const char *command; /* in messages */
    const char *in, *out;
    const char *jobs;             /* text of --jobs; NULL: the pool's default */
    const char *stop_after;       /* the last stage, or NULL */
    const char *trace;            /* file for a trace, or NULL */
    const char *gym, *token_file; /* a service that judges; NULL: this host does */
    bool places;                  /* faults name lines of in: not where a command has made it */
    bool public_only;
};

/* The batch alone, with its progress bar and, of lines that ended in an error, what the first of
 * them were; without a last word. ok, out: lines with the verdict `ok`. */
enum kg_code kg_cli_batch_run(const struct kg_config *config, const struct kg_cli_batch_args *a,
                              struct kg_batch_result *res, int64_t *ok,
                              struct kg_err *err) KG_MUST_USE;
/* The same, and the last word; the exit status. */
int kg_cli_batch(const struct kg_config *config, const struct kg_cli_batch_args *a);

#endif
