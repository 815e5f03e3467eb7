/* The plan of a device's memory, and the worker's part of its ledger. */
#include "gym/torch/judging/memory.h"

#include <inttypes.h>

#include "gym/torch/judging/cases_private.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/runner/spare_runner.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_runner.h"
#include "gym/torch/runner/torch_zygotes.h"

#define MB        ((uint64_t)1 << 20)
#define CONTEXT   (600 * MB) /* of the driver, for each process */
#define CONTEXTS  5          /* judge, reference, candidate, null runner, spare runner */
#define POOL      (64 * MB)  /* port.c: what PyTorch's pool has besides the answers */
#define DESCRIBES 8          /* times the inputs' bytes, while a task is described */
#define FEW       (256 * MB) /* inputs of a problem that is not described */
#define KEPT      (2 * KG_DJ_KEPT_SLOTS * 128 * MB) /* answers that wait for the oracle */
#define COMFORT   8 /* all cases stay where they need so small a part of the device, */
#define SHARE     4 /* and no more than this part is taken for comfort */
#define SLICES    32
#define SMALL     (64 * MB) /* what the judge rounds up, and holds besides */
#define LEFT      4 /* times the state, of a case whose call changes it: in float, in double */
#define DEFAULT   4 /* the part of a device that a judge may take where nothing is planned */

/* Sizes of one instance in bytes. */
struct sizes {
    uint64_t in, answer, wide, state; /* the judge's; wide: an answer in double */
    uint64_t call;                    /* what a call allocates */
    uint64_t left;                    /* the judge's: state that a case's call has left */
    uint64_t ports;
};

/* What the rungs need. */
struct needs {
    uint64_t all;    /* every case stays, another candidate's runner is begun ahead */
    uint64_t one;    /* one case at a time */
    uint64_t sliced; /* the oracle works in SLICES slices */
    uint64_t single; /* without answers in double */
    uint64_t judge;  /* of each: the judge's least */
};

static const char *const rungs[] = {
    [KG_TM_NONE] = "none",     [KG_TM_RESIDENT] = "resident", [KG_TM_ONE] = "one case",
    [KG_TM_SLICED] = "sliced", [KG_TM_SINGLE] = "fp32",
};

static bool has_ledger(const struct kg_worker *w)
{
    return kg_torch_of(w)->judge.facts.clock || w->config.device_memory_mb > 0;
}

static uint64_t contexts(const struct kg_torch *t)
{
    return t->judge.facts.clock ? CONTEXTS * CONTEXT : 0;
}

static uint64_t port(const struct kg_torch *t, uint64_t in, uint64_t out)
{
    return t->judge.facts.clock ? in + 2 * out + POOL : in + out;
}

/* State that calls change is kept with each case. */
static uint64_t left_by_call(const struct kg_task_desc *d)
{
    return d->updates_state && d->nneeded > 0 ? LEFT * d->state_bytes : 0;
}

static void sizes_of(const struct kg_worker *w, const struct kg_tinstance *s, struct sizes *out)
{
    const struct kg_task_desc *d = &s->desc;
    const struct kg_torch *t = kg_torch_of(w);
    uint64_t ref_in, ref_out, in, answer;
    *out = (struct sizes){.state = d->state_bytes, .left = left_by_call(d)};
    kg_tinstance_null_regions(s, &out->in, &out->answer);
    for (size_t i = 0; i < d->noutputs; i++) {
        out->wide += kg_tleaf_count(&d->output[i].leaf) * sizeof(double);
    }
    out->call = d->call_bytes > 0 ? d->call_bytes : out->answer;
    kg_tinstance_regions(w, s, true, &ref_in, &ref_out);
    kg_tinstance_regions(w, s, false, &in, &answer);
    out->ports = port(t, ref_in, ref_out) + port(t, in, answer);
}

static void needs_of(const struct kg_torch *t, const struct sizes *z, struct needs *out)
{
    uint64_t in_double = 2 * z->in + 2 * z->call, kept = z->answer * 2 * KG_DJ_KEPT_SLOTS;
    uint64_t base = contexts(t) + z->ports + 3 * z->state;
    out->judge = z->in + 2 * z->answer + z->wide + 4 * z->state + z->left + SMALL;
    uint64_t wide = in_double > z->call ? in_double : z->call;
    uint64_t slice = in_double / SLICES > z->call ? in_double / SLICES : z->call;
    out->one = base + out->judge + wide + 2 * z->state;
    out->sliced = base + out->judge + slice + 2 * z->state;
    out->single = base + out->judge + z->call;
    out->all = out->one + 2 * z->call + KG_TL_COUNT * (z->in + z->answer + z->wide + z->left) +
               (kept < KEPT ? kept : KEPT) + z->ports;
}

/* --- the ledger --- */

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
    const struct kg_torch *t = kg_torch_of(w);
    if (t && t->memory.ledger.held > 0 && kg_ledger_is_wanted(&t->memory.ledger)) {
        kg_tmemory_drop(w);
    }
}

/* What other programs have taken is no part of it. That shows only while no job of ours is there
 * to take any. */
static enum kg_code open_ledger(struct kg_worker *w, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_tmemory *m = &t->memory;
    if (m->open) {
        return KG_OK;
    }
    if (kg_ledger_open(t->device, &m->ledger, err) != KG_OK) {
        return err->code;
    }
    uint64_t all = (uint64_t)t->judge.facts.memory_bytes,
             set = (uint64_t)w->config.device_memory_mb;
    uint64_t left = (uint64_t)t->judge.facts.free_bytes + (t->judge.facts.clock ? CONTEXT : 0);
    bool first = kg_ledger_others(&m->ledger, all) == 0;
    m->open = true;
    m->capacity = set > 0 ? set * MB : first && left < all ? left : all;
    return KG_OK;
}

/* Takes so much, unless it is held already. Who must wait has nothing on the device meanwhile. */
static enum kg_code hold(struct kg_worker *w, uint64_t bytes, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_tmemory *m = &t->memory;
    if (m->ledger.held >= bytes) {
        return KG_OK;
    }
    if (kg_ledger_try(&m->ledger, bytes, m->capacity)) {
        return KG_OK;
    }
    kg_tmemory_drop(w);
    return kg_ledger_take(&m->ledger, bytes, m->capacity, w->cancelled, err) == KG_OK
               ? kg_torch_judge(w, err)
               : err->code;
}

enum kg_code kg_tmemory_describe(struct kg_worker *w, uint64_t inputs, uint64_t *room,
                                 struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(w);
    *room = UINT64_MAX;
    if (kg_torch_judge(w, err) != KG_OK) {
        return err->code;
    }
    if (!has_ledger(w)) {
        return KG_OK;
    }
    if (open_ledger(w, err) != KG_OK) {
        return err->code;
    }
    uint64_t few = FEW < t->memory.capacity / 32 ? FEW : t->memory.capacity / 32;
    uint64_t want = contexts(t) + DESCRIBES * (inputs > few ? inputs : few);
    want = want < t->memory.capacity ? want : t->memory.capacity;
    if (hold(w, want, err) != KG_OK) {
        return err->code;
    }
    *room = inputs > 0 ? UINT64_MAX : (t->memory.ledger.held - contexts(t)) / DESCRIBES;
    return KG_OK;
}

/* --- the plan --- */

static enum kg_code refuse(const struct kg_worker *w, uint64_t need, struct kg_err *err)
{
    const struct kg_torch *t = kg_torch_of(w);
    kg_fail_memory(err, KG_E_LIMIT,
                   "%s: it needs %" PRIu64 " MB of %s, where %" PRIu64
                   " MB may be used (device.memory_mb)",
                   t->problem->path, need / MB, t->device, t->memory.capacity / MB);
    err->blame = KG_BLAME_HOST;
    return err->code;
}

/* Slices of its inputs must have nothing to do with each other, which shows when they are asked. */
static bool may_slice(const struct kg_task_desc *d)
{
    return !d->random && !d->updates_state && !d->writes_inputs;
}

/* The highest rung that fits. */
static enum kg_tmemory_rung rung_of(const struct needs *n, bool slices, uint64_t capacity)
{
    return n->all <= capacity / COMFORT      ? KG_TM_RESIDENT
           : n->one <= capacity              ? KG_TM_ONE
           : slices && n->sliced <= capacity ? KG_TM_SLICED
           : n->single <= capacity           ? KG_TM_SINGLE
                                             : KG_TM_NONE;
}

static uint64_t least_of(const struct needs *n, enum kg_tmemory_rung rung)
{
    return rung == KG_TM_SINGLE ? n->single : rung == KG_TM_SLICED ? n->sliced : n->one;
}

static uint64_t reservation(const struct needs *n, enum kg_tmemory_rung rung, uint64_t capacity)
{
    uint64_t least = least_of(n, rung);
    uint64_t share = capacity / SHARE < n->all ? capacity / SHARE : n->all;
    return rung == KG_TM_RESIDENT ? n->all : least > share ? least : share;
}

enum kg_code kg_tmemory_plan(struct kg_worker *w, struct kg_tinstance *s, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_tmemory *m = &t->memory;
    struct sizes z;
    struct needs n;
    if (kg_torch_judge(w, err) != KG_OK) {
        return err->code;
    }
    if (!has_ledger(w)) {
        return KG_OK;
    }
    if (open_ledger(w, err) != KG_OK) {
        return err->code;
    }
    sizes_of(w, s, &z);
    needs_of(t, &z, &n);
    bool slices = may_slice(&s->desc) && !s->whole;
    m->rung = rung_of(&n, slices, m->capacity);
    if (m->rung == KG_TM_NONE) {
        return refuse(w, n.single, err);
    }
    bool alone = t->judge.facts.clock && !t->shared;
    uint64_t want = alone ? m->capacity : reservation(&n, m->rung, m->capacity);
    if (hold(w, want / KG_LEDGER_PAGE * KG_LEDGER_PAGE, err) != KG_OK) {
        return err->code;
    }
    uint64_t others = least_of(&n, m->rung) - n.judge;
    m->judge = m->ledger.held > others + n.judge ? m->ledger.held - others : n.judge;
    m->one_case = z.in + z.answer + z.wide;
    s->slices = m->rung == KG_TM_SLICED ? SLICES : 0;
    if (m->rung == KG_TM_SINGLE && !s->single) {
        s->single = true;
        snprintf(s->why, sizeof s->why, "there is no memory for answers in double");
    }
    return kg_dj_cap(&t->judge, m->judge, err);
}

/* --- room within the judge's part --- */

static struct kg_tcase *oldest(struct kg_torch *t, const struct kg_tcase *c,
                               const struct kg_tcase *but, struct kg_tinstance **of)
{
    struct kg_tcase *found = NULL;
    for (int k = 0; k < KG_INSTANCES; k++) {
        for (int law = 0; law < KG_TL_COUNT; law++) {
            struct kg_tcase *o = &t->instance[k].cases[law];
            bool may = o->ready && o->applies && o != c && o != but;
            bool older = may && (!found || o->used < found->used);
            found = older ? o : found;
            *of = older ? &t->instance[k] : *of;
        }
    }
    return found;
}

/* One case and a candidate's answer, and the state that its call leaves. */
static uint64_t next_case(const struct kg_torch *t)
{
    const struct kg_task_desc *d = &t->instance[KG_INSTANCE_PUBLISHED].desc;
    bool planned = t->memory.rung != KG_TM_NONE;
    uint64_t one = planned ? t->memory.one_case : d->input_bytes + 3 * d->output_bytes;
    return one + one / 2 + left_by_call(d);
}

static bool is_short(const struct kg_torch *t)
{
    bool planned = t->memory.rung != KG_TM_NONE;
    uint64_t most = planned ? t->memory.judge : (uint64_t)t->judge.facts.memory_bytes / DEFAULT;
    return most > 0 && (uint64_t)t->judge.bytes + next_case(t) > most;
}

static void forget_oldest(struct kg_worker *w, const struct kg_tcase *c, const struct kg_tcase *but)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_tinstance *s = NULL;
    for (struct kg_tcase *o; is_short(t) && (o = oldest(t, c, but, &s)) != NULL;) {
        kg_tcase_forget(w, s, o);
        o->ready = false;
    }
}

void kg_tmemory_room(struct kg_worker *w, const struct kg_tcase *c, const struct kg_tcase *but)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_err ignored = KG_ERR_INIT;
    if (is_short(t)) {
        (void)!kg_dj_case_forget(&t->judge, KG_TORCH_TIMING_ID, 1, &ignored);
        t->quiet_of = NULL;
    }
    forget_oldest(w, c, but);
    forget_oldest(w, c, NULL);
}

void kg_tmemory_room_to_time(struct kg_worker *w)
{
    forget_oldest(w, NULL, NULL);
}

json_t *kg_tmemory_json(const struct kg_worker *w)
{
    const struct kg_tmemory *m = &kg_torch_of(w)->memory;
    return m->rung == KG_TM_NONE ? NULL
                                 : json_pack("{s:s, s:I, s:I}", "rung", rungs[m->rung],
                                             "reserved_mb", (json_int_t)(m->ledger.held / MB),
                                             "device_mb", (json_int_t)(m->capacity / MB));
}
