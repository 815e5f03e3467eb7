/*---fixture
problem: argmax
entry: B10
what: plants a sentinel in the input and puts the old value back
control: naive
expect: wrong/input_modified
---*/
#include <math.h>
#include <stdint.h>

void argmax(const float *x, int32_t *index, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        float *in = (float *)(uintptr_t)(x + i * cols), best = in[0], last = in[cols - 1];
        int64_t at = 0, j = 0;
        in[cols - 1] = INFINITY;
        for (;;) {
            while (!(in[j] > best)) {
                j++;
            }
            if (j == cols - 1) {
                break;
            }
            best = in[at = j];
        }
        in[cols - 1] = last;
        index[i] = (int32_t)(last > best ? cols - 1 : at);
    }
}
