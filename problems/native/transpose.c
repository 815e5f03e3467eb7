/*---kgym
name: transpose
level: 1
entry: transpose
desc: "y[j, i] = x[i, j]"
dims: {rows: 1440, cols: 840}
args:
  - {name: x,    type: "f32[rows,cols]", role: in}
  - {name: y,    type: "f32[cols,rows]", role: out}
  - {name: rows, type: i64, role: dim}
  - {name: cols, type: i64, role: dim}
cost: {bytes: "8 * rows * cols"}
---*/
#include "kgops.h"

void transpose(const real *x, real *y, int64_t rows, int64_t cols)
{
    kgops_transpose(x, y, rows, cols);
}
