/* The masters of a case: drawn by the reference, filled by the judge, or edited. */
#include "gym/torch/judging/cases_private.h"
#include "gym/torch/judging/reference.h"
#include "gym/torch/problem/own_law.h"

/* Under the problem's own law every input is the reference's own draw. */
static bool made_by_judge(const struct kg_tinstance *s, const struct kg_tcase *c, size_t at,
                          struct kg_dj_law *law)
{
    return kg_tplan_made(&s->desc, at, c->law, c->key, c->law < KG_TL_BF16, law);
}

/* The inputs of this seed, as the reference's answer. flags: of a law within their structure
 * (kg_tplan_draw); 0: as the problem draws them. */
static enum kg_code draw(struct kg_worker *w, struct kg_tinstance *s, uint64_t seed, uint32_t flags,
                         struct kg_err *err)
{
    const struct kg_task_desc *d = &s->desc;
    struct kg_dj_report rep;
    struct kg_dj_call call = kg_tcase_command(w, s, -1, KG_TC_DRAW, seed);
    call.flags = flags;
    call.building = &s->ref.runner.wire->building;
    if (kg_treference_ask(w, s, call, "drawing inputs", &rep, err) != KG_OK) {
        return err->code;
    }
    return rep.nleaves == d->ninputs
               ? KG_OK
               : kg_fail(err, KG_E_PROBLEM, "%s: get_inputs gave %zu tensors, and now %u",
                         kg_torch_of(w)->problem->path, d->ninputs, rep.nleaves);
}

/* To one of the places where the inputs of timed calls lie, drawn; under all own laws to the same
 * one, as whoever goes by addresses must meet other values there. */
static enum kg_code place(struct kg_worker *w, const struct kg_tinstance *s,
                          const struct kg_tcase *c, struct kg_err *err)
{
    const struct kg_key key = {{c->law < KG_TL_BF16 ? s->cases[KG_TL_OWN].seed : c->key.w[1], 0}};
    uint64_t which = kg_key_derive(key, "place", 0).w[0] % KG_TORCH_PLACES;
    return kg_dj_case_move(&kg_torch_of(w)->judge, c->id, which * KG_TORCH_PLACE_BYTES, err);
}

static enum kg_code fill_one(struct kg_worker *w, struct kg_tinstance *s, const struct kg_tcase *c,
                             size_t at, struct kg_err *err)
{
    struct kg_dj *judge = &kg_torch_of(w)->judge;
    struct kg_dj_law law;
    double unit = kg_tplan_touch_unit(&s->desc, at, c->law);
    enum kg_code code = made_by_judge(s, c, at, &law)
                            ? kg_dj_case_fill(judge, c->id, (int)at, &law, err)
                            : kg_dj_case_adopt(judge, c->id, (int)at, s->ref.port, (int)at, err);
    return code == KG_OK && unit > 0
               ? kg_dj_case_touch(judge, c->id, (int)at, kg_tplan_touch_key(c->key, c->law), unit,
                                  !kg_tplan_gentle(c->key), err)
               : code;
}

/* The masters: drawn by the reference, those that a law makes filled by the judge. */
static enum kg_code make(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                         struct kg_err *err)
{
    struct kg_dj *judge = &kg_torch_of(w)->judge;
    const struct kg_task_desc *d = &s->desc;
    struct kg_tleaf leaf[KG_TASK_INPUTS];
    struct kg_dj_law law;
    bool drawn = false;
    for (size_t i = 0; i < d->ninputs; i++) {
        leaf[i] = d->input[i].leaf;
        drawn = drawn || !made_by_judge(s, c, i, &law);
    }
    if ((drawn && draw(w, s, c->seed, kg_tplan_draw(d, c->law, c->key, false), err) != KG_OK) ||
        kg_dj_case_begin(judge, c->id, leaf, d->ninputs, err) != KG_OK ||
        place(w, s, c, err) != KG_OK) {
        return err->code;
    }
    for (size_t i = 0; i < d->ninputs; i++) {
        if (fill_one(w, s, c, i, err) != KG_OK) {
            return kg_err_prefix(err, "%s: input %zu", kg_torch_of(w)->problem->path, i);
        }
    }
    return KG_OK;
}

/* The edit is the reference's, in one input or in all that are equal to it. */
static enum kg_code edit_within(struct kg_worker *w, struct kg_tinstance *s,
                                const struct kg_tcase *c, struct kg_err *err)
{
    enum kg_code code = draw(w, s, c->seed, kg_tplan_draw(&s->desc, c->law, c->key, false), err);
    for (size_t i = 0; i < s->desc.ninputs && code == KG_OK; i++) {
        if (kg_tplan_edits_within(&s->desc.input[i])) {
            code = kg_dj_case_adopt_edit(&kg_torch_of(w)->judge, c->id, (int)i, s->ref.port, (int)i,
                                         err);
        }
    }
    return code;
}

/* One element is another: a float's is that of another element; an integer's is as another draw has
 * it, since each place may have a range of its own. */
static enum kg_code edit(struct kg_worker *w, struct kg_tinstance *s, const struct kg_tcase *c,
                         struct kg_err *err)
{
    struct kg_dj *judge = &kg_torch_of(w)->judge;
    int at = kg_tplan_edited(&s->desc, c->key);
    if (at < 0) {
        return kg_fail(err, KG_E_GYM, "%s: an edit is asked, and no input may be edited",
                       kg_torch_of(w)->problem->path);
    }
    if (kg_tplan_edits_within(&s->desc.input[at])) {
        return edit_within(w, s, c, err);
    }
    if (kg_tdtype_floating((enum kg_tdtype)s->desc.input[at].leaf.dtype)) {
        return kg_dj_case_edit(judge, c->id, at, c->key, err);
    }
    uint64_t seed = kg_key_derive(c->key, "another draw", 0).w[0] >> 1;
    return draw(w, s, seed, 0, err) == KG_OK
               ? kg_dj_case_edit_drawn(judge, c->id, at, s->ref.port, c->key, err)
               : err->code;
}

enum kg_code kg_tcase_fill(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                           struct kg_err *err)
{
    struct kg_dj *judge = &kg_torch_of(w)->judge;
    const struct kg_tcase *own = &s->cases[KG_TL_OWN];
    if (c->law != KG_TL_EDITED) {
        return make(w, s, c, err);
    }
    bool there = own->ready && own->seed == c->seed; /* get_inputs() may take a third of a second */
    struct kg_tcase unedited = *c;
    unedited.law = KG_TL_OWN;
    enum kg_code code =
        there ? kg_dj_case_copy(judge, c->id, own->id, err) : make(w, s, &unedited, err);
    code = code == KG_OK && there ? place(w, s, c, err) : code;
    return code == KG_OK ? edit(w, s, c, err) : code;
}
