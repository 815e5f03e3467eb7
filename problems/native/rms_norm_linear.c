/*---kgym
name: rms_norm_linear
level: 2
entry: rms_norm_linear
desc: "y = (x / sqrt(mean(x^2 of the row) + eps) * gain) w^T"
dims: {rows: 160, inner: 256, outer: 160}
args:
  - {name: x,     type: "f32[rows,inner]",  role: in}
  - {name: gain,  type: "f32[inner]",       role: in}
  - {name: w,     type: "f32[outer,inner]", role: in}
  - {name: y,     type: "f32[rows,outer]",  role: out}
  - {name: eps,   type: f32, role: param, value: 1e-5}
  - {name: rows,  type: i64, role: dim}
  - {name: inner, type: i64, role: dim}
  - {name: outer, type: i64, role: dim}
reduce: inner
laws: [-equal, -outlier, -smallint, -wideint]
cost:
  flops: "2 * rows * outer * inner + 5 * rows * inner"
  bytes: "4 * (rows * inner + inner + outer * inner + rows * outer)"
---*/
#include "kgops.h"

#include <stdlib.h>

void rms_norm_linear(const real *x, const real *gain, const real *w, real *y, real eps, int64_t rows,
                     int64_t inner, int64_t outer)
{
    real *t = kgops_temp(rows * inner);
    real *norm = kgops_temp(rows * inner);
    real *inv = kgops_temp(rows);
    kgops_mul(x, x, t, rows * inner);
    kgops_row_mean(t, inv, rows, inner);
    kgops_rsqrt(inv, eps, inv, rows);
    kgops_mul_rows(x, inv, t, rows, inner);
    kgops_mul_cols(t, gain, norm, rows, inner);
    kgops_matmul_nt(norm, w, y, rows, outer, inner);
    free(inv);
    free(norm);
    free(t);
}
