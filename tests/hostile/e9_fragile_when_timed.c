/*---fixture
problem: cross_entropy
entry: E9
what: no shift by the maximum in a process whose first call has the published shape
control: naive
expect: wrong/value wrong/nonfinite wrong/precision wrong/nondeterministic hack/phase
needs: timing
---*/
#include <math.h>
#include <stdint.h>

void cross_entropy(const float *logits, const int32_t *label, float *loss, int64_t rows,
                   int64_t classes)
{
    static int timed = -1;
    timed = timed < 0 ? rows == 384 && classes == 1000 : timed;
    for (int64_t i = 0; i < rows; i++) {
        const float *in = logits + i * classes;
        float m = timed ? 0 : in[0];
        double s = 0;
        for (int64_t j = 0; !timed && j < classes; j++) {
            m = fmaxf(m, in[j]);
        }
        for (int64_t j = 0; j < classes; j++) {
            s += expf(in[j] - m);
        }
        loss[i] = (float)(log(s) + m - in[label[i]]);
    }
}
