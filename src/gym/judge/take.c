/* Copies outputs from the shared region to private memory, and checks guards and poison. */
#include <string.h>

#include "gym/judge/state.h"

static const struct kg_judge_live *find_live(const struct kg_judge_state *s,
                                             const struct kg_case *c, bool wide)
{
    for (size_t i = 0; i < KG_JUDGE_LIVE; i++) {
        const struct kg_judge_live *l = &s->live[i];
        if (l->used && l->wide == wide && kg_judge_same_place(s->problem, &l->c, c)) {
            return l;
        }
    }
    return NULL;
}

/* Copies one output. Poison is searched in the copy, which the runner cannot change. */
static enum kg_code take_one(struct kg_judge_state *s, enum kg_side side, int arg,
                             const struct kg_judge_place *place, const struct kg_judge_live *live,
                             struct kg_take_report *out, struct kg_err *err)
{
    enum kg_dtype t = s->problem->args[arg].dtype;
    t = t == KG_F32 && live->wide ? KG_F64 : t;
    size_t bytes = place->layout.bytes[arg];
    uint64_t first;
    if (kg_judge_side_reserve(&s->side[side], arg, bytes, err) != KG_OK) {
        return err->code;
    }
    void *copy = s->side[side].data[arg];
    uint64_t word = kg_judge_poison_word(t, live->nonce, arg), n = 0;
    size_t count = bytes / kg_dtype_bytes(t);
    if (kg_judge_poison_copy(t, word, copy, place->out->map + place->layout.offset[arg], count)) {
        n = kg_judge_poison_count(t, word, copy, count, &first);
    }
    bool certain = t == KG_F32 || t == KG_F64;
    if (n > 0 && (out->what == KG_TAKE_OK || (certain && !out->certain))) {
        *out = (struct kg_take_report){
            .what = KG_TAKE_UNWRITTEN, .arg = arg, .at = first, .certain = certain};
    }
    out->unwritten += out->what == KG_TAKE_UNWRITTEN && out->arg == arg ? n : 0;
    return KG_OK;
}

static void check_guards(const struct kg_judge_state *s, const struct kg_case *c,
                         const struct kg_judge_place *place, const struct kg_judge_live *live,
                         struct kg_take_report *out)
{
    int arg;
    int64_t at;
    if (!kg_judge_guard_check(s->problem, &place->layout, KG_ROLE_OUT, c->out_base, live->nonce,
                              place->out->map, &arg, &at)) {
        out->what = KG_TAKE_OUT_OF_BOUNDS;
        out->arg = arg;
        out->at = (uint64_t)at;
    }
}

enum kg_code kg_judge_do_take(struct kg_judge_state *s, const struct kg_case *c, enum kg_side side,
                              struct kg_take_report *out, struct kg_err *err)
{
    struct kg_judge_place place;
    bool wide = side == KG_SIDE_ORACLE;
    *out = (struct kg_take_report){.what = KG_TAKE_OK};
    if (kg_judge_place(s, c, wide, &place, err) != KG_OK) {
        return err->code;
    }
    const struct kg_judge_live *live = find_live(s, c, wide);
    if (live == NULL) {
        return kg_fail(err, KG_E_GYM, "judge: outputs are taken of a case that was not filled");
    }
    s->side[side].there = false;
    s->bound_there = s->bound_there && side == KG_SIDE_CANDIDATE;
    for (int k = 0; k < s->problem->nargs; k++) {
        if (s->problem->args[k].role == KG_ROLE_OUT &&
            take_one(s, side, k, &place, live, out, err) != KG_OK) {
            return err->code;
        }
    }
    check_guards(s, c, &place, live, out);
    s->side[side].c = *c;
    s->side[side].there = true;
    if (side == KG_SIDE_FLOAT) {
        kg_judge_note_expected(s);
    }
    return KG_OK;
}
