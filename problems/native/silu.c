/*---kgym
name: silu
level: 1
entry: silu
desc: "y = x * sigmoid(x), sigmoid(x) = 1 / (1 + exp(-x))"
dims: {n: 524288}
args:
  - {name: x, type: "f32[n]", role: in}
  - {name: y, type: "f32[n]", role: out}
  - {name: n, type: i64, role: dim}
cost: {flops: "4 * n", bytes: "8 * n"}
---*/
#include "kgops.h"

#include <stdlib.h>

void silu(const real *x, real *y, int64_t n)
{
    real *gate = kgops_temp(n);
    kgops_sigmoid(x, gate, n);
    kgops_mul(x, gate, y, n);
    free(gate);
}
