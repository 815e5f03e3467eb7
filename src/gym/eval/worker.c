#include "gym/eval/executor.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/timing/pairs.h"

#define COMPILE_PROCESSES  16
#define SCRATCH_ROOM_BYTES (4u << 20) /* a build of a few hundred lines needs 1 MB */

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
    w->executor = &kg_executor_c;
    w->judge.pid = -1;
    w->judge.sock = -1;
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
}

void kg_worker_close(struct kg_worker *w)
{
    if (!w) {
        return;
    }
    kg_executor_torch.forget(w, KG_FORGET_ALL);
    kg_executor_c.forget(w, KG_FORGET_ALL);
    if (w->scratch.path[0]) {
        kg_scratch_close(&w->scratch);
    }
    kg_cc_close(w->cc);
    kg_rng_deinit(&w->rng);
    free(w);
}

/* A full disk would look like the candidate's own flood of output. */
static enum kg_code check_room(const struct kg_worker *w, struct kg_err *err)
{
    struct statvfs v;
    if (statvfs(w->scratch.path, &v) != 0) {
        return kg_fail(err, KG_E_IO, "scratch: %s: %s", w->scratch.path, strerror(errno));
    }
    if ((uint64_t)v.f_bavail * v.f_frsize < SCRATCH_ROOM_BYTES || (v.f_files && v.f_favail < 64)) {
        return kg_fail(err, KG_E_HOST, "scratch: no room left on the disk of %s", w->scratch.path);
    }
    return KG_OK;
}

enum kg_code kg_worker_build(struct kg_worker *w, enum kg_cc_kind kind, const char *source,
                             size_t len, const char *dir, struct kg_cc_result *out,
                             struct kg_err *err)
{
    for (int tries = 0;; tries++) {
        if (check_room(w, err) != KG_OK || kg_file_remove_tree(dir, err) != KG_OK ||
            kg_file_mkdirs(dir, 0755, err) != KG_OK ||
            kg_cc_build(w->cc, kind, source, len, w->problem->entry, dir, out, err) != KG_OK) {
            return err->code;
        }
        bool limits = out->status == KG_CC_LIMITS;
        if (limits && check_room(w, err) != KG_OK) { /* its own files are gone by now */
            kg_buf_deinit(&out->text);
            return err->code;
        }
        if (!limits || out->text.len > 0 || tries > 0) {
            return KG_OK;
        }
        kg_buf_deinit(&out->text);
    }
}

const char *kg_worker_compiler(const struct kg_worker *w)
{
    return kg_cc_version(w->cc);
}

void kg_worker_runner_spec(const struct kg_worker *w, const char *object, bool wide,
                           struct kg_runner_spec *out)
{
    const struct kg_config *c = &w->config;
    *out = (struct kg_runner_spec){
        .program = w->paths.runner,
        .object = object,
        .kgops_dir = w->paths.kgops_dir,
        .entry = w->problem->entry,
        .in = wide ? &w->judge.wide_in : &w->judge.in,
        .out = wide ? &w->judge.wide_out : &w->judge.out,
        .limits = {.memory_bytes = c->limit_memory_mb << 20,
                   .processes = c->limit_processes,
                   .file_bytes = c->limit_file_mb << 20,
                   .cpu_s = (int64_t)c->deadline_eval + 1,
                   .descriptors = 64},
        .output_bytes = c->limit_output_kb << 10,
        .cpu = w->cpu,
        .cancelled = w->cancelled,
    };
}
