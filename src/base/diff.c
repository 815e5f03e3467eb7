/* The longest common part by dynamic programming. */
#include "base/diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool same(const struct kg_part *a, const struct kg_part *b)
{
    return a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
}

/* [na + 1][nb + 1]: the length of the longest common part of what follows, which is below 2^16 for
 * KG_DIFF_PAIRS. NULL: too many, or no memory. */
static uint16_t *lengths(const struct kg_part *a, int na, const struct kg_part *b, int nb)
{
    size_t m = (size_t)nb + 1;
    uint16_t *t =
        (size_t)na * (size_t)nb <= KG_DIFF_PAIRS ? calloc(((size_t)na + 1) * m, sizeof *t) : NULL;
    for (int i = na - 1; t != NULL && i >= 0; i--) {
        for (int j = nb - 1; j >= 0; j--) {
            uint16_t *at = &t[(size_t)i * m + (size_t)j];
            uint16_t down = at[m], right = at[1];
            *at = same(&a[i], &b[j]) ? (uint16_t)(at[m + 1] + 1) : down > right ? down : right;
        }
    }
    return t;
}

int kg_diff(const struct kg_part *a, int na, const struct kg_part *b, int nb, struct kg_change *out)
{
    int head = 0, tail = 0, least = na < nb ? na : nb, i = 0, j = 0, n = 0;
    while (head < least && same(&a[head], &b[head])) {
        head++;
    }
    while (tail < least - head && same(&a[na - 1 - tail], &b[nb - 1 - tail])) {
        tail++;
    }
    int to_a = na - tail, to_b = nb - tail;
    size_t m = (size_t)(to_b - head) + 1;
    uint16_t *t = lengths(a + head, to_a - head, b + head, to_b - head);
    while (i < na || j < nb) {
        bool stays = i < head || (i >= to_a && j >= to_b), goes = i < to_a;
        if (!stays && t != NULL && i < to_a && j < to_b) {
            const uint16_t *at = &t[(size_t)(i - head) * m + (size_t)(j - head)];
            stays = same(&a[i], &b[j]);
            goes = at[m] >= at[1];
        }
        out[n++] = (struct kg_change){stays ? ' ' : goes ? '-' : '+', i, j};
        i += stays || goes;
        j += stays || !goes;
    }
    free(t);
    return n;
}
