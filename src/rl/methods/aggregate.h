/* How the terms of tokens are added up to one loss. m: kept tokens; M: rows of the optimiser batch;
 * n_r: kept tokens of row r; L_max: longest response; Z: scale.
 *
 *   token-mean               sum m l / sum m
 *   seq-mean-token-sum       sum m l / M                      default
 *   seq-mean-token-mean      sum over rows of (sum m l / n_r) / M
 *   seq-mean-token-sum-norm  sum m l / (M L_max)
 *   seq-sum-no-norm          sum m l
 *   all: / Z
 * M is the nominal number of rows, groups x rollouts x turns, so more rejection means a smaller
 * step and not another scale. `live` and `kept` count these rows instead. The normaliser is a
 * constant of the optimiser batch: it is computed once, before the first micro-batch, so the
 * gradient does not depend on how the batch is cut. No allocation; thread safe. */
#ifndef KG_RL_METHODS_AGGREGATE_H
#define KG_RL_METHODS_AGGREGATE_H

#include "rl/methods/rows.h"

enum rl_aggregation {
    RL_AGG_TOKEN_SUM,  /* seq-mean-token-sum */
    RL_AGG_TOKEN_MEAN, /* token-mean */
    RL_AGG_ROW_MEAN,   /* seq-mean-token-mean */
    RL_AGG_NORM,       /* seq-mean-token-sum-norm */
    RL_AGG_SUM,        /* seq-sum-no-norm */
};

enum rl_denom { RL_DENOM_NOMINAL, RL_DENOM_LIVE, RL_DENOM_KEPT };

struct rl_aggregate_options {
    enum rl_aggregation agg;
    enum rl_denom denom;
    uint32_t nominal;      /* groups x rollouts x turns, each row counted once */
    uint32_t response_max; /* L_max */
    double scale;          /* Z */
};

/* Constants of one optimiser batch. A count of 0 becomes 1: then there is no token to weigh. */
struct rl_norm {
    enum rl_aggregation agg;
    double rows;         /* M */
    double tokens;       /* kept tokens */
    double response_max; /* L_max */
    double scale;        /* Z */
    float entropy_least; /* rl_loss: tokens must have more entropy than this; -1: no mask */
};

enum kg_code rl_aggregate_check(const struct rl_aggregate_options *o,
                                struct kg_err *err) KG_MUST_USE;
/* All fields but entropy_least, which becomes -1. */
struct rl_norm rl_aggregate_norm(const struct rl_rows *rows, const struct rl_tokens *tokens,
                                 const struct rl_aggregate_options *o);
/* Kept tokens of a row; 0 where the row is not kept. */
size_t rl_aggregate_tokens(const struct rl_row *r, const struct rl_tokens *tokens);
/* Factor of each term of a row with n_r kept tokens; n_r > 0. */
double rl_aggregate_weight(const struct rl_norm *norm, size_t n_r);

#endif
