/* What changed between two lists of parts, lines or words: those of their longest common part stay.
 * Pure but for its memory; thread safe. */
#ifndef KG_BASE_DIFF_H
#define KG_BASE_DIFF_H

#include <stddef.h>

struct kg_part {
    const char *s; /* [len] */
    size_t len;
};
struct kg_change {
    char sign; /* ' ' stays, '-' of a alone, '+' of b alone */
    int a, b;  /* parts before it in a and in b: its own place in the list that has it */
};

/* Fills changes [na + nb] in the order of both lists, what is gone before what came, and returns
 * how many there are. Parts alike at both ends stay. Between them, more than KG_DIFF_PAIRS pairs,
 * or no memory for 2 bytes of each: all of a goes and all of b comes. */
enum { KG_DIFF_PAIRS = 1 << 24 };
int kg_diff(const struct kg_part *a, int na, const struct kg_part *b, int nb,
            struct kg_change *out);

#endif
