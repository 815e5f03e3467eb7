/* Kernels that digest memory, and that copy and digest an answer in one pass. */

/* A digest is a sum over cells of CELL vectors of 16 bytes. Each cell is hashed from a start value
 * that depends on the key and on the cell's place. So the sum does not depend on how cells are
 * dealt to threads. It has two lanes of 64 bits. Runners never see the key or a digest, so only
 * chance can make two contents equal. */
#define CELL  4
#define PIECE 128 /* groups of 256 cells that are read in turn: KG_CUDA_PIECE bytes */
#define MUL0 0x9fb21c651e98df25ull
#define MUL1 0xd6e8feb86659fd93ull

DEVICE u64 step(u64 h, u64 w, u64 mul)
{
    h = (h ^ w) * mul;
    return h ^ h >> 29;
}

/* Loads 16 bytes once. A second load could see other bytes, because the runner may still write
 * there. */
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

/* Loads 16 bytes from any address. Bytes past `left` become zero. */
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

/* Stores the first `left` of 16 bytes. */
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

/* Counts the lanes of w that are zero. tops has the highest bit of each lane; 0 means no lanes. */
DEVICE u32 zero_lanes(u64 w, u64 tops)
{
    return ones(~(((w & ~tops) + ~tops) | w) & tops);
}

/* Where the vectors of a cell are copied to, and the pattern that is searched in them. */
struct taking {
    u64 to, word, tops; /* word: the pattern in the tensor's phase; tops: see zero_lanes */
    u64 found;
};

/* Copies one vector and counts the pattern in it. left > 0. Bytes past `left` are no elements; they
 * are filled with ones, so they never match. */
DEVICE void take_vector(struct taking *t, u64 from, u64 left, u64 lo, u64 hi)
{
    u64 past_lo = left < 8u ? ~0ull << (8u * left) : 0;
    u64 past_hi = left <= 8u ? ~0ull : left < 16u ? ~0ull << (8u * (left - 8u)) : 0;
    vector_put(t->to + from, left, lo, hi);
    t->found += zero_lanes((lo ^ t->word) | past_lo, t->tops) +
                zero_lanes((hi ^ t->word) | past_hi, t->tops);
}

/* Digests cell c, which holds the vectors c/256*1024 + c%256 + 256*k. So neighbouring threads read
 * neighbouring bytes. taking 0: no copy. */
DEVICE void digest_cell(u64 at, u64 bytes, u64 c, u64 key0, u64 key1, u64 *sum0, u64 *sum1,
                        struct taking *taking)
{
    u64 lo[CELL], hi[CELL], first = c / 256u * (256u * CELL) + c % 256u;
    u64 a = step(key0, c, MUL1), b = step(key1, c, MUL0);
    u64 last = (first + 256u * (CELL - 1u) + 1u) * 16u;
    if ((at & 15u) == 0 && last <= bytes) { /* all loads before the first use: they overlap */
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

/* Sum of one value per thread over the block; the result is valid in thread 0. Addition modulo 2^64
 * gives the same sum in any order. */
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

struct turns { /* as in cuda_spans.c */
    u32 by[SPANS];
};

/* One thread's part of the digest of a span. Its pieces are read in an order that prefers no part
 * of it: what a runner has written last is still in the cache, and a digest from the front would be
 * faster for who writes from the back. by: from one piece to the next (cuda_spans.c). */
DEVICE void digest_share(u64 at, u64 bytes, u32 by, u64 key0, u64 key1, u64 sum[2],
                         struct taking *taking)
{
    u64 vectors = (bytes + 15u) / 16u, groups = (vectors + 256u * CELL - 1u) / (256u * CELL);
    u32 pieces = (u32)((groups + PIECE - 1u) / PIECE);
    for (u64 c = THREAD; c < (u64)pieces * PIECE * 256u; c += STRIDE) {
        u64 group = c / 256u;
        group = (u64)((u32)(group / PIECE) * by % pieces) * PIECE + group % PIECE;
        if (group < groups) {
            digest_cell(at, bytes, group * 256u + c % 256u, key0, key1, &sum[0], &sum[1], taking);
        }
    }
}

/* Adds the block's part to sums; the last block of the grid writes the digests to out. sums [2
 * SPANS] must be zero before, and are zero again after. out [2 of gridDim.y] is memory that the
 * host sees. Returns 1 in thread 0 of the last block, else 0. */
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

/* Digest of each span (y of the grid); the arguments are those of digest_end. */
KERNEL void kg_digest(struct spans span, struct turns turns, u64 key0, u64 key1, u64 *sums,
                      u32 *finished, u64 *out)
{
    u32 s = blockIdx.y;
    u64 sum[2] = {0, 0};
    digest_share(span.at[s], span.bytes[s], turns.by[s], key0, key1, sum, 0);
    if (digest_end(span.bytes, key0, key1, sum, sums, finished, out)) {
        __threadfence_system();
    }
}

struct takes { /* as in cuda_spans.c */
    u64 to[SPANS], tops[SPANS];
};

/* Copies each span to take.to, digests what was read, and counts elements that hold the pattern.
 * take.tops has the highest bit of each element in a word; 0: that span is not counted. Every byte
 * of the source is read once. counts [SPANS] must be zero before, and are zero again after. out [3
 * of gridDim.y]: the digests, then the counts. */
KERNEL void kg_take(struct spans span, struct turns turns, struct takes take, u64 word, u64 key0,
                    u64 key1, u64 *sums, u64 *counts, u32 *finished, u64 *out)
{
    u32 s = blockIdx.y, turn = (u32)(span.at[s] & 7u) * 8u;
    u64 sum[2] = {0, 0}, found;
    struct taking t = {take.to[s], turn ? word >> turn | word << (64u - turn) : word, take.tops[s],
                       0};
    digest_share(span.at[s], span.bytes[s], turns.by[s], key0, key1, sum, &t);
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
