/* Changes a few elements of a master, moderately to largely. A kernel that samples its inputs sees
 * none of them, so what it skips by the sample is wrong. Places and amounts come from the key. */
#include <math.h>

#include "gym/device/device_law.h"
#include "gym/device/device_state.h"

#define TOUCH    0x746f756368 /* the stream of the key that places and amounts are drawn by */
#define LEAST    3
#define MOST     4 /* a sample that sees one of them is not fooled by the others */
#define ONE_IN   8 /* elements: more would be another law */
#define MODERATE 6 /* magnitudes of 2 to 2^6 units, */
#define LARGE_FROM                                                                                 \
    7 /* large ones of 2^7 to 2^10: an exponential overflows, a square hides nobody */
#define LARGE_TO 10

static double power(struct kg_rng *r, double from, double to)
{
    return exp2(from + (to - from) * kg_rng_unit(r));
}

/* The first is large where one is asked; the next two are moderate, of either sign. So each sign is
 * there, however few there are. */
static double amount(struct kg_rng *r, const struct kg_dj_law *law, uint64_t i)
{
    bool large = law->b != 0 && (i == 0 || (i > 2 && kg_rng_below(r, 4) == 0));
    double v =
        large ? fmax(law->a, 1) * power(r, LARGE_FROM, LARGE_TO) : law->a * power(r, 1, MODERATE);
    bool coin = kg_rng_below(r, 2) == 1;
    bool below = i == 0 ? law->b == 0 && coin : i == 1 ? true : i == 2 ? false : coin;
    return below ? -v : v;
}

static uint64_t how_many(struct kg_rng *r, uint64_t n)
{
    uint64_t want = LEAST + kg_rng_below(r, MOST - LEAST + 1), most = (n + ONE_IN - 1) / ONE_IN;
    return want < most ? want : most;
}

/* Odd places, or even ones: whoever looks at each 64th element sees nothing of one of them. */
static uint64_t place_in(struct kg_rng *r, uint64_t n, bool odd)
{
    uint64_t places = odd ? n / 2 : n - n / 2;
    return places > 0 ? 2 * kg_rng_below(r, places) + odd : 0;
}

enum kg_code kg_dj_do_touch(struct kg_dj_state *s, const struct kg_djm_req *req, struct kg_err *err)
{
    struct kg_dj_case *c;
    struct kg_rng r;
    if (kg_dj_case_need(s, req->id, &c, err) != KG_OK) {
        return err->code;
    }
    uint32_t at = (uint32_t)req->at;
    const struct kg_tleaf *l = &c->leaf[at];
    enum kg_tdtype dtype = (enum kg_tdtype)l->dtype;
    if (at >= c->n || !c->filled[at] || !kg_tdtype_floating(dtype)) {
        return kg_fail(err, KG_E_GYM,
                       "judge: case %d has no floating input %d with values to touch", req->id,
                       req->at);
    }
    const size_t size = kg_tdtype_bytes(dtype);
    const uint64_t n = kg_tleaf_count(l);
    kg_dj_case_renewed(s, c, req->id);
    kg_rng_init(&r, req->law.key, TOUCH + (uint64_t)at);
    uint64_t left = how_many(&r, n);
    for (uint64_t i = 0; i < left; i++) {
        uint64_t raw = 0, place = kg_tleaf_at(l, place_in(&r, n, req->law.key.w[1] & 1));
        double v = amount(&r, &req->law, i);
        bool half = dtype == KG_TD_F16;
        kg_dj_store(dtype, &raw, 0, half ? kg_dj_clamp(v, -KG_DJ_HALF_MOST, KG_DJ_HALF_MOST) : v);
        s->dev.ops->upload(&s->dev, c->block + l->offset + place * size, &raw, size);
    }
    kg_rng_deinit(&r);
    return s->dev.ops->sync(&s->dev, err);
}
