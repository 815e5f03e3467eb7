#include "gym/pipeline/batch_choose.h"

static int holders(int problem, const struct kg_batch_holder *others, int n, bool *prepared)
{
    int found = 0;
    *prepared = true;
    for (int i = 0; i < n; i++) {
        found += others[i].problem == problem;
        *prepared = *prepared && (others[i].problem != problem || others[i].prepared);
    }
    return found;
}

/* The first line of the problem of which each worker would have most to do if one more held it; of
 * none that has few. */
static size_t most_to_do(const struct kg_item *item, size_t first, size_t end,
                         const struct kg_batch_holder *others, int n)
{
    size_t line = end;
    double most = 0;
    for (int i = 0; i < n; i++) {
        size_t at = end, lines = 0;
        bool prepared;
        int of = holders(others[i].problem, others, n, &prepared);
        for (size_t k = first; k < end; k++) {
            bool waits = !item[k].taken && item[k].problem == others[i].problem;
            at = waits && lines == 0 ? k : at;
            lines += waits;
        }
        double each = (double)lines / (of + 1);
        bool few = prepared && lines <= (size_t)of;
        if (!few && at < end && (each > most || (each == most && at < line))) {
            line = at;
            most = each;
        }
    }
    return line;
}

size_t kg_batch_choose(const struct kg_item *item, size_t first, size_t end, int held,
                       const struct kg_batch_holder *others, int n)
{
    bool prepared;
    size_t reach = end - first < KG_BATCH_REACH ? end : first + KG_BATCH_REACH;
    size_t unheld = end;
    for (size_t i = first; i < reach; i++) {
        if (item[i].taken) {
            continue;
        }
        if (item[i].problem == held) {
            return i;
        }
        if (unheld == end && holders(item[i].problem, others, n, &prepared) == 0) {
            unheld = i;
        }
    }
    size_t line = unheld < end ? unheld : most_to_do(item, first, reach, others, n);
    return line < reach ? line : end;
}
