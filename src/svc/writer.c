/* Group commit. */
#include "svc/writer.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct list {
    struct kg_svc_op *first, **end;
};

struct kg_svc_writer {
    struct kg_svc_store *store;
    struct kg_svc_segments *segments;
    void (*after)(void *ctx);
    void *ctx;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    struct list posted, finished; /* under mutex */
    bool ends;
    bool failed; /* of the loop's thread */
    int wake;    /* eventfd */
    struct event *event;
};

static void list_init(struct list *l)
{
    l->first = NULL;
    l->end = &l->first;
}

static void list_add(struct list *l, struct kg_svc_op *op)
{
    op->next = NULL;
    *l->end = op;
    l->end = &op->next;
}

static struct kg_svc_op *list_take(struct list *l)
{
    struct kg_svc_op *first = l->first;
    list_init(l);
    return first;
}

static bool is_answer(enum kg_code code)
{
    return code == KG_OK || code == KG_E_NOT_FOUND || code == KG_E_USAGE || code == KG_E_FULL;
}

/* Runs the operations from first on, up to `until`; on a failure none of them is done, and *err is
 * set. */
static enum kg_code group(struct kg_svc_writer *w, struct kg_svc_op *first,
                          const struct kg_svc_op *until, struct kg_err *err)
{
    const struct kg_svc_store_kind *k = w->store->kind;
    if (k->begin(w->store, err) != KG_OK) {
        return err->code;
    }
    for (struct kg_svc_op *op = first; op != until; op = op->next) {
        op->err = (struct kg_err)KG_ERR_INIT;
        enum kg_code code = op->run != NULL ? op->run(op, w->store, w->segments, &op->err) : KG_OK;
        if (!is_answer(code)) {
            *err = op->err;
            k->rollback(w->store);
            return code;
        }
    }
    if (kg_svc_segments_sync(w->segments, err) != KG_OK) {
        k->rollback(w->store);
        return err->code;
    }
    return k->commit(w->store, err);
}

/* A group that failed: each by itself, so that one that can't be done costs no other. */
static void one_by_one(struct kg_svc_writer *w, struct kg_svc_op *first)
{
    for (struct kg_svc_op *op = first; op != NULL; op = op->next) {
        struct kg_err err = KG_ERR_INIT;
        if (group(w, op, op->next, &err) != KG_OK) {
            op->err = err;
        }
    }
}

static void *work(void *arg)
{
    struct kg_svc_writer *w = arg;
    const uint64_t one = 1;
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        while (w->posted.first == NULL && !w->ends) {
            pthread_cond_wait(&w->cond, &w->mutex);
        }
        struct kg_svc_op *first = list_take(&w->posted);
        if (first == NULL) {
            break;
        }
        pthread_mutex_unlock(&w->mutex);
        struct kg_err err = KG_ERR_INIT;
        if (group(w, first, NULL, &err) != KG_OK) {
            one_by_one(w, first);
        }
        pthread_mutex_lock(&w->mutex);
        for (struct kg_svc_op *op = first, *next; op != NULL; op = next) {
            next = op->next;
            list_add(&w->finished, op);
        }
        (void)!write(w->wake, &one, sizeof one);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

static void deliver(struct kg_svc_writer *w)
{
    pthread_mutex_lock(&w->mutex);
    struct kg_svc_op *op = list_take(&w->finished);
    pthread_mutex_unlock(&w->mutex);
    bool any = op != NULL;
    while (op != NULL) {
        struct kg_svc_op *next = op->next;
        bool failed = op->err.code == KG_E_IO || op->err.code == KG_E_HOST;
        w->failed = failed || (w->failed && !(op->writes && op->err.code == KG_OK));
        op->done(op);
        op = next;
    }
    if (any && w->after != NULL) {
        w->after(w->ctx);
    }
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    uint64_t n;
    (void)what;
    (void)!read(fd, &n, sizeof n);
    deliver(arg);
}

bool kg_svc_writer_has_failed(const struct kg_svc_writer *w)
{
    return w->failed;
}

enum kg_code kg_svc_writer_open(struct event_base *base, struct kg_svc_store *store,
                                struct kg_svc_segments *segments, void (*after)(void *ctx),
                                void *ctx, struct kg_svc_writer **out, struct kg_err *err)
{
    *out = NULL;
    struct kg_svc_writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a writer");
    }
    w->store = store;
    w->segments = segments;
    w->after = after;
    w->ctx = ctx;
    list_init(&w->posted);
    list_init(&w->finished);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->cond, NULL);
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->event = w->wake >= 0 ? event_new(base, w->wake, EV_READ | EV_PERSIST, on_wake, w) : NULL;
    if (w->event == NULL || event_add(w->event, NULL) != 0 ||
        pthread_create(&w->thread, NULL, work, w) != 0) {
        if (w->event != NULL) {
            event_free(w->event);
        }
        if (w->wake >= 0) {
            close(w->wake);
        }
        free(w);
        return kg_fail(err, KG_E_HOST, "cannot start the store's thread");
    }
    *out = w;
    return KG_OK;
}

void kg_svc_writer_post(struct kg_svc_writer *w, struct kg_svc_op *op)
{
    pthread_mutex_lock(&w->mutex);
    list_add(&w->posted, op);
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->mutex);
}

void kg_svc_writer_close(struct kg_svc_writer *w)
{
    if (w == NULL) {
        return;
    }
    pthread_mutex_lock(&w->mutex);
    w->ends = true;
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    w->after = NULL;
    deliver(w);
    event_free(w->event);
    close(w->wake);
    pthread_cond_destroy(&w->cond);
    pthread_mutex_destroy(&w->mutex);
    free(w);
}
