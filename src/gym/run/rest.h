/* Private to run/: what the kernel says of a runner from outside, and bringing it to rest. */
#ifndef KG_GYM_RUN_REST_H
#define KG_GYM_RUN_REST_H

#include "gym/run/runner.h"

struct kg_task_stat {
    char state; /* of the main thread: 'S' blocked, 'R', 'T', 'Z' ... */
    int threads;
    int64_t faults; /* page faults so far, minor and major, all threads */
};

/* False: the process is gone. */
bool kg_rest_stat(const struct kg_runner *r, struct kg_task_stat *out);
/* CPU time of all its threads; 0 when it is gone. */
int64_t kg_rest_cpu_ns(const struct kg_runner *r);
/* After done was seen: wait until the runner is blocked, or stop it where it has threads or goes on
 * for longer than the slack. Fills tail_cpu_ns, threads, and *at; sets idle_from_cpu_ns. */
void kg_rest_settle(struct kg_runner *r, struct kg_call_report *report, struct kg_task_stat *at);

#endif
