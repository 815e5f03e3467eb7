/* Filters become one threshold on the logits; then the noisy maximum decides. */
#include "lm/infer/sample.h"

#include <math.h>

#include "base/philox.h"

static size_t rounded(int vocab)
{
    return ((size_t)vocab + 15) / 16 * 16;
}

size_t lm_sample_scratch(int vocab)
{
    return 2 * rounded(vocab) + 64; /* noise or sorted logits; bits */
}

/* Heap sort, descending. qsort may allocate. */
static void sink(lm_real *x, int root, int n)
{
    for (int child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && x[child + 1] < x[child]) {
            child++;
        }
        if (!(x[child] < x[root])) {
            return;
        }
        lm_real t = x[root];
        x[root] = x[child];
        x[child] = t;
    }
}

static void sort_down(lm_real *x, int n)
{
    for (int i = n / 2 - 1; i >= 0; i--) {
        sink(x, i, n);
    }
    for (int i = n - 1; i > 0; i--) {
        lm_real t = x[0];
        x[0] = x[i];
        x[i] = t;
        sink(x, 0, i);
    }
}

/* How many of the sorted scaled logits make up a share p of the first n. */
static int nucleus(const lm_real *x, int n, double p)
{
    double total = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        total += exp((double)(x[i] - x[0]));
    }
    for (int i = 0; i < n; i++) {
        sum += exp((double)(x[i] - x[0]));
        if (sum >= p * total) {
            return i + 1;
        }
    }
    return n;
}

/* The least scaled logit that may be drawn. */
static lm_real threshold(const lm_real *z, int n, const struct lm_sampling *s, lm_real inv_temp,
                         lm_real *sorted)
{
    lm_real low = (lm_real)-INFINITY;
    bool share = s->top_p > 0 && s->top_p < 1;
    if (s->top_k <= 0 && !share && !(s->min_p > 0)) {
        return low;
    }
    for (int i = 0; i < n; i++) {
        sorted[i] = z[i] * inv_temp;
    }
    sort_down(sorted, n);
    int kept = s->top_k > 0 && s->top_k < n ? s->top_k : n;
    kept = share ? nucleus(sorted, kept, (double)s->top_p) : kept;
    low = sorted[kept - 1];
    if (s->min_p > 0) {
        lm_real least = sorted[0] + (lm_real)log((double)s->min_p);
        low = least > low ? least : low;
    }
    return low;
}

static void make_noise(const struct lm_ops *ops, int n, const struct lm_sampling *s,
                       uint64_t request, int position, uint32_t *bits, lm_real *noise)
{
    const uint32_t key[2] = {(uint32_t)s->seed, (uint32_t)(s->seed >> 32)};
    for (uint32_t i = 0; i < (uint32_t)n; i += 4) {
        const uint32_t counter[4] = {i / 4, (uint32_t)position, (uint32_t)request,
                                     (uint32_t)(request >> 32)};
        kg_philox4x32(counter, key, bits + i);
    }
    ops->gumbel(bits, (int)rounded(n), noise);
}

struct lm_draw lm_sample(const struct lm_ops *ops, const lm_real *z, int vocab,
                         const struct lm_sampling *s, uint64_t request, int position,
                         lm_real *scratch)
{
    bool greedy = !(s->temperature > 0);
    struct lm_head h = {.n = vocab, .inv_temp = greedy ? 1 : 1 / (lm_real)s->temperature};
    int n = s->n_ids > 0 && s->n_ids < vocab ? s->n_ids : vocab, best = 0;
    lm_real low = (lm_real)-INFINITY, top = (lm_real)-INFINITY, *noise = scratch;
    ops->head(z, &h);
    if (!greedy) {
        low = threshold(z, n, s, h.inv_temp, scratch);
        make_noise(ops, n, s, request, position, (uint32_t *)(void *)(scratch + rounded(vocab)),
                   noise);
    }
    for (int i = 0; i < n; i++) {
        lm_real x = z[i] * h.inv_temp, y = greedy ? x : x + noise[i];
        if (x >= low && y > top) {
            top = y;
            best = i;
        }
    }
    return (struct lm_draw){best, lm_head_logp(z, &h, best)};
}
