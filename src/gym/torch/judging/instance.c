/* An instance: the reference described, built and given its parameters. */
#include "gym/torch/judging/instance.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "gym/torch/judging/memory.h"
#include "gym/torch/judging/reference.h"
#include "gym/torch/judging/state_parts.h"
#include "gym/torch/runner/descriptions.h"
#include "gym/torch/runner/spare_runner.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_runner.h"
#include "gym/torch/runner/torch_zygotes.h"

#define FIRST_REGION (8u << 20) /* enough for a description, and for small problems altogether */
#define STATE_IDS    2
#define OWN_LAWS     KG_TL_BF16 /* the laws that the reference draws: of their inputs, written ones */
#define WRITTEN_IDS  2          /* under each of these laws */
#define IDS          (STATE_IDS + 2 * KG_TL_COUNT + WRITTEN_IDS * OWN_LAWS) /* per instance */
_Static_assert(IDS *KG_INSTANCES <= KG_TORCH_LEFT_ID, "every instance has ids of its own");

const char *kg_instance_name(enum kg_instance_kind kind)
{
    static const char *const names[KG_INSTANCES] = {"published", "tiny", "shape"};
    return names[kind];
}

static int first_id(const struct kg_tinstance *s)
{
    return (int)s->kind * IDS;
}

static int64_t allowed_ns(const struct kg_worker *w)
{
    return (int64_t)((w->config.torch_deadline_compile + w->config.torch_first_call) * 1e9);
}

enum kg_code kg_tinstance_tell(struct kg_worker *w, struct kg_tinstance *s,
                               enum kg_tcommand command, const char *what, json_t *request,
                               json_t **reply, struct kg_err *err)
{
    struct kg_trunner *ref = &s->ref;
    struct kg_pyanswer a;
    uint64_t seed = kg_torch_protocol(w)->seed ? kg_torch_protocol(w)->seed : KG_TINSTANCE_SEED;
    enum kg_code code = kg_trunner_set_up(w, ref, command, request, seed, allowed_ns(w), &a, err);
    json_decref(request);
    if (code != KG_OK) {
        return code;
    }
    if (a.status == KG_PY_PROTOCOL) {
        kg_trunner_stop(w, ref);
        code = kg_fail(err, KG_E_PROBLEM, "%s: the reference breaks the protocol (%s)",
                       kg_torch_of(w)->problem->path, what);
    } else if (a.status != KG_PY_ANSWERED) {
        code = kg_treference_lost(w, ref, what, a.status == KG_PY_TIMEOUT, err);
    } else if (a.said != KG_TA_OK) {
        code = kg_treference_complaint(w, what, a.said, a.reply, err);
    }
    if (code == KG_OK && reply) {
        *reply = json_incref(a.reply);
    }
    kg_pyanswer_deinit(&a);
    return code;
}

/* A fresh runner that has loaded the problem. */
static enum kg_code start(struct kg_worker *w, struct kg_tinstance *s, uint64_t in, uint64_t out,
                          struct kg_err *err)
{
    kg_trunner_stop(w, &s->ref);
    s->state_loaded = -1;
    if (kg_trunner_start(w, false, kg_torch_of(w)->problem_file, in, out, &s->ref, err) != KG_OK) {
        return err->code;
    }
    const struct kg_tproblem *p = kg_torch_of(w)->problem;
    json_t *request = json_pack("{s:s, s:s, s:s, s:b, s:b}", "entry", p->reference, "role",
                                "reference", "precision", w->config.precision, "compat",
                                kg_torch_protocol(w)->as_there, "row", p->row);
    if (s->consts) {
        json_object_set(request, "consts", s->consts);
    }
    return kg_tinstance_tell(w, s, KG_TC_LOAD, "loading", request, NULL, err);
}

/* Whoever describes the problem stays where its regions suffice: a process less to start. */
static void first_regions(const struct kg_worker *w, const struct kg_tinstance *s, uint64_t *in,
                          uint64_t *out)
{
    *in = *out = FIRST_REGION;
    if (s->kind == KG_INSTANCE_PUBLISHED && !kg_torch_protocol(w)->as_there) {
        kg_tspare_regions(w, true, in, out);
    }
}

static bool stays(struct kg_worker *w, const struct kg_tinstance *s, uint64_t in, uint64_t out)
{
    struct kg_err ignored = KG_ERR_INIT;
    return s->ref.up && in <= s->ref.in_bytes && out <= s->ref.out_bytes &&
           kg_trunner_use(w, &s->ref, out, &ignored) == KG_OK;
}

/* The list of the state comes in parts, as a reply holds no more of it. */
static enum kg_code more_state(struct kg_worker *w, struct kg_tinstance *s, json_t *reply,
                               struct kg_err *err)
{
    json_t *list = json_object_get(reply, "state");
    json_int_t whole = json_integer_value(json_object_get(reply, "state_count"));
    if (whole > KG_TASK_STATE) {
        return kg_fail(err, KG_E_PROBLEM,
                       "%s: description: state: %lld tensors, at most %d can be judged",
                       kg_torch_of(w)->problem->path, (long long)whole, KG_TASK_STATE);
    }
    while (json_is_array(list) && (json_int_t)json_array_size(list) < whole) {
        json_t *more = NULL,
               *request = json_pack("{s:I}", "from", (json_int_t)json_array_size(list));
        enum kg_code code =
            kg_tinstance_tell(w, s, KG_TC_DESCRIBE, "describing the task", request, &more, err);
        json_t *part = json_object_get(more, "state");
        bool none = json_array_size(part) == 0;
        if (code == KG_OK && !none) {
            json_array_extend(list, part);
        }
        json_decref(more);
        if (code != KG_OK || none) {
            return code != KG_OK ? code
                                 : kg_fail(err, KG_E_PROBLEM, "%s: the description ends early",
                                           kg_torch_of(w)->problem->path);
        }
    }
    return KG_OK;
}

static enum kg_code start_to_describe(struct kg_worker *w, struct kg_tinstance *s,
                                      struct kg_err *err)
{
    uint64_t in_bytes, out_bytes;
    if (s->ref.up) {
        return KG_OK;
    }
    first_regions(w, s, &in_bytes, &out_bytes);
    return start(w, s, in_bytes, out_bytes, err);
}

/* One try. *wants: bytes of inputs for which there was no room; then there is no description
 * yet. */
static enum kg_code ask_once(struct kg_worker *w, struct kg_tinstance *s, json_t *request,
                             uint64_t *wants, json_t **reply, struct kg_err *err)
{
    *wants = 0;
    if (start_to_describe(w, s, err) != KG_OK) {
        return err->code;
    }
    s->state_loaded = -1;
    kg_torch_of(w)->described++;
    if (kg_tinstance_tell(w, s, KG_TC_DESCRIBE, "describing the task", json_incref(request), reply,
                          err) != KG_OK) {
        return err->code;
    }
    json_int_t more = json_integer_value(json_object_get(*reply, "wants"));
    *wants = more > 0 ? (uint64_t)more : 0;
    return *reply ? KG_OK
                  : kg_fail(err, KG_E_PROBLEM, "%s: no description", kg_torch_of(w)->problem->path);
}

/* Only the published instance has memory of its own on the device. */
static enum kg_code ask_with_room(struct kg_worker *w, struct kg_tinstance *s, json_t *request,
                                  json_t **reply, struct kg_err *err)
{
    uint64_t room = UINT64_MAX, wants = 0;
    bool plans = s->kind == KG_INSTANCE_PUBLISHED;
    if (plans && kg_tmemory_describe(w, 0, &room, err) != KG_OK) {
        return err->code;
    }
    if (room <= INT64_MAX) {
        json_object_set_new(request, "room", json_integer((json_int_t)room));
    }
    enum kg_code code = ask_once(w, s, request, &wants, reply, err);
    json_object_del(request, "room");
    if (code != KG_OK || wants == 0) {
        return code;
    }
    json_decref(*reply);
    *reply = NULL;
    return kg_tmemory_describe(w, wants, &room, err) == KG_OK
               ? ask_once(w, s, request, &wants, reply, err)
               : err->code;
}

static enum kg_code ask_for_description(struct kg_worker *w, struct kg_tinstance *s,
                                        json_t *request, json_t **reply, struct kg_err *err)
{
    enum kg_code code = ask_with_room(w, s, request, reply, err);
    code = code == KG_OK ? more_state(w, s, *reply, err) : code;
    if (code == KG_OK) {
        kg_tdescriptions_keep(w, request, *reply);
    }
    return code;
}

enum kg_code kg_tinstance_describe(struct kg_worker *w, struct kg_tinstance *s,
                                   const json_t *consts, bool run, struct kg_task_desc *out,
                                   struct kg_err *err)
{
    const char *path = kg_torch_of(w)->problem->path;
    json_t *reply = NULL, *request = kg_tdescriptions_request(w, consts, run);
    enum kg_code code = kg_torch_judge(w, err);
    if (code == KG_OK && (reply = kg_tdescriptions_find(w, request)) == NULL) {
        code = ask_for_description(w, s, request, &reply, err);
    }
    code = code == KG_OK ? kg_task_parse(reply, path, out, err) : code;
    json_decref(request);
    json_decref(reply);
    return code;
}

/* A part of a set of parameters: laws of the judge's own, but for what must stay as it is. */
static enum kg_code fill_part(struct kg_worker *w, struct kg_tinstance *s, int set, size_t part,
                              struct kg_err *err)
{
    struct kg_dj *judge = &kg_torch_of(w)->judge;
    const struct kg_task_desc *d = &s->desc;
    size_t from = part * KG_TWIRE_LEAVES, left = d->nstate - from;
    int n = left < KG_TWIRE_LEAVES ? (int)left : KG_TWIRE_LEAVES;
    struct kg_dj_report rep;
    struct kg_dj_call call = {.port = s->ref.port,
                              .command = KG_TC_SNAPSHOT,
                              .deadline_ns = kg_clock_ns() + allowed_ns(w)};
    kg_tstate_part(&call, -1, d->nstate, part);
    if (kg_treference_ask(w, s, call, "reading its state", &rep, err) != KG_OK) {
        return err->code;
    }
    if (rep.nleaves != (uint32_t)n) {
        return kg_fail(err, KG_E_PROBLEM, "%s: its state changes from call to call",
                       kg_torch_of(w)->problem->path);
    }
    int id = kg_tstate_id(first_id(s) + set, part);
    for (int i = 0; i < n; i++) {
        const struct kg_task_state *t = &d->state[from + (size_t)i];
        struct kg_dj_law law;
        bool own = kg_tplan_state(t, s->state_key[set], t->tied, &law);
        enum kg_code code = own ? kg_dj_case_fill(judge, id, i, &law, err)
                                : kg_dj_case_adopt(judge, id, i, s->ref.port, i, err);
        if (code != KG_OK) {
            return code;
        }
    }
    return KG_OK;
}

static enum kg_code make_state(struct kg_worker *w, struct kg_tinstance *s, int set,
                               struct kg_err *err)
{
    enum kg_code code = kg_tstate_begin(w, &s->desc, first_id(s) + set, false, err);
    for (size_t part = 0; code == KG_OK && part < kg_tstate_parts(s->desc.nstate); part++) {
        code = fill_part(w, s, set, part, err);
    }
    s->state_made[set] = code == KG_OK;
    return code;
}

enum kg_code kg_tinstance_state(struct kg_worker *w, struct kg_tinstance *s, int set, int *id,
                                struct kg_err *err)
{
    *id = first_id(s) + set;
    return s->state_made[set] ? KG_OK : make_state(w, s, set, err);
}

/* What a candidate need not have, what calls leave changed, and inputs of which both sides get
 * copies. */
static void add_facts(const struct kg_task_desc *d, json_t *request)
{
    struct kg_buf need;
    kg_buf_init(&need, KG_TASK_STATE + 1);
    json_t *writes = json_array(), *changes = json_array();
    for (size_t i = 0; i < d->nstate; i++) {
        kg_buf_addc(&need, (char)d->state[i].need);
        if (kg_task_left(&d->state[i])) {
            json_array_append_new(changes, json_integer((json_int_t)i));
        }
    }
    for (size_t i = 0; i < d->ninputs; i++) {
        if (d->input[i].written) {
            json_array_append_new(writes, json_integer((json_int_t)i));
        }
    }
    json_object_set_new(request, "state", json_stringn(need.data, need.len));
    json_object_set_new(request, "changes", changes);
    json_object_set_new(request, "writes", writes);
    kg_buf_deinit(&need);
}

/* Whoever draws inputs goes by the description, too: candidates do. */
static enum kg_code build(struct kg_worker *w, struct kg_tinstance *s, struct kg_err *err)
{
    json_t *request = json_pack("{s:O, s:b, s:i, s:o, s:b}", "inputs", s->desc.template, "single",
                                s->single, "slices", s->slices, "strides", kg_task_layout(&s->desc),
                                "fast", s->desc.draws_there);
    add_facts(&s->desc, request);
    json_object_set_new(request, "carries", json_boolean(s->carries));
    json_object_set_new(request, "keeps", kg_tplan_structure(&s->desc));
    json_object_set_new(request, "terms", json_integer((json_int_t)kg_tplan_terms(&s->desc)));
    s->state_loaded = -1;
    if (s->consts) {
        json_object_set(request, "consts", s->consts);
    }
    return kg_tinstance_tell(w, s, KG_TC_BUILD, "building the module", request, NULL, err);
}

enum kg_code kg_tinstance_rebuild(struct kg_worker *w, struct kg_tinstance *s, int64_t trials,
                                  json_t **reply, struct kg_err *err)
{
    *reply = NULL;
    return kg_tinstance_tell(
        w, s, KG_TC_BUILD, "building the module",
        json_pack("{s:I, s:O}", "trials", (json_int_t)trials, "inputs", s->desc.template), reply,
        err);
}

json_t *kg_tinstance_build_request(const struct kg_task_desc *d)
{
    json_t *request =
        json_pack("{s:O, s:O, s:O}", "init", d->args, "kwargs", d->kwargs, "inputs", d->template);
    add_facts(d, request);
    return request;
}

static void number_cases(struct kg_tinstance *s)
{
    for (int l = 0; l < KG_TL_COUNT; l++) {
        bool after = s->desc.nleft > 0;
        bool written = s->desc.writes_inputs && l < (int)OWN_LAWS;
        int next = first_id(s) + STATE_IDS + KG_TL_COUNT, then = next + KG_TL_COUNT + 2 * l;
        s->cases[l] = (struct kg_tcase){.id = first_id(s) + STATE_IDS + l,
                                        .after_id = after ? next + l : -1,
                                        .written_id = written ? then : -1,
                                        .unwritten_id = written ? then + 1 : -1,
                                        .law = (enum kg_tlaw)l};
    }
    s->state_made[0] = s->state_made[1] = false;
}

enum kg_code kg_tinstance_open(struct kg_worker *w, struct kg_tinstance *s, struct kg_err *err)
{
    bool fresh = !s->ref.up || kg_sandbox_poll(&s->ref.runner.sandbox);
    if (!fresh && s->ready) {
        return KG_OK;
    }
    if (fresh) {
        kg_trunner_stop(w, &s->ref);
    }
    if (!s->described) {
        if (kg_tinstance_describe(w, s, s->consts, true, &s->desc, err) != KG_OK) {
            return err->code;
        }
        s->described = true;
        number_cases(s);
        kg_rng_bytes(&w->rng, s->state_key, sizeof s->state_key);
    }
    uint64_t in, out;
    if (kg_tinstance_fits(w, &s->desc, err) != KG_OK ||
        (s->kind == KG_INSTANCE_PUBLISHED && kg_tmemory_plan(w, s, err) != KG_OK)) {
        return err->code;
    }
    kg_tinstance_regions(w, s, true, &in, &out);
    if ((!stays(w, s, in, out) && start(w, s, in, out, err) != KG_OK) ||
        build(w, s, err) != KG_OK) {
        return err->code;
    }
    s->ready = true;
    return KG_OK;
}

/* Masters and answers of one problem are no room for the next one's. */
static void forget_cases(struct kg_worker *w, const struct kg_tinstance *s)
{
    if (s->described && kg_torch_of(w)->judge.pid > 0) {
        kg_tstate_forget(w, &s->desc, first_id(s), IDS);
    }
}

void kg_tinstance_close(struct kg_worker *w, struct kg_tinstance *s)
{
    if (kg_torch_of(w)->quiet_of == s) {
        kg_torch_of(w)->quiet_of = NULL;
    }
    kg_trunner_stop(w, &s->ref);
    forget_cases(w, s);
    kg_task_deinit(&s->desc);
    json_decref(s->consts);
    *s = (struct kg_tinstance){.kind = s->kind, .state_loaded = -1};
}
