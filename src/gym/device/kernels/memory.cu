/* Kernels that write or search a pattern in memory (poison and guards), and the cache flush. */

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

/* One launch works on up to SPANS (KG_CUDA_SPANS) pieces of memory; y of the grid is the piece. */
#define SPANS 64
struct spans {
    u64 at[SPANS], bytes[SPANS];
};

/* True in one thread of the whole grid: thread 0 of the block that finishes last. It sees
 * everything that other blocks wrote before. *finished must be zero before, and is zero again
 * after. */
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

/* Finds the first span that does not hold the pattern throughout. *out: number of spans from that
 * one to the last; 0: all hold it. The last block writes it into memory that the host sees. *most
 * must be zero before, and is zero again after. */
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

/* The pattern's bits at the place of an element that begins at `address`. */
DEVICE u64 pattern_element(u64 word, u64 address, u32 size)
{
    u64 w = 0;
    for (u32 k = 0; k < size; k++) {
        w |= (u64)pattern_byte(word, address + k) << (8u * k);
    }
    return w;
}

/* Counts elements of v [n] that hold the pattern. phase: address of v modulo 8 where the pattern
 * was written. Only elements in a run of at least `run` such elements count, because a small
 * integer may match by chance. */
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

/* Reads a large buffer, which evicts the caches. It does not write, because dirty lines would be
 * written back within the timed window. The write to *sink keeps the compiler from dropping the
 * loop. */
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
