/* Private to the batch: one worker process, seen from its parent. It takes line numbers from a pipe
 * and answers with messages: a kind, a length and that many bytes; a record is JSON, a refusal says
 * why no worker can run here. */
#ifndef KG_GYM_BATCH_BATCH_WORKER_H
#define KG_GYM_BATCH_BATCH_WORKER_H

#include <sys/types.h>

#include "gym/batch/batch.h"
#include "gym/batch/batch_items.h"

struct kg_batch_worker {
    pid_t pid;
    int to, from; /* pipes */
    int cpu;
    int64_t busy;     /* line under way, -1 when idle */
    int64_t since_ns; /* it has that line since */
    int problem;      /* number of the last line's: what it keeps things for; -1: none yet */
    bool prepared;    /* it has judged a line of it */
    struct kg_buf in;
};

/* What a worker is made from; all of it outlives the worker, common in memory that is shared. */
struct kg_batch_work {
    const struct kg_config *config;
    const struct kg_batch_spec *spec;
    const struct kg_items *items;
    struct kg_common *common;
};

enum kg_code kg_batch_worker_start(struct kg_batch_worker *w, const struct kg_batch_work *work,
                                   int cpu, struct kg_err *err) KG_MUST_USE;
/* more: so many will probably be judged after it, 2 at most. False: the worker is gone. */
bool kg_batch_worker_send(struct kg_batch_worker *w, uint32_t line, unsigned more);
enum kg_batch_got { KG_GOT_NOTHING, KG_GOT_RECORD, KG_GOT_REFUSAL, KG_GOT_END };
/* Read what is there. *text is set with RECORD and REFUSAL; the caller frees. END: it is gone. */
enum kg_batch_got kg_batch_worker_read(struct kg_batch_worker *w, char **text);
/* Ends it: an idle one at the end of its input, a busy one by SIGTERM, either by SIGKILL if it does
 * not go. ask only says so, wait does the rest: several go at the same time. */
void kg_batch_worker_ask(struct kg_batch_worker *w);
void kg_batch_worker_wait(struct kg_batch_worker *w);

#endif
