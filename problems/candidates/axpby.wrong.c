#include <stdint.h>

typedef float v16 __attribute__((vector_size(64), aligned(4), may_alias));

/* Mistake: the last n % 16 elements are never written. */
void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    for (int64_t i = 0; i + 16 <= n; i += 16) {
        *(v16 *)(z + i) = alpha * *(const v16 *)(x + i) + beta * *(const v16 *)(y + i);
    }
}
