/* The AVX2 form of the operations. */
#define LM_FORM_AVX2
#define LM_FORM_NAME avx2
#include "lm/ops/kernels.inc"
