/* The tolerance of KernelBench's comparison. Pure. */
#ifndef KG_GYM_KERNELBENCH_TOLERANCE_H
#define KG_GYM_KERNELBENCH_TOLERANCE_H

/* Absolute and relative alike, by the run's precision: 1e-4 for fp32, 1e-2 for fp16 and bf16; 0: no
 * such precision. */
double kg_kb_tolerance(const char *precision);

#endif
