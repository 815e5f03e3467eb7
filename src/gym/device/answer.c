/* Copies a runner's answer to private memory. From then on only the copy counts, because the runner
 * may still write to its own region. */
#include <string.h>

#include "gym/device/device_state.h"

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + KG_TWIRE_ALIGN - 1) / KG_TWIRE_ALIGN * KG_TWIRE_ALIGN;
}

/* Answers of an oracle are compared as doubles, so narrower floats are widened. */
static bool widens(bool oracle, const struct kg_tleaf *leaf)
{
    return oracle && leaf->dtype != KG_TD_F64 && kg_tdtype_floating((enum kg_tdtype)leaf->dtype);
}

/* An answer that is being taken. beside: the case's other side, of ORACLE and FLOAT; else NULL. */
struct taking {
    struct kg_dj_answer *a, *beside;
    bool oracle;
    const struct kg_dj_claims *claims;
    uint64_t word;
};

/* Is it kept as differences from the reference's? */
static bool apart(const struct kg_dj_state *s, const struct taking *k, uint32_t i)
{
    const struct kg_tleaf *l = &k->claims->leaf[i];
    return s->keeps != KG_DJ_DOUBLES && k->oracle && kg_tdtype_floating((enum kg_tdtype)l->dtype) &&
           kg_tleaf_count(l) * sizeof(double) > s->apart_over;
}

/* Large ones are widened piece by piece, so that there is no copy of the whole beside. */
static bool in_pieces(const struct kg_dj_state *s, const struct taking *k, uint32_t i)
{
    const struct kg_tleaf *l = &k->claims->leaf[i];
    return (widens(k->oracle, l) && l->bytes > s->part) || apart(s, k, i);
}

/* Has the other side a tensor of as many elements? */
static bool like(const struct taking *k, uint32_t i)
{
    const struct kg_dj_answer *b = k->beside;
    return b != NULL && b->there && b->n == k->claims->n &&
           kg_tleaf_same_shape(&b->leaf[i], &k->claims->leaf[i]);
}

static bool has_apart(const struct kg_dj_answer *a)
{
    bool some = false;
    for (uint32_t i = 0; a != NULL && a->there && i < a->n; i++) {
        some = some || kg_dj_is_apart(a, i);
    }
    return some;
}

/* Of FLOAT, from which the oracle's answer differs by what is kept: may it be taken anew tensor by
 * tensor, where it lies? */
static bool rebases(const struct taking *k, uint64_t bytes)
{
    const struct kg_dj_answer *a = k->a;
    bool may =
        !k->oracle && has_apart(k->beside) && a->there && a->n == k->claims->n && bytes <= a->cap;
    for (uint32_t i = 0; may && i < a->n; i++) {
        may = like(k, i) && a->leaf[i].dtype == k->claims->leaf[i].dtype &&
              kg_tleaf_same_shape(&a->leaf[i], &k->claims->leaf[i]);
    }
    return may;
}

/* Room for what the host keeps. */
static enum kg_code place_hosted(struct kg_dj_state *s, const struct taking *k, struct kg_err *err)
{
    struct kg_dj_answer *a = k->a;
    bool hosts = s->keeps == KG_DJ_APART_ON_HOST;
    uint64_t n = 0;
    for (uint32_t i = 0; i < k->claims->n; i++) {
        n += hosts && apart(s, k, i) ? kg_tleaf_count(&k->claims->leaf[i]) : 0;
    }
    if (kg_dj_hosted_room(s, a, n * sizeof(float), err) != KG_OK) {
        return err->code;
    }
    n = 0;
    for (uint32_t i = 0; i < k->claims->n; i++) {
        bool hosted = hosts && apart(s, k, i);
        a->host[i] = hosted && like(k, i) ? (float *)a->host_block + n : NULL;
        n += hosted ? kg_tleaf_count(&k->claims->leaf[i]) : 0;
    }
    return KG_OK;
}

/* Lays out the copies in one block, and behind them the widened values, or differences. from:
 * offsets of the copies; a->at, a->diff: offsets of these. Returns the size. */
static uint64_t place_copies(const struct kg_dj_state *s, const struct taking *k,
                             uint64_t from[KG_TWIRE_LEAVES])
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < k->claims->n; i++) {
        from[i] = k->a->at[i] = end;
        k->a->diff[i] = 0;
        end += in_pieces(s, k, i) ? 0 : round_up(k->claims->leaf[i].bytes);
    }
    for (uint32_t i = 0; i < k->claims->n; i++) {
        uint64_t n = kg_tleaf_count(&k->claims->leaf[i]);
        if (apart(s, k, i)) {
            k->a->diff[i] = end;
            end += s->keeps == KG_DJ_APART ? round_up(n * sizeof(float)) : 0;
        } else if (widens(k->oracle, &k->claims->leaf[i])) {
            k->a->at[i] = end;
            end += round_up(n * sizeof(double));
        }
    }
    return end;
}

void kg_dj_answer_drop(struct kg_dj_state *s, struct kg_dj_answer *a)
{
    kg_dj_release(s, &a->block, &a->cap);
    kg_dj_hosted_drop(s, a);
    a->there = false;
}

/* Compares the copies with the digests of the timed window: a difference means that the runner
 * wrote after it said that it was done. */
static void note_copies(struct kg_dj_answer *a, const struct kg_dj_claims *claims,
                        const struct kg_dtake *t, const struct kg_digest *digest,
                        struct kg_dj_report *out)
{
    for (uint32_t i = 0; i < claims->n; i++) {
        out->late_write = out->late_write || !kg_dj_same_digest(t[i].digest, digest[i]);
        out->unwritten = out->unwritten || t[i].unwritten > 0;
        a->digest[i] = t[i].digest;
    }
}

/* The digest is taken of what lies in OUT. An oracle is asked by nobody who could change it
 * meanwhile. */
static enum kg_code take_pieces(struct kg_dj_state *s, uint64_t to, struct kg_dtake whole,
                                uint64_t word, struct kg_dtake *out, struct kg_err *err)
{
    uint64_t size = kg_tdtype_bytes((enum kg_tdtype)whole.dtype);
    if (kg_dj_reserve(s, &s->aside, &s->aside_cap, s->part, err) != KG_OK) {
        return err->code;
    }
    for (uint64_t done = 0, n; done < whole.bytes; done += n) {
        n = whole.bytes - done < s->part ? whole.bytes - done : s->part;
        struct kg_dtake piece = whole;
        piece.dst = s->aside;
        piece.src += done;
        piece.bytes = n;
        if (s->dev.ops->take(&s->dev, &piece, 1, word, err) != KG_OK) {
            return err->code;
        }
        out->unwritten += piece.unwritten;
        s->dev.ops->widen(&s->dev, to + done / size * sizeof(double), (enum kg_tdtype)whole.dtype,
                          s->aside, n / size);
    }
    struct kg_dspan span = {whole.src, whole.bytes};
    return s->dev.ops->digest(&s->dev, &span, 1, &out->digest, err);
}

/* Addresses instead of offsets. */
static void settle_places(const struct kg_dj_state *s, const struct taking *k)
{
    struct kg_dj_answer *a = k->a;
    for (uint32_t i = 0; i < k->claims->n; i++) {
        bool away = apart(s, k, i), device = away && s->keeps == KG_DJ_APART && like(k, i);
        a->diff[i] = device ? a->diff[i] + a->block : 0;
        a->at[i] = away ? 0 : a->at[i] + a->block;
    }
}

/* All that are copied whole at once, then the others. */
static enum kg_code take_all(struct kg_dj_state *s, const struct taking *k, bool rebase,
                             struct kg_dtake *t, struct kg_err *err)
{
    struct kg_dtake whole[KG_TWIRE_LEAVES];
    bool alone[KG_TWIRE_LEAVES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->claims->n; i++) {
        alone[i] = in_pieces(s, k, i) || (rebase && kg_dj_is_apart(k->beside, i));
        if (!alone[i]) {
            whole[n++] = t[i];
        }
    }
    if (s->dev.ops->take(&s->dev, whole, n, k->word, err) != KG_OK) {
        return err->code;
    }
    for (uint32_t i = k->claims->n; i-- > 0;) {
        enum kg_code code = KG_OK;
        if (!alone[i]) {
            t[i] = whole[--n];
        } else if (!k->oracle) {
            code = kg_dj_apart_rebase(s, k->beside, i, t[i], k->word, &t[i], err);
        } else if (apart(s, k, i)) {
            code = kg_dj_apart_take(s, like(k, i) ? k->beside : NULL, k->a, i, t[i], k->word, &t[i],
                                    err);
        } else {
            code = take_pieces(s, k->a->at[i], t[i], k->word, &t[i], err);
        }
        if (code != KG_OK) {
            return code;
        }
    }
    return KG_OK;
}

enum kg_code kg_dj_answer_take(struct kg_dj_state *s, struct kg_dj_answer *a, bool oracle,
                               struct kg_dj_answer *beside, const struct kg_dj_port *p,
                               const struct kg_dj_claims *claims, const struct kg_digest *digest,
                               uint64_t word, uint64_t poisoned, struct kg_dj_report *out,
                               struct kg_err *err)
{
    const struct taking k = {a, beside, oracle, claims, word};
    struct kg_dtake t[KG_TWIRE_LEAVES];
    uint64_t from[KG_TWIRE_LEAVES] = {0};
    const uint64_t bytes = place_copies(s, &k, from);
    bool rebase = rebases(&k, bytes);
    if (!oracle && !rebase && has_apart(beside)) {
        beside->there = false; /* what it differs from goes */
    }
    a->there = false;
    if (place_hosted(s, &k, err) != KG_OK ||
        kg_dj_reserve(s, &a->block, &a->cap, bytes > 0 ? bytes : 1, err) != KG_OK) {
        return err->code;
    }
    settle_places(s, &k);
    for (uint32_t i = 0; i < claims->n; i++) {
        const struct kg_tleaf *l = &claims->leaf[i];
        t[i] = (struct kg_dtake){.dst = a->block + from[i],
                                 .src = p->out + l->offset,
                                 .bytes = l->bytes,
                                 .dtype = l->dtype,
                                 .look = l->offset + l->bytes <= poisoned};
    }
    if (take_all(s, &k, rebase, t, err) != KG_OK) {
        return err->code;
    }
    note_copies(a, claims, t, digest, out);
    for (uint32_t i = 0; i < claims->n; i++) {
        const struct kg_tleaf *l = &claims->leaf[i];
        if (widens(oracle, l) && !in_pieces(s, &k, i)) {
            s->dev.ops->widen(&s->dev, a->at[i], (enum kg_tdtype)l->dtype, t[i].dst,
                              kg_tleaf_count(l));
        }
    }
    a->n = claims->n;
    memcpy(a->leaf, claims->leaf, a->n * sizeof *a->leaf);
    memcpy(a->structure, claims->structure, sizeof a->structure);
    a->there = true;
    return s->dev.ops->sync(&s->dev, err);
}
