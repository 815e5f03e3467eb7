/* The AVX2 form of lanes.h, which includes this. */
#include <immintrin.h>

#define LM_TILE_ROWS    6
#define LM_TILE_VECTORS 1

typedef struct {
    __m256 a, b; /* lanes 0..7, 8..15 */
} lm_v;

#define LM_BOTH(f, x, y)                                                                           \
    (lm_v)                                                                                         \
    {                                                                                              \
        f((x).a, (y).a), f((x).b, (y).b)                                                           \
    }

/* all ones in the first n of 8 lanes; n may be below 0 or above 8 */
LM_INLINE __m256i v_mask(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

LM_INLINE lm_v v_load(const float *p)
{
    return (lm_v){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}

LM_INLINE void v_store(float *p, lm_v x)
{
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}

LM_INLINE lm_v v_load_part(const float *p, int n)
{
    return (lm_v){_mm256_maskload_ps(p, v_mask(n)), _mm256_maskload_ps(p + 8, v_mask(n - 8))};
}

LM_INLINE void v_store_part(float *p, lm_v x, int n)
{
    _mm256_maskstore_ps(p, v_mask(n), x.a);
    _mm256_maskstore_ps(p + 8, v_mask(n - 8), x.b);
}

LM_INLINE lm_v v_set(float x)
{
    return (lm_v){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}

LM_INLINE lm_v v_add(lm_v x, lm_v y)
{
    return LM_BOTH(_mm256_add_ps, x, y);
}

LM_INLINE lm_v v_sub(lm_v x, lm_v y)
{
    return LM_BOTH(_mm256_sub_ps, x, y);
}

LM_INLINE lm_v v_mul(lm_v x, lm_v y)
{
    return LM_BOTH(_mm256_mul_ps, x, y);
}

LM_INLINE lm_v v_div(lm_v x, lm_v y)
{
    return LM_BOTH(_mm256_div_ps, x, y);
}

LM_INLINE lm_v v_sqrt(lm_v x)
{
    return (lm_v){_mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)};
}

LM_INLINE lm_v v_fma(lm_v x, lm_v y, lm_v z)
{
    return (lm_v){_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}

LM_INLINE lm_v v_min(lm_v x, lm_v y)
{
    return LM_BOTH(_mm256_min_ps, x, y);
}

LM_INLINE lm_v v_max(lm_v x, lm_v y)
{
    return LM_BOTH(_mm256_max_ps, x, y);
}

LM_INLINE lm_v v_first(lm_v x, lm_v y, int n)
{
    return (lm_v){_mm256_blendv_ps(y.a, x.a, _mm256_castsi256_ps(v_mask(n))),
                  _mm256_blendv_ps(y.b, x.b, _mm256_castsi256_ps(v_mask(n - 8)))};
}

LM_INLINE float v_sum(lm_v v)
{
    __m256 x = _mm256_add_ps(v.a, v.b);
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
}

LM_INLINE float v_highest(lm_v v)
{
    __m256 x = _mm256_max_ps(v.a, v.b);
    __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_shuffle_ps(y, y, 1)));
}

LM_INLINE lm_v v_zero_below(lm_v v, lm_v x, lm_v low)
{
    return (lm_v){_mm256_and_ps(v.a, _mm256_cmp_ps(x.a, low.a, _CMP_NLT_UQ)),
                  _mm256_and_ps(v.b, _mm256_cmp_ps(x.b, low.b, _CMP_NLT_UQ))};
}

LM_INLINE __m256 v_scale_half(__m256 x, __m256 t)
{
    __m256i n = _mm256_slli_epi32(_mm256_castps_si256(t), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), n));
}

LM_INLINE lm_v v_scale(lm_v x, lm_v t)
{
    return LM_BOTH(v_scale_half, x, t);
}

LM_INLINE __m256 v_split_half(__m256 v, __m256 *e)
{
    __m256i x = _mm256_castps_si256(v);
    __m256i n = _mm256_srai_epi32(_mm256_sub_epi32(x, _mm256_set1_epi32(0x3f3504f3)), 23);
    *e = _mm256_cvtepi32_ps(n);
    return _mm256_castsi256_ps(_mm256_sub_epi32(x, _mm256_slli_epi32(n, 23)));
}

LM_INLINE lm_v v_split(lm_v x, lm_v *e)
{
    lm_v m;
    m.a = v_split_half(x.a, &e->a);
    m.b = v_split_half(x.b, &e->b);
    return m;
}

LM_INLINE __m256 v_whole_half(const uint32_t *bits)
{
    __m256i x;
    memcpy(&x, bits, sizeof x);
    return _mm256_cvtepi32_ps(_mm256_srli_epi32(x, 8));
}

LM_INLINE lm_v v_unit(const uint32_t *bits)
{
    lm_v n = {v_whole_half(bits), v_whole_half(bits + 8)};
    return v_mul(v_add(n, v_set(0.5f)), v_set(0x1p-24f));
}
