/* Weights of token terms in the loss. */
#include "rl/methods/aggregate.h"

#include <math.h>

enum kg_code rl_aggregate_check(const struct rl_aggregate_options *o, struct kg_err *err)
{
    if (o->denom == RL_DENOM_NOMINAL && o->nominal == 0) {
        return kg_fail(err, KG_E_USAGE, "denom=nominal: groups x rollouts x turns is 0");
    }
    if (o->agg == RL_AGG_NORM && o->response_max == 0) {
        return kg_fail(err, KG_E_USAGE, "agg=seq-mean-token-sum-norm: needs resp_max above 0");
    }
    if (!(o->scale > 0) || !isfinite(o->scale)) {
        return kg_fail(err, KG_E_USAGE, "scale: %g is not a number above 0", o->scale);
    }
    return KG_OK;
}

size_t rl_aggregate_tokens(const struct rl_row *r, const struct rl_tokens *tokens)
{
    size_t n = 0;
    for (size_t k = r->first; rl_row_kept(r) && k < r->first + r->length; k++) {
        n += rl_token_kept(tokens, k);
    }
    return n;
}

struct rl_norm rl_aggregate_norm(const struct rl_rows *rows, const struct rl_tokens *tokens,
                                 const struct rl_aggregate_options *o)
{
    size_t live = 0, kept = 0, n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        live += rl_row_live(&rows->row[i]);
        kept += rl_row_kept(&rows->row[i]);
        n += rl_aggregate_tokens(&rows->row[i], tokens);
    }
    double m = o->denom == RL_DENOM_NOMINAL ? o->nominal
               : o->denom == RL_DENOM_LIVE  ? (double)live
                                            : (double)kept;
    return (struct rl_norm){.agg = o->agg,
                            .rows = fmax(m, 1),
                            .tokens = fmax((double)n, 1),
                            .response_max = o->response_max,
                            .scale = o->scale,
                            .entropy_least = -1};
}

double rl_aggregate_weight(const struct rl_norm *norm, size_t n_r)
{
    double by = 1;
    switch (norm->agg) {
    case RL_AGG_TOKEN_MEAN:
        by = norm->tokens;
        break;
    case RL_AGG_TOKEN_SUM:
        by = norm->rows;
        break;
    case RL_AGG_ROW_MEAN:
        by = norm->rows * (double)n_r;
        break;
    case RL_AGG_NORM:
        by = norm->rows * norm->response_max;
        break;
    case RL_AGG_SUM:
        break;
    }
    return 1 / (by * norm->scale);
}
