/* The worker: its loop, renewals, start and end. */
#include "svc/worker.h"

#include <ctype.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "svc/worker_private.h"

enum { NEWS_WAIT_S = 5, TIMEOUT_S = 45, NEWS_TIMEOUT_S = 15, LEAVE_S = 5 };
enum { WATCH_MS = 200, FIRST_TERM_MS = 30000 };

static void on_left(void *ctx, int status, const json_t *answer)
{
    struct kg_svc_worker *w = ctx;
    (void)status;
    (void)answer;
    w->left = true;
    kg_svc_worker_end_if_done(w);
}

/* Its leave comes after all answers, as the service forgets its devices then. It also ends the
 * claim that waits. */
void kg_svc_worker_end_if_done(struct kg_svc_worker *w)
{
    if (!w->stopping || w->held != NULL) {
        return;
    }
    if (!w->leaving) {
        w->leaving = true;
        kg_svc_client_post(w->answers[0], "/v1/worker/leave", json_pack("{s:s}", "worker", w->name),
                           on_left, w);
    }
    if (w->left && !w->claiming) {
        event_base_loopbreak(w->base);
    }
}

int kg_svc_worker_pause(struct kg_svc_worker *w)
{
    int now = w->pause_ms, sixth = (int)(w->term_ms / 6);
    int most = sixth < KG_SVC_AGAIN_MOST_MS ? sixth : KG_SVC_AGAIN_MOST_MS;
    most = most > KG_SVC_AGAIN_MS ? most : KG_SVC_AGAIN_MS;
    w->pause_ms = 2 * now < most ? 2 * now : most;
    return now < most ? now : most;
}

bool kg_svc_worker_heard(struct kg_svc_worker *w, int status)
{
    if (status == 200) {
        if (w->silent) {
            kg_log(KG_LOG_WARN, "the service at %s:%d answers again", w->o->host, w->o->port);
        }
        w->silent = false;
        w->pause_ms = KG_SVC_AGAIN_MS;
        return true;
    }
    if (status == 401 || status == 403) {
        w->refused = true;
        event_base_loopbreak(w->base);
        return false;
    }
    if (!w->silent && !w->stopping) {
        kg_log(KG_LOG_WARN, "the service at %s:%d does not answer (status %d): asking again",
               w->o->host, w->o->port, status);
    }
    w->silent = true;
    if (!evtimer_pending(w->again, NULL)) {
        kg_svc_worker_later(w->again, kg_svc_worker_pause(w));
    }
    return false;
}

/* --- renewals --- */

/* c is gone afterwards where its evaluation has not begun. */
static void lose(struct kg_svc_claimed *c)
{
    struct kgym_error ignored;
    c->lost = true;
    if (c->pool != NULL) {
        kgym_cancel(c->pool->pool, c->task, &ignored);
    }
    if (c->waiting != NULL) {
        kg_svc_worker_drop(c);
    }
}

/* The same job may be held under a newer claim by now. */
static void lose_claim(struct kg_svc_worker *w, const json_t *news)
{
    const char *id = json_string_value(json_object_get(news, "id"));
    json_int_t fence = json_integer_value(json_object_get(news, "fence"));
    for (struct kg_svc_claimed *c = w->held, *next; c != NULL; c = next) {
        next = c->next;
        if (id != NULL && strcmp(c->id, id) == 0 && c->fence == fence && !c->lost) {
            lose(c);
        }
    }
}

/* A claim that could not be renewed for its term is another's, or will be. */
static void on_watch(evutil_socket_t fd, short what, void *arg)
{
    struct kg_svc_worker *w = arg;
    int64_t now = kg_svc_now_ms();
    (void)fd;
    (void)what;
    for (struct kg_svc_claimed *c = w->held, *next; c != NULL; c = next) {
        next = c->next;
        if (c->answer == NULL && !c->lost && now > c->until_ms) {
            lose(c);
        }
    }
    kg_svc_worker_hand_back(w);
}

static void on_news(void *ctx, int status, const json_t *answer)
{
    struct kg_svc_worker *w = ctx;
    size_t i;
    json_t *v;
    w->renewing = false;
    if (!kg_svc_worker_heard(w, status)) {
        return;
    }
    for (struct kg_svc_claimed *c = w->held; c != NULL; c = c->next) {
        c->until_ms = c->asked ? w->renewed_ms + w->term_ms : c->until_ms;
    }
    json_array_foreach(json_object_get(answer, "lost"), i, v)
    {
        lose_claim(w, v);
    }
    kg_svc_worker_renew(w);
}

void kg_svc_worker_renew(struct kg_svc_worker *w)
{
    if (w->renewing || w->held == NULL || w->stopping) {
        return;
    }
    json_t *claims = json_array();
    for (struct kg_svc_claimed *c = w->held; c != NULL; c = c->next) {
        c->asked = !c->lost;
        if (c->asked) {
            json_array_append_new(claims, json_pack("{s:s, s:s, s:I}", "id", c->id, "claim",
                                                    c->claim, "fence", (json_int_t)c->fence));
        }
    }
    /* While the request waits for news nothing is renewed: a third of the term leaves two tries. */
    double third_s = (double)w->term_ms / 3000;
    w->renewing = true;
    w->renewed_ms = kg_svc_now_ms();
    kg_svc_client_post(w->news, "/v1/worker/renew",
                       json_pack("{s:s, s:o, s:f}", "worker", w->name, "claims", claims, "wait_s",
                                 third_s < NEWS_WAIT_S ? third_s : NEWS_WAIT_S),
                       on_news, w);
}

static void on_go_on(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    kg_svc_worker_go_on(arg);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    kg_svc_worker_claim(arg);
    kg_svc_worker_renew(arg);
}

/* --- start and end --- */

static void on_signal(evutil_socket_t signal, short what, void *arg)
{
    struct kg_svc_worker *w = arg;
    struct kgym_error ignored;
    (void)signal;
    (void)what;
    if (w->stopping) {
        return;
    }
    w->stopping = true;
    for (struct kg_svc_claimed *c = w->held, *next; c != NULL; c = next) {
        next = c->next;
        if (c->answer == NULL) {
            if (c->pool != NULL) {
                kgym_cancel(c->pool->pool, c->task, &ignored);
            }
            kg_svc_worker_end_attempt(c, "handed_back", json_object());
        }
    }
    kg_svc_worker_end_if_done(w);
    const struct timeval most = {.tv_sec = LEAVE_S, .tv_usec = 0};
    event_base_loopexit(w->base, &most);
}

static enum kg_code name_worker(struct kg_svc_worker *w, struct kg_err *err)
{
    char id[KG_ULID_LEN];
    if (w->o->name != NULL) {
        snprintf(w->host, sizeof w->host, "%s", w->o->name);
    } else if (gethostname(w->host, sizeof w->host - 1) != 0 || w->host[0] == '\0') {
        snprintf(w->host, sizeof w->host, "host");
    }
    for (char *at = w->host; *at != '\0'; at++) {
        *at = isalnum((unsigned char)*at) || strchr("-._", *at) != NULL ? *at : '-';
    }
    if (kg_ulid_new(id, err) == KG_OK) {
        snprintf(w->name, sizeof w->name, "%s-%s", w->host, id);
    }
    return err->code;
}

static enum kg_code open_worker(struct kg_svc_worker *w, struct kg_err *err)
{
    const struct kg_svc_worker_options *o = w->o;
    const struct {
        struct kg_svc_client **client;
        int timeout_s;
    } links[] = {{&w->claims, TIMEOUT_S}, {&w->news, NEWS_TIMEOUT_S}};
    w->term_ms = FIRST_TERM_MS;
    w->pause_ms = KG_SVC_AGAIN_MS;
    w->again = evtimer_new(w->base, on_again, w);
    w->go_on = evtimer_new(w->base, on_go_on, w);
    w->watch = event_new(w->base, -1, EV_PERSIST, on_watch, w);
    if (w->again == NULL || w->go_on == NULL || w->watch == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a timer");
    }
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        if (kg_svc_client_open(w->base, o->host, o->port, o->token, links[i].timeout_s,
                               links[i].client, err) != KG_OK) {
            return err->code;
        }
    }
    for (int i = 0; i < KG_SVC_WORKER_LINKS; i++) {
        if (kg_svc_client_open(w->base, o->host, o->port, o->token, TIMEOUT_S, &w->answers[i],
                               err) != KG_OK) {
            return err->code;
        }
    }
    const struct timeval watch = {.tv_sec = 0, .tv_usec = WATCH_MS * 1000};
    event_add(w->watch, &watch);
    return name_worker(w, err) != KG_OK || kg_svc_devices_open(w, err) != KG_OK
               ? err->code
               : kg_svc_slots_open(w, err);
}

static void close_worker(struct kg_svc_worker *w)
{
    kg_svc_client_close(w->claims);
    kg_svc_client_close(w->news);
    for (int i = 0; i < KG_SVC_WORKER_LINKS; i++) {
        kg_svc_client_close(w->answers[i]);
    }
    kg_svc_devices_close(w);
    kg_svc_pools_close(w);
    while (w->held != NULL) {
        kg_svc_worker_drop(w->held);
    }
    if (w->again != NULL) {
        event_free(w->again);
    }
    if (w->go_on != NULL) {
        event_free(w->go_on);
    }
    if (w->watch != NULL) {
        event_free(w->watch);
    }
    event_base_free(w->base);
    free(w);
}

enum kg_code kg_svc_worker_run(const struct kg_svc_worker_options *o, struct kg_err *err)
{
    struct kg_svc_worker *w = calloc(1, sizeof *w);
    struct event_base *base = event_base_new();
    if (w == NULL || base == NULL) {
        free(w);
        return kg_fail_memory(err, KG_E_HOST, "no memory for a worker");
    }
    w->o = o;
    w->base = base;
    signal(SIGPIPE, SIG_IGN);
    enum kg_code code = open_worker(w, err);
    if (code == KG_OK) {
        struct event *term = evsignal_new(base, SIGTERM, on_signal, w);
        struct event *interrupt = evsignal_new(base, SIGINT, on_signal, w);
        KG_ASSERT(term != NULL && interrupt != NULL);
        event_add(term, NULL);
        event_add(interrupt, NULL);
        kg_svc_worker_claim(w);
        event_base_dispatch(base);
        event_free(term);
        event_free(interrupt);
        code = w->refused ? kg_fail(err, KG_E_USAGE,
                                    "the service at %s:%d refuses this worker's token: it needs "
                                    "one with scope `worker`",
                                    o->host, o->port)
                          : KG_OK;
    }
    close_worker(w);
    return code;
}
