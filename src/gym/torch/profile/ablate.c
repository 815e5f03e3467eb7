/* Which of its own kernels the answer needs: asked without them. */
#include "base/clock.h"
#include "gym/torch/judging/cases.h"
#include "gym/torch/judging/torch_candidate.h"
#include "gym/torch/profile/torch_profile_private.h"

static struct kg_torch *torch_of(const struct kg_tprofiling *s)
{
    return kg_torch_of(s->e->w);
}

/* --- the runner --- */

void kg_tprofile_process(struct kg_tprofiling *s, json_t *names)
{
    kg_tcandidate_stop(s->e);
    json_decref(kg_torch_run_of(s->e)->profile);
    kg_torch_run_of(s->e)->profile = json_pack("{s:o}", "suppress", names);
    s->processes++;
}

json_t *kg_tprofile_tell(struct kg_tprofiling *s, json_t *request, int64_t window_ns)
{
    struct kg_evaluation *e = s->e;
    struct kg_pyanswer a = {.status = KG_PY_DIED};
    json_t *reply = NULL;
    if (torch_of(s)->test.reply) {
        reply = torch_of(s)->test.reply(request, window_ns);
    } else if (kg_torch_run_of(e)->cand.up) {
        kg_pyrunner_command(&kg_torch_run_of(e)->cand.runner, KG_TC_PROFILE, request, 1,
                            kg_evaluation_deadline(e, e->w->config.deadline_run), &a);
        if (a.status == KG_PY_ANSWERED && a.said == KG_TA_OK) {
            reply = json_incref(a.reply);
        }
        kg_pyanswer_deinit(&a);
    }
    json_decref(request);
    return reply;
}

int kg_tprofile_call(struct kg_tprofiling *s, enum kg_tlaw law, int64_t *window_ns)
{
    struct kg_evaluation *e = s->e;
    const struct kg_tcase *c = &kg_torch_run_of(e)->instance->cases[law];
    struct kg_dj_report rep;
    struct kg_dj_judgement j;
    double first = kg_torch_run_of(e)->called ? 0 : e->w->config.torch_first_call;
    struct kg_dj_call k = {.port = kg_torch_run_of(e)->cand.port,
                           .id = c->id,
                           .command = KG_TC_CALL,
                           .seed = kg_tcase_call_seed(c),
                           .keep = KG_DJ_CANDIDATE};
    k.deadline_ns = kg_evaluation_deadline(e, e->w->config.deadline_run + first);
    kg_tcandidate_wake(e);
    if (kg_dj_run(&torch_of(s)->judge, &k, &rep, s->err) != KG_OK) {
        return -1;
    }
    if (rep.status != KG_DJ_ANSWERED) {
        kg_tcandidate_stop(e);
        return 0;
    }
    *window_ns = rep.window_ns;
    if (rep.said != KG_TA_OK) {
        return 0;
    }
    if (kg_dj_compare(&torch_of(s)->judge, c->id, false, &j, s->err) != KG_OK) {
        return -1;
    }
    return !j.shape && !j.dtype && !j.arity && !j.structure && j.compare.pass && !rep.unwritten;
}

/* --- live or dead --- */

static json_t *names_of(struct kg_tkernel *const *group, size_t n)
{
    json_t *names = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(names, json_string(group[i]->name));
    }
    return names;
}

/* What a suppressed candidate does is no verdict on it. */
struct aside {
    enum kg_verdict verdict;
    const char *reason, *message;
    size_t evidence;
    bool lost, memory;
};

static struct aside set_aside(const struct kg_evaluation *e)
{
    const struct kg_record *r = e->r;
    return (struct aside){.verdict = r->verdict,
                          .reason = r->reason,
                          .message = r->message,
                          .evidence = json_array_size(r->evidence),
                          .lost = e->lost,
                          .memory = e->memory};
}

static void put_back(struct kg_evaluation *e, const struct aside *a)
{
    struct kg_record *r = e->r;
    r->verdict = a->verdict;
    r->reason = a->reason;
    r->message = a->message;
    e->lost = a->lost;
    e->memory = a->memory;
    while (json_array_size(r->evidence) > a->evidence) {
        json_array_remove(r->evidence, a->evidence);
    }
}

/* As kg_tprofile_call(), bound anew; names: own kernels that do nothing in it, NULL: as they are.
 * Borrowed. */
static int bound_call(struct kg_tprofiling *s, enum kg_tlaw law, json_t *names)
{
    struct kg_evaluation *e = s->e;
    struct kg_tinstance *instance = kg_torch_run_of(e)->instance;
    struct kg_tcase *c;
    struct kg_dj_report rep;
    int64_t window;
    if (kg_tcandidate_inputs(e, instance, law, &c, s->err) != KG_OK) {
        return -1;
    }
    enum kg_stage_result step = kg_tcandidate_start(e, instance, KG_ST_PROFILE, s->err);
    if (step == KG_STAGE_PASS && instance->desc.updates_state) {
        step = kg_tcandidate_load(e, 0, KG_ST_PROFILE, s->err);
    }
    if (step != KG_STAGE_PASS || !c->applies) {
        return step == KG_STAGE_ERROR ? -1 : 0;
    }
    struct kg_dj_call bind = {.port = kg_torch_run_of(e)->cand.port,
                              .id = c->id,
                              .command = KG_TC_BIND,
                              .seed = kg_tcase_call_seed(c)};
    bind.deadline_ns = kg_evaluation_deadline(e, e->w->config.deadline_run);
    kg_tcandidate_wake(e);
    if (kg_dj_run(&torch_of(s)->judge, &bind, &rep, s->err) != KG_OK) {
        return -1;
    }
    if (rep.status != KG_DJ_ANSWERED) {
        kg_tcandidate_stop(e);
        return 0;
    }
    if (names) {
        json_decref(kg_tprofile_tell(
            s, json_pack("{s:O, s:b, s:b}", "suppress", names, "settled", true, "take", true), 0));
    }
    return kg_tprofile_call(s, law, &window);
}

/* What became of launches that were to do nothing, since it was last asked; all kernels work again.
 * DEAD: some did nothing. NONE: it was launched, and nothing kept it from working. */
static enum kg_tshown quelled(struct kg_tprofiling *s, const json_t *names)
{
    json_t *reply = kg_tprofile_tell(s, json_pack("{s:[], s:b}", "suppress", "take", true), 1);
    bool some = json_integer_value(json_object_get(reply, "suppressed")) > 0;
    bool ran = !some && kg_tprofile_ran(reply, names);
    json_decref(reply);
    if (ran) {
        s->why = "a kernel ran that was to do nothing";
    }
    return some ? KG_TSHOWN_DEAD : ran ? KG_TSHOWN_NONE : KG_TSHOWN_IDLE;
}

/* *err is filled, or right tells. */
static enum kg_tshown of_answer(struct kg_tprofiling *s, int right)
{
    s->failed = s->failed || right < 0;
    return right < 0 ? KG_TSHOWN_NONE : right ? KG_TSHOWN_DEAD : KG_TSHOWN_LIVE;
}

/* In a new process, in which they never did anything. */
static enum kg_tshown in_new_process(struct kg_tprofiling *s, json_t *names)
{
    kg_tprofile_process(s, json_incref(names));
    int right = bound_call(s, KG_TL_OWN, NULL);
    right = right > 0 ? bound_call(s, KG_TL_NEW, NULL) : right;
    enum kg_tshown shown = of_answer(s, right), were = KG_TSHOWN_DEAD;
    if (shown != KG_TSHOWN_NONE &&
        kg_torch_run_of(s->e)->cand.up) { /* who is dead was without them */
        were = quelled(s, names);
    }
    kg_tprofile_process(s, json_array());
    return shown == KG_TSHOWN_NONE || were == KG_TSHOWN_DEAD ? shown : were;
}

/* In the process that is there, on inputs that the call before did not have: of what it kept from
 * that call nothing is right. */
static enum kg_tshown right_here(struct kg_tprofiling *s, json_t *names)
{
    static const enum kg_tlaw laws[] = {KG_TL_NEW, KG_TL_OWN, KG_TL_NEW};
    enum kg_tshown shown = KG_TSHOWN_DEAD;
    for (int i = 0; i < 2 && shown == KG_TSHOWN_DEAD; i++) {
        int before = bound_call(s, laws[i], NULL);
        if (before <= 0) {
            s->fresh = before == 0; /* what was suppressed has spoilt it */
            return of_answer(s, before);
        }
        shown = of_answer(s, bound_call(s, laws[i + 1], names));
        if (shown != KG_TSHOWN_NONE && kg_torch_run_of(s->e)->cand.up) {
            enum kg_tshown were = quelled(s, names);
            shown = were == KG_TSHOWN_DEAD ? shown : were;
        }
    }
    return shown;
}

static enum kg_tshown without(void *user, struct kg_tkernel *const *group, size_t n)
{
    struct kg_tprofiling *s = user;
    enum kg_tshown shown = KG_TSHOWN_NONE;
    s->asked++;
    if (kg_clock_ns() > s->e->deadline_ns || *s->e->w->cancelled) {
        return shown;
    }
    struct aside a = set_aside(s->e);
    json_t *names = names_of(group, n);
    if (!s->fresh) {
        shown = right_here(s, names);
    }
    if (s->fresh && !s->failed) {
        shown = in_new_process(s, names);
    }
    json_decref(names);
    put_back(s->e, &a);
    return shown;
}

void kg_tprofile_find_dead(struct kg_tprofiling *s, bool *launched, bool *right_without)
{
    struct kg_tkernel *own[KG_TPROFILE_ROWS];
    size_t n = 0, dead = 0;
    for (size_t i = 0; i < s->sum.n; i++) {
        if (s->sum.kernel[i].owner == KG_TO_OWN) {
            own[n++] = &s->sum.kernel[i];
        }
    }
    *launched = n > 0;
    *right_without = false;
    s->fresh = s->sum.graphs > 0; /* a graph that was captured stays as it is */
    if (!kg_tprofile_dead(own, n, without, s) && !s->failed) {
        s->why = s->why ? s->why : "there was no time to see which kernels matter";
        return;
    }
    for (size_t i = 0; i < n; i++) {
        dead += own[i]->dead;
    }
    if (n > 0 && dead == n && !s->failed) {
        struct aside a = set_aside(s->e);
        json_t *all = json_pack("[s]", "*");
        *right_without = in_new_process(s, all) == KG_TSHOWN_DEAD;
        json_decref(all);
        put_back(s->e, &a);
    }
}
