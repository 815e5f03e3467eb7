/* The null test: the reference against itself, what a device can resolve. */
#include "base/clock.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/own_k.h"
#include "gym/torch/judging/reference.h"
#include "gym/torch/judging/state_parts.h"
#include "gym/torch/runner/torch_runner.h"
#include "gym/torch/timing/torch_pairs.h"

static enum kg_code tell(struct kg_worker *w, struct kg_trunner *side, enum kg_tcommand command,
                         json_t *request, int64_t ns, struct kg_err *err)
{
    struct kg_pyanswer a;
    enum kg_code code =
        kg_trunner_set_up(w, side, command, request, KG_TINSTANCE_SEED, ns, &a, err);
    json_decref(request);
    if (code != KG_OK) {
        return code;
    }
    bool good = a.status == KG_PY_ANSWERED && a.said == KG_TA_OK;
    kg_pyanswer_deinit(&a);
    return good ? KG_OK
                : kg_fail(err, KG_E_PROBLEM, "%s: null test: a second reference does not %s",
                          kg_torch_of(w)->problem->path, command == KG_TC_LOAD ? "load" : "build");
}

/* A process of the reference in the candidate's place. */
static enum kg_code start(struct kg_worker *w, struct kg_tinstance *instance,
                          const struct kg_tpairs_options *opt, struct kg_trunner *side,
                          struct kg_err *err)
{
    uint64_t in, out;
    int id;
    struct kg_dj_report rep;
    int64_t ns = opt->call_ns + opt->first_call_ns;
    kg_tinstance_regions(w, instance, true, &in, &out);
    if (kg_trunner_start(w, false, kg_torch_of(w)->problem_file, in, out, side, err) != KG_OK ||
        kg_town_k_learn(w, instance, side, err) != KG_OK) {
        return err->code;
    }
    json_t *load =
        json_pack("{s:s, s:s}", "entry", kg_torch_of(w)->problem->reference, "role", "reference");
    json_t *build = kg_tinstance_build_request(&instance->desc);
    if (instance->consts) {
        json_object_set(load, "consts", instance->consts);
        json_object_set(build, "consts", instance->consts);
    }
    if (tell(w, side, KG_TC_LOAD, load, ns, err) != KG_OK) {
        json_decref(build);
        return err->code;
    }
    if (tell(w, side, KG_TC_BUILD, build, ns, err) != KG_OK ||
        kg_tinstance_state(w, instance, 0, &id, err) != KG_OK) {
        return err->code;
    }
    struct kg_dj_call c = {.port = side->port, .command = KG_TC_STATE, .seed = 1};
    enum kg_code code = KG_OK;
    for (size_t part = 0; code == KG_OK && part < kg_tstate_parts(instance->desc.nstate); part++) {
        c.deadline_ns = kg_clock_ns() + ns;
        kg_tstate_part(&c, id, instance->desc.nstate, part);
        code = kg_dj_run(&kg_torch_of(w)->judge, &c, &rep, err) == KG_OK
                   ? kg_treference_check(w, side, "loading parameters", &rep, err)
                   : err->code;
    }
    return code;
}

static enum kg_code against_itself(struct kg_tpairs *s, struct kg_worker *w,
                                   struct kg_tinstance *instance,
                                   const struct kg_tpairs_options *opt, int64_t *deadline_ns,
                                   struct kg_tpairs_result *out, struct kg_err *err)
{
    struct kg_trunner side = {.port = -1};
    int64_t since = kg_clock_ns();
    enum kg_code code = start(w, instance, opt, &side, err);
    *deadline_ns += kg_clock_ns() - since; /* it may wait for others' measurements */
    if (code == KG_OK) {
        code = kg_tpairs_run(s, &side, out, err);
    }
    kg_trunner_stop(w, &side);
    if (code == KG_OK && out->status != KG_TPAIRS_FAILED && out->status != KG_TPAIRS_LOST) {
        code = kg_tpairs_oracle(s, out, err);
    }
    if (code == KG_OK && out->status == KG_TPAIRS_FAILED) {
        return kg_fail(err, KG_E_PROBLEM, "%s: the reference fails against itself (call %lld)",
                       kg_torch_of(w)->problem->path, (long long)out->failure.call);
    }
    return code;
}

enum kg_code kg_tpairs_null(struct kg_worker *w, struct kg_tinstance *instance,
                            const struct kg_tpairs_options *opt, struct kg_key key,
                            struct kg_tpairs_result *out, struct kg_err *err)
{
    struct kg_tpairs *s;
    int64_t deadline_ns = kg_clock_ns() + 10 * opt->budget_ns + opt->first_call_ns;
    *out = (struct kg_tpairs_result){.status = KG_TPAIRS_NOT_MEASURED};
    if (kg_tpairs_open(w, instance, opt, key, &deadline_ns, &s, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = against_itself(s, w, instance, opt, &deadline_ns, out, err);
    kg_tpairs_close(s);
    return code;
}

static enum kg_code measure_width(struct kg_worker *w, struct kg_tinstance *instance,
                                  const struct kg_tpairs_options *opt, struct kg_key key,
                                  struct kg_err *err)
{
    struct kg_tpairs_result null;
    enum kg_code code = kg_tpairs_null(w, instance, opt, key, &null, err);
    if (code == KG_OK && null.status == KG_TPAIRS_MEASURED) {
        kg_torch_of(w)->null_half_width = kg_ratio_own_error(&null.ratio);
    }
    kg_tpairs_result_deinit(&null);
    return code;
}

/* The first measures, the others wait for it: all together would take the device as long each. */
static enum kg_code one_measures(struct kg_worker *w, struct kg_tinstance *instance,
                                 const struct kg_tpairs_options *opt, struct kg_key key,
                                 struct kg_err *err)
{
    char path[KG_LEASE_PATH];
    struct kg_lease turn = KG_LEASE_NONE;
    kg_lease_device_path(kg_torch_of(w)->device, ".null", path);
    enum kg_code code = kg_lease_acquire_at(path, 0, &turn, w->cancelled, err);
    if (code == KG_OK) {
        kg_torch_of(w)->null_half_width = atomic_load(&w->common->torch_null_half_width);
        if (kg_torch_of(w)->null_half_width <= 0) {
            code = measure_width(w, instance, opt, key, err);
            atomic_store(&w->common->torch_null_half_width, kg_torch_of(w)->null_half_width);
        }
    }
    kg_lease_release(&turn);
    return code;
}

enum kg_code kg_tpairs_null_width(struct kg_worker *w, struct kg_tinstance *instance,
                                  const struct kg_tpairs_options *opt, struct kg_key key,
                                  struct kg_err *err)
{
    if (kg_torch_of(w)->null_half_width > 0) {
        return KG_OK;
    }
    return (w->common ? one_measures : measure_width)(w, instance, opt, key, err);
}
