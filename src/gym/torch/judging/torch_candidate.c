/* The candidate's runner: begun, loaded, asked, stopped. */
#include "gym/torch/judging/torch_candidate.h"

#include <string.h>

#include "base/clock.h"
#include "gym/torch/judging/case_choices.h"
#include "gym/torch/judging/cases.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/left_by_calls.h"
#include "gym/torch/judging/outcome.h"
#include "gym/torch/judging/own_k.h"
#include "gym/torch/judging/precision.h"
#include "gym/torch/judging/state_parts.h"
#include "gym/torch/judging/torch_replay.h"
#include "gym/torch/runner/build_cache.h"
#include "gym/torch/runner/spare_runner.h"
#include "gym/torch/runner/torch_device.h"

static json_t *load_request(const struct kg_evaluation *e)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:O*}", "entry", kg_torch_of(e->w)->problem->entry,
                     "role", "candidate", "precision", e->w->config.precision, "compat",
                     kg_torch_protocol(e->w)->as_there, "profile", kg_torch_run_of(e)->profile);
}

/* The next runner begins while this one is at work. */
static void next_one(struct kg_evaluation *e)
{
    const struct kg_torch_run *run = kg_torch_run_of(e);
    if (!e->alone && e->task->more) {
        int64_t since = kg_clock_ns();
        uint64_t in, out;
        kg_tinstance_regions(e->w, run->instance, false, &in, &out);
        kg_tspare_begin(e->w, run->interpret, in, out);
        kg_evaluation_excuse(e, since);
    }
}

void kg_tcandidate_rest(struct kg_evaluation *e)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    if (run->cand.up) {
        kg_pyrunner_rest(&run->cand.runner, kg_torch_on_cpu(e->w));
    }
}

void kg_tcandidate_wake(struct kg_evaluation *e)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    if (run->cand.up) {
        kg_pyrunner_wake(&run->cand.runner);
    }
}

/* A command without data; takes the request. */
static enum kg_stage_result tell(struct kg_evaluation *e, enum kg_tcommand command, json_t *request,
                                 enum kg_stage stage, struct kg_err *err)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    struct kg_pyquestion q;
    struct kg_pyanswer a;
    uint64_t seed = kg_torch_protocol(e->w)->seed;
    seed = seed                     ? seed
           : command == KG_TC_BUILD ? KG_TINSTANCE_SEED /* plain tensors are drawn alike */
                                    : kg_rng_u64(&e->rng) >> 1;
    kg_pyrunner_ask(&run->cand.runner, command, request, seed, false, &q);
    json_decref(request);
    if (command == KG_TC_LOAD) {
        next_one(e);
    }
    kg_pyrunner_answer(&run->cand.runner, &q,
                       kg_evaluation_deadline(e, e->w->config.torch_deadline_compile), &a);
    enum kg_stage_result s = KG_STAGE_PASS;
    if (a.status != KG_PY_ANSWERED || a.said != KG_TA_OK) {
        if (a.status != KG_PY_ANSWERED) {
            kg_tcandidate_stop(e);
        }
        s = kg_toutcome_command(e, command, stage, &a, err);
        kg_tcandidate_stop(e);
    }
    if (s == KG_STAGE_PASS && command == KG_TC_BUILD) {
        json_decref(run->own_state);
        run->own_state = json_incref(json_object_get(a.reply, "state"));
    }
    kg_pyanswer_deinit(&a);
    if (s == KG_STAGE_PASS) {
        kg_tcandidate_rest(e);
    }
    return s;
}

enum kg_stage_result kg_tcandidate_ask(struct kg_evaluation *e, const struct kg_dj_call *call,
                                       enum kg_stage stage, struct kg_dj_report *rep,
                                       struct kg_err *err)
{
    struct kg_dj *judge = &kg_torch_of(e->w)->judge;
    int64_t waited_ns = judge->waited_ns;
    kg_tcandidate_wake(e);
    if (kg_dj_run(judge, call, rep, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    e->deadline_ns += judge->waited_ns - waited_ns;
    if (rep->status == KG_DJ_ANSWERED && rep->said == KG_TA_OK) {
        kg_torch_run_of(e)->peak =
            rep->peak_bytes > kg_torch_run_of(e)->peak ? rep->peak_bytes : kg_torch_run_of(e)->peak;
        kg_tcandidate_rest(e);
        return KG_STAGE_PASS;
    }
    if (rep->status != KG_DJ_ANSWERED) {
        kg_tcandidate_stop(e); /* its exit says more */
    }
    enum kg_stage_result s = kg_toutcome_call(e, (enum kg_tcommand)call->command, stage, rep, err);
    kg_tcandidate_stop(e);
    return s;
}

enum kg_stage_result kg_tcandidate_load(struct kg_evaluation *e, int set, enum kg_stage stage,
                                        struct kg_err *err)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    struct kg_dj_report rep;
    struct kg_dj_call call = {.port = run->cand.port, .command = KG_TC_STATE, .seed = 1};
    enum kg_stage_result step = KG_STAGE_PASS;
    size_t n = run->instance->desc.nstate;
    int id;
    if (kg_tinstance_state(e->w, run->instance, set, &id, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    run->state = set;
    for (size_t part = 0; step == KG_STAGE_PASS && part < kg_tstate_parts(n); part++) {
        kg_tstate_part(&call, id, n, part);
        call.deadline_ns = kg_evaluation_deadline(e, e->w->config.torch_deadline_compile);
        step = kg_tcandidate_ask(e, &call, stage, &rep, err);
    }
    return step;
}

/* Of a process that may be timed. The candidate's deadline does not run meanwhile. */
static enum kg_code own_k(struct kg_evaluation *e, struct kg_tinstance *s, enum kg_stage stage,
                          struct kg_err *err)
{
    int64_t since = kg_clock_ns();
    bool timed =
        stage != KG_ST_PROFILE && e->w->config.stage_timing && e->task->stop_after >= KG_ST_TIMING;
    enum kg_code code = timed ? kg_town_k_learn(e->w, s, &kg_torch_run_of(e)->cand, err) : KG_OK;
    kg_evaluation_excuse(e, since);
    return code;
}

static enum kg_stage_result bring_up(struct kg_evaluation *e, struct kg_tinstance *s,
                                     enum kg_stage stage, struct kg_err *err)
{
    struct kg_worker *w = e->w;
    struct kg_torch_run *run = kg_torch_run_of(e);
    uint64_t in, out;
    kg_tinstance_regions(w, s, false, &in, &out);
    if (kg_tspare_take(w, run->interpret, e->code, e->code_len, in, out, &run->cand, err) !=
            KG_OK ||
        own_k(e, s, stage, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    kg_tbuilds_restore(e);
    kg_torch_of(w)->beside = true;
    run->instance = s;
    run->called = false;
    run->ordered = 0;
    e->attached = true;
    e->r->isolation = run->cand.runner.sandbox.isolation;
    enum kg_stage_result step = tell(e, KG_TC_LOAD, load_request(e), stage, err);
    if (step == KG_STAGE_PASS) {
        step = tell(e, KG_TC_BUILD, kg_tinstance_build_request(&s->desc), stage, err);
    }
    if (step != KG_STAGE_PASS ||
        kg_torch_protocol(e->w)->seed) { /* equal seeds make equal parameters */
        return step;
    }
    return kg_tcandidate_load(e, 0, stage, err);
}

enum kg_stage_result kg_tcandidate_start(struct kg_evaluation *e, struct kg_tinstance *s,
                                         enum kg_stage stage, struct kg_err *err)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    if (run->cand.up && run->instance == s) {
        return KG_STAGE_PASS;
    }
    kg_tcandidate_stop(e);
    int64_t since = kg_clock_ns();
    enum kg_code code = kg_tinstance_open(e->w, s, err);
    kg_evaluation_excuse(e, since); /* the reference's time, and its wait for the device */
    return code == KG_OK ? bring_up(e, s, stage, err) : KG_STAGE_ERROR;
}

static void keep_output(struct kg_evaluation *e, const struct kg_pyrunner *run)
{
    struct kg_record *r = e->r;
    struct kg_err ignored = KG_ERR_INIT;
    char **text[2] = {&r->output.stdout_text, &r->output.stderr_text};
    for (int i = 0; i < 2; i++) {
        const struct kg_output *o = &run->output[i];
        r->output.bytes += (int64_t)o->bytes;
        if (o->head_len && !*text[i]) {
            bool cut = o->bytes > o->head_len + o->tail_len;
            *text[i] = kg_arena_printf(&r->arena, &ignored, "%.*s%s%.*s", (int)o->head_len, o->head,
                                       cut ? "\n[...]\n" : "", (int)o->tail_len, o->tail);
        }
    }
    if (run->sandbox.exit.peak_bytes > r->peak_bytes) {
        r->peak_bytes = run->sandbox.exit.peak_bytes;
    }
}

void kg_tcandidate_leave(struct kg_evaluation *e)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    if (run && run->cand.up) {
        int builds = kg_tbuilds_hold(e);
        kg_tspare_follow(e->w, &run->cand);
        kg_torch_of(e->w)->beside = false;
        kg_tbuilds_keep(e, builds);
        keep_output(e, &run->cand.runner);
    }
}

void kg_tcandidate_stop(struct kg_evaluation *e)
{
    kg_tcandidate_leave(e);
    kg_tspare_followed(e->w);
}

/* What the first call at a shape may need besides: autotuning, compiling. */
int64_t kg_tcandidate_deadline(const struct kg_evaluation *e)
{
    const struct kg_config *c = &e->w->config;
    double first = kg_torch_run_of(e)->called ? 0 : c->torch_first_call;
    return kg_evaluation_deadline(e, c->deadline_run + first);
}

enum kg_stage_result kg_tcandidate_state(struct kg_evaluation *e, const struct kg_tinstance *s,
                                         enum kg_tlaw law, enum kg_stage stage, struct kg_err *err)
{
    int set = law == KG_TL_RELOAD;
    if (s->desc.nstate == 0 || (kg_torch_run_of(e)->state == set && !s->desc.updates_state)) {
        return KG_STAGE_PASS;
    }
    return kg_tcandidate_load(e, set, stage, err);
}

enum kg_stage_result kg_tcandidate_again(struct kg_evaluation *e, struct kg_tinstance *s,
                                         enum kg_stage stage, struct kg_err *err)
{
    enum kg_stage_result step = kg_tcandidate_start(e, s, stage, err);
    return step == KG_STAGE_PASS ? kg_tcandidate_state(e, s, KG_TL_OWN, stage, err) : step;
}
