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

/* Does the host keep it? Then the device never has more than a piece of it in double. */
static bool by_host(const struct kg_dj_state *s, bool oracle, const struct kg_tleaf *leaf)
{
    return s->host_over > 0 && oracle && kg_tdtype_floating((enum kg_tdtype)leaf->dtype) &&
           kg_tleaf_count(leaf) * sizeof(double) > s->host_over;
}

/* Large ones are widened piece by piece, so that there is no copy of the whole beside. */
static bool in_pieces(const struct kg_dj_state *s, bool oracle, const struct kg_tleaf *leaf)
{
    return (widens(oracle, leaf) && leaf->bytes > s->part) || by_host(s, oracle, leaf);
}

/* Room for what the host keeps. */
static enum kg_code place_hosted(struct kg_dj_state *s, struct kg_dj_answer *a, bool oracle,
                                 const struct kg_dj_claims *claims, struct kg_err *err)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < claims->n; i++) {
        n += by_host(s, oracle, &claims->leaf[i]) ? kg_tleaf_count(&claims->leaf[i]) : 0;
    }
    if (kg_dj_hosted_room(s, a, n * sizeof(double), err) != KG_OK) {
        return err->code;
    }
    n = 0;
    for (uint32_t i = 0; i < claims->n; i++) {
        bool hosted = by_host(s, oracle, &claims->leaf[i]);
        a->host[i] = hosted ? (double *)a->host_block + n : NULL;
        n += hosted ? kg_tleaf_count(&claims->leaf[i]) : 0;
    }
    return KG_OK;
}

/* Lays out the copies in one block, and the widened values behind them. from: offsets of the
 * copies; a->at: offsets of the values to compare. Returns the size. */
static uint64_t place_copies(const struct kg_dj_state *s, struct kg_dj_answer *a, bool oracle,
                             const struct kg_dj_claims *claims, uint64_t from[KG_TWIRE_LEAVES])
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < claims->n; i++) {
        from[i] = a->at[i] = end;
        end += in_pieces(s, oracle, &claims->leaf[i]) ? 0 : round_up(claims->leaf[i].bytes);
    }
    for (uint32_t i = 0; i < claims->n; i++) {
        if (widens(oracle, &claims->leaf[i]) && !by_host(s, oracle, &claims->leaf[i])) {
            a->at[i] = end;
            end += round_up(kg_tleaf_count(&claims->leaf[i]) * sizeof(double));
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

/* All that are copied whole at once, then the others. */
static enum kg_code take_all(struct kg_dj_state *s, const struct kg_dj_answer *a, bool oracle,
                             const struct kg_dj_claims *claims, struct kg_dtake *t, uint64_t word,
                             struct kg_err *err)
{
    struct kg_dtake whole[KG_TWIRE_LEAVES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < claims->n; i++) {
        if (!in_pieces(s, oracle, &claims->leaf[i])) {
            whole[n++] = t[i];
        }
    }
    if (s->dev.ops->take(&s->dev, whole, n, word, err) != KG_OK) {
        return err->code;
    }
    for (uint32_t i = claims->n; i-- > 0;) {
        if (!in_pieces(s, oracle, &claims->leaf[i])) {
            t[i] = whole[--n];
        } else if (a->host[i] != NULL) {
            if (kg_dj_hosted_take(s, a->host[i], t[i], word, &t[i], err) != KG_OK) {
                return err->code;
            }
        } else if (take_pieces(s, a->block + a->at[i], t[i], word, &t[i], err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

enum kg_code kg_dj_answer_take(struct kg_dj_state *s, struct kg_dj_answer *a, bool oracle,
                               const struct kg_dj_port *p, const struct kg_dj_claims *claims,
                               const struct kg_digest *digest, uint64_t word, uint64_t poisoned,
                               struct kg_dj_report *out, struct kg_err *err)
{
    struct kg_dtake t[KG_TWIRE_LEAVES];
    uint64_t from[KG_TWIRE_LEAVES], bytes = place_copies(s, a, oracle, claims, from);
    a->there = false;
    if (place_hosted(s, a, oracle, claims, err) != KG_OK) {
        return err->code;
    }
    if (kg_dj_reserve(s, &a->block, &a->cap, bytes > 0 ? bytes : 1, err) != KG_OK) {
        return err->code;
    }
    for (uint32_t i = 0; i < claims->n; i++) {
        const struct kg_tleaf *l = &claims->leaf[i];
        t[i] = (struct kg_dtake){.dst = a->block + from[i],
                                 .src = p->out + l->offset,
                                 .bytes = l->bytes,
                                 .dtype = l->dtype,
                                 .look = l->offset + l->bytes <= poisoned};
    }
    if (take_all(s, a, oracle, claims, t, word, err) != KG_OK) {
        return err->code;
    }
    note_copies(a, claims, t, digest, out);
    for (uint32_t i = 0; i < claims->n; i++) {
        const struct kg_tleaf *l = &claims->leaf[i];
        a->at[i] = a->host[i] == NULL ? a->at[i] + a->block : 0;
        if (widens(oracle, l) && !in_pieces(s, oracle, l)) {
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
