/* Opens and closes a worker: its core, compiler, scratch folder and executors. */
#include "gym/eval/executor.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "gym/build/cache.h"

#define COMPILE_PROCESSES 16

void kg_worker_cache(const struct kg_config *c, char *out, size_t cap)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (c->cache[0]) {
        snprintf(out, cap, "%s", strcmp(c->cache, "none") == 0 ? "" : c->cache);
    } else if (xdg && *xdg) {
        snprintf(out, cap, "%s/kgym", xdg);
    } else if (home && *home) {
        snprintf(out, cap, "%s/.cache/kgym", home);
    } else {
        out[0] = 0;
    }
    if (!c->cache[0] && kg_cache_not_ours(out)) {
        out[0] = 0;
    }
}

static enum kg_code open_compiler(struct kg_worker *w, struct kg_err *err)
{
    const struct kg_config *c = &w->config;
    char cache[512];
    kg_worker_cache(c, cache, sizeof cache);
    struct kg_cc_spec spec = {
        .compiler = c->compiler,
        .kgops_dir = w->paths.kgops_dir,
        .cache_dir = cache[0] ? cache : NULL,
        .cpu = w->cpu,
        .limits = {.memory_bytes = c->limit_compile_memory_mb << 20,
                   .processes = COMPILE_PROCESSES,
                   .file_bytes = c->limit_file_mb << 20,
                   .cpu_s = (int64_t)c->deadline_compile + 1,
                   .descriptors = 64},
        .cancelled = w->cancelled,
        .timeout_ns = (int64_t)(c->deadline_compile * 1e9),
    };
    return kg_cc_open(&spec, &w->cc, err);
}

int kg_worker_cores(int *out, int cap)
{
    cpu_set_t set;
    int n = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 0;
    }
    for (int c = CPU_SETSIZE - 1; c >= 0 && n < cap; c--) {
        if (CPU_ISSET((unsigned)c, &set)) {
            out[n++] = c;
        }
    }
    return n;
}

/* One worker, one core: broker, judge and runners share it, so that a blocked runner's clock is
 * exact and timing never meets a cold cache. */
static void pin(int cpu)
{
    if (cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((unsigned)cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
}

enum kg_code kg_worker_open(const struct kg_config *config, int cpu, const volatile int *cancelled,
                            struct kg_worker **out, struct kg_err *err)
{
    static const volatile int never;
    struct kg_worker *w = calloc(1, sizeof *w);
    struct kg_key seed;
    if (!w) {
        return kg_fail(err, KG_E_LIMIT, "no memory for a worker");
    }
    w->config = *config;
    w->cpu = cpu;
    w->cancelled = cancelled ? cancelled : &never;
    w->executor = kg_executors[0];
    sched_getaffinity(0, sizeof w->allowed, &w->allowed);
    pin(cpu);
    if (kg_sandbox_require(config->allow_unconfined, err) != KG_OK ||
        kg_paths_find(config->suites, &w->paths, err) != KG_OK ||
        kg_rng_secret(&seed, err) != KG_OK || open_compiler(w, err) != KG_OK ||
        kg_scratch_open(config->limit_scratch_mb << 20, 4096, &w->scratch, err) != KG_OK) {
        bool asked = *w->cancelled != 0;
        kg_worker_close(w);
        return asked ? kg_fail(err, KG_E_CANCELLED, "interrupted") : err->code;
    }
    kg_rng_init(&w->rng, seed, 0);
    *out = w;
    return KG_OK;
}

void kg_worker_share(struct kg_worker *w, struct kg_common *common)
{
    w->common = common;
    kg_log_share(common ? &common->told : NULL);
}

void kg_worker_reset(struct kg_worker *w)
{
    for (const struct kg_executor *const *x = kg_executors; *x; x++) {
        (*x)->forget(w, KG_FORGET_ALL);
    }
}

void kg_worker_idle(struct kg_worker *w)
{
    for (const struct kg_executor *const *x = kg_executors; *x; x++) {
        if ((*x)->idle) {
            (*x)->idle(w);
        }
    }
}

const char *kg_worker_scratch(const struct kg_worker *w)
{
    return w->scratch.path;
}

void kg_worker_close(struct kg_worker *w)
{
    if (!w) {
        return;
    }
    for (const struct kg_executor *const *x = kg_executors; *x; x++) {
        (*x)->close(w);
    }
    if (w->scratch.path[0]) {
        kg_scratch_close(&w->scratch);
    }
    kg_cc_close(w->cc);
    kg_rng_deinit(&w->rng);
    if (w->common) {
        kg_log_share(NULL);
    }
    free(w);
}

const char *kg_worker_compiler(const struct kg_worker *w)
{
    return kg_cc_version(w->cc);
}

static int64_t end_of(const struct kg_evaluation *e)
{
    return e->deadline_ns + kg_clock_lost_ns() - e->lost_ns;
}

int64_t kg_evaluation_deadline(const struct kg_evaluation *e, double seconds)
{
    int64_t d = kg_clock_ns() + (int64_t)(seconds * 1e9), end = end_of(e);
    return d < end ? d : end;
}

bool kg_evaluation_over(const struct kg_evaluation *e)
{
    return kg_clock_ns() >= end_of(e);
}

void kg_evaluation_move(struct kg_evaluation *e)
{
    int64_t lost = kg_clock_lost_ns();
    e->deadline_ns += lost - e->lost_ns;
    e->lost_ns = lost;
}

void kg_evaluation_excuse(struct kg_evaluation *e, int64_t since_ns)
{
    e->deadline_ns += kg_clock_ns() - since_ns;
}
