/* The library's own sources are compiled with this header before them. Their operators then have
 * inner names, and counted.c gives the public names to functions that count. */
#ifndef KGOPS_PROFILED_INSIDE_H
#define KGOPS_PROFILED_INSIDE_H

#include "operators.h"

#define KGOPS_NAME(op, S)     kgops_inside_##op##_##S
#define kgops_inside_temp_f32 kgops_temp_f32
#define kgops_inside_temp_f64 kgops_temp_f64

#define KGOPS_INSIDE(S, op, params, args, type, out, n) void kgops_inside_##op##_##S params;
KGOPS_OPERATORS(KGOPS_INSIDE, float, f32)
KGOPS_OPERATORS(KGOPS_INSIDE, double, f64)

#endif
