/* Plans which inputs a PyTorch candidate is asked: laws, edits and parameters. */
#include "gym/torch/problem/input_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gym/torch/problem/own_law.h"

/* Of the law `small`. Honest kernels write tanh(x) as 2 sigmoid(2x) - 1, which keeps 2^-24 of 1: at
 * 0.1 that is within the bound with room, at 1e-3 it is not. */
#define SMALL_SD   0.1
#define FEW_VALUES 16 /* a tensor of at most so many different values is a mask or a code */

static const struct {
    const char *name;
    enum kg_dj_kind kind;
} laws[KG_TL_COUNT] = {
    [KG_TL_OWN] = {"own", KG_DJ_KINDS},
    [KG_TL_NEW] = {"new-seed", KG_DJ_KINDS},
    [KG_TL_EDITED] = {"single-edit", KG_DJ_KINDS},
    [KG_TL_RELOAD] = {"other-parameters", KG_DJ_KINDS},
    [KG_TL_BF16] = {"bf16", KG_DJ_BF16},
    [KG_TL_SPIKE] = {"spike", KG_DJ_SPIKE},
    [KG_TL_SMALLINT] = {"smallint", KG_DJ_SMALLINT},
    [KG_TL_LARGE] = {"large", KG_DJ_LARGE},
    [KG_TL_PRECISION] = {"precision", KG_DJ_FULL},
    [KG_TL_INSIDE] = {"inside", KG_DJ_KINDS},
    [KG_TL_TOUCHED] = {"touched", KG_DJ_KINDS},
    [KG_TL_ELSEWHERE] = {"touched-elsewhere", KG_DJ_KINDS},
    [KG_TL_RAISED] = {"raised", KG_DJ_KINDS},
    [KG_TL_NORMAL] = {"normal", KG_DJ_NORMAL},
    [KG_TL_UNIFORM] = {"uniform", KG_DJ_UNIFORM},
    [KG_TL_HEAVY] = {"heavy", KG_DJ_HEAVY},
    [KG_TL_SPARSE] = {"sparse", KG_DJ_SPARSE},
    [KG_TL_OFFSET] = {"offset", KG_DJ_OFFSET},
    [KG_TL_SMALL] = {"small", KG_DJ_NORMAL},
    [KG_TL_EQUAL] = {"equal", KG_DJ_EQUAL},
    [KG_TL_WIDEINT] = {"wideint", KG_DJ_WIDEINT},
};

const char *kg_tlaw_name(enum kg_tlaw law)
{
    return laws[law].name;
}

bool kg_tlaw_parse(const char *name, enum kg_tlaw *out)
{
    for (int l = 0; l < KG_TL_COUNT; l++) {
        if (strcmp(name, laws[l].name) == 0) {
            *out = (enum kg_tlaw)l;
            return true;
        }
    }
    return false;
}

/* Its values are drawn, and are no code for something. */
static bool spread(const struct kg_task_input *in)
{
    const struct kg_tstats *s = &in->stats;
    int64_t n = (int64_t)kg_tleaf_count(&in->leaf);
    int64_t few = n / 2 < FEW_VALUES ? n / 2 : FEW_VALUES;
    return kg_tdtype_floating((enum kg_tdtype)in->leaf.dtype) && !s->fixed && !s->whole &&
           s->sd > 0 && s->distinct > few;
}

bool kg_tlaw_probes(enum kg_tlaw law)
{
    return law == KG_TL_PRECISION || law == KG_TL_INSIDE;
}

bool kg_tplan_free(const struct kg_task_input *in)
{
    return spread(in) && !in->structure && in->stats.finite;
}

enum kg_tplan_kept kg_tplan_keeps(const struct kg_task_input *in)
{
    const uint32_t within = 1u << KG_TX_ZEROS | 1u << KG_TX_SYMMETRIC | 1u << KG_TX_EQUAL;
    const uint32_t scaled = within | 1u << KG_TX_DEFINITE | 1u << KG_TX_DOMINANT |
                            1u << KG_TX_SORTED | 1u << KG_TX_REPEATED;
    if (!in->structure || !spread(in)) {
        return KG_TK_OWN;
    }
    return !(in->structure & ~within)   ? KG_TK_WITHIN
           : !(in->structure & ~scaled) ? KG_TK_SCALED
                                        : KG_TK_OWN;
}

json_t *kg_tplan_structure(const struct kg_task_desc *d)
{
    json_t *all = json_object();
    for (size_t i = 0; i < d->ninputs; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        if (kg_tplan_keeps(&d->input[i]) != KG_TK_OWN || kg_tplan_free(&d->input[i])) {
            json_object_set_new(all, number, kg_task_structure(&d->input[i]));
        }
    }
    return all;
}

bool kg_tplan_edits_within(const struct kg_task_input *in)
{
    return kg_tplan_keeps(in) == KG_TK_WITHIN;
}

/* Does any law besides the reference's own make sense? */
static bool any_free(const struct kg_task_desc *d)
{
    for (size_t i = 0; i < d->ninputs; i++) {
        if (kg_tplan_free(&d->input[i]) || kg_tplan_keeps(&d->input[i]) == KG_TK_WITHIN) {
            return true;
        }
    }
    return false;
}

static bool any_kept(const struct kg_task_desc *d)
{
    for (size_t i = 0; i < d->ninputs; i++) {
        if (kg_tplan_keeps(&d->input[i]) != KG_TK_OWN) {
            return true;
        }
    }
    return false;
}

static bool probed(const struct kg_task_input *in)
{
    bool wide = in->leaf.dtype == KG_TD_F32 || in->leaf.dtype == KG_TD_F64;
    return wide && (kg_tplan_free(in) || kg_tplan_keeps(in) == KG_TK_WITHIN);
}

bool kg_tplan_probed(const struct kg_task_desc *d)
{
    bool any = false;
    for (size_t i = 0; i < d->ninputs; i++) {
        any = any || probed(&d->input[i]);
    }
    return any;
}

/* One of the first `below` inputs without `but`, with full significands, of at least so many
 * elements; -1: none can be. */
static int one_of(const struct kg_task_desc *d, struct kg_key key, uint64_t least, size_t below,
                  int but)
{
    int of[KG_TASK_INPUTS], n = 0;
    for (size_t i = 0; i < d->ninputs && i < below; i++) {
        if (probed(&d->input[i]) && kg_tleaf_count(&d->input[i].leaf) >= least && (int)i != but) {
            of[n++] = (int)i;
        }
    }
    uint64_t which = kg_key_derive(key, "full significands", but < 0 ? 0 : 1).w[0];
    return n > 0 ? of[which % (uint64_t)n] : -1;
}

/* Of inputs which long sums are over: how many elements those have at least. */
static uint64_t large(const struct kg_task_desc *d)
{
    uint64_t most = 0;
    for (size_t i = 0; i < d->ninputs; i++) {
        uint64_t n = kg_tleaf_count(&d->input[i].leaf);
        most = probed(&d->input[i]) && n > most ? n : most;
    }
    return most / 2;
}

/* That with values that narrow operands lose. */
static int lossy_one(const struct kg_task_desc *d, struct kg_key key)
{
    return one_of(d, key, large(d), KG_TASK_INPUTS, -1);
}

/* Where its values lean, what a narrow operand loses of the others would average out: one of them
 * leans with it. */
static uint32_t mate(const struct kg_task_desc *d, struct kg_key key, int which)
{
    return KG_TF_MATE * (uint32_t)(1 + one_of(d, key, large(d), KG_TF_MATES / KG_TF_MATE, which));
}

/* Is there one that only a draw can raise? */
static bool raised_by_draw(const struct kg_task_desc *d, struct kg_key key, bool drawn)
{
    bool any = false;
    for (size_t i = 0; i < d->ninputs; i++) {
        struct kg_dj_law ignored;
        any = any || (kg_tplan_free(&d->input[i]) &&
                      !kg_tplan_made(d, i, KG_TL_RAISED, key, drawn, &ignored));
    }
    return any;
}

uint32_t kg_tplan_draw(const struct kg_task_desc *d, enum kg_tlaw law, struct kg_key key,
                       bool drawn)
{
    bool edit = law == KG_TL_EDITED;
    if (law < KG_TL_BF16 && !edit) {
        return 0;
    }
    int which = edit                    ? kg_tplan_edited(d, key)
                : kg_tplan_touches(law) ? kg_tplan_gentle(key)
                : law == KG_TL_INSIDE   ? lossy_one(d, key)
                                        : one_of(d, key, 0, KG_TASK_INPUTS, -1);
    bool asked = edit ? which >= 0 && kg_tplan_edits_within(&d->input[which])
                 : law == KG_TL_INSIDE
                     ? which >= 0
                     : any_kept(d) || (law == KG_TL_RAISED && raised_by_draw(d, key, drawn));
    if (!asked) {
        return 0;
    }
    return KG_TF_LAW * ((uint32_t)law + 1) + KG_TF_WHICH * (uint32_t)fmax(0, which) +
           (law == KG_TL_INSIDE ? mate(d, key, which) : 0);
}

/* The input with full significands is drawn, so that rounding any one of them shows; the others
 * are 2^-2 to 2^2, which every format holds. */
static void precise(const struct kg_task_desc *d, size_t at, struct kg_dj_law *out)
{
    int which = one_of(d, out->key, 0, KG_TASK_INPUTS, -1);
    if (which >= 0 && which != (int)at) {
        out->kind = KG_DJ_CONSTANT;
        out->a = ldexp(1, (int)(kg_key_derive(out->key, "power", at).w[0] % 5) - 2);
    }
}

void kg_tplan_law(const struct kg_task_desc *d, size_t at, enum kg_tlaw law, struct kg_key key,
                  struct kg_dj_law *out)
{
    const struct kg_tstats *s = &d->input[at].stats;
    *out = (struct kg_dj_law){
        .kind = (uint32_t)laws[law].kind, .key = key, .stream = at, .a = 0, .b = 1};
    if (law == KG_TL_PRECISION) {
        precise(d, at, out);
    }
    if (law == KG_TL_SMALL) {
        out->b = SMALL_SD;
    }
    if (law == KG_TL_UNIFORM || law == KG_TL_SPIKE) {
        out->a = s->min;
        out->b = s->max > s->min ? s->max : s->min + 1;
    }
}

static bool editable(const struct kg_task_input *in, bool floating)
{
    enum kg_tdtype dtype = (enum kg_tdtype)in->leaf.dtype;
    bool changes = !in->stats.fixed && (floating ? !in->stats.whole : dtype != KG_TD_BOOL);
    bool may = !in->structure || (floating && kg_tplan_edits_within(in));
    return kg_tdtype_floating(dtype) == floating && changes && kg_tleaf_count(&in->leaf) > 0 && may;
}

int kg_tplan_edited(const struct kg_task_desc *d, struct kg_key key)
{
    int of[2][KG_TASK_INPUTS], n[2] = {0, 0}; /* integers, floats */
    struct kg_key drawn = kg_key_derive(key, "edited input", 0);
    for (int floating = 0; floating < 2; floating++) {
        for (size_t i = 0; i < d->ninputs; i++) {
            if (editable(&d->input[i], floating)) {
                of[floating][n[floating]++] = (int)i;
            }
        }
    }
    int kind = n[0] == 0 || (n[1] > 0 && drawn.w[1] % 2 == 0);
    return n[kind] > 0 ? of[kind][drawn.w[0] % (uint64_t)n[kind]] : -1;
}

/* `most` laws from KG_TL_DRAWN on, those of the lowest rank first, equal ones at random. */
static size_t draw_laws(int64_t most, const uint64_t *rank, struct kg_rng *rng, enum kg_tlaw *out)
{
    enum kg_tlaw left[KG_TL_COUNT];
    size_t n = 0, nleft = 0;
    for (int l = KG_TL_DRAWN; l < KG_TL_COUNT; l++) {
        left[nleft++] = (enum kg_tlaw)l;
    }
    while (nleft > 0 && (int64_t)n < most) {
        size_t best = 0, same = 0;
        for (size_t k = 0; k < nleft; k++) {
            uint64_t a = rank[left[k]], b = rank[left[best]];
            same = k == 0 || a < b ? 1 : same + (a == b);
            bool takes = k == 0 || a < b || (a == b && kg_rng_below(rng, same) == 0);
            best = takes ? k : best;
        }
        out[n++] = left[best];
        left[best] = left[--nleft];
    }
    return n;
}

size_t kg_tplan_full(const struct kg_task_desc *d, bool multi_input, int64_t most, bool all,
                     const uint64_t rank[KG_TL_COUNT], struct kg_rng *rng,
                     enum kg_tlaw out[KG_TL_COUNT])
{
    size_t n = 0;
    out[n++] = KG_TL_OWN; /* again: the same inputs, the same answer */
    if (!multi_input && !all) {
        return n;
    }
    if (kg_tplan_edited(d, (struct kg_key){{0, 0}}) >= 0) {
        out[n++] = KG_TL_EDITED; /* right after the unedited ones */
    }
    out[n++] = KG_TL_NEW;
    if (any_free(d)) {
        for (int l = KG_TL_BF16; l < KG_TL_DRAWN; l++) {
            if (!kg_tlaw_probes((enum kg_tlaw)l) || kg_tplan_probed(d)) {
                out[n++] = (enum kg_tlaw)l;
            }
        }
        n += draw_laws(all ? KG_TL_COUNT : most, rank, rng, out + n);
    } else if (any_kept(d)) {
        out[n++] = KG_TL_LARGE;
        out[n++] = KG_TL_RAISED;
    }
    if (d->nstate > 0) {
        out[n++] = KG_TL_RELOAD;
    }
    return n;
}

/* 1/sqrt of what one output of a weight sums over; a tenth for vectors. */
static double default_sd(const struct kg_tleaf *leaf)
{
    return leaf->rank < 2 ? 0.1 : 1 / sqrt(kg_tplan_fan_in(leaf));
}

bool kg_tplan_state(const struct kg_task_state *s, struct kg_key key, uint64_t stream,
                    struct kg_dj_law *out)
{
    const struct kg_tstats *t = &s->stats;
    const double root3 = 1.7320508075688772;
    int64_t n = (int64_t)kg_tleaf_count(&s->leaf);
    *out = (struct kg_dj_law){.kind = KG_DJ_UNIFORM, .key = key, .stream = stream};
    bool table = s->buffer && t->distinct > 1 && t->distinct <= FEW_VALUES && n > FEW_VALUES;
    if (!kg_tdtype_floating((enum kg_tdtype)s->leaf.dtype) || !isfinite(t->mean) ||
        !isfinite(t->min) || !isfinite(t->max) || table || s->need == KG_TN_CONSTANT ||
        s->structured) {
        return false;
    }
    double half = root3 * t->sd;
    if (!(t->sd > 1e-6 * fabs(t->mean)) || n == 1) { /* a constant */
        half = t->mean != 0 ? 0.5 * fabs(t->mean) : root3 * default_sd(&s->leaf);
    }
    out->a = t->mean - half;
    out->b = t->mean + half;
    if (t->min > 0 && out->a <= 0) {
        out->a = t->min;
    }
    return isfinite(out->b - out->a) && out->b > out->a;
}
