/*---kgym
name: row_norm
level: 1
entry: row_norm
desc: "length of every row: the square root of its sum of squares"
dims: {rows: 320, cols: 1500}
args:
  - {name: x,    type: "f32[rows,cols]", role: in}
  - {name: y,    type: "f32[rows]",      role: out}
  - {name: rows, type: i64, role: dim}
  - {name: cols, type: i64, role: dim}
---*/
#include <stdint.h>
#include <tgmath.h>

void row_norm(const real *x, real *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        real s = 0;
        for (int64_t j = 0; j < cols; j++) {
            s += x[i * cols + j] * x[i * cols + j];
        }
        y[i] = sqrt(s);
    }
}
