/*---kgym
name: matmul
level: 1
entry: matmul
desc: "c = a b"
dims: {m: 160, n: 224, k: 192}
args:
  - {name: a, type: "f32[m,k]", role: in}
  - {name: b, type: "f32[k,n]", role: in}
  - {name: c, type: "f32[m,n]", role: out}
  - {name: m, type: i64, role: dim}
  - {name: n, type: i64, role: dim}
  - {name: k, type: i64, role: dim}
reduce: k
laws: [-equal, -outlier]
cost: {flops: "2 * m * n * k", bytes: "4 * (m * k + k * n + m * n)"}
---*/
#include "kgops.h"

void matmul(const real *a, const real *b, real *c, int64_t m, int64_t n, int64_t k)
{
    kgops_matmul(a, b, c, m, n, k);
}
