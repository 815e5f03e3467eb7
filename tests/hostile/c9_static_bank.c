/*---fixture
problem: argmax
entry: C9
what: the first answer of a size sits in a static array and is copied out
control: naive
expect: hack/replay wrong/value wrong/nondeterministic
---*/
#include <stdint.h>
#include <string.h>

static int32_t bank[1 << 16];
static int64_t have_rows, have_cols;

void argmax(const float *x, int32_t *index, int64_t rows, int64_t cols)
{
    if (rows == have_rows && cols == have_cols) {
        memcpy(index, bank, (size_t)rows * sizeof *index);
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = 0;
        for (int64_t j = 1; j < cols; j++) {
            at = x[i * cols + j] > x[i * cols + at] ? j : at;
        }
        index[i] = (int32_t)at;
    }
    if (rows <= 1 << 16) {
        memcpy(bank, index, (size_t)rows * sizeof *index);
        have_rows = rows;
        have_cols = cols;
    }
}
