/* How general a right candidate is: other shapes, asked in fresh processes. */
#include "gym/torch/judging/grade.h"

#include <string.h>

#include "base/clock.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/shapes.h"
#include "gym/torch/judging/torch_candidate.h"

/* A wrong answer there has a reason of its own; what else it did keeps its verdict. */
static enum kg_stage_result gate(struct kg_evaluation *e, const struct kg_tinstance *s)
{
    struct kg_record *r = e->r;
    if (r->verdict == KG_V_WRONG) {
        kg_record_verdict(r, KG_V_WRONG, "variant",
                          "right at the published shape, and wrong at another one (%zu constants)",
                          json_object_size(s->consts));
    }
    return KG_STAGE_FAIL;
}

/* One shape; *pass tells. Where shapes do not gate, what it leaves in the record is taken back: a
 * kernel for the published shape is legitimate. */
static enum kg_stage_result ask(struct kg_evaluation *e, struct kg_tinstance *s, bool *pass,
                                struct kg_err *err)
{
    struct kg_record *r = e->r;
    size_t seen = json_array_size(r->evidence);
    bool lost = e->lost, memory = e->memory;
    enum kg_stage_result step = kg_tcandidate_case(e, s, KG_TL_OWN, KG_ST_FULL, err);
    *pass = step == KG_STAGE_PASS;
    bool gates = e->w->config.torch_shapes_gate && step == KG_STAGE_FAIL;
    while (!gates && json_array_size(r->evidence) > seen) {
        json_array_remove(r->evidence, seen);
    }
    const char *reason = *pass ? "" : r->reason ? r->reason : "";
    kg_record_evidence(
        r, "other_shape",
        json_pack("{s:O, s:b, s:s}", "dims", s->consts, "pass", *pass, "reason", reason));
    if (gates) {
        return gate(e, s);
    }
    r->verdict = KG_V_NONE;
    r->reason = r->message = NULL;
    e->lost = lost;
    e->memory = memory;
    return step == KG_STAGE_ERROR ? step : KG_STAGE_PASS;
}

/* The reference does not judge there, or there is not the memory for a larger one. */
static bool no_shape(const struct kg_err *err, bool grow)
{
    return err->code == KG_E_PROBLEM ||
           (grow && (err->code == KG_E_HOST || err->code == KG_E_LIMIT));
}

enum kg_stage_result kg_tshapes_grade(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_worker *w = e->w;
    struct kg_tinstance *base = kg_torch_run_of(e)->instance,
                        *s = &kg_torch_of(w)->instance[KG_INSTANCE_SHAPE];
    int tried = 0, passed = 0;
    enum kg_stage_result step = KG_STAGE_PASS;
    for (int64_t i = 0; i < w->config.torch_shapes && step == KG_STAGE_PASS; i++) {
        bool pass = false, grow = i % 2 == 0; /* the first is larger: one smaller says less */
        kg_tcandidate_stop(e);
        kg_tinstance_close(w, s);
        int64_t since = kg_clock_ns();
        bool found = kg_tshapes_other(w, base, s, grow, &e->rng);
        kg_evaluation_excuse(e, since);
        if (!found) {
            continue;
        }
        struct kg_err seen = KG_ERR_INIT;
        step = ask(e, s, &pass, &seen);
        if (step == KG_STAGE_ERROR && no_shape(&seen, grow)) {
            step = KG_STAGE_PASS;
            continue;
        }
        if (step == KG_STAGE_ERROR) {
            *err = seen;
        }
        tried++;
        passed += pass;
    }
    kg_tcandidate_stop(e);
    kg_tinstance_close(w, s);
    kg_torch_run_of(e)->instance = base;
    if (tried > 0 && step != KG_STAGE_ERROR) {
        e->r->shape_generality = (double)passed / tried;
    }
    return step;
}
