/* Selects double for the .inc file included next; see single.h. The oracle is built with these, so
 * the elementary functions are libm's. */
#include "kgops.h"

#undef T
#undef FN
#undef EXP
#undef LOG
#undef ERF1
#undef SQRT
#define T       double
#define FN(op)  KGOPS_NAME(op, f64)
#define EXP(x)  exp(x)
#define LOG(x)  log(x)
#define ERF1(x) erfc(-(x)) /* 1 + erf(x), with all its digits where that is small */
#define SQRT(x) sqrt(x)
