/* The current problem of a worker: its references, built once and kept, and the judge opened for
 * it. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/eval/worker.h"
#include "gym/timing/pairs.h"

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

static struct kg_kept *kept_of(struct kg_worker *w, const char *sha256)
{
    for (size_t i = 0; i < KG_KEPT_PROBLEMS; i++) {
        if (strcmp(w->kept[i].sha256, sha256) == 0) {
            return &w->kept[i];
        }
    }
    return NULL;
}

void kg_worker_forget(struct kg_worker *w, enum kg_forget what)
{
    stop_references(w);
    struct kg_kept *kept = w->problem ? kept_of(w, w->problem->sha256) : NULL;
    if (kept) {
        kept->pool = w->pool;
    }
    kg_problem_destroy(w->problem);
    w->problem = NULL;
    if (what >= KG_FORGET_JUDGE && w->judge_open) {
        kg_judge_stop(&w->judge);
        w->judge_open = false;
    }
}

/* Both references, built as candidates are and cached like them. */
static enum kg_code build_reference(struct kg_worker *w, enum kg_cc_kind kind, int slot,
                                    char *object, size_t cap, struct kg_err *err)
{
    struct kg_problem *p = w->problem;
    const char *name = kind == KG_CC_REF_FLOAT ? "ref-float" : "ref-double";
    char dir[320];
    snprintf(dir, sizeof dir, "%s/%s-%d", w->scratch.path, name, slot);
    struct kg_cc_result res;
    if (kg_worker_build(w, kind, p->source, p->source_len, dir, &res, err) != KG_OK) {
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

/* Said before a runner is asked for it: else it looks like an object that does not load. */
enum kg_code kg_worker_check_built(const char *object, struct kg_err *err)
{
    return kg_file_exists(object)
               ? KG_OK
               : kg_fail(err, KG_E_GYM, "what was built has vanished: %s", object);
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
    if (kg_worker_check_built(object, err) != KG_OK) {
        return err->code;
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
    if (!w->judge_open) {
        if (kg_judge_start(w->cpu, &w->judge, err) != KG_OK) {
            return err->code;
        }
        w->judge_open = true;
    }
    return kg_judge_open(&w->judge, w->problem, in, out, err);
}

/* Objects and pool of a problem seen before, or built now in place of what was used least recently.
 */
static enum kg_code take_kept(struct kg_worker *w, struct kg_err *err)
{
    struct kg_kept *k = kept_of(w, w->problem->sha256);
    if (k && !(kg_file_exists(k->object_float) && kg_file_exists(k->object_double))) {
        k->used = 0; /* somebody emptied the cache: build again, in the same slot */
        k->sha256[0] = 0;
        k = NULL;
    }
    if (!k) {
        k = &w->kept[0];
        for (size_t i = 1; i < KG_KEPT_PROBLEMS; i++) {
            k = w->kept[i].used < k->used ? &w->kept[i] : k;
        }
        k->sha256[0] = 0;
        kg_case_pool_reset(&k->pool);
        int slot = (int)(k - w->kept);
        if (build_reference(w, KG_CC_REF_FLOAT, slot, k->object_float, sizeof k->object_float,
                            err) != KG_OK ||
            build_reference(w, KG_CC_REF_DOUBLE, slot, k->object_double, sizeof k->object_double,
                            err) != KG_OK) {
            return err->code;
        }
        memcpy(k->sha256, w->problem->sha256, sizeof k->sha256);
    }
    k->used = w->evaluations + 1;
    w->pool = k->pool;
    snprintf(w->object_float, sizeof w->object_float, "%s", k->object_float);
    snprintf(w->object_double, sizeof w->object_double, "%s", k->object_double);
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
    if (w->problem && w->judge_open && strcmp(w->problem->sha256, p->sha256) == 0) {
        kg_problem_destroy(p);
        return KG_OK;
    }
    kg_worker_forget(w, KG_FORGET_PROBLEM);
    w->problem = p;
    if (take_kept(w, err) != KG_OK || open_judge(w, err) != KG_OK) {
        struct kg_err cause = *err;
        kg_problem_destroy(w->problem);
        w->problem = NULL;
        if (cause.code == KG_E_GYM) {
            kg_worker_forget(w, KG_FORGET_JUDGE);
        }
        *err = cause;
        return err->code;
    }
    return KG_OK;
}

enum kg_code kg_worker_references(struct kg_worker *w, struct kg_err *err)
{
    if (start_reference(w, w->object_float, false, &w->ref, &w->ref_up, err) != KG_OK) {
        return err->code;
    }
    return start_reference(w, w->object_double, true, &w->oracle, &w->oracle_up, err);
}
