/* The judge's decisions: bounds from reference and oracle, comparison of a candidate's answer, and
 * the search for replays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gym/device/allclose.h"
#include "gym/device/device_state.h"
#include "gym/verify/limits.h"

#define CLOSE_PART ((uint64_t)1 << 20) /* bytes; a multiple of the size of every element */
#define RARE       100000 /* one element in so many of a reference's answer may be off, */
#define RARE_FAR   8      /* by at most so many bounds; */
#define RARE_TIMES 2      /* of another's answer so many times as many, and as far */
/* Of the scale: what rounding inside may change the rms of all by, and an element by four times as
 * much. An answer that is off by 6 % everywhere is wrong then. */
#define NARROW 0.02

/* Lists and tuples count as the same. */
static char bracket(char c)
{
    return c == '[' ? '(' : c == ']' ? ')' : c;
}

static bool same_structure(const char *a, const char *b)
{
    while (*a != '\0' && bracket(*a) == bracket(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

/* True if reference and oracle answered with the same shapes and compatible dtypes. Otherwise there
 * is no oracle for this case. */
static bool comparable(const struct kg_dj_answer *r, const struct kg_dj_answer *o)
{
    if (!r->there || !o->there || r->n != o->n) {
        return false;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        bool floating = kg_tdtype_floating((enum kg_tdtype)r->leaf[i].dtype);
        bool also = kg_tdtype_floating((enum kg_tdtype)o->leaf[i].dtype);
        if (!kg_tleaf_same_shape(&r->leaf[i], &o->leaf[i]) || floating != also ||
            (!floating && r->leaf[i].dtype != o->leaf[i].dtype)) {
            return false;
        }
    }
    return true;
}

static enum kg_code bounds(struct kg_dj_state *s, struct kg_dj_case *c, int64_t k,
                           struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0];
    for (uint32_t i = 0; i < r->n && !c->bounds_there; i++) {
        if (kg_dj_bounds(s, c, i, k, &c->bound[i], err) != KG_OK) {
            return err->code;
        }
    }
    c->bounds_there = true;
    return KG_OK;
}

static bool known_like(const struct kg_dj_known *known, const struct kg_dj_answer *r)
{
    bool same = known->there && known->n == r->n;
    for (uint32_t i = 0; same && i < r->n; i++) {
        same = known->leaf[i].dtype == r->leaf[i].dtype &&
               kg_tleaf_same_shape(&known->leaf[i], &r->leaf[i]);
    }
    return same;
}

static void learn(struct kg_dj_known *known, const struct kg_dj_case *c, int64_t k)
{
    const struct kg_dj_answer *r = &c->side[0];
    if (!known_like(known, r)) {
        memset(known, 0, sizeof *known);
        known->there = true;
        known->n = r->n;
        memcpy(known->leaf, r->leaf, r->n * sizeof *known->leaf);
    }
    known->k = k;
    for (uint32_t i = 0; i < r->n; i++) {
        const struct kg_tbound *b = &c->bound[i];
        uint64_t n = kg_tleaf_count(&r->leaf[i]);
        double share = n > 0 ? (double)b->disagree / (double)n : 0;
        known->disagree[i] = fmax(known->disagree[i], share);
        if (b->rms > 0) {
            known->e_ref[i] = fmax(known->e_ref[i], b->e_ref);
            known->max_ref[i] = fmax(known->max_ref[i], b->max_ref / b->rms);
            known->rms_ref[i] = fmax(known->rms_ref[i], b->rms_ref / b->rms);
        }
        known->fill[i] = b->fill;
    }
}

/* The bound goes by the scale of the whole answer. Elements far above it (a softmax's largest) err
 * in proportion to themselves: float sums of 8,192 terms in one accumulator put six elements in a
 * million of one beyond it, by up to 3.7 bounds. The rms is not looked at where elements are off,
 * so it is here. */
static bool rarely_off(enum kg_tdtype t, const struct kg_tbound *b, uint64_t times,
                       const struct kg_tcompare *one)
{
    struct kg_limits_of limits;
    bool few = one->n_bad > 0 && one->n_bad <= times * (one->n / RARE) &&
               one->worst <= (double)times * RARE_FAR;
    if (!kg_tdtype_floating(t) || !few || one->nonfinite || one->rms_failed || one->finite == 0) {
        return false;
    }
    kg_tcompare_limits(t, b, true, false, &limits);
    return sqrt(one->square / (double)one->finite) <= limits.rms;
}

enum kg_code kg_dj_do_self(struct kg_dj_state *s, int id, const struct kg_dj_ask *ask,
                           bool *applies, struct kg_err *err)
{
    struct kg_dj_case *c;
    uint64_t elements = 0;
    *applies = false;
    s->e_ref = 0;
    if (kg_dj_case_need(s, id, &c, err) != KG_OK) {
        return err->code;
    }
    const struct kg_dj_answer *r = &c->side[0], *o = &c->side[1];
    if (!r->there || !o->there) {
        return kg_fail(err, KG_E_GYM, "judge: the answers to case %d were not taken", id);
    }
    if (!comparable(r, o)) {
        return KG_OK;
    }
    c->bounds_there = false;
    memcpy(c->fill, ask->fill, sizeof c->fill);
    if (bounds(s, c, ask->k, err) != KG_OK) {
        return err->code;
    }
    bool good = true;
    c->rare = (ask->how & KG_DJ_RARE) != 0;
    for (uint32_t i = 0; i < r->n; i++) {
        struct kg_tcompare one;
        struct kg_tbound b = c->bound[i];
        uint64_t n = kg_tleaf_count(&r->leaf[i]);
        /* its own largest error must not widen its own bound */
        bool narrow = ask->how & KG_DJ_NARROW;
        b.max_ref = narrow ? fmin(b.max_ref, NARROW * b.rms) : 0;
        if (kg_dj_against(s, c, i, r->at[i], &b, false, &one, err) != KG_OK) {
            return err->code;
        }
        bool rare = c->rare && rarely_off((enum kg_tdtype)r->leaf[i].dtype, &b, 1, &one);
        good = good && (one.pass || rare) && b.disagree * 100 <= n &&
               !(narrow && b.rms_ref > NARROW * b.rms);
        elements += n;
        s->e_ref = fmax(s->e_ref, b.e_ref);
    }
    *applies = good && elements > 0;
    if (*applies && ask->how & KG_DJ_LEARNS) {
        learn(&c->known, c, ask->k);
    }
    return *applies && ask->how & KG_DJ_OVERFLOWS ? kg_dj_excuse_overflows(s, c, err) : KG_OK;
}

/* The bound where there is no oracle: scale of the reference's answer, and the largest errors of
 * earlier inputs. */
static enum kg_code timed_bound(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                                struct kg_tbound *out, struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0];
    const struct kg_dj_known *known = &c->known;
    enum kg_tdtype t = (enum kg_tdtype)r->leaf[i].dtype;
    uint64_t n = kg_tleaf_count(&r->leaf[i]);
    bool like = known_like(known, r);
    *out = (struct kg_tbound){.k = 1, .fill = like ? known->fill[i] : 0};
    if (s->dev.ops->rms(&s->dev, t, r->at[i], n, out->fill, out, err) != KG_OK) {
        return err->code;
    }
    if (out->fill > 0 && kg_dj_all_filled(n, out->used)) {
        out->fill = 0;
        if (s->dev.ops->rms(&s->dev, t, r->at[i], n, 0, out, err) != KG_OK) {
            return err->code;
        }
    }
    if (like) {
        out->k = known->k;
        out->e_ref = known->e_ref[i];
        out->max_ref = known->max_ref[i] * out->rms;
        out->rms_ref = known->rms_ref[i] * out->rms;
        out->disagree = (uint64_t)ceil(known->disagree[i] * (double)n);
    }
    return KG_OK;
}

/* Compares shapes, dtypes and structure. False: values cannot be compared. */
static bool same_form(const struct kg_dj_answer *y, const struct kg_dj_answer *r,
                      struct kg_dj_judgement *out)
{
    out->arity = y->n != r->n;
    out->structure = !same_structure(y->structure, r->structure);
    for (uint32_t i = 0; !out->arity && i < r->n; i++) {
        const struct kg_tleaf *a = &y->leaf[i], *b = &r->leaf[i];
        bool shape = !kg_tleaf_same_shape(a, b), dtype = a->dtype != b->dtype;
        out->leaf = (shape || dtype) && !out->shape && !out->dtype ? (int)i : out->leaf;
        out->shape = out->shape || shape;
        out->dtype = out->dtype || dtype;
        out->device = out->device || a->device != b->device;
        /* sharing storage counts only where the reference's answer is not one to moved copies */
        bool own = a->aliases != 0 && a->aliases != b->aliases;
        out->alias = out->alias || (own && !r->moved);
    }
    return !(out->arity || out->structure || out->shape || out->dtype || r->n == 0);
}

/* True if a is worse than b: failing is worse than passing, then the larger share of bad elements,
 * then the larger error. */
static bool worse(const struct kg_tcompare *a, const struct kg_tcompare *b)
{
    if (a->pass != b->pass) {
        return !a->pass;
    }
    double x = (double)a->n_bad / ((double)a->n + 1), y = (double)b->n_bad / ((double)b->n + 1);
    return x != y ? x > y : a->worst > b->worst;
}

static enum kg_code degenerate(struct kg_dj_state *s, uint32_t i, bool *out, struct kg_err *err)
{
    unsigned char part[4096];
    const struct kg_tleaf *l = &s->candidate.leaf[i];
    uint64_t n = l->bytes < sizeof part ? l->bytes : sizeof part;
    enum kg_tdtype t = (enum kg_tdtype)l->dtype;
    if (s->dev.ops->download(&s->dev, part, s->candidate.at[i], n, err) != KG_OK) {
        return err->code;
    }
    *out = kg_device_degenerate(t, part, n / kg_tdtype_bytes(t));
    return KG_OK;
}

/* A right answer is remembered. A wrong one is searched among answers that were right for other
 * inputs of this port. */
static enum kg_code find_replay(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                                const struct kg_tcompare *one, struct kg_dj_judgement *out,
                                struct kg_err *err)
{
    bool few = true;
    if (s->candidate_port < 0) {
        return KG_OK;
    }
    struct kg_dj_ring *ring = &s->port[s->candidate_port].ring;
    struct kg_dj_seen seen = {.answer = s->candidate.digest[i],
                              .expected = c->side[0].digest[i],
                              .inputs = c->inputs,
                              .leaf = (int)i,
                              .right = one->pass,
                              .has_expected = true};
    if (one->pass) {
        kg_dj_ring_add(ring, &seen);
        return KG_OK;
    }
    struct kg_digest twin = c->has_twin ? c->twin : c->inputs;
    bool other = kg_dj_ring_right(ring, &seen, twin, false);
    bool same = c->has_twin && kg_dj_ring_right(ring, &seen, twin, true);
    if ((other || same) && degenerate(s, i, &few, err) != KG_OK) {
        return err->code;
    }
    out->replay = out->replay || (other && !few);
    out->repeats_twin = out->repeats_twin || (same && !few);
    return KG_OK;
}

static enum kg_code compare_one(struct kg_dj_state *s, struct kg_dj_case *c, uint32_t i,
                                bool oracle, bool probe, struct kg_tcompare *out,
                                struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0];
    struct kg_tbound b = c->bound[i];
    if (!oracle && timed_bound(s, c, i, &b, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code =
        oracle ? kg_dj_against(s, c, i, s->candidate.at[i], &b, probe, out, err)
               : s->dev.ops->compare(&s->dev, (enum kg_tdtype)r->leaf[i].dtype, s->candidate.at[i],
                                     r->at[i], 0, kg_tleaf_count(&r->leaf[i]), &b, probe, out, err);
    if (code == KG_OK && c->rare && oracle && !probe && !out->pass) {
        out->pass = rarely_off((enum kg_tdtype)r->leaf[i].dtype, &b, RARE_TIMES, out);
    }
    return code == KG_OK && !out->pass ? kg_dj_pointed(s, c, i, oracle, out, err) : code;
}

static void keep_worst(struct kg_dj_judgement *out, uint32_t i, const struct kg_tcompare *one)
{
    if (out->leaf < 0 || worse(one, &out->compare)) {
        out->compare = *one;
        out->leaf = (int)i;
    }
}

/* Fetches the case; fails unless both answers to it are there. */
static enum kg_code need_answers(struct kg_dj_state *s, int id, struct kg_dj_case **c,
                                 struct kg_dj_judgement *out, struct kg_err *err)
{
    *out = (struct kg_dj_judgement){.leaf = -1};
    if (kg_dj_case_need(s, id, c, err) != KG_OK) {
        return err->code;
    }
    bool there = (*c)->side[0].there;
    return there && s->candidate.there && s->candidate_case == id
               ? KG_OK
               : kg_fail(err, KG_E_GYM, "judge: the %s answer to case %d was not taken",
                         there ? "candidate's" : "reference's", id);
}

static enum kg_code close_one(struct kg_dj_state *s, const struct kg_dj_answer *r, uint32_t i,
                              double tolerance, unsigned char *part, struct kg_tcompare *out,
                              struct kg_err *err)
{
    enum kg_tdtype dtype = (enum kg_tdtype)r->leaf[i].dtype;
    uint64_t size = kg_tdtype_bytes(dtype), left = kg_tleaf_count(&r->leaf[i]) * size;
    uint64_t y = s->candidate.at[i], want = r->at[i];
    struct kg_allclose c;
    kg_allclose_begin(&c, dtype, tolerance);
    for (uint64_t n; left > 0; left -= n, y += n, want += n) {
        n = left < CLOSE_PART ? left : CLOSE_PART;
        if (s->dev.ops->download(&s->dev, part, y, n, err) != KG_OK ||
            s->dev.ops->download(&s->dev, part + CLOSE_PART, want, n, err) != KG_OK) {
            return err->code;
        }
        kg_allclose_add(&c, part, part + CLOSE_PART, n / size);
    }
    kg_allclose_end(&c, out);
    return KG_OK;
}

/* Always works on the host, because this comparison is never timed. */
enum kg_code kg_dj_do_compare_close(struct kg_dj_state *s, int id, double tolerance,
                                    struct kg_dj_judgement *out, struct kg_err *err)
{
    struct kg_dj_case *c;
    if (need_answers(s, id, &c, out, err) != KG_OK) {
        return err->code;
    }
    if (!same_form(&s->candidate, &c->side[0], out)) {
        return KG_OK;
    }
    unsigned char *part = malloc(2 * CLOSE_PART);
    if (part == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "judge: no memory to compare with");
    }
    enum kg_code code = KG_OK;
    for (uint32_t i = 0; i < c->side[0].n && code == KG_OK; i++) {
        struct kg_tcompare one = {0};
        code = close_one(s, &c->side[0], i, tolerance, part, &one, err);
        if (code == KG_OK) {
            keep_worst(out, i, &one);
        }
    }
    free(part);
    return code;
}

enum kg_code kg_dj_do_compare(struct kg_dj_state *s, int id, int at, bool probe,
                              struct kg_dj_judgement *out, struct kg_err *err)
{
    struct kg_dj_case *c;
    if (need_answers(s, id, &c, out, err) != KG_OK) {
        return err->code;
    }
    if (!same_form(&s->candidate, &c->side[0], out)) {
        return KG_OK;
    }
    bool oracle = comparable(&c->side[0], &c->side[1]);
    if (oracle && !c->bounds_there && bounds(s, c, 0, err) != KG_OK) {
        return err->code;
    }
    for (uint32_t i = 0; i < c->side[0].n; i++) {
        struct kg_tcompare one = {0};
        if (at >= 0 && i != (uint32_t)at) {
            continue;
        }
        if (compare_one(s, c, i, oracle, probe, &one, err) != KG_OK ||
            find_replay(s, c, i, &one, out, err) != KG_OK) {
            return err->code;
        }
        keep_worst(out, i, &one);
    }
    return KG_OK;
}
