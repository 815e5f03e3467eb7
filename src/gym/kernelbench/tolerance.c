/* The tolerance that KernelBench compares with. */
#include "gym/kernelbench/tolerance.h"

#include <string.h>

double kg_kb_tolerance(const char *precision)
{
    return strcmp(precision, "fp32") == 0                                     ? 1e-4
           : strcmp(precision, "fp16") == 0 || strcmp(precision, "bf16") == 0 ? 1e-2
                                                                              : 0;
}
