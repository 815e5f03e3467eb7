/* Makes the laws of a problem's own inputs from their statistics, and the laws near them. */
#include "gym/torch/problem/own_law.h"

#include <math.h>

/* Of the law `raised`. Below an eighth of its own values an honest tanh, written as a sigmoid, has
 * an error beyond the bound (SMALL_SD of input_plan.c). */
#define FACTOR_FROM (-3.0) /* powers of 2 */
#define FACTOR_TO   6.0
#define SHIFT_FROM  (-1.0) /* of the spread of the own values */
#define SHIFT_TO    3.0
/* Half of 10^9 numbers has the mean of all to 1 in 10^4 or so. An answer of more elements shows
 * what is left out of them. */
#define FEW_ANSWERS 64

static bool looks_uniform(const struct kg_tstats *s, double n)
{
    double width = s->max - s->min, slack = width * (0.02 + 0.5 / sqrt(n));
    return fabs(s->mean - (s->min + s->max) / 2) < slack && fabs(s->sd - width / sqrt(12)) < slack;
}

/* The extremes of n normal values lie about sqrt(2 ln n) standard deviations away. */
static bool looks_normal(const struct kg_tstats *s, double n)
{
    double far = sqrt(2 * log(n)), hi = (s->max - s->mean) / s->sd, lo = (s->mean - s->min) / s->sd;
    return n >= 64 && fabs(hi - far) < 1.5 && fabs(lo - far) < 1.5;
}

/* Quicker by far than get_inputs() on the host, and values that no process has seen. */
static bool own_law(const struct kg_task_input *in, struct kg_key key, uint64_t stream,
                    struct kg_dj_law *out)
{
    const struct kg_tstats *s = &in->stats;
    double n = (double)kg_tleaf_count(&in->leaf);
    *out = (struct kg_dj_law){.key = key, .stream = stream};
    if (looks_uniform(s, n)) {
        out->kind = KG_DJ_UNIFORM;
        out->a = s->min;
        out->b = s->max;
        return true;
    }
    out->kind = KG_DJ_NORMAL;
    out->a = s->mean;
    out->b = s->sd;
    return looks_normal(s, n);
}

/* A number of [0, 1) that the key tells. */
static double unit_of(struct kg_key key, const char *what, size_t at)
{
    return (double)(kg_key_derive(key, what, at).w[0] >> 11) * 0x1p-53;
}

/* Each input has a factor and a shift of its own; a quarter of the factors is negative, half of the
 * shifts are 0. */
static void raise_law(struct kg_dj_law *law, size_t at)
{
    bool uniform = law->kind == KG_DJ_UNIFORM;
    double spread = uniform ? law->b - law->a : law->b;
    double factor =
        exp2(FACTOR_FROM + (FACTOR_TO - FACTOR_FROM) * unit_of(law->key, "raised factor", at));
    double sign = unit_of(law->key, "raised sign", at) < 0.25 ? -1 : 1;
    double shift = 2 * unit_of(law->key, "raised shift", at) - 1; /* its sign, and whether */
    shift =
        fabs(shift) < 0.5
            ? 0
            : copysign(spread * exp2(SHIFT_FROM + (SHIFT_TO - SHIFT_FROM) * (2 * fabs(shift) - 1)),
                       shift);
    double a = sign * factor * (law->a + shift),
           b = uniform ? sign * factor * (law->b + shift) : factor * law->b;
    law->a = uniform ? fmin(a, b) : a;
    law->b = uniform ? fmax(a, b) : b;
}

/* Where so few numbers are the answer that a part of a long sum may look like the rest, parts of
 * an input differ. */
static enum kg_dj_uneven uneven(const struct kg_task_desc *d, enum kg_tlaw law)
{
    uint64_t answers = 0;
    for (size_t i = 0; i < d->noutputs; i++) {
        answers += kg_tleaf_count(&d->output[i].leaf);
    }
    return answers > FEW_ANSWERS ? KG_DJ_EVEN
           : law == KG_TL_RAISED ? KG_DJ_EIGHTHS
           : law == KG_TL_SPIKE  ? KG_DJ_TILES
                                 : KG_DJ_EVEN;
}

bool kg_tplan_made(const struct kg_task_desc *d, size_t at, enum kg_tlaw law, struct kg_key key,
                   bool drawn, struct kg_dj_law *out)
{
    const struct kg_task_input *in = &d->input[at];
    bool own = law < KG_TL_BF16 || kg_tplan_touches(law) || law == KG_TL_RAISED;
    if (!kg_tplan_free(in) || law == KG_TL_INSIDE ||
        (own && (drawn || !own_law(in, key, at, out)))) {
        return false;
    }
    if (!own) {
        kg_tplan_law(d, at, law, key, out);
    }
    if (law == KG_TL_RAISED) {
        raise_law(out, at);
    }
    out->uneven = uneven(d, law);
    return true;
}

bool kg_tplan_touches(enum kg_tlaw law)
{
    return law == KG_TL_TOUCHED || law == KG_TL_ELSEWHERE;
}

bool kg_tplan_gentle(struct kg_key key)
{
    return key.w[0] & 1;
}

struct kg_key kg_tplan_gently(struct kg_key key, bool gentle)
{
    key.w[0] = (key.w[0] & ~(uint64_t)1) | gentle;
    return key;
}

struct kg_key kg_tplan_touch_key(struct kg_key key, enum kg_tlaw law)
{
    key.w[1] = (key.w[1] & ~(uint64_t)1) | (law == KG_TL_ELSEWHERE);
    return key;
}

double kg_tplan_touch_unit(const struct kg_task_desc *d, size_t at, enum kg_tlaw law)
{
    const struct kg_tstats *s = &d->input[at].stats;
    bool touched = kg_tplan_touches(law) && kg_tplan_free(&d->input[at]);
    return touched ? fmax(fabs(s->min), fabs(s->max)) : 0;
}
