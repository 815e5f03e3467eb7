/* The fast path for the laws UNIFORM and NORMAL of f32, f16 and bf16. One ChaCha block gives 16
 * values of 32 random bits each, computed in single precision. */

/* UNIFORM. The value is a weighted sum of both ends, because b - a could overflow. */
DEVICE float uniform_of(const struct law *l, u32 bits)
{
    float u = (float)(bits >> 8) * 5.9604644775390625e-8f;
    float least = (float)l->least, top = (float)l->top;
    float x = (1 - u) * (float)l->a + u * (float)l->b;
    return x >= least ? x <= top ? x : top : least;
}

/* NORMAL, by Box and Muller's method: one radius (at most 6.8) with the cosine and the sine of one
 * angle. The angle is an odd multiple of pi / 2^23, so neither is ever zero. */
DEVICE void normals_of(const struct law *l, u64 bits, float *one, float *two)
{
    float u = ((float)(u32)bits + 0.5f) * 2.3283064365386963e-10f;
    float angle = (float)((u32)(bits >> 40) | 1u) * 1.1920928955078125e-7f;
    float radius = sqrtf(-2 * logf(u)), x, y;
#ifdef __CUDACC__
    sincospif(angle, &y, &x);
#else
    x = cosf(3.14159265f * angle);
    y = sinf(3.14159265f * angle);
#endif
    *one = (float)l->a + (float)l->b * (radius * x);
    *two = (float)l->a + (float)l->b * (radius * y);
}

/* The bits of x as a value of dtype. */
DEVICE u64 narrow_bits(int dtype, float x)
{
    return dtype == F32 ? bits_of_float(x) : dtype == F16 ? half_from_float(x) : bf16_from_float(x);
}

/* Draws dst [n]. Block c gives `size` vectors of 16 bytes: c/256*256*size + c%256 + 256*k. So
 * neighbouring threads store side by side. */
KERNEL void kg_fill_narrow(u64 dst, u64 n, struct law law)
{
    u32 size = size_of(law.dtype), each = size == 4u ? 2u : 4u; /* values in 8 bytes */
    u64 bytes = n * size, groups = (n + 4095u) / 4096u;
    for (u64 c = THREAD; c < groups * 256u; c += STRIDE) {
        u64 first = c / 256u * 256u * size + c % 256u, words[8];
        float v[16];
        if (first * 16u >= bytes) {
            continue;
        }
        chacha(law.key0, law.key1, law.stream, c, words);
        for (u32 k = 0; k < 8u; k++) {
            if (law.kind == K_NORMAL) {
                normals_of(&law, words[k], &v[2 * k], &v[2 * k + 1]);
            } else {
                v[2 * k] = uniform_of(&law, (u32)words[k]);
                v[2 * k + 1] = uniform_of(&law, (u32)(words[k] >> 32));
            }
        }
        for (u32 k = 0; k < 8u; k++) { /* pack in place */
            words[k] = 0;
        }
        for (u32 k = 0; k < 16u; k++) {
            u64 x = narrow_bits(law.dtype, v[k]);
            if (each == 2u) {
                words[k / 2u] |= x << (k % 2u * 32u);
            } else {
                words[k / 4u] |= x << (k % 4u * 16u);
            }
        }
        for (u32 k = 0; k < 4u; k++) {
            u64 from = (first + 256u * k) * 16u;
            if (k < size && from < bytes) {
                vector_put(dst + from, bytes - from, words[2 * k], words[2 * k + 1]);
            }
        }
    }
}
