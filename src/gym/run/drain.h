/* Private to run/: a thread that reads a runner's standard output and error, and watches for its
 * death.
 *
 * Reading keeps a flood from blocking the runner; only head and tail of each stream are kept, so
 * the broker does not grow. Watching ends a wait for an answer at once when the runner dies. The
 * thread does not allocate and holds no lock, so other threads may fork at any time. */
#ifndef KG_GYM_RUN_DRAIN_H
#define KG_GYM_RUN_DRAIN_H

#include "gym/run/runner.h"

struct kg_drain;

/* Takes over the two pipe ends, and watches a duplicate of pidfd (-1: nothing). keep: bytes of head
 * and of tail. wire: its futexes are woken on death; NULL: none. KG_E_HOST: no thread or memory. */
enum kg_code kg_drain_start(const int pipes[2], int pidfd, int64_t keep, struct kg_wire *wire,
                            struct kg_drain **out, struct kg_err *err) KG_MUST_USE;
/* True if the process has ended. */
bool kg_drain_dead(const struct kg_drain *d);
/* Waits until the thread has read what the runner, now at rest, has written; 50 ms at most. The
 * thread runs on the runners' core, and would otherwise read while the next one is timed. */
void kg_drain_settle(const struct kg_drain *d);
/* Call it after the process was killed. Reads what is left, at most a pipe's size; ends the thread;
 * frees d. */
void kg_drain_stop(struct kg_drain *d, struct kg_output out[2]);

#endif
