/* The plan of a device's memory, and room within it. */
#include "gym/torch/judging/memory.h"

#include <inttypes.h>

#include "gym/torch/judging/cases_private.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/memory_needs.h"
#include "gym/torch/judging/memory_private.h"
#include "gym/torch/runner/torch_zygotes.h"

#define MB        ((uint64_t)1 << 20)
#define DESCRIBES 8          /* times the inputs' bytes, while a task is described */
#define FEW       (256 * MB) /* inputs of a problem that is not described */
#define DEFAULT   4        /* the part of a device that a judge may take where nothing is planned */
#define BESIDES   (8 * MB) /* of a case: how far it may be moved, its guards, what is rounded up */
#define COPIES    3        /* of inputs on every rung: the judge's, and in two regions */
/* Times the state, of a case whose call changes it: masters, what the reference leaves in float and
 * in double, and a candidate's. */
#define LEFT 6

static const char *const rungs[] = {
    [KG_TM_NONE] = "none",        [KG_TM_RESIDENT] = "resident", [KG_TM_ONE] = "one case",
    [KG_TM_SLICED] = "sliced",    [KG_TM_HOSTED] = "hosted",     [KG_TM_SINGLE] = "fp32",
    [KG_TM_LAST] = "fp32 hosted",
};

static bool has_ledger(const struct kg_worker *w)
{
    return kg_torch_of(w)->judge.facts.clock || w->config.device_memory_mb > 0;
}

/* Of copies that each call takes, of the inputs that the reference writes to. */
static uint64_t written_bytes(const struct kg_task_desc *d)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < d->ninputs; i++) {
        bytes += d->input[i].written ? d->input[i].leaf.bytes : 0;
    }
    return bytes;
}

static void sizes_of(const struct kg_worker *w, const struct kg_tinstance *s, struct kg_tsizes *out)
{
    const struct kg_task_desc *d = &s->desc;
    const struct kg_torch *t = kg_torch_of(w);
    uint64_t ref_in, ref_out, in, answer;
    *out = (struct kg_tsizes){.state = d->state_bytes,
                              .changes = d->updates_state,
                              .parts = d->nstate > KG_TWIRE_LEAVES,
                              .contexts = kg_tmemory_contexts(t),
                              .part = kg_dj_part(&t->judge.facts)};
    kg_tinstance_null_regions(s, &out->in, &out->answer);
    for (size_t i = 0; i < d->noutputs; i++) {
        out->wide += kg_tleaf_count(&d->output[i].leaf) * sizeof(double);
    }
    out->call = (d->call_bytes > 0 ? d->call_bytes : out->answer) + written_bytes(d);
    kg_tinstance_regions(w, s, true, &ref_in, &ref_out);
    kg_tinstance_regions(w, s, false, &in, &answer);
    out->ports = kg_tmemory_port(t, ref_in, ref_out, 2) + kg_tmemory_port(t, in, answer, 2);
    out->ports_short = kg_tmemory_port(t, ref_in, ref_out, 1) + kg_tmemory_port(t, in, answer, 1);
    uint64_t joined = kg_tinstance_joined(s);
    out->joined = joined > ref_out ? joined - ref_out : 0;
}

/* So many bytes, rounded up where there is room for that. */
static uint64_t whole_pages(uint64_t bytes, uint64_t capacity)
{
    uint64_t n = (bytes + KG_LEDGER_PAGE - 1) / KG_LEDGER_PAGE, all = capacity / KG_LEDGER_PAGE;
    return (n < all ? n : all) * KG_LEDGER_PAGE;
}

static enum kg_code refuse(const struct kg_worker *w, uint64_t need, struct kg_err *err)
{
    const struct kg_torch *t = kg_torch_of(w);
    kg_fail_memory(err, KG_E_LIMIT,
                   "%s: it needs at least %" PRIu64 " MB of %s, where %" PRIu64
                   " MB may be used (device.memory_mb)",
                   t->problem->path, need / MB, t->device, t->memory.capacity / MB);
    err->blame = KG_BLAME_HOST;
    return err->code;
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
    if (kg_tmemory_open(w, err) != KG_OK) {
        return err->code;
    }
    uint64_t least = kg_tmemory_contexts(t) + COPIES * inputs;
    if (least > t->memory.capacity &&
        (!kg_tmemory_look_again(w, least) || least > t->memory.capacity)) {
        return refuse(w, least, err);
    }
    uint64_t few = FEW < t->memory.capacity / 32 ? FEW : t->memory.capacity / 32;
    uint64_t want = kg_tmemory_contexts(t) + DESCRIBES * (inputs > few ? inputs : few);
    want = whole_pages(want, t->memory.capacity); /* a card is seldom a whole number of them */
    if (kg_tmemory_hold(w, want, want, err) != KG_OK) {
        return err->code;
    }
    *room = inputs > 0 ? UINT64_MAX : (t->memory.ledger.held - kg_tmemory_contexts(t)) / DESCRIBES;
    return KG_OK;
}

/* --- the plan --- */

/* Slices of its inputs must have nothing to do with each other, which shows when they are asked. */
static bool may_slice(const struct kg_task_desc *d)
{
    return !d->random && !d->updates_state && !d->writes_inputs;
}

enum kg_code kg_tmemory_plan(struct kg_worker *w, struct kg_tinstance *s, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_tmemory *m = &t->memory;
    struct kg_tsizes z;
    struct kg_tneeds n;
    if (kg_torch_judge(w, err) != KG_OK) {
        return err->code;
    }
    if (!has_ledger(w)) {
        return KG_OK;
    }
    if (kg_tmemory_open(w, err) != KG_OK) {
        return err->code;
    }
    s->slices = 0; /* those of an earlier plan would count */
    sizes_of(w, s, &z);
    kg_tneeds_of(&z, &n);
    bool slices = may_slice(&s->desc) && !s->whole;
    m->rung = kg_tneeds_rung(&n, slices, m->capacity);
    if (m->rung == KG_TM_NONE && kg_tmemory_look_again(w, n.least[KG_TM_LAST])) {
        m->rung = kg_tneeds_rung(&n, slices, m->capacity);
    }
    if (m->rung == KG_TM_NONE) {
        return refuse(w, n.least[KG_TM_LAST], err);
    }
    bool alone = t->judge.facts.clock && !t->shared;
    uint64_t want = alone ? m->capacity : kg_tneeds_reservation(&n, m->rung, m->capacity);
    uint64_t need = alone ? want : kg_tneeds_bare(&n, m->rung, m->capacity);
    if (kg_tmemory_hold(w, whole_pages(need, m->capacity), whole_pages(want, m->capacity), err) !=
        KG_OK) {
        return err->code;
    }
    struct kg_tshares share = kg_tneeds_shares(&n, m->rung, m->ledger.held);
    m->judge = share.judge;
    m->lacks = share.lacks;
    m->timed = kg_tneeds_timed(&n, m->rung);
    uint64_t kept = kg_trung_apart(m->rung) ? z.wide / 2 : z.wide;
    m->one_case = z.in + z.answer + (kg_trung_hosts(m->rung) ? 0 : kept);
    s->slices = kg_trung_slices(m->rung) ? KG_TM_SLICES : 0;
    if (kg_trung_is_single(m->rung) && !s->single) {
        s->single = true;
        snprintf(s->why, sizeof s->why, "there is no memory for answers in double");
    }
    return kg_dj_cap(&t->judge, m->judge,
                     kg_trung_hosts(m->rung)   ? KG_DJ_APART_ON_HOST
                     : kg_trung_apart(m->rung) ? KG_DJ_APART
                                               : KG_DJ_DOUBLES,
                     share.calls, err);
}

bool kg_tmemory_is_tight(const struct kg_worker *w)
{
    return kg_torch_of(w)->memory.rung != KG_TM_NONE && kg_torch_of(w)->memory.lacks > 0;
}

enum kg_code kg_tmemory_excuse(const struct kg_worker *w, const char *said, struct kg_err *err)
{
    const struct kg_torch *t = kg_torch_of(w);
    kg_fail_memory(
        err, KG_E_LIMIT,
        "%s: the candidate runs out of memory of %s, where %" PRIu64
        " MB less are left for it than inputs, answers and a call of the reference take; "
        "%" PRIu64 " MB may be used (device.memory_mb)%s%.100s",
        t->problem->path, t->device, (t->memory.lacks + MB - 1) / MB, t->memory.capacity / MB,
        *said ? ": " : "", said);
    err->blame = KG_BLAME_HOST;
    return err->code;
}

bool kg_tmemory_may_time(const struct kg_worker *w, char *why, size_t cap)
{
    const struct kg_tmemory *m = &kg_torch_of(w)->memory;
    bool may = m->rung == KG_TM_NONE || m->timed <= m->capacity;
    if (!may) {
        snprintf(why, cap,
                 "reference and candidate do not fit %s together while they are timed: they need "
                 "%" PRIu64 " MB, where %" PRIu64 " MB may be used (device.memory_mb)",
                 kg_torch_of(w)->device, m->timed / MB, m->capacity / MB);
    }
    return may;
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

/* One case and a candidate's answer, the state that its call leaves, and the sets of parameters
 * that were not asked for yet: no case may take their place. */
static uint64_t next_case(const struct kg_torch *t)
{
    const struct kg_tinstance *s = &t->instance[KG_INSTANCE_PUBLISHED];
    const struct kg_task_desc *d = &s->desc;
    bool planned = t->memory.rung != KG_TM_NONE, changes = d->nleft > 0;
    uint64_t one = planned ? t->memory.one_case : d->input_bytes + 3 * d->output_bytes;
    int sets = !s->state_made[0] + !s->state_made[1] + (changes ? LEFT : 0);
    return one + one / 2 + BESIDES + (uint64_t)sets * d->state_bytes;
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
