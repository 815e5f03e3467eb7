/* Operations on cases: begin, copy, move, fill and adopt their masters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gym/device/device_law.h"
#include "gym/device/device_state.h"
#include "gym/values/law.h"

#define EIGHTHS       8
#define TILE          64
#define TILES         16
#define TILES_LEAST   (64 * 1024)    /* elements: of fewer, tiles at random places would be many */
#define UNEVEN_STREAM 0x756e6576656e /* of the key that factors and places are drawn by */
#define PART_STREAM   ((uint64_t)1 << 32)

void kg_dj_case_drop(struct kg_dj_state *s, int id)
{
    struct kg_dj_case *c = s->cases[id];
    if (c == NULL) {
        return;
    }
    kg_dj_answer_drop(s, &c->side[0]);
    kg_dj_answer_drop(s, &c->side[1]);
    kg_dj_release(s, &c->block, &c->cap);
    free(c);
    s->cases[id] = NULL;
    kg_dj_kept_drop(s, id);
    if (s->candidate_case == id) {
        s->candidate_case = -1;
    }
    s->other_case = s->other_case == id ? -1 : s->other_case;
}

enum kg_code kg_dj_case_need(struct kg_dj_state *s, int id, struct kg_dj_case **out,
                             struct kg_err *err)
{
    *out = s->cases[id];
    return *out ? KG_OK : kg_fail(err, KG_E_GYM, "judge: case %d was not begun", id);
}

void kg_dj_case_renewed(struct kg_dj_state *s, struct kg_dj_case *c, int id)
{
    c->digested = c->bounds_there = c->has_twin = false;
    c->side[0].there = c->side[1].there = false;
    if (s->candidate_case == id) {
        s->candidate_case = -1;
    }
    s->other_case = s->other_case == id ? -1 : s->other_case;
}

/* Writes the pattern between the masters; it is copied to IN with them. All cases use the same
 * word, so that equal values have equal digests. */
static void set_guards(struct kg_dj_state *s, const struct kg_dj_case *c)
{
    uint64_t word = s->guard, at = 0;
    for (uint32_t i = 0; i <= c->n; i++) {
        uint64_t end = i < c->n ? c->leaf[i].offset : c->bytes;
        s->dev.ops->pattern(&s->dev, c->block + at, end - at, word);
        at = i < c->n ? c->leaf[i].offset + c->leaf[i].bytes : end;
    }
}

static enum kg_code begin(struct kg_dj_state *s, int id, const struct kg_tleaf *leaf, uint32_t n,
                          struct kg_err *err)
{
    kg_dj_case_drop(s, id);
    struct kg_dj_case *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "judge: no memory for a case");
    }
    c->n = n;
    memcpy(c->leaf, leaf, n * sizeof *leaf);
    uint64_t bytes = kg_twire_place(c->leaf, c->n);
    if (kg_dj_reserve(s, &c->block, &c->cap, bytes + KG_DJM_FAR, err) != KG_OK) {
        free(c);
        return err->code;
    }
    c->bytes = bytes;
    for (uint32_t i = 0; i < c->n; i++) {
        if (!c->leaf[i].laid) {
            kg_tleaf_contiguous(&c->leaf[i]);
        }
        c->leaf[i].copied = c->leaf[i].device = c->leaf[i].aliases = 0;
    }
    set_guards(s, c);
    s->cases[id] = c;
    return KG_OK;
}

enum kg_code kg_dj_do_begin(struct kg_dj_state *s, const struct kg_djm_req *req, struct kg_err *err)
{
    return begin(s, req->id, req->leaf, req->nleaf, err);
}

enum kg_code kg_dj_do_copy(struct kg_dj_state *s, const struct kg_djm_req *req, struct kg_err *err)
{
    struct kg_dj_case *from;
    if (req->from == req->id) {
        return kg_fail(err, KG_E_GYM, "judge: case %d cannot be copied onto itself", req->id);
    }
    if (kg_dj_case_need(s, req->from, &from, err) != KG_OK ||
        kg_dj_case_complete(s, from, err) != KG_OK ||
        begin(s, req->id, from->leaf, from->n, err) != KG_OK) {
        return err->code;
    }
    struct kg_dj_case *to = s->cases[req->id];
    for (uint32_t i = 0; i < to->n; i++) {
        s->dev.ops->copy(&s->dev, to->block + to->leaf[i].offset,
                         from->block + from->leaf[i].offset, to->leaf[i].bytes);
        to->filled[i] = true;
    }
    return s->dev.ops->sync(&s->dev, err);
}

/* Moves [from, from + bytes) by a distance within the block, in pieces, so that no second block is
 * needed. A piece is first copied aside where it overlaps its own place. */
static void shift(struct kg_dj_state *s, uint64_t block, uint64_t from, uint64_t to, uint64_t bytes)
{
    uint64_t piece = s->aside_cap;
    for (uint64_t done = 0, n; done < bytes; done += n) {
        n = bytes - done < piece ? bytes - done : piece;
        uint64_t at = to > from ? bytes - done - n : done; /* away from what is still to be moved */
        s->dev.ops->copy(&s->dev, s->aside, block + from + at, n);
        s->dev.ops->copy(&s->dev, block + to + at, s->aside, n);
    }
}

/* The masters of the tensors, one after the other, from the far end where they move up. */
static void shift_all(struct kg_dj_state *s, const struct kg_dj_case *c, const struct kg_tleaf *old)
{
    for (uint32_t k = 0; k < c->n; k++) {
        uint32_t i = c->leaf[0].offset > old[0].offset ? c->n - 1 - k : k;
        if (c->filled[i] && c->leaf[i].offset != old[i].offset) {
            shift(s, c->block, old[i].offset, c->leaf[i].offset, old[i].bytes);
        }
    }
}

enum kg_code kg_dj_do_move(struct kg_dj_state *s, const struct kg_djm_req *req, struct kg_err *err)
{
    struct kg_dj_case *c;
    struct kg_tleaf old[KG_TWIRE_LEAVES];
    if (kg_dj_case_need(s, req->id, &c, err) != KG_OK ||
        kg_dj_reserve(s, &s->aside, &s->aside_cap, c->bytes < s->part ? c->bytes : s->part, err) !=
            KG_OK) {
        return err->code;
    }
    memcpy(old, c->leaf, c->n * sizeof *old);
    uint64_t bytes = kg_twire_place(c->leaf, c->n) + req->in_bytes;
    if (bytes > c->cap) {
        memcpy(c->leaf, old, c->n * sizeof *old);
        return kg_fail(err, KG_E_LIMIT, "judge: case %d has no room to move so far", req->id);
    }
    for (uint32_t i = 0; i < c->n; i++) {
        c->leaf[i].offset += req->in_bytes;
    }
    if (c->n > 0) {
        shift_all(s, c, old);
    }
    c->bytes = bytes;
    set_guards(s, c);
    kg_dj_case_renewed(s, c, req->id);
    return s->dev.ops->sync(&s->dev, err);
}

static enum kg_code leaf_need(struct kg_dj_state *s, int id, int at, struct kg_dj_case **out,
                              struct kg_err *err)
{
    if (kg_dj_case_need(s, id, out, err) != KG_OK) {
        return err->code;
    }
    return *out != NULL && (uint32_t)at < (*out)->n
               ? KG_OK
               : kg_fail(err, KG_E_GYM, "judge: case %d has no tensor %d", id, at);
}

/* Part `number` of a tensor, as by its law, times a factor. */
static void fill_part(struct kg_device *d, uint64_t at, enum kg_tdtype dtype, uint64_t n,
                      const struct kg_dj_law *of, uint64_t number, double factor)
{
    struct kg_dj_law law = *of;
    double most = fmax(fabs(law.a), fabs(law.b)) * factor;
    bool clips = dtype == KG_TD_F16 && most > KG_DJ_HALF_MOST;
    factor = clips ? factor * KG_DJ_HALF_MOST / most : factor;
    law.a *= factor;
    law.b *= factor;
    law.stream += number * PART_STREAM;
    d->ops->fill(d, at, dtype, n, &law);
}

/* Parts begin at whole tiles, which every kernel that fills can do. */
static void fill_eighths(struct kg_device *d, uint64_t at, enum kg_tdtype dtype, uint64_t n,
                         const struct kg_dj_law *law, struct kg_rng *r)
{
    const uint64_t part = n / EIGHTHS / TILE * TILE, size = kg_tdtype_bytes(dtype);
    for (uint64_t i = 0; i < EIGHTHS; i++) {
        uint64_t from = i * part, count = i + 1 < EIGHTHS ? part : n - from;
        fill_part(d, at + from * size, dtype, count, law, i + 1, exp2(2 * kg_rng_unit(r) - 1));
    }
}

/* A spike lies before the end, which is a part of its own. */
static void fill_tiles(struct kg_device *d, uint64_t at, enum kg_tdtype dtype, uint64_t n,
                       const struct kg_dj_law *law, struct kg_rng *r)
{
    const uint64_t end = (n - TILE) / TILE * TILE, size = kg_tdtype_bytes(dtype);
    double factor = sqrt((double)n / TILE);
    struct kg_dj_law large = *law;
    large.kind = KG_DJ_UNIFORM;
    d->ops->fill(d, at, dtype, end, law);
    for (uint64_t i = 1; n >= TILES_LEAST && i < TILES; i++) {
        uint64_t from = kg_rng_below(r, end / TILE) * TILE;
        fill_part(d, at + from * size, dtype, TILE, &large, i, factor / 2);
    }
    fill_part(d, at + end * size, dtype, n - end, &large, TILES, factor);
}

static void fill(struct kg_device *d, uint64_t at, enum kg_tdtype dtype, uint64_t n,
                 const struct kg_dj_law *law)
{
    struct kg_rng r;
    if (law->uneven == KG_DJ_EVEN || n < KG_DJ_UNEVEN_LEAST || !kg_tdtype_floating(dtype)) {
        d->ops->fill(d, at, dtype, n, law);
        return;
    }
    kg_rng_init(&r, law->key, UNEVEN_STREAM + law->stream);
    (law->uneven == KG_DJ_EIGHTHS ? fill_eighths : fill_tiles)(d, at, dtype, n, law, &r);
    kg_rng_deinit(&r);
}

enum kg_code kg_dj_do_fill(struct kg_dj_state *s, const struct kg_djm_req *req, struct kg_err *err)
{
    struct kg_dj_case *c;
    if (leaf_need(s, req->id, req->at, &c, err) != KG_OK) {
        return err->code;
    }
    const struct kg_tleaf *leaf = &c->leaf[req->at];
    kg_dj_case_renewed(s, c, req->id);
    fill(&s->dev, c->block + leaf->offset, (enum kg_tdtype)leaf->dtype, kg_tleaf_memory(leaf),
         &req->law);
    c->filled[req->at] = true;
    return s->dev.ops->sync(&s->dev, err);
}

enum kg_code kg_dj_do_adopt(struct kg_dj_state *s, const struct kg_djm_req *req, struct kg_err *err)
{
    struct kg_dj_case *c;
    struct kg_dj_port *p;
    if (leaf_need(s, req->id, req->at, &c, err) != KG_OK ||
        kg_dj_port_need(s, req->port, &p, err) != KG_OK) {
        return err->code;
    }
    if ((uint32_t)req->from >= p->nlast) {
        return kg_fail(err, KG_E_GYM, "judge: the last answer on port %d has no tensor %d",
                       req->port, req->from);
    }
    const struct kg_tleaf *to = &c->leaf[req->at], *from = &p->last[req->from];
    if (to->dtype != from->dtype || to->bytes != from->bytes) {
        return kg_fail(err, KG_E_GYM, "judge: tensor %d of the answer is not like tensor %d of %d",
                       req->from, req->at, req->id);
    }
    if (req->again && kg_dj_case_complete(s, c, err) != KG_OK) {
        return err->code;
    }
    struct kg_digest before = c->has_twin ? c->twin : c->inputs;
    kg_dj_case_renewed(s, c, req->id);
    s->dev.ops->copy(&s->dev, c->block + to->offset, p->out + from->offset, to->bytes);
    c->filled[req->at] = true;
    c->has_twin = req->again;
    c->twin = before;
    return s->dev.ops->sync(&s->dev, err);
}

enum kg_code kg_dj_case_complete(struct kg_dj_state *s, struct kg_dj_case *c, struct kg_err *err)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (!c->filled[i]) {
            return kg_fail(err, KG_E_GYM, "judge: tensor %u of the case has no values", i);
        }
    }
    struct kg_dspan span = {c->block, c->bytes};
    if (!c->digested && s->dev.ops->digest(&s->dev, &span, 1, &c->inputs, err) != KG_OK) {
        return err->code;
    }
    c->digested = true;
    return KG_OK;
}
