/* A fixed set of threads that run one function together. The caller is thread 0; the others sleep
 * between runs. Work is split by index, so what is computed never depends on who computes it.
 * One run at a time; not reentrant. */
#ifndef KG_LM_OPS_THREADS_H
#define KG_LM_OPS_THREADS_H

#include <stdatomic.h>

#include "base/err.h"

struct lm_threads;

/* n >= 1 threads, the caller's among them. Errors: KG_E_HOST. */
enum kg_code lm_threads_create(int n, struct lm_threads **out, struct kg_err *err) KG_MUST_USE;
void lm_threads_destroy(struct lm_threads *t);
int lm_threads_count(const struct lm_threads *t);

/* fn(arg, i, n) on each thread i; returns when all have returned. */
void lm_threads_run(struct lm_threads *t, void (*fn)(void *arg, int i, int n), void *arg);

/* Inside fn: waits until every thread is here. */
void lm_threads_barrier(struct lm_threads *t);

/* The share lo..hi-1 of thread i; cuts lie at multiples of step. */
void lm_threads_share(int total, int step, int i, int n, int *lo, int *hi);

/* The next of tasks 0, 1, ...; next begins at 0. */
static inline int lm_threads_next(atomic_int *next)
{
    return atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
}

#endif
