/* Share of level-2 problems, slots of a step, and the order of problems. */
#include "rl/methods/curriculum.h"

#include <math.h>

#include "rl/methods/streams.h"

void rl_curriculum_defaults(struct rl_curriculum_options *o)
{
    *o = (struct rl_curriculum_options){.mode = RL_CUR_STATIC,
                                        .p_fixed = .1,
                                        .p_min = .1,
                                        .delta = .05,
                                        .steps = 8,
                                        .window = 5,
                                        .theta_pct = 40,
                                        .fall_pct = 30,
                                        .cooldown = 1,
                                        .band = .2};
}

enum kg_code rl_curriculum_check(const struct rl_curriculum_options *o, struct kg_err *err)
{
    double most = o->p_min + o->steps * o->delta;
    if (!(o->p_fixed >= 0 && o->p_fixed <= 1)) {
        return kg_fail(err, KG_E_USAGE, "curriculum: the fixed share %g is not in [0, 1]",
                       o->p_fixed);
    }
    if (!(o->p_min >= 0 && o->delta >= 0 && most <= 1)) {
        return kg_fail(err, KG_E_USAGE, "curriculum: the share may reach %g; it must be in [0, 1]",
                       most);
    }
    if (o->window == 0 || o->window > RL_CURRICULUM_WINDOW) {
        return kg_fail(err, KG_E_USAGE, "curriculum: the window must hold 1 to %d steps",
                       RL_CURRICULUM_WINDOW);
    }
    if (o->theta_pct > 100 || o->fall_pct > o->theta_pct) {
        return kg_fail(err, KG_E_USAGE, "curriculum: fall_below must be at most theta, theta 100");
    }
    if (!(o->band > 0)) {
        return kg_fail(err, KG_E_USAGE, "curriculum: band must be above 0");
    }
    return KG_OK;
}

void rl_curriculum_init(struct rl_curriculum *c)
{
    *c = (struct rl_curriculum){.since_change = UINT32_MAX};
}

struct sums {
    uint64_t right, n;
};

static struct sums window_of(const struct rl_curriculum *c, const struct rl_curriculum_options *o)
{
    struct sums s = {0};
    for (uint32_t i = 0; i < o->window; i++) {
        s.right += c->right[i];
        s.n += c->count[i];
    }
    return s;
}

static bool full(const struct rl_curriculum *c, const struct rl_curriculum_options *o)
{
    return c->pushed >= o->window;
}

double rl_curriculum_accuracy(const struct rl_curriculum *c, const struct rl_curriculum_options *o)
{
    struct sums s = window_of(c, o);
    return full(c, o) && s.n > 0 ? (double)s.right / (double)s.n : -1;
}

/* Lower end of the 95 % interval. Source: Wilson 1927. */
static double wilson(struct sums s)
{
    double n = (double)s.n, p = (double)s.right / n, z = 1.959963984540054, zz = z * z;
    return (p + zz / (2 * n) - z * sqrt(p * (1 - p) / n + zz / (4 * n * n))) / (1 + zz / n);
}

static bool decides(const struct rl_curriculum *c, const struct rl_curriculum_options *o,
                    struct sums s)
{
    return full(c, o) && s.n > 0 && s.n >= o->min_evals;
}

static bool above(const struct rl_curriculum_options *o, struct sums s)
{
    if (o->lower_bound) {
        double low = wilson(s), theta = o->theta_pct / 100.0;
        return o->ge ? low >= theta : low > theta;
    }
    uint64_t got = s.right * 100, need = o->theta_pct * s.n;
    return o->ge ? got >= need : got > need;
}

/* -1, 0 or 1: how k moves at this step. */
static int move(struct rl_curriculum *c, const struct rl_curriculum_options *o, bool pushed)
{
    struct sums s = window_of(c, o);
    bool up = pushed && decides(c, o, s) && above(o, s);
    bool down = pushed && decides(c, o, s) && s.right * 100 < o->fall_pct * s.n;
    switch (o->mode) {
    case RL_CUR_RATCHET:
        return up;
    case RL_CUR_RAMP:
        c->ramping = c->ramping || up;
        return c->ramping;
    case RL_CUR_HYSTERESIS:
        return c->since_change <= o->cooldown ? 0 : up ? 1 : down ? -1 : 0;
    case RL_CUR_STATIC:
    case RL_CUR_PROP:
        break;
    }
    return 0;
}

void rl_curriculum_update(struct rl_curriculum *c, const struct rl_curriculum_options *o,
                          uint32_t right, uint32_t n, struct rl_counts *counts)
{
    double before = rl_curriculum_share(c, o);
    if (n > 0) {
        c->right[c->pushed % o->window] = right;
        c->count[c->pushed % o->window] = n;
        c->pushed++;
    }
    c->since_change += c->since_change < UINT32_MAX;
    int by = move(c, o, n > 0);
    if ((by > 0 && c->k < o->steps) || (by < 0 && c->k > 0)) {
        c->k += (uint32_t)by;
        c->since_change = 0;
    }
    rl_count(counts, RL_C_CURRICULUM, rl_curriculum_share(c, o) != before);
}

double rl_curriculum_share(const struct rl_curriculum *c, const struct rl_curriculum_options *o)
{
    if (o->mode == RL_CUR_STATIC) {
        return o->p_fixed;
    }
    if (o->mode != RL_CUR_PROP) {
        return o->p_min + c->k * o->delta;
    }
    struct sums s = window_of(c, o);
    if (!decides(c, o, s)) {
        return o->p_min;
    }
    double x = (rl_curriculum_accuracy(c, o) - o->theta_pct / 100.0) / o->band;
    return o->p_min + o->steps * o->delta * fmin(fmax(x, 0), 1);
}

struct rl_slots rl_curriculum_slots(uint32_t batch, double p2, double p3, uint64_t seed,
                                    uint32_t step)
{
    struct rl_slots s;
    s.n3 = (uint32_t)(batch * p3 + rl_draw(seed, RL_STREAM_CURRICULUM, step, 0, 1));
    s.n2 = (uint32_t)(batch * p2 + rl_draw(seed, RL_STREAM_CURRICULUM, step, 0, 0));
    s.n3 = s.n3 < batch ? s.n3 : batch;
    s.n2 = s.n2 < batch - s.n3 ? s.n2 : batch - s.n3;
    s.n1 = batch - s.n2 - s.n3;
    return s;
}

uint32_t rl_cursor_next(struct rl_cursor *cursor, uint64_t seed, uint32_t level, uint32_t n,
                        uint32_t *order, bool fresh)
{
    KG_ASSERT(n > 0);
    if (cursor->at >= n) {
        cursor->at = 0;
        cursor->epoch++;
    }
    if (cursor->at == 0 || fresh) {
        rl_shuffle(seed, RL_STREAM_ORDER, cursor->epoch, level, n, order);
    }
    return order[cursor->at++];
}
