#include "gym/device/cuda.h"

/* The kernels as one text with a NUL at its end, as NVRTC takes it. The order matters: a file uses
 * what stands in those before it. #line makes NVRTC's messages name the file. The compiler must run
 * in the root of the tree, or .incbin does not find the files. */
/* clang-format off */
#define KERNEL_FILE(name)                                                                          \
    ".ascii \"#line 1 \\\"" name ".cu\\\"\\n\"\n"                                                  \
    ".incbin \"src/gym/device/kernels/" name ".cu\"\n"

__asm__(".pushsection .rodata\n"
        ".global kg_cuda_source\n"
        ".type kg_cuda_source, @object\n"
        "kg_cuda_source:\n"
        KERNEL_FILE("numbers")
        KERNEL_FILE("memory")
        KERNEL_FILE("digest")
        KERNEL_FILE("compare")
        KERNEL_FILE("draw")
        KERNEL_FILE("draw_narrow")
        ".byte 0\n"
        ".size kg_cuda_source, . - kg_cuda_source\n"
        ".popsection\n");
