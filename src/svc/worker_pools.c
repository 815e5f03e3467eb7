/* Slots of a worker and their pools: one for each configuration that a slot was asked for lately.
 * A pool has one worker process, on the slot's core. Nothing runs on a slot beside its one
 * evaluation, so no two evaluations share a core, whatever their configurations are. */
#include <event2/event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "svc/worker_private.h"

enum { SETTINGS_MAX = 128 };

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
    *p = (struct kg_svc_pool){.worker = p->worker, .slot = p->slot};
}

void kg_svc_pools_close(struct kg_svc_worker *w)
{
    for (int i = 0; i < w->nslots; i++) {
        for (int k = 0; k < KG_SVC_POOLS_KEPT; k++) {
            close_pool(&w->slot[i].pool[k]);
        }
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

/* A free place. Where there is none, the pool that was not used for longest ends. */
static struct kg_svc_pool *place(struct kg_svc_worker *w, int slot)
{
    struct kg_svc_pool *oldest = &w->slot[slot].pool[0];
    for (int i = 0; i < KG_SVC_POOLS_KEPT; i++) {
        struct kg_svc_pool *p = &w->slot[slot].pool[i];
        if (p->configuration == NULL) {
            return p;
        }
        oldest = p->used_ms < oldest->used_ms ? p : oldest;
    }
    close_pool(oldest);
    return oldest;
}

/* The settings of this host come first: a client's can't be any of them. */
static size_t settings_of(const struct kg_svc_worker *w, const json_t *configuration,
                          const char *out[SETTINGS_MAX])
{
    size_t n = 0, i;
    json_t *v;
    for (i = 0; i < w->o->nsettings && n < SETTINGS_MAX; i++) {
        out[n++] = w->o->settings[i];
    }
    json_array_foreach(json_object_get(configuration, "set"), i, v)
    {
        if (n < SETTINGS_MAX && json_is_string(v)) {
            out[n++] = json_string_value(v);
        }
    }
    return n;
}

static enum kg_code open_pool(struct kg_svc_pool *p, const json_t *configuration,
                              struct kg_err *err)
{
    struct kg_svc_worker *w = p->worker;
    const char *settings[SETTINGS_MAX];
    const char *device = w->device[w->slot[p->slot].device].given;
    const struct kgym_options o = {.size = sizeof o,
                                   .preset =
                                       json_string_value(json_object_get(configuration, "preset")),
                                   .settings = settings,
                                   .nsettings = settings_of(w, configuration, settings),
                                   .workers = 1,
                                   .cores = &w->slot[p->slot].core,
                                   .ncores = 1,
                                   .devices = device[0] != '\0' ? device : NULL,
                                   .program = w->o->program};
    struct kgym_error e;
    if (kgym_open(&o, &p->pool, &e) != KGYM_OK) {
        p->pool = NULL;
        fail_from(err, &e);
        return err->code;
    }
    p->event = event_new(w->base, kgym_fd(p->pool), EV_READ | EV_PERSIST, on_results, p);
    KG_ASSERT(p->event != NULL);
    event_add(p->event, NULL);
    return KG_OK;
}

struct kg_svc_pool *kg_svc_pool_for(struct kg_svc_worker *w, int slot, const json_t *configuration,
                                    struct kg_err *err)
{
    struct kg_buf text;
    struct kg_svc_pool *p = NULL;
    kg_buf_init(&text, 1 << 20);
    kg_json_dump(configuration, &text);
    for (int i = 0; i < KG_SVC_POOLS_KEPT && p == NULL; i++) {
        struct kg_svc_pool *q = &w->slot[slot].pool[i];
        p = q->configuration != NULL && strcmp(q->configuration, text.data) == 0 ? q : NULL;
    }
    if (p == NULL) {
        p = place(w, slot);
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

/* A pool of all slots would have so many workers. It judges nothing. */
static enum kg_code count_slots(struct kg_svc_worker *w, struct kg_err *err)
{
    const char *settings[SETTINGS_MAX];
    const struct kgym_options o = {.size = sizeof o,
                                   .settings = settings,
                                   .nsettings = settings_of(w, NULL, settings),
                                   .workers = w->o->jobs,
                                   .devices = w->o->devices,
                                   .program = w->o->program};
    struct kgym_info info = {.size = sizeof info};
    struct kgym_pool *pool;
    struct kgym_error e;
    if (kgym_open(&o, &pool, &e) != KGYM_OK) {
        fail_from(err, &e);
        return err->code;
    }
    if (kgym_info(pool, &info, &e) != KGYM_OK) {
        fail_from(err, &e);
    }
    kgym_close(pool);
    w->nslots = info.workers < KG_SVC_WORKER_SLOTS ? info.workers : KG_SVC_WORKER_SLOTS;
    return err->code;
}

enum kg_code kg_svc_slots_open(struct kg_svc_worker *w, struct kg_err *err)
{
    int core[CPU_SETSIZE], ncores = 0;
    cpu_set_t may;
    if (count_slots(w, err) != KG_OK) {
        return err->code;
    }
    if (w->nslots < w->ndevices) {
        return kg_fail(err, KG_E_USAGE,
                       "%d devices, and only %d evaluations at once: give --jobs %d, or fewer "
                       "--devices",
                       w->ndevices, w->nslots, w->ndevices);
    }
    if (sched_getaffinity(0, sizeof may, &may) == 0) {
        for (int i = CPU_SETSIZE - 1; i >= 0; i--) { /* as a pool takes them */
            if (CPU_ISSET(i, &may)) {
                core[ncores++] = i;
            }
        }
    }
    if (ncores == 0) {
        return kg_fail(err, KG_E_HOST, "no core that this process may use is known");
    }
    for (int i = 0; i < w->nslots; i++) {
        w->slot[i].core = core[i % ncores];
        w->slot[i].device = (int)((int64_t)i * w->ndevices / w->nslots);
        for (int k = 0; k < KG_SVC_POOLS_KEPT; k++) {
            w->slot[i].pool[k].worker = w;
            w->slot[i].pool[k].slot = i;
        }
    }
    return KG_OK;
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
