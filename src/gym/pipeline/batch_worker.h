/* Private to the batch: one worker process, seen from its parent. It takes line numbers from a pipe
 * and answers with records; a record is a length and that many bytes of JSON. */
#ifndef KG_GYM_PIPELINE_BATCH_WORKER_H
#define KG_GYM_PIPELINE_BATCH_WORKER_H

#include <sys/types.h>

#include "gym/pipeline/batch.h"
#include "gym/pipeline/batch_items.h"

struct kg_batch_worker {
    pid_t pid;
    int to, from; /* pipes */
    int cpu;
    int64_t busy; /* line under way, -1 when idle */
    struct kg_buf in;
};

enum kg_code kg_batch_worker_start(struct kg_batch_worker *w, const struct kg_config *config,
                                   const struct kg_batch_spec *spec, const struct kg_items *items,
                                   int cpu, struct kg_err *err) KG_MUST_USE;
bool kg_batch_worker_send(struct kg_batch_worker *w, uint32_t line); /* false: it is gone */
/* Read what is there. 1: *record is complete (caller frees); 0: not yet; -1: the worker is gone. */
int kg_batch_worker_read(struct kg_batch_worker *w, char **record);
void kg_batch_worker_stop(struct kg_batch_worker *w);

#endif
