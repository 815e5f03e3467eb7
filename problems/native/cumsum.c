/*---kgym
name: cumsum
level: 1
entry: cumsum
desc: "y[i, j] = x[i, 0] + ... + x[i, j]"
dims: {rows: 640, cols: 768}
args:
  - {name: x,    type: "f32[rows,cols]", role: in}
  - {name: y,    type: "f32[rows,cols]", role: out}
  - {name: rows, type: i64, role: dim}
  - {name: cols, type: i64, role: dim}
reduce: cols
cost: {flops: "rows * cols", bytes: "8 * rows * cols"}
---*/
#include "kgops.h"

void cumsum(const real *x, real *y, int64_t rows, int64_t cols)
{
    kgops_cumsum(x, y, rows, cols);
}
