/* How general a right candidate is: other shapes, asked in fresh processes. */
#include <string.h>

#include "base/clock.h"
#include "gym/torch/torch.h"

/* One shape; *pass tells. What it leaves in the record is taken back: a kernel for the published
 * shape is legitimate. */
static enum kg_step_result ask(struct kg_evaluation *e, struct kg_tscene *s, bool *pass,
                               struct kg_err *err)
{
    struct kg_record *r = e->r;
    size_t seen = json_array_size(r->evidence);
    bool lost = e->lost;
    enum kg_step_result step = kg_tcandidate_case(e, s, KG_TL_OWN, KG_ST_FULL, err);
    while (json_array_size(r->evidence) > seen) {
        json_array_remove(r->evidence, seen);
    }
    *pass = step == KG_STEP_PASS;
    const char *reason = *pass ? "" : r->reason ? r->reason : "";
    kg_record_evidence(
        r, "other_shape",
        json_pack("{s:O, s:b, s:s}", "dims", s->consts, "pass", *pass, "reason", reason));
    r->verdict = KG_V_NONE;
    r->reason = r->message = NULL;
    e->lost = lost;
    return step == KG_STEP_ERROR ? step : KG_STEP_PASS;
}

enum kg_step_result kg_tshapes_grade(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_worker *w = e->w;
    struct kg_tscene *base = e->torch->scene, *s = &w->torch->scene[KG_SCENE_SHAPE];
    int tried = 0, passed = 0;
    enum kg_step_result step = KG_STEP_PASS;
    for (int64_t i = 0; i < w->config.torch_shapes && step == KG_STEP_PASS; i++) {
        bool pass = false;
        kg_tcandidate_stop(e);
        kg_tscene_close(w, s);
        int64_t since = kg_clock_ns();
        if (!kg_tshapes_other(w, base, s, &e->rng)) {
            break;
        }
        kg_tevaluation_excuse(e, since);
        struct kg_err seen = KG_ERR_INIT;
        step = ask(e, s, &pass, &seen);
        if (step == KG_STEP_ERROR && seen.code == KG_E_PROBLEM) {
            step = KG_STEP_PASS; /* the reference does not judge there: no shape to try */
            continue;
        }
        if (step == KG_STEP_ERROR) {
            *err = seen;
        }
        tried++;
        passed += pass;
    }
    kg_tcandidate_stop(e);
    kg_tscene_close(w, s);
    e->torch->scene = base;
    if (tried > 0 && step == KG_STEP_PASS) {
        e->r->shape_generality = (double)passed / tried;
    }
    return step;
}
