/* Choices among equals in timed calls: the reference is asked again about the last case, rounding
 * otherwise (case_choices.h). */
#include "gym/torch/judging/case_choices.h"
#include "gym/torch/timing/torch_pairs_private.h"

#define CASE KG_TORCH_TIMING_ID

enum kg_tflow kg_tpairs_rounded(struct kg_tpairs *s, int n, enum kg_dj_side keep,
                                struct kg_dj_report *rep, struct kg_err *err)
{
    if (kg_tpairs_afresh(s, err) != KG_TFLOW_ON) {
        return KG_TFLOW_ERROR;
    }
    struct kg_dj_call c = kg_tpairs_call_of(s, s->instance->ref.port, KG_TC_CALL);
    c.keep = keep;
    c.flags |= KG_TF_ROUND_BY(n);
    c.deadline_ns += s->opt.first_call_ns;
    return kg_tpairs_ask_reference(s, &c, "a call, rounded otherwise", rep, err);
}

/* As ask of case_choices.c. */
static enum kg_tflow ask(struct kg_tpairs *s, int n, enum kg_dj_choice what, bool *flag,
                         struct kg_err *err)
{
    struct kg_dj_report rep = {.said = KG_TA_OK};
    *flag = false;
    if (kg_tpairs_rounded(s, n, KG_DJ_OTHER, &rep, err) != KG_TFLOW_ON) {
        return kg_tchoices_unanswered(s->instance, &rep, err) == KG_OK ? KG_TFLOW_ON
                                                                       : KG_TFLOW_ERROR;
    }
    return kg_dj_choice(&kg_torch_of(s->w)->judge, CASE, CASE, what, flag, err) == KG_OK
               ? KG_TFLOW_ON
               : KG_TFLOW_ERROR;
}

enum kg_tflow kg_tpairs_settle(struct kg_tpairs *s, bool *applies, struct kg_err *err)
{
    const struct kg_task_desc *d = &s->instance->desc;
    bool may = s->law == KG_TL_OWN && !s->self && !s->instance->single && !d->random &&
               s->instance->chooses;
    struct kg_dj_ask bounds = kg_tplan_ask(d, s->law, kg_tpairs_how(s, true));
    enum kg_tflow flow = KG_TFLOW_ON;
    for (int n = 1; flow == KG_TFLOW_ON && may && !*applies && n <= KG_TCHOICES; n++) {
        bool some;
        flow = ask(s, n, KG_DJ_SETTLE, &some, err);
        if (flow == KG_TFLOW_ON && some &&
            kg_dj_self(&kg_torch_of(s->w)->judge, CASE, &bounds, applies, err) != KG_OK) {
            return KG_TFLOW_ERROR;
        }
        may = kg_tchoices_chose(s->instance);
    }
    return flow;
}

enum kg_tflow kg_tpairs_seen(struct kg_tpairs *s, struct kg_dj_judgement *j, struct kg_err *err)
{
    struct kg_dj *judge = &kg_torch_of(s->w)->judge;
    struct kg_dj_judgement now = *j;
    bool may = false, seen;
    if (!kg_tchoices_may(s->instance, j)) {
        return KG_TFLOW_ON;
    }
    if (kg_dj_choice(judge, CASE, CASE, KG_DJ_ONCE, &may, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    for (int n = 1; may && !now.compare.pass && n <= KG_TCHOICES; n++) {
        if (ask(s, n, KG_DJ_SEEN, &seen, err) != KG_TFLOW_ON ||
            (seen && kg_dj_compare(judge, CASE, kg_tlaw_probes(s->law), &now, err) != KG_OK)) {
            return KG_TFLOW_ERROR;
        }
        may = kg_tchoices_hope(s->instance, n, j, &now);
    }
    *j = now.compare.pass ? now : *j;
    return KG_TFLOW_ON;
}
