/* What a C problem's source says, and what kgym cannot do for it. */
#include "gym/native/native_checks.h"

#include <string.h>

#include "base/clock.h"
#include "gym/native/native.h"
#include "gym/native/real_words.h"
#include "gym/native/sanitized_reference.h"
#include "gym/timing/pairs.h"

#define CALLS       28
#define FIRST_CALLS 4 /* of them, for page tables and caches */
#define LEAST_CALLS 2
#define ENOUGH_NS   300000000 /* a reference of seconds is not called 28 times */
#define CALL_NS     20000000000ll

/* bench_sum_orders, rows of a plain sum: with 2 and 4 outputs honest orders are refused under
 * `sorted`, with 8 they are not, and a shape of a quarter has a quarter of them; of 131072 equal
 * terms one accumulator is at 0.76 of its bound. */
#define FEW_ELEMENTS 64
#define MANY_TERMS   64
#define MOST_TERMS   131072

static void real_words(const struct kg_worker *w, struct kg_onboard *o)
{
    struct kg_onboard_check *c = kg_onboard_add(o, "real");
    struct kg_buf b;
    kg_buf_init(&b, sizeof c->detail - 1);
    c->pass = kg_real_words(kg_native_of(w)->problem, &b) == 0;
    snprintf(c->detail, sizeof c->detail, "%s", c->pass ? "no word of one width" : b.data);
    kg_buf_deinit(&b);
}

static enum kg_code sanitizers(struct kg_worker *w, struct kg_onboard *o, struct kg_err *err)
{
    struct kg_onboard_check *c = kg_onboard_add(o, "sanitizers");
    enum kg_sanitized_verdict v = KG_SANITIZED_SKIPPED;
    if (kg_sanitized_reference(w, &v, c->detail, sizeof c->detail, err) != KG_OK) {
        return err->code;
    }
    c->pass = v != KG_SANITIZED_DEFECT;
    c->note = v == KG_SANITIZED_SKIPPED;
    return KG_OK;
}

enum kg_code kg_native_source_checks(struct kg_worker *w, struct kg_onboard *o, bool *sound,
                                     struct kg_err *err)
{
    int first = o->n;
    real_words(w, o);
    if (sanitizers(w, o, err) != KG_OK) {
        return err->code;
    }
    *sound = o->check[first].pass && o->check[first + 1].pass;
    return KG_OK;
}

/* --- what kgym cannot do --- */

/* Tenth percentile of a runner's windows, as K is taken in timing: other work on the core makes
 * most calls longer, but not all, and the answer must not depend on it. */
static enum kg_code typical_call(const struct kg_problem *p, struct kg_runner *runner, bool null,
                                 int64_t *out, struct kg_err *err)
{
    struct kg_shape s;
    struct kg_layout l;
    struct kg_wire_call call;
    double ns[CALLS];
    kg_shape_default(p, &s);
    kg_layout_plan(p, &s, false, 0, 0, 0, &l);
    kg_layout_call(p, &s, (struct kg_key){{0, 0}}, &l, false, &call);
    int64_t until = kg_clock_ns() + ENOUGH_NS;
    size_t n = 0;
    for (; n < CALLS && (n < LEAST_CALLS || kg_clock_ns() < until); n++) {
        struct kg_call_report rep;
        kg_runner_call(runner, &call, kg_clock_ns() + CALL_NS, false, &rep);
        if (rep.status != KG_RUN_OK && rep.status != KG_RUN_ACTIVE) {
            return kg_fail(err, null ? KG_E_GYM : KG_E_PROBLEM,
                           "%s: the %s fails at the default shape (status %d)", p->path,
                           null ? "null candidate" : "reference", (int)rep.status);
        }
        ns[n] = (double)rep.window_ns;
    }
    size_t first = n > 2 * FIRST_CALLS ? FIRST_CALLS : 0;
    *out = (int64_t)kg_quantile(ns + first, n - first, 0.1);
    return KG_OK;
}

/* The least K, or that of the null candidate now if it is less. Timing does not learn the latter:
 * it comes from calls without fresh inputs. */
static enum kg_code cost_of_a_call(struct kg_worker *w, int64_t *out, struct kg_err *err)
{
    const struct kg_native *n = kg_native_of(w);
    struct kg_runner_spec spec;
    struct kg_runner null;
    enum kg_run_status status;
    kg_native_runner_spec(w, w->paths.null_object, false, &spec);
    spec.entry = "kgym_null";
    if (kg_runner_start(&spec, kg_clock_ns() + CALL_NS, &null, &status, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = status == KG_RUN_OK
                            ? typical_call(n->problem, &null, true, out, err)
                            : kg_fail(err, KG_E_GYM, "the null candidate does not load");
    kg_runner_stop(&null);
    int64_t least = code == KG_OK ? kg_native_least_k(w, false, 0) : 0;
    *out = least > 0 && least < *out ? least : *out;
    return code;
}

static enum kg_code long_enough(struct kg_worker *w, struct kg_onboard *o, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_case example = {.law = KG_LAW_OWN};
    int64_t k = 0, ns = 0;
    kg_shape_default(n->problem, &example.shape);
    kg_rng_bytes(&w->rng, &example.key, sizeof example.key);
    if (cost_of_a_call(w, &k, err) != KG_OK || kg_native_references(w, err) != KG_OK ||
        kg_judge_fill(&n->judge, &example, false, err) != KG_OK ||
        typical_call(n->problem, &n->own.ref.runner, false, &ns, err) != KG_OK) {
        return err->code;
    }
    struct kg_onboard_check *c = kg_onboard_add(o, "long enough");
    o->reference_ns = ns > k ? ns - k : 0;
    o->untimed = o->reference_ns < KG_PAIRS_TOO_SHORT * k;
    double us = (double)o->reference_ns / 1e3;
    double t = (double)(KG_PAIRS_SHORT * k) / 1e3;
    c->pass = true;
    c->note = us < t;
    const char *mend = "larger `dims` mend that (0.2 to 5 ms a call)";
    if (o->untimed) {
        snprintf(
            c->detail, sizeof c->detail,
            "too short to time: the reference takes %.1f us, less than %d times the cost of a call "
            "(%.1f us). Candidates are judged but never timed, and earn no reward for speed; %s",
            us, KG_PAIRS_TOO_SHORT, (double)k / 1e3, mend);
    } else {
        snprintf(c->detail, sizeof c->detail,
                 c->note
                     ? "the reference takes %.1f us, less than T = %.1f us: no candidate earns a "
                       "speed reward; %s"
                     : "the reference takes %.1f us; times from T = %.1f us on are rewarded",
                 us, t, mend);
    }
    return KG_OK;
}

/* Elements of the float output that has the fewest, at the default shape; -1: none. */
static int64_t fewest(const struct kg_problem *p, const struct kg_shape *s, const char **name)
{
    int64_t least = -1;
    for (int i = 0; i < p->nargs; i++) {
        const struct kg_arg *a = &p->args[i];
        bool real = a->dtype == KG_F32 || a->dtype == KG_F64;
        int64_t n = a->role == KG_ROLE_OUT && real ? kg_arg_count(p, i, s) : -1;
        if (n > 0 && (least < 0 || n < least)) {
            least = n;
            *name = a->name;
        }
    }
    return least;
}

/* Honest kernels that the error bound may refuse: docs/verification.md says why. */
static void bound(const struct kg_worker *w, struct kg_onboard *o)
{
    const struct kg_problem *p = kg_native_of(w)->problem;
    struct kg_onboard_check *c = kg_onboard_add(o, "bound");
    struct kg_shape s;
    const char *name = "";
    kg_shape_default(p, &s);
    int64_t k = kg_problem_reduce(p, &s), n = fewest(p, &s, &name);
    c->pass = true;
    c->note = n > 0 && ((n < FEW_ELEMENTS && k >= MANY_TERMS) || k > MOST_TERMS);
    if (!c->note) {
        snprintf(c->detail, sizeof c->detail, "sums of %lld terms, in any order", (long long)k);
    } else if (k > MOST_TERMS) {
        snprintf(
            c->detail, sizeof c->detail,
            "sums of %lld terms: an honest kernel that adds more than %d in one accumulator may be "
            "wrong where many terms are equal; shorter sums, or laws: [-equal, -outlier, "
            "-piecewise, -sorted], mend that",
            (long long)k, MOST_TERMS);
    } else {
        snprintf(
            c->detail, sizeof c->detail,
            "`%s` has %lld elements, each a sum of %lld terms: errors are measured against the rms "
            "of all of them, so where these few cancel an honest kernel may be wrong; %d elements "
            "or more mend that",
            name, (long long)n, (long long)k, FEW_ELEMENTS);
    }
}

enum kg_code kg_native_limits_checks(struct kg_worker *w, struct kg_onboard *o, struct kg_err *err)
{
    bound(w, o);
    return long_enough(w, o, err);
}
