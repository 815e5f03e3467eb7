/* What the client of a supervisor asks for. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "gym/pool/supervisor.h"
#include "gym/prompt/prompt.h"

/* Tasks of one problem have the same number: of its name, and of its text where that is given. */
static uint64_t problem_number(const struct kg_frame *f)
{
    const char *name = kg_frame_text(f->head, "problem");
    size_t text = (size_t)kg_frame_int(f->head, "problem_len");
    char hex[KG_SHA256_HEX], part[17];
    struct kg_sha256 h;
    kg_sha256_begin(&h);
    kg_sha256_part(&h, name ? name : "", name ? strlen(name) : 0);
    kg_sha256_part(&h, f->body, text <= f->len ? text : 0);
    kg_sha256_end(&h, hex);
    memcpy(part, hex, 16);
    part[16] = 0;
    return strtoull(part, NULL, 16) | 1;
}

static void add_task(struct kg_supervisor *s, struct kg_frame *f)
{
    struct kg_err e = KG_ERR_INIT;
    struct kg_pool_task *t = calloc(1, sizeof *t);
    double deadline_s = json_number_value(json_object_get(f->head, "deadline_s"));
    KG_ASSERT(t); /* ends this supervisor; the client starts another */
    t->id = (uint64_t)kg_frame_int(f->head, "id");
    t->problem = problem_number(f);
    t->deadline_ns = deadline_s > 0 ? kg_clock_ns() + (int64_t)(deadline_s * 1e9) : 0;
    t->head = f->head;
    t->body = f->body;
    t->len = f->len;
    f->head = NULL;
    f->body = NULL;
    if (kg_frame_int(t->head, "deaths") >= KG_POOL_TRIES) {
        kg_fail(&e, KG_E_GYM, "the pool's supervisor died twice while this task was judged");
        kg_supervisor_fail(s, t, &e);
    } else if (!kg_pool_tasks_add(&s->tasks, t)) {
        kg_fail(&e, KG_E_LIMIT, "no memory for another task");
        kg_supervisor_fail(s, t, &e);
    }
}

/* A task that is not there has a result on its way. */
static void cancel(struct kg_supervisor *s, uint64_t id)
{
    struct kg_err e = KG_ERR_INIT;
    size_t at = kg_pool_tasks_find(&s->tasks, id);
    if (at < s->tasks.n) {
        kg_fail(&e, KG_E_CANCELLED, "cancelled by the caller");
        kg_supervisor_fail(s, kg_pool_tasks_take(&s->tasks, at), &e);
        return;
    }
    for (int i = 0; i < s->nworkers; i++) {
        struct kg_pool_task *t = s->worker[i]->task;
        if (t && t->id == id) {
            t->cancelled = true; /* the next look signals the worker */
        }
    }
}

/* The core with this number; NULL: it is none of the pool's. */
static struct kg_pool_core *find_core(struct kg_supervisor *s, int cpu, struct kg_err *err)
{
    for (int i = 0; i < s->ncores; i++) {
        if (s->core[i].cpu == cpu) {
            return &s->core[i];
        }
    }
    kg_fail(err, KG_E_USAGE, "core %d is not one of the pool's", cpu);
    return NULL;
}

/* Answered by kg_supervisor_tend, once the core is free. */
static enum kg_code hold(struct kg_supervisor *s, const json_t *head, struct kg_err *err)
{
    int cpu = (int)kg_frame_int(head, "core");
    struct kg_pool_core *core = cpu == KG_ALL_CORES ? NULL : find_core(s, cpu, err);
    int64_t ms = kg_frame_int(head, "timeout_ms");
    if (!core && cpu != KG_ALL_CORES) {
        return err->code;
    }
    struct kg_pool_hold *grown = realloc(s->hold, ((size_t)s->nholds + 1) * sizeof *grown);
    if (!grown) {
        return kg_fail(err, KG_E_LIMIT, "no memory");
    }
    s->hold = grown;
    s->hold[s->nholds++] =
        (struct kg_pool_hold){.request = kg_frame_int(head, "request"),
                              .core = core ? (int)(core - s->core) : KG_ALL_CORES,
                              .deadline_ns = ms < 0 ? 0 : kg_clock_ns() + ms * 1000000};
    return KG_OK;
}

static void release(struct kg_supervisor *s, int cpu, struct kg_err *err)
{
    struct kg_pool_core *core = cpu == KG_ALL_CORES ? NULL : find_core(s, cpu, err);
    if (core) {
        core->held = false;
    }
    for (int i = 0; i < s->ncores && cpu == KG_ALL_CORES; i++) {
        s->core[i].held = false;
    }
}

static enum kg_code tell(const struct kg_supervisor *s, json_t *reply, struct kg_err *err)
{
    int running = 0;
    for (int i = 0; i < s->nworkers; i++) {
        running += s->worker[i]->state == KG_WORKER_BUSY;
    }
    json_t *info = json_pack("{s:i, s:i, s:i, s:I}", "workers", s->wanted, "cores", s->ncores,
                             "running", running, "queued", (json_int_t)s->tasks.n);
    bool good = json_object_update(reply, info) == 0;
    json_decref(info);
    return good ? KG_OK : kg_fail(err, KG_E_LIMIT, "no memory");
}

static void answer(struct kg_supervisor *s, const struct kg_frame *f)
{
    struct kg_err e = KG_ERR_INIT;
    const char *call = kg_frame_text(f->head, "call");
    json_t *reply = json_pack("{s:I}", "request", (json_int_t)kg_frame_int(f->head, "request"));
    struct kg_buf body;
    kg_buf_init(&body, KG_PROMPT_MAX_BYTES);
    call = call ? call : "";
    if (strcmp(call, "prompt") == 0) {
        struct kg_err cause = KG_ERR_INIT; /* filled on the way to success, too */
        e = kg_supervisor_prompt(s, f, &body, &cause) == KG_OK ? e : cause;
    } else if (strcmp(call, "info") == 0) {
        (void)!tell(s, reply, &e);
    } else if (strcmp(call, "resize") == 0) {
        (void)!kg_supervisor_resize(s, (int)kg_frame_int(f->head, "workers"), &e);
    } else if (strcmp(call, "hold") == 0) {
        if (hold(s, f->head, &e) == KG_OK) {
            json_decref(reply);
            kg_buf_deinit(&body);
            return;
        }
    } else if (strcmp(call, "release") == 0) {
        release(s, (int)kg_frame_int(f->head, "core"), &e);
    } else {
        kg_fail(&e, KG_E_USAGE, "no call `%.40s`", call);
    }
    kg_channel_queue_or_end(&s->client, KG_FRAME_REPLY, kg_frame_put_error(reply, &e), body.data,
                            body.len);
    kg_buf_deinit(&body);
}

void kg_supervisor_obey(struct kg_supervisor *s, struct kg_frame *f)
{
    switch (f->kind) {
    case KG_FRAME_TASK:
        add_task(s, f);
        break;
    case KG_FRAME_CANCEL:
        cancel(s, (uint64_t)kg_frame_int(f->head, "id"));
        break;
    case KG_FRAME_REQUEST:
        answer(s, f);
        break;
    case KG_FRAME_DRAIN:
        s->draining = true;
        break;
    default:
        s->client.ended = true; /* nonsense */
    }
}
