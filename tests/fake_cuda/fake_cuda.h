/* What tests may ask of the fake driver besides the driver's own functions; see fake_cuda.c. */
#ifndef KG_TESTS_FAKE_CUDA_H
#define KG_TESTS_FAKE_CUDA_H

#include "gym/device/cuda_driver.h"

/* From now on the function of that name returns `code`; NULL: none does. */
void kg_fake_cuda_fail(const char *symbol, int code);
/* Bytes of cuMemAlloc that were not freed. */
size_t kg_fake_cuda_live(void);

/* The driver's and NVRTC's functions, as this file's includer defines them. */
#define KG_FAKE_DECLARE(field, symbol, params) int symbol params;
KG_CU_FUNCTIONS(KG_FAKE_DECLARE)
KG_CU_GATE_FUNCTIONS(KG_FAKE_DECLARE)
KG_NVRTC_FUNCTIONS(KG_FAKE_DECLARE)
#undef KG_FAKE_DECLARE

#endif
