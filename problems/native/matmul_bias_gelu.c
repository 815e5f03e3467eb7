/*---kgym
name: matmul_bias_gelu
level: 2
entry: matmul_bias_gelu
desc: "y = gelu(x w + bias), gelu(v) = v / 2 * (1 + erf(v / sqrt(2)))"
dims: {rows: 128, cols: 256, inner: 160}
args:
  - {name: x,     type: "f32[rows,inner]", role: in}
  - {name: w,     type: "f32[inner,cols]", role: in}
  - {name: bias,  type: "f32[cols]",       role: in}
  - {name: y,     type: "f32[rows,cols]",  role: out}
  - {name: rows,  type: i64, role: dim}
  - {name: cols,  type: i64, role: dim}
  - {name: inner, type: i64, role: dim}
reduce: inner
laws: [-equal, -outlier]
cost:
  flops: "2 * rows * cols * inner + 10 * rows * cols"
  bytes: "4 * (rows * inner + inner * cols + cols + rows * cols)"
---*/
#include "kgops.h"

#include <stdlib.h>

void matmul_bias_gelu(const real *x, const real *w, const real *bias, real *y, int64_t rows,
                      int64_t cols, int64_t inner)
{
    real *product = kgops_temp(rows * cols);
    real *shifted = kgops_temp(rows * cols);
    kgops_matmul(x, w, product, rows, cols, inner);
    kgops_add_cols(product, bias, shifted, rows, cols);
    kgops_gelu(shifted, y, rows * cols);
    free(shifted);
    free(product);
}
