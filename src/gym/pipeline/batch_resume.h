/* Private to the batch: what an earlier run left in the output file. */
#ifndef KG_GYM_PIPELINE_BATCH_RESUME_H
#define KG_GYM_PIPELINE_BATCH_RESUME_H

#include "gym/pipeline/batch_items.h"

/* Opens the output for appending after the longest run of lines that still hold (same ids in input
 * order, same input hash); *written is how many, and each of them, and any later line that holds,
 * is in its item's `kept`. Whatever follows in the file, a torn line included, is cut off. */
enum kg_code kg_batch_resume(struct kg_items *items, const struct kg_config *config,
                             const char *out, size_t *written, int *fd,
                             struct kg_err *err) KG_MUST_USE;

#endif
