#include "gym/record/samples.h"

#include <math.h>
#include <string.h>

static double at_least_one(const json_t *v)
{
    double ns = (double)json_integer_value(v);
    return ns < 1 ? 1 : ns;
}

size_t kg_samples_pairs(const struct kg_timing *t, struct kg_sample_pair *out, size_t cap)
{
    size_t found = 0, p;
    json_t *process;
    json_array_foreach(t->samples, p, process)
    {
        const json_t *ref = json_object_get(process, "reference_ns"),
                     *cand = json_object_get(process, "candidate_ns"),
                     *first = json_object_get(process, "candidate_first");
        size_t n = json_array_size(ref) < json_array_size(cand) ? json_array_size(ref)
                                                                : json_array_size(cand);
        for (size_t i = 0; i < n; i++) {
            const json_t *r = json_array_get(ref, i), *c = json_array_get(cand, i);
            if (!json_is_integer(r) || !json_is_integer(c)) {
                continue;
            }
            if (found < cap) {
                out[found] = (struct kg_sample_pair){at_least_one(r), at_least_one(c), (int)p,
                                                     json_is_true(json_array_get(first, i))};
            }
            found++;
        }
    }
    return found;
}

void kg_samples_bins(const double *x, size_t n, double lo, double hi, unsigned *count, size_t bins)
{
    memset(count, 0, bins * sizeof *count);
    const size_t middle = bins / 2;
    for (size_t i = 0; i < n; i++) {
        double at = hi > lo ? floor((x[i] - lo) / (hi - lo) * (double)bins) : (double)middle;
        at = at < 0 ? 0 : at >= (double)bins ? (double)(bins - 1) : at;
        count[(size_t)at]++;
    }
}
