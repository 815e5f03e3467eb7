#include "gym/device/cuda.h"

/* The text as it stands in the tree, with a NUL behind it; built from the tree's root. */
__asm__(".pushsection .rodata\n"
        ".global kg_cuda_source\n"
        ".type kg_cuda_source, @object\n"
        "kg_cuda_source:\n"
        ".incbin \"src/gym/device/kernels.cu\"\n"
        ".byte 0\n"
        ".size kg_cuda_source, . - kg_cuda_source\n"
        ".popsection\n");
