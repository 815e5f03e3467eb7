#include "gym/pipeline/worker.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/timing/pairs.h"

/* Address space of a sandboxed compiler on top of what cc1 itself needs. */
#define COMPILE_PROCESSES 16

static void stop_references(struct kg_worker *w)
{
    if (w->ref_up) {
        kg_runner_stop(&w->ref);
        w->ref_up = false;
    }
    if (w->oracle_up) {
        kg_runner_stop(&w->oracle);
        w->oracle_up = false;
    }
}

static void forget_problem(struct kg_worker *w)
{
    stop_references(w);
    kg_problem_destroy(w->problem);
    w->problem = NULL;
    kg_pool_reset(&w->pool);
}

static void cache_folder(const struct kg_config *c, char *out, size_t cap)
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
    cache_folder(c, cache, sizeof cache);
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

enum kg_code kg_worker_open(const struct kg_config *config, int cpu, struct kg_worker **out,
                            struct kg_err *err)
{
    struct kg_worker *w = calloc(1, sizeof *w);
    struct kg_key seed;
    if (!w) {
        return kg_fail(err, KG_E_LIMIT, "no memory for a worker");
    }
    w->config = *config;
    w->cpu = cpu;
    w->judge.pid = -1;
    w->judge.sock = -1;
    pin(cpu);
    if (kg_sandbox_require(config->allow_unconfined, err) != KG_OK ||
        kg_paths_find(config->suites, &w->paths, err) != KG_OK ||
        kg_rng_secret(&seed, err) != KG_OK || open_compiler(w, err) != KG_OK ||
        kg_scratch_open(config->limit_scratch_mb << 20, 4096, &w->scratch, err) != KG_OK) {
        kg_worker_close(w);
        return err->code;
    }
    kg_rng_init(&w->rng, seed, 0);
    *out = w;
    return KG_OK;
}

void kg_worker_close(struct kg_worker *w)
{
    if (!w) {
        return;
    }
    forget_problem(w);
    if (w->judge_open) {
        kg_judge_stop(&w->judge);
    }
    if (w->scratch.path[0]) {
        kg_scratch_close(&w->scratch);
    }
    kg_cc_close(w->cc);
    kg_rng_deinit(&w->rng);
    free(w);
}

const char *kg_worker_compiler(const struct kg_worker *w)
{
    return kg_cc_version(w->cc);
}

/* Both references, built as candidates are and cached like them. */
static enum kg_code build_reference(struct kg_worker *w, enum kg_cc_kind kind, char *object,
                                    size_t cap, struct kg_err *err)
{
    struct kg_problem *p = w->problem;
    const char *name = kind == KG_CC_REF_FLOAT ? "ref-float" : "ref-double";
    char dir[320];
    snprintf(dir, sizeof dir, "%s/%s", w->scratch.path, name);
    if (kg_file_remove_tree(dir, err) != KG_OK || kg_file_mkdirs(dir, 0755, err) != KG_OK) {
        return err->code;
    }
    struct kg_cc_result res;
    if (kg_cc_build(w->cc, kind, p->source, p->source_len, p->entry, dir, &res, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = KG_OK;
    if (res.status != KG_CC_OK) {
        code = kg_fail(err, KG_E_PROBLEM, "%s: the reference does not build (%s): %s", p->path,
                       name, res.first_error[0] ? res.first_error : "see the compiler's output");
    }
    snprintf(object, cap, "%s", res.object);
    kg_buf_deinit(&res.text);
    return code;
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
    };
}

static enum kg_code start_reference(struct kg_worker *w, const char *object, bool wide,
                                    struct kg_runner *runner, bool *up, struct kg_err *err)
{
    if (*up && kg_sandbox_poll(&runner->sandbox)) {
        kg_runner_stop(runner);
        *up = false;
    }
    if (*up) {
        return KG_OK;
    }
    struct kg_runner_spec spec;
    enum kg_run_status status;
    kg_worker_runner_spec(w, object, wide, &spec);
    int64_t deadline = kg_clock_ns() + (int64_t)(w->config.deadline_run * 1e9);
    spec.limits.cpu_s = 3600;
    if (kg_runner_start(&spec, deadline, runner, &status, err) != KG_OK) {
        return err->code;
    }
    if (status != KG_RUN_OK) {
        kg_runner_stop(runner);
        return kg_fail(err, KG_E_PROBLEM, "%s: the reference does not load: %s", w->problem->path,
                       runner->note);
    }
    *up = true;
    return KG_OK;
}

enum kg_code kg_worker_region_sizes(const struct kg_problem *p, size_t *in, size_t *out,
                                    struct kg_err *err)
{
    struct kg_rng rng;
    struct kg_shape s;
    struct kg_layout l;
    size_t most_in = 0, most_out = 0;
    kg_rng_init(&rng, (struct kg_key){{1, 2}}, 0);
    for (int v = 0; v < KG_VARIANT_COUNT; v++) {
        for (int draw = 0; draw < (v == KG_VARIANT_LARGER ? 16 : 2); draw++) {
            if (!kg_variant_shape(p, (enum kg_variant)v, &rng, &s)) {
                continue;
            }
            kg_layout_plan(p, &s, false, ~0ull, 0, 0, &l);
            most_in = l.in_end > most_in ? l.in_end : most_in;
            most_out = l.out_end > most_out ? l.out_end : most_out;
        }
    }
    kg_rng_deinit(&rng);
    size_t sets_in, sets_out;
    kg_pairs_region_bytes(p, &sets_in, &sets_out);
    /* `larger` is random: a quarter more than what the draws above saw. */
    most_in += most_in / 4 + (1 << 20);
    most_out += most_out / 4 + (1 << 20);
    *in = most_in > sets_in ? most_in : sets_in;
    *out = most_out > sets_out ? most_out : sets_out;
    if (*in + *out > (1ull << 30)) {
        return kg_fail(err, KG_E_PROBLEM, "%s: its variants need %zu MB of buffers (at most 1024)",
                       p->path, (*in + *out) >> 20);
    }
    return KG_OK;
}

static enum kg_code open_judge(struct kg_worker *w, struct kg_err *err)
{
    size_t in, out;
    if (kg_worker_region_sizes(w->problem, &in, &out, err) != KG_OK) {
        return err->code;
    }
    stop_references(w); /* they map the regions of the judge that was */
    kg_pool_reset(&w->pool);
    if (!w->judge_open) {
        if (kg_judge_start(w->cpu, &w->judge, err) != KG_OK) {
            return err->code;
        }
        w->judge_open = true;
    }
    if (kg_judge_open(&w->judge, w->problem, in, out, err) != KG_OK) {
        kg_judge_stop(&w->judge);
        w->judge_open = false;
        return err->code;
    }
    return KG_OK;
}

enum kg_code kg_worker_problem(struct kg_worker *w, const char *name, struct kg_err *err)
{
    char path[1024];
    struct kg_problem *p = NULL;
    if (kg_problem_find(name, w->paths.suites, w->paths.nsuites, path, sizeof path, err) != KG_OK ||
        kg_problem_load(path, &p, err) != KG_OK) {
        return err->code;
    }
    if (w->problem && strcmp(w->problem->sha256, p->sha256) == 0) {
        kg_problem_destroy(p);
        return kg_worker_ready(w, err);
    }
    forget_problem(w);
    w->problem = p;
    if (build_reference(w, KG_CC_REF_FLOAT, w->object_float, sizeof w->object_float, err) !=
            KG_OK ||
        build_reference(w, KG_CC_REF_DOUBLE, w->object_double, sizeof w->object_double, err) !=
            KG_OK ||
        open_judge(w, err) != KG_OK || kg_worker_ready(w, err) != KG_OK) {
        struct kg_err cause = *err;
        forget_problem(w);
        *err = cause;
        return err->code;
    }
    return KG_OK;
}

enum kg_code kg_worker_ready(struct kg_worker *w, struct kg_err *err)
{
    if (!w->judge_open && open_judge(w, err) != KG_OK) {
        return err->code;
    }
    if (start_reference(w, w->object_float, false, &w->ref, &w->ref_up, err) != KG_OK) {
        return err->code;
    }
    return start_reference(w, w->object_double, true, &w->oracle, &w->oracle_up, err);
}
