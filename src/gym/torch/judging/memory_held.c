/* The worker's part of the ledger of its device's memory: taken, kept between evaluations, and
 * given back. */
#include "base/clock.h"
#include "gym/torch/judging/memory.h"
#include "gym/torch/judging/memory_private.h"
#include "gym/torch/runner/spare_runner.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_runner.h"
#include "gym/torch/runner/torch_zygotes.h"

#define MB        ((uint64_t)1 << 20)
#define CONTEXT   (600 * MB) /* of the driver, for each process */
#define CONTEXTS  5          /* judge, reference, candidate, null runner, spare runner */
#define POOL      (64 * MB)  /* port.c: what PyTorch's pool has besides the answers */
#define LEFT_FREE 4          /* this part of a device is left for those that need the least */
/* A worker without work gives back what somebody waits for after so long. One with work does it
 * between two evaluations, once somebody has waited for so long: to set a problem up again costs
 * seconds, so jobs that need a little more than there is must not take turns at each evaluation. */
#define IDLE_NS     1000000000
#define PATIENCE_NS 20000000000

uint64_t kg_tmemory_contexts(const struct kg_torch *t)
{
    return t->judge.facts.clock ? CONTEXTS * CONTEXT : 0;
}

uint64_t kg_tmemory_port(const struct kg_torch *t, uint64_t in, uint64_t out, uint64_t answers)
{
    return t->judge.facts.clock ? in + answers * out + POOL : in + out;
}

void kg_tmemory_drop(struct kg_worker *w)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_lease l = KG_LEASE_NONE;
    struct kg_err ignored = KG_ERR_INIT;
    if (t->judge_up) {
        (void)!kg_torch_device_acquire(w, &l, &ignored);
        kg_dj_stop(&t->judge);
        t->judge_up = false;
    }
    kg_tspare_drop(w);
    kg_trunner_stop(w, &t->null);
    for (int k = 0; k < KG_INSTANCES; k++) {
        struct kg_tinstance *s = &t->instance[k];
        kg_trunner_stop(w, &s->ref);
        s->ready = s->state_made[0] = s->state_made[1] = false;
        s->state_loaded = -1;
        for (int law = 0; law < KG_TL_COUNT; law++) {
            s->cases[law].ready = false;
        }
    }
    kg_torch_end_last(w);
    t->quiet_of = NULL;
    kg_torch_device_release(w, &l);
    kg_ledger_give(&t->memory.ledger);
}

void kg_tmemory_yield(struct kg_worker *w)
{
    struct kg_torch *t = kg_torch_of(w);
    if (!t || t->memory.ledger.held == 0) {
        return;
    }
    struct kg_tmemory *m = &t->memory;
    int64_t now = kg_clock_ns();
    if (!kg_ledger_is_wanted(&m->ledger)) {
        m->wanted_ns = 0;
        return;
    }
    m->wanted_ns = m->wanted_ns > 0 ? m->wanted_ns : now;
    if (now - m->used_ns > IDLE_NS || now - m->wanted_ns > PATIENCE_NS) {
        kg_tmemory_drop(w);
        m->wanted_ns = 0;
    }
}

void kg_tmemory_left(struct kg_worker *w)
{
    const struct kg_tmemory *m = &kg_torch_of(w)->memory;
    if (m->ledger.held > 0 && kg_ledger_is_wanted(&m->ledger)) {
        kg_tmemory_drop(w);
    }
}

void kg_tmemory_used(struct kg_worker *w)
{
    kg_torch_of(w)->memory.used_ns = kg_clock_ns();
}

/* Another capacity would not count the pages that are held already. */
enum kg_code kg_tmemory_open(struct kg_worker *w, struct kg_err *err)
{
    const struct kg_torch *t = kg_torch_of(w);
    struct kg_tmemory *m = &kg_torch_of(w)->memory;
    if (!m->open && kg_ledger_open(t->device, &m->ledger, err) != KG_OK) {
        return err->code;
    }
    m->open = true;
    if (m->ledger.held > 0) {
        return KG_OK;
    }
    uint64_t all = (uint64_t)t->judge.facts.memory_bytes,
             set = (uint64_t)w->config.device_memory_mb;
    uint64_t left = m->left + (t->judge.facts.clock ? CONTEXT : 0);
    m->capacity = set > 0 ? set * MB : m->left > 0 && left < all ? left : all;
    return KG_OK;
}

bool kg_tmemory_look_again(struct kg_worker *w, uint64_t need)
{
    const struct kg_torch *t = kg_torch_of(w);
    struct kg_err ignored = KG_ERR_INIT;
    uint64_t before = t->memory.capacity, all = (uint64_t)t->judge.facts.memory_bytes;
    if (w->config.device_memory_mb > 0 || before >= all || need > all) {
        return false;
    }
    kg_tmemory_drop(w);
    return kg_torch_judge(w, &ignored) == KG_OK && kg_tmemory_open(w, &ignored) == KG_OK &&
           t->memory.capacity > before;
}

static uint64_t regions_of(const struct kg_torch *t, const struct kg_trunner *s)
{
    return s->up ? kg_tmemory_port(t, s->in_bytes, s->out_bytes, 2) : 0;
}

/* What the judge has on the device now, and the regions of runners that stay, with the contexts. */
static uint64_t on_device(const struct kg_torch *t)
{
    uint64_t bytes = kg_tmemory_contexts(t) + (t->judge_up ? (uint64_t)t->judge.bytes : 0);
    for (int k = 0; k < KG_INSTANCES; k++) {
        bytes += regions_of(t, &t->instance[k].ref);
    }
    return bytes + regions_of(t, &t->null) + regions_of(t, &t->spare);
}

/* Is there so much, and a part of the device besides for those that need less? */
static bool is_roomy(const struct kg_tmemory *m, uint64_t bytes)
{
    return bytes + kg_ledger_others(&m->ledger, m->capacity) <=
           m->capacity - m->capacity / LEFT_FREE;
}

/* Others take at once what is given back. So what the problem before has on the device ends first:
 * its runners, and their regions, which the judge keeps for the next ones. */
static void shrink(struct kg_worker *w, uint64_t want)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_tmemory *m = &t->memory;
    struct kg_err ignored = KG_ERR_INIT;
    kg_torch_end_last(w);
    (void)!kg_dj_trim(&t->judge, &ignored);
    uint64_t most = want > on_device(t) ? want : on_device(t);
    if (m->ledger.held > most) {
        (void)kg_ledger_try(&m->ledger, most, m->capacity);
    }
}

enum kg_code kg_tmemory_hold(struct kg_worker *w, uint64_t need, uint64_t want, struct kg_err *err)
{
    struct kg_tmemory *m = &kg_torch_of(w)->memory;
    if (m->ledger.held > want) {
        shrink(w, want);
        return KG_OK;
    }
    bool wanted = m->ledger.held >= want ||
                  (is_roomy(m, want) && kg_ledger_try(&m->ledger, want, m->capacity));
    if (wanted || m->ledger.held >= need || kg_ledger_try(&m->ledger, need, m->capacity)) {
        return KG_OK;
    }
    kg_tmemory_drop(w);
    return kg_ledger_take(&m->ledger, need, m->capacity, w->cancelled, err) == KG_OK
               ? kg_torch_judge(w, err)
               : err->code;
}
