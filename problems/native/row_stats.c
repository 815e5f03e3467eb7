/*---kgym
name: row_stats
level: 1
entry: row_stats
desc: "mean and variance (divided by cols, not cols - 1) of every row"
dims: {rows: 768, cols: 768}
args:
  - {name: x,    type: "f32[rows,cols]", role: in}
  - {name: mean, type: "f32[rows]",      role: out}
  - {name: var,  type: "f32[rows]",      role: out}
  - {name: rows, type: i64, role: dim}
  - {name: cols, type: i64, role: dim}
# A plain sequential sum of one sign errs up to 4 times as much as the square-root law says.
reduce: 16 * cols
laws: [-equal, -outlier, -piecewise]
cost: {flops: "4 * rows * cols", bytes: "4 * rows * cols + 8 * rows"}
---*/
#include "kgops.h"

#include <stdlib.h>

void row_stats(const real *x, real *mean, real *var, int64_t rows, int64_t cols)
{
    real *d = kgops_temp(rows * cols);
    kgops_row_mean(x, mean, rows, cols);
    kgops_sub_rows(x, mean, d, rows, cols);
    kgops_mul(d, d, d, rows * cols);
    kgops_row_mean(d, var, rows, cols);
    free(d);
}
