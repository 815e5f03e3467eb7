#include <stdint.h>

/* Mistake: only whole 16 x 16 blocks are moved. */
void transpose(const float *restrict x, float *restrict y, int64_t rows, int64_t cols)
{
    for (int64_t bi = 0; bi < rows / 16; bi++) {
        for (int64_t bj = 0; bj < cols / 16; bj++) {
            for (int64_t j = bj * 16; j < bj * 16 + 16; j++) {
                for (int64_t i = bi * 16; i < bi * 16 + 16; i++) {
                    y[j * rows + i] = x[i * cols + j];
                }
            }
        }
    }
}
