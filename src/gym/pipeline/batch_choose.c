#include "gym/pipeline/batch_choose.h"

#include <stdbool.h>

static int holders(int problem, const int *others, int n)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        found += others[i] == problem;
    }
    return found;
}

/* The first line of the problem of which each worker would have most to do if one more held it: the
 * last of a problem's lines are not worth another's preparations. */
static size_t most_to_do(const struct kg_item *item, size_t first, size_t end, const int *others,
                         int n)
{
    size_t line = end;
    double most = 0;
    for (int i = 0; i < n; i++) {
        size_t at = end, lines = 0;
        for (size_t k = first; k < end; k++) {
            bool waits = !item[k].taken && item[k].problem == others[i];
            at = waits && lines == 0 ? k : at;
            lines += waits;
        }
        double each = (double)lines / (holders(others[i], others, n) + 1);
        if (at < end && (each > most || (each == most && at < line))) {
            line = at;
            most = each;
        }
    }
    return line;
}

size_t kg_batch_choose(const struct kg_item *item, size_t first, size_t end, int held,
                       const int *others, int n)
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
    size_t line = unheld < end ? unheld : most_to_do(item, first, reach, others, n);
    return line < reach ? line : end;
}
