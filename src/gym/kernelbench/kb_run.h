/* A run folder of KernelBench: one file per kernel,
 * level_<L>_problem_<P>_sample_<S>_kernel.py. Here kernels are found, chosen, and turned into the
 * input lines of a batch (batch/batch.h); nothing is executed. */
#ifndef KG_GYM_KERNELBENCH_KB_RUN_H
#define KG_GYM_KERNELBENCH_KB_RUN_H

#include "base/buf.h"
#include "gym/kernelbench/kb_problem.h"
#include "gym/kernelbench/numbers.h"

struct kg_kb_kernel {
    int level, problem, sample; /* sample from 0 */
};

struct kg_kb_run {
    char root[1024];             /* absolute */
    struct kg_kb_kernel *kernel; /* by level, problem, sample */
    size_t n;
};

#define KG_KB_ID_MAX 64 /* bytes of a line's id, NUL included */

bool kg_kb_kernel_parse(const char *file_name, struct kg_kb_kernel *out);
/* "level_1_problem_3_sample_0": the kernel's id in a batch. */
void kg_kb_kernel_id(const struct kg_kb_kernel *k, char out[KG_KB_ID_MAX]);
bool kg_kb_kernel_id_parse(const char *id, struct kg_kb_kernel *out);
int kg_kb_kernel_order(const struct kg_kb_kernel *a, const struct kg_kb_kernel *b);

/* All kernels of a folder; there may be none. Other files are left alone. After success the caller
 * deinits *out. */
enum kg_code kg_kb_run_read(const char *folder, struct kg_kb_run *out,
                            struct kg_err *err) KG_MUST_USE;
void kg_kb_run_deinit(struct kg_kb_run *run);
/* Keep the kernels of one level, of these problems and samples. level 0: the run's only one;
 * KG_E_USAGE where it has several, KG_E_NOT_FOUND where nothing is left. Returns the level. */
enum kg_code kg_kb_run_choose(struct kg_kb_run *run, const struct kg_kb_numbers *problems,
                              const struct kg_kb_numbers *samples, int *level,
                              struct kg_err *err) KG_MUST_USE;
/* Append {id, problem, source_file} per kernel. A kernel whose problem is not in the list is
 * KG_E_NOT_FOUND. */
enum kg_code kg_kb_run_lines(const struct kg_kb_run *run, const struct kg_kb_problems *problems,
                             struct kg_buf *out, struct kg_err *err) KG_MUST_USE;

#endif
