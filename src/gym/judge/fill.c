/* Writes the inputs of a case, with poison and guards. */
#include <string.h>

#include "gym/judge/state.h"

static bool is_input(const struct kg_problem *p, int arg)
{
    return p->args[arg].role == KG_ROLE_IN;
}

static void mark(struct kg_judge_state *s, bool wide, const struct kg_layout *l)
{
    uint64_t *in = &s->dirty[wide ? 2 : 0], *out = &s->dirty[wide ? 3 : 1];
    *in = l->in_end > *in ? l->in_end : *in;
    *out = l->out_end > *out ? l->out_end : *out;
}

/* Writes fresh guards and poison, and remembers them for the take. An older record of the same
 * place is replaced, because its poison is overwritten now. */
static void arm_outputs(struct kg_judge_state *s, const struct kg_case *c, bool wide,
                        const struct kg_judge_place *place)
{
    const struct kg_problem *p = s->problem;
    struct kg_judge_live *live = NULL;
    for (size_t i = 0; i < KG_JUDGE_LIVE; i++) {
        struct kg_judge_live *l = &s->live[i];
        if (l->used && l->wide == wide && l->c.out_base == c->out_base) {
            live = live ? live : l;
            l->used = false;
        }
    }
    if (live == NULL) {
        live = &s->live[s->live_next];
        s->live_next = (s->live_next + 1) % KG_JUDGE_LIVE;
    }
    *live = (struct kg_judge_live){true, wide, *c, kg_key_derive(c->key, "poison", ++s->fills)};
    kg_judge_guard_set(p, &place->layout, KG_ROLE_OUT, c->out_base, live->nonce, place->out->map);
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role == KG_ROLE_OUT) {
            enum kg_dtype t = p->args[k].dtype == KG_F32 && wide ? KG_F64 : p->args[k].dtype;
            kg_judge_poison_set(t, kg_judge_poison_word(t, live->nonce, k),
                                place->out->map + place->layout.offset[k],
                                place->layout.bytes[k] / kg_dtype_bytes(t));
        }
    }
}

static void widen(unsigned char *restrict to, const unsigned char *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float f;
        memcpy(&f, from + 4 * i, sizeof f);
        double d = (double)f;
        memcpy(to + 8 * i, &d, sizeof d);
    }
}

/* Writes the inputs for the float reference and the candidate. again: values that the last fill
 * left may stay, because only the judge can write to inputs. Timed calls never use that: all of
 * them must find the caches alike. */
static enum kg_code fill_narrow(struct kg_judge_state *s, const struct kg_case *c, bool again,
                                struct kg_judge_place *place, struct kg_err *err)
{
    const struct kg_problem *p = s->problem;
    void *buf[KG_MAX_ARGS] = {NULL};
    struct kg_case plain = *c;
    plain.edited = false;
    if (kg_judge_place(s, c, false, place, err) != KG_OK) {
        return err->code;
    }
    if (again && s->inputs_there && kg_judge_same_place(p, &s->inputs, c)) {
        return KG_OK;
    }
    bool twin = s->inputs_there && kg_judge_same_place(p, &s->inputs, &plain);
    for (int k = 0; k < p->nargs; k++) {
        buf[k] = is_input(p, k) ? place->in->map + place->layout.offset[k] : NULL;
    }
    mark(s, false, &place->layout);
    if (!twin) {
        kg_law_fill(p, &c->shape, c->law, c->key, buf);
    }
    if (c->edited) {
        kg_law_edit(p, &c->shape, c->key, buf);
    }
    kg_judge_guard_set(p, &place->layout, KG_ROLE_IN, c->in_base,
                       kg_key_derive(c->key, "input guard", s->fills), place->in->map);
    s->inputs = *c;
    s->inputs_there = true;
    return KG_OK;
}

/* Writes the oracle's inputs: the same values, floats as doubles. */
static void fill_wide(struct kg_judge_state *s, const struct kg_case *c,
                      const struct kg_judge_place *from, const struct kg_judge_place *to)
{
    const struct kg_problem *p = s->problem;
    for (int k = 0; k < p->nargs; k++) {
        if (!is_input(p, k)) {
            continue;
        }
        unsigned char *dst = to->in->map + to->layout.offset[k];
        const unsigned char *src = from->in->map + from->layout.offset[k];
        if (p->args[k].dtype == KG_F32) {
            widen(dst, src, from->layout.bytes[k] / 4);
        } else {
            memcpy(dst, src, from->layout.bytes[k]);
        }
    }
    kg_judge_guard_set(p, &to->layout, KG_ROLE_IN, c->in_base,
                       kg_key_derive(c->key, "input guard", s->fills), to->in->map);
}

enum kg_code kg_judge_do_fill(struct kg_judge_state *s, const struct kg_case *c, bool wide,
                              struct kg_err *err)
{
    struct kg_judge_place narrow, place;
    bool again = wide || s->inputs_saved;
    s->inputs_saved = false;
    if (kg_judge_place(s, c, wide, &place, err) != KG_OK ||
        fill_narrow(s, c, again, &narrow, err) != KG_OK) {
        return err->code;
    }
    mark(s, wide, &place.layout);
    if (wide) {
        fill_wide(s, c, &narrow, &place);
    }
    arm_outputs(s, c, wide, &place);
    if (!wide) { /* the oracle is never timed */
        kg_judge_mix(c, &place);
    }
    return KG_OK;
}

void kg_judge_do_clear(struct kg_judge_state *s)
{
    struct kg_region *out = &s->region[1];
    if (out->map != NULL) {
        memset(out->map, 0, out->bytes);
    }
    for (size_t i = 0; i < KG_JUDGE_LIVE; i++) {
        s->live[i].used = s->live[i].used && s->live[i].wide;
    }
}
