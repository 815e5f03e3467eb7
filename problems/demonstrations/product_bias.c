/*---kgym
name: product_bias
level: 2
entry: product_bias
desc: "y[i, j] = a[i, j] * b[i, j] + bias[j]"
dims: {rows: 512, cols: 600}
args:
  - {name: a,    type: "f32[rows,cols]", role: in}
  - {name: b,    type: "f32[rows,cols]", role: in}
  - {name: bias, type: "f32[cols]",      role: in}
  - {name: y,    type: "f32[rows,cols]", role: out}
  - {name: rows, type: i64, role: dim}
  - {name: cols, type: i64, role: dim}
reduce: 1
cost: {flops: "2 * rows * cols", bytes: "12 * rows * cols"}
---*/
#include "kgops.h"

#include <stdlib.h>

void product_bias(const real *a, const real *b, const real *bias, real *y, int64_t rows, int64_t cols)
{
    real *t = kgops_temp(rows * cols);
    kgops_mul(a, b, t, rows * cols);
    kgops_add_cols(t, bias, y, rows, cols);
    free(t);
}
