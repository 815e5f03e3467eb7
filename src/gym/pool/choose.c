/* The rule by which tasks go to workers. */
#include "gym/pool/choose.h"

#define MOST_LEAD 4 /* a worker that hangs in a first task says nothing about preparing */

static int holders(uint64_t problem, const struct kg_pool_holder *others, int n)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        found += others[i].problem == problem;
    }
    return found;
}

static bool all_prepared(uint64_t problem, const struct kg_pool_holder *others, int n)
{
    int i = 0;
    while (i < n && (others[i].problem != problem || others[i].prepared)) {
        i++;
    }
    return i == n;
}

/* The first task of the problem of which each worker would have most to do if one more held it.
 * Problems with few tasks left are not worth another worker's preparation. */
static size_t most_to_do(const struct kg_pool_waiting *waiting, size_t end,
                         const struct kg_pool_holder *others, int n, double lead)
{
    size_t task = end;
    double most = 0;
    for (int i = 0; i < n; i++) {
        size_t at = end, tasks = 0;
        uint64_t problem = others[i].problem;
        int of = holders(problem, others, n);
        for (size_t k = 0; k < end; k++) {
            bool waits = waiting[k].problem == problem;
            at = waits && tasks == 0 ? k : at;
            tasks += waits;
        }
        double each = (double)tasks / (of + 1);
        bool few = (double)tasks <= lead * of && all_prepared(problem, others, n);
        if (!few && at < end && (each > most || (each == most && at < task))) {
            task = at;
            most = each;
        }
    }
    return task;
}

size_t kg_pool_choose(const struct kg_pool_waiting *waiting, size_t n, uint64_t held,
                      const struct kg_pool_holder *others, int nothers, double lead)
{
    size_t reach = 0, unheld = n;
    while (reach < n && waiting[reach].seq - waiting[0].seq < KG_POOL_REACH) {
        if (waiting[reach].problem == held) {
            return reach;
        }
        if (unheld == n && holders(waiting[reach].problem, others, nothers) == 0) {
            unheld = reach;
        }
        reach++;
    }
    size_t task = unheld < n ? unheld : most_to_do(waiting, reach, others, nothers, lead);
    return task < reach ? task : n;
}

void kg_pool_pace_add(struct kg_pool_pace *p, bool prepared, int64_t ns)
{
    *(prepared ? &p->next_ns : &p->first_ns) += (double)ns;
    *(prepared ? &p->nnext : &p->nfirst) += 1;
}

double kg_pool_pace_lead(const struct kg_pool_pace *p)
{
    if (p->nfirst == 0 || p->nnext == 0 || p->next_ns <= 0) {
        return 1;
    }
    double lead = p->first_ns / (double)p->nfirst / (p->next_ns / (double)p->nnext) - 1;
    return lead < 1 ? 1 : lead > MOST_LEAD ? MOST_LEAD : lead;
}
