/* Private to pool/: one worker process, as the supervisor sees it. */
#ifndef KG_GYM_POOL_WORKER_PROCESS_H
#define KG_GYM_POOL_WORKER_PROCESS_H

#include <sys/types.h>

#include "gym/pool/channel.h"
#include "gym/pool/tasks.h"

enum kg_worker_state {
    KG_WORKER_NONE, /* no process: started when there is a task for it */
    KG_WORKER_IDLE,
    KG_WORKER_BUSY,
    KG_WORKER_ENDING, /* told to end, and not gone yet */
};

struct kg_worker_process {
    enum kg_worker_state state;
    bool ready; /* it has said so: what it says from now on may be a candidate's */
    pid_t pid;
    struct kg_channel channel;
    int core, device;          /* indices of its core and its device */
    bool unwanted;             /* it ends after its task, and is not started again */
    struct kg_pool_task *task; /* under way */
    int64_t since_ns;          /* it has that task since */
    int64_t kill_ns;           /* an ending one is killed then */
    uint64_t problem;          /* that it keeps things for; 0: none */
    bool prepared;             /* it has judged a task of it */
    int64_t again_ns;          /* it could not start: not tried again before */
    bool lost;                 /* it ended by itself: what it left is swept up */
};

/* configure: the head of its CONFIGURE frame, taken; NULL: no memory for it. shared: see kg_role.
 * KG_E_HOST: it cannot be executed. KG_E_LIMIT: no memory. */
enum kg_code kg_worker_process_start(struct kg_worker_process *w, const char *program, int shared,
                                     json_t *configure, struct kg_err *err) KG_MUST_USE;
/* Gives it a task, which it owns until its result; more: another will probably follow. False: the
 * task stays the caller's, since there is no memory to send it or the channel has ended. */
bool kg_worker_process_hand(struct kg_worker_process *w, struct kg_pool_task *t, bool more);
/* The task under way ends with KG_E_CANCELLED within milliseconds; the process goes on. */
void kg_worker_process_cancel(struct kg_worker_process *w);
/* Tells it to end: an idle one by the end of its input, a busy one by SIGTERM as well. */
void kg_worker_process_end(struct kg_worker_process *w);
/* Is an ending one gone? One that does not go within 5 s is killed. Does not wait. */
bool kg_worker_process_gone(struct kg_worker_process *w);

#endif
