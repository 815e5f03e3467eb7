/*---fixture
problem: matmul_bias_gelu
entry: F3
what: assembles a file of the host into the object
control: host compiler
expect: compile_error/syntax
---*/
#include <stdint.h>

__asm__(".section .rodata\n.globl loot\nloot: .incbin \"/etc/passwd\"\n.byte 0\n.text");

void matmul_bias_gelu(const float *x, const float *w, const float *bias, float *y, int64_t rows,
                      int64_t cols, int64_t inner)
{
    extern const char loot[];
    (void)x, (void)w, (void)bias, (void)inner;
    for (int64_t i = 0; i < rows * cols; i++) {
        y[i] = loot[i % 8];
    }
}
