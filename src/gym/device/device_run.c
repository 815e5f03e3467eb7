/* One command that moves data, up to the runner's answer: prepare, announce, poison, copy the
 * inputs, release and wait. device_run_after.c does the rest. docs/protocol.md describes the
 * protocol. */
#include <string.h>

#include "base/clock.h"
#include "gym/device/command.h"

#define BEYOND ((uint64_t)64 << 10) /* poison behind the expected end of the answer */
/* A step of the judge is loud if it takes more than twice its best time and 100 us. */
#define LOUD_TIMES 2
#define LOUD_NS    100000
#define SLICE_NS   20000000
#define SPIN_NS    20000000 /* a wake-up across cores takes 45 us, and varies by as much */
#define SHARED_NS  50000 /* while others use the device nothing is timed, and they need the core */
#define PATIENCE   10    /* waiting for the device may extend a call by at most so many times */
#define PREPARE_NS 5000000 /* a runner that prepares longer does the rest within its own window */

/* True if the runner already knows these inputs at these places. */
static bool same_places(const struct kg_dj_port *p, const struct kg_dj_case *c)
{
    if (!p->bound || p->nbound != c->n) {
        return false;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        const struct kg_tleaf *a = &p->leaf[i], *b = &c->leaf[i];
        if (a->dtype != b->dtype || a->rank != b->rank || a->offset != b->offset ||
            memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) != 0 ||
            memcmp(a->stride, b->stride, a->rank * sizeof *a->stride) != 0) {
            return false;
        }
    }
    return true;
}

/* Finds port and case, and decides what the command does; fails before the runner hears of it. */
static enum kg_code prepare(struct kg_dj_state *s, struct kg_dj_command *k, struct kg_err *err)
{
    const struct kg_djm_req *r = k->req;
    if (kg_dj_port_need(s, r->port, &k->port, err) != KG_OK ||
        (r->id >= 0 && kg_dj_case_need(s, r->id, &k->c, err) != KG_OK)) {
        return err->code;
    }
    k->memory = k->port;
    if (r->lent > 0 && kg_dj_port_need(s, r->lent - 1, &k->memory, err) != KG_OK) {
        return err->code;
    }
    bool call = r->command == KG_TC_CALL, null = r->command == KG_TC_NULL && r->lent == 0;
    k->answers = call || r->keep != KG_DJ_NONE;
    k->moves = call || r->command == KG_TC_STATE || (r->command == KG_TC_NULL && k->c != NULL);
    if (k->moves && kg_dj_case_complete(s, k->c, err) != KG_OK) {
        return err->code;
    }
    bool elsewhere = (call || (null && k->c != NULL)) && !same_places(k->port, k->c);
    k->binds = r->command == KG_TC_BIND || (call && (r->flags & KG_TF_ANEW)) ||
               (elsewhere && (r->flags & KG_TF_BIND));
    if ((k->moves || k->binds) && k->c->bytes > k->memory->in_bytes) {
        return kg_fail(err, KG_E_LIMIT, "judge: inputs of %llu bytes, port %d has %llu",
                       (unsigned long long)k->c->bytes, r->port,
                       (unsigned long long)k->memory->in_bytes);
    }
    if (elsewhere && !k->binds) {
        return kg_fail(err, KG_E_GYM, "judge: no inputs like those of case %d are bound on port %d",
                       r->id, r->port);
    }
    return KG_OK;
}

/* Bytes of OUT to poison. A runner lays its answer out as kg_twire_place does, so the expected
 * answer tells the end, unless runners allocate in OUT themselves. */
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

/* Poisons OUT. This happens before t0, because its size differs from call to call. */
static void poison(struct kg_dj_state *s, struct kg_dj_command *k)
{
    struct kg_key key = {{k->nonce[0], k->nonce[1]}};
    k->word = kg_device_poison(key);
    k->poisoned = k->answers ? extent(s, k) : 0;
    s->dev.ops->pattern(&s->dev, k->port->out, k->poisoned, k->word);
}

/* Before a candidate's state is read, its last inputs go: who has put off an update of its state
 * until somebody reads it finds nothing to compute it from. Not where the inputs are read, too. */
static void take_inputs_away(struct kg_dj_state *s, const struct kg_dj_command *k)
{
    const struct kg_djm_req *r = k->req;
    struct kg_dj_port *p = k->port;
    bool asked = r->command == KG_TC_SNAPSHOT && r->keep == KG_DJ_CANDIDATE;
    for (uint32_t i = 0; asked && !(r->flags & KG_TF_INPUTS) && p->bound && i < p->nbound; i++) {
        s->dev.ops->pattern(&s->dev, p->in + p->leaf[i].offset, p->leaf[i].bytes, k->word);
    }
}

/* Fills the control block. With KG_TF_DRAWS the seed is withheld until the release; an answer that
 * is described ahead of it needs the nonce. */
static void write_request(const struct kg_dj_command *k)
{
    struct kg_twire *w = k->port->wire;
    bool data = k->binds || k->req->command == KG_TC_STATE;
    w->command = k->req->command;
    w->flags = (k->req->flags & ~(uint32_t)KG_TF_BIND) | (k->binds ? KG_TF_BIND : 0);
    w->request_bytes = 0;
    w->seed = k->req->flags & KG_TF_DRAWS ? 0 : k->req->seed;
    if (k->req->flags & KG_TF_AHEAD) {
        memcpy(w->nonce, k->nonce, sizeof w->nonce);
    }
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

/* Marks the call as loud if the judge's own copies were slow, because then other work was on the
 * device. */
static void note_loud(const struct kg_dj_state *s, const struct kg_dj_command *k,
                      struct kg_dj_report *out)
{
    out->loud = k->c != NULL && k->req->timed && kg_dj_beyond(s, out->setup_ns, &k->c->quiet_ns);
}

/* Waits without sleeping. Where windows count, the judge has a core of its own for that. */
static void spin(const _Atomic uint32_t *word, uint32_t number, int64_t ns)
{
    int64_t end = kg_clock_ns() + ns;
    while (atomic_load_explicit(word, memory_order_acquire) != number && kg_clock_ns() < end) {
        __builtin_ia32_pause();
    }
}

/* How long the request has waited for the device, as the broker tells. It is limited, because a
 * runner could ask for the device again and again. */
static int64_t time_waited(const struct kg_dj_pause *p, int64_t now, int64_t allowed)
{
    if (p == NULL) {
        return 0;
    }
    int64_t since = atomic_load(&p->since_ns), most = PATIENCE * allowed;
    int64_t waited = atomic_load(&p->total_ns) + (since > 0 ? now - since : 0);
    return waited < most ? waited : most;
}

/* Waits for the answer, in slices. So a runner that skips this number, or writes to `go`, is
 * noticed at once and not at the deadline. */
static enum kg_dj_status wait_for(const struct kg_dj_state *s, const struct kg_dj_command *k,
                                  uint32_t number)
{
    struct kg_twire *w = k->port->wire;
    int64_t until = k->req->deadline_ns, allowed = until - kg_clock_ns();
    int64_t lost = kg_clock_lost_ns();
    for (;;) {
        int64_t now = kg_clock_ns(), deadline = until + time_waited(s->pause, now, allowed);
        deadline += kg_clock_lost_ns() - lost;
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

/* Tells the runner that a command will come. False: it answered too early, or twice. Timed commands
 * are announced, so that the runner is awake when the window begins. */
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

/* Opens the window at t0, copies the inputs and releases the runner. Inputs exist in IN from t0 on
 * only. */
static enum kg_code release(struct kg_dj_state *s, struct kg_dj_command *k, uint32_t number,
                            int64_t *t0, struct kg_dj_report *out, struct kg_err *err)
{
    const struct kg_device_ops *ops = s->dev.ops;
    struct kg_twire *w = k->port->wire;
    if (k->req->timed) { /* so that no dirty lines are written back in the window */
        ops->flush(&s->dev);
        if (ops->sync(&s->dev, err) != KG_OK) {
            return err->code;
        }
    }
    if (k->req->timed && s->dev.facts.clock) {
        spin(&w->prepared, number, PREPARE_NS);
    }
    *t0 = ops->clock(&s->dev);
    if (k->moves) {
        ops->copy(&s->dev, k->memory->in, k->c->block, k->c->bytes);
    }
    if (k->req->timed) {
        ops->flush(&s->dev);
    }
    if (ops->sync(&s->dev, err) != KG_OK) {
        return err->code;
    }
    out->setup_ns = ops->clock(&s->dev) - *t0;
    note_loud(s, k, out);
    out->released_ns = ops->clock(&s->dev);
    w->seed = k->req->seed;
    kg_twire_release(w, k->nonce);
    if (s->dev.facts.clock) {
        spin(&w->done, number, k->req->flags & KG_TF_POLITE ? SHARED_NS : SPIN_NS);
    }
    out->status = wait_for(s, k, number);
    out->answered_ns = ops->clock(&s->dev);
    out->answer_ns = out->answered_ns - out->released_ns;
    return KG_OK;
}

static void fill_report(struct kg_dj_command *k, struct kg_dj_report *out)
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

static void note_binding(struct kg_dj_command *k)
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
    take_inputs_away(s, &k);
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
    note_binding(&k);
    fill_report(&k, out);
    if (atomic_load(&k.port->wire->done) != number) {
        out->status = KG_DJ_PROTOCOL; /* it answered twice */
    }
    return KG_OK;
}
