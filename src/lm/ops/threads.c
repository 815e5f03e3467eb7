/* Threads that sleep on a condition between runs and spin, then yield, at a barrier inside one. */
#include "lm/ops/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define SPINS 2000 /* a barrier of idle cores takes a few hundred */

struct worker {
    struct lm_threads *set;
    int index;
    pthread_t thread;
};

struct lm_threads {
    int n, started;
    struct worker *workers; /* [n], the first unused */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    void (*fn)(void *arg, int i, int n);
    void *arg;
    bool stop;
    _Atomic unsigned run; /* counts runs */
    atomic_int arrived;
    _Atomic unsigned phase; /* counts barriers */
};

static void relax(int spin)
{
    if (spin >= SPINS) {
        sched_yield();
        return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

void lm_threads_barrier(struct lm_threads *t)
{
    if (t->n == 1) {
        return;
    }
    unsigned phase = atomic_load_explicit(&t->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) == t->n - 1) {
        atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&t->phase, phase + 1, memory_order_release);
        return;
    }
    for (int i = 0; atomic_load_explicit(&t->phase, memory_order_acquire) == phase; i++) {
        relax(i < SPINS ? i : SPINS);
    }
}

/* Waits for a run after `seen`; false: the end. */
static bool await_run(struct lm_threads *t, unsigned seen)
{
    for (int i = 0; i < SPINS && atomic_load(&t->run) == seen; i++) {
        relax(0);
    }
    pthread_mutex_lock(&t->lock);
    while (atomic_load(&t->run) == seen && !t->stop) {
        pthread_cond_wait(&t->wake, &t->lock);
    }
    bool go = !t->stop;
    pthread_mutex_unlock(&t->lock);
    return go;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct lm_threads *t = w->set;
    for (unsigned seen = 0; await_run(t, seen); seen++) {
        t->fn(t->arg, w->index, t->n);
        lm_threads_barrier(t);
    }
    return NULL;
}

void lm_threads_run(struct lm_threads *t, void (*fn)(void *arg, int i, int n), void *arg)
{
    if (t->n > 1) {
        pthread_mutex_lock(&t->lock);
        t->fn = fn;
        t->arg = arg;
        atomic_fetch_add(&t->run, 1);
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
    }
    fn(arg, 0, t->n);
    lm_threads_barrier(t);
}

enum kg_code lm_threads_create(int n, struct lm_threads **out, struct kg_err *err)
{
    if (n < 1 || n > 1024) {
        return kg_fail(err, KG_E_USAGE, "threads: %d, must be 1 to 1024", n);
    }
    struct lm_threads *t = calloc(1, sizeof *t);
    struct worker *workers = calloc((size_t)n, sizeof *workers);
    if (t == NULL || workers == NULL) {
        free(t);
        free(workers);
        return kg_fail_memory(err, KG_E_HOST, "threads: no memory");
    }
    t->n = n;
    t->workers = workers;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    for (t->started = 1; t->started < n; t->started++) {
        struct worker *w = &workers[t->started];
        *w = (struct worker){.set = t, .index = t->started};
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            int started = t->started;
            lm_threads_destroy(t);
            return kg_fail(err, KG_E_HOST, "threads: the system starts no more than %d", started);
        }
    }
    *out = t;
    return KG_OK;
}

void lm_threads_destroy(struct lm_threads *t)
{
    if (t == NULL) {
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
    for (int i = 1; i < t->started; i++) {
        pthread_join(t->workers[i].thread, NULL);
    }
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t->workers);
    free(t);
}

int lm_threads_count(const struct lm_threads *t)
{
    return t->n;
}

void lm_threads_share(int total, int step, int i, int n, int *lo, int *hi)
{
    int pieces = (total + step - 1) / step;
    int a = (int)((long)pieces * i / n) * step, b = (int)((long)pieces * (i + 1) / n) * step;
    *lo = a < total ? a : total;
    *hi = b < total ? b : total;
}
