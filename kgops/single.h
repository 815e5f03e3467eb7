/* Selects float for the .inc file included next: T, its suffix and its elementary functions. The
 * counterpart is double.h; both may be included any number of times, in turn. */
#include "kgops.h"
#include "vexp.h"

/* The counting build (kgops/profiled) gives the operators other names. */
#ifndef KGOPS_NAME
#define KGOPS_NAME(op, S) kgops_##op##_##S
#endif

#undef T
#undef FN
#undef EXP
#undef LOG
#undef ERF1
#undef SQRT
#define T       float
#define FN(op)  KGOPS_NAME(op, f32)
#define EXP(x)  kgops_vexp(x)
#define LOG(x)  logf(x)
#define ERF1(x) (1.0f + erff(x))
#define SQRT(x) sqrtf(x)
