/* Who is below the floor, and how much of the inputs the floor counts. */
#include "gym/torch/timing/torch_floor.h"

#include <math.h>

#include "base/clock.h"
#include "gym/timing/floor.h"
#include "gym/timing/stats.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_runner.h"

#define SPREADS 3    /* of K (p90 - p10), that a floor must exceed to be evidence */
#define EDITS   64   /* elements; all needed: the share is above 0.9, but for one in 1,000 */
#define LEAST   16   /* of them that must be asked */
#define SECONDS 30   /* for all of them */
#define CHANCE  1e-3 /* that the share is less than what is said */

int64_t kg_tfloor_ns(const struct kg_task_desc *d, double share, const struct kg_dj_facts *f)
{
    double bytes = 0;
    for (size_t i = 0; i < d->ninputs; i++) {
        if (!kg_tdtype_floating((enum kg_tdtype)d->input[i].leaf.dtype)) {
            return 0; /* what is read may depend on it */
        }
        bytes += (double)d->input[i].leaf.bytes;
    }
    bytes = share * bytes + fmax(0, (double)d->output_bytes - (double)f->l2_bytes);
    return f->bandwidth > 0 ? (int64_t)(bytes / f->bandwidth * 1e9) : 0;
}

double kg_tfloor_share(const struct kg_tinstance *s)
{
    bool told = s->edited >= LEAST && s->needed < s->edited;
    return told ? kg_share_least(s->needed, s->edited, CHANCE) : 1;
}

static int64_t floor_of(const struct kg_evaluation *e)
{
    const struct kg_tinstance *s = kg_torch_run_of(e)->instance;
    return kg_tfloor_ns(&s->desc, kg_tfloor_share(s), &kg_torch_of(e->w)->judge.facts);
}

bool kg_tfloor_below(const struct kg_evaluation *e, const struct kg_tpairs_result *res)
{
    double floor_ns = KG_FLOOR_SHARE_DEVICE * (double)floor_of(e);
    double spread = (double)(res->k_p90_ns - res->k_p10_ns), ns = (double)res->candidate_ns;
    return e->w->config.hack_checks && res->status == KG_TPAIRS_MEASURED &&
           (double)res->reference_ns >= floor_ns && ns + spread < floor_ns &&
           SPREADS * spread < floor_ns && log(floor_ns / ns) > kg_torch_of(e->w)->null_half_width;
}

enum kg_code kg_tfloor_retake(struct kg_evaluation *e, const struct kg_tpairs_options *opt,
                              struct kg_err *err)
{
    struct kg_lease lease = KG_LEASE_NONE;
    int64_t since = kg_clock_ns();
    enum kg_code code = kg_torch_take_device(e->w, opt->exclusive, &lease, err);
    code = code == KG_OK ? kg_dj_bandwidth(&kg_torch_of(e->w)->judge, err) : code;
    kg_torch_give_device(e->w, &lease);
    kg_evaluation_excuse(e, since);
    return code;
}

/* -1: it cannot be told; 0: not yet. */
static int take_answer(struct kg_tinstance *s, const json_t *told)
{
    json_int_t asked = json_integer_value(json_object_get(told, "asked"));
    json_int_t needed = json_integer_value(json_object_get(told, "needed"));
    if (asked >= LEAST && asked <= EDITS && needed >= 0 && needed <= asked) {
        s->needed = (int)needed;
        return (int)asked;
    }
    return json_is_true(json_object_get(told, "again")) ? 0 : -1;
}

/* A process that could not answer may be of no more use: the next evaluation has a fresh one. */
static enum kg_code ask(struct kg_worker *w, struct kg_tinstance *s, struct kg_err *err)
{
    struct kg_err e = KG_ERR_INIT;
    json_t *structure = json_object(), *reply = NULL;
    for (size_t i = 0; i < s->desc.ninputs; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        json_object_set_new(structure, number, kg_task_structure(&s->desc.input[i]));
    }
    json_t *request =
        json_pack("{s:i, s:i, s:o}", "edits", EDITS, "seconds", SECONDS, "structure", structure);
    enum kg_code code =
        kg_tinstance_tell(w, s, KG_TC_DESCRIBE, "editing its inputs", request, &reply, &e);
    if (code == KG_OK) {
        s->edited = take_answer(s, json_object_get(reply, "reads"));
    } else if (code == KG_E_PROBLEM) {
        s->edited = -1;
        code = KG_OK;
    } else {
        *err = e;
    }
    if (s->edited <= 0) {
        kg_trunner_stop(w, &s->ref);
    }
    json_decref(reply);
    return code;
}

enum kg_code kg_tfloor_learn(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_tinstance *s = kg_torch_run_of(e)->instance;
    int64_t since = kg_clock_ns();
    if (s->edited != 0) {
        return KG_OK;
    }
    enum kg_code code = ask(e->w, s, err);
    kg_evaluation_excuse(e, since);
    return code;
}

void kg_tfloor_accuse(struct kg_evaluation *e, const struct kg_tpairs_result *res, int processes)
{
    const struct kg_tinstance *s = kg_torch_run_of(e)->instance;
    int64_t floor_ns = floor_of(e);
    kg_record_evidence(e->r, "floor",
                       json_pack("{s:I, s:I, s:i, s:i, s:i}", "floor_ns", (json_int_t)floor_ns,
                                 "candidate_ns", (json_int_t)res->candidate_ns, "processes",
                                 processes, "edited", s->edited > 0 ? s->edited : 0, "needed",
                                 s->needed));
    kg_record_verdict(e->r, KG_V_HACK, "floor",
                      "%lld ns is less than reading its data takes (%lld ns)",
                      (long long)res->candidate_ns, (long long)floor_ns);
}
