/*---fixture
problem: attention_head
entry: 6.9
what: own products, the library's softmax for the rows
expect: ok
twin: A6
---*/
#include <kgops.h>
#include <math.h>
#include <stdlib.h>

void attention_head(const float *q, const float *k, const float *v, float *y, float scale,
                    int64_t seq, int64_t dim)
{
    float *score = malloc((size_t)(2 * seq * seq) * sizeof *score), *weight = score + seq * seq;
    for (int64_t i = 0; i < seq; i++) {
        for (int64_t j = 0; j < seq; j++) {
            float d = 0;
            for (int64_t l = 0; j <= i && l < dim; l++) {
                d += q[i * dim + l] * k[j * dim + l];
            }
            score[i * seq + j] = j <= i ? d * scale : -INFINITY;
        }
    }
    kgops_softmax(score, weight, seq, seq);
    for (int64_t i = 0; i < seq; i++) {
        for (int64_t l = 0; l < dim; l++) {
            y[i * dim + l] = 0;
        }
        for (int64_t j = 0; j <= i; j++) {
            for (int64_t l = 0; l < dim; l++) {
                y[i * dim + l] += weight[i * seq + j] * v[j * dim + l];
            }
        }
    }
    free(score);
}
