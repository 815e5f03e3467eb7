/* Temporaries. Freed memory stays with the process: a framework's caching allocator hands out warm
 * memory, and page faults in every call would be noise that flatters any kernel without
 * temporaries. */
#include "kgops.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void keep_freed_memory(void)
{
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
}

static void *temp(int64_t n, size_t size)
{
    size_t bytes = ((size_t)n * size + 63) & ~(size_t)63;
    void *p = aligned_alloc(64, bytes);
    if (!p) {
        fputs("kgops: out of memory\n", stderr);
        abort();
    }
    return p;
}

float *kgops_temp_f32(int64_t n)
{
    return temp(n, sizeof(float));
}

double *kgops_temp_f64(int64_t n)
{
    return temp(n, sizeof(double));
}
