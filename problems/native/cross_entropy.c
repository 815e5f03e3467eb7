/*---kgym
name: cross_entropy
level: 2
entry: cross_entropy
desc: "loss[i] = log(sum(exp(logits[i, :]))) - logits[i, label[i]]"
dims: {rows: 384, classes: 1000}
args:
  - {name: logits,  type: "f32[rows,classes]", role: in}
  - {name: label,   type: "i32[rows]",         role: in, range: [0, classes]}
  - {name: loss,    type: "f32[rows]",         role: out}
  - {name: rows,    type: i64, role: dim}
  - {name: classes, type: i64, role: dim}
reduce: classes
laws: [-offset, -piecewise, -wideint]
cost: {flops: "4 * rows * classes", bytes: "4 * rows * classes + 8 * rows"}
---*/
#include "kgops.h"

#include <stdlib.h>

void cross_entropy(const real *logits, const int32_t *label, real *loss, int64_t rows,
                   int64_t classes)
{
    real *logp = kgops_temp(rows * classes);
    kgops_log_softmax(logits, logp, rows, classes);
    kgops_nll(logp, label, loss, rows, classes);
    free(logp);
}
