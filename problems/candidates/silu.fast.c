#include <stdint.h>
#include <string.h>

typedef float v16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t v16i __attribute__((vector_size(64), aligned(4), may_alias));

/* exp(x) to about 2 ulp: 2^n * p(r). 2^n in two steps, so that both ends are right. */
static inline v16 vexp(v16 x)
{
    const v16 magic = (v16){} + 12582912.0f;
    v16i low = x < -104.0f, high = x > 89.0f;
    v16i bits = (~(low | high) & (v16i)x) | (low & (v16i)((v16){} - 104.0f)) |
                (high & (v16i)((v16){} + 89.0f));
    x = (v16)bits;
    v16 shifted = x * 1.44269504f + magic;
    v16 n = shifted - magic;
    v16 r = x - n * 0.693359375f + n * 2.12194440e-4f;
    v16 p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    v16i e = (v16i)shifted - (v16i)magic, half = e >> 1;
    return p * (v16)((half + 127) << 23) * (v16)((e - half + 127) << 23);
}

static inline v16 vsilu(v16 x)
{
    return x / (1.0f + vexp(-x));
}

void silu(const float *x, float *y, int64_t n)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        *(v16 *)(y + i) = vsilu(*(const v16 *)(x + i));
    }
    if (i < n) {
        v16 t = {};
        memcpy(&t, x + i, (size_t)(n - i) * 4);
        t = vsilu(t);
        memcpy(y + i, &t, (size_t)(n - i) * 4);
    }
}
