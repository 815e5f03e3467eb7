/* POST /v1/worker/claim: jobs for the idle slots of a worker. A claim that finds none waits. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_worker.h"

enum { SLOTS_MAX = 512 };

static const struct kg_svc_offer nothing; /* of a device that is put aside */

static enum kg_code run_claim(struct kg_svc_op *op, struct kg_svc_store *store,
                              struct kg_svc_segments *segments, struct kg_err *err)
{
    struct kg_svc_poll *p = (struct kg_svc_poll *)op;
    (void)segments;
    for (size_t i = 0; i < p->nslots; i++) { /* an earlier try may have failed half-way */
        kg_svc_job_deinit(&p->job[i]);
        kg_svc_job_init(&p->job[i]);
    }
    const struct kg_svc_ask ask = {.worker = p->worker,
                                   .slots = p->slot,
                                   .nslots = p->nslots,
                                   .term_ms = p->api->o->term_ms,
                                   .now_ms = kg_svc_now_ms()};
    return store->kind->claim(store, &ask, p->job, p->of, &p->n, err);
}

static json_t *raw(const char *text)
{
    return json_loads(text, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
}

static json_t *claim_json(const struct kg_svc_poll *p, size_t i)
{
    const struct kg_svc_job *j = &p->job[i];
    char lane[KG_SHA256_HEX];
    kg_svc_lane_name(j, lane);
    json_t *out =
        json_pack("{s:I, s:s, s:s, s:I, s:s, s:s, s:I, s:o, s:o}", "slot", (json_int_t)p->of[i],
                  "id", j->id, "claim", j->claim, "fence", (json_int_t)j->fence, "lane", lane,
                  "needs", j->device, "term_ms", (json_int_t)p->api->o->term_ms, "configuration",
                  raw(j->configuration), "task", raw(j->task));
    if (j->deadline_ms > 0) {
        double left = (double)(j->deadline_ms - kg_svc_now_ms()) / 1000;
        json_object_set_new(out, "deadline_s", json_real(left > 0.01 ? left : 0.01));
    }
    return out;
}

static void free_jobs(struct kg_svc_poll *p)
{
    for (size_t i = 0; i < p->nslots; i++) {
        kg_svc_job_deinit(&p->job[i]);
    }
}

static void claim_done(struct kg_svc_op *op)
{
    struct kg_svc_poll *p = (struct kg_svc_poll *)op;
    p->posted = false;
    if (op->err.code != KG_OK && !p->gone) {
        struct kg_err err = op->err;
        struct kg_svc_exchange *x = p->x;
        free_jobs(p);
        kg_svc_poll_free(p);
        kg_svc_on_gone(x, NULL, NULL);
        kg_svc_answer_error(x, &err, "");
        return;
    }
    if (p->n == 0 && !p->gone && !p->api->stopping && kg_svc_now_ms() < p->until_ms) {
        free_jobs(p);
        memset(p->job, 0, p->nslots * sizeof *p->job);
        if (p->again && kg_svc_is_there(p->x)) {
            kg_svc_claim_again(p);
        }
        return; /* it waits for a job */
    }
    json_t *claims = json_array();
    for (size_t i = 0; i < p->n; i++) {
        json_array_append_new(claims, claim_json(p, i));
    }
    free_jobs(p);
    kg_svc_poll_answer(p, json_pack("{s:o}", "claims", claims));
}

void kg_svc_claim_again(struct kg_svc_poll *p)
{
    for (size_t i = 0; i < p->nslots; i++) {
        const struct kg_svc_claim_device *d = &p->device[p->on[i]];
        p->slot[i].offer = kg_svc_is_aside(p->api, d->name) ? &nothing : &d->offer;
    }
    p->posted = true;
    p->again = false;
    p->op.run = run_claim;
    p->op.done = claim_done;
    kg_svc_writer_post(p->api->writer, &p->op);
}

/* Either words, which are one device without a name, or devices as objects. */
static bool read_devices(struct kg_svc_poll *p)
{
    const json_t *devices = json_object_get(p->body, "devices");
    size_t i;
    json_t *v;
    if (json_array_size(devices) == 0 || json_array_size(devices) > KG_SVC_DEVICES_MAX) {
        return false;
    }
    p->device = calloc(KG_SVC_DEVICES_MAX, sizeof *p->device);
    KG_ASSERT(p->device != NULL);
    if (json_is_string(json_array_get(devices, 0))) {
        json_t *one = json_pack("{s:O}", "words", devices);
        p->device[0].name = "";
        p->ndevices = 1;
        bool ok = kg_svc_offer_read(one, p->device[0].words, &p->device[0].offer);
        json_decref(one); /* the words are the body's */
        return ok;
    }
    json_array_foreach(devices, i, v)
    {
        struct kg_svc_claim_device *d = &p->device[p->ndevices++];
        const char *name = json_string_value(json_object_get(v, "name"));
        d->name = name != NULL ? name : "";
        if (!kg_svc_offer_read(v, d->words, &d->offer)) {
            return false;
        }
    }
    return true;
}

static bool read_slots(struct kg_svc_poll *p)
{
    const json_t *slots = json_object_get(p->body, "slots");
    size_t n = json_array_size(slots), i;
    json_t *v;
    if (n == 0 || n > SLOTS_MAX || !read_devices(p)) {
        return false;
    }
    p->slot = calloc(n, sizeof *p->slot);
    p->job = calloc(n, sizeof *p->job);
    p->of = calloc(n, sizeof *p->of);
    p->on = calloc(n, sizeof *p->on);
    KG_ASSERT(p->slot != NULL && p->job != NULL && p->of != NULL && p->on != NULL);
    json_array_foreach(slots, i, v)
    {
        const char *lane = json_string_value(json_object_get(v, "lane"));
        const json_t *held = json_object_get(v, "held_ms");
        json_int_t on = json_integer_value(json_object_get(v, "device"));
        if (on < 0 || on >= (json_int_t)p->ndevices) {
            return false;
        }
        p->on[p->nslots] = (size_t)on;
        p->slot[p->nslots++] = (struct kg_svc_slot){.lane = lane != NULL ? lane : "",
                                                    .held_ms = json_integer_value(held)};
    }
    return true;
}

void kg_svc_post_claim(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const members[] = {"worker", "devices", "slots", "wait_s", NULL};
    double wait;
    json_t *body = kg_svc_worker_body(x, members, &wait);
    if (body == NULL) {
        return;
    }
    struct kg_svc_poll *p = kg_svc_poll_new(ctx, x, body, wait);
    p->is_claim = true;
    if (!read_slots(p)) {
        kg_svc_on_gone(x, NULL, NULL);
        kg_svc_poll_free(p);
        kg_svc_reply_error(x, 400, "bad_claim", "",
                           "`worker`, `devices` and 1 to %d `slots` are needed", SLOTS_MAX);
        return;
    }
    kg_svc_claim_again(p);
}
