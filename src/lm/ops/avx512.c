/* The AVX-512 form of the operations. */
#define LM_FORM_AVX512
#define LM_FORM_NAME avx512
#include "lm/ops/kernels.inc"
