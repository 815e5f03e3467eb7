/* Private to the batch: records that are finished while an older line is not. The output has them
 * in input order, so until then they are kept in a file beside it as well, OUT.ahead, one a line in
 * order of completion: a run that is killed loses none. The run that resumes takes it over (a run
 * without an output does not); it is removed when nothing waits. One that cannot be written is done
 * without, with a warning. */
#ifndef KG_GYM_BATCH_BATCH_AHEAD_H
#define KG_GYM_BATCH_BATCH_AHEAD_H

#include "gym/batch/batch_items.h"

struct kg_batch_ahead {
    char path[4096];
    bool ours; /* else nothing is kept: the output is no file, or this run has not taken it over */
    bool failed;         /* it could not be written */
    int fd;              /* -1: nothing to keep so far */
    int64_t bytes, most; /* beyond most it is written anew, without what has gone to the output */
};

/* Lines that wait: of those from `written` on, what is ready, or kept of an earlier run. */
struct kg_batch_waiting {
    const struct kg_items *items;
    char *const *ready;
    size_t written;
};

enum kg_code kg_batch_ahead_init(struct kg_batch_ahead *a, const char *output,
                                 struct kg_err *err) KG_MUST_USE;
/* The file holds what waits and nothing else; or is gone. Atomically. False: it could not be
 * written, and no more is kept; an older file is as it was. */
bool kg_batch_ahead_renew(struct kg_batch_ahead *a, const struct kg_batch_waiting *w);
/* One more that waits. */
void kg_batch_ahead_add(struct kg_batch_ahead *a, const char *record,
                        const struct kg_batch_waiting *w);
/* Removes it where nothing waits. */
void kg_batch_ahead_end(struct kg_batch_ahead *a, const struct kg_batch_waiting *w);

#endif
