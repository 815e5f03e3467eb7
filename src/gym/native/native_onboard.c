/* Onboarding of a C problem: which checks are made, and in which order. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "gym/native/native.h"
#include "gym/native/native_checks.h"
#include "gym/native/native_panel.h"
#include "gym/native/reference_signature.h"

static enum kg_code made_candidates(struct kg_worker *w, const char *name, struct kg_onboard *o,
                                    struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_buf src;
    char label[64];
    enum kg_code code = KG_OK;
    kg_buf_init(&src, 1 << 20);
    for (int t = 0; t < KG_TRIVIAL_COUNT && code == KG_OK; t++) {
        kg_buf_reset(&src);
        kg_probe_trivial(n->problem, (enum kg_trivial)t, &src);
        code = kg_onboard_judge(w, name, o, kg_trivial_name((enum kg_trivial)t), &src,
                                KG_WANT_WRONG, err);
    }
    for (int a = 0; a < n->problem->nargs && code == KG_OK; a++) {
        if (n->problem->args[a].role == KG_ROLE_IN && o->n < KG_ONBOARD_MAX - KG_VARIANT_COUNT) {
            kg_buf_reset(&src);
            kg_probe_frozen(n->problem, a, &src);
            snprintf(label, sizeof label, "frozen %s", n->problem->args[a].name);
            code = kg_onboard_judge(w, name, o, label, &src, KG_WANT_WRONG, err);
        }
    }
    kg_buf_deinit(&src);
    return code;
}

static void sizes(const struct kg_problem *p, struct kg_onboard *o)
{
    struct kg_shape s;
    kg_shape_default(p, &s);
    o->in_bytes = o->out_bytes = 0;
    for (int a = 0; a < p->nargs; a++) {
        int64_t bytes = p->args[a].rank
                            ? kg_arg_count(p, a, &s) * (int64_t)kg_dtype_bytes(p->args[a].dtype)
                            : 0;
        o->in_bytes += p->args[a].role == KG_ROLE_IN ? bytes : 0;
        o->out_bytes += p->args[a].role == KG_ROLE_OUT ? bytes : 0;
    }
}

/* Every variant, with the reference as the candidate: it must exist, run and be right. */
static enum kg_code variants(struct kg_worker *w, struct kg_onboard *o, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_record r;
    kg_record_init(&r);
    struct kg_task task = {.stop_after = KG_ST_FULL};
    struct kg_native_run run = {.cand.up = false};
    struct kg_evaluation e = {.w = w,
                              .task = &task,
                              .r = &r,
                              .deadline_ns = kg_clock_ns() + 60000000000,
                              .lost_ns = kg_clock_lost_ns(),
                              .run = &run};
    snprintf(run.object, sizeof run.object, "%s", n->object_float);
    enum kg_code code = KG_OK;
    for (int v = 0; v < KG_VARIANT_COUNT && code == KG_OK; v++) {
        struct kg_case_pool_kind kind = {(enum kg_variant)v, KG_LAW_OWN, false, false};
        struct kg_pooled_case *pc;
        char name[64];
        bool fresh;
        snprintf(name, sizeof name, "variant %s", kg_variant_name((enum kg_variant)v));
        if (!kg_case_pool_draw(&n->pool, n->problem, &kind, &w->rng, &pc, &fresh)) {
            struct kg_onboard_check *c = kg_onboard_add(o, name);
            c->pass = v != KG_VARIANT_DEFAULT;
            snprintf(c->detail, sizeof c->detail, "no such shape");
            continue;
        }
        enum kg_stage_result s = kg_native_candidate_case(&e, KG_ST_FULL, pc, err);
        if (s == KG_STAGE_ERROR && err->code != KG_E_PROBLEM) {
            code = err->code;
        }
        struct kg_onboard_check *c = kg_onboard_add(o, name);
        c->pass = s == KG_STAGE_PASS;
        c->limit = s == KG_STAGE_FAIL && kg_onboard_limit(&r);
        snprintf(c->detail, sizeof c->detail, "%s",
                 s == KG_STAGE_PASS   ? "runs; float and double agree"
                 : s == KG_STAGE_FAIL ? r.message
                                      : err->message);
    }
    kg_native_candidate_stop(&e);
    kg_record_deinit(&r);
    return code;
}

/* So what is wrong with this problem lies in its reference. */
static bool parses(const char *path)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_problem *p = NULL;
    bool good = kg_problem_load(path, &p, &ignored) == KG_OK;
    kg_problem_destroy(p);
    return good;
}

/* A file that is no problem, or a reference that does not build, is a finding; w->problem is then
 * NULL. */
static enum kg_code load(struct kg_worker *w, const char *problem, struct kg_onboard *o,
                         struct kg_err *err)
{
    enum kg_code code = kg_native_problem(w, problem, err);
    if (code != KG_OK && code != KG_E_INPUT && code != KG_E_PROBLEM) {
        return code;
    }
    bool parsed = code == KG_OK || (code == KG_E_PROBLEM && parses(problem));
    struct kg_onboard_check *c = kg_onboard_add(o, "parses");
    c->pass = parsed;
    if (code != KG_OK && parsed) {
        c = kg_onboard_add(o, "builds");
    }
    if (code != KG_OK) {
        kg_native_forget(w, KG_FORGET_PROBLEM);
        snprintf(c->detail, sizeof c->detail, "%s", err->message);
    }
    return KG_OK;
}

/* --- draws --- */

/* The worker's own, put aside for the time of a check. */
struct own_draws {
    struct kg_rng rng;
    char seed[sizeof((struct kg_config *)NULL)->seed];
};

/* The draws of a part of the check follow from the bytes of the file alone, so the same file gets
 * the same answer, even where an error is near its bound. Each part begins anew: how much the
 * sanitizers' part drew may depend on its time limit. */
static void draw_for_part(struct kg_worker *w, uint64_t part)
{
    char half[33];
    struct kg_key key = {{0, 0}};
    snprintf(half, sizeof half, "%.32s", kg_native_of(w)->problem->sha256);
    (void)!kg_key_parse(half, &key);
    kg_rng_init(&w->rng, kg_key_derive(key, "check", part), 0);
    kg_key_hex(kg_key_derive(key, "evaluations of a check", part), w->config.seed);
}

static void use_draws_of_file(struct kg_worker *w, struct own_draws *own)
{
    own->rng = w->rng;
    memcpy(own->seed, w->config.seed, sizeof own->seed);
    draw_for_part(w, 0);
    kg_native_forget_cases(w, kg_native_of(w)->problem->sha256);
}

/* No evaluation may be asked what was drawn for the check: whoever has the file could know it. */
static void use_own_draws(struct kg_worker *w, const char *sha256, const struct own_draws *own)
{
    kg_rng_deinit(&w->rng);
    w->rng = own->rng;
    memcpy(w->config.seed, own->seed, sizeof own->seed);
    kg_native_forget_cases(w, sha256);
}

/* The checks of a problem that parses and builds. */
static enum kg_code look(struct kg_worker *w, const char *problem, struct kg_onboard *out,
                         struct kg_err *err)
{
    int before = out->n;
    bool sound;
    if (kg_reference_signature(w, out, err) != KG_OK ||
        kg_native_source_checks(w, out, &sound, err) != KG_OK) {
        return err->code;
    }
    if (!sound || !out->check[before].pass) {
        return KG_OK; /* what its answers are may be another thing next time */
    }
    kg_rng_deinit(&w->rng);
    draw_for_part(w, 1);
    struct kg_buf src;
    kg_buf_init(&src, 1 << 20);
    kg_probe_reference(kg_native_of(w)->problem, &src);
    enum kg_code code = kg_onboard_judge(w, problem, out, "reference", &src, KG_WANT_OK, err);
    kg_buf_deinit(&src);
    if (code == KG_OK && !out->check[out->n - 1].pass) {
        return KG_OK; /* what follows asks the reference, too */
    }
    if (code != KG_OK || kg_native_limits_checks(w, out, err) != KG_OK ||
        variants(w, out, err) != KG_OK || made_candidates(w, problem, out, err) != KG_OK) {
        return err->code;
    }
    out->pass = true;
    for (int i = 0; i < out->n; i++) {
        out->pass = out->pass && out->check[i].pass;
    }
    return KG_OK;
}

enum kg_code kg_native_onboard(struct kg_worker *w, const char *problem, struct kg_onboard *out,
                               struct kg_err *err)
{
    struct own_draws own;
    enum kg_code code = load(w, problem, out, err);
    struct kg_native *n = kg_native_of(w);
    if (code != KG_OK || !n || !n->problem) {
        return code;
    }
    snprintf(out->problem, sizeof out->problem, "%s", n->problem->name);
    memcpy(out->sha256, n->problem->sha256, sizeof out->sha256);
    sizes(n->problem, out);
    use_draws_of_file(w, &own);
    code = look(w, problem, out, err);
    use_own_draws(w, out->sha256, &own);
    return code;
}
