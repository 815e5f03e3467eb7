/* Reads, cancelling and queueing again, and what the service says of itself. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_private.h"

void kg_svc_get_evaluation(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const known[] = {"wait", NULL};
    double wait = 0;
    if (kg_svc_query_unknown(x, known) != NULL) {
        kg_svc_reply_error(x, 400, "bad_query", "", "the query may have `wait` only");
        return;
    }
    const char *id = kg_svc_path_id(x);
    if (id != NULL && kg_svc_query_number(x, "wait", KG_SVC_WAIT_MAX_S, &wait)) {
        struct kg_svc_api *a = ctx;
        struct kg_err err = KG_ERR_INIT;
        struct kg_svc_job job;
        kg_svc_job_init(&job);
        if (kg_svc_query(x, "wait") != NULL) {
            kg_svc_wait_for(a, x, id, wait);
        } else if (a->store->kind->get(a->store, id, false, &job, &err) != KG_OK) {
            kg_svc_answer_error(x, &err, "");
        } else {
            kg_svc_answer_job(a, x, 200, &job);
        }
        kg_svc_job_deinit(&job);
    }
}

static bool add_job(void *ctx, const struct kg_svc_job *job)
{
    json_array_append_new(ctx, kg_svc_job_json(job));
    return true;
}

void kg_svc_list_evaluations(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const known[] = {"state", "problem", "verdict", "batch",
                                        "after", "limit",   NULL};
    struct kg_svc_api *a = ctx;
    struct kg_err err = KG_ERR_INIT;
    int64_t limit = 0;
    enum kg_svc_state state;
    const char *after, *wanted = kg_svc_query(x, "state");
    if (kg_svc_query_unknown(x, known) != NULL) {
        kg_svc_reply_error(x, 400, "bad_query", "",
                           "the query may have state, problem, verdict, batch, after, limit");
        return;
    }
    if (!kg_svc_query_whole(x, "limit", 1000, &limit) || !kg_svc_query_cursor(x, &after)) {
        return;
    }
    if (wanted != NULL && !kg_svc_state_parse(wanted, &state)) {
        kg_svc_reply_error(x, 400, "bad_query", "state",
                           "`state` must be waiting, running, done, cancelled or dead");
        return;
    }
    char next[KG_ULID_LEN] = "";
    json_t *jobs = json_array();
    const struct kg_svc_filter f = {.state = wanted != NULL ? (int)state : -1,
                                    .problem = kg_svc_query(x, "problem"),
                                    .verdict = kg_svc_query(x, "verdict"),
                                    .batch = kg_svc_query(x, "batch"),
                                    .after = after,
                                    .limit = limit >= 1 ? (size_t)limit : 100,
                                    .next = next};
    if (a->store->kind->list(a->store, &f, add_job, jobs, &err) != KG_OK) {
        json_decref(jobs);
        kg_svc_answer_error(x, &err, "");
        return;
    }
    kg_svc_reply_json(
        x, 200,
        json_pack("{s:o, s:s?}", "evaluations", jobs, "next", next[0] != '\0' ? next : NULL));
}

/* --- changes --- */

struct change_op {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    char id[KG_ULID_LEN];
    bool requeue, changed;
};

static enum kg_code run_change(struct kg_svc_op *op, struct kg_svc_store *store,
                               struct kg_svc_segments *segments, struct kg_err *err)
{
    struct change_op *o = (struct change_op *)op;
    (void)segments;
    return o->requeue ? store->kind->requeue(store, o->id, kg_svc_now_ms(), err)
                      : store->kind->cancel(store, o->id, kg_svc_now_ms(), &o->changed, err);
}

/* A token that may not read learns the id and the state. */
static void hide(struct kg_svc_job *j)
{
    j->record = (struct kg_svc_place){.len = 0};
    j->problem = j->key = j->batch = "";
    j->verdict = j->reason = j->error = j->blame = j->message = "";
}

static void change_done(struct kg_svc_op *op)
{
    struct change_op *o = (struct change_op *)op;
    struct kg_svc_api *a = o->api;
    struct kg_err err = op->err;
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    if (err.code == KG_OK && a->store->kind->get(a->store, o->id, false, &job, &err) == KG_OK) {
        a->fresh = a->fresh || o->requeue;
        if (o->changed) {
            kg_svc_tell_worker(a, &job);
            kg_svc_ended(a, o->id);
        }
        if ((kg_svc_request(o->x)->scopes & KG_SVC_READ) == 0) {
            hide(&job);
        }
        kg_svc_answer_job(a, o->x, 200, &job);
    } else {
        kg_svc_answer_error(o->x, &err, "");
    }
    kg_svc_job_deinit(&job);
    free(o);
}

static void change(struct kg_svc_exchange *x, struct kg_svc_api *a, bool requeue)
{
    const char *id = kg_svc_path_id(x);
    if (id == NULL) {
        return;
    }
    struct change_op *o = calloc(1, sizeof *o);
    KG_ASSERT(o != NULL);
    *o = (struct change_op){
        .op = {.run = run_change, .done = change_done}, .api = a, .x = x, .requeue = requeue};
    snprintf(o->id, sizeof o->id, "%s", id);
    kg_svc_writer_post(a->writer, &o->op);
}

void kg_svc_delete_evaluation(struct kg_svc_exchange *x, void *ctx)
{
    change(x, ctx, false);
}

void kg_svc_requeue_evaluation(struct kg_svc_exchange *x, void *ctx)
{
    change(x, ctx, true);
}

/* --- the service itself --- */

void kg_svc_get_problems(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    struct kg_err err = KG_ERR_INIT;
    json_t *list = json_array();
    if (a->o->gym->problems(a->o->gym->ctx, list, &err) != KG_OK) {
        json_decref(list);
        kg_svc_reply_error(x, 503, "no_problems", "", "the suites can't be read");
        return;
    }
    kg_svc_reply_json(x, 200, json_pack("{s:o}", "problems", list));
}

void kg_svc_get_prompt(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const known[] = {"language", NULL};
    struct kg_svc_api *a = ctx;
    const char *name = kg_svc_request(x)->arg[0];
    struct kg_err err = KG_ERR_INIT, ignored = KG_ERR_INIT;
    struct kg_buf text;
    char device[KG_SVC_DEVICE_MAX];
    if (kg_svc_query_unknown(x, known) != NULL) {
        kg_svc_reply_error(x, 400, "bad_query", "", "the query may have `language` only");
        return;
    }
    if (kg_svc_is_path(name) ||
        a->o->gym->problem(a->o->gym->ctx, name, device, &ignored) == KG_E_USAGE) {
        kg_svc_reply_error(x, 400, "bad_problem", "problem",
                           "`problem` must be a name of the suites, not a path");
        return;
    }
    kg_buf_init(&text, 4u << 20);
    enum kg_code code =
        a->o->gym->prompt(a->o->gym->ctx, name, kg_svc_query(x, "language"), &text, &err);
    if (code == KG_OK) {
        kg_svc_reply_json(
            x, 200,
            json_pack("{s:s, s:o}", "problem", name, "prompt", kg_json_text(text.data, text.len)));
    } else if (code == KG_E_USAGE) {
        kg_svc_reply_error(x, 400, "bad_query", "language", "%s", err.message);
    } else {
        kg_svc_reply_error(x, code == KG_E_NOT_FOUND ? 404 : 503, "no_problem", "problem", "%s",
                           err.message);
    }
    kg_buf_deinit(&text);
}

static bool add_outcome(void *ctx, const char *name, int64_t n)
{
    static const char prefix[] = "event:finished:";
    if (strncmp(name, prefix, sizeof prefix - 1) == 0) {
        json_object_set_new(ctx, name + sizeof prefix - 1, json_integer(n));
    }
    return true;
}

void kg_svc_get_stats(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_stats s;
    json_t *outcomes = json_object(); /* records by verdict, or by the code of an error */
    if (a->store->kind->stats(a->store, &s, &err) != KG_OK ||
        a->store->kind->counts(a->store, add_outcome, outcomes, &err) != KG_OK) {
        json_decref(outcomes);
        kg_svc_answer_error(x, &err, "");
        return;
    }
    int64_t now = kg_svc_now_ms();
    json_t *jobs = json_object();
    for (int i = 0; i < KG_SVC_STATES; i++) {
        json_object_set_new(jobs, kg_svc_state_name((enum kg_svc_state)i), json_integer(s.jobs[i]));
    }
    kg_svc_reply_json(
        x, 200,
        json_pack("{s:o, s:o, s:I, s:f, s:I, s:I, s:f, s:s}", "jobs", jobs, "outcomes", outcomes,
                  "lanes", (json_int_t)s.lanes, "oldest_waiting_s",
                  s.oldest_ms > 0 ? (double)(now - s.oldest_ms) / 1000 : 0.0, "claims_expired",
                  (json_int_t)s.expired, "answers_refused", (json_int_t)s.refused, "uptime_s",
                  (double)(now - a->begun_ms) / 1000, "store", a->store->kind->name));
}

void kg_svc_get_live(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    kg_svc_reply_json(x, 200, json_pack("{s:b}", "live", 1));
}
