/* Private to run/: the thread that empties a runner's standard output and error, so that a flood
 * never blocks the runner and never grows the broker, and that watches for its death, so that a
 * wait for its answer ends at once. Keeps head and tail of each stream and counts the rest. The
 * thread does not allocate and holds no lock while others fork. */
#ifndef KG_GYM_RUN_DRAIN_H
#define KG_GYM_RUN_DRAIN_H

#include "gym/run/runner.h"

struct kg_drain;

/* Takes over the two pipe ends; watches a duplicate of pidfd (-1: nothing to watch). keep: bytes of
 * head and of tail. wire: its futexes are woken on death; NULL: none. */
enum kg_code kg_drain_start(const int pipes[2], int pidfd, int64_t keep, struct kg_wire *wire,
                            struct kg_drain **out, struct kg_err *err) KG_MUST_USE;
/* The process has ended (seen through pidfd). */
bool kg_drain_dead(const struct kg_drain *d);
/* The runner is at rest: wait until what it has written is read, at most some 50 ms. The thread
 * shares the runners' core, and would read in the next one's time. */
void kg_drain_settle(const struct kg_drain *d);
/* After the process was killed: read what is left, at most a pipe's fill, end the thread, free. */
void kg_drain_stop(struct kg_drain *d, struct kg_output out[2]);

#endif
