/* Private to the batch: which line an idle worker takes. What a worker keeps for its problem
 * (references, expected answers) goes when it changes to another one, so it takes
 *   1. the next line of the problem that it holds, else
 *   2. the first line of a problem that no other worker holds, else
 *   3. the first line of the problem of which each worker has most to do, with one more of them,
 *      unless those that hold it are prepared and done with all of it before another would be.
 * Only the KG_BATCH_REACH lines that begin with the oldest waiting one are looked at: no line is
 * passed over more than KG_BATCH_REACH - 1 times before it goes to whoever is idle. */
#ifndef KG_GYM_BATCH_BATCH_CHOOSE_H
#define KG_GYM_BATCH_BATCH_CHOOSE_H

#include "gym/batch/batch_items.h"

/* Wider: fewer changes of problem where many problems take turns. Narrower: fewer lines that are
 * finished and wait for an older one, in memory and beside the output. Source: the table of
 * docs/batches.md, which test_batch_choose prints. */
#define KG_BATCH_REACH 256

struct kg_batch_holder {
    int problem;   /* its number; -1: none yet */
    bool prepared; /* it has judged a line of it */
};

/* first: the oldest line that is not taken; end: lines from here on must wait, whatever they are.
 * held: number of the idle worker's problem; others [n]: the other workers; lead: lines that one of
 * them judges while another prepares itself, at least 1. Returns a line in [first, end) that is not
 * taken, or end when there is none for it. Costs at most (2 * KG_BATCH_REACH + n) * n comparisons.
 */
size_t kg_batch_choose(const struct kg_item *item, size_t first, size_t end, int held,
                       const struct kg_batch_holder *others, int n, double lead);

/* How long lines took: the first of its problem that a worker judged, and those after it. */
struct kg_batch_pace {
    double first_ns, next_ns; /* sums */
    int64_t nfirst, nnext;
};
void kg_batch_pace_add(struct kg_batch_pace *p, bool prepared, int64_t ns);
/* For kg_batch_choose, 1 to 4; 1 as long as one of the two is not known. */
double kg_batch_pace_lead(const struct kg_batch_pace *p);

#endif
