/* KernelGYM's requests: /evaluate, /evaluate/batch, /workflow/submit, /debug/validate. */
#include "svc/api_kernelgym.h"

#include <stdlib.h>
#include <string.h>

#include "svc/api_group.h"

enum { WAIT_S = 300, GENERATIONS_TRIED = 16 };

enum form { EVALUATE, WORKFLOW, BATCH };

struct submission {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    enum form form;
    char owner[KG_SVC_OWNER_LEN];
    struct kg_kernelgym_batch batch; /* of one task where it is not BATCH */
    struct task {
        struct kg_svc_job job;
        int64_t generation;
        char older[KG_ULID_LEN]; /* to be cancelled; "": none */
        bool there;              /* the job was found and is joined, or is accepted */
        bool known, cancelled;   /* the store's answers: the job was there, the older one ended */
    } * task;                    /* [batch.n] */
    char (*id)[KG_ULID_LEN];     /* [batch.n] of the jobs */
    json_t *results;             /* of the first tasks, which have ended */
    int64_t begun_ms;
    int tries; /* in which a generation was taken */
};

static void destroy(void *ctx)
{
    struct submission *s = ctx;
    for (size_t i = 0; s->task && i < s->batch.n; i++) {
        kg_svc_job_deinit(&s->task[i].job);
    }
    kg_kernelgym_batch_deinit(&s->batch);
    json_decref(s->results);
    free(s->task);
    free(s->id);
    free(s);
}

static void refuse(struct kg_svc_exchange *x, const struct kg_kernelgym_refusal *no)
{
    if (!no->detail) {
        kg_svc_header(x, "X-Error-Code", "VALIDATION_ERROR");
    }
    kg_svc_reply_json(x, no->status, kg_kernelgym_refusal_body(no, kg_svc_now_ms() * 1000));
}

/* --- accepting --- */

/* It can't be judged, and its client reads the answer. One that polls reads the state of a job. */
static bool has_no_job(const struct submission *s, size_t i)
{
    const struct kg_kernelgym_request *r = &s->batch.task[i];
    return r->failure_code != NULL && (s->form == BATCH || !r->polls);
}

/* Joins the last job of the id if it asks the same and was not lost, else the next generation
 * begins. */
static enum kg_code place(struct submission *s, size_t i, struct kg_err *err)
{
    const struct kg_kernelgym_request *r = &s->batch.task[i];
    struct task *t = &s->task[i];
    struct kg_svc_job last;
    kg_svc_job_init(&last);
    enum kg_code code = kg_svc_kernelgym_last(s->api, r->task_id, &last, err);
    bool same = code == KG_OK && strcmp(last.body_hash, r->content_key) == 0;
    if (same && !r->force_refresh && !kg_svc_job_was_lost(&last)) {
        t->there = true;
        snprintf(s->id[i], KG_ULID_LEN, "%s", last.id);
    } else if (code == KG_OK) {
        t->generation = last.batch_at + 1;
        snprintf(t->older, sizeof t->older, "%s", last.id);
    }
    kg_svc_job_deinit(&last);
    return code == KG_E_NOT_FOUND ? KG_OK : code;
}

static bool is_submitted(const struct submission *s, size_t i)
{
    return !has_no_job(s, i) && !s->task[i].there;
}

static enum kg_code submit(struct submission *s, size_t i, const struct kg_svc_room *room,
                           struct kg_svc_store *store, struct kg_err *err)
{
    struct task *t = &s->task[i];
    const struct kg_svc_store_kind *kind = store->kind;
    kg_svc_job_deinit(&t->job);
    kg_svc_job_init(&t->job);
    if (kg_svc_kernelgym_job(&s->batch.task[i], t->generation, &t->job, err) != KG_OK) {
        return err->code;
    }
    memcpy(t->job.owner, s->owner, sizeof s->owner);
    if (kind->submit(store, &t->job, room, s->id[i], &t->known, err) != KG_OK ||
        t->older[0] == '\0') {
        return err->code;
    }
    return kind->cancel(store, t->older, kg_svc_now_ms(), &t->cancelled, err);
}

/* One chain, so all are accepted or none: the first asks for the room of all that follow. */
static enum kg_code run(struct kg_svc_op *op, struct kg_svc_store *store,
                        struct kg_svc_segments *segments, struct kg_err *err)
{
    struct submission *s = (struct submission *)op;
    size_t left = 0;
    (void)segments;
    for (size_t i = 0; i < s->batch.n; i++) {
        s->task[i].known = false;
        left += is_submitted(s, i);
    }
    for (size_t i = 0; i < s->batch.n; i++) {
        if (is_submitted(s, i)) {
            const struct kg_svc_room room = kg_svc_room_for(s->api, --left);
            if (submit(s, i, &room, store, err) != KG_OK) {
                return err->code;
            }
        }
    }
    return KG_OK;
}

/* Another request of the same id has taken a generation meanwhile, so the chain ended there: the
 * next generation is tried. Those before it are accepted. */
static bool begin_anew(struct submission *s)
{
    size_t taken = s->batch.n;
    for (size_t i = 0; i < s->batch.n; i++) {
        taken = s->task[i].known ? i : taken;
    }
    if (taken == s->batch.n || ++s->tries == GENERATIONS_TRIED) {
        return false;
    }
    for (size_t i = 0; i < taken; i++) {
        s->task[i].there = true;
    }
    s->task[taken].generation++;
    return true;
}

/* --- answering --- */

static json_t *body_of(struct submission *s)
{
    if (s->form == BATCH) {
        return kg_kernelgym_batch(s->batch.id, json_incref(s->results), s->begun_ms * 1000,
                                  kg_svc_now_ms() * 1000);
    }
    json_t *one = json_incref(json_array_get(s->results, 0));
    return s->form == WORKFLOW ? kg_kernelgym_workflow(one) : one;
}

static void ask_again(struct kg_svc_exchange *x, const char *what)
{
    kg_svc_header(x, "Retry-After", "5");
    kg_svc_reply_json(x, 503, json_pack("{s:s+}", "detail", what, ": ask again"));
}

/* Status 200 whatever became of them: another one is an endless loop for these clients. But what
 * can't be read is no failed task, which they would take for the candidate's. */
static bool answer(void *ctx, bool now)
{
    struct submission *s = ctx;
    for (size_t i = json_array_size(s->results); i < s->batch.n; i++) {
        if (has_no_job(s, i)) {
            json_array_append_new(s->results,
                                  kg_svc_kernelgym_unjudged(&s->batch.task[i], s->begun_ms * 1000));
            continue;
        }
        struct kg_err err = KG_ERR_INIT;
        struct kg_svc_job job;
        kg_svc_job_init(&job);
        enum kg_code code = s->api->store->kind->get(s->api->store, s->id[i], false, &job, &err);
        bool unread = code != KG_OK && code != KG_E_NOT_FOUND;
        bool runs = job.state == KG_SVC_WAITING || job.state == KG_SVC_RUNNING;
        bool later = !now && (unread || (code == KG_OK && runs));
        json_t *result = code == KG_OK && !later
                             ? kg_svc_kernelgym_view(s->api, s->batch.task[i].task_id, &job, NULL)
                             : NULL;
        kg_svc_job_deinit(&job);
        if (later) {
            s->api->unread = s->api->unread || unread;
            return false;
        }
        if (result == NULL) {
            ask_again(s->x, "the task can't be read now");
            return true;
        }
        json_array_append_new(s->results, result);
    }
    kg_svc_reply_json(s->x, 200, body_of(s));
    return true;
}

static void tell_of_cancelled(struct submission *s)
{
    for (size_t i = 0; i < s->batch.n; i++) {
        struct kg_err err = KG_ERR_INIT;
        struct kg_svc_job job;
        kg_svc_job_init(&job);
        if (s->task[i].cancelled &&
            s->api->store->kind->get(s->api->store, s->task[i].older, false, &job, &err) == KG_OK) {
            kg_svc_tell_worker(s->api, &job);
            kg_svc_ended(s->api, job.id);
        }
        kg_svc_job_deinit(&job);
    }
}

static void done(struct kg_svc_op *op)
{
    struct submission *s = (struct submission *)op;
    double wait = s->form != BATCH && s->batch.task[0].polls ? 0 : WAIT_S;
    if (op->err.code == KG_E_USAGE && begin_anew(s)) {
        kg_svc_writer_post(s->api->writer, &s->op);
        return;
    }
    if (op->err.code != KG_OK) {
        ask_again(s->x,
                  op->err.code == KG_E_FULL ? op->err.message : "the task can't be recorded now");
        destroy(s);
        return;
    }
    s->api->fresh = true;
    tell_of_cancelled(s);
    kg_svc_group_wait(s->api, s->x, s->id, s->batch.n, wait, answer, destroy, s);
}

/* --- requests --- */

static bool read_one(struct submission *s, struct kg_kernelgym_refusal *no)
{
    const struct kg_svc_request *q = kg_svc_request(s->x);
    const struct kg_kernelgym_settings *own = &s->api->o->kernelgym;
    if (s->form == BATCH) {
        return kg_kernelgym_batch_read(q->body, q->len, own, &s->batch, no);
    }
    s->batch.task = calloc(1, sizeof *s->batch.task);
    KG_ASSERT(s->batch.task != NULL);
    bool good = s->form == WORKFLOW
                    ? kg_kernelgym_workflow_read(q->body, q->len, own, s->batch.task, no)
                    : kg_kernelgym_request_read(q->body, q->len, own, s->batch.task, no);
    s->batch.n = good;
    return good;
}

static void post(struct kg_svc_exchange *x, struct kg_svc_api *a, enum form form)
{
    struct kg_kernelgym_refusal no;
    struct kg_err err = KG_ERR_INIT;
    struct submission *s = calloc(1, sizeof *s);
    KG_ASSERT(s != NULL);
    *s = (struct submission){.op = {.run = run, .done = done},
                             .api = a,
                             .x = x,
                             .form = form,
                             .results = json_array(),
                             .begun_ms = kg_svc_now_ms()};
    memcpy(s->owner, kg_svc_request(x)->owner, sizeof s->owner);
    if (!read_one(s, &no)) {
        refuse(x, &no);
        destroy(s);
        return;
    }
    s->task = calloc(s->batch.n, sizeof *s->task);
    s->id = calloc(s->batch.n, sizeof *s->id);
    KG_ASSERT(s->task != NULL && s->id != NULL);
    bool some = false;
    for (size_t i = 0; i < s->batch.n; i++) {
        kg_svc_job_init(&s->task[i].job);
        if (!has_no_job(s, i) && place(s, i, &err) != KG_OK) {
            kg_svc_reply_json(x, 503, json_pack("{s:s}", "detail", "the store can't be read now"));
            destroy(s);
            return;
        }
        some = some || is_submitted(s, i);
    }
    if (some && !kg_svc_has_space(a)) {
        ask_again(x, "the service's disk is full");
        destroy(s);
        return;
    }
    kg_svc_writer_post(a->writer, &s->op);
}

void kg_svc_kernelgym_evaluate(struct kg_svc_exchange *x, void *ctx)
{
    post(x, ctx, EVALUATE);
}

void kg_svc_kernelgym_workflow(struct kg_svc_exchange *x, void *ctx)
{
    post(x, ctx, WORKFLOW);
}

void kg_svc_kernelgym_batch(struct kg_svc_exchange *x, void *ctx)
{
    post(x, ctx, BATCH);
}

void kg_svc_kernelgym_validate(struct kg_svc_exchange *x, void *ctx)
{
    const struct kg_svc_request *q = kg_svc_request(x);
    const struct kg_svc_api *a = ctx;
    struct kg_kernelgym_request r;
    struct kg_kernelgym_refusal no;
    if (!kg_kernelgym_request_read(q->body, q->len, &a->o->kernelgym, &r, &no)) {
        refuse(x, &no);
        return;
    }
    kg_svc_reply_json(x, 200, kg_kernelgym_validation(&r));
    kg_kernelgym_request_deinit(&r);
}
