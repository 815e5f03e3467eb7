/* Sixteen numbers that are worked on at once: the unit in which every operation of the engine is
 * written. Three forms: plain C (the specification), AVX2 with FMA, AVX-512. Every function rounds
 * once and in the same way in all three, so the same source gives the same bits. A file that
 * includes this is built with the flags of its form and with -ffp-contract=off.
 * min and max are those of SSE: (a < b ? a : b), so a NaN in b stays. */
#ifndef KG_LM_OPS_LANES_H
#define KG_LM_OPS_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lm/ops/real.h"

#define LM_LANES  16
#define LM_INLINE static inline __attribute__((always_inline, unused))

#if !defined(LM_F64) && defined(__AVX512F__) && defined(LM_FORM_AVX512)
#include "lm/ops/lanes_avx512.inc"
#elif !defined(LM_F64) && defined(__AVX2__) && defined(__FMA__) && defined(LM_FORM_AVX2)
#include "lm/ops/lanes_avx2.inc"
#else
#include "lm/ops/lanes_plain.inc"
#endif

/* The first n of 16 lanes, 0 <= n; n may be more than 16. */
LM_INLINE lm_v v_load_some(const lm_real *p, int n)
{
    return n >= LM_LANES ? v_load(p) : v_load_part(p, n);
}

LM_INLINE void v_store_some(lm_real *p, lm_v a, int n)
{
    if (n >= LM_LANES) {
        v_store(p, a);
    } else {
        v_store_part(p, a, n);
    }
}

#ifdef LM_F64
LM_INLINE lm_v v_exp(lm_v x)
{
    for (int i = 0; i < LM_LANES; i++) {
        x.v[i] = exp(x.v[i]);
    }
    return x;
}

LM_INLINE lm_v v_log(lm_v x)
{
    for (int i = 0; i < LM_LANES; i++) {
        x.v[i] = log(x.v[i]);
    }
    return x;
}
#else
/* exp: relative error below 2e-7; 0 below -86, at most exp(88). Source of the polynomials of both:
 * Cephes expf and logf. */
LM_INLINE lm_v v_exp(lm_v x)
{
    const lm_v magic = v_set(12582912.0f); /* 1.5 * 2^23: the sum's low bits are the integer */
    x = v_min(v_set(88.0f), x);
    lm_v t = v_fma(x, v_set(1.44269504088896341f), magic);
    lm_v n = v_sub(t, magic);
    lm_v r = v_fma(n, v_set(-0.693359375f), x);
    r = v_fma(n, v_set(2.12194440e-4f), r);
    lm_v p = v_set(1.9875691500e-4f);
    p = v_fma(p, r, v_set(1.3981999507e-3f));
    p = v_fma(p, r, v_set(8.3334519073e-3f));
    p = v_fma(p, r, v_set(4.1665795894e-2f));
    p = v_fma(p, r, v_set(1.6666665459e-1f));
    p = v_fma(p, r, v_set(5.0000001201e-1f));
    p = v_fma(v_mul(r, r), p, r);
    p = v_add(p, v_set(1.0f));
    return v_zero_below(v_scale(p, t), x, v_set(-86.0f));
}

/* log of a normal number above 0. */
LM_INLINE lm_v v_log(lm_v x)
{
    lm_v e, m = v_split(x, &e); /* m in [sqrt(1/2), sqrt(2)) */
    lm_v f = v_sub(m, v_set(1.0f)), f2 = v_mul(f, f);
    lm_v p = v_set(7.0376836292e-2f);
    p = v_fma(p, f, v_set(-1.1514610310e-1f));
    p = v_fma(p, f, v_set(1.1676998740e-1f));
    p = v_fma(p, f, v_set(-1.2420140846e-1f));
    p = v_fma(p, f, v_set(1.4249322787e-1f));
    p = v_fma(p, f, v_set(-1.6668057665e-1f));
    p = v_fma(p, f, v_set(2.0000714765e-1f));
    p = v_fma(p, f, v_set(-2.4999993993e-1f));
    p = v_fma(p, f, v_set(3.3333331174e-1f));
    lm_v y = v_mul(v_mul(p, f), f2);
    y = v_fma(e, v_set(-2.12194440e-4f), y);
    y = v_fma(v_set(-0.5f), f2, y);
    return v_fma(e, v_set(0.693359375f), v_add(f, y));
}
#endif

#endif
