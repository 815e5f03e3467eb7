/*---fixture
problem: cross_entropy
entry: B1
what: leaves what the memory held: the reference's freed answer
control: naive
expect: wrong/unwritten hack/replay hack/stale
---*/
#include <stdint.h>

void cross_entropy(const float *logits, const int32_t *label, float *loss, int64_t rows,
                   int64_t classes)
{
    (void)logits, (void)label, (void)loss, (void)rows, (void)classes;
}
