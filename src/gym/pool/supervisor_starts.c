/* How workers start, and what follows where one cannot. */
#include "base/clock.h"
#include "gym/pool/settings.h"
#include "gym/pool/supervisor.h"

#define AGAIN_NS INT64_C(1000000000) /* until a worker that could not start is tried again */
/* While none can start, tasks wait for so long: a device may be short of memory. */
#define PATIENCE_NS INT64_C(60000000000)

/* NULL: no memory. A worker without its device's setting would judge on another one. */
static json_t *configuration_of(const struct kg_supervisor *s, const struct kg_worker_process *w)
{
    json_t *settings = kg_settings_of(&s->config);
    if (s->ndevices > 0 &&
        json_array_append_new(settings, json_sprintf("device=%s", s->device[w->device])) != 0) {
        json_decref(settings);
        settings = NULL;
    }
    return json_pack("{s:o, s:i, s:b, s:s}", "settings", settings, "cpu", s->core[w->core].cpu,
                     "public", s->public_only, "trace", s->trace);
}

static void broken(struct kg_supervisor *s, const struct kg_err *e)
{
    s->broken = *e;
    kg_channel_queue_or_end(&s->client, KG_FRAME_BROKEN, kg_frame_put_error(json_object(), e), "",
                            0);
}

void kg_supervisor_cannot_start(struct kg_supervisor *s, struct kg_worker_process *w,
                                const struct kg_err *e)
{
    w->again_ns = kg_clock_ns() + AGAIN_NS;
    if (!s->worked) {
        broken(s, e);
    }
}

bool kg_supervisor_is_up(struct kg_supervisor *s, struct kg_worker_process *w)
{
    struct kg_err err = KG_ERR_INIT;
    if (w->state == KG_WORKER_NONE && kg_clock_ns() >= w->again_ns &&
        kg_worker_process_start(w, s->program, s->shared[w->device], configuration_of(s, w),
                                &err) != KG_OK) {
        kg_supervisor_cannot_start(s, w, &err);
    }
    return w->state == KG_WORKER_IDLE && !w->channel.ended;
}

/* One that can be given a task now or soon. */
static bool another_works(const struct kg_supervisor *s, const struct kg_worker_process *w)
{
    for (int i = 0; i < s->nworkers; i++) {
        const struct kg_worker_process *o = s->worker[i];
        bool up = o->ready && (o->state == KG_WORKER_IDLE || o->state == KG_WORKER_BUSY);
        if (o != w && up && !o->unwanted && !kg_supervisor_core_is_taken(s, o->core)) {
            return true;
        }
    }
    return false;
}

bool kg_supervisor_lets_off(struct kg_supervisor *s, struct kg_worker_process *w,
                            struct kg_pool_task *t)
{
    int64_t now_ns = kg_clock_ns();
    if (w->ready || !s->worked) {
        return false;
    }
    w->again_ns = now_ns + AGAIN_NS;
    if (another_works(s, w)) {
        t->refused_ns = 0;
        return true;
    }
    t->refused_ns = t->refused_ns > s->ready_ns ? t->refused_ns : now_ns;
    return now_ns - t->refused_ns < PATIENCE_NS;
}
