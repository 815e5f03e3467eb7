/* Kernels that draw input values by a law. device_law.h says what each kind means. */

/* The random generator is ChaCha with 12 rounds, a 128-bit key and the stream as nonce. One block
 * gives 8 words of 64 bits. A candidate cannot compute the values itself, because it does not know
 * the key. Source: D. J. Bernstein, ChaCha (2008). */
DEVICE u32 rotate(u32 x, u32 n)
{
    return x << n | x >> (32u - n);
}

DEVICE void quarter(u32 *a, u32 *b, u32 *c, u32 *d)
{
    *a += *b, *d = rotate(*d ^ *a, 16);
    *c += *d, *b = rotate(*b ^ *c, 12);
    *a += *b, *d = rotate(*d ^ *a, 8);
    *c += *d, *b = rotate(*b ^ *c, 7);
}

DEVICE void chacha(u64 key0, u64 key1, u64 stream, u64 block, u64 out[8])
{
    u32 k[4] = {(u32)key0, (u32)(key0 >> 32), (u32)key1, (u32)(key1 >> 32)};
    u32 s[16] = {0x61707865u, 0x3120646eu, 0x79622d36u, 0x6b206574u, k[0], k[1], k[2], k[3],
                 k[0],        k[1],        k[2],        k[3],        (u32)block,
                 (u32)(block >> 32),       (u32)stream, (u32)(stream >> 32)};
    u32 x[16];
    for (int i = 0; i < 16; i++) {
        x[i] = s[i];
    }
    for (int round = 0; round < 6; round++) {
        quarter(&x[0], &x[4], &x[8], &x[12]);
        quarter(&x[1], &x[5], &x[9], &x[13]);
        quarter(&x[2], &x[6], &x[10], &x[14]);
        quarter(&x[3], &x[7], &x[11], &x[15]);
        quarter(&x[0], &x[5], &x[10], &x[15]);
        quarter(&x[1], &x[6], &x[11], &x[12]);
        quarter(&x[2], &x[7], &x[8], &x[13]);
        quarter(&x[3], &x[4], &x[9], &x[14]);
    }
    for (int i = 0; i < 8; i++) {
        out[i] = (u64)(x[2 * i] + s[2 * i]) | (u64)(x[2 * i + 1] + s[2 * i + 1]) << 32;
    }
}

struct law { /* as in cuda_law.c; the host draws what is drawn once per tensor */
    u64 key0, key1, stream;
    double a, b, least, top, constant, spike;
    i64 from;
    u64 range, spike_at;
    u32 kind;
    int dtype;
};

/* Values of enum kg_dj_kind. */
#define K_UNIFORM  0
#define K_NORMAL   1
#define K_INTEGER  2
#define K_CONSTANT 3
#define K_HEAVY    4
#define K_SPARSE   5
#define K_OFFSET   6
#define K_SMALL    7
#define K_LARGE    8
#define K_SMALLINT 9
#define K_WIDEINT  10
#define K_EQUAL    11
#define K_SPIKE    12
#define K_BF16     13
#define K_FULL     14

DEVICE double unit_of(u64 bits)
{
    return (double)(i64)(bits >> 11) * 1.1102230246251565e-16;
}

/* Box and Muller's method. u has 32 bits, so a value is at most 6.7 standard deviations. */
DEVICE double normal_of(u64 bits)
{
    double u = ((double)(u32)bits + 0.5) * 2.3283064365386963e-10;
    double v = (double)(u32)(bits >> 32) * 2.3283064365386963e-10;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

DEVICE i64 whole_of(const struct law *l, u64 bits)
{
#ifdef __CUDACC__
    return (i64)((u64)l->from + __umul64hi(bits, l->range));
#else
    return (i64)((u64)l->from + (u64)((unsigned __int128)bits * l->range >> 64));
#endif
}

DEVICE double clamp(double v, double least, double most)
{
    return v >= least ? v <= most ? v : most : least;
}

DEVICE double full_of(int dtype, u64 bits)
{
    u32 digits = dtype == F64 ? 52u : dtype == F32 ? 23u : dtype == BF16 ? 7u : 10u;
    double x = 1 + (double)(i64)(bits << 1 >> (64u - digits) | 1u) / (double)((u64)1 << digits);
    return bits >> 63 ? -x : x;
}

/* Element i of a floating dtype. bits, more: random words of this element. */
DEVICE double value_of(const struct law *l, u64 bits, u64 more, u64 i)
{
    switch (l->kind) {
    case K_NORMAL:
        return l->a + l->b * normal_of(bits);
    case K_INTEGER:
        return (double)whole_of(l, bits);
    case K_CONSTANT:
        return l->a;
    case K_EQUAL:
        return l->constant;
    case K_HEAVY:
        return clamp(normal_of(bits) / sqrt(1 - unit_of(more)), -1e4, 1e4);
    case K_SPARSE:
        return unit_of(more) < 0.95 ? 0 : normal_of(bits);
    case K_OFFSET:
        return normal_of(bits) + 1e3;
    case K_SMALL:
        return normal_of(bits) * 1e-4;
    case K_LARGE:
        return normal_of(bits) * 1e3;
    case K_SMALLINT:
        return floor(unit_of(bits) * 17) - 8;
    case K_WIDEINT:
        return (bits & 1u ? -1 : 1) * (2048 + floor(unit_of(bits) * 2048));
    case K_BF16:
        return float_of_bits((u32)bf16_from_float((float)normal_of(bits)) << 16);
    case K_FULL:
        return full_of(l->dtype, bits);
    default:
        break;
    }
    if (l->kind == K_SPIKE && i == l->spike_at) {
        return l->spike;
    }
    return clamp(l->a + unit_of(bits) * (l->b - l->a), l->least, l->top);
}

DEVICE void store_real(int dtype, void *v, u64 i, double x)
{
    switch (dtype) {
    case F32:
        ((float *)v)[i] = (float)x;
        break;
    case F16:
        ((u16 *)v)[i] = half_from_float((float)x);
        break;
    case BF16:
        ((u16 *)v)[i] = bf16_from_float((float)x);
        break;
    default:
        ((double *)v)[i] = x;
        break;
    }
}

DEVICE void store_whole(int dtype, void *v, u64 i, i64 x, i64 least, i64 most)
{
    x = x < least ? least : x > most ? most : x;
    switch (size_of(dtype)) {
    case 8:
        ((i64 *)v)[i] = x;
        break;
    case 4:
        ((u32 *)v)[i] = (u32)x;
        break;
    case 2:
        ((u16 *)v)[i] = (u16)x;
        break;
    default:
        ((u8 *)v)[i] = (u8)x;
        break;
    }
}

/* Draws dst [n]. least, most: ends of the range of an integer dtype. */
KERNEL void kg_fill(void *dst, u64 n, struct law law, i64 least, i64 most)
{
    u64 bits[8], more[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int two = law.kind == K_HEAVY || law.kind == K_SPARSE, real = floating(law.dtype);
    int fixed = law.kind == K_CONSTANT || law.kind == K_EQUAL;
    for (u64 block = THREAD; block * 8u < n; block += STRIDE) {
        chacha(law.key0, law.key1, law.stream, block * 2u, bits);
        if (real && two) {
            chacha(law.key0, law.key1, law.stream, block * 2u + 1u, more);
        }
        for (u32 k = 0; k < 8u && block * 8u + k < n; k++) {
            u64 i = block * 8u + k;
            if (real) {
                store_real(law.dtype, dst, i, value_of(&law, bits[k], more[k], i));
            } else {
                i64 x = fixed ? (i64)law.constant : whole_of(&law, bits[k]);
                store_whole(law.dtype, dst, i, x, least, most);
            }
        }
    }
}
