/*---kgym
name: argmax
level: 1
entry: argmax
desc: "column of the largest element of every row; of equal ones, the first"
dims: {rows: 800, cols: 1000}
args:
  - {name: x,     type: "f32[rows,cols]", role: in}
  - {name: index, type: "i32[rows]",      role: out}
  - {name: rows,  type: i64, role: dim}
  - {name: cols,  type: i64, role: dim}
cost: {flops: "rows * cols", bytes: "4 * rows * cols + 4 * rows"}
---*/
#include "kgops.h"

void argmax(const real *x, int32_t *index, int64_t rows, int64_t cols)
{
    kgops_argmax(x, index, rows, cols);
}
