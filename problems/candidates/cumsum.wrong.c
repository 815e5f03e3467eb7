#include <stdint.h>

/* Mistake: the columns behind the last block of 16 start from zero again. */
void cumsum(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float *out = y + i * cols;
        float carry = 0;
        int64_t j = 0;
        for (; j + 16 <= cols; j += 16) {
            for (int64_t l = 0; l < 16; l++) {
                carry += in[j + l];
                out[j + l] = carry;
            }
        }
        float s = 0;
        for (; j < cols; j++) {
            s += in[j];
            out[j] = s;
        }
    }
}
