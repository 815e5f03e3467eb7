#include <stdint.h>

typedef float v16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t v16i __attribute__((vector_size(64), aligned(4), may_alias));

/* Exchange the off-diagonal blocks of size s of a pair of rows that are s apart. */
#define SWAP(s, LO, HI)                                                                            \
    _Pragma("GCC unroll 16") for (int i = 0; i < 16; i++)                                          \
    {                                                                                              \
        if (!(i & (s))) {                                                                          \
            v16 a = r[i], b = r[i + (s)];                                                          \
            r[i] = __builtin_shuffle(a, b, (v16i)LO);                                              \
            r[i + (s)] = __builtin_shuffle(a, b, (v16i)HI);                                        \
        }                                                                                          \
    }

#define L1 {0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30}
#define H1 {1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31}
#define L2 {0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29}
#define H2 {2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31}
#define L4 {0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27}
#define H4 {4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31}
#define L8 {0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23}
#define H8 {8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31}

static void block16(const float *x, int64_t ldx, float *y, int64_t ldy)
{
    v16 r[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        r[i] = *(const v16 *)(x + i * ldx);
    }
    SWAP(1, L1, H1)
    SWAP(2, L2, H2)
    SWAP(4, L4, H4)
    SWAP(8, L8, H8)
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        *(v16 *)(y + i * ldy) = r[i];
    }
}

static void edge(const float *x, float *y, int64_t rows, int64_t cols, int64_t i0, int64_t i1,
                 int64_t j0, int64_t j1)
{
    for (int64_t j = j0; j < j1; j++) {
        for (int64_t i = i0; i < i1; i++) {
            y[j * rows + i] = x[i * cols + j];
        }
    }
}

void transpose(const float *x, float *y, int64_t rows, int64_t cols)
{
    int64_t full_rows = rows & ~(int64_t)15, full_cols = cols & ~(int64_t)15;
    for (int64_t j = 0; j < full_cols; j += 16) {
        for (int64_t i = 0; i < full_rows; i += 16) {
            block16(x + i * cols + j, cols, y + j * rows + i, rows);
        }
    }
    edge(x, y, rows, cols, full_rows, rows, 0, cols);
    edge(x, y, rows, cols, 0, full_rows, full_cols, cols);
}
