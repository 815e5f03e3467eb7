/* Discrete choices: indices are judged by what they point at, and other answers by whether the
 * reference gives them too, where it rounds otherwise; state also by how far a call has moved it.
 * Works on the host, on copies: it is asked once for a case, and where a candidate's answer
 * differs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gym/device/device_law.h"
#include "gym/device/device_state.h"
#include "gym/device/quartet.h"

#define MOST ((uint64_t)1 << 29) /* bytes of one tensor; larger ones are compared as they are */

/* A copy of [bytes] at an address of the device; the caller frees it. NULL with *err KG_OK: it is
 * too large. */
static void *copy_of(struct kg_dj_state *s, uint64_t at, uint64_t bytes, enum kg_code *code,
                     struct kg_err *err)
{
    void *out = bytes <= MOST && *code == KG_OK ? malloc(bytes + 1) : NULL;
    if (out != NULL) {
        *code = s->dev.ops->download(&s->dev, out, at, bytes, err);
    }
    return out;
}

/* An input's elements in the order of its dimensions, whatever its strides are. Like copy_of. */
static void *input_of(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                      enum kg_code *code, struct kg_err *err)
{
    const struct kg_tleaf *x = &c->leaf[i];
    uint64_t n = kg_tleaf_count(x), each = kg_tdtype_bytes((enum kg_tdtype)x->dtype);
    char *memory = copy_of(s, c->block + x->offset, x->bytes, code, err);
    if (!x->laid || memory == NULL || *code != KG_OK) {
        return memory;
    }
    char *out = n <= MOST / each ? malloc(n * each + 1) : NULL; /* fewer bytes may be repeated */
    for (uint64_t k = 0; out != NULL && k < n; k++) {
        memcpy(out + k * each, memory + kg_tleaf_at(x, k) * each, each);
    }
    free(memory);
    return out;
}

static bool integers(const struct kg_tleaf *l)
{
    return !kg_tdtype_floating((enum kg_tdtype)l->dtype) && l->dtype != KG_TD_BOOL;
}

/* A floating output that may be what indices gather from an input. -1: none. */
static int gathered(const struct kg_dj_answer *r, uint32_t i, uint32_t dtype)
{
    for (uint32_t k = 0; k < r->n; k++) {
        if (k != i && r->leaf[k].dtype == dtype && kg_tleaf_same_shape(&r->leaf[k], &r->leaf[i])) {
            return (int)k;
        }
    }
    return -1;
}

/* Whether output i's indices point into input k, in whichever of its dims. */
static enum kg_code show_one(struct kg_dj_state *s, struct kg_dj_case *c, uint32_t i, uint32_t k,
                             struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0];
    const struct kg_tleaf *x = &c->leaf[k], *l = &r->leaf[i];
    struct kg_points *p = &c->points[i];
    struct kg_lines lines;
    enum kg_code code = KG_OK;
    int other = gathered(r, i, x->dtype);
    void *values = input_of(s, c, k, &code, err);
    void *indices = copy_of(s, r->at[i], l->bytes, &code, err);
    void *v = other >= 0 ? copy_of(s, r->at[other], r->leaf[other].bytes, &code, err) : NULL;
    bool all = code == KG_OK && values != NULL && indices != NULL;
    for (uint32_t dims = 1; all && !p->there && dims <= x->rank; dims++) {
        for (uint32_t first = 0; !p->there && first + dims <= x->rank; first++) {
            if (kg_points_lines(x, l, first, dims, &lines)) {
                p->there = kg_points_shown(&lines, values, indices, v, &p->once);
                p->input = k;
                p->first = first;
                p->dims = dims;
            }
        }
    }
    free(values);
    free(indices);
    free(v);
    return code;
}

static enum kg_code show(struct kg_dj_state *s, struct kg_dj_case *c, bool *flag,
                         struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0];
    enum kg_code code = KG_OK;
    memset(c->points, 0, sizeof c->points);
    for (uint32_t i = 0; i < r->n && r->there; i++) {
        for (uint32_t k = 0; k < c->n && code == KG_OK; k++) {
            if (integers(&r->leaf[i]) && !c->points[i].there) {
                code = show_one(s, c, i, k, err);
            }
        }
        *flag = *flag || c->points[i].there;
    }
    return code;
}

static enum kg_code take_points(struct kg_dj_state *s, struct kg_dj_case *c, int from, bool *flag,
                                struct kg_err *err)
{
    struct kg_dj_case *shown;
    if (kg_dj_case_need(s, from, &shown, err) != KG_OK) {
        return err->code;
    }
    if (shown == c) {
        return show(s, c, flag, err);
    }
    memcpy(c->points, shown->points, sizeof c->points);
    for (uint32_t i = 0; i < KG_TWIRE_LEAVES; i++) {
        *flag = *flag || c->points[i].there;
    }
    return KG_OK;
}

enum kg_code kg_dj_pointed(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                           bool oracle, struct kg_tcompare *out, struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0];
    const struct kg_points *p = &c->points[i];
    const struct kg_tleaf *l = &r->leaf[i];
    struct kg_lines lines;
    if (!p->there || p->input >= c->n || !integers(l) ||
        !kg_points_lines(&c->leaf[p->input], l, p->first, p->dims, &lines)) {
        return KG_OK;
    }
    enum kg_code code = KG_OK;
    void *x = input_of(s, c, p->input, &code, err);
    void *y = copy_of(s, s->candidate.at[i], l->bytes, &code, err);
    void *want = copy_of(s, r->at[i], l->bytes, &code, err);
    void *also = oracle ? copy_of(s, c->side[1].at[i], l->bytes, &code, err) : NULL;
    if (code == KG_OK && x != NULL && y != NULL && want != NULL && (!oracle || also != NULL)) {
        out->n_bad = kg_points_unlike(&lines, x, y, want, also, p->once, &out->first_bad);
        out->pass = out->n_bad == 0;
        out->worst = out->pass ? 0 : INFINITY;
        if (!out->pass) {
            out->got = kg_dj_load((enum kg_tdtype)l->dtype, y, out->first_bad);
            out->want = kg_dj_load((enum kg_tdtype)l->dtype, want, out->first_bad);
        }
    }
    free(x);
    free(y);
    free(want);
    free(also);
    return code;
}

static bool alike(const struct kg_dj_answer *a, const struct kg_dj_answer *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++) {
        same =
            a->leaf[i].dtype == b->leaf[i].dtype && kg_tleaf_same_shape(&a->leaf[i], &b->leaf[i]);
    }
    return same;
}

static void quartet_free(struct kg_quartet *q)
{
    free(q->y);
    free(q->r);
    free(q->o);
    free(q->a);
}

/* The same of an oracle's values, wherever they are. */
static void *oracle_of(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                       uint64_t bytes, enum kg_code *code, struct kg_err *err)
{
    const struct kg_dj_answer *o = &c->side[1];
    if (!kg_dj_is_apart(o, i)) {
        return copy_of(s, o->at[i], bytes, code, err);
    }
    void *out = bytes <= MOST && *code == KG_OK ? malloc(bytes + 1) : NULL;
    if (out != NULL) {
        *code = kg_dj_apart_read(s, c, i, out, err);
    }
    return out;
}

/* False: there is nothing to look at, or *code is an error. */
static bool quartet_of(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                       const struct kg_dj_answer *y, const struct kg_dj_answer *a,
                       struct kg_quartet *q, enum kg_code *code, struct kg_err *err)
{
    const struct kg_tleaf *l = &c->side[0].leaf[i];
    bool floating = kg_tdtype_floating((enum kg_tdtype)l->dtype);
    uint64_t n = kg_tleaf_count(l), wide = floating ? sizeof(double) : l->bytes / (n > 0 ? n : 1);
    *q = (struct kg_quartet){.dtype = (enum kg_tdtype)l->dtype,
                             .wide = floating ? KG_TD_F64 : (enum kg_tdtype)l->dtype,
                             .n = n};
    q->y = copy_of(s, y->at[i], l->bytes, code, err);
    q->r = copy_of(s, c->side[0].at[i], l->bytes, code, err);
    q->a = a != NULL ? copy_of(s, a->at[i], l->bytes, code, err) : NULL;
    q->o = c->side[1].there && n <= MOST ? oracle_of(s, c, i, n * wide, code, err) : NULL;
    return *code == KG_OK && q->y != NULL && q->r != NULL && q->o != NULL &&
           (a == NULL || q->a != NULL);
}

static enum kg_code put_back(struct kg_dj_state *s, uint64_t at, const void *from, uint64_t bytes,
                             struct kg_err *err)
{
    s->dev.ops->upload(&s->dev, at, from, bytes);
    return s->dev.ops->sync(&s->dev, err);
}

/* Whether the device itself tells that there is nothing to look at. Copies of a gigabyte, and a
 * look at them on the host, take seconds; most answers hang on no choice. */
static enum kg_code spared(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                           enum kg_dj_choice what, bool *out, struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0];
    const struct kg_tleaf *l = &r->leaf[i];
    uint64_t far, y = what == KG_DJ_SETTLE ? r->at[i] : s->other.at[i];
    struct kg_limits_of limits;
    if (!c->side[1].there) {
        *out = true;
        return KG_OK;
    }
    kg_quartet_far((enum kg_tdtype)l->dtype, &c->bound[i], &limits);
    if (kg_dj_far(s, c, i, y, &limits, &far, err) != KG_OK) {
        return err->code;
    }
    *out = kg_quartet_spares(what, kg_tleaf_count(l), kg_tleaf_row(l), far);
    return KG_OK;
}

/* ONCE, JUMPS, SEEN and SETTLE of one output. */
static enum kg_code ask_one(struct kg_dj_state *s, struct kg_dj_case *c, uint32_t i,
                            enum kg_dj_choice what, bool *flag, struct kg_err *err)
{
    const struct kg_tleaf *l = &c->side[0].leaf[i];
    const struct kg_points *p = &c->points[i];
    bool of_candidate = what == KG_DJ_ONCE || what == KG_DJ_SEEN;
    const struct kg_dj_answer *y = of_candidate ? &s->candidate : &s->other;
    struct kg_quartet q;
    struct kg_lines lines;
    enum kg_code code = KG_OK;
    bool floating = kg_tdtype_floating((enum kg_tdtype)l->dtype);
    bool no = floating && what == KG_DJ_ONCE;
    if (floating && !no && spared(s, c, i, what, &no, err) != KG_OK) {
        return err->code;
    }
    if (no) {
        return KG_OK;
    }
    bool shown = p->there && p->input < c->n &&
                 kg_points_lines(&c->leaf[p->input], l, p->first, p->dims, &lines);
    void *x = shown && what == KG_DJ_JUMPS ? input_of(s, c, p->input, &code, err) : NULL;
    if (quartet_of(s, c, i, y, what == KG_DJ_ONCE ? NULL : &s->other, &q, &code, err)) {
        if (what == KG_DJ_ONCE) {
            *flag = *flag && ((shown && !p->once) || kg_quartet_once(&q, l, shown ? &lines : NULL));
        } else if (what == KG_DJ_JUMPS) {
            *flag = *flag || kg_quartet_jumps(&q, &c->bound[i], kg_tleaf_row(l),
                                              x != NULL ? &lines : NULL, x);
        } else if (what == KG_DJ_SETTLE &&
                   kg_quartet_settle(&q, &c->bound[i], kg_tleaf_row(l)) > 0) {
            uint64_t bytes = q.n * (floating ? sizeof(double) : l->bytes / q.n);
            code = kg_dj_is_apart(&c->side[1], i) ? kg_dj_apart_write(s, c, i, q.o, err)
                                                  : put_back(s, c->side[1].at[i], q.o, bytes, err);
            *flag = true;
        } else if (what == KG_DJ_SEEN && kg_quartet_accept(&q, &c->bound[i], kg_tleaf_row(l)) > 0) {
            code = put_back(s, y->at[i], q.y, l->bytes, err);
            *flag = true;
        }
    }
    free(x);
    quartet_free(&q);
    return code;
}

enum kg_code kg_dj_do_choice(struct kg_dj_state *s, const struct kg_djm_req *req, bool *flag,
                             struct kg_err *err)
{
    struct kg_dj_case *c;
    enum kg_dj_choice what = (enum kg_dj_choice)req->at;
    if (kg_dj_case_need(s, req->id, &c, err) != KG_OK) {
        return err->code;
    }
    if (what == KG_DJ_POINTS) {
        return take_points(s, c, req->from, flag, err);
    }
    bool other = what != KG_DJ_ONCE, cand = what == KG_DJ_ONCE || what == KG_DJ_SEEN;
    if (!c->side[0].there || (other && (!s->other.there || s->other_case != req->id)) ||
        (cand && (!s->candidate.there || s->candidate_case != req->id))) {
        return kg_fail(err, KG_E_GYM, "judge: the answers to case %d were not taken", req->id);
    }
    bool comparable = (!other || alike(&c->side[0], &s->other)) &&
                      (!cand || alike(&c->side[0], &s->candidate)) && c->bounds_there;
    enum kg_code code = KG_OK;
    *flag = what == KG_DJ_ONCE;
    for (uint32_t i = 0; i < c->side[0].n && comparable && code == KG_OK; i++) {
        code = ask_one(s, c, i, what, flag, err);
    }
    if (other) {
        kg_dj_answer_drop(s, &s->other);
        s->other_case = -1;
    }
    return code;
}

/* On average, over the elements that are finite in both. */
static double distance(const struct kg_tleaf *l, const void *y, enum kg_tdtype dtype,
                       const void *was, uint64_t n)
{
    bool floating = kg_tdtype_floating((enum kg_tdtype)l->dtype);
    double sum = 0, used = 0;
    for (uint64_t k = 0; k < n; k++) {
        double by = fabs(kg_dj_load((enum kg_tdtype)l->dtype, y, k) - kg_dj_load(dtype, was, k));
        if (isfinite(by)) {
            sum += floating ? by : by != 0;
            used++;
        }
    }
    return used > 0 ? sum / used : 0;
}

enum kg_code kg_dj_do_compare_left(struct kg_dj_state *s, const struct kg_djm_req *req,
                                   struct kg_dj_judgement *out, struct kg_err *err)
{
    struct kg_dj_case *before;
    uint32_t i = (uint32_t)req->at, was = (uint32_t)req->lent;
    if (kg_dj_do_compare(s, req->id, req->at, false, out, err) != KG_OK ||
        kg_dj_case_need(s, req->from, &before, err) != KG_OK) {
        return err->code;
    }
    out->moved = -1;
    if (out->arity || out->structure || out->shape || out->dtype) {
        return KG_OK;
    }
    if (i >= s->candidate.n || was >= before->n || !before->filled[was]) {
        return kg_fail(err, KG_E_GYM, "judge: case %d and case %d have no such tensors", req->id,
                       req->from);
    }
    const struct kg_tleaf *l = &s->candidate.leaf[i], *b = &before->leaf[was];
    enum kg_code code = KG_OK;
    uint64_t n = kg_tleaf_count(l);
    bool same = n == kg_tleaf_count(b);
    void *y = same ? copy_of(s, s->candidate.at[i], l->bytes, &code, err) : NULL;
    void *x = same ? input_of(s, before, was, &code, err) : NULL;
    bool there = code == KG_OK && x != NULL && y != NULL;
    out->moved = there ? distance(l, y, (enum kg_tdtype)b->dtype, x, n) : out->moved;
    free(x);
    free(y);
    return code;
}
