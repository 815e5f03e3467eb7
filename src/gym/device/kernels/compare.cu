/* Kernels that compare an answer with the reference and the oracle. The formulas stand in
 * tensor_compare.h; the arithmetic must equal that of the host, or verdicts would depend on the
 * device. */

/* dst [n] f64 = src [n] of dtype. */
KERNEL void kg_widen(double *dst, int dtype, const void *src, u64 n)
{
    for (u64 i = THREAD; i < n; i += STRIDE) {
        dst[i] = real_at(dtype, src, i);
    }
}

/* dst [n]: what is kept of an oracle's o [n] f64 beside the reference's r [n] of dtype. The rule
 * stands in difference.h. */
KERNEL void kg_differ(float *dst, int dtype, const void *r, const double *o, u64 n)
{
    for (u64 i = THREAD; i < n; i += STRIDE) {
        double x = real_at(dtype, r, i), y = o[i], e = is_finite(x) ? y - x : y;
        if (!is_finite(x) && (x == y || (is_nan(x) && is_nan(y)))) {
            e = 0;
        } else if (!is_finite(x) && y == 0) {
            e = 1;
        }
        if (is_finite(e)) {
            e = e > FLOAT_MOST ? FLOAT_MOST : e < -FLOAT_MOST ? -FLOAT_MOST : e;
        }
        dst[i] = (float)e;
    }
}

/* dst [n] f64: the oracle's values of what was kept. */
KERNEL void kg_rejoin(double *dst, int dtype, const void *r, const float *d, u64 n)
{
    for (u64 i = THREAD; i < n; i += STRIDE) {
        double x = real_at(dtype, r, i), e = (double)d[i];
        dst[i] = is_finite(x) ? x + e : e == 0 ? x : e;
    }
}

struct moments { /* of one block; as in cuda_compare.c */
    u64 used, disagree;
    double square, errors, most, max_ref;
};

DEVICE void moments_merge(struct moments *a, const struct moments *b)
{
    a->used += b->used;
    a->disagree += b->disagree;
    a->square += b->square;
    a->errors += b->errors;
    a->most = b->most > a->most ? b->most : a->most;
    a->max_ref = b->max_ref > a->max_ref ? b->max_ref : a->max_ref;
}

/* It belongs to a fill; 0: there is none. */
DEVICE int filled(double fill, double c)
{
    return fill > 0 && (c >= fill || c <= -fill);
}

/* Error statistics of r [n] of dtype against c [n] of cdtype, fills left out. Squares of c are
 * taken after division by scale, so that they do not overflow. r 0: statistics of c alone. out: one
 * per block. */
KERNEL void kg_moments(int dtype, const void *r, int cdtype, const void *c, u64 n, double fill,
                       double scale, struct moments *out)
{
    __shared__ struct moments part[BLOCK];
    struct moments m = {0, 0, 0, 0, 0, 0};
    for (u64 i = THREAD; i < n; i += STRIDE) {
        double y = real_at(cdtype, c, i), x = r ? real_at(dtype, r, i) : y, e = x - y;
        double a, t = y / scale;
        e = e < 0 ? -e : e;
        a = y < 0 ? -y : y;
        if (!is_finite(e)) { /* equal infinities, or NaN on both sides, agree */
            m.disagree += !(x == y || (is_nan(x) && is_nan(y)));
            continue;
        }
        if (filled(fill, y)) {
            continue;
        }
        m.used++;
        m.square += t * t;
        m.errors += e * e;
        m.most = a > m.most ? a : m.most;
        m.max_ref = e > m.max_ref ? e : m.max_ref;
    }
    part[threadIdx.x] = m;
    __syncthreads();
    for (u32 k = blockDim.x / 2u; k > 0; k /= 2u) {
        if (threadIdx.x < k) {
            moments_merge(&part[threadIdx.x], &part[threadIdx.x + k]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = part[0];
    }
}

/* Histogram of DIGIT bits of |r - c|, from bit `shift` up. Only differences whose higher bits equal
 * `prefix` are counted, and no fill. Non-negative doubles are ordered as their bits are, so repeated
 * passes select a percentile. hist [2^DIGIT]. */
#define DIGIT 11
KERNEL void kg_digits(int dtype, const void *r, const double *c, u64 n, double fill, u32 shift,
                      u64 prefix, u64 *hist)
{
    __shared__ u32 part[1 << DIGIT];
    u32 above = shift + DIGIT;
    for (u32 k = threadIdx.x; k < (1u << DIGIT); k += blockDim.x) {
        part[k] = 0;
    }
    __syncthreads();
    for (u64 i = THREAD; i < n; i += STRIDE) {
        double e = real_at(dtype, r, i) - c[i];
        u64 b = bits_of_double(e) & 0x7fffffffffffffffull;
        if (is_finite(e) && !filled(fill, c[i]) && (above >= 64u ? 0 : b >> above) == prefix) {
            atomicAdd(&part[b >> shift & ((1u << DIGIT) - 1u)], 1u);
        }
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < (1u << DIGIT); k += blockDim.x) {
        if (part[k] > 0) {
            atomicAdd(&hist[k], (u64)part[k]);
        }
    }
}

struct limits { /* as in cuda_compare.c; formulas: verify/limits.h */
    double rel, abs, low, low_s, high, high_s, most, own_error, rms, fill;
};

struct scan { /* of one block; as in cuda_compare.c */
    u64 n_bad, first_bad, finite, nonfinite, differ;
    double square, worst;
};

DEVICE void scan_merge(struct scan *a, const struct scan *b)
{
    a->n_bad += b->n_bad;
    a->first_bad = b->first_bad < a->first_bad ? b->first_bad : a->first_bad;
    a->finite += b->finite;
    a->nonfinite += b->nonfinite;
    a->differ += b->differ;
    a->square += b->square;
    a->worst = b->worst > a->worst ? b->worst : a->worst;
}

/* Merges the results of a block's threads and stores them in out[block]. */
DEVICE void scan_store(const struct scan *mine, struct scan *out)
{
    __shared__ struct scan part[BLOCK];
    part[threadIdx.x] = *mine;
    __syncthreads();
    for (u32 k = blockDim.x / 2u; k > 0; k /= 2u) {
        if (threadIdx.x < k) {
            scan_merge(&part[threadIdx.x], &part[threadIdx.x + k]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = part[0];
    }
}

/* Both finite, the same infinity, or both NaN. */
DEVICE int same_class(double a, double b)
{
    return (is_finite(a) && is_finite(b)) || a == b || (is_nan(a) && is_nan(b));
}

/* The bound of an element whose centre is c. own: what the reference's own error allows. */
DEVICE double limit_at(const struct limits *l, double c, double own)
{
    double a = c < 0 ? -c : c;
    double base = l->rel * a + l->abs, low = l->low * a + l->low_s, high = l->high * a + l->high_s;
    double ceiling = high > l->most ? high : l->most;
    double bound = base > low ? base : low;
    bound = bound < ceiling ? bound : ceiling;
    own *= l->own_error;
    return own > bound ? own : bound;
}

DEVICE void scan_bad(struct scan *s, u64 i)
{
    s->n_bad++;
    s->first_bad = i < s->first_bad ? i : s->first_bad;
}

DEVICE void scan_element(struct scan *s, const struct limits *l, u64 i, double y, double r,
                         double c)
{
    if (!same_class(r, c)) {
        return; /* reference and oracle disagree in class: no answer can be wrong here */
    }
    if (!same_class(y, c)) {
        s->nonfinite++;
        s->worst = infinity();
        scan_bad(s, i);
    } else if (is_finite(c)) {
        double e = y - c, own = r - c, bound;
        e = e < 0 ? -e : e;
        own = own < 0 ? -own : own;
        bound = limit_at(l, c, own);
        if (!filled(l->fill, c)) {
            s->square += e * e;
            s->finite++;
        }
        if (!(e <= bound)) {
            scan_bad(s, i);
        }
        if (e > 0 && e / bound > s->worst) {
            s->worst = e / bound;
        }
    }
}

/* Compares y with o where o is given, else with r. y, r [n] of dtype; o [n] f64, or 0. */
KERNEL void kg_scan(int dtype, const void *y, const void *r, const double *o, u64 n,
                    struct limits limits, struct scan *out)
{
    struct scan s = {0, ~0ull, 0, 0, 0, 0, 0};
    u32 size = size_of(dtype);
    for (u64 i = THREAD; i < n; i += STRIDE) {
        double a = real_at(dtype, y, i), b = real_at(dtype, r, i);
        s.differ += word_at(size, y, i) != word_at(size, r, i);
        scan_element(&s, &limits, i, a, b, o ? o[i] : b);
    }
    scan_store(&s, out);
}

/* Counts elements whose error is larger than the limit of the rms over all elements but a fill's. */
KERNEL void kg_scan_rms(int dtype, const void *y, const void *r, const double *o, u64 n,
                        double fill, double limit, struct scan *out)
{
    struct scan s = {0, ~0ull, 0, 0, 0, 0, 0};
    for (u64 i = THREAD; i < n; i += STRIDE) {
        double a = real_at(dtype, y, i), b = real_at(dtype, r, i), c = o ? o[i] : b, e = a - c;
        int counts = is_finite(a) && is_finite(b) && is_finite(c) && !filled(fill, c);
        if (counts && (e < 0 ? -e : e) > limit) {
            scan_bad(&s, i);
        }
    }
    scan_store(&s, out);
}

/* Compares elements of `size` bytes exactly: y must equal r where r and o agree (o 0: everywhere).
 * differ: how often y and r differ at all. finite: how often r and o disagree. */
KERNEL void kg_scan_exact(u32 size, const void *y, const void *r, const void *o, u64 n,
                          struct scan *out)
{
    struct scan s = {0, ~0ull, 0, 0, 0, 0, 0};
    for (u64 i = THREAD; i < n; i += STRIDE) {
        u64 b = word_at(size, r, i);
        int same = word_at(size, y, i) == b, agree = o ? word_at(size, o, i) == b : 1;
        s.differ += !same;
        s.finite += !agree;
        if (!same && agree) {
            scan_bad(&s, i);
        }
    }
    scan_store(&s, out);
}
