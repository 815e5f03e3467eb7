/* Devices of a worker. What a device offers is found by the program itself, executed for each of
 * them, since starting PyTorch takes seconds: until that has ended a device offers "cpu" alone. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "svc/worker_private.h"

#define NOTHING "unknown" /* what a device offers that has no facts; no job needs that */
enum { FACTS_BYTES = 1 << 20, HELLO_MS = 5000, AGAIN_MS = 1000, AGAIN_DOUBLED = 6 };

static void name_device(struct kg_svc_device *d)
{
    const char *found = json_string_value(json_object_get(d->facts, "device"));
    const char *own = found != NULL ? found : d->given[0] != '\0' ? d->given : "cpu";
    snprintf(d->name, sizeof d->name, "%.60s/%.40s", d->worker->host, own);
}

const json_t *kg_svc_device_canary(const struct kg_svc_device *d, bool torch)
{
    return json_object_get(json_object_get(d->facts, "canaries"), torch ? "torch" : "cpu");
}

/* What runs there, one job a slot at most: the service bounds the list, and jobs that were claimed
 * ahead would exceed that with many slots. */
static json_t *holds_json(const struct kg_svc_worker *w, int device)
{
    json_t *holds = json_array();
    for (const struct kg_svc_claimed *c = w->held; c != NULL; c = c->next) {
        if (w->slot[c->slot].device == device && c->waiting == NULL && c->answer == NULL) {
            json_array_append_new(holds, json_string(c->id));
        }
    }
    return holds;
}

json_t *kg_svc_devices_json(const struct kg_svc_worker *w, bool with_slots)
{
    static const char *const members[] = {"words", "memory_mb", "isolation"};
    json_t *all = json_array();
    for (int i = 0; i < w->ndevices; i++) {
        const struct kg_svc_device *d = &w->device[i];
        json_t *j = json_pack("{s:s}", "name", d->name);
        for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
            json_object_set(j, members[k], json_object_get(d->facts, members[k]));
        }
        if (json_object_get(d->facts, "words") == NULL) {
            json_object_set_new(j, "words", json_pack("[s]", "cpu"));
        }
        if (with_slots) {
            int n = 0;
            for (int s = 0; s < w->nslots; s++) {
                n += w->slot[s].device == i;
            }
            json_object_set_new(j, "slots", json_integer(n));
            json_object_set_new(j, "holds", holds_json(w, i));
        }
        json_array_append_new(all, j);
    }
    return all;
}

/* --- looking at a device --- */

static void end_look(struct kg_svc_device *d)
{
    int status;
    if (d->look_fd < 0) {
        return;
    }
    event_free(d->look);
    close(d->look_fd);
    d->look_fd = -1;
    kill(d->look_pid, SIGKILL);
    waitpid(d->look_pid, &status, 0);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct kg_svc_device *d = arg;
    struct kg_err err = KG_ERR_INIT;
    char piece[4096];
    (void)what;
    ssize_t n = read((int)fd, piece, sizeof piece);
    if (n > 0) {
        kg_buf_add(&d->found, piece, (size_t)n);
        return;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    end_look(d);
    json_decref(d->facts);
    if (kg_json_parse(d->found.data, d->found.len, "facts", &d->facts, &err) != KG_OK) {
        int doubled = d->failures < AGAIN_DOUBLED ? d->failures : AGAIN_DOUBLED;
        d->failures++;
        kg_log(KG_LOG_ERROR, "%s: it can't be looked at, so it judges nothing; once more in %d s",
               d->name, (AGAIN_MS << doubled) / 1000);
        d->facts = json_pack("{s:[s]}", "words", NOTHING);
        kg_svc_worker_later(d->again, AGAIN_MS << doubled);
    } else {
        d->failures = 0;
    }
    name_device(d);
    kg_svc_worker_greet(d->worker, true);
}

static enum kg_code look_at(struct kg_svc_device *d, struct kg_err *err)
{
    const struct kg_svc_worker_options *o = d->worker->o;
    int pipe_fd[2];
    pid_t parent = getpid();
    if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK) != 0) {
        return kg_fail(err, KG_E_HOST, "pipe: %s", strerror(errno));
    }
    d->look_pid = fork();
    if (d->look_pid == 0) {
        char **argv = calloc(o->nsettings + 4, sizeof *argv);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (argv == NULL || getppid() != parent || dup2(pipe_fd[1], 1) < 0) {
            _exit(2);
        }
        argv[0] = (char *)(uintptr_t)o->program;
        argv[1] = (char *)(uintptr_t)o->facts;
        argv[2] = d->given;
        for (size_t i = 0; i < o->nsettings; i++) {
            argv[3 + i] = (char *)(uintptr_t)o->settings[i];
        }
        execv(o->program, argv);
        _exit(2);
    }
    close(pipe_fd[1]);
    if (d->look_pid < 0) {
        close(pipe_fd[0]);
        return kg_fail(err, KG_E_HOST, "cannot start a process: %s", strerror(errno));
    }
    d->look_fd = pipe_fd[0];
    d->look = event_new(d->worker->base, d->look_fd, EV_READ | EV_PERSIST, on_look, d);
    KG_ASSERT(d->look != NULL);
    event_add(d->look, NULL);
    return KG_OK;
}

/* A host that is busy, or whose memory was short, may have been the cause. */
static void on_again(evutil_socket_t fd, short what, void *arg)
{
    struct kg_svc_device *d = arg;
    struct kg_err err = KG_ERR_INIT;
    (void)fd;
    (void)what;
    kg_buf_reset(&d->found);
    if (look_at(d, &err) != KG_OK) {
        kg_log(KG_LOG_ERROR, "%s: %s", d->name, err.message);
        kg_svc_worker_later(d->again, AGAIN_MS << AGAIN_DOUBLED);
    }
}

/* --- what the service is told --- */

static void on_greeted(void *ctx, int status, const json_t *answer)
{
    struct kg_svc_worker *w = ctx;
    json_int_t term = json_integer_value(json_object_get(answer, "term_ms"));
    w->greeting = false;
    if (status == 200 && term > 0) {
        w->term_ms = term;
    }
    if (status == 200 && !w->greeted && w->o->joined != NULL) {
        w->o->joined(w->o->ctx, w->host, w->nslots);
    }
    if (status == 400 && !w->misread) {
        const char *message = json_string_value(json_object_get(answer, "message"));
        kg_log(KG_LOG_ERROR,
               "the service does not understand this worker, which may be of another "
               "version: %s",
               message != NULL ? message : "no message");
    }
    w->greeted = w->greeted || status == 200;
    w->misread = status == 400;
}

void kg_svc_worker_greet(struct kg_svc_worker *w, bool changed)
{
    if (w->stopping || (w->greeting && !changed)) {
        return;
    }
    w->greeting = true;
    kg_svc_client_post(w->answers[0], "/v1/worker/hello",
                       json_pack("{s:s, s:s, s:o, s:b}", "worker", w->name, "host", w->host,
                                 "devices", kg_svc_devices_json(w, true), "changed", changed),
                       on_greeted, w);
}

static void on_hello(evutil_socket_t fd, short what, void *arg)
{
    struct kg_svc_worker *w = arg;
    (void)fd;
    (void)what;
    kg_svc_worker_greet(w, false);
    kg_svc_worker_later(w->hello, HELLO_MS);
}

/* --- start and end --- */

static void add_device(struct kg_svc_worker *w, const char *given, size_t n)
{
    struct kg_svc_device *d = &w->device[w->ndevices++];
    *d = (struct kg_svc_device){.worker = w, .look_fd = -1};
    snprintf(d->given, sizeof d->given, "%.*s", (int)n, given);
    kg_buf_init(&d->found, FACTS_BYTES);
    d->again = evtimer_new(w->base, on_again, d);
    KG_ASSERT(d->again != NULL);
    name_device(d);
}

enum kg_code kg_svc_devices_open(struct kg_svc_worker *w, struct kg_err *err)
{
    const char *list = w->o->devices != NULL ? w->o->devices : "";
    do {
        size_t n = strcspn(list, ",");
        if (w->ndevices == KG_SVC_WORKER_DEVICES) {
            return kg_fail(err, KG_E_USAGE, "a worker has %d devices at most: start another one",
                           KG_SVC_WORKER_DEVICES);
        }
        add_device(w, list, n);
        list += n + (list[n] == ',');
    } while (*list != '\0');
    for (int i = 0; i < w->ndevices && w->o->facts != NULL; i++) {
        if (look_at(&w->device[i], err) != KG_OK) {
            return err->code;
        }
    }
    w->hello = evtimer_new(w->base, on_hello, w);
    KG_ASSERT(w->hello != NULL);
    kg_svc_worker_later(w->hello, 0);
    return KG_OK;
}

void kg_svc_devices_close(struct kg_svc_worker *w)
{
    for (int i = 0; i < w->ndevices; i++) {
        end_look(&w->device[i]);
        event_free(w->device[i].again);
        json_decref(w->device[i].facts);
        kg_buf_deinit(&w->device[i].found);
    }
    if (w->hello != NULL) {
        event_free(w->hello);
    }
}
