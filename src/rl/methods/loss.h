/* The policy loss as one coefficient per token.
 *
 * Out of rl_loss, for each token k of the batch:
 *   coef[k] = c_k = - dLoss / d log theta(y_k)   what multiplies d(-log theta) in the engine
 *   eta[k]  = weight of -H_k in the loss         0 where the entropy bonus is off
 * Both are 0 on a token that is not kept. The engine forms, with p = softmax(z / temp),
 *   dz_j = (c (p_j - 1[j = y]) + eta p_j (log p_j + H)) / temp.
 *
 * rho = exp(log theta - log old), the exponent held in +-20. With A of the row, or of the token:
 *   l1 = max(-A rho, -A clip(rho, 1 - clip_lo, 1 + clip_hi));  l = l1, or min(l1, -A dual) if A < 0
 * The gradient is -A rho where the unclipped branch is active, also at equality; else 0.
 * Then, in this order: entropy mask, risk mask, importance weight (tokens->tis, detached).
 * A mask takes a token's policy term away and leaves the normaliser as it is. The KL and entropy
 * terms are neither masked nor weighted by them. All that is detached carries no gradient.
 *
 *   gspo     one ratio per row, exp(mean log rho over its kept tokens), the same for all of them
 *   off-policy: onpolicy   old is theta itself, rho = 1
 *               decoupled  old was computed by the learner before the update (tokens->old)
 *               bypass     old is the sampler (tokens->mu), so clipping acts on theta / mu
 *               pure       l = -w A log theta, w = min(theta / mu, pure_cap), detached
 * No allocation. Threads: row ranges that do not overlap may run at the same time, with counters
 * and statistics of their own.
 * Sources: Schulman et al. 2017; DAPO (clip-higher); Ye et al. 2020 (dual clip); GSPO 2025. */
#ifndef KG_RL_METHODS_LOSS_H
#define KG_RL_METHODS_LOSS_H

#include "rl/methods/aggregate.h"
#include "rl/methods/counts.h"

enum rl_loss_form { RL_FORM_CLIP, RL_FORM_GSPO };
enum rl_offpolicy { RL_ONPOLICY, RL_DECOUPLED, RL_BYPASS, RL_PURE };
enum rl_kl { RL_KL_K2, RL_KL_K3, RL_KL_ABS, RL_KL_K1 };

struct rl_loss_options {
    enum rl_loss_form form;
    enum rl_offpolicy offpolicy;
    double clip_lo, clip_hi; /* .2, .28 */
    double dual;             /* 3; 0: off */
    double pure_cap;         /* 2 */
    struct rl_aggregate_options aggregate;
    double entropy;      /* c_H; 0: off */
    double ent_quantile; /* only tokens above this quantile of entropy train; 0: off */
    double risk_prob;    /* tokens with old below it and A < 0 do not train; 0: off */
    double kl_loss;      /* beta; 0: off */
    enum rl_kl kl;       /* k2, k3 or abs: k1 as a loss has no gradient on average */
};

struct rl_loss_stats {
    double loss;      /* value of this range of rows */
    double kl_loss;   /* of it: the KL term */
    double abs_coef;  /* sum of |coef| */
    size_t tokens;    /* kept tokens */
    size_t rows_used; /* rows with a coefficient other than 0 */
};

void rl_loss_defaults(struct rl_loss_options *o, uint32_t nominal, uint32_t response_max);
enum kg_code rl_loss_check(const struct rl_loss_options *o, struct kg_err *err) KG_MUST_USE;

/* Which arrays the options read, so that nobody computes one in vain. */
bool rl_loss_needs_old(const struct rl_loss_options *o);
bool rl_loss_needs_ref(const struct rl_loss_options *o);
bool rl_loss_needs_entropy(const struct rl_loss_options *o);

/* One token: value l and *grad = dl / d log theta. */
double rl_loss_term(double adv, double rho, const struct rl_loss_options *o, double *grad);
/* d = log theta - log ref: value and *grad, the factor on grad log theta. k3 is held at 10. */
double rl_loss_kl(enum rl_kl kind, double d, double *grad);

/* Constants of the optimiser batch, the quantile of the entropy mask too. */
struct rl_norm rl_loss_norm(const struct rl_rows *rows, const struct rl_tokens *tokens,
                            const struct rl_loss_options *o);
/* coef and eta (which may be NULL if entropy is 0) of rows [first, end); *stats is added to. A
 * token of these rows that no term reaches gets 0. */
void rl_loss(const struct rl_rows *rows, size_t first, size_t end, struct rl_tokens *tokens,
             const struct rl_norm *norm, const struct rl_loss_options *o,
             struct rl_loss_stats *stats, struct rl_counts *counts);

/* Has a row anything to train on? No: it can be left out of the backward pass, and the loss and
 * all coefficients stay as they are. */
bool rl_loss_trains(const struct rl_row *r, const struct rl_tokens *tokens,
                    const struct rl_loss_options *o);

#endif
