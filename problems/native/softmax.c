/*---kgym
name: softmax
level: 1
entry: softmax
desc: "y[i, :] = exp(x[i, :]) / sum(exp(x[i, :])), without overflow for large x"
dims: {rows: 384, cols: 1000}
args:
  - {name: x,    type: "f32[rows,cols]", role: in}
  - {name: y,    type: "f32[rows,cols]", role: out}
  - {name: rows, type: i64, role: dim}
  - {name: cols, type: i64, role: dim}
# A plain sequential sum of one sign errs up to 4 times as much as the square-root law says.
reduce: 16 * cols
laws: [-heavy, -piecewise, -sparse]
cost: {flops: "5 * rows * cols", bytes: "8 * rows * cols"}
---*/
#include "kgops.h"

void softmax(const real *x, real *y, int64_t rows, int64_t cols)
{
    kgops_softmax(x, y, rows, cols);
}
