/* Conversions, bounds and comparisons of the host's row of the device table. */
#include "gym/device/cpu.h"

#include <math.h>

#include "gym/device/device_law.h"
#include "gym/device/difference.h"
#include "gym/verify/limits.h"

void kg_cpu_widen(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t src, uint64_t n)
{
    (void)d;
    double *to = kg_cpu_pointer(dst);
    for (uint64_t i = 0; i < n; i++) {
        to[i] = kg_dj_load(dtype, kg_cpu_pointer(src), i);
    }
}

void kg_cpu_differ(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t r, uint64_t o,
                   uint64_t n)
{
    (void)d;
    kg_difference_all(dtype, kg_cpu_pointer(r), kg_cpu_pointer(o), n, kg_cpu_pointer(dst));
}

void kg_cpu_rejoin(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t r,
                   uint64_t kept, uint64_t n)
{
    (void)d;
    kg_difference_rejoin_all(dtype, kg_cpu_pointer(r), kg_cpu_pointer(kept), n,
                             kg_cpu_pointer(dst));
}

enum kg_code kg_cpu_bounds(struct kg_device *d, enum kg_tdtype dtype, uint64_t r, uint64_t o,
                           uint64_t n, const struct kg_bound_ask *ask, struct kg_tbound *out,
                           struct kg_err *err)
{
    (void)d;
    (void)err;
    kg_tbound_asked(dtype, kg_cpu_pointer(r), kg_cpu_pointer(o), n, ask, out);
    return KG_OK;
}

enum kg_code kg_cpu_compare(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t r,
                            uint64_t o, uint64_t n, const struct kg_tbound *bound, bool probe,
                            struct kg_tcompare *out, struct kg_err *err)
{
    (void)d;
    (void)err;
    kg_tcompare_run(dtype, kg_cpu_pointer(y), kg_cpu_pointer(r), kg_cpu_pointer(o), n, bound, probe,
                    out);
    return KG_OK;
}

enum kg_code kg_cpu_far(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t o,
                        uint64_t n, const struct kg_limits_of *limits, uint64_t *out,
                        struct kg_err *err)
{
    const double *wide = kg_cpu_pointer(o);
    (void)d;
    (void)err;
    *out = 0;
    for (uint64_t i = 0; i < n; i++) {
        double a = kg_dj_load(dtype, kg_cpu_pointer(y), i), c = wide[i];
        *out += isfinite(a) && isfinite(c) && fabs(a - c) > kg_limit_at(limits, c);
    }
    return KG_OK;
}

enum kg_code kg_cpu_rms(struct kg_device *d, enum kg_tdtype dtype, uint64_t v, uint64_t n,
                        double fill, struct kg_tbound *out, struct kg_err *err)
{
    (void)d;
    (void)err;
    out->rms = kg_tcompare_rms(dtype, kg_cpu_pointer(v), n, fill, &out->used);
    return KG_OK;
}
