/* One command that moves data, up to the runner's answer: prepare, announce, poison, copy the
 * inputs, release and wait. device_run_after.c does the rest. docs/protocol.md describes the
 * protocol. */
#include <string.h>

#include "base/clock.h"
#include "gym/device/command.h"

#define BEYOND     ((uint64_t)64 << 10) /* poison behind where the answer is expected to end */
#define LOUD_TIMES 2
#define LOUD_NS    100000
#define SLICE_NS   20000000
#define SPIN_NS    20000000 /* a sleeper's wake-up across cores takes 45 us and varies by as much */
#define PATIENCE   10       /* times of what a call may take: most that waiting may add to it */
#define PREPARE_NS 5000000  /* a runner that takes longer does the rest of it in its own time */

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

static enum kg_code prepare(struct kg_dj_state *s, struct kg_dj_command *k, struct kg_err *err)
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
static uint64_t extent(const struct kg_dj_state *s, const struct kg_dj_command *k)
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

/* Done before t0, as all that release() begins with: how much it is differs from call to call. */
static void poison(struct kg_dj_state *s, struct kg_dj_command *k)
{
    struct kg_key key = {{k->nonce[0], k->nonce[1]}};
    k->word = kg_device_poison(key);
    k->poisoned = k->answers ? extent(s, k) : 0;
    s->dev.ops->pattern(&s->dev, k->port->out, k->poisoned, k->word);
}

static void write_request(const struct kg_dj_command *k)
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

bool kg_dj_beyond(const struct kg_dj_state *s, int64_t ns, int64_t *least)
{
    bool far = s->dev.facts.clock && *least > 0 && ns > LOUD_TIMES * *least + LOUD_NS;
    *least = *least == 0 || ns < *least ? ns : *least;
    return far;
}

/* Somebody else's work slows the judge's own copies. */
static void quiet(const struct kg_dj_state *s, const struct kg_dj_command *k,
                  struct kg_dj_report *out)
{
    out->loud = k->c != NULL && k->req->timed && kg_dj_beyond(s, out->setup_ns, &k->c->quiet_ns);
}

/* Where windows are times that count, the judge has a core of its own and looks all the time. */
static void spin(const _Atomic uint32_t *word, uint32_t number, int64_t ns)
{
    int64_t end = kg_clock_ns() + ns;
    while (atomic_load_explicit(word, memory_order_acquire) != number && kg_clock_ns() < end) {
        __builtin_ia32_pause();
    }
}

/* How long the request under way has waited for the device: the broker's word. A runner that asks
 * for its turn again and again waits, too, so there is an end to it. */
static int64_t paused(const struct kg_dj_pause *p, int64_t now, int64_t allowed)
{
    if (p == NULL) {
        return 0;
    }
    int64_t since = atomic_load(&p->since_ns), most = PATIENCE * allowed;
    int64_t waited = atomic_load(&p->total_ns) + (since > 0 ? now - since : 0);
    return waited < most ? waited : most;
}

/* In slices, so that a counter that skips this number, or a `go` that somebody else has written,
 * does not cost the whole deadline. */
static enum kg_dj_status wait_for(const struct kg_dj_state *s, const struct kg_dj_command *k,
                                  uint32_t number)
{
    struct kg_twire *w = k->port->wire;
    int64_t until = k->req->deadline_ns, allowed = until - kg_clock_ns();
    for (;;) {
        int64_t now = kg_clock_ns(), deadline = until + paused(s->pause, now, allowed);
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
static bool announce(const struct kg_dj_command *k, uint32_t *number)
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
static enum kg_code release(struct kg_dj_state *s, struct kg_dj_command *k, uint32_t number,
                            int64_t *t0, struct kg_dj_report *out, struct kg_err *err)
{
    const struct kg_device_ops *ops = s->dev.ops;
    struct kg_twire *w = k->port->wire;
    if (k->req->timed) { /* no lines wait to be written back in the window */
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
    out->status = wait_for(s, k, number);
    return KG_OK;
}

static void tell(struct kg_dj_command *k, struct kg_dj_report *out)
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

static void bind(struct kg_dj_command *k)
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
    struct kg_dj_command k = {.req = req};
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
    poison(s, &k);
    if (release(s, &k, number, &t0, out, err) != KG_OK) {
        return err->code;
    }
    if (out->status != KG_DJ_ANSWERED) {
        return KG_OK;
    }
    if (kg_dj_claims_read(k.port->wire, k.nonce, k.port->out_bytes, &k.claims) != NULL) {
        out->status = KG_DJ_PROTOCOL;
        return KG_OK;
    }
    if (kg_dj_after(s, &k, t0, out, err) != KG_OK) {
        return err->code;
    }
    bind(&k);
    tell(&k, out);
    if (atomic_load(&k.port->wire->done) != number) {
        out->status = KG_DJ_PROTOCOL; /* answered twice */
    }
    return KG_OK;
}
