/* From the records of any batch to a run folder of that project: its kernel files and result files,
 * so that its users' scripts read what `kgym eval --batch` has judged. A record is a kernel where
 * its problem's name begins with that project's id (`12_Name`), at the problem's level; its sample
 * is the one that its batch_id names (level_1_problem_3_sample_0), else the next number of the
 * problem, in order of the records. Records are kept in the folder as an evaluation of it keeps
 * them (store.h), under the kernel's id. */
#ifndef KG_GYM_KERNELBENCH_EXPORT_H
#define KG_GYM_KERNELBENCH_EXPORT_H

#include "gym/kernelbench/store.h"

struct kg_kb_export {
    size_t kernels; /* taken */
    size_t others;  /* records of problems that are not that project's, or of another
                      level; replays */
    size_t no_code; /* taken, and no file was written: the reply held no kernel */
};

/* Read the records (JSON lines) into a store that is open, and write the kernel files beside it.
 * *level 0: that of all of them; KG_E_USAGE where there are several. *all: what the store holds of
 * that level, for kg_kb_store_results; the caller deinits it. A kernel file with another text is
 * left as it is: KG_E_USAGE; two records of one sample are KG_E_INPUT. */
enum kg_code kg_kb_export(const char *records, const char *folder, int *level,
                          struct kg_kb_store *store, struct kg_kb_run *all,
                          struct kg_kb_export *out, struct kg_err *err) KG_MUST_USE;

#endif
