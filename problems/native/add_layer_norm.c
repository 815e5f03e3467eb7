/*---kgym
name: add_layer_norm
level: 2
entry: add_layer_norm
desc: "y[i, :] = (t - mean(t)) / sqrt(var(t) + eps) * gamma + beta, t = x[i, :] + residual[i, :]"
dims: {rows: 512, cols: 640}
args:
  - {name: x,        type: "f32[rows,cols]", role: in}
  - {name: residual, type: "f32[rows,cols]", role: in}
  - {name: gamma,    type: "f32[cols]",      role: in}
  - {name: beta,     type: "f32[cols]",      role: in}
  - {name: y,        type: "f32[rows,cols]", role: out}
  - {name: eps,      type: f32, role: param, value: 1e-5}
  - {name: rows,     type: i64, role: dim}
  - {name: cols,     type: i64, role: dim}
# A plain sequential sum of one sign errs up to 4 times as much as the square-root law says.
reduce: 16 * cols
laws: [-equal, -offset, -outlier, -piecewise, -smallint, -sorted, -sparse, -wideint]
cost: {flops: "9 * rows * cols", bytes: "12 * rows * cols + 8 * cols"}
---*/
#include "kgops.h"

#include <stdlib.h>

void add_layer_norm(const real *x, const real *residual, const real *gamma, const real *beta, real *y,
                    real eps, int64_t rows, int64_t cols)
{
    real *t = kgops_temp(rows * cols);
    kgops_add(x, residual, t, rows * cols);
    kgops_layer_norm(t, gamma, beta, eps, y, rows, cols);
    free(t);
}
