/* Private to the onboarding of PyTorch problems: what was seen, and the task card made of it. */
#ifndef KG_GYM_TORCH_ONBOARD_TORCH_ONBOARD_H
#define KG_GYM_TORCH_ONBOARD_TORCH_ONBOARD_H

#include "gym/torch/torch.h"

/* Of one problem at its published shape. */
struct kg_tlook {
    struct kg_worker *w;
    const char *path;
    struct kg_onboard *o;
    double e_ref[KG_TL_COUNT]; /* the reference's own error under each law; NaN: not seen */
    json_t *panel;             /* {answer: how far it was off, over the bound, or null} */
};

/* --- onboard_panel.c --- */
/* Which answers of the panel make sense. Learnt before anything is judged, which may describe the
 * problem anew. */
struct kg_tpanel {
    bool shuffled, axis[KG_TWIRE_RANK];
    size_t inputs;
};
void kg_tpanel_plan(const struct kg_task_desc *d, struct kg_tpanel *out);
/* Each must be wrong: a check each. */
enum kg_code kg_tpanel_try(struct kg_tlook *k, const struct kg_tpanel *p,
                           struct kg_err *err) KG_MUST_USE;
/* A check each. */
enum kg_code kg_tpanel_freeze_inputs(struct kg_tlook *k, struct kg_err *err) KG_MUST_USE;
/* One check; the card names those without influence. */
enum kg_code kg_tpanel_freeze_parameters(struct kg_tlook *k, struct kg_err *err) KG_MUST_USE;

/* --- onboard_card.c --- */
/* What is known once every law was asked. reference_ns and launch_bound are null, the panel empty.
 * The caller's. */
json_t *kg_tcard_make(const struct kg_tlook *k, const struct kg_tinstance *s);
/* Other shapes that the problem takes, each as the constants that differ ("n=511"): up to `most`
 * that were found, smaller and larger by turns. The instance KG_INSTANCE_SHAPE is used for it, and
 * closed. */
json_t *kg_tcard_variants(struct kg_worker *w, const struct kg_tinstance *s, int most);

/* The executor's: eval/executor.h. */
bool kg_tdoubted(struct kg_worker *w);
enum kg_code kg_tsettle(struct kg_worker *w, struct kg_onboard *out,
                        struct kg_err *err) KG_MUST_USE;
enum kg_code kg_tonboard(struct kg_worker *w, const char *path, struct kg_onboard *out,
                         struct kg_err *err) KG_MUST_USE;

#endif
