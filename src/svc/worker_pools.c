/* Pools of a worker: one for each configuration that it was asked for lately. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "svc/worker_private.h"

enum { SETTINGS_MAX = 64 };

static void fail_from(struct kg_err *err, const struct kgym_error *e)
{
    static const enum kg_code codes[] = {
        [KGYM_OK] = KG_OK,
        [KGYM_E_USAGE] = KG_E_USAGE,
        [KGYM_E_INPUT] = KG_E_INPUT,
        [KGYM_E_NOT_FOUND] = KG_E_NOT_FOUND,
        [KGYM_E_IO] = KG_E_IO,
        [KGYM_E_LIMIT] = KG_E_LIMIT,
        [KGYM_E_HOST] = KG_E_HOST,
        [KGYM_E_PROBLEM] = KG_E_PROBLEM,
        [KGYM_E_GYM] = KG_E_GYM,
        [KGYM_E_CANCELLED] = KG_E_CANCELLED,
        [KGYM_E_NEEDS_GPU] = KG_E_NEEDS_GPU,
        [KGYM_E_FULL] = KG_E_FULL,
    };
    kg_fail(err, codes[e->code], "%s", e->message);
}

static void close_pool(struct kg_svc_pool *p)
{
    if (p->event != NULL) {
        event_free(p->event);
    }
    kgym_close(p->pool);
    free(p->configuration);
    *p = (struct kg_svc_pool){.worker = p->worker};
}

void kg_svc_pools_close(struct kg_svc_worker *w)
{
    for (int i = 0; i < KG_SVC_POOLS; i++) {
        close_pool(&w->pool[i]);
    }
}

static void on_results(evutil_socket_t fd, short what, void *arg)
{
    struct kg_svc_pool *p = arg;
    struct kgym_result *r = NULL;
    struct kgym_error e;
    (void)fd;
    (void)what;
    enum kgym_code code = KGYM_OK;
    while (p->pool != NULL && (code = kgym_next(p->pool, 0, &r, &e)) == KGYM_OK && r != NULL) {
        kg_svc_worker_result(p, r, NULL);
        kgym_result_free(r);
    }
    if (code != KGYM_OK) { /* it has ended: the next job gets another one */
        kg_svc_worker_result(p, NULL, &e);
        close_pool(p);
    }
}

/* A free place. Where many pools are open, the one that nobody has used for longest ends first. */
static struct kg_svc_pool *place(struct kg_svc_worker *w)
{
    struct kg_svc_pool *oldest = NULL, *spare = NULL;
    int open = 0;
    for (int i = 0; i < KG_SVC_POOLS; i++) {
        struct kg_svc_pool *p = &w->pool[i];
        open += p->configuration != NULL;
        if (p->configuration == NULL) {
            spare = spare != NULL ? spare : p;
        } else if (p->running == 0 && (oldest == NULL || p->used_ms < oldest->used_ms)) {
            oldest = p;
        }
    }
    if (open >= KG_SVC_POOLS_KEPT && oldest != NULL) {
        close_pool(oldest);
    }
    KG_ASSERT(spare != NULL);
    return spare;
}

static enum kg_code open_pool(struct kg_svc_pool *p, const json_t *configuration,
                              struct kg_err *err)
{
    const json_t *set = json_object_get(configuration, "set");
    const char *settings[SETTINGS_MAX];
    size_t n = 0, i;
    json_t *v;
    json_array_foreach(set, i, v)
    {
        if (n < SETTINGS_MAX && json_is_string(v)) {
            settings[n++] = json_string_value(v);
        }
    }
    const struct kgym_options o = {.size = sizeof o,
                                   .preset =
                                       json_string_value(json_object_get(configuration, "preset")),
                                   .settings = settings,
                                   .nsettings = n,
                                   .workers = p->worker->o->jobs,
                                   .program = p->worker->o->program};
    struct kgym_error e;
    if (kgym_open(&o, &p->pool, &e) != KGYM_OK) {
        p->pool = NULL;
        fail_from(err, &e);
        return err->code;
    }
    p->event = event_new(p->worker->base, kgym_fd(p->pool), EV_READ | EV_PERSIST, on_results, p);
    KG_ASSERT(p->event != NULL);
    event_add(p->event, NULL);
    return KG_OK;
}

struct kg_svc_pool *kg_svc_pool_for(struct kg_svc_worker *w, const json_t *configuration,
                                    struct kg_err *err)
{
    struct kg_buf text;
    struct kg_svc_pool *p = NULL;
    kg_buf_init(&text, 1 << 20);
    kg_json_dump(configuration, &text);
    for (int i = 0; i < KG_SVC_POOLS && p == NULL; i++) {
        struct kg_svc_pool *q = &w->pool[i];
        p = q->configuration != NULL && strcmp(q->configuration, text.data) == 0 ? q : NULL;
    }
    if (p == NULL) {
        p = place(w);
        if (open_pool(p, configuration, err) != KG_OK) {
            p = NULL;
        } else {
            p->configuration = kg_buf_detach(&text);
        }
    }
    if (p != NULL) {
        p->used_ms = kg_svc_now_ms();
    }
    kg_buf_deinit(&text);
    return p;
}

enum kg_code kg_svc_pool_submit(struct kg_svc_pool *p, const json_t *task, double deadline_s,
                                uint64_t *id, struct kg_err *err)
{
    const json_t *problem_text = json_object_get(task, "problem_text");
    const json_t *text = json_object_get(task, "text"), *replay = json_object_get(task, "replay");
    const struct kgym_task t = {.size = sizeof t,
                                .problem = json_string_value(json_object_get(task, "problem")),
                                .problem_text = json_string_value(problem_text),
                                .problem_text_len = json_string_length(problem_text),
                                .text = json_string_value(text),
                                .text_len = json_string_length(text),
                                .source = json_is_true(json_object_get(task, "source")),
                                .tag = json_string_value(json_object_get(task, "tag")),
                                .deadline_s = deadline_s,
                                .rewards = json_string_value(json_object_get(task, "rewards")),
                                .stop_after =
                                    json_string_value(json_object_get(task, "stop_after")),
                                .replay = json_string_value(replay),
                                .replay_len = json_string_length(replay)};
    struct kgym_error e;
    if (kgym_submit(p->pool, &t, id, &e) != KGYM_OK) {
        fail_from(err, &e);
        return err->code;
    }
    p->running++;
    return KG_OK;
}
