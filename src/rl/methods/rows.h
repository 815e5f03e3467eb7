/* The rows of an optimiser batch: one row is one sampled turn. All methods of this folder are
 * functions over these arrays; they do no I/O and allocate nothing.
 *
 * Order: birth step, group, rollout, turn ascend strictly, so no row can appear twice. A group is
 * one occurrence of a problem in a step: rows of one problem that was drawn twice are two groups.
 * The rows of one (birth, group, rollout) are a trajectory. Its turns count from 1 without a gap;
 * turns that were not sampled have no row. rl_rows_check refuses anything else.
 *
 * States of a row:
 *   real   a turn was sampled              infra  no verdict could be had for its trajectory
 *   void   a failure after a success       live   real, not infra, not void
 *   kept   live, and no mask rejected it: only kept rows have a gradient
 * The caller owns all arrays. Threads: one batch, one thread. */
#ifndef KG_RL_METHODS_ROWS_H
#define KG_RL_METHODS_ROWS_H

#include "base/err.h"

/* Logarithms of ratios are held to this size. Source: exp(20) is far beyond any bound of a ratio;
 * verl holds the exponent there too. */
#define RL_EXPONENT_MAX 20.0

enum rl_flag {
    RL_REAL = 1,
    RL_INFRA = 2,
    RL_VOID = 4,
    RL_KEPT = 8,
    RL_CUT = 16,         /* the answer ended at the token limit */
    RL_BAD_PROBLEM = 32, /* an error with blame `problem`: the group is dropped */
    RL_STOPPED = 64,     /* the last turn of a trajectory that is whole, or was stopped early */
};

/* Why a live row is not kept; several may hold. */
enum rl_why {
    RL_WHY_NO_LOGP = 1, /* a sampler log-probability is missing */
    RL_WHY_MRS = 2,
    RL_WHY_VETO = 4,
    RL_WHY_PRS = 8,
};

struct rl_row {
    uint32_t birth;   /* step in which the row was sampled */
    uint32_t group;   /* 0-based, in the birth step */
    uint32_t rollout; /* from 1 */
    uint32_t turn;    /* from 1 */
    uint32_t index;   /* rl_row_index: the number of its draws */
    uint32_t flags;   /* enum rl_flag */
    uint32_t why;     /* enum rl_why */
    bool correct;     /* C: the verdict is ok and its league finds it eligible */
    double speedup;   /* s; 0 where C is 0 */
    double coverage;  /* PR in [0, 1]; NaN: not known */
    double reward;    /* R */
    double kl;        /* taken from R by kl_reward; 0: none */
    double ret;       /* G */
    double adv;       /* A */
    double weight;    /* p_keep in PRS mode `weight`; else 1 */
    double win;       /* best-of-N: weight of a winner; 0: not one */
    size_t first;     /* its first token in struct rl_tokens */
    size_t length;    /* L: number of sampled tokens */
};

struct rl_rows {
    size_t n;
    struct rl_row *row; /* [n] */
};

/* One value for each sampled token, rows one after the other. NULL: not there. */
struct rl_tokens {
    size_t n;
    const float *mu;      /* [n] log-probability by the sampler; NaN: missing */
    const float *old;     /* [n] by the learner before the update */
    const float *theta;   /* [n] by the learner that is differentiated */
    const float *ref;     /* [n] by the reference policy */
    const float *entropy; /* [n] nats */
    uint8_t *keep;        /* [n] 1: may train; a token-level mask clears it. NULL: all 1 */
    float *tis;           /* [n] importance weight; NULL: all 1 */
    float *adv;           /* [n] advantage of a token, for estimators that have one each */
    float *coef;          /* [n] out of rl_loss: c_t */
    float *eta;           /* [n] out of rl_loss: weight of the entropy */
};

static inline bool rl_row_live(const struct rl_row *r)
{
    return (r->flags & (RL_REAL | RL_INFRA | RL_VOID)) == RL_REAL;
}

static inline bool rl_row_kept(const struct rl_row *r)
{
    return rl_row_live(r) && (r->flags & RL_KEPT) != 0;
}

static inline bool rl_token_kept(const struct rl_tokens *t, size_t k)
{
    return t->keep == NULL || t->keep[k] != 0;
}

/* Index after the last row of the group, or of the trajectory, that begins at `first`. */
size_t rl_rows_group_end(const struct rl_rows *rows, size_t first);
size_t rl_rows_rollout_end(const struct rl_rows *rows, size_t first);
size_t rl_rows_group_begin(const struct rl_rows *rows, size_t row);
size_t rl_rows_rollout_begin(const struct rl_rows *rows, size_t row);

/* Order, gaps between turns, finite rewards, and tokens inside [0, ntokens). KG_E_INPUT names the
 * first row at fault. */
enum kg_code rl_rows_check(const struct rl_rows *rows, size_t ntokens,
                           struct kg_err *err) KG_MUST_USE;

/* A trajectory with one infra row is infra as a whole, because its returns are not known. */
void rl_rows_spread_infra(struct rl_rows *rows);

/* Before the masks: live rows are kept, `why` is empty, weight 1; all tokens may train. */
void rl_rows_keep_live(struct rl_rows *rows, struct rl_tokens *tokens);

/* Reject a row for a reason. */
void rl_row_reject(struct rl_row *r, enum rl_why why);

#endif
