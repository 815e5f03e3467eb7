/* Sources of distinct correct Triton candidates, by operator: templates of bench/torch with a
 * number, a block size and a number of warps of their own, and the problem that each answers. */
#ifndef KG_BENCH_TORCH_SET_H
#define KG_BENCH_TORCH_SET_H

#include "base/buf.h"

#define KG_BENCH_OPERATORS 8 /* at most */

struct kg_bench_set {
    const char *name, *folder; /* of problems, in the tree */
    int n;                     /* operators */
    struct {
        const char *name, *problem; /* template; problem: NULL where it has the same name */
    } operators[KG_BENCH_OPERATORS];
};

/* Ends the bench where there is none of this name. */
const struct kg_bench_set *kg_bench_set_named(const char *name);
/* Which operator source i is of: they take turns. */
int kg_bench_set_operator(const struct kg_bench_set *set, int i);
/* Path of the problem that source i answers (static). */
const char *kg_bench_set_problem(const struct kg_bench_set *set, int i);
/* Source i, in *text (initialised here); the caller deinits it. */
void kg_bench_set_source(const struct kg_bench_set *set, int i, struct kg_buf *text);

#endif
