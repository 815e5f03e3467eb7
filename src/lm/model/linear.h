/* A linear layer with its adapters, on some rows; and its backward. Thread safe: each caller brings
 * its scratch. */
#ifndef KG_LM_MODEL_LINEAR_H
#define KG_LM_MODEL_LINEAR_H

#include "lm/model/forward.h"

/* Numbers of scratch for up to LM_BLOCK rows. */
size_t lm_linear_scratch(const struct lm_model *m);

struct lm_rows_at {
    int layer, row0, rows; /* rows <= LM_BLOCK; row0 names them for dropout */
};

/* y [rows, n] = x [rows, k] W^T, plus the adapters' part; no bias. */
void lm_linear(const struct lm_run *run, struct lm_rows_at at, enum lm_linear_kind kind,
               const lm_real *x, lm_real *y, lm_real *scratch);

/* dx [rows, k] = dy [rows, n] W, plus the adapters' part. */
void lm_linear_back(const struct lm_run *run, struct lm_rows_at at, enum lm_linear_kind kind,
                    const lm_real *dy, lm_real *dx, lm_real *scratch);

/* The adapter of one part: dA += (dy s B)^T x, dB += s dy^T (x A^T), over all rows ascending.
 * x [rows, k], dy [rows, stride ldy]. One thread does it; scratch as above. */
void lm_linear_adapter_grad(const struct lm_run *run, int layer, enum lm_part part, int rows,
                            const lm_real *x, const lm_real *dy, lm_real *da, lm_real *db,
                            lm_real *scratch);

#endif
