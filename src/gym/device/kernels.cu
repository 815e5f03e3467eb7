/* Kernels of the judge's CUDA device. Built by NVRTC when a device is opened, for that device, with
 * contraction off, so that the arithmetic is that of the host (compare.c). Keeps to what C and CUDA
 * C++ share and to any block and grid size, one thread included: tests run this very file on the
 * host (tests/fake_cuda/).
 *
 * Every sum over threads goes through an array of partial results, one per block, which the host
 * adds in order: the same input gives the same bits. */

#ifdef __CUDACC__
#define KERNEL extern "C" __global__
#define DEVICE static __device__ __forceinline__
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

/* enum kg_tdtype */
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

#define THREAD ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE ((u64)gridDim.x * blockDim.x)
#define BLOCK  256 /* most threads of a block */

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

/* Round to nearest even. */
DEVICE u16 half_from_float(float f)
{
    u32 b = bits_of_float(f), sign = b >> 16 & 0x8000u, a = b & 0x7fffffffu;
    if (a > 0x7f800000u) {
        return (u16)(sign | 0x7e00u | (a >> 13 & 0x3ffu));
    }
    if (a >= 0x477ff000u) { /* rounds to 65536 or more */
        return (u16)(sign | 0x7c00u);
    }
    if (a < 0x38800000u) { /* subnormal: let the adder round at 2^-24 */
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

/* The bits of an element, zero-extended: equality, and distinct values. */
DEVICE u64 word_at(u32 size, const void *v, u64 i)
{
    return size == 8   ? ((const u64 *)v)[i]
           : size == 4 ? ((const u32 *)v)[i]
           : size == 2 ? ((const u16 *)v)[i]
                       : ((const u8 *)v)[i];
}

/* NVRTC has no <math.h>. */
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

/* ---- patterns: poison and guards -------------------------------------------------------------- */

DEVICE u8 pattern_byte(u64 word, u64 address)
{
    return (u8)(word >> ((address & 7u) * 8u));
}

KERNEL void kg_pattern(u64 at, u64 bytes, u64 word)
{
    u64 head = (8u - (at & 7u)) & 7u, n;
    head = head < bytes ? head : bytes;
    n = (bytes - head) / 8u;
    for (u64 i = THREAD; i < n; i += STRIDE) {
        ((u64 *)(at + head))[i] = word;
    }
    if (THREAD == 0) {
        for (u64 i = 0; i < head; i++) {
            ((u8 *)at)[i] = pattern_byte(word, at + i);
        }
        for (u64 i = head + n * 8u; i < bytes; i++) {
            ((u8 *)at)[i] = pattern_byte(word, at + i);
        }
    }
}

#define SPANS 64
struct spans {
    u64 at[SPANS], bytes[SPANS];
};

/* The last block of a grid, in thread 0: what all blocks did before is done. *finished is zero before
 * and after. */
DEVICE int last_block(u32 *finished)
{
    if (threadIdx.x != 0) {
        return 0;
    }
    __threadfence();
    if (atomicAdd(finished, 1u) != gridDim.x * gridDim.y - 1u) {
        return 0;
    }
    __threadfence();
    *finished = 0;
    return 1;
}

/* *out: how many spans (y of the grid) there are from the first on that does not hold the pattern,
 * 0: all do. Written by the last block, into memory that the host sees. *most is zero before and
 * after. */
KERNEL void kg_check(struct spans span, u64 word, u64 *most, u32 *finished, u64 *out)
{
    u32 s = blockIdx.y;
    u64 at = span.at[s], bytes = span.bytes[s], head = (8u - (at & 7u)) & 7u, n;
    int differs = 0;
    head = head < bytes ? head : bytes;
    n = (bytes - head) / 8u;
    for (u64 i = THREAD; i < n; i += STRIDE) {
        differs |= ((const u64 *)(at + head))[i] != word;
    }
    if (THREAD == 0) {
        for (u64 i = 0; i < head; i++) {
            differs |= ((const u8 *)at)[i] != pattern_byte(word, at + i);
        }
        for (u64 i = head + n * 8u; i < bytes; i++) {
            differs |= ((const u8 *)at)[i] != pattern_byte(word, at + i);
        }
    }
    if (differs) {
        atomicMax(most, (u64)(gridDim.y - s));
    }
    __syncthreads();
    if (last_block(finished)) {
        *out = atomicExch(most, 0ull);
        __threadfence_system();
    }
}

/* The pattern's bits where element i of a tensor at `address` is. */
DEVICE u64 pattern_element(u64 word, u64 address, u32 size)
{
    u64 w = 0;
    for (u32 k = 0; k < size; k++) {
        w |= (u64)pattern_byte(word, address + k) << (8u * k);
    }
    return w;
}

/* Elements of v [n] that hold what the pattern has at their place, were v at `phase`. Only those in
 * a run of at least `run` such elements count. */
KERNEL void kg_unwritten(const void *v, u64 n, u32 size, u64 phase, u64 word, u32 run, u64 *count)
{
    u64 found = 0;
    for (u64 i = THREAD; i < n; i += STRIDE) {
        u32 length = 1;
        if (word_at(size, v, i) != pattern_element(word, phase + i * size, size)) {
            continue;
        }
        for (u64 k = i; length < run && k > 0; k--, length++) {
            if (word_at(size, v, k - 1) != pattern_element(word, phase + (k - 1) * size, size)) {
                break;
            }
        }
        for (u64 k = i + 1; length < run && k < n; k++, length++) {
            if (word_at(size, v, k) != pattern_element(word, phase + k * size, size)) {
                break;
            }
        }
        found += length >= run;
    }
    if (found > 0) {
        atomicAdd(count, found);
    }
}

/* ---- digests ---------------------------------------------------------------------------------- */

/* A digest is a sum over cells of CELL vectors of 16 bytes, each hashed on from a start that is
 * keyed with its place, so it does not depend on how cells are dealt to threads. Two lanes of 64
 * bits. The key is secret to the judge and digests never leave it: chance is the only enemy. */
#define CELL 4
#define MUL0 0x9fb21c651e98df25ull
#define MUL1 0xd6e8feb86659fd93ull

DEVICE u64 step(u64 h, u64 w, u64 mul)
{
    h = (h ^ w) * mul;
    return h ^ h >> 29;
}

/* One load, never made twice: a runner may write there. */
DEVICE void load16(u64 at, u64 *lo, u64 *hi)
{
#ifdef __CUDACC__
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(*lo), "=l"(*hi) : "l"(at));
#else
    *lo = ((const volatile u64 *)at)[0];
    *hi = ((const volatile u64 *)at)[1];
#endif
}

DEVICE int whole_vector(u64 at, u64 left)
{
    return (at & 15u) == 0 && left >= 16u;
}

/* 16 bytes at any address; bytes past `left` are zero. */
DEVICE void vector_at(u64 at, u64 left, u64 *lo, u64 *hi)
{
    *lo = *hi = 0;
    if (whole_vector(at, left)) {
        load16(at, lo, hi);
        return;
    }
    for (u32 k = 0; k < 16u && k < left; k++) {
        u64 b = (u64)((const volatile u8 *)at)[k] << (8u * (k & 7u));
        *lo |= k < 8u ? b : 0;
        *hi |= k < 8u ? 0 : b;
    }
}

/* Of 16 bytes the first `left`. */
DEVICE void vector_put(u64 at, u64 left, u64 lo, u64 hi)
{
    if (whole_vector(at, left)) {
#ifdef __CUDACC__
        *(ulonglong2 *)at = make_ulonglong2(lo, hi);
#else
        ((u64 *)at)[0] = lo;
        ((u64 *)at)[1] = hi;
#endif
        return;
    }
    for (u32 k = 0; k < 16u && k < left; k++) {
        ((u8 *)at)[k] = (u8)((k < 8u ? lo : hi) >> (8u * (k & 7u)));
    }
}

DEVICE u32 ones(u64 w)
{
#ifdef __CUDACC__
    return (u32)__popcll((i64)w);
#else
    return (u32)__builtin_popcountll(w);
#endif
}

/* How many lanes of w are zero; tops: the highest bit of each lane, none: no lanes. */
DEVICE u32 zero_lanes(u64 w, u64 tops)
{
    return ones(~(((w & ~tops) + ~tops) | w) & tops);
}

/* What becomes of the vectors of a cell besides their digest. */
struct taking {
    u64 to, word, tops; /* the pattern, turned to the phase of the tensor; see zero_lanes */
    u64 found;
};

/* left > 0. Bytes past it are no elements: they get ones. */
DEVICE void take_vector(struct taking *t, u64 from, u64 left, u64 lo, u64 hi)
{
    u64 past_lo = left < 8u ? ~0ull << (8u * left) : 0;
    u64 past_hi = left <= 8u ? ~0ull : left < 16u ? ~0ull << (8u * (left - 8u)) : 0;
    vector_put(t->to + from, left, lo, hi);
    t->found += zero_lanes((lo ^ t->word) | past_lo, t->tops) +
                zero_lanes((hi ^ t->word) | past_hi, t->tops);
}

/* Cell c holds the vectors c/256*1024 + c%256 + 256*k: neighbouring threads, neighbouring bytes.
 * taking 0: the digest alone. */
DEVICE void digest_cell(u64 at, u64 bytes, u64 c, u64 key0, u64 key1, u64 *sum0, u64 *sum1,
                        struct taking *taking)
{
    u64 lo[CELL], hi[CELL], first = c / 256u * (256u * CELL) + c % 256u;
    u64 a = step(key0, c, MUL1), b = step(key1, c, MUL0);
    u64 last = (first + 256u * (CELL - 1u) + 1u) * 16u;
    if ((at & 15u) == 0 && last <= bytes) { /* all loads before the first use */
        for (u32 k = 0; k < CELL; k++) {
            load16(at + (first + 256u * k) * 16u, &lo[k], &hi[k]);
        }
        for (u32 k = 0; taking && k < CELL; k++) {
            take_vector(taking, (first + 256u * k) * 16u, 16, lo[k], hi[k]);
        }
    } else {
        for (u32 k = 0; k < CELL; k++) {
            u64 from = (first + 256u * k) * 16u;
            lo[k] = hi[k] = 0;
            if (from < bytes) {
                vector_at(at + from, bytes - from, &lo[k], &hi[k]);
                if (taking) {
                    take_vector(taking, from, bytes - from, lo[k], hi[k]);
                }
            }
        }
    }
    for (u32 k = 0; k < CELL; k++) {
        a = step(step(a, lo[k], MUL0), hi[k], MUL0);
        b = step(step(b, lo[k], MUL1), hi[k], MUL1);
    }
    *sum0 += step(a, key1, MUL1);
    *sum1 += step(b, key0, MUL0);
}

/* Sum of each thread's value over the block, in thread 0. Addition modulo 2^64: any order. */
DEVICE u64 block_sum(u64 v)
{
    __shared__ u64 part[BLOCK];
    part[threadIdx.x] = v;
    __syncthreads();
    for (u32 k = blockDim.x / 2u; k > 0; k /= 2u) {
        if (threadIdx.x < k) {
            part[threadIdx.x] += part[threadIdx.x + k];
        }
        __syncthreads();
    }
    v = part[0];
    __syncthreads();
    return v;
}

/* The share of a thread in the digest of a span. */
DEVICE void digest_share(u64 at, u64 bytes, u64 key0, u64 key1, u64 sum[2], struct taking *taking)
{
    u64 vectors = (bytes + 15u) / 16u, groups = (vectors + 256u * CELL - 1u) / (256u * CELL);
    for (u64 c = THREAD; c < groups * 256u; c += STRIDE) {
        digest_cell(at, bytes, c, key0, key1, &sum[0], &sum[1], taking);
    }
}

/* sums [2 SPANS]: zero before and after. out [2 of gridDim.y]: written by the last block of the
 * grid, into memory that the host sees; true there, in thread 0. */
DEVICE int digest_end(const u64 *bytes, u64 key0, u64 key1, const u64 sum[2], u64 *sums,
                      u32 *finished, u64 *out)
{
    u64 sum0 = block_sum(sum[0]), sum1 = block_sum(sum[1]);
    if (threadIdx.x == 0) {
        atomicAdd(&sums[2 * blockIdx.y], sum0);
        atomicAdd(&sums[2 * blockIdx.y + 1], sum1);
    }
    if (!last_block(finished)) {
        return 0;
    }
    for (u32 k = 0; k < gridDim.y; k++) {
        out[2 * k] = step(step(atomicExch(&sums[2 * k], 0ull), key1, MUL1), bytes[k], MUL0);
        out[2 * k + 1] = step(step(atomicExch(&sums[2 * k + 1], 0ull), key0, MUL0), bytes[k], MUL1);
    }
    return 1;
}

KERNEL void kg_digest(struct spans span, u64 key0, u64 key1, u64 *sums, u32 *finished, u64 *out)
{
    u32 s = blockIdx.y;
    u64 sum[2] = {0, 0};
    digest_share(span.at[s], span.bytes[s], key0, key1, sum, 0);
    if (digest_end(span.bytes, key0, key1, sum, sums, finished, out)) {
        __threadfence_system();
    }
}

struct takes { /* of cuda_spans.c */
    u64 to[SPANS], tops[SPANS];
};

/* Each span goes to take.to; its digest is that of what arrived; elements that hold the pattern are
 * counted where take.tops has the highest bit of each element. Every byte is read once. counts
 * [SPANS]: as sums. out [3 of gridDim.y]: the digests, then the counts. */
KERNEL void kg_take(struct spans span, struct takes take, u64 word, u64 key0, u64 key1, u64 *sums,
                    u64 *counts, u32 *finished, u64 *out)
{
    u32 s = blockIdx.y, turn = (u32)(span.at[s] & 7u) * 8u;
    u64 sum[2] = {0, 0}, found;
    struct taking t = {take.to[s], turn ? word >> turn | word << (64u - turn) : word, take.tops[s],
                       0};
    digest_share(span.at[s], span.bytes[s], key0, key1, sum, &t);
    found = block_sum(t.found);
    if (threadIdx.x == 0 && found > 0) {
        atomicAdd(&counts[s], found);
    }
    if (digest_end(span.bytes, key0, key1, sum, sums, finished, out)) {
        for (u32 k = 0; k < gridDim.y; k++) {
            out[2 * gridDim.y + k] = atomicExch(&counts[k], 0ull);
        }
        __threadfence_system();
    }
}

/* ---- flush ------------------------------------------------------------------------------------ */

/* Reads, so that no line is left to be written back in the window. *sink takes what can't happen. */
KERNEL void kg_flush(const u64 *buffer, u64 n, u64 *sink)
{
    u64 sum = 0;
    for (u64 i = THREAD; i < n; i += STRIDE) {
        sum += buffer[i];
    }
    if (sum == 1) {
        *sink = sum;
    }
}

/* ---- comparison ------------------------------------------------------------------------------- */

KERNEL void kg_widen(double *dst, int dtype, const void *src, u64 n)
{
    for (u64 i = THREAD; i < n; i += STRIDE) {
        dst[i] = real_at(dtype, src, i);
    }
}

struct moments { /* of one block: struct kg_cu_moments of cuda_compare.c */
    u64 used, disagree;
    double square, errors, most, max_ref;
};

DEVICE void moments_merge(struct moments *a, const struct moments *b)
{
    a->used += b->used;
    a->disagree += b->disagree;
    a->square += b->square;
    a->errors += b->errors;
    a->most = b->most > a->most ? b->most : a->most;
    a->max_ref = b->max_ref > a->max_ref ? b->max_ref : a->max_ref;
}

/* r [n] of dtype against c [n] of cdtype, c divided by scale; r 0: c alone. */
KERNEL void kg_moments(int dtype, const void *r, int cdtype, const void *c, u64 n, double scale,
                       struct moments *out)
{
    __shared__ struct moments part[BLOCK];
    struct moments m = {0, 0, 0, 0, 0, 0};
    for (u64 i = THREAD; i < n; i += STRIDE) {
        double y = real_at(cdtype, c, i), x = r ? real_at(dtype, r, i) : y, e = x - y;
        double a, t = y / scale;
        e = e < 0 ? -e : e;
        a = y < 0 ? -y : y;
        if (!is_finite(e)) { /* the same infinity, or NaN on both sides, is agreement */
            m.disagree += !(x == y || (is_nan(x) && is_nan(y)));
            continue;
        }
        m.used++;
        m.square += t * t;
        m.errors += e * e;
        m.most = a > m.most ? a : m.most;
        m.max_ref = e > m.max_ref ? e : m.max_ref;
    }
    part[threadIdx.x] = m;
    __syncthreads();
    for (u32 k = blockDim.x / 2u; k > 0; k /= 2u) {
        if (threadIdx.x < k) {
            moments_merge(&part[threadIdx.x], &part[threadIdx.x + k]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = part[0];
    }
}

/* Histogram of the DIGIT bits from `shift` up (fewer where the word ends) of |r - c|, over those
 * whose bits above equal `prefix`: the bits of doubles that are not negative order as they do. hist [2^DIGIT]. */
#define DIGIT 11
KERNEL void kg_digits(int dtype, const void *r, const double *c, u64 n, u32 shift, u64 prefix,
                      u64 *hist)
{
    __shared__ u32 part[1 << DIGIT];
    u32 above = shift + DIGIT;
    for (u32 k = threadIdx.x; k < (1u << DIGIT); k += blockDim.x) {
        part[k] = 0;
    }
    __syncthreads();
    for (u64 i = THREAD; i < n; i += STRIDE) {
        double e = real_at(dtype, r, i) - c[i];
        u64 b = bits_of_double(e) & 0x7fffffffffffffffull;
        if (is_finite(e) && (above >= 64u ? 0 : b >> above) == prefix) {
            atomicAdd(&part[b >> shift & ((1u << DIGIT) - 1u)], 1u);
        }
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < (1u << DIGIT); k += blockDim.x) {
        if (part[k] > 0) {
            atomicAdd(&hist[k], (u64)part[k]);
        }
    }
}

struct limits { /* struct kg_cu_limits of cuda_compare.c */
    double rel, abs, low, low_s, high, high_s, most, own_error, rms;
};

struct scan { /* of one block: struct kg_cu_scan of cuda_compare.c */
    u64 n_bad, first_bad, finite, nonfinite, differ;
    double square, worst;
};

DEVICE void scan_merge(struct scan *a, const struct scan *b)
{
    a->n_bad += b->n_bad;
    a->first_bad = b->first_bad < a->first_bad ? b->first_bad : a->first_bad;
    a->finite += b->finite;
    a->nonfinite += b->nonfinite;
    a->differ += b->differ;
    a->square += b->square;
    a->worst = b->worst > a->worst ? b->worst : a->worst;
}

DEVICE void scan_store(const struct scan *mine, struct scan *out)
{
    __shared__ struct scan part[BLOCK];
    part[threadIdx.x] = *mine;
    __syncthreads();
    for (u32 k = blockDim.x / 2u; k > 0; k /= 2u) {
        if (threadIdx.x < k) {
            scan_merge(&part[threadIdx.x], &part[threadIdx.x + k]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = part[0];
    }
}

DEVICE int same_class(double a, double b)
{
    return (is_finite(a) && is_finite(b)) || a == b || (is_nan(a) && is_nan(b));
}

DEVICE double limit_at(const struct limits *l, double c, double own)
{
    double a = c < 0 ? -c : c;
    double base = l->rel * a + l->abs, low = l->low * a + l->low_s, high = l->high * a + l->high_s;
    double ceiling = high > l->most ? high : l->most;
    double bound = base > low ? base : low;
    bound = bound < ceiling ? bound : ceiling;
    own *= l->own_error;
    return own > bound ? own : bound;
}

DEVICE void scan_bad(struct scan *s, u64 i)
{
    s->n_bad++;
    s->first_bad = i < s->first_bad ? i : s->first_bad;
}

DEVICE void scan_element(struct scan *s, const struct limits *l, u64 i, double y, double r,
                         double c)
{
    if (!same_class(r, c)) {
        return; /* the references disagree: nothing can be asked here */
    }
    if (!same_class(y, c)) {
        s->nonfinite++;
        s->worst = infinity();
        scan_bad(s, i);
    } else if (is_finite(c)) {
        double e = y - c, own = r - c, bound;
        e = e < 0 ? -e : e;
        own = own < 0 ? -own : own;
        bound = limit_at(l, c, own);
        s->square += e * e;
        s->finite++;
        if (!(e <= bound)) {
            scan_bad(s, i);
        }
        if (e > 0 && e / bound > s->worst) {
            s->worst = e / bound;
        }
    }
}

/* y, r [n] of dtype; o [n] f64, or 0: against r. */
KERNEL void kg_scan(int dtype, const void *y, const void *r, const double *o, u64 n,
                    struct limits limits, struct scan *out)
{
    struct scan s = {0, ~0ull, 0, 0, 0, 0, 0};
    u32 size = size_of(dtype);
    for (u64 i = THREAD; i < n; i += STRIDE) {
        double a = real_at(dtype, y, i), b = real_at(dtype, r, i);
        s.differ += word_at(size, y, i) != word_at(size, r, i);
        scan_element(&s, &limits, i, a, b, o ? o[i] : b);
    }
    scan_store(&s, out);
}

/* Elements that are further off than the rms of all may be. */
KERNEL void kg_scan_rms(int dtype, const void *y, const void *r, const double *o, u64 n,
                        double limit, struct scan *out)
{
    struct scan s = {0, ~0ull, 0, 0, 0, 0, 0};
    for (u64 i = THREAD; i < n; i += STRIDE) {
        double a = real_at(dtype, y, i), b = real_at(dtype, r, i), c = o ? o[i] : b, e = a - c;
        if (is_finite(a) && is_finite(b) && is_finite(c) && (e < 0 ? -e : e) > limit) {
            scan_bad(&s, i);
        }
    }
    scan_store(&s, out);
}

/* Elements of `size` bytes: y is r where r and o agree; o 0: everywhere. differ: y and r, anywhere;
 * finite: where r and o disagree. */
KERNEL void kg_scan_exact(u32 size, const void *y, const void *r, const void *o, u64 n,
                          struct scan *out)
{
    struct scan s = {0, ~0ull, 0, 0, 0, 0, 0};
    for (u64 i = THREAD; i < n; i += STRIDE) {
        u64 b = word_at(size, r, i);
        int same = word_at(size, y, i) == b, agree = o ? word_at(size, o, i) == b : 1;
        s.differ += !same;
        s.finite += !agree;
        if (!same && agree) {
            scan_bad(&s, i);
        }
    }
    scan_store(&s, out);
}

/* ---- values ----------------------------------------------------------------------------------- */

/* ChaCha with 12 rounds, a key of 128 bits, the stream as nonce: 8 words of 64 bits per block. A
 * kernel cannot recompute the values without the key. Source: D. J. Bernstein, ChaCha (2008). */
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

struct law { /* struct kg_cu_law of cuda_law.c; what is drawn once comes from the host */
    u64 key0, key1, stream;
    double a, b, least, top, constant, spike;
    i64 from;
    u64 range, spike_at;
    u32 kind;
    int dtype;
};

/* enum kg_dj_kind */
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

/* Box and Muller; both halves of the word are used, so at most 6.7 standard deviations. */
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

/* least, most: of an integer dtype. */
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

/* ---- values of narrow floats ------------------------------------------------------------------ */

/* UNIFORM and NORMAL as F32, F16 and BF16: 16 values of a ChaCha block, 32 bits each, in single
 * precision. */

/* The sum of parts does not overflow where b - a would. */
DEVICE float uniform_of(const struct law *l, u32 bits)
{
    float u = (float)(bits >> 8) * 5.9604644775390625e-8f;
    float least = (float)l->least, top = (float)l->top;
    float x = (1 - u) * (float)l->a + u * (float)l->b;
    return x >= least ? x <= top ? x : top : least;
}

/* Box and Muller: one radius, at most 6.8, with the cosine and the sine of one angle. The angle is
 * an odd multiple of pi / 2^23: neither is ever zero. */
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

/* Bits of the value, in its dtype. */
DEVICE u64 narrow_bits(int dtype, float x)
{
    return dtype == F32 ? bits_of_float(x) : dtype == F16 ? half_from_float(x) : bf16_from_float(x);
}

/* Block c gives the vectors of 16 bytes c/256*256*size + c%256 + 256*k, so that neighbouring
 * threads store side by side: `size` of them, for 16 values of that many bytes. */
KERNEL void kg_fill_narrow(u64 dst, u64 n, struct law law)
{
    u32 size = size_of(law.dtype), each = size == 4u ? 2u : 4u; /* values of 8 bytes */
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
