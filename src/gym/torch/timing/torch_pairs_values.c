/* Fresh values of a measurement: whose law, drawn or made, and where they lie. */
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/state_parts.h"
#include "gym/torch/problem/own_law.h"
#include "gym/torch/timing/torch_pairs_private.h"

#define CASE KG_TORCH_TIMING_ID

/* False: the reference draws this one. */
static bool law_of(const struct kg_tpairs *s, size_t i, struct kg_key key, struct kg_dj_law *out)
{
    return kg_tplan_made(&s->instance->desc, i, s->law, key, s->drawn, out);
}

/* It is there already, and would come out the same: no other seed changes it. */
static bool kept(const struct kg_tpairs *s, size_t i)
{
    return s->placed && s->instance->desc.input[i].stats.fixed;
}

/* --- drawn, made, placed --- */

bool kg_tpairs_draws(const struct kg_tpairs *s)
{
    struct kg_dj_law law;
    bool needed = false;
    for (size_t i = 0; i < s->instance->desc.ninputs; i++) {
        needed = needed || (!kept(s, i) && !law_of(s, i, s->key, &law));
    }
    return needed;
}

/* get_inputs() takes tenths of a second on the host: who has the device alone gives it back
 * meanwhile, unless the inputs are drawn there. */
static enum kg_tflow ask_to_draw(struct kg_tpairs *s, const struct kg_dj_call *c,
                                 struct kg_dj_report *rep, struct kg_err *err)
{
    const struct kg_dj *judge = &kg_torch_of(s->w)->judge;
    bool alone = judge->held && !s->instance->desc.draws_there;
    int64_t waited_ns = judge->waited_ns;
    if (alone) {
        kg_tpairs_give_lease(s);
    }
    enum kg_tflow flow = kg_tpairs_ask_reference(s, c, "drawing inputs", rep, err);
    if (alone && flow == KG_TFLOW_ON) {
        *s->deadline_ns += judge->waited_ns - waited_ns;
        s->started_ns += judge->waited_ns - waited_ns;
        flow = kg_tpairs_take_lease(s, err) == KG_OK ? flow : KG_TFLOW_ERROR;
    }
    return flow;
}

static enum kg_tflow draw_values(struct kg_tpairs *s, struct kg_key key, struct kg_err *err)
{
    const struct kg_task_desc *d = &s->instance->desc;
    if (!kg_tpairs_draws(s)) {
        return KG_TFLOW_ON;
    }
    struct kg_dj_report rep;
    struct kg_dj_call c = kg_tpairs_call_of(s, s->instance->ref.port, KG_TC_DRAW);
    c.id = -1;
    c.building = &s->instance->ref.runner.wire->building;
    c.flags |= kg_tplan_draw(d, s->law, key, s->drawn);
    c.seed = kg_key_derive(key, "draw", 0).w[0] >> 1; /* not that of the calls, which they see */
    enum kg_tflow flow = ask_to_draw(s, &c, &rep, err);
    if (flow == KG_TFLOW_ON && rep.nleaves != d->ninputs) {
        kg_fail(err, KG_E_PROBLEM, "%s: get_inputs gave %zu tensors, and now %u",
                kg_torch_of(s->w)->problem->path, d->ninputs, rep.nleaves);
        return KG_TFLOW_ERROR;
    }
    return flow;
}

static enum kg_code fill_one(struct kg_tpairs *s, size_t i, struct kg_key key, struct kg_err *err)
{
    struct kg_dj *judge = &kg_torch_of(s->w)->judge;
    struct kg_dj_law law;
    double unit = kg_tplan_touch_unit(&s->instance->desc, i, s->law);
    enum kg_code code =
        law_of(s, i, key, &law)
            ? kg_dj_case_fill(judge, CASE, (int)i, &law, err)
            : kg_dj_case_adopt(judge, CASE, (int)i, s->instance->ref.port, (int)i, err);
    return code == KG_OK && unit > 0
               ? kg_dj_case_touch(judge, CASE, (int)i, kg_tplan_touch_key(key, s->law), unit,
                                  !kg_tplan_gentle(key), err)
               : code;
}

static enum kg_tflow fill(struct kg_tpairs *s, uint64_t number, struct kg_err *err)
{
    struct kg_key key = kg_key_derive(s->key, "timing-values", number);
    s->seed = kg_key_derive(key, "seed", 0).w[0] >> 1;
    enum kg_tflow flow = draw_values(s, key, err);
    for (size_t i = 0; flow == KG_TFLOW_ON && i < s->instance->desc.ninputs; i++) {
        enum kg_code code = kept(s, i) ? KG_OK : fill_one(s, i, key, err);
        flow = code == KG_OK ? KG_TFLOW_ON : KG_TFLOW_ERROR;
    }
    s->placed = s->placed || flow == KG_TFLOW_ON;
    return flow;
}

/* In a random third where the last ones lay, else elsewhere; a candidate's first calls go round all
 * places, since the first one at an address takes memory of its own. */
static int next_place(struct kg_tpairs *s)
{
    int left[KG_TORCH_PLACES];
    uint64_t n = 0;
    for (int p = 0; p < KG_TORCH_PLACES && s->cand; p++) {
        if (!(s->seen >> p & 1)) {
            left[n++] = p;
        }
    }
    if (n > 0) {
        return left[kg_rng_below(&s->rng, n)];
    }
    if (kg_rng_below(&s->rng, 3) == 0) {
        return s->set;
    }
    int other = (int)kg_rng_below(&s->rng, KG_TORCH_PLACES - 1);
    return other + (other >= s->set);
}

/* Inputs that are too large for that stay where they are. */
static enum kg_tflow move(struct kg_tpairs *s, int to, struct kg_err *err)
{
    s->seen |= s->cand ? 1u << to : 0;
    if (to == s->set) {
        return KG_TFLOW_ON;
    }
    uint64_t by = (uint64_t)to * KG_TORCH_PLACE_BYTES;
    enum kg_code code = kg_dj_case_move(&kg_torch_of(s->w)->judge, CASE, by, err);
    s->set = code == KG_OK ? to : s->set;
    return code == KG_OK || code == KG_E_LIMIT ? KG_TFLOW_ON : KG_TFLOW_ERROR;
}

/* All parts of the first set of parameters, to the reference or to the candidate. */
static enum kg_tflow load_into(struct kg_tpairs *s, const struct kg_trunner *cand, int id,
                               struct kg_err *err)
{
    size_t n = s->instance->desc.nstate;
    struct kg_dj_report rep;
    enum kg_tflow flow = KG_TFLOW_ON;
    for (size_t part = 0; flow == KG_TFLOW_ON && part < kg_tstate_parts(n); part++) {
        int port = cand ? cand->port : s->instance->ref.port;
        struct kg_dj_call c = kg_tpairs_call_of(s, port, KG_TC_STATE);
        c.seed = 1;
        kg_tstate_part(&c, id, n, part);
        flow = cand ? kg_tpairs_ask_candidate(s, &c, &rep, err)
                    : kg_tpairs_ask_reference(s, &c, "loading parameters", &rep, err);
    }
    return flow;
}

/* Parameters afresh where a call changes them; or the first set, where the reference has another.
 */
static enum kg_tflow load(struct kg_tpairs *s, const struct kg_trunner *cand, struct kg_err *err)
{
    struct kg_tinstance *instance = s->instance;
    bool again = instance->desc.updates_state;
    int id;
    if (instance->desc.nstate == 0 || (!again && instance->state_loaded == 0)) {
        return KG_TFLOW_ON;
    }
    if (kg_tinstance_state(s->w, instance, 0, &id, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    enum kg_tflow flow = load_into(s, NULL, id, err);
    instance->state_loaded = flow == KG_TFLOW_ON ? 0 : -1;
    return flow == KG_TFLOW_ON && again && cand ? load_into(s, cand, id, err) : flow;
}

enum kg_tflow kg_tpairs_afresh(struct kg_tpairs *s, struct kg_err *err)
{
    return s->instance->desc.updates_state ? load(s, NULL, err) : KG_TFLOW_ON;
}

static enum kg_tflow place(struct kg_tpairs *s, uint64_t number, int to,
                           const struct kg_trunner *cand, struct kg_err *err)
{
    enum kg_tflow flow = move(s, to, err);
    flow = flow == KG_TFLOW_ON ? fill(s, number, err) : flow;
    return flow == KG_TFLOW_ON ? load(s, cand, err) : flow;
}

enum kg_tflow kg_tpairs_draw(struct kg_tpairs *s, enum kg_tlaw law, struct kg_err *err)
{
    s->law = law;
    return place(s, s->cases++, next_place(s), s->cand, err);
}

enum kg_tflow kg_tpairs_redraw(struct kg_tpairs *s, uint64_t number, enum kg_tlaw law, int to,
                               struct kg_err *err)
{
    s->law = law;
    return place(s, number, to, NULL, err);
}
