/* Names of the counters. */
#include "rl/methods/counts.h"

#include "base/err.h"

const char *rl_count_name(enum rl_component c)
{
    static const char *const names[RL_C_N] = {
        "void",       "fill",    "kl_reward", "filter",   "refill",    "mrs",     "mrs_token",
        "veto",       "no_logp", "tis",       "prs",      "prs_blind", "n1",      "cv",
        "advantage",  "clip",    "ratio",     "ent_mask", "risk_mask", "kl_loss", "entropy",
        "curriculum", "topk",    "over",      "surplus",  "sampler",   "turns",   "early_stop",
        "coverage",   "lora",    "reuse",
    };
    KG_ASSERT((int)c >= 0 && c < RL_C_N);
    return names[c];
}

const char *rl_counts_idle(const struct rl_counts *counts, const bool on[RL_C_N])
{
    for (int i = 0; i < RL_C_N; i++) {
        if (on[i] && counts->of[i].looked == 0) {
            return rl_count_name((enum rl_component)i);
        }
    }
    return NULL;
}
