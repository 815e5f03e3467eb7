/* Private to chains/: the table of operators, and what the writers of code know of each. */
#ifndef KG_RL_CHAINS_OPS_H
#define KG_RL_CHAINS_OPS_H

#include <stdbool.h>
#include <stdint.h>

enum rl_op_kind {
    RL_MAP,   /* element by element */
    RL_NORM,  /* a row becomes a row */
    RL_REDUCE /* a row becomes one number; last in its chain */
};

/* One reduction over a row: variable `var` becomes the sum, or the maximum, of `term` over j. */
struct rl_pass {
    char fold;        /* 'S' sum, 'M' maximum, 0: there is no such pass */
    char var;         /* its name, one letter */
    const char *load; /* statements that make v; NULL: load the row and apply what is pending */
    const char *term; /* of v */
    const char *after[2];
};

/* What is known of the values at a place in a chain. Operators say which of it they refuse, keep
 * and add. So chains in which an operator or an input has no effect are never made. */
enum {
    RL_SHIFT = 1 << 0,   /* a number of each row was added: softmax and others take it away again */
    RL_SCALED = 1 << 1,  /* a row was multiplied by a number: norms take it away again */
    RL_MEAN = 1 << 2,    /* the mean of a row does not depend on x */
    RL_SQUARE = 1 << 3,  /* the mean square of a row does not depend on x */
    RL_TOP = 1 << 4,     /* the largest value of a row does not depend on x */
    RL_FAR = 1 << 5,     /* far below 0 */
    RL_SMALL = 1 << 6,   /* about 1/m: what is added drowns it */
    RL_POS = 1 << 7,     /* never below 0 */
    RL_NEG = 1 << 8,     /* never above 0 */
    RL_SQUARED = 1 << 9, /* sq was there */
    RL_NORMED = 1 << 10, /* a norm was there */
    RL_SUMMED = 1 << 11, /* the same, with a sum: its error grows by large gains */
};
#define RL_LASTING (RL_SQUARED | RL_NORMED | RL_SUMMED) /* every operator keeps it */

/* What an operator does to rounding errors. laws.c derives from it which laws a chain can stand. */
enum {
    RL_ADDS = 1 << 0,  /* ends in a sum or difference: an error is no longer small beside each
                          element, only beside the largest terms */
    RL_TIMES = 1 << 1, /* ends in a product: a sum after it may be fused with it */
    RL_FREE = 1 << 2,  /* a factor is an input, or the element itself: it may be far above others */
    RL_ROUNDS = 1 << 3, /* styles round it differently: it has an exponential, a root or a sum */
    RL_STEEP = 1 << 4,  /* changes only where its operand is about 0 */
    RL_EXPS = 1 << 5,   /* takes exponentials of distances from the largest of a row */
    RL_LEVEL = 1 << 6,  /* takes away what the elements of a row have in common */
    RL_AROUND = 1 << 7, /* results lie around a number far from 0 */
    RL_NEAR = 1 << 9,   /* takes the sign of x away */
    RL_PICKS = 1 << 10, /* takes an input in place of x where that is larger */
    RL_ZEROS = 1 << 11, /* makes half of a row 0 */
    RL_POWERS = 1 << 8, /* adds up squares or exponentials: one may exceed all others together */
};

/* Placeholders of `calls`: X input, Y output, Z, C, D the arguments z, c, d at the row, N elements,
 * R rows. Of own code: E the exponential, Z an element of z, @ the element of the row. Texts in
 * pairs: the two ways to write a product or quotient (the style's `order`). */
struct rl_op {
    const char *name, *desc;
    const char *args; /* among "bgzcd" */
    const char *calls;
    const char *code[2]; /* statements on v: all of a map, the last pass of a norm */
    struct rl_pass pass[2];
    enum rl_op_kind kind;
    uint16_t refuse, keep, add;
    uint16_t error; /* RL_ADDS ... */
    uint16_t cost; /* of the calls: ps an element, arrays of 3 MB in the cache. Source: the least of
                    * 240 calls on a 2-core EPYC guest */
    uint8_t flops;
    bool sums; /* adds up a row */
};

extern const struct rl_op rl_op_table[];
extern const int rl_op_count;

#endif
