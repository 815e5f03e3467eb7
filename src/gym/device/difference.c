/* Differences of whole tensors, on the host. */
#include "gym/device/difference.h"

#include "gym/device/device_law.h"

void kg_difference_all(enum kg_tdtype dtype, const void *r, const double *o, uint64_t n, float *out)
{
    for (uint64_t i = 0; i < n; i++) {
        out[i] = kg_difference(kg_dj_load(dtype, r, i), o[i]);
    }
}

void kg_difference_rejoin_all(enum kg_tdtype dtype, const void *r, const float *d, uint64_t n,
                              double *out)
{
    for (uint64_t i = 0; i < n; i++) {
        out[i] = kg_difference_rejoin(kg_dj_load(dtype, r, i), d[i]);
    }
}
