/* The current problem of a worker: its references, built once and kept, and the judge opened for
 * it. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/native/native.h"

/* Longer than any operation of an honest judge takes on a busy host. */
#define ANSWER_LEAST_NS 5000000000

static void stop_references(struct kg_worker *w)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_handle *own[] = {&n->own.ref, &n->own.oracle, &n->own.null};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (own[i]->up) {
            kg_runner_stop(&own[i]->runner);
            own[i]->up = false;
        }
    }
    n->own.n_nulls = n->own.next_null = 0; /* buffers of another problem may cost more */
}

static struct kg_native_kept *kept_of(struct kg_worker *w, const char *sha256)
{
    struct kg_native *n = kg_native_of(w);
    for (size_t i = 0; i < KG_NATIVE_KEPT; i++) {
        if (strcmp(n->kept[i].sha256, sha256) == 0) {
            return &n->kept[i];
        }
    }
    return NULL;
}

void kg_native_forget(struct kg_worker *w, enum kg_forget what)
{
    struct kg_native *n = kg_native_of(w);
    if (!n) {
        return;
    }
    stop_references(w);
    struct kg_native_kept *kept = n->problem ? kept_of(w, n->problem->sha256) : NULL;
    if (kept) {
        kept->pool = n->pool;
    }
    kg_problem_destroy(n->problem);
    n->problem = NULL;
    if (what >= KG_FORGET_JUDGE && n->judge_open) {
        kg_judge_stop(&n->judge);
        n->judge_open = false;
    }
}

void kg_native_forget_cases(struct kg_worker *w, const char *sha256)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_native_kept *kept = kept_of(w, sha256);
    if (kept) {
        kg_case_pool_reset(&kept->pool);
    }
    if (n->problem && strcmp(n->problem->sha256, sha256) == 0) {
        kg_case_pool_reset(&n->pool);
    }
}

void kg_native_close(struct kg_worker *w)
{
    kg_native_forget(w, KG_FORGET_ALL);
    free(kg_native_of(w));
    kg_worker_set_part(w, &kg_executor_native, NULL);
}

/* Both references, built as candidates are and cached like them. */
static enum kg_code build_reference(struct kg_worker *w, enum kg_cc_kind kind, int slot,
                                    char *object, size_t cap, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_problem *p = n->problem;
    const char *name = kind == KG_CC_REF_FLOAT ? "ref-float" : "ref-double";
    char dir[320];
    snprintf(dir, sizeof dir, "%s/%s-%d", w->scratch.path, name, slot);
    struct kg_cc_result res;
    if (kg_native_build(w, kind, p->source, p->source_len, dir, &res, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = KG_OK;
    if (res.killed) {
        code =
            kg_fail(err, KG_E_GYM, "%s: the compiler of the reference was killed twice", p->path);
    } else if (res.status != KG_CC_OK) {
        char at[24] = "";
        if (res.line > 0) {
            snprintf(at, sizeof at, ":%d", res.line);
        }
        code = kg_fail(err, KG_E_PROBLEM, "%s%s: the reference does not build with real = %s: %s",
                       p->path, at, kind == KG_CC_REF_FLOAT ? "float" : "double",
                       res.first_error[0] ? res.first_error : "see the compiler's output");
    }
    snprintf(object, cap, "%s", res.object);
    kg_buf_deinit(&res.text);
    return code;
}

/* Said before a runner is asked for it: else it looks like an object that does not load. */
enum kg_code kg_native_check_built(const char *object, struct kg_err *err)
{
    return kg_file_exists(object)
               ? KG_OK
               : kg_fail(err, KG_E_GYM, "what was built has vanished: %s", object);
}

static enum kg_code start_reference(struct kg_worker *w, const char *object, bool wide,
                                    struct kg_handle *h, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_runner *runner = &h->runner;
    if (h->up && (runner->status != KG_RUN_OK || kg_sandbox_poll(&runner->sandbox))) {
        kg_runner_stop(runner);
        h->up = false;
    }
    if (h->up) {
        return KG_OK;
    }
    if (kg_native_check_built(object, err) != KG_OK) {
        return err->code;
    }
    struct kg_runner_spec spec;
    enum kg_run_status status;
    kg_native_runner_spec(w, object, wide, &spec);
    int64_t deadline = kg_clock_ns() + (int64_t)(w->config.deadline_run * 1e9);
    spec.limits.cpu_s = KG_NATIVE_KEPT_CPU_S;
    if (kg_runner_start(&spec, deadline, runner, &status, err) != KG_OK) {
        return err->code;
    }
    if (status != KG_RUN_OK) {
        kg_runner_stop(runner);
        kg_fail(err, KG_E_PROBLEM, "%s: the reference does not load: %s", n->problem->path,
                kg_runner_unloaded(runner));
        err->accident = status != KG_RUN_NO_ENTRY;
        return err->code;
    }
    h->up = true;
    return KG_OK;
}

/* Sizes of the regions that every case of the problem fits into. */
static enum kg_code region_sizes(const struct kg_problem *p, size_t *in, size_t *out,
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

/* A judge that stands still must not keep an evaluation beyond its deadline. */
static void limit_answers(const struct kg_worker *w, struct kg_judge *j)
{
    int64_t most = (int64_t)(w->config.deadline_eval * 1e9);
    most = most > ANSWER_LEAST_NS ? most : ANSWER_LEAST_NS;
    j->answer_ns = most < j->answer_ns ? most : j->answer_ns;
}

static enum kg_code open_judge(struct kg_worker *w, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    size_t in, out;
    if (region_sizes(n->problem, &in, &out, err) != KG_OK) {
        return err->code;
    }
    if (!n->judge_open) {
        if (kg_judge_start(w->cpu, &n->judge, err) != KG_OK) {
            return err->code;
        }
        n->judge_open = true;
        limit_answers(w, &n->judge);
    }
    return kg_judge_open(&n->judge, n->problem, in, out, err);
}

/* Objects and pool of a problem seen before, or built now in place of what was used least recently.
 */
static enum kg_code take_kept(struct kg_worker *w, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_native_kept *k = kept_of(w, n->problem->sha256);
    if (k && !(kg_file_exists(k->object_float) && kg_file_exists(k->object_double))) {
        k->used = 0; /* somebody emptied the cache: build again, in the same slot */
        k->sha256[0] = 0;
        k = NULL;
    }
    if (!k) {
        k = &n->kept[0];
        for (size_t i = 1; i < KG_NATIVE_KEPT; i++) {
            k = n->kept[i].used < k->used ? &n->kept[i] : k;
        }
        k->sha256[0] = 0;
        kg_case_pool_reset(&k->pool);
        int slot = (int)(k - n->kept);
        if (build_reference(w, KG_CC_REF_FLOAT, slot, k->object_float, sizeof k->object_float,
                            err) != KG_OK ||
            build_reference(w, KG_CC_REF_DOUBLE, slot, k->object_double, sizeof k->object_double,
                            err) != KG_OK) {
            return err->code;
        }
        memcpy(k->sha256, n->problem->sha256, sizeof k->sha256);
    }
    k->used = w->evaluations + 1;
    n->pool = k->pool;
    snprintf(n->object_float, sizeof n->object_float, "%s", k->object_float);
    snprintf(n->object_double, sizeof n->object_double, "%s", k->object_double);
    return KG_OK;
}

static enum kg_code open_part(struct kg_worker *w, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    if (n) {
        return KG_OK;
    }
    n = calloc(1, sizeof *n);
    if (!n) {
        return kg_fail(err, KG_E_LIMIT, "no memory for the C executor");
    }
    n->judge.pid = -1;
    n->judge.sock = -1;
    kg_worker_set_part(w, &kg_executor_native, n);
    return KG_OK;
}

enum kg_code kg_native_problem(struct kg_worker *w, const char *name, struct kg_err *err)
{
    char path[1024];
    struct kg_problem *p = NULL;
    if (open_part(w, err) != KG_OK ||
        kg_problem_find(name, w->paths.suites, w->paths.nsuites, path, sizeof path, err) != KG_OK ||
        kg_problem_load(path, &p, err) != KG_OK) {
        return err->code;
    }
    struct kg_native *n = kg_native_of(w);
    if (n->problem && n->judge_open && strcmp(n->problem->sha256, p->sha256) == 0 &&
        strcmp(n->problem->suite, p->suite) == 0) { /* a copy elsewhere has another record */
        kg_problem_destroy(p);
        return KG_OK;
    }
    kg_native_forget(w, KG_FORGET_PROBLEM);
    n->problem = p;
    if (take_kept(w, err) != KG_OK || open_judge(w, err) != KG_OK) {
        struct kg_err cause = *err;
        kg_problem_destroy(n->problem);
        n->problem = NULL;
        if (cause.code == KG_E_GYM) {
            kg_native_forget(w, KG_FORGET_JUDGE);
        }
        *err = cause;
        return err->code;
    }
    return KG_OK;
}

enum kg_code kg_native_references(struct kg_worker *w, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    if (start_reference(w, n->object_float, false, &n->own.ref, err) != KG_OK) {
        return err->code;
    }
    return start_reference(w, n->object_double, true, &n->own.oracle, err);
}
