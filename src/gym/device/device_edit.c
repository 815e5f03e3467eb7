/* Operations on single elements of a case's masters: the edit, which is to another value of the
 * same law. */
#include <math.h>

#include "gym/device/device_law.h"
#include "gym/device/device_state.h"
#include "gym/values/law.h"

#define TRIES 32
#define EDIT  0x65646974 /* the stream of the key that places are drawn by */

union element {
    double d;
    uint64_t u;
};

static enum kg_code load(struct kg_dj_state *s, const struct kg_tleaf *l, uint64_t from, uint64_t i,
                         union element *raw, double *out, struct kg_err *err)
{
    size_t size = kg_tdtype_bytes((enum kg_tdtype)l->dtype);
    raw->u = 0;
    if (s->dev.ops->download(&s->dev, raw, from + i * size, size, err) != KG_OK) {
        return err->code;
    }
    *out = kg_dj_load((enum kg_tdtype)l->dtype, raw, 0);
    return KG_OK;
}

/* Chooses the new value of an edited element. It is the value of another element, so that it
 * follows the same law. Of TRIES elements, the one furthest from the old value is taken, so that
 * the change shows. If all are equal, it is twice the old value plus 1. */
static enum kg_code new_value(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t leaf,
                              uint64_t at, struct kg_rng *r, double *out, struct kg_err *err)
{
    const struct kg_tleaf *l = &c->leaf[leaf];
    uint64_t from = c->block + l->offset, n = kg_tleaf_count(l);
    union element raw;
    double old = 0, best, far = 0;
    if (load(s, l, from, at, &raw, &old, err) != KG_OK) {
        return err->code;
    }
    best = isfinite(old) ? 2 * old + 1 : 1;
    for (int i = 0; i < TRIES; i++) {
        double v = 0;
        if (load(s, l, from, kg_tleaf_at(l, kg_rng_below(r, n)), &raw, &v, err) != KG_OK) {
            return err->code;
        }
        if (isfinite(v) && fabs(v - old) > far) {
            far = fabs(v - old);
            best = v;
        }
    }
    *out = best;
    return KG_OK;
}

static enum kg_code need(struct kg_dj_state *s, const struct kg_djm_req *req, bool floating,
                         struct kg_dj_case **out, struct kg_err *err)
{
    if (kg_dj_case_need(s, req->id, out, err) != KG_OK ||
        kg_dj_case_complete(s, *out, err) != KG_OK) {
        return err->code;
    }
    const struct kg_dj_case *c = *out;
    uint32_t at = (uint32_t)req->at;
    bool good = at < c->n && c->leaf[at].bytes > 0 &&
                kg_tdtype_floating((enum kg_tdtype)c->leaf[at].dtype) == floating;
    return good ? KG_OK
                : kg_fail(err, KG_E_GYM, "judge: case %d has no %s input %d to edit", req->id,
                          floating ? "floating" : "integer", req->at);
}

/* The case is another one now, and has a twin. */
static enum kg_code put(struct kg_dj_state *s, struct kg_dj_case *c, const struct kg_djm_req *req,
                        uint64_t at, const union element *raw, struct kg_err *err)
{
    const struct kg_tleaf *l = &c->leaf[req->at];
    size_t size = kg_tdtype_bytes((enum kg_tdtype)l->dtype);
    struct kg_digest before = c->inputs;
    s->dev.ops->upload(&s->dev, c->block + l->offset + at * size, raw, size);
    kg_dj_case_renewed(s, c, req->id);
    c->has_twin = true;
    c->twin = before;
    return s->dev.ops->sync(&s->dev, err);
}

static enum kg_code edit(struct kg_dj_state *s, const struct kg_djm_req *req, struct kg_err *err)
{
    struct kg_dj_case *c;
    struct kg_rng r;
    if (need(s, req, true, &c, err) != KG_OK) {
        return err->code;
    }
    kg_rng_init(&r, req->law.key, EDIT);
    const struct kg_tleaf *l = &c->leaf[req->at];
    uint64_t at = kg_tleaf_at(l, kg_edit_place(&r, kg_tleaf_count(l)));
    union element raw = {0};
    double v = 0;
    enum kg_code code = new_value(s, c, (uint32_t)req->at, at, &r, &v, err);
    kg_rng_deinit(&r);
    if (code != KG_OK) {
        return code;
    }
    kg_dj_store((enum kg_tdtype)l->dtype, &raw, 0, v);
    return put(s, c, req, at, &raw, err);
}

static enum kg_code edit_drawn(struct kg_dj_state *s, const struct kg_djm_req *req,
                               struct kg_err *err)
{
    struct kg_dj_case *c;
    struct kg_dj_port *p;
    struct kg_rng r;
    if (need(s, req, false, &c, err) != KG_OK || kg_dj_port_need(s, req->port, &p, err) != KG_OK) {
        return err->code;
    }
    const struct kg_tleaf *l = &c->leaf[req->at];
    if ((uint32_t)req->at >= p->nlast || p->last[req->at].dtype != l->dtype ||
        p->last[req->at].bytes != l->bytes) {
        return kg_fail(err, KG_E_GYM, "judge: the last answer on port %d has no tensor like %d",
                       req->port, req->at);
    }
    kg_rng_init(&r, req->law.key, EDIT);
    enum kg_code code = KG_OK;
    bool done = false;
    for (int i = 0; i < TRIES && code == KG_OK && !done; i++) {
        uint64_t at = kg_tleaf_at(l, kg_edit_place(&r, kg_tleaf_count(l)));
        union element old, raw;
        double ignored;
        code = load(s, l, c->block + l->offset, at, &old, &ignored, err);
        code = code == KG_OK ? load(s, l, p->out + p->last[req->at].offset, at, &raw, &ignored, err)
                             : code;
        done = code == KG_OK && raw.u != old.u;
        code = done ? put(s, c, req, at, &raw, err) : code;
    }
    kg_rng_deinit(&r);
    return code;
}

enum kg_code kg_dj_do_edit(struct kg_dj_state *s, const struct kg_djm_req *req, struct kg_err *err)
{
    return req->op == KG_DJM_EDIT         ? edit(s, req, err)
           : req->op == KG_DJM_EDIT_DRAWN ? edit_drawn(s, req, err)
                                          : kg_dj_do_touch(s, req, err);
}
