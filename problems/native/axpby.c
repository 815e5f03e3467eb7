/*---kgym
name: axpby
level: 1
entry: axpby
desc: "z = alpha * x + beta * y"
dims: {n: 1310720}
args:
  - {name: x,     type: "f32[n]", role: in}
  - {name: y,     type: "f32[n]", role: in}
  - {name: z,     type: "f32[n]", role: out}
  - {name: alpha, type: f32, role: param, value: 1.25, range: [-2, 2]}
  - {name: beta,  type: f32, role: param, value: -0.375, range: [-2, 2]}
  - {name: n,     type: i64, role: dim}
cost: {flops: "3 * n", bytes: "12 * n"}
---*/
#include "kgops.h"

#include <stdlib.h>

void axpby(const real *x, const real *y, real *z, real alpha, real beta, int64_t n)
{
    real *ax = kgops_temp(n);
    real *by = kgops_temp(n);
    kgops_scale(x, alpha, ax, n);
    kgops_scale(y, beta, by, n);
    kgops_add(ax, by, z, n);
    free(by);
    free(ax);
}
