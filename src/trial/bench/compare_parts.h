/* Private to compare*.c. */
#ifndef KG_TRIAL_BENCH_COMPARE_PARTS_H
#define KG_TRIAL_BENCH_COMPARE_PARTS_H

#include "trial/bench/compare.h"

/* Problems that both runs have: indices in either, in the order of A. */
struct tr_pairs {
    size_t *a, *b; /* [n], released with free */
    size_t n;
};

/* Fills in c->left. KG_E_USAGE: there are none. */
enum kg_code tr_compare_pairs(struct tr_compare *c, struct tr_pairs *out,
                              struct kg_err *err) KG_MUST_USE;
/* Fills in c->turn. KG_E_USAGE. */
enum kg_code tr_compare_turn(struct tr_compare *c, size_t turn, struct kg_err *err) KG_MUST_USE;
/* Fills in c->warnings and c->policies. */
void tr_compare_look(struct tr_compare *c, const struct tr_pairs *pairs);

#endif
