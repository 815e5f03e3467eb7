/* How often each component of the method looked at something and acted on it. A report shows
 * them. A component that is switched on and never looked at a row has a fault in its wiring, and
 * the run's own report fails for it. Plain data; the caller zeroes it. */
#ifndef KG_RL_METHODS_COUNTS_H
#define KG_RL_METHODS_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rl_count {
    uint64_t looked; /* rows, tokens, groups or steps */
    uint64_t acted;  /* of them: changed, rejected, dropped */
};

enum rl_component {
    RL_C_VOID,       /* rows: void */
    RL_C_FILL,       /* trajectories: missing turns filled */
    RL_C_KL_REWARD,  /* rows */
    RL_C_FILTER,     /* groups: dropped */
    RL_C_REFILL,     /* decisions: more were sampled */
    RL_C_MRS,        /* rows: rejected */
    RL_C_MRS_TOKEN,  /* tokens: masked */
    RL_C_VETO,       /* rows: rejected */
    RL_C_NO_LOGP,    /* rows: rejected, a log-probability is missing */
    RL_C_TIS,        /* tokens: weight other than 1 */
    RL_C_PRS,        /* live rows: rejected, or weighted below 1 */
    RL_C_PRS_BLIND,  /* correct rows: kept because coverage is not known */
    RL_C_N1,         /* rows of the baseline set: alone in it */
    RL_C_CV,         /* rows of the baseline set: shifted */
    RL_C_ADVANTAGE,  /* rows of the baseline set: advantage other than 0 */
    RL_C_CLIP,       /* tokens: no gradient because the ratio is clipped */
    RL_C_RATIO,      /* tokens: log ratio held at 20 */
    RL_C_ENT_MASK,   /* tokens: dropped */
    RL_C_RISK_MASK,  /* tokens: dropped */
    RL_C_KL_LOSS,    /* tokens */
    RL_C_ENTROPY,    /* tokens */
    RL_C_CURRICULUM, /* updates: the share changed */
    RL_C_TOPK,       /* candidates: winners */
    RL_C_OVER,       /* rollouts: sampled beyond those that train */
    RL_C_SURPLUS,    /* groups that passed the filter: not chosen */
    RL_C_SAMPLER,    /* sampled tokens: log-probs of sampler and learner differ */
    RL_C_TURNS,      /* turns after the first: right where the one before was not, or faster */
    RL_C_EARLY_STOP, /* verdicts before the last turn: the trajectory ends */
    RL_C_COVERAGE,   /* rows with a verdict: the reward pays for a coverage that is known */
    RL_C_LORA,       /* updates: of the adapter alone */
    RL_C_REUSE,      /* replies: got the record of an equal one */
    RL_C_N,
};

struct rl_counts {
    struct rl_count of[RL_C_N];
};

/* The first component that is on and has looked at nothing; NULL: there is none. */
const char *rl_counts_idle(const struct rl_counts *counts, const bool on[RL_C_N]);

/* Stable lower-case name: "void", "mrs", ... */
const char *rl_count_name(enum rl_component c);

static inline void rl_count(struct rl_counts *counts, enum rl_component c, bool acted)
{
    counts->of[c].looked++;
    counts->of[c].acted += acted;
}

#endif
