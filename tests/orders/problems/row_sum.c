/*---kgym
name: row_sum
level: 1
entry: row_sum
desc: "sum of every row"
dims: {rows: 512, cols: 1024}
args:
  - {name: x,    type: "f32[rows,cols]", role: in}
  - {name: y,    type: "f32[rows]",      role: out}
  - {name: rows, type: i64, role: dim}
  - {name: cols, type: i64, role: dim}
---*/
#include <stdint.h>

/* In 16 partial sums, as libraries add: its own error is small, and says little of one
 * accumulator's. */
void row_sum(const real *x, real *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        real lane[16] = {0}, s = 0;
        for (int64_t j = 0; j < cols; j++) {
            lane[j % 16] += x[i * cols + j];
        }
        for (int l = 0; l < 16; l++) {
            s += lane[l];
        }
        y[i] = s;
    }
}
