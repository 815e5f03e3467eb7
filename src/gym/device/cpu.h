/* Private to the host's row of the device table, in cpu.c. Its addresses are the process's own;
 * device.h says what the functions do. */
#ifndef KG_GYM_DEVICE_CPU_H
#define KG_GYM_DEVICE_CPU_H

#include "gym/device/device.h"

static inline void *kg_cpu_pointer(uint64_t at)
{
    return (void *)(uintptr_t)at; /* NOLINT: the device's addresses are the process's own */
}

/* cpu_compare.c: */
void kg_cpu_widen(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t src,
                  uint64_t n);
void kg_cpu_differ(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t r, uint64_t o,
                   uint64_t n);
void kg_cpu_rejoin(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t r,
                   uint64_t kept, uint64_t n);
enum kg_code kg_cpu_bounds(struct kg_device *d, enum kg_tdtype dtype, uint64_t r, uint64_t o,
                           uint64_t n, const struct kg_bound_ask *ask, struct kg_tbound *out,
                           struct kg_err *err);
enum kg_code kg_cpu_compare(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t r,
                            uint64_t o, uint64_t n, const struct kg_tbound *bound, bool probe,
                            struct kg_tcompare *out, struct kg_err *err);
enum kg_code kg_cpu_far(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t o,
                        uint64_t n, const struct kg_limits_of *limits, uint64_t *out,
                        struct kg_err *err);
enum kg_code kg_cpu_rms(struct kg_device *d, enum kg_tdtype dtype, uint64_t v, uint64_t n,
                        double fill, struct kg_tbound *out, struct kg_err *err);

#endif
