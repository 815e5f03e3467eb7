/* The cores of the gym's pool, taken while the engine draws or the trainer updates, so that no
 * timed call runs while an engine thread is on its core. Evaluations that run are waited for, those
 * that wait begin at release. Hold over a whole burst of drawing, never for a token: a hold waits
 * for the evaluations that run, some 50 ms.
 *
 * One at a time: hold and release alternate. A cores with pool NULL does nothing. Not thread safe.
 */
#ifndef KG_RL_JUDGE_CORES_H
#define KG_RL_JUDGE_CORES_H

#include "base/err.h"
#include "gym/kgym.h"

struct rl_cores {
    struct kgym_pool *pool; /* NULL: hold and release do nothing */
    bool held;
    double waited; /* seconds of all holds, for running evaluations */
    double owned;  /* seconds of all holds, from taken to released */
    int64_t since_ns;
    uint64_t holds;
};

/* Zeroed but for the pool, which is borrowed. */
void rl_cores_init(struct rl_cores *c, struct kgym_pool *pool);
/* Blocks until no worker has a task. Nothing if it is held. Errors: those of kgym_hold_core. */
enum kg_code rl_cores_hold(struct rl_cores *c, struct kg_err *err) KG_MUST_USE;
/* Nothing unless it is held. Errors: those of kgym_release_core. */
enum kg_code rl_cores_release(struct rl_cores *c, struct kg_err *err) KG_MUST_USE;

#endif
