#include <stdint.h>

void product_bias(const float *restrict a, const float *restrict b, const float *restrict bias,
                  float *restrict y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            y[i * cols + j] = a[i * cols + j] * b[i * cols + j] + bias[j];
        }
    }
}
