/* The end of one command: digest the answer, which closes the window, look at guards and inputs,
 * keep the answer, and search for replays. */
#include <string.h>

#include "gym/device/command.h"

/* Marks the call as loud if the digest at the end was slow. Work that a candidate starts in the
 * middle of the window, after the set-up, shows here. Only digests of the same size are comparable;
 * a null runner's has the size of the reference's answer. */
static void note_loud_end(const struct kg_dj_state *s, const struct kg_dj_command *k,
                          uint64_t bytes, struct kg_dj_report *out)
{
    struct kg_dj_case *c = k->c;
    if (c == NULL || !k->req->timed || bytes == 0) {
        return;
    }
    c->close_bytes = c->close_bytes == 0 ? bytes : c->close_bytes;
    out->loud = (c->close_bytes == bytes && kg_dj_beyond(s, out->close_ns, &c->quiet_close_ns)) ||
                out->loud;
}

/* Digests `more` spans; looks at the guards, and at the inputs where runners can write to them. It
 * waits once for the device, or once for each KG_CUDA_SPANS of them. */
static enum kg_code look(struct kg_dj_state *s, const struct kg_dj_command *k,
                         const struct kg_dspan *more, uint32_t n, struct kg_digest *digest,
                         struct kg_dj_report *out, struct kg_err *err)
{
    struct kg_dspan span[KG_TWIRE_LEAVES + 1], zone[2 * KG_TWIRE_LEAVES];
    struct kg_digest got[KG_TWIRE_LEAVES + 1];
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    uint32_t laid = kg_dj_laid(&k->claims, s->dev.pooled, leaf);
    /* calls allocate everywhere in an OUT that is not divided, beside copies too */
    bool free = s->dev.pooled && k->port->out_below == 0;
    bool inputs = k->moves && k->c != NULL && !s->dev.sealed;
    int bad;
    size_t nzones = k->answers && !free ? kg_dj_zones(leaf, laid, k->poisoned, zone) : 0;
    for (size_t i = 0; i < nzones; i++) {
        zone[i].at += k->port->out;
    }
    for (uint32_t i = 0; i < n; i++) {
        span[i] = more[i];
    }
    if (inputs) {
        span[n] = (struct kg_dspan){k->memory->in, k->c->bytes};
    }
    if (s->dev.ops->inspect(&s->dev, span, n + inputs, got, zone, nzones, k->word, &bad, err) !=
        KG_OK) {
        return err->code;
    }
    for (uint32_t i = 0; i < n; i++) {
        digest[i] = got[i];
    }
    out->guard_hit = bad >= 0;
    out->input_modified = inputs && !kg_dj_same_digest(got[n], k->c->inputs);
    return KG_OK;
}

/* Digests the claimed answers; the window ends when the digests are in the host's memory. A null
 * runner's window ends in the same way: it digests the places that an answer would have. Where
 * nothing is timed, guards and inputs are looked at in the same wait. */
static enum kg_code close_window(struct kg_dj_state *s, struct kg_dj_command *k, int64_t t0,
                                 struct kg_dj_report *out, struct kg_err *err)
{
    struct kg_dspan span[KG_TWIRE_LEAVES];
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    const struct kg_tleaf *from = k->claims.leaf;
    uint32_t n = k->answers ? k->claims.n : 0;
    if (k->req->command == KG_TC_NULL && k->c != NULL && k->c->side[0].there) {
        n = k->c->side[0].n;
        memcpy(leaf, k->c->side[0].leaf, n * sizeof *leaf);
        n = kg_twire_place(leaf, n) <= k->memory->out_bytes ? n : 0;
        from = leaf;
    }
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        span[i] = (struct kg_dspan){k->memory->out + from[i].offset, from[i].bytes};
        bytes += from[i].bytes;
    }
    int64_t begun = s->dev.ops->clock(&s->dev);
    enum kg_code code = k->req->timed ? s->dev.ops->digest(&s->dev, span, n, k->digest, err)
                                      : look(s, k, span, n, k->digest, out, err);
    int64_t t1 = s->dev.ops->clock(&s->dev);
    out->window_ns = t1 - t0;
    out->close_ns = t1 - begun;
    note_loud_end(s, k, bytes, out);
    return code;
}

/* Finds the tensor of IN that was changed. A change of a guard counts for the tensor before it. */
static enum kg_code find_changed(struct kg_dj_state *s, const struct kg_dj_command *k, int *at,
                                 struct kg_err *err)
{
    struct kg_digest was, is;
    *at = 0;
    for (uint32_t i = 0; i < k->c->n; i++) {
        const struct kg_tleaf *l = &k->c->leaf[i];
        struct kg_dspan a = {k->c->block + l->offset, l->bytes};
        struct kg_dspan b = {k->memory->in + l->offset, l->bytes};
        if (s->dev.ops->digest(&s->dev, &a, 1, &was, err) != KG_OK ||
            s->dev.ops->digest(&s->dev, &b, 1, &is, err) != KG_OK) {
            return err->code;
        }
        if (!kg_dj_same_digest(was, is)) {
            *at = (int)i;
            return KG_OK;
        }
    }
    return KG_OK;
}

/* Searches for an answer that was given before, to inputs that need another one. */
static enum kg_code check_stale(struct kg_dj_state *s, const struct kg_dj_command *k,
                                struct kg_dj_report *out, struct kg_err *err)
{
    unsigned char part[4096];
    if (k->req->command != KG_TC_CALL || (k->req->flags & KG_TF_WIDE) ||
        k->req->keep == KG_DJ_FLOAT) {
        return KG_OK;
    }
    const struct kg_dj_answer *want = &k->c->side[0];
    for (uint32_t i = 0; i < k->claims.n; i++) {
        const struct kg_tleaf *l = &k->claims.leaf[i];
        struct kg_dj_seen seen = {.answer = k->digest[i], .inputs = k->c->inputs, .leaf = (int)i};
        seen.has_expected = want->there && i < want->n;
        if (seen.has_expected) {
            seen.expected = want->digest[i];
        }
        if (kg_dj_ring_stale(&k->port->ring, &seen)) {
            uint64_t n = l->bytes < sizeof part ? l->bytes : sizeof part;
            if (s->dev.ops->download(&s->dev, part, k->port->out + l->offset, n, err) != KG_OK) {
                return err->code;
            }
            size_t size = kg_tdtype_bytes((enum kg_tdtype)l->dtype);
            out->stale =
                out->stale || !kg_device_degenerate((enum kg_tdtype)l->dtype, part, n / size);
        }
        kg_dj_ring_add(&k->port->ring, &seen);
    }
    return KG_OK;
}

static enum kg_code keep(struct kg_dj_state *s, struct kg_dj_command *k, struct kg_dj_report *out,
                         struct kg_err *err)
{
    const struct kg_djm_req *r = k->req;
    struct kg_dj_answer *a = r->keep == KG_DJ_CANDIDATE ? &s->candidate
                             : r->keep == KG_DJ_OTHER   ? &s->other
                             : r->keep == KG_DJ_FLOAT   ? &k->c->side[0]
                                                        : &k->c->side[1];
    if (r->keep == KG_DJ_CANDIDATE) {
        s->candidate_case = s->candidate_port = -1;
    } else if (r->keep == KG_DJ_OTHER) {
        s->other_case = -1;
    } else {
        k->c->bounds_there = false;
    }
    struct kg_dj_answer *beside = r->keep == KG_DJ_ORACLE  ? &k->c->side[0]
                                  : r->keep == KG_DJ_FLOAT ? &k->c->side[1]
                                                           : NULL;
    if (kg_dj_answer_take(s, a, r->keep == KG_DJ_ORACLE, beside, k->port, &k->claims, k->digest,
                          k->word, k->poisoned, out, err) != KG_OK) {
        return err->code;
    }
    a->moved = (r->flags & KG_TF_NEAR) != 0;
    if (r->keep == KG_DJ_CANDIDATE) {
        s->candidate_case = r->id;
        s->candidate_port = r->port;
    }
    if (r->keep == KG_DJ_OTHER) {
        s->other_case = r->id;
    }
    return KG_OK;
}

enum kg_code kg_dj_after(struct kg_dj_state *s, struct kg_dj_command *k, int64_t t0,
                         struct kg_dj_report *out, struct kg_err *err)
{
    if (close_window(s, k, t0, out, err) != KG_OK) {
        return err->code;
    }
    bool good = k->claims.said == KG_TA_OK;
    if (good && k->req->keep != KG_DJ_NONE && keep(s, k, out, err) != KG_OK) {
        return err->code;
    }
    if ((k->req->timed && look(s, k, NULL, 0, NULL, out, err) != KG_OK) ||
        (out->input_modified && find_changed(s, k, &out->input_at, err) != KG_OK)) {
        return err->code;
    }
    return check_stale(s, k, out, err);
}
