/* The null test of the CPU clock: a reference timed against itself. */
#include "gym/native/native_noise.h"

#include <stdlib.h>

#include "gym/native/native.h"
#include "gym/timing/lease.h"
#include "gym/timing/pairs.h"

#define PROBLEM "softmax" /* compute-bound, about a millisecond */

static void summarise(struct kg_worker *w, const struct kg_pairs_result *res, struct kg_noise *out)
{
    double k[KG_PAIRS_MAX_PROCESSES], p10[KG_PAIRS_MAX_PROCESSES], p90[KG_PAIRS_MAX_PROCESSES];
    for (int i = 0; i < res->nprocess; i++) {
        k[i] = (double)res->process[i].k_ns;
        p10[i] = (double)res->process[i].k_p10_ns;
        p90[i] = (double)res->process[i].k_p90_ns;
    }
    out->ratio = res->ratio;
    out->k_ns = (int64_t)kg_median(k, (size_t)res->nprocess);
    out->k_p10_ns = (int64_t)kg_median(p10, (size_t)res->nprocess);
    out->k_p90_ns = (int64_t)kg_median(p90, (size_t)res->nprocess);
    out->shortest_ns = KG_PAIRS_SHORT * kg_native_least_k(w, false, res->quiet_ns);
    out->reference_ns = res->reference_ns;
    out->problem = PROBLEM;
}

static enum kg_code measure(struct kg_worker *w, struct kg_noise *out, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_lease lease = KG_LEASE_NONE;
    struct kg_runner_spec ref, null;
    struct kg_pairs_options opt = KG_PAIRS_DEFAULTS;
    struct kg_pairs_input in = {.problem = n->problem,
                                .judge = &n->judge,
                                .reference = &ref,
                                .candidate = &ref,
                                .null_runner = &null,
                                .cancel = w->cancelled};
    struct kg_pairs_result *res = calloc(1, sizeof *res);
    if (!res) {
        return kg_fail(err, KG_E_LIMIT, "no memory for a timing result");
    }
    kg_shape_default(n->problem, &in.shape);
    kg_native_runner_spec(w, n->object_float, false, &ref);
    kg_native_runner_spec(w, w->paths.null_object, false, &null);
    null.entry = "kgym_null";
    enum kg_code code = kg_rng_secret(&in.key, err);
    if (code == KG_OK) {
        code = kg_lease_acquire(w->cpu, &lease, w->cancelled, err);
    }
    if (code == KG_OK) {
        code = kg_pairs_null(&in, &opt, res, err);
        kg_lease_release(&lease);
        if (code == KG_OK && res->status != KG_PAIRS_MEASURED) {
            code = kg_fail(err, KG_E_HOST, "the null test could not be measured: %s", res->why);
        } else if (code == KG_OK) {
            summarise(w, res, out);
        }
        kg_pairs_result_deinit(res);
    }
    free(res);
    return code;
}

enum kg_code kg_native_noise(const struct kg_config *config, int cpu, const volatile int *cancelled,
                             struct kg_noise *out, struct kg_err *err)
{
    struct kg_worker *w;
    if (kg_worker_open(config, cpu, cancelled, &w, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = kg_native_problem(w, PROBLEM, err);
    if (code == KG_OK) {
        code = measure(w, out, err);
    }
    kg_worker_close(w);
    return code;
}
