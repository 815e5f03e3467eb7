/* Answers that wait for a job to end. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "svc/api_private.h"

struct kg_svc_wait {
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    char id[KG_ULID_LEN];
    struct event *timer;
    struct kg_svc_wait *next;
};

static bool is_final(const struct kg_svc_job *job)
{
    return job->state != KG_SVC_WAITING && job->state != KG_SVC_RUNNING;
}

static void remove_wait(struct kg_svc_wait *w)
{
    struct kg_svc_wait **at = &w->api->waits;
    while (*at != w) {
        at = &(*at)->next;
    }
    *at = w->next;
    if (w->timer != NULL) {
        event_free(w->timer);
    }
    free(w);
}

/* Answers if the job has ended, or if it must. True: answered. */
static bool answer(struct kg_svc_api *a, struct kg_svc_exchange *x, const char *id, bool now)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    bool answered = true;
    if (a->store->kind->get(a->store, id, false, &job, &err) != KG_OK) {
        kg_svc_answer_error(x, &err, "");
    } else if (is_final(&job)) {
        kg_svc_answer_job(a, x, 200, &job);
    } else if (now) {
        kg_svc_answer_job(a, x, 202, &job);
    } else {
        answered = false;
    }
    kg_svc_job_deinit(&job);
    return answered;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct kg_svc_wait *w = arg;
    (void)fd;
    (void)what;
    answer(w->api, w->x, w->id, true);
    remove_wait(w);
}

static void on_gone(struct kg_svc_exchange *x, void *arg)
{
    (void)x;
    remove_wait(arg);
}

void kg_svc_wait_for(struct kg_svc_api *a, struct kg_svc_exchange *x, const char *id,
                     double seconds)
{
    if (answer(a, x, id, seconds <= 0 || a->stopping)) {
        return;
    }
    struct kg_svc_wait *w = calloc(1, sizeof *w);
    struct event *timer = w != NULL ? evtimer_new(a->base, on_timer, w) : NULL;
    if (timer == NULL) {
        free(w);
        answer(a, x, id, true);
        return;
    }
    *w = (struct kg_svc_wait){.api = a, .x = x, .timer = timer, .next = a->waits};
    snprintf(w->id, sizeof w->id, "%s", id);
    a->waits = w;
    const struct timeval t = {.tv_sec = (time_t)seconds,
                              .tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)};
    evtimer_add(timer, &t);
    kg_svc_on_gone(x, on_gone, w);
}

void kg_svc_waits_stop(struct kg_svc_api *a)
{
    while (a->waits != NULL) {
        answer(a, a->waits->x, a->waits->id, true);
        remove_wait(a->waits);
    }
}

void kg_svc_ended(struct kg_svc_api *a, const char *id)
{
    for (struct kg_svc_wait *w = a->waits, *next; w != NULL; w = next) {
        next = w->next;
        if ((id == NULL || strcmp(w->id, id) == 0) && answer(a, w->x, w->id, false)) {
            remove_wait(w);
        }
    }
    kg_svc_groups_ended(a, id);
}
