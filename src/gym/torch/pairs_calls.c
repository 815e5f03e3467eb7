/* Verified calls: fresh values, both sides, comparison. The same path for warm-ups, extra and timed
 * calls, so that no process can tell which is which. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "gym/torch/pairs_private.h"

#define CASE KG_TORCH_TIMING_ID

/* --- what inputs look like --- */

static bool looks_uniform(const struct kg_tstats *s, double n)
{
    double width = s->max - s->min, slack = width * (0.02 + 0.5 / sqrt(n));
    return fabs(s->mean - (s->min + s->max) / 2) < slack && fabs(s->sd - width / sqrt(12)) < slack;
}

/* The extremes of n normal values lie about sqrt(2 ln n) standard deviations away. */
static bool looks_normal(const struct kg_tstats *s, double n)
{
    double far = sqrt(2 * log(n)), hi = (s->max - s->mean) / s->sd, lo = (s->mean - s->min) / s->sd;
    return n >= 64 && fabs(hi - far) < 1.5 && fabs(lo - far) < 1.5;
}

/* The law of the problem's own inputs, where the judge can make the like: quicker by far than
 * get_inputs() on the host, and values that no process has seen. */
static bool own_law(const struct kg_task_input *in, struct kg_key key, uint64_t stream,
                    struct kg_dj_law *out)
{
    const struct kg_tstats *s = &in->stats;
    double n = (double)kg_tleaf_count(&in->leaf);
    if (!kg_tplan_free(in)) {
        return false;
    }
    *out = (struct kg_dj_law){.key = key, .stream = stream};
    if (looks_uniform(s, n)) {
        out->kind = KG_DJ_UNIFORM;
        out->a = s->min;
        out->b = s->max;
        return true;
    }
    out->kind = KG_DJ_NORMAL;
    out->a = s->mean;
    out->b = s->sd;
    return looks_normal(s, n);
}

/* False: the reference draws this one. */
static bool law_of(const struct kg_tpairs *s, size_t i, struct kg_key key, struct kg_dj_law *out)
{
    const struct kg_task_input *in = &s->scene->desc.input[i];
    if (s->law < KG_TL_BF16) {
        return !s->drawn && own_law(in, key, i, out);
    }
    if (!kg_tplan_free(in)) {
        return false;
    }
    kg_tplan_law(&s->scene->desc, i, s->law, key, out);
    return true;
}

/* It is there already, and would come out the same: no other seed changes it. */
static bool kept(const struct kg_tpairs *s, size_t i)
{
    return s->placed && s->scene->desc.input[i].stats.fixed;
}

/* --- calls --- */

static enum kg_code run(struct kg_tpairs *s, const struct kg_dj_call *c, struct kg_dj_report *rep,
                        struct kg_err *err)
{
    struct kg_dj *judge = &s->w->torch->judge;
    return kg_tpairs_hook.run ? kg_tpairs_hook.run(judge, c, rep, err)
                              : kg_dj_run(judge, c, rep, err);
}

/* Whoever is called on inputs that have moved learns where they lie before the window opens. */
static struct kg_dj_call call_of(const struct kg_tpairs *s, int port, enum kg_tcommand command)
{
    bool first = s->cand && port == s->cand->port && s->out && s->out->calls <= 1;
    return (struct kg_dj_call){.port = port,
                               .id = CASE,
                               .command = command,
                               .flags = KG_TF_BIND | (s->scene->desc.random ? KG_TF_DRAWS : 0),
                               .seed = s->seed,
                               .deadline_ns = kg_clock_ns() + s->opt.call_ns +
                                              (first ? s->opt.first_call_ns : 0)};
}

static enum kg_tflow ask_reference(struct kg_tpairs *s, const struct kg_dj_call *c,
                                   const char *what, struct kg_dj_report *rep, struct kg_err *err)
{
    if (run(s, c, rep, err) != KG_OK ||
        kg_treference_check(s->w, &s->scene->ref, what, rep, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    if (rep->late_write || rep->guard_hit || rep->input_modified) {
        kg_fail(err, KG_E_PROBLEM, "%s: timing: the reference %s", s->w->torch->problem->path,
                rep->late_write       ? "changes an answer after it gave it"
                : rep->input_modified ? "writes to an input"
                                      : "writes outside its answer");
        return KG_TFLOW_ERROR;
    }
    return KG_TFLOW_ON;
}

static enum kg_tflow ask_null(struct kg_tpairs *s, const struct kg_dj_call *c,
                              struct kg_dj_report *rep, struct kg_err *err)
{
    if (run(s, c, rep, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    if (rep->status == KG_DJ_ANSWERED && rep->said == KG_TA_OK) {
        return KG_TFLOW_ON;
    }
    kg_fail(err, KG_E_GYM, "timing: the null runner failed (command %u: status %d, said %d)",
            c->command, (int)rep->status, (int)rep->said);
    return KG_TFLOW_ERROR;
}

static enum kg_tflow fail_here(struct kg_tpairs *s, enum kg_tcommand command,
                               const struct kg_dj_report *rep, const struct kg_dj_judgement *j)
{
    struct kg_tpairs_failure *f = &s->out->failure;
    memset(f, 0, sizeof *f);
    f->command = command;
    f->report = *rep;
    f->compared = j != NULL;
    if (j) {
        f->judgement = *j;
    }
    f->law = s->law;
    f->call = s->out->calls;
    f->right = s->out->verified;
    return KG_TFLOW_FAILED;
}

static enum kg_tflow ask_candidate(struct kg_tpairs *s, const struct kg_dj_call *c,
                                   struct kg_dj_report *rep, struct kg_err *err)
{
    if (run(s, c, rep, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    bool good = rep->status == KG_DJ_ANSWERED && rep->said == KG_TA_OK;
    return good ? KG_TFLOW_ON : fail_here(s, (enum kg_tcommand)c->command, rep, NULL);
}

/* --- fresh values --- */

static enum kg_tflow draw_values(struct kg_tpairs *s, struct kg_key key, struct kg_err *err)
{
    const struct kg_task_desc *d = &s->scene->desc;
    struct kg_dj_law law;
    bool needed = false;
    for (size_t i = 0; i < d->ninputs; i++) {
        needed = needed || (!kept(s, i) && !law_of(s, i, key, &law));
    }
    if (!needed) {
        return KG_TFLOW_ON;
    }
    struct kg_dj_report rep;
    struct kg_dj_call c = call_of(s, s->scene->ref.port, KG_TC_DRAW);
    c.id = -1;
    c.building = &s->scene->ref.runner.wire->building;
    c.seed = kg_key_derive(key, "draw", 0).w[0] >> 1; /* not that of the calls, which they see */
    enum kg_tflow flow = ask_reference(s, &c, "drawing inputs", &rep, err);
    if (flow == KG_TFLOW_ON && rep.nleaves != d->ninputs) {
        kg_fail(err, KG_E_PROBLEM, "%s: get_inputs gave %zu tensors, and now %u",
                s->w->torch->problem->path, d->ninputs, rep.nleaves);
        return KG_TFLOW_ERROR;
    }
    return flow;
}

static enum kg_tflow fill(struct kg_tpairs *s, struct kg_err *err)
{
    struct kg_dj *judge = &s->w->torch->judge;
    struct kg_key key = kg_key_derive(s->key, "timing-values", s->cases++);
    s->seed = kg_key_derive(key, "seed", 0).w[0] >> 1;
    enum kg_tflow flow = draw_values(s, key, err);
    for (size_t i = 0; flow == KG_TFLOW_ON && i < s->scene->desc.ninputs; i++) {
        struct kg_dj_law law;
        enum kg_code code = KG_OK;
        if (!kept(s, i)) {
            code = law_of(s, i, key, &law)
                       ? kg_dj_case_fill(judge, CASE, (int)i, &law, err)
                       : kg_dj_case_adopt(judge, CASE, (int)i, s->scene->ref.port, (int)i, err);
        }
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
static enum kg_tflow move(struct kg_tpairs *s, struct kg_err *err)
{
    int to = next_place(s);
    s->seen |= s->cand ? 1u << to : 0;
    if (to == s->set) {
        return KG_TFLOW_ON;
    }
    uint64_t by = (uint64_t)to * KG_TORCH_PLACE_BYTES;
    enum kg_code code = kg_dj_case_move(&s->w->torch->judge, CASE, by, err);
    s->set = code == KG_OK ? to : s->set;
    return code == KG_OK || code == KG_E_LIMIT ? KG_TFLOW_ON : KG_TFLOW_ERROR;
}

/* Parameters afresh where a call changes them; or the first set, where the reference has another.
 */
static enum kg_tflow load(struct kg_tpairs *s, struct kg_err *err)
{
    struct kg_tscene *scene = s->scene;
    struct kg_dj_report rep;
    bool again = scene->desc.updates_state;
    int id;
    if (scene->desc.nstate == 0 || (!again && scene->state_loaded == 0)) {
        return KG_TFLOW_ON;
    }
    if (kg_tscene_state(s->w, scene, 0, &id, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    struct kg_dj_call c = call_of(s, scene->ref.port, KG_TC_STATE);
    c.id = id;
    c.seed = 1;
    enum kg_tflow flow = ask_reference(s, &c, "loading parameters", &rep, err);
    scene->state_loaded = flow == KG_TFLOW_ON ? 0 : -1;
    if (flow == KG_TFLOW_ON && again && s->cand) {
        c = call_of(s, s->cand->port, KG_TC_STATE);
        c.id = id;
        c.seed = 1;
        flow = ask_candidate(s, &c, &rep, err);
    }
    return flow;
}

enum kg_tflow kg_tpairs_draw(struct kg_tpairs *s, enum kg_tlaw law, struct kg_err *err)
{
    s->law = law;
    enum kg_tflow flow = move(s, err);
    flow = flow == KG_TFLOW_ON ? fill(s, err) : flow;
    return flow == KG_TFLOW_ON ? load(s, err) : flow;
}

/* --- sides --- */

enum kg_tflow kg_tpairs_reference(struct kg_tpairs *s, enum kg_dj_side keep,
                                  struct kg_dj_report *rep, struct kg_err *err)
{
    struct kg_dj_call c = call_of(s, s->scene->ref.port, KG_TC_CALL);
    bool oracle = keep == KG_DJ_ORACLE, wide = oracle && !s->self;
    c.keep = keep;
    c.flags |= wide ? KG_TF_WIDE : 0;
    c.timed = !oracle;
    c.deadline_ns += wide ? s->opt.first_call_ns : 0;
    return ask_reference(s, &c, wide ? "a call in double" : "a call", rep, err);
}

static enum kg_tflow candidate(struct kg_tpairs *s, struct kg_dj_report *rep, struct kg_err *err)
{
    s->out->calls++;
    struct kg_dj_call c = call_of(s, s->cand->port, KG_TC_CALL);
    c.keep = KG_DJ_CANDIDATE;
    c.timed = true;
    return ask_candidate(s, &c, rep, err);
}

enum kg_tflow kg_tpairs_self(struct kg_tpairs *s, bool *applies, struct kg_err *err)
{
    struct kg_dj_report rep;
    *applies = false;
    if (kg_tpairs_reference(s, KG_DJ_ORACLE, &rep, err) != KG_TFLOW_ON ||
        kg_dj_self(&s->w->torch->judge, CASE, kg_tplan_reduction(&s->scene->desc), applies, err) !=
            KG_OK) {
        return KG_TFLOW_ERROR;
    }
    return KG_TFLOW_ON;
}

/* What others' work made longer is no part of K. */
enum kg_tflow kg_tpairs_null_call(struct kg_tpairs *s, bool *loud, struct kg_err *err)
{
    struct kg_dj_report rep;
    struct kg_dj_call c = call_of(s, s->w->torch->null.port, KG_TC_NULL);
    bool alone = s->w->torch->judge.held || !s->opt.exclusive;
    c.timed = true;
    enum kg_tflow flow = ask_null(s, &c, &rep, err);
    *loud = flow == KG_TFLOW_ON && rep.loud;
    if (flow == KG_TFLOW_ON && alone && !rep.loud && s->nnull < KG_TPAIRS_NULLS) {
        s->null_ns[s->nnull++] = (double)rep.window_ns;
    }
    return flow;
}

/* All but the numbers. */
static bool sound(const struct kg_dj_report *rep, const struct kg_dj_judgement *j)
{
    bool form = j->arity || j->structure || j->shape || j->dtype || j->device || j->alias;
    bool memory = rep->late_write || rep->input_modified || rep->guard_hit;
    return !form && !memory;
}

/* With the float reference, by what it is known to err on the usual inputs. What that finds wrong,
 * a random quarter of what is timed, and inputs of other laws are asked of the oracle, which
 * decides where the reference meets it; where it does not, nobody is blamed. */
static enum kg_tflow verify(struct kg_tpairs *s, const struct kg_dj_report *rep, bool timed,
                            struct kg_err *err)
{
    struct kg_dj *judge = &s->w->torch->judge;
    struct kg_dj_judgement j;
    bool usual = s->law == KG_TL_OWN, applies = true;
    if (kg_dj_compare(judge, CASE, false, &j, err) != KG_OK) {
        return KG_TFLOW_ERROR;
    }
    bool numbers = !j.compare.pass && !(j.arity || j.structure || j.shape || j.dtype);
    if (!usual || numbers || (timed && kg_rng_below(&s->rng, 4) == 0)) {
        enum kg_tflow flow = kg_tpairs_self(s, &applies, err);
        if (flow != KG_TFLOW_ON) {
            return flow;
        }
        if (applies && kg_dj_compare(judge, CASE, false, &j, err) != KG_OK) {
            return KG_TFLOW_ERROR;
        }
        s->out->oracle_checked += applies;
    }
    bool unknown = !applies || kg_tcase_lets_off(&s->scene->cases[s->law], &j);
    if (unknown && (!usual || numbers) && sound(rep, &j)) {
        return KG_TFLOW_DOUBT;
    }
    if (!j.compare.pass || !sound(rep, &j)) {
        return fail_here(s, KG_TC_CALL, rep, &j);
    }
    s->out->verified++;
    return KG_TFLOW_ON;
}

enum kg_tflow kg_tpairs_verified(struct kg_tpairs *s, bool cand_first, enum kg_tlaw law,
                                 struct kg_pair *pair, struct kg_err *err)
{
    struct kg_dj_report ref, cand;
    bool loud = false;
    if (kg_cancelled) {
        kg_fail(err, KG_E_CANCELLED, "interrupted");
        return KG_TFLOW_ERROR;
    }
    enum kg_tflow flow = kg_tpairs_draw(s, law, err);
    for (int k = 0; k < 2 && flow == KG_TFLOW_ON; k++) {
        flow = (k == 0) == cand_first ? candidate(s, &cand, err)
                                      : kg_tpairs_reference(s, KG_DJ_FLOAT, &ref, err);
    }
    if (flow == KG_TFLOW_ON && kg_rng_below(&s->rng, 3) == 0) {
        flow = kg_tpairs_null_call(s, &loud, err);
    }
    flow = flow == KG_TFLOW_ON ? verify(s, &cand, pair != NULL, err) : flow;
    if (flow != KG_TFLOW_ON) {
        return flow;
    }
    if (pair) {
        *pair = (struct kg_pair){ref.window_ns, cand.window_ns, cand_first};
    }
    if (ref.loud || cand.loud) {
        s->out->setup_ns = ref.loud ? ref.setup_ns : cand.setup_ns;
        return KG_TFLOW_LOUD;
    }
    return KG_TFLOW_ON;
}
