#include "base/yaml.h"

#include <string.h>

#define LONGEST 63

/* Levenshtein distance, one row at a time. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[LONGEST + 1];
    for (size_t j = 0; j <= nb; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

const char *kg_nearest(const char *word, const char *const *list, size_t n)
{
    size_t len = strlen(word);
    if (len > LONGEST) {
        return NULL;
    }
    size_t most = len / 3 > 2 ? len / 3 : 2;
    const char *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t other = strlen(list[i]);
        if (other > LONGEST) {
            continue;
        }
        size_t d = distance(word, len, list[i], other);
        /* Two short words without a letter in common are not near each other. */
        if (d <= most && d < (len > other ? len : other)) {
            nearest = list[i];
            most = d - (d > 0);
            if (d == 0) {
                break;
            }
        }
    }
    return nearest;
}
