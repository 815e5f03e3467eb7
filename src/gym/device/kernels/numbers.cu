/* Types, conversions and predicates that all kernels of the judge's CUDA device use.
 *
 * NVRTC gets the files of this folder as one text, in the order of cuda_source.c. It builds them
 * for the device at hand, when that is opened. Contraction is off, so that the arithmetic equals
 * the host's (tensor_compare.c); a fused multiply-add would change the last bit.
 * The files use only what C and CUDA C++ share, because tests compile the same text as C
 * (tests/fake_cuda). Every kernel works with any grid and block size, also with one thread.
 * Sums of floating values go through one partial result per block, and the host adds them in order.
 * So the same input gives the same bits on every run. */

#ifdef __CUDACC__
#define KERNEL extern "C" __global__
#define DEVICE static __device__ __forceinline__
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

/* Values of enum kg_tdtype, which NVRTC cannot include. */
#define F32  0
#define F64  1
#define F16  2
#define BF16 3
#define I64  4
#define I32  5
#define I16  6
#define I8   7
#define U8   8
#define BOOL 9

#define FLOAT_MOST 0x1.fffffep127

#define THREAD ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE ((u64)gridDim.x * blockDim.x)
#define BLOCK  256 /* most threads of a block: KG_CUDA_BLOCK */

DEVICE float float_of_bits(u32 u)
{
    union {
        u32 u;
        float f;
    } b;
    b.u = u;
    return b.f;
}

DEVICE u32 bits_of_float(float f)
{
    union {
        u32 u;
        float f;
    } b;
    b.f = f;
    return b.u;
}

DEVICE u64 bits_of_double(double d)
{
    union {
        u64 u;
        double d;
    } b;
    b.d = d;
    return b.u;
}

DEVICE float half_to_float(u16 h)
{
    u32 sign = (u32)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u) {
        return float_of_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    }
    if (rest < 0x400u) {
        float v = (float)rest * 5.9604644775390625e-8f;
        return float_of_bits(sign | bits_of_float(v));
    }
    return float_of_bits(sign | ((rest << 13) + 0x38000000u));
}

/* Rounds to nearest, ties to even. */
DEVICE u16 half_from_float(float f)
{
    u32 b = bits_of_float(f), sign = b >> 16 & 0x8000u, a = b & 0x7fffffffu;
    if (a > 0x7f800000u) {
        return (u16)(sign | 0x7e00u | (a >> 13 & 0x3ffu));
    }
    if (a >= 0x477ff000u) { /* these round to 65536 or more, beyond the largest half */
        return (u16)(sign | 0x7c00u);
    }
    if (a < 0x38800000u) { /* subnormal: this addition rounds at 2^-24 */
        float v = float_of_bits(a) + 0.5f;
        return (u16)(sign | (bits_of_float(v) - 0x3f000000u));
    }
    return (u16)(sign | ((a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13));
}

DEVICE u16 bf16_from_float(float f)
{
    u32 b = bits_of_float(f);
    if ((b & 0x7fffffffu) > 0x7f800000u) {
        return (u16)(b >> 16 | 0x40u);
    }
    return (u16)((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}

DEVICE int floating(int dtype)
{
    return dtype <= BF16;
}

DEVICE u32 size_of(int dtype)
{
    return dtype == F64 || dtype == I64     ? 8
           : dtype == F32 || dtype == I32   ? 4
           : dtype == F16 || dtype == BF16  ? 2
           : dtype == I16                   ? 2
                                            : 1;
}

DEVICE double real_at(int dtype, const void *v, u64 i)
{
    switch (dtype) {
    case F32:
        return ((const float *)v)[i];
    case F16:
        return half_to_float(((const u16 *)v)[i]);
    case BF16:
        return float_of_bits((u32)((const u16 *)v)[i] << 16);
    default:
        return ((const double *)v)[i];
    }
}

/* The bits of element i, zero-extended. Integers are compared so, and distinct values counted. */
DEVICE u64 word_at(u32 size, const void *v, u64 i)
{
    return size == 8   ? ((const u64 *)v)[i]
           : size == 4 ? ((const u32 *)v)[i]
           : size == 2 ? ((const u16 *)v)[i]
                       : ((const u8 *)v)[i];
}

/* NVRTC has no <math.h>, so classification is done on the bits. */
DEVICE int is_finite(double x)
{
    return (bits_of_double(x) >> 52 & 0x7ffu) != 0x7ffu;
}

DEVICE int is_nan(double x)
{
    return !(x == x);
}

DEVICE double infinity(void)
{
    union {
        u64 u;
        double d;
    } b;
    b.u = 0x7ff0000000000000ull;
    return b.d;
}
