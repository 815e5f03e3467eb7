/* The plain form of lanes.h, which includes this. */
#define LM_TILE_ROWS    4
#define LM_TILE_VECTORS 1

typedef struct {
    lm_real v[LM_LANES];
} lm_v;

#define LM_EACH for (int i = 0; i < LM_LANES; i++)

LM_INLINE lm_real s_fma(lm_real a, lm_real b, lm_real c)
{
#ifdef LM_F64
    return __builtin_fma(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

LM_INLINE lm_v v_load(const lm_real *p)
{
    lm_v r;
    memcpy(r.v, p, sizeof r.v);
    return r;
}

LM_INLINE void v_store(lm_real *p, lm_v a)
{
    memcpy(p, a.v, sizeof a.v);
}

LM_INLINE lm_v v_load_part(const lm_real *p, int n)
{
    lm_v r;
    LM_EACH r.v[i] = i < n ? p[i] : 0;
    return r;
}

LM_INLINE void v_store_part(lm_real *p, lm_v a, int n)
{
    LM_EACH if (i < n) p[i] = a.v[i];
}

LM_INLINE lm_v v_set(lm_real x)
{
    lm_v r;
    LM_EACH r.v[i] = x;
    return r;
}

LM_INLINE lm_v v_add(lm_v a, lm_v b)
{
    LM_EACH a.v[i] += b.v[i];
    return a;
}

LM_INLINE lm_v v_sub(lm_v a, lm_v b)
{
    LM_EACH a.v[i] -= b.v[i];
    return a;
}

LM_INLINE lm_v v_mul(lm_v a, lm_v b)
{
    LM_EACH a.v[i] *= b.v[i];
    return a;
}

LM_INLINE lm_v v_div(lm_v a, lm_v b)
{
    LM_EACH a.v[i] /= b.v[i];
    return a;
}

LM_INLINE lm_v v_sqrt(lm_v a)
{
    LM_EACH a.v[i] = (lm_real)sqrt((double)a.v[i]); /* right for f32 too: 53 >= 2 * 24 + 2 */
    return a;
}

LM_INLINE lm_v v_fma(lm_v a, lm_v b, lm_v c)
{
    LM_EACH c.v[i] = s_fma(a.v[i], b.v[i], c.v[i]);
    return c;
}

LM_INLINE lm_v v_min(lm_v a, lm_v b)
{
    LM_EACH b.v[i] = a.v[i] < b.v[i] ? a.v[i] : b.v[i];
    return b;
}

LM_INLINE lm_v v_max(lm_v a, lm_v b)
{
    LM_EACH b.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
    return b;
}

/* lanes 0..n-1 of a, the others of b */
LM_INLINE lm_v v_first(lm_v a, lm_v b, int n)
{
    LM_EACH b.v[i] = i < n ? a.v[i] : b.v[i];
    return b;
}

/* i and i+8, then i and i+4, 2, 1 */
LM_INLINE lm_real v_sum(lm_v a)
{
    for (int w = LM_LANES / 2; w > 0; w /= 2) {
        for (int i = 0; i < w; i++) {
            a.v[i] += a.v[i + w];
        }
    }
    return a.v[0];
}

LM_INLINE lm_real v_highest(lm_v a)
{
    for (int w = LM_LANES / 2; w > 0; w /= 2) {
        for (int i = 0; i < w; i++) {
            a.v[i] = a.v[i] > a.v[i + w] ? a.v[i] : a.v[i + w];
        }
    }
    return a.v[0];
}

#ifndef LM_F64
/* a, or 0 where x < low */
LM_INLINE lm_v v_zero_below(lm_v a, lm_v x, lm_v low)
{
    LM_EACH a.v[i] = x.v[i] < low.v[i] ? 0 : a.v[i];
    return a;
}

/* a * 2^(integer in the low bits of t) */
LM_INLINE lm_v v_scale(lm_v a, lm_v t)
{
    uint32_t x[LM_LANES], y[LM_LANES];
    memcpy(x, a.v, sizeof x);
    memcpy(y, t.v, sizeof y);
    LM_EACH x[i] += y[i] << 23;
    memcpy(a.v, x, sizeof x);
    return a;
}

LM_INLINE lm_v v_split(lm_v a, lm_v *e)
{
    int32_t x[LM_LANES];
    memcpy(x, a.v, sizeof x);
    LM_EACH
    {
        int32_t n = (x[i] - 0x3f3504f3) >> 23;
        e->v[i] = (float)n;
        x[i] = (int32_t)((uint32_t)x[i] - ((uint32_t)n << 23));
    }
    memcpy(a.v, x, sizeof x);
    return a;
}
#endif

/* ((bits >> 8) + 1/2) * 2^-24, in (0, 1) */
LM_INLINE lm_v v_unit(const uint32_t *bits)
{
    lm_v r;
    LM_EACH r.v[i] = ((lm_real)(bits[i] >> 8) + (lm_real)0.5) * (lm_real)0x1p-24;
    return r;
}
