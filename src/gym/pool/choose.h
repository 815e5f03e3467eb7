/* Which task an idle worker takes. A worker loses what it keeps for its problem (references,
 * expected answers) when it changes to another one, so it takes
 *   1. the next task of the problem that it holds, else
 *   2. the first task of a problem that no other worker holds, else
 *   3. the first task of the problem of which each worker has most to do, with one more of them,
 *      unless those that hold it are prepared and done with all of it before another would be.
 * Only tasks within KG_POOL_REACH submissions of the oldest waiting one are looked at, so no task
 * is passed over more than KG_POOL_REACH - 1 times before it goes to whoever is idle. Pure. */
#ifndef KG_GYM_POOL_CHOOSE_H
#define KG_GYM_POOL_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A wider reach means fewer changes of problem where many problems take turns. A narrower one means
 * fewer records that are finished and wait for an older one. Source: the table of docs/batches.md,
 * which test_pool_choose prints. */
#define KG_POOL_REACH 256

/* A task that no worker has. problem: tasks of one problem have the same number, never 0. */
struct kg_pool_waiting {
    uint64_t seq; /* its submission: rises by one from task to task */
    uint64_t problem;
};

struct kg_pool_holder {
    uint64_t problem; /* 0: none yet */
    bool prepared;    /* it has judged a task of it */
};

/* waiting [n]: by seq, ascending. held: the idle worker's problem, 0: none. others [nothers]: the
 * other workers. lead: tasks that one of them judges while another prepares itself, at least 1.
 * Returns an index into waiting, or n when there is no task for this worker. Costs at most
 * (2 * KG_POOL_REACH + nothers) * nothers comparisons. */
size_t kg_pool_choose(const struct kg_pool_waiting *waiting, size_t n, uint64_t held,
                      const struct kg_pool_holder *others, int nothers, double lead);

/* How long tasks took: the first of its problem that a worker judged, and those after it. */
struct kg_pool_pace {
    double first_ns, next_ns; /* sums */
    int64_t nfirst, nnext;
};
void kg_pool_pace_add(struct kg_pool_pace *p, bool prepared, int64_t ns);
/* The lead for kg_pool_choose, 1 to 4; 1 as long as one of the two is not known. */
double kg_pool_pace_lead(const struct kg_pool_pace *p);

#endif
