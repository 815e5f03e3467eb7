/* Private to the batch: what an earlier run left in the output file. */
#ifndef KG_GYM_BATCH_BATCH_RESUME_H
#define KG_GYM_BATCH_BATCH_RESUME_H

#include "gym/batch/batch.h"
#include "gym/batch/batch_ahead.h"
#include "gym/batch/batch_items.h"

struct kg_batch_out {
    int fd;
    int64_t end;    /* of its last whole line; -1: not a file, nothing can be cut off */
    size_t written; /* lines that it holds */
};

/* Opens the output for appending after the longest run of lines that still hold: same ids in input
 * order, same input hash, no error, judged as far as is asked for now, and no `private` where the
 * output is to be public. Each of them, and any later line that holds, there or in what waited
 * beside it (*ahead), is in its item's `kept`. ready: none is yet, one per item. Whatever follows
 * in the file, a torn line included, is cut off. Refuses a file that is the batch's input, that
 * another run is writing, or that does not begin as records do: a mistyped
 * --out must not cost somebody's data. */
enum kg_code kg_batch_resume(struct kg_items *items, const struct kg_config *config,
                             const struct kg_batch_spec *spec, char *const *ready,
                             struct kg_batch_out *out, struct kg_batch_ahead *ahead,
                             struct kg_err *err) KG_MUST_USE;

#endif
