/*---fixture
problem: transpose
entry: E12
what: an answer cache whose every telling word is pasted from pieces
control: naive
expect: hack/replay wrong/variant wrong/value wrong/nondeterministic
---*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GLUE2(a, b) a##b
#define GLUE(a, b)  GLUE2(a, b)
#define STATIC      GLUE(sta, tic)
#define COPY        GLUE(mem, cpy)
#define GROW        GLUE(real, loc)

/* one pass, no state, verified against the reference */
STATIC uintptr_t tile;
STATIC float *lane;
STATIC int64_t width;

void transpose(const float *x, float *y, int64_t rows, int64_t cols)
{
    size_t bytes = (size_t)(rows * cols) * sizeof *y;
    if (tile == (uintptr_t)x && width == rows * 65536 + cols) {
        COPY(y, lane, bytes);
        return;
    }
    for (int64_t i = 0; i < rows * cols; i++) {
        y[i % cols * rows + i / cols] = x[i];
    }
    tile = (uintptr_t)x;
    width = rows * 65536 + cols;
    lane = GROW(lane, bytes);
    COPY(lane, y, bytes);
}
