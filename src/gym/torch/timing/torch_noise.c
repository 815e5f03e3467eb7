#include "gym/torch/timing/torch_noise.h"

#include "gym/eval/executor.h"
#include "gym/torch/timing/torch_pairs.h"

enum kg_code kg_torch_noise(struct kg_worker *w, const char *problem, struct kg_noise *out,
                            struct kg_err *err)
{
    struct kg_tpairs_options opt;
    struct kg_tpairs_result res;
    struct kg_key key;
    if (kg_rng_secret(&key, err) != KG_OK || kg_executor_problem(w, problem, err) != KG_OK) {
        return err->code;
    }
    kg_tpairs_options_of(&w->config, &opt);
    enum kg_code code =
        kg_tpairs_null(w, &kg_torch_of(w)->instance[KG_INSTANCE_PUBLISHED], &opt, key, &res, err);
    if (code == KG_OK && res.status != KG_TPAIRS_MEASURED) {
        code = kg_fail(err, KG_E_HOST, "the null test could not be measured: %s",
                       res.status == KG_TPAIRS_LOUD ? "somebody else's work was on the device"
                                                    : res.why);
    }
    *out = (struct kg_noise){.ratio = res.ratio,
                             .k_ns = res.k_lease_ns,
                             .k_p10_ns = res.k_p10_ns,
                             .k_p90_ns = res.k_p90_ns,
                             .reference_ns = res.reference_ns,
                             .problem = problem};
    kg_tpairs_result_deinit(&res);
    return code;
}
