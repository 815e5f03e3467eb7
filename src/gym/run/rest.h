/* Private to run/: observes a runner from outside through /proc, and brings it to rest after a
 * call. */
#ifndef KG_GYM_RUN_REST_H
#define KG_GYM_RUN_REST_H

#include "gym/run/runner.h"

/* Fields of /proc/PID/stat. */
struct kg_task_stat {
    char state; /* of the main thread: 'S' blocked, 'R', 'T', 'Z' ... */
    int threads;
    int64_t faults; /* minor and major page faults of all threads so far */
};

/* False: the process has ended. */
bool kg_rest_stat(const struct kg_runner *r, struct kg_task_stat *out);
/* CPU time of all its threads so far; 0 if it has ended. */
int64_t kg_rest_cpu_ns(const struct kg_runner *r);
/* For how long it and the broker's thread have been ready to run without a core, in all so far; -1:
 * the kernel does not count that. Who sleeps is not ready. */
int64_t kg_rest_delay_ns(const struct kg_runner *r);
/* Call it after `done` was seen. Waits until the runner blocks. Stops it by force if it has
 * threads, or keeps working longer than the slack. Fills tail_cpu_ns, threads, unstopped and *at;
 * delayed_ns, which holds the sum at the release; idle time counts from then on. */
void kg_rest_settle(struct kg_runner *r, struct kg_call_report *report, struct kg_task_stat *at);

#endif
