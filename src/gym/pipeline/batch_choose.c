#include "gym/pipeline/batch_choose.h"

static bool is_among(int problem, const int *others, int n)
{
    for (int i = 0; i < n; i++) {
        if (others[i] == problem) {
            return true;
        }
    }
    return false;
}

size_t kg_batch_choose(const struct kg_item *item, size_t first, size_t end, int held,
                       const int *others, int n)
{
    size_t reach = end - first < KG_BATCH_REACH ? end : first + KG_BATCH_REACH;
    size_t oldest = end, unheld = end;
    for (size_t i = first; i < reach; i++) {
        if (item[i].taken) {
            continue;
        }
        if (item[i].problem == held) {
            return i;
        }
        if (oldest == end) {
            oldest = i;
        }
        if (unheld == end && !is_among(item[i].problem, others, n)) {
            unheld = i;
        }
    }
    return unheld < end ? unheld : oldest;
}
