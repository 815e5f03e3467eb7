/* Options of the loss: defaults, checks, and the arrays that they need. */
#include <math.h>

#include "rl/methods/loss.h"

void rl_loss_defaults(struct rl_loss_options *o, uint32_t nominal, uint32_t response_max)
{
    *o = (struct rl_loss_options){
        .clip_lo = .2,
        .clip_hi = .28,
        .dual = 3,
        .pure_cap = 2,
        .aggregate = {.nominal = nominal, .response_max = response_max, .scale = 1}};
}

enum kg_code rl_loss_check(const struct rl_loss_options *o, struct kg_err *err)
{
    if (!(o->clip_lo >= 0 && o->clip_lo < 1) || !(o->clip_hi >= 0) || !isfinite(o->clip_hi)) {
        return kg_fail(err, KG_E_USAGE, "clip_lo: must be in [0, 1); clip_hi: from 0 up");
    }
    if (o->dual != 0 && !(o->dual > 1 && isfinite(o->dual))) {
        return kg_fail(err, KG_E_USAGE, "dual: must be above 1, or 0 for off");
    }
    if (!(o->pure_cap > 0)) {
        return kg_fail(err, KG_E_USAGE, "pure_cap: must be above 0");
    }
    if (!(o->ent_quantile >= 0 && o->ent_quantile < 1)) {
        return kg_fail(err, KG_E_USAGE, "ent_mask: must be in [0, 1)");
    }
    if (!(o->risk_prob >= 0 && o->risk_prob < 1)) {
        return kg_fail(err, KG_E_USAGE, "risk_mask: must be in [0, 1)");
    }
    if (!isfinite(o->entropy) || !(o->kl_loss >= 0) || !isfinite(o->kl_loss)) {
        return kg_fail(err, KG_E_USAGE, "entropy, kl_loss: not a number that can be used");
    }
    if (o->kl_loss > 0 && o->kl == RL_KL_K1) {
        return kg_fail(err, KG_E_USAGE,
                       "kl_loss=k1: its gradient is 0 on average; use k2 or k3, or kl_reward");
    }
    if (o->offpolicy == RL_PURE && o->form == RL_FORM_GSPO) {
        return kg_fail(err, KG_E_USAGE, "gspo: has a ratio to clip, and offpolicy=pure has none");
    }
    return rl_aggregate_check(&o->aggregate, err);
}

bool rl_loss_needs_old(const struct rl_loss_options *o)
{
    return o->offpolicy == RL_DECOUPLED;
}

bool rl_loss_needs_ref(const struct rl_loss_options *o)
{
    return o->kl_loss > 0;
}

bool rl_loss_needs_entropy(const struct rl_loss_options *o)
{
    return o->ent_quantile > 0;
}

bool rl_loss_trains(const struct rl_row *r, const struct rl_tokens *tokens,
                    const struct rl_loss_options *o)
{
    if (rl_aggregate_tokens(r, tokens) == 0) {
        return false;
    }
    if (r->adv != 0 || o->entropy != 0 || o->kl_loss > 0) {
        return true;
    }
    for (size_t k = r->first; tokens->adv != NULL && k < r->first + r->length; k++) {
        if (tokens->adv[k] != 0) {
            return true;
        }
    }
    return false;
}
