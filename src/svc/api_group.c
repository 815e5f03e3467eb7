/* Answers that wait for several jobs to end. */
#include "svc/api_group.h"

#include <event2/event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kg_svc_group {
    struct kg_svc_api *api;
    char (*id)[KG_ULID_LEN];
    size_t n;
    bool (*answer)(void *ctx, bool now);
    void (*end)(void *ctx);
    void *ctx;
    struct event *timer;
    struct kg_svc_group *next;
};

static void remove_group(struct kg_svc_group *g)
{
    struct kg_svc_group **at = &g->api->groups;
    while (*at != g) {
        at = &(*at)->next;
    }
    *at = g->next;
    g->end(g->ctx);
    event_free(g->timer);
    free(g->id);
    free(g);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct kg_svc_group *g = arg;
    (void)fd;
    (void)what;
    g->answer(g->ctx, true);
    remove_group(g);
}

static void on_gone(struct kg_svc_exchange *x, void *arg)
{
    (void)x;
    remove_group(arg);
}

void kg_svc_group_wait(struct kg_svc_api *a, struct kg_svc_exchange *x, char (*id)[KG_ULID_LEN],
                       size_t n, double seconds, bool (*answer)(void *ctx, bool now),
                       void (*end)(void *ctx), void *ctx)
{
    if (answer(ctx, seconds <= 0 || a->stopping)) {
        end(ctx);
        return;
    }
    struct kg_svc_group *g = calloc(1, sizeof *g);
    char(*ids)[KG_ULID_LEN] = calloc(n + 1, sizeof *ids);
    KG_ASSERT(g != NULL && ids != NULL);
    memcpy(ids, id, n * sizeof *ids);
    *g = (struct kg_svc_group){
        .api = a, .id = ids, .n = n, .answer = answer, .end = end, .ctx = ctx, .next = a->groups};
    g->timer = evtimer_new(a->base, on_timer, g);
    KG_ASSERT(g->timer != NULL);
    const struct timeval t = {.tv_sec = (time_t)seconds,
                              .tv_usec = (suseconds_t)(fmod(seconds, 1) * 1e6)};
    evtimer_add(g->timer, &t);
    a->groups = g;
    if (x != NULL) {
        kg_svc_on_gone(x, on_gone, g);
    }
}

void kg_svc_groups_stop(struct kg_svc_api *a)
{
    while (a->groups != NULL) {
        a->groups->answer(a->groups->ctx, true);
        remove_group(a->groups);
    }
}

void kg_svc_groups_ended(struct kg_svc_api *a, const char *id)
{
    for (struct kg_svc_group *g = a->groups, *next; g != NULL; g = next) {
        bool its = id == NULL;
        next = g->next;
        for (size_t i = 0; i < g->n && !its; i++) {
            its = strcmp(g->id[i], id) == 0;
        }
        if (its && g->answer(g->ctx, false)) {
            remove_group(g);
        }
    }
}
