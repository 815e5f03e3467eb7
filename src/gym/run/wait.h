/* Private to run/: waits for a word of the control block. */
#ifndef KG_GYM_RUN_WAIT_H
#define KG_GYM_RUN_WAIT_H

#include "gym/run/runner.h"

/* Waits until *word equals `until` (not_equal: differs from it), the runner dies, or deadline_ns
 * passes. Returns OK, DIED or TIMEOUT. A pause of this process moves the deadline. */
enum kg_run_status kg_wait_word(struct kg_runner *r, const _Atomic uint32_t *word, uint32_t until,
                                bool not_equal, int64_t deadline_ns);
/* Wakes the runner that waits for this word. */
void kg_wait_wake(const _Atomic uint32_t *word);

#endif
