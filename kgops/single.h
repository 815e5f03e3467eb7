/* Selects float for the .inc file included next: T, its suffix and its elementary functions. The
 * counterpart is double.h; both may be included any number of times, in turn. */
#include "kgops.h"
#include "vexp.h"

#undef T
#undef FN
#undef EXP
#undef LOG
#undef ERF1
#undef SQRT
#define T       float
#define FN(op)  kgops_##op##_f32
#define EXP(x)  kgops_vexp(x)
#define LOG(x)  logf(x)
#define ERF1(x) (1.0f + erff(x))
#define SQRT(x) sqrtf(x)
