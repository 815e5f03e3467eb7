#include <stdint.h>

/* Mistake: eight running maxima cover cols / 8 * 8 columns; the rest is never looked at. */
void argmax(const float *x, int32_t *index, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float best[8];
        int32_t at[8];
        for (int l = 0; l < 8; l++) {
            best[l] = -3.4e38f;
            at[l] = l;
        }
        for (int32_t j = 0; j + 8 <= cols; j += 8) {
            for (int l = 0; l < 8; l++) {
                at[l] = row[j + l] > best[l] ? j + l : at[l];
                best[l] = row[j + l] > best[l] ? row[j + l] : best[l];
            }
        }
        int win = 0;
        for (int l = 1; l < 8; l++) {
            if (best[l] > best[win] || (best[l] == best[win] && at[l] < at[win])) {
                win = l;
            }
        }
        index[i] = at[win];
    }
}
