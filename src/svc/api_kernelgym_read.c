/* What KernelGYM's clients read of a task: its status and its results; and how they cancel it. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_kernelgym.h"

enum view { STATUS, RESULT, WORKFLOW };

void kg_svc_kernelgym_detail(struct kg_svc_exchange *x, int status, const char *before,
                             const char *id, const char *after)
{
    struct kg_buf text;
    kg_buf_init(&text, 2048);
    kg_buf_addf(&text, "%s%.1000s%s", before, id, after);
    kg_svc_reply_json(x, status, json_pack("{s:o}", "detail", kg_json_text(text.data, text.len)));
    kg_buf_deinit(&text);
}

/* The job of the id in the path. False: it was answered. */
static bool find(struct kg_svc_exchange *x, struct kg_svc_api *a, const char *unknown,
                 struct kg_svc_job *job)
{
    const char *id = kg_svc_request(x)->arg[0];
    struct kg_err err = KG_ERR_INIT;
    enum kg_code code = kg_svc_kernelgym_last(a, id, job, &err);
    if (code == KG_E_NOT_FOUND) {
        kg_svc_kernelgym_detail(x, 404, "Task ", id, unknown);
    } else if (code != KG_OK) {
        kg_svc_kernelgym_detail(x, 503, "the store can't be read now", "", "");
    }
    return code == KG_OK;
}

static void show(struct kg_svc_exchange *x, struct kg_svc_api *a, enum view view)
{
    const char *id = kg_svc_request(x)->arg[0];
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    if (find(x, a, " not found", &job)) {
        json_t *status = NULL, *result = kg_svc_kernelgym_view(a, id, &job, &status);
        bool runs = job.state == KG_SVC_WAITING || job.state == KG_SVC_RUNNING;
        if (result == NULL) {
            kg_svc_kernelgym_detail(x, 503, "the record can't be read now: ask again", "", "");
        } else if (view == STATUS) {
            kg_svc_reply_json(x, 200, json_incref(status));
        } else if (runs) {
            kg_svc_kernelgym_detail(x, 404, "Task ", id, " not found or not finished");
        } else {
            kg_svc_reply_json(x, 200,
                              view == RESULT ? json_incref(result)
                                             : kg_kernelgym_workflow(json_incref(result)));
        }
        json_decref(status);
        json_decref(result);
    }
    kg_svc_job_deinit(&job);
}

void kg_svc_kernelgym_get_status(struct kg_svc_exchange *x, void *ctx)
{
    show(x, ctx, STATUS);
}

void kg_svc_kernelgym_get_results(struct kg_svc_exchange *x, void *ctx)
{
    show(x, ctx, RESULT);
}

void kg_svc_kernelgym_get_workflow(struct kg_svc_exchange *x, void *ctx)
{
    show(x, ctx, WORKFLOW);
}

/* --- cancelling --- */

struct cancel {
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    char id[KG_ULID_LEN], worker[128];
    bool changed;
};

static enum kg_code run_cancel(struct kg_svc_op *op, struct kg_svc_store *store,
                               struct kg_svc_segments *segments, struct kg_err *err)
{
    struct cancel *c = (struct cancel *)op;
    (void)segments;
    return store->kind->cancel(store, c->id, kg_svc_now_ms(), &c->changed, err);
}

static void cancel_done(struct kg_svc_op *op)
{
    struct cancel *c = (struct cancel *)op;
    const char *id = kg_svc_request(c->x)->arg[0];
    if (op->err.code != KG_OK && op->err.code != KG_E_NOT_FOUND) {
        kg_svc_kernelgym_detail(c->x, 503, "the task can't be cancelled now: ask again", "", "");
    } else if (op->err.code != KG_OK || !c->changed) {
        kg_svc_kernelgym_detail(c->x, 404, "Task ", id, " not found or cannot be cancelled");
    } else {
        char message[400];
        snprintf(message, sizeof message, "Task %.300s cancelled successfully", id);
        kg_svc_reply_json(c->x, 200,
                          json_pack("{s:o}", "message", kg_json_text(message, strlen(message))));
        struct kg_err err = KG_ERR_INIT;
        struct kg_svc_job job;
        kg_svc_job_init(&job);
        if (c->api->store->kind->get(c->api->store, c->id, false, &job, &err) == KG_OK) {
            kg_svc_tell_worker(c->api, &job);
        }
        kg_svc_job_deinit(&job);
        kg_svc_ended(c->api, c->id);
    }
    free(c);
}

void kg_svc_kernelgym_cancel(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    if (find(x, ctx, " not found or cannot be cancelled", &job)) {
        struct cancel *c = calloc(1, sizeof *c);
        KG_ASSERT(c != NULL);
        *c = (struct cancel){.op = {.run = run_cancel, .done = cancel_done}, .api = ctx, .x = x};
        snprintf(c->id, sizeof c->id, "%s", job.id);
        snprintf(c->worker, sizeof c->worker, "%s", job.worker);
        kg_svc_writer_post(c->api->writer, &c->op);
    }
    kg_svc_job_deinit(&job);
}
