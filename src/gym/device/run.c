/* One command that moves data: contracts, judging protocol, steps 1 and 7. */
#include <string.h>

#include "base/clock.h"
#include "gym/device/state.h"

#define BEYOND     ((uint64_t)64 << 10) /* poison behind where the answer is expected to end */
#define LOUD_TIMES 2
#define LOUD_NS    100000
#define SLICE_NS   20000000
#define SPIN_NS    20000000 /* a sleeper's wake-up across cores takes 45 us and varies by as much */
#define PREPARE_NS 5000000  /* a runner that takes longer does the rest of it in its own time */

/* What one command needs, found before the runner hears of it. */
struct course {
    const struct kg_djm_req *req;
    struct kg_dj_port *port;
    struct kg_dj_case *c; /* NULL: none */
    bool moves;           /* the masters go into IN */
    bool binds;           /* the runner takes where they lie: BIND, or with a call */
    bool answers;         /* CALL, or something that is kept: OUT is poisoned before */
    uint64_t nonce[2], word, poisoned;
    struct kg_dj_claims claims;
    struct kg_digest digest[KG_TWIRE_LEAVES];
};

static bool same_places(const struct kg_dj_port *p, const struct kg_dj_case *c)
{
    if (!p->bound || p->nbound != c->n) {
        return false;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        const struct kg_tleaf *a = &p->leaf[i], *b = &c->leaf[i];
        if (a->dtype != b->dtype || a->rank != b->rank || a->offset != b->offset ||
            memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) != 0) {
            return false;
        }
    }
    return true;
}

static enum kg_code prepare(struct kg_dj_state *s, struct course *k, struct kg_err *err)
{
    const struct kg_djm_req *r = k->req;
    if (kg_dj_port_need(s, r->port, &k->port, err) != KG_OK ||
        (r->id >= 0 && kg_dj_case_need(s, r->id, &k->c, err) != KG_OK)) {
        return err->code;
    }
    bool call = r->command == KG_TC_CALL, null = r->command == KG_TC_NULL;
    k->answers = call || r->keep != KG_DJ_NONE;
    k->moves = call || r->command == KG_TC_STATE || (null && k->c != NULL);
    if (k->moves && kg_dj_case_complete(s, k->c, err) != KG_OK) {
        return err->code;
    }
    bool elsewhere = (call || (null && k->c != NULL)) && !same_places(k->port, k->c);
    k->binds = r->command == KG_TC_BIND || (elsewhere && (r->flags & KG_TF_BIND));
    if ((k->moves || k->binds) && k->c->bytes > k->port->in_bytes) {
        return kg_fail(err, KG_E_LIMIT, "judge: inputs of %llu bytes, port %d has %llu",
                       (unsigned long long)k->c->bytes, r->port,
                       (unsigned long long)k->port->in_bytes);
    }
    if (elsewhere && !k->binds) {
        return kg_fail(err, KG_E_GYM, "judge: no inputs like those of case %d are bound on port %d",
                       r->id, r->port);
    }
    return KG_OK;
}

/* The answer goes where a runner lays it out, unless it lies in OUT already; the expected one says
 * how long that is. */
static uint64_t extent(const struct kg_dj_state *s, const struct course *k)
{
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    if (s->dev.pooled || k->c == NULL || k->req->command != KG_TC_CALL || !k->c->side[0].there) {
        return k->port->out_bytes;
    }
    const struct kg_dj_answer *a = &k->c->side[0];
    memcpy(leaf, a->leaf, a->n * sizeof *leaf);
    for (uint32_t i = 0; i < a->n && (k->req->flags & KG_TF_WIDE); i++) {
        leaf[i].dtype =
            kg_tdtype_floating((enum kg_tdtype)leaf[i].dtype) ? KG_TD_F64 : leaf[i].dtype;
    }
    uint64_t end = kg_twire_place(leaf, a->n) + BEYOND;
    return end < k->port->out_bytes ? end : k->port->out_bytes;
}

static enum kg_code poison(struct kg_dj_state *s, struct course *k, struct kg_err *err)
{
    struct kg_key key = {{k->nonce[0], k->nonce[1]}};
    k->word = kg_device_poison(key);
    k->poisoned = k->answers ? extent(s, k) : 0;
    s->dev.ops->pattern(&s->dev, k->port->out, k->poisoned, k->word);
    /* Done before t0: how much of OUT is poisoned differs from call to call. */
    return k->req->timed ? s->dev.ops->sync(&s->dev, err) : KG_OK;
}

static void write_request(const struct course *k)
{
    struct kg_twire *w = k->port->wire;
    bool data = k->binds || k->req->command == KG_TC_STATE;
    w->command = k->req->command;
    w->flags = (k->req->flags & ~(uint32_t)KG_TF_BIND) | (k->binds ? KG_TF_BIND : 0);
    w->request_bytes = 0;
    w->seed = k->req->flags & KG_TF_DRAWS ? 0 : k->req->seed;
    w->nrequest = data ? k->c->n : 0;
    if (data) {
        memcpy(w->in, k->c->leaf, k->c->n * sizeof *w->in);
    }
}

/* Somebody else's work slows the judge's own copies. */
static void quiet(struct kg_dj_state *s, struct course *k, struct kg_dj_report *out)
{
    if (k->c == NULL || !k->req->timed) {
        return;
    }
    int64_t *least = &k->c->quiet_ns;
    out->loud = s->dev.facts.clock && *least > 0 && out->setup_ns > LOUD_TIMES * *least + LOUD_NS;
    *least = *least == 0 || out->setup_ns < *least ? out->setup_ns : *least;
}

/* Where windows are times that count, the judge has a core of its own and looks all the time. */
static void spin(const _Atomic uint32_t *word, uint32_t number, int64_t ns)
{
    int64_t end = kg_clock_ns() + ns;
    while (atomic_load_explicit(word, memory_order_acquire) != number && kg_clock_ns() < end) {
        __builtin_ia32_pause();
    }
}

/* In slices, so that a counter that skips this number, or a `go` that somebody else has written,
 * does not cost the whole deadline. */
static enum kg_dj_status wait_for(const struct course *k, uint32_t number)
{
    struct kg_twire *w = k->port->wire;
    for (;;) {
        int64_t now = kg_clock_ns(), deadline = k->req->deadline_ns;
        int64_t slice = deadline < now + SLICE_NS ? deadline : now + SLICE_NS;
        int rc = kg_twire_wait(w, k->port->pidfd, slice, NULL);
        uint32_t done = atomic_load(&w->done);
        if (atomic_load(&w->go) != number || (done != number && done != number - 1)) {
            return KG_DJ_PROTOCOL;
        }
        if (done == number) {
            return KG_DJ_ANSWERED;
        }
        if (rc == KG_TWIRE_RUNNER_DEAD) {
            return KG_DJ_DIED;
        }
        if (rc == KG_TWIRE_LATE && slice == deadline) {
            return KG_DJ_LATE;
        }
    }
}

/* False: it answered before it was asked, or twice. What is timed is announced, so that the window
 * meets no sleeper. */
static bool announce(const struct course *k, uint32_t *number)
{
    struct kg_twire *w = k->port->wire;
    *number = atomic_load(&w->go) + 1;
    if (atomic_load(&w->done) != *number - 1) {
        return false;
    }
    write_request(k);
    if (k->req->timed) {
        kg_twire_announce(w);
    }
    return true;
}

/* From t0 until the runner says that it is done: inputs exist from t0 on only. */
static enum kg_code release(struct kg_dj_state *s, struct course *k, uint32_t number, int64_t *t0,
                            struct kg_dj_report *out, struct kg_err *err)
{
    const struct kg_device_ops *ops = s->dev.ops;
    struct kg_twire *w = k->port->wire;
    if (k->req->timed) { /* nor lines that wait to be written back */
        ops->flush(&s->dev);
    }
    if (ops->sync(&s->dev, err) != KG_OK) {
        return err->code;
    }
    if (k->req->timed && s->dev.facts.clock) {
        spin(&w->prepared, number, PREPARE_NS);
    }
    *t0 = ops->clock(&s->dev);
    if (k->moves) {
        ops->copy(&s->dev, k->port->in, k->c->block, k->c->bytes);
    }
    if (k->req->timed) {
        ops->flush(&s->dev);
    }
    if (ops->sync(&s->dev, err) != KG_OK) {
        return err->code;
    }
    out->setup_ns = ops->clock(&s->dev) - *t0;
    quiet(s, k, out);
    w->seed = k->req->seed;
    kg_twire_release(w, k->nonce);
    if (s->dev.facts.clock) {
        spin(&w->done, number, SPIN_NS);
    }
    out->status = wait_for(k, number);
    return KG_OK;
}

/* The window ends when the digests of the claimed answers are in the judge's hands. A null
 * candidate's window has the same end: the tensors that an answer would have. */
static enum kg_code close_window(struct kg_dj_state *s, struct course *k, int64_t t0,
                                 struct kg_dj_report *out, struct kg_err *err)
{
    struct kg_dspan span[KG_TWIRE_LEAVES];
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    const struct kg_tleaf *from = k->claims.leaf;
    uint32_t n = k->answers ? k->claims.n : 0;
    if (k->req->command == KG_TC_NULL && k->c != NULL && k->c->side[0].there) {
        n = k->c->side[0].n;
        memcpy(leaf, k->c->side[0].leaf, n * sizeof *leaf);
        n = kg_twire_place(leaf, n) <= k->port->out_bytes ? n : 0;
        from = leaf;
    }
    for (uint32_t i = 0; i < n; i++) {
        span[i] = (struct kg_dspan){k->port->out + from[i].offset, from[i].bytes};
    }
    if (s->dev.ops->digest(&s->dev, span, n, k->digest, err) != KG_OK) {
        return err->code;
    }
    out->window_ns = s->dev.ops->clock(&s->dev) - t0;
    return KG_OK;
}

/* Which tensor of IN is not what was written; guards count for the one before them. */
static enum kg_code find_changed(struct kg_dj_state *s, const struct course *k, int *at,
                                 struct kg_err *err)
{
    struct kg_digest was, is;
    *at = 0;
    for (uint32_t i = 0; i < k->c->n; i++) {
        const struct kg_tleaf *l = &k->c->leaf[i];
        struct kg_dspan a = {k->c->block + l->offset, l->bytes};
        struct kg_dspan b = {k->port->in + l->offset, l->bytes};
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

static enum kg_code check_inputs(struct kg_dj_state *s, const struct course *k,
                                 struct kg_dj_report *out, struct kg_err *err)
{
    struct kg_digest now;
    if (!k->moves || s->dev.sealed) {
        return KG_OK;
    }
    struct kg_dspan span = {k->port->in, k->c->bytes};
    if (s->dev.ops->digest(&s->dev, &span, 1, &now, err) != KG_OK) {
        return err->code;
    }
    out->input_modified = !kg_dj_same_digest(now, k->c->inputs);
    return out->input_modified ? find_changed(s, k, &out->input_at, err) : KG_OK;
}

static enum kg_code check_guards(struct kg_dj_state *s, const struct course *k,
                                 struct kg_dj_report *out, struct kg_err *err)
{
    struct kg_dspan zone[2 * KG_TWIRE_LEAVES];
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    uint32_t laid = kg_dj_laid(&k->claims, s->dev.pooled, leaf);
    int bad;
    size_t n = k->answers ? kg_dj_zones(leaf, laid, k->poisoned, zone) : 0;
    for (size_t i = 0; i < n; i++) {
        zone[i].at += k->port->out;
    }
    if (s->dev.ops->check(&s->dev, zone, n, k->word, &bad, err) != KG_OK) {
        return err->code;
    }
    out->guard_hit = bad >= 0;
    return KG_OK;
}

/* An answer given before, to inputs to which something else was expected. */
static enum kg_code check_stale(struct kg_dj_state *s, const struct course *k,
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

static enum kg_code keep(struct kg_dj_state *s, struct course *k, struct kg_dj_report *out,
                         struct kg_err *err)
{
    const struct kg_djm_req *r = k->req;
    struct kg_dj_answer *a = r->keep == KG_DJ_CANDIDATE ? &s->candidate
                             : r->keep == KG_DJ_FLOAT   ? &k->c->side[0]
                                                        : &k->c->side[1];
    if (r->keep == KG_DJ_CANDIDATE) {
        s->candidate_case = s->candidate_port = -1;
    } else {
        k->c->bounds_there = false;
    }
    if (kg_dj_answer_take(s, a, r->keep == KG_DJ_ORACLE, k->port, &k->claims, k->digest, k->word,
                          k->poisoned, out, err) != KG_OK) {
        return err->code;
    }
    if (r->keep == KG_DJ_CANDIDATE) {
        s->candidate_case = r->id;
        s->candidate_port = r->port;
    }
    return KG_OK;
}

static enum kg_code after(struct kg_dj_state *s, struct course *k, int64_t t0,
                          struct kg_dj_report *out, struct kg_err *err)
{
    if (close_window(s, k, t0, out, err) != KG_OK) {
        return err->code;
    }
    bool good = k->claims.said == KG_TA_OK;
    if (good && k->req->keep != KG_DJ_NONE && keep(s, k, out, err) != KG_OK) {
        return err->code;
    }
    if (check_guards(s, k, out, err) != KG_OK || check_inputs(s, k, out, err) != KG_OK ||
        check_stale(s, k, out, err) != KG_OK) {
        return err->code;
    }
    return KG_OK;
}

static void tell(struct course *k, struct kg_dj_report *out)
{
    out->said = k->claims.said;
    out->bound = k->binds;
    out->call_ns = k->claims.call_ns;
    out->peak_bytes = k->claims.peak_bytes;
    out->nleaves = k->claims.n;
    memcpy(out->leaf, k->claims.leaf, k->claims.n * sizeof *out->leaf);
    memcpy(out->structure, k->claims.structure, sizeof out->structure);
    k->port->nlast = k->claims.n;
    memcpy(k->port->last, k->claims.leaf, k->claims.n * sizeof *k->port->last);
}

static void bind(struct course *k)
{
    struct kg_dj_port *p = k->port;
    if (k->binds || k->req->command == KG_TC_STATE) {
        p->bound = k->binds && k->claims.said == KG_TA_OK;
        p->nbound = k->c->n;
        memcpy(p->leaf, k->c->leaf, k->c->n * sizeof *p->leaf);
    }
}

enum kg_code kg_dj_do_run(struct kg_dj_state *s, const struct kg_djm_req *req,
                          struct kg_dj_report *out, struct kg_err *err)
{
    struct course k = {.req = req};
    int64_t t0 = 0;
    uint32_t number;
    memset(out, 0, sizeof *out);
    if (prepare(s, &k, err) != KG_OK) {
        return err->code;
    }
    k.port->nlast = 0;
    kg_rng_bytes(&s->rng, k.nonce, sizeof k.nonce);
    if (!announce(&k, &number)) {
        out->status = KG_DJ_PROTOCOL;
        return KG_OK;
    }
    if (poison(s, &k, err) != KG_OK || release(s, &k, number, &t0, out, err) != KG_OK) {
        return err->code;
    }
    if (out->status != KG_DJ_ANSWERED) {
        return KG_OK;
    }
    if (kg_dj_claims_read(k.port->wire, k.nonce, k.port->out_bytes, &k.claims) != NULL) {
        out->status = KG_DJ_PROTOCOL;
        return KG_OK;
    }
    if (after(s, &k, t0, out, err) != KG_OK) {
        return err->code;
    }
    bind(&k);
    tell(&k, out);
    if (atomic_load(&k.port->wire->done) != number) {
        out->status = KG_DJ_PROTOCOL; /* answered twice */
    }
    return KG_OK;
}
