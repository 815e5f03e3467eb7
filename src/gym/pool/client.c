/* The public calls of a pool. They check their arguments, speak with the supervisor, and turn
 * internal errors into public ones. */
#include "gym/pool/client.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ulid.h"
#include "base/version.h"
#include "gym/pool/spawn.h"

#define QUEUE_LIMIT 4096
#define QUEUE_MOST  65536
#define MS_NS       INT64_C(1000000)
#define CLOSE_NS    INT64_C(10000000000)

_Static_assert((int)KGYM_E_NEEDS_GPU == (int)KG_E_NEEDS_GPU &&
                   (int)KGYM_E_CANCELLED == (int)KG_E_CANCELLED &&
                   (int)KGYM_E_FULL == (int)KG_E_FULL,
               "public and internal codes are the same numbers");

const char *kgym_version(void)
{
    return KG_VERSION;
}

enum kgym_code kg_client_error(const struct kg_err *e, struct kgym_error *out)
{
    *out = (struct kgym_error){.code = (enum kgym_code)e->code};
    if (e->code != KG_OK) {
        snprintf(out->blame, sizeof out->blame, "%s", kg_blame_name(e->blame));
        snprintf(out->message, sizeof out->message, "%s", e->message);
    }
    return out->code;
}

static enum kgym_code fail(struct kgym_error *out, enum kg_code code, const char *message)
{
    struct kg_err e = KG_ERR_INIT;
    kg_fail(&e, code, "%s", message);
    return kg_client_error(&e, out);
}

bool kg_client_copy(void *out, size_t known, const void *given, size_t size)
{
    memset(out, 0, known);
    if (size < sizeof(size_t) || size > known) {
        return false;
    }
    memcpy(out, given, size);
    return true;
}

/* Where a service judges: its address, and the name of the run that keys are made of. */
static bool set_service(json_t *head, const struct kgym_options *o)
{
    char own[KG_ULID_LEN];
    struct kg_err ignored = KG_ERR_INIT;
    return !o->gym ||
           (kg_ulid_new(own, &ignored) == KG_OK && kg_client_set_text(head, "gym", o->gym) &&
            kg_client_set_text(head, "token_file", o->token_file) &&
            kg_client_set_text(head, "run", o->run) && kg_client_set_text(head, "own_run", own));
}

/* NULL: no memory. A setting that was left out would change every verdict, so each step counts. */
static json_t *options_json(const struct kgym_options *o)
{
    json_t *settings = json_array(), *cores = json_array();
    bool good = true;
    for (size_t i = 0; good && o->settings && i < o->nsettings; i++) {
        const char *s = o->settings[i] ? o->settings[i] : "";
        good = json_array_append_new(settings, kg_json_text(s, strlen(s))) == 0;
    }
    for (size_t i = 0; good && o->cores && i < o->ncores; i++) {
        good = json_array_append_new(cores, json_integer(o->cores[i])) == 0;
    }
    json_t *head = json_pack("{s:o, s:o, s:i, s:b}", "settings", settings, "cores", cores,
                             "workers", o->workers, "public", o->public_only != 0);
    good = good && kg_client_set_text(head, "preset", o->preset) &&
           kg_client_set_text(head, "config", o->config_file) &&
           kg_client_set_text(head, "devices", o->devices) &&
           kg_client_set_text(head, "trace", o->trace) && set_service(head, o);
    if (!good) {
        json_decref(head);
        head = NULL;
    }
    return head;
}

static enum kg_code make_descriptors(struct kgym_pool *p, struct kg_err *err)
{
    struct epoll_event e = {.events = EPOLLIN};
    p->wake = kg_fd_above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    p->poll_fd = kg_fd_above_stdio(epoll_create1(EPOLL_CLOEXEC));
    if (p->wake < 0 || p->poll_fd < 0 || epoll_ctl(p->poll_fd, EPOLL_CTL_ADD, p->wake, &e) != 0) {
        return kg_fail(err, KG_E_HOST, "no descriptor for a pool: %s", strerror(errno));
    }
    return KG_OK;
}

static struct kgym_pool *make_pool(const struct kgym_options *o)
{
    struct kgym_pool *p = calloc(1, sizeof *p);
    pthread_condattr_t monotonic;
    if (p) {
        pthread_mutex_init(&p->lock, NULL);
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&p->heard, &monotonic);
        pthread_condattr_destroy(&monotonic);
        kg_channel_init(&p->channel, -1);
        p->supervisor = -1;
        p->wake = p->poll_fd = -1;
        p->next_id = 1;
        p->queue_limit = o->queue_limit > 0 ? o->queue_limit : QUEUE_LIMIT;
        p->options = options_json(o);
        p->remote = o->gym != NULL;
        p->held = json_array();
        p->replies = json_object();
    }
    return p;
}

enum kgym_code kgym_open(const struct kgym_options *options, struct kgym_pool **out,
                         struct kgym_error *err)
{
    struct kgym_options o = {0};
    struct kg_err e = KG_ERR_INIT;
    *out = NULL;
    if (options && !kg_client_copy(&o, sizeof o, options, options->size)) {
        return fail(err, KG_E_USAGE, "options: size is not that of a known kgym_options");
    }
    if (o.queue_limit < 0 || o.queue_limit > QUEUE_MOST) {
        return fail(err, KG_E_USAGE, "options: queue_limit is not between 1 and 65536");
    }
    if (!o.gym && (o.token_file || o.run)) {
        return fail(err, KG_E_USAGE, "options: token_file and run go with gym");
    }
    struct kgym_pool *p = make_pool(&o);
    if (!p || !p->options || !p->held || !p->replies) {
        kgym_close(p);
        return fail(err, KG_E_LIMIT, "no memory for a pool");
    }
    if (kg_role_program(o.program, p->program, sizeof p->program, &e) != KG_OK ||
        make_descriptors(p, &e) != KG_OK || kg_client_start(p, &e) != KG_OK) {
        kgym_close(p);
        return kg_client_error(&e, err);
    }
    *out = p;
    return kg_client_error(&e, err);
}

/* With all that waits before it: jobs stay at the service where it gets lost. */
static void say_close(struct kgym_pool *p)
{
    int64_t until = kg_clock_ns() + CLOSE_NS;
    bool more = kg_channel_queue(&p->channel, KG_FRAME_CLOSE, json_object(), "", 0);
    while (more && kg_channel_flush(&p->channel) && kg_clock_ns() < until) {
        struct pollfd room = {.fd = p->channel.fd, .events = POLLOUT};
        (void)poll(&room, 1, 100);
    }
}

void kgym_close(struct kgym_pool *p)
{
    if (!p) {
        return;
    }
    if (p->remote) {
        say_close(p);
    }
    kg_client_end(p);
    for (size_t i = 0; i < p->ntasks; i++) {
        kg_client_task_deinit(&p->task[i]);
    }
    for (size_t i = 0; i < p->ndone; i++) {
        kgym_result_free(p->done[i]);
    }
    if (p->wake >= 0) {
        close(p->wake);
    }
    if (p->poll_fd >= 0) {
        close(p->poll_fd);
    }
    free(p->task);
    free(p->done);
    json_decref(p->options);
    json_decref(p->held);
    json_decref(p->replies);
    pthread_cond_destroy(&p->heard);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

int kgym_fd(const struct kgym_pool *p)
{
    return p->poll_fd;
}

static enum kg_code submit(struct kgym_pool *p, const struct kgym_task *t, uint64_t *id,
                           struct kg_err *err)
{
    if (p->broken.code != KG_OK) {
        *err = p->broken;
        return err->code;
    }
    if (p->draining) {
        return kg_fail(err, KG_E_USAGE, "no task is taken after kgym_drain");
    }
    if (p->ntasks + p->ndone >= (size_t)p->queue_limit) {
        return kg_fail(err, KG_E_FULL, "%d tasks are in the pool already: take results first",
                       p->queue_limit);
    }
    if (kg_client_add_task(p, t, err) != KG_OK) {
        return err->code;
    }
    struct kg_client_task *c = &p->task[p->ntasks - 1];
    uint64_t given = c->id;
    if (kg_client_send(p, KG_FRAME_TASK, json_incref(c->head), c->body, c->len, err) != KG_OK) {
        kg_client_task_deinit(c);
        p->ntasks--;
        return err->code;
    }
    *id = given;
    return KG_OK;
}

enum kgym_code kgym_submit(struct kgym_pool *p, const struct kgym_task *task, uint64_t *id,
                           struct kgym_error *err)
{
    struct kg_err e = KG_ERR_INIT;
    struct kgym_task t;
    uint64_t unused;
    if (!kg_client_copy(&t, sizeof t, task, task->size)) {
        return fail(err, KG_E_USAGE, "task: size is not that of a known kgym_task");
    }
    if (kg_client_check_task(&t, &e) != KG_OK) {
        return kg_client_error(&e, err);
    }
    pthread_mutex_lock(&p->lock);
    (void)!submit(p, &t, id ? id : &unused, &e);
    pthread_mutex_unlock(&p->lock);
    return kg_client_error(&e, err);
}

enum kgym_code kgym_next(struct kgym_pool *p, int timeout_ms, struct kgym_result **out,
                         struct kgym_error *err)
{
    struct kg_err e = KG_ERR_INIT;
    int64_t end_ns = timeout_ms < 0 ? -1 : kg_clock_ns() + timeout_ms * MS_NS;
    *out = NULL;
    pthread_mutex_lock(&p->lock);
    if (!p->reading && p->broken.code == KG_OK) {
        kg_client_hear(p); /* what is there already costs no wait */
    }
    while (!(*out = kg_client_take(p)) && p->ntasks > 0 && p->broken.code == KG_OK &&
           kg_client_wait(p, end_ns)) {
    }
    if (!*out && p->broken.code != KG_OK) {
        e = p->broken;
    }
    pthread_mutex_unlock(&p->lock);
    return kg_client_error(&e, err);
}

enum kgym_code kgym_cancel(struct kgym_pool *p, uint64_t id, struct kgym_error *err)
{
    struct kg_err e = KG_ERR_INIT;
    size_t i = 0;
    pthread_mutex_lock(&p->lock);
    while (i < p->ntasks && p->task[i].id != id) {
        i++;
    }
    bool waits = i < p->ntasks, before = waits && p->task[i].cancelled;
    if (waits) {
        p->task[i].cancelled = true;
    }
    for (size_t k = 0; !waits && k < p->ndone; k++) {
        waits = p->done[k]->id == id;
    }
    if (!waits) {
        kg_fail(&e, KG_E_NOT_FOUND, "no task %llu is in the pool", (unsigned long long)id);
    } else if (kg_client_send(p, KG_FRAME_CANCEL, json_pack("{s:I}", "id", (json_int_t)id), "", 0,
                              &e) != KG_OK &&
               i < p->ntasks) {
        p->task[i].cancelled = before;
    }
    pthread_mutex_unlock(&p->lock);
    return kg_client_error(&e, err);
}

enum kgym_code kgym_drain(struct kgym_pool *p, struct kgym_error *err)
{
    struct kg_err e = KG_ERR_INIT;
    pthread_mutex_lock(&p->lock);
    if (!p->draining) {
        p->draining = true; /* a supervisor that is started now is told so */
        p->draining = kg_client_send(p, KG_FRAME_DRAIN, json_object(), "", 0, &e) == KG_OK;
    }
    pthread_mutex_unlock(&p->lock);
    return kg_client_error(&e, err);
}
