/* The AVX-512 form of lanes.h, which includes this. */
#include <immintrin.h>

#define LM_TILE_ROWS    12
#define LM_TILE_VECTORS 2

typedef __m512 lm_v;

LM_INLINE __mmask16 v_mask(int n)
{
    return (__mmask16)((1u << n) - 1u);
}

LM_INLINE lm_v v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

LM_INLINE void v_store(float *p, lm_v a)
{
    _mm512_storeu_ps(p, a);
}

LM_INLINE lm_v v_load_part(const float *p, int n)
{
    return _mm512_maskz_loadu_ps(v_mask(n), p);
}

LM_INLINE void v_store_part(float *p, lm_v a, int n)
{
    _mm512_mask_storeu_ps(p, v_mask(n), a);
}

LM_INLINE lm_v v_set(float x)
{
    return _mm512_set1_ps(x);
}

LM_INLINE lm_v v_add(lm_v a, lm_v b)
{
    return _mm512_add_ps(a, b);
}

LM_INLINE lm_v v_sub(lm_v a, lm_v b)
{
    return _mm512_sub_ps(a, b);
}

LM_INLINE lm_v v_mul(lm_v a, lm_v b)
{
    return _mm512_mul_ps(a, b);
}

LM_INLINE lm_v v_div(lm_v a, lm_v b)
{
    return _mm512_div_ps(a, b);
}

LM_INLINE lm_v v_sqrt(lm_v a)
{
    return _mm512_sqrt_ps(a);
}

LM_INLINE lm_v v_fma(lm_v a, lm_v b, lm_v c)
{
    return _mm512_fmadd_ps(a, b, c);
}

LM_INLINE lm_v v_min(lm_v a, lm_v b)
{
    return _mm512_min_ps(a, b);
}

LM_INLINE lm_v v_max(lm_v a, lm_v b)
{
    return _mm512_max_ps(a, b);
}

LM_INLINE lm_v v_first(lm_v a, lm_v b, int n)
{
    return n >= LM_LANES ? a : _mm512_mask_blend_ps(v_mask(n), b, a);
}

LM_INLINE __m256 v_upper(lm_v a)
{
    return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1));
}

LM_INLINE float v_sum(lm_v a)
{
    __m256 x = _mm256_add_ps(_mm512_castps512_ps256(a), v_upper(a));
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
}

LM_INLINE float v_highest(lm_v a)
{
    __m256 x = _mm256_max_ps(_mm512_castps512_ps256(a), v_upper(a));
    __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_shuffle_ps(y, y, 1)));
}

LM_INLINE lm_v v_zero_below(lm_v a, lm_v x, lm_v low)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, low, _CMP_NLT_UQ), a);
}

LM_INLINE lm_v v_scale(lm_v a, lm_v t)
{
    __m512i n = _mm512_slli_epi32(_mm512_castps_si512(t), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), n));
}

LM_INLINE lm_v v_split(lm_v a, lm_v *e)
{
    __m512i x = _mm512_castps_si512(a);
    __m512i n = _mm512_srai_epi32(_mm512_sub_epi32(x, _mm512_set1_epi32(0x3f3504f3)), 23);
    *e = _mm512_cvtepi32_ps(n);
    return _mm512_castsi512_ps(_mm512_sub_epi32(x, _mm512_slli_epi32(n, 23)));
}

LM_INLINE lm_v v_unit(const uint32_t *bits)
{
    __m512i n = _mm512_srli_epi32(_mm512_loadu_si512(bits), 8);
    return v_mul(v_add(_mm512_cvtepi32_ps(n), v_set(0.5f)), v_set(0x1p-24f));
}
