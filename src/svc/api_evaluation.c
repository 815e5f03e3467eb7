/* POST /v1/evaluations. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_private.h"

static const char *const members[] = {
    "problem",    "problem_source", "problem_file", "reply", "source",     "preset",
    "set",        "rewards",        "priority",     "key",   "deadline_s", "tag",
    "stop_after", "replay",         "needs",        NULL};

enum { DEADLINE_MAX_S = 7 * 86400 };

struct submit_op {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    struct kg_svc_job job;
    double wait_s;
    char id[KG_ULID_LEN];
    bool known;
};

static enum kg_code run(struct kg_svc_op *op, struct kg_svc_store *store,
                        struct kg_svc_segments *segments, struct kg_err *err)
{
    struct submit_op *o = (struct submit_op *)op;
    const struct kg_svc_room room = kg_svc_room_for(o->api, 0);
    (void)segments;
    return store->kind->submit(store, &o->job, &room, o->id, &o->known, err);
}

static void done(struct kg_svc_op *op)
{
    struct submit_op *o = (struct submit_op *)op;
    if (op->err.code != KG_OK) {
        kg_svc_answer_error(o->x, &op->err, "key");
    } else {
        o->api->fresh = o->api->fresh || !o->known;
        kg_svc_wait_for(o->api, o->x, o->id, o->wait_s);
    }
    kg_svc_job_deinit(&o->job);
    free(o);
}

static bool read_rest(struct kg_svc_exchange *x, const json_t *body, struct kg_svc_ask_for *ask)
{
    const json_t *deadline = json_object_get(body, "deadline_s");
    const json_t *set = json_object_get(body, "set"), *needs = json_object_get(body, "needs");
    if (deadline != NULL && !json_is_null(deadline)) {
        ask->deadline_s = json_number_value(deadline);
        if (!(ask->deadline_s > 0 && ask->deadline_s <= DEADLINE_MAX_S)) {
            kg_svc_reply_error(x, 400, "bad_deadline", "deadline_s",
                               "`deadline_s` must be a number of seconds, at most %d",
                               DEADLINE_MAX_S);
            return false;
        }
    }
    if (set != NULL && !json_is_null(set) && !json_is_object(set)) {
        kg_svc_reply_error(x, 400, "bad_set", "set", "`set` must be an object of options");
        return false;
    }
    ask->set = json_is_object(set) ? set : NULL;
    if (ask->problem_file != NULL &&
        (ask->problem_source == NULL || !kg_svc_is_file_name(ask->problem_file))) {
        kg_svc_reply_error(x, 400, "bad_problem", "problem_file",
                           "`problem_file` goes with `problem_source`: NAME.c or NAME.py");
        return false;
    }
    if (ask->stop_after != NULL && !kg_svc_is_stage(ask->stop_after)) {
        kg_svc_reply_error(x, 400, "bad_stage", "stop_after",
                           "`stop_after` must be extract, static, compile, tiny, full or timing");
        return false;
    }
    ask->needs = json_is_null(needs) ? NULL : needs;
    size_t key = ask->key != NULL ? strlen(ask->key) : 1, tag = ask->tag ? strlen(ask->tag) : 1;
    if (key == 0 || key > KG_SVC_KEY_MAX || tag == 0 || tag > KG_SVC_KEY_MAX) {
        kg_svc_reply_error(x, 400, "bad_key", key == 0 || key > KG_SVC_KEY_MAX ? "key" : "tag",
                           "`key` and `tag` have 1 to %d bytes", KG_SVC_KEY_MAX);
        return false;
    }
    return true;
}

static bool is_empty(const char *text)
{
    return text != NULL && text[0] == '\0';
}

/* The body as what is asked for. False: it was answered. */
static bool read_body(struct kg_svc_exchange *x, const json_t *body, struct kg_svc_ask_for *ask)
{
    bool ok = true;
    const char *priority = NULL;
    json_t *reply = json_object_get(body, "reply"), *source = json_object_get(body, "source");
    const struct {
        const char *name, **out;
    } texts[] = {{"problem", &ask->problem}, {"problem_source", &ask->problem_source},
                 {"preset", &ask->preset},   {"rewards", &ask->rewards},
                 {"key", &ask->key},         {"tag", &ask->tag},
                 {"priority", &priority},    {"problem_file", &ask->problem_file},
                 {"replay", &ask->replay},   {"stop_after", &ask->stop_after}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts && ok; i++) {
        *texts[i].out = kg_svc_body_text(x, body, texts[i].name, &ok);
    }
    if (!ok) {
        return false;
    }
    if (!kg_svc_take_text(x, reply, source, -1, ask)) {
        return false;
    }
    if (is_empty(ask->problem_source) || is_empty(ask->replay)) {
        kg_svc_reply_error(x, 400, "bad_text", is_empty(ask->replay) ? "replay" : "problem_source",
                           "`problem_source` and `replay` must not be empty");
        return false;
    }
    return kg_svc_read_priority(x, priority, &ask->priority) && read_rest(x, body, ask);
}

void kg_svc_post_evaluation(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    static const char *const query[] = {"wait", NULL};
    double wait = 0;
    const char *unknown = kg_svc_query_unknown(x, query);
    if (unknown != NULL) {
        kg_svc_reply_error(x, 400, "bad_query", "", "the query may have `wait` only");
        return;
    }
    if (!kg_svc_query_number(x, "wait", KG_SVC_WAIT_MAX_S, &wait)) {
        return;
    }
    json_t *body = kg_svc_body(x, members);
    if (body == NULL) {
        return;
    }
    struct kg_svc_ask_for ask = {.problem = NULL};
    struct submit_op *o = calloc(1, sizeof *o);
    KG_ASSERT(o != NULL);
    kg_svc_job_init(&o->job);
    if (read_body(x, body, &ask) && kg_svc_make_job(a, x, &ask, -1, &o->job)) {
        o->op.run = run;
        o->op.done = done;
        o->api = a;
        o->x = x;
        o->wait_s = wait;
        kg_svc_writer_post(a->writer, &o->op);
    } else {
        kg_svc_job_deinit(&o->job);
        free(o);
    }
    json_decref(body);
}
