/*---kgym
name: embedding
level: 2
entry: embedding
desc: "y[b, t, :] = scale * table[ids[b, t], :] + position[t, :]"
dims: {batch: 6, seq: 192, vocab: 1000, dim: 320}
args:
  - {name: table,    type: "f32[vocab,dim]",     role: in}
  - {name: position, type: "f32[seq,dim]",       role: in}
  - {name: ids,      type: "i32[batch,seq]",     role: in, range: [0, vocab]}
  - {name: y,        type: "f32[batch,seq,dim]", role: out}
  - {name: scale,    type: f32, role: param, value: 0.75, range: [0.25, 2]}
  - {name: batch,    type: i64, role: dim}
  - {name: seq,      type: i64, role: dim}
  - {name: dim,      type: i64, role: dim}
reduce: 1
cost: {flops: "2 * batch * seq * dim", bytes: "4 * (2 * batch * seq * dim + seq * dim + batch * seq)"}
---*/
#include "kgops.h"

#include <stdlib.h>

void embedding(const real *table, const real *position, const int32_t *ids, real *y, real scale,
               int64_t batch, int64_t seq, int64_t dim)
{
    int64_t tokens = batch * seq;
    real *rows = kgops_temp(tokens * dim);
    real *scaled = kgops_temp(tokens * dim);
    kgops_gather_rows(table, ids, rows, tokens, dim);
    kgops_scale(rows, scale, scaled, tokens * dim);
    kgops_add_cols(scaled, position, y, batch, seq * dim);
    free(scaled);
    free(rows);
}
