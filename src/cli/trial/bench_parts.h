/* Parts of `kgym bench` that work on the folder of a run: comparison, published numbers, and
 * KernelBench's result files. */
#ifndef KG_CLI_TRIAL_BENCH_PARTS_H
#define KG_CLI_TRIAL_BENCH_PARTS_H

#include <stddef.h>

#include "base/err.h"

/* `kgym bench --compare RUN1 RUN2 [--turn N] [--p LIST] [--json]`, `--published [RUN]` and
 * `--export RUN`: the first of these words decides. argv[0] is the command's name. False: none of
 * them is there; else *status is the exit status. */
bool kg_cli_bench_runs(int argc, char **argv, int *status);

struct kg_cli_exported {
    int levels;                      /* folders RUN/kernelbench/level<L> that were written */
    size_t kernels, no_code, others; /* as in struct kg_kb_export; others: no problems of its */
};

/* Writes KernelBench's result files of a run over its problems: RUN/kernelbench/level<L> with
 * kernel files, eval_results.json and pass_at_k_results.json, as `kgym kernelbench write` makes
 * them. The last turn of each sample counts, as in the tables; sample 1 is their sample 0. Problems
 * that are defective are left out. A run of another suite writes nothing. It may be done again.
 * Errors: those of tr_bench_read, kg_kb_store_open, kg_kb_export. */
enum kg_code kg_cli_bench_export(const char *run, struct kg_cli_exported *out,
                                 struct kg_err *err) KG_MUST_USE;

#endif
