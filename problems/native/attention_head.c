/*---kgym
name: attention_head
level: 3
entry: attention_head
desc: "causal attention: y = softmax(scale * q k^T, only keys j <= query i) v"
dims: {seq: 240, dim: 64}
args:
  - {name: q,     type: "f32[seq,dim]", role: in, range: [-2, 2]}
  - {name: k,     type: "f32[seq,dim]", role: in, range: [-2, 2]}
  - {name: v,     type: "f32[seq,dim]", role: in}
  - {name: y,     type: "f32[seq,dim]", role: out}
  - {name: scale, type: f32, role: param, value: 1 / sqrt(dim)}
  - {name: seq,   type: i64, role: dim}
  - {name: dim,   type: i64, role: dim}
reduce: seq + dim
laws: [-equal, -offset, -outlier]
cost: {flops: "4 * seq * seq * dim + 5 * seq * seq", bytes: "16 * seq * dim"}
---*/
#include "kgops.h"

#include <stdlib.h>

void attention_head(const real *q, const real *k, const real *v, real *y, real scale, int64_t seq,
                    int64_t dim)
{
    real *score = kgops_temp(seq * seq);
    real *weight = kgops_temp(seq * seq);
    kgops_matmul_nt(q, k, score, seq, seq, dim);
    kgops_scale(score, scale, score, seq * seq);
    kgops_causal_mask(score, score, seq, seq);
    kgops_softmax(score, weight, seq, seq);
    kgops_matmul(weight, v, y, seq, dim, seq);
    free(weight);
    free(score);
}
