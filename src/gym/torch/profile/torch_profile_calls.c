/* The calls of the stage profile: a series as long as a timed process's, then those that count. */
#include <string.h>

#include "base/clock.h"
#include "gym/torch/judging/cases.h"
#include "gym/torch/judging/torch_candidate.h"
#include "gym/torch/profile/torch_profile_private.h"
#include "gym/torch/timing/torch_pairs.h"

#define SERIES_NS 10000000000 /* then it ends, however few calls there were */
#define STAY      9           /* calls on one case that is there; odd, so that either law comes */

/* The last call's records: noted as the next call of the process, and where they count in the sum.
 * Those that do not count may be lost: tuning launches more than is kept. s->why: there are none.
 */
static void take(struct kg_tprofiling *s, enum kg_tlaw law, int64_t window, bool counts)
{
    json_t *reply = kg_tprofile_tell(s, json_pack("{s:b}", "take", true), window);
    const char *error = json_string_value(json_object_get(reply, "error"));
    memset(&s->call, 0, sizeof s->call);
    const char *why = reply ? kg_tprofile_add(&s->call, reply, window) : "records are missing";
    if (!why) {
        kg_tphase_note(&s->phase, law, kg_torch_run_of(s->e)->instance->cases[law].seed, &s->call);
    }
    s->phase.other = s->phase.other || why;
    if (json_object_get(reply, "modules")) {
        json_decref(s->modules);
        s->modules = json_incref(json_object_get(reply, "modules"));
    }
    if (error) {
        s->why = "launch records are not to be had";
        s->absent = true;
        kg_record_evidence(s->e->r, "profiler",
                           json_pack("{s:o}", "why", kg_json_text(error, strlen(error))));
    } else if (counts) {
        s->why = why ? why : kg_tprofile_add(&s->sum, reply, window);
    }
    json_decref(reply);
}

static enum kg_stage_result recorded_call(struct kg_tprofiling *s, enum kg_tlaw law, bool counts)
{
    int64_t window = 0;
    int right = kg_tprofile_call(s, law, &window);
    if (right > 0) {
        take(s, law, window, counts);
    } else if (right == 0) {
        s->why = "a profiled call was not right";
    }
    return right < 0 ? KG_STAGE_ERROR : KG_STAGE_PASS;
}

/* Inputs, bound anew. They are made again where another law's have taken their memory. State that a
 * call has changed is loaded before: it goes through the same region, so that nothing is bound any
 * more. */
static enum kg_stage_result bind_anew(struct kg_tprofiling *s, enum kg_tlaw law)
{
    struct kg_evaluation *e = s->e;
    struct kg_tinstance *instance = kg_torch_run_of(e)->instance;
    struct kg_tcase *c = &instance->cases[law];
    struct kg_dj_report rep;
    if (!c->ready && kg_tcandidate_inputs(e, instance, law, &c, s->err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    enum kg_stage_result step = kg_tcandidate_start(e, instance, KG_ST_PROFILE, s->err);
    if (step == KG_STAGE_PASS && instance->desc.updates_state) {
        step = kg_tcandidate_load(e, 0, KG_ST_PROFILE, s->err);
    }
    struct kg_dj_call bind = {.port = kg_torch_run_of(e)->cand.port,
                              .id = c->id,
                              .command = KG_TC_BIND,
                              .seed = kg_tcase_call_seed(c),
                              .deadline_ns = kg_tcandidate_deadline(e)};
    return step != KG_STAGE_PASS ? step : kg_tcandidate_ask(e, &bind, KG_ST_PROFILE, &rep, s->err);
}

/* A call that comes second on its inputs, so that what a module does once is done. */
static enum kg_stage_result profile_call(struct kg_tprofiling *s, enum kg_tlaw law)
{
    struct kg_evaluation *e = s->e;
    struct kg_tinstance *instance = kg_torch_run_of(e)->instance;
    enum kg_stage_result step = kg_tcandidate_case(e, instance, law, KG_ST_PROFILE, s->err);
    if (step == KG_STAGE_PASS && instance->desc.updates_state) {
        step = bind_anew(s, law);
    }
    if (step != KG_STAGE_PASS) {
        return step;
    }
    json_decref(kg_tprofile_tell(s, json_pack("{s:b}", "take", true), 0));
    return recorded_call(s, law, true);
}

/* The first call of a process: who tunes may try here what it never tries again. */
static enum kg_stage_result first_call(struct kg_tprofiling *s)
{
    enum kg_stage_result step =
        kg_tcandidate_case(s->e, kg_torch_run_of(s->e)->instance, KG_TL_NEW, KG_ST_PROFILE, s->err);
    if (step == KG_STAGE_PASS) {
        take(s, KG_TL_NEW, KG_TPROFILE_UNTIMED, false);
    }
    return step;
}

/* One of the series. */
static enum kg_stage_result series_call(struct kg_tprofiling *s, enum kg_tlaw law)
{
    enum kg_stage_result step = bind_anew(s, law);
    return step == KG_STAGE_PASS ? recorded_call(s, law, false) : step;
}

/* Mostly the problem's own law, as in timed calls; every fourth another that was asked before.
 * Where memory holds one case, the next one is made for a few calls. */
static enum kg_tlaw law_of(const struct kg_tinstance *instance, int64_t i, enum kg_tlaw *other)
{
    for (int tries = 0; i % 4 == 3 && tries < KG_TL_COUNT; tries++) {
        *other = *other + 1 < KG_TL_COUNT ? (enum kg_tlaw)(*other + 1) : KG_TL_BF16;
        if (instance->cases[*other].ready && instance->cases[*other].applies) {
            return *other;
        }
    }
    enum kg_tlaw law = i % 2 ? KG_TL_NEW : KG_TL_OWN, there = i % 2 ? KG_TL_OWN : KG_TL_NEW;
    bool stays = !instance->cases[law].ready && instance->cases[there].ready && i % STAY != 0;
    return stays ? there : law;
}

/* As many calls as a timed process makes before its pairs, and a random number more: what counts
 * comes where timed calls do. n: still more of them. */
static enum kg_stage_result series(struct kg_tprofiling *s, int64_t n)
{
    enum kg_tlaw other = KG_TL_BF16;
    const struct kg_evaluation *e = s->e;
    int64_t until = kg_clock_ns() + SERIES_NS - e->deadline_ns; /* which what is excused moves */
    n += KG_TPAIRS_VERIFIED + (int64_t)kg_rng_below(&s->e->rng, 2 * KG_TPAIRS_VERIFIED);
    const struct kg_torch_test *test = &kg_torch_of(s->e->w)->test;
    n = test->series > 0 ? test->series : n;
    enum kg_stage_result step = first_call(s);
    for (int64_t i = 0;
         i < n && step == KG_STAGE_PASS && !s->why && kg_clock_ns() < until + e->deadline_ns; i++) {
        step = series_call(s, law_of(kg_torch_run_of(s->e)->instance, i, &other));
    }
    return step;
}

enum kg_stage_result kg_tprofile_again(struct kg_tprofiling *s)
{
    int64_t left = s->phase.left;
    kg_tprofile_process(s, json_array());
    memset(&s->phase, 0, sizeof s->phase);
    enum kg_stage_result step = series(s, left);
    s->left = step == KG_STAGE_PASS && kg_tphase_left(&s->phase);
    return step;
}

enum kg_stage_result kg_tprofile_calls(struct kg_tprofiling *s)
{
    enum kg_stage_result step = series(s, 0);
    for (int i = 0; i < KG_TPROFILE_CALLS && step == KG_STAGE_PASS && !s->why; i++) {
        step = profile_call(s, i % 2 ? KG_TL_NEW : KG_TL_OWN);
    }
    kg_tprofile_sort(&s->sum);
    return step;
}
