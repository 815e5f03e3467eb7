#include "gym/batch/batch_choose.h"

#define MOST_LEAD 4 /* one that hangs in a first line says nothing about preparing */

static int holders(int problem, const struct kg_batch_holder *others, int n)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        found += others[i].problem == problem;
    }
    return found;
}

static bool all_prepared(int problem, const struct kg_batch_holder *others, int n)
{
    int i = 0;
    while (i < n && (others[i].problem != problem || others[i].prepared)) {
        i++;
    }
    return i == n;
}

/* The first line of the problem of which each worker would have most to do if one more held it; of
 * none that has few. */
static size_t most_to_do(const struct kg_item *item, size_t first, size_t end,
                         const struct kg_batch_holder *others, int n, double lead)
{
    size_t line = end;
    double most = 0;
    for (int i = 0; i < n; i++) {
        size_t at = end, lines = 0;
        int problem = others[i].problem, of = holders(problem, others, n);
        for (size_t k = first; k < end; k++) {
            bool waits = !item[k].taken && item[k].problem == problem;
            at = waits && lines == 0 ? k : at;
            lines += waits;
        }
        double each = (double)lines / (of + 1);
        bool few = (double)lines <= lead * of && all_prepared(problem, others, n);
        if (!few && at < end && (each > most || (each == most && at < line))) {
            line = at;
            most = each;
        }
    }
    return line;
}

size_t kg_batch_choose(const struct kg_item *item, size_t first, size_t end, int held,
                       const struct kg_batch_holder *others, int n, double lead)
{
    size_t reach = end - first < KG_BATCH_REACH ? end : first + KG_BATCH_REACH;
    size_t unheld = end;
    for (size_t i = first; i < reach; i++) {
        if (item[i].taken) {
            continue;
        }
        if (item[i].problem == held) {
            return i;
        }
        if (unheld == end && holders(item[i].problem, others, n) == 0) {
            unheld = i;
        }
    }
    size_t line = unheld < end ? unheld : most_to_do(item, first, reach, others, n, lead);
    return line < reach ? line : end;
}

void kg_batch_pace_add(struct kg_batch_pace *p, bool prepared, int64_t ns)
{
    *(prepared ? &p->next_ns : &p->first_ns) += (double)ns;
    *(prepared ? &p->nnext : &p->nfirst) += 1;
}

double kg_batch_pace_lead(const struct kg_batch_pace *p)
{
    if (p->nfirst == 0 || p->nnext == 0 || p->next_ns <= 0) {
        return 1;
    }
    double lead = p->first_ns / (double)p->nfirst / (p->next_ns / (double)p->nnext) - 1;
    return lead < 1 ? 1 : lead > MOST_LEAD ? MOST_LEAD : lead;
}
