/* Tasks to workers, results to the client, and what happens when either does not come. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gym/eval/evaluate.h"
#include "gym/pool/result.h"
#include "gym/pool/supervisor.h"
#include "gym/sandbox/sandbox.h"

#define CANCEL_EVERY_MS 50
#define LOOK_EVERY_MS   20
#define STOP_NS         INT64_C(5000000000) /* a worker that does not stop its task is killed */
#define NS_PER_MS       INT64_C(1000000)

void kg_supervisor_fail(struct kg_supervisor *s, struct kg_pool_task *t, const struct kg_err *e)
{
    struct kg_buf body;
    kg_buf_init(&body, KG_POOL_RECORD_MAX);
    json_t *head = kg_result_of_error(t->head, e, s->public_only, &body);
    if (!kg_buf_ok(&body)) {
        json_decref(head);
        head = NULL;
    }
    kg_channel_queue_or_end(&s->client, KG_FRAME_RESULT, head, body.data, body.len);
    kg_buf_deinit(&body);
    kg_pool_task_destroy(t);
}

/* A task that was stopped before it had a result. */
static void fail_stopped(struct kg_supervisor *s, struct kg_pool_task *t)
{
    struct kg_err e = KG_ERR_INIT;
    if (t->cancelled) {
        kg_fail(&e, KG_E_CANCELLED, "cancelled by the caller");
    } else {
        kg_fail(&e, KG_E_CANCELLED, "the task's deadline of %g s has passed",
                json_number_value(json_object_get(t->head, "deadline_s")));
    }
    kg_supervisor_fail(s, t, &e);
}

/* So many more tasks wait that another will follow even if each worker takes one before. */
static bool more_to_come(const struct kg_supervisor *s)
{
    return s->tasks.n >= (size_t)s->wanted;
}

static size_t choose(const struct kg_supervisor *s, const struct kg_worker_process *w,
                     struct kg_pool_holder *others)
{
    for (int i = 0; i < s->nworkers; i++) {
        const struct kg_worker_process *o = s->worker[i];
        bool counts = o != w && o->state != KG_WORKER_NONE && o->state != KG_WORKER_ENDING;
        others[i] = (struct kg_pool_holder){counts ? o->problem : 0, o->prepared};
    }
    return kg_pool_tasks_choose(&s->tasks, w->problem, others, s->nworkers,
                                kg_pool_pace_lead(&s->pace));
}

/* Sent before the worker gets the task, which may be the end of this process. */
static void tell_taken(struct kg_supervisor *s, const struct kg_pool_task *t)
{
    kg_channel_queue_or_end(&s->client, KG_FRAME_TAKEN, json_pack("{s:I}", "id", (json_int_t)t->id),
                            "", 0);
    kg_channel_flush(&s->client);
}

static void give_task(struct kg_supervisor *s, struct kg_worker_process *w, struct kg_pool_task *t)
{
    struct kg_err e = KG_ERR_INIT;
    tell_taken(s, t);
    if (!kg_worker_process_hand(w, t, more_to_come(s))) {
        kg_fail(&e, KG_E_LIMIT, "no memory to give the task to a worker");
        kg_supervisor_fail(s, t, &e);
    }
}

static void feed_one(struct kg_supervisor *s, struct kg_worker_process *w,
                     struct kg_pool_holder *others)
{
    if (s->tasks.n == 0) {
        if (s->draining) {
            kg_worker_process_end(w); /* what it holds goes while others are at work */
        }
        return;
    }
    size_t at = choose(s, w, others);
    if (at < s->tasks.n && kg_supervisor_is_up(s, w)) {
        give_task(s, w, kg_pool_tasks_take(&s->tasks, at));
    }
}

bool kg_supervisor_core_is_taken(const struct kg_supervisor *s, int core)
{
    bool taken = s->core[core].held;
    for (int i = 0; i < s->nholds && !taken; i++) {
        taken = s->hold[i].core == core || s->hold[i].core == KG_ALL_CORES;
    }
    return taken;
}

void kg_supervisor_feed(struct kg_supervisor *s)
{
    static const enum kg_worker_state order[] = {KG_WORKER_IDLE, KG_WORKER_NONE};
    if (s->broken.code != KG_OK || (s->tasks.n == 0 && !s->draining)) {
        return;
    }
    struct kg_pool_holder *others = calloc((size_t)s->nworkers, sizeof *others);
    KG_ASSERT(others);
    for (int k = 0; k < 2; k++) { /* a process that is there before one that must be started */
        for (int i = 0; i < s->nworkers; i++) {
            struct kg_worker_process *w = s->worker[i];
            bool free_core = s->tasks.n == 0 || !kg_supervisor_core_is_taken(s, w->core);
            if (w->state == order[k] && !w->unwanted && free_core) {
                feed_one(s, w, others);
            }
        }
    }
    free(others);
}

/* The client waits for this frame. One that cannot be sent becomes an error, which is short. */
static void give_result(struct kg_supervisor *s, struct kg_pool_task *t, json_t *head,
                        const struct kg_frame *f)
{
    struct kg_err e = KG_ERR_INIT;
    if (kg_channel_queue(&s->client, KG_FRAME_RESULT, head, f->body, f->len) || s->client.ended) {
        kg_pool_task_destroy(t);
        return;
    }
    kg_fail(&e, KG_E_LIMIT, "no memory for the task's result");
    kg_supervisor_fail(s, t, &e);
}

/* head: what the worker says of its task, taken. */
static void finish(struct kg_supervisor *s, struct kg_worker_process *w, json_t *head,
                   const struct kg_frame *f)
{
    struct kg_pool_task *t = w->task;
    w->task = NULL;
    w->state = KG_WORKER_IDLE;
    s->worked = true;
    bool stopped = kg_frame_int(head, "error") == KG_E_CANCELLED;
    kg_pool_pace_add(&s->pace, w->prepared, kg_clock_ns() - w->since_ns);
    w->prepared = !stopped;
    if (stopped) {
        json_decref(head);
        fail_stopped(s, t);
    } else {
        give_result(s, t, head, f);
    }
    if (w->unwanted) {
        kg_worker_process_end(w);
    }
}

/* The worker is gone, or speaks nonsense. Its task waits again, once; more often where it cannot be
 * why. why: what the worker said, or NULL. */
static void lost(struct kg_supervisor *s, struct kg_worker_process *w, const struct kg_err *why)
{
    struct kg_pool_task *t = w->task;
    struct kg_err e = KG_ERR_INIT;
    w->task = NULL;
    kg_worker_process_end(w);
    w->lost = true;
    if (!t) {
        return;
    }
    if (t->cancelled || t->late) {
        fail_stopped(s, t);
    } else if (!kg_supervisor_lets_off(s, w, t) && ++t->losses >= KG_POOL_TRIES) {
        kg_fail(&e, KG_E_GYM, "the worker died twice while judging this task");
        kg_supervisor_fail(s, t, why ? why : &e);
    } else if (!kg_pool_tasks_return(&s->tasks, t)) {
        kg_fail(&e, KG_E_LIMIT, "no memory to try the task once more");
        kg_supervisor_fail(s, t, &e);
    }
}

/* What the worker says became of its task, for the client. NULL: that cannot be so. */
static json_t *claim_of(const struct kg_worker_process *w, const struct kg_frame *f)
{
    const struct kg_pool_task *t = w->task;
    if (!t || !w->ready || f->kind != KG_FRAME_RESULT || !kg_result_is_record(f->body, f->len)) {
        return NULL;
    }
    json_t *head = kg_result_of_claim(t->head, f->head);
    if (kg_frame_int(head, "error") == KG_E_CANCELLED && !t->cancelled && !t->late) {
        json_decref(head);
        head = NULL;
    }
    return head;
}

/* False: the worker is not to be heard any more. It runs beside hostile code, so its frames say
 * only what became of the task that it has. Only before it is ready can they say that this host is
 * unable to judge. */
static bool hear_frame(struct kg_supervisor *s, struct kg_worker_process *w, struct kg_frame *f)
{
    struct kg_err e = KG_ERR_INIT;
    const struct kg_err *why = NULL;
    json_t *claim = claim_of(w, f);
    if (claim) {
        finish(s, w, claim, f);
        return w->state != KG_WORKER_ENDING;
    }
    if (f->kind == KG_FRAME_READY && !w->ready) {
        w->ready = true;
        s->ready_ns = kg_clock_ns();
        return true;
    }
    if (f->kind == KG_FRAME_BROKEN && !w->ready && kg_frame_get_error(f->head, &e) != KG_OK &&
        e.code != KG_E_CANCELLED) {
        kg_supervisor_cannot_start(s, w, &e);
        why = &e;
    }
    lost(s, w, why);
    return false;
}

/* A worker that takes no more is heard to its end: what it sent before counts. */
void kg_supervisor_hear(struct kg_supervisor *s, struct kg_worker_process *w)
{
    struct kg_frame f;
    struct kg_channel *c = &w->channel;
    bool good = w->state == KG_WORKER_IDLE || w->state == KG_WORKER_BUSY;
    if (!good) {
        return;
    }
    bool last = kg_channel_last(c), more;
    do {
        more = kg_channel_fill_on(c, last);
        while (good && kg_channel_take(c, &f)) {
            good = hear_frame(s, w, &f);
            kg_frame_deinit(&f);
        }
    } while (good && more);
    if (good && (last || c->ended)) {
        lost(s, w, NULL);
    }
}

static void sooner(int *timeout_ms, int64_t ms)
{
    ms = ms < 0 ? 0 : ms > 60000 ? 60000 : ms;
    *timeout_ms = *timeout_ms < 0 || ms < *timeout_ms ? (int)ms : *timeout_ms;
}

/* Has the deadline passed? If not, the supervisor looks again then. */
static bool passed(int64_t deadline_ns, int64_t now_ns, int *timeout_ms)
{
    if (deadline_ns == 0) {
        return false;
    }
    if (now_ns >= deadline_ns) {
        return true;
    }
    sooner(timeout_ms, (deadline_ns - now_ns) / NS_PER_MS + 1);
    return false;
}

/* Signals again and again, because one that came before the task was read has no effect. A worker
 * that does not answer is killed. */
static void stop_task(struct kg_supervisor *s, struct kg_worker_process *w, int64_t now_ns)
{
    struct kg_pool_task *t = w->task;
    t->stop_ns = t->stop_ns ? t->stop_ns : now_ns;
    if (now_ns - t->stop_ns < STOP_NS) {
        kg_worker_process_cancel(w);
    } else {
        kill(w->pid, SIGKILL);
        lost(s, w, NULL);
    }
}

static void tend_worker(struct kg_supervisor *s, struct kg_worker_process *w, int64_t now_ns,
                        int *timeout_ms)
{
    bool open = w->state == KG_WORKER_IDLE || w->state == KG_WORKER_BUSY;
    if (open && w->channel.ended) { /* it takes no more */
        kg_supervisor_hear(s, w);
    }
    if (w->state == KG_WORKER_ENDING) {
        if (!kg_worker_process_gone(w)) {
            sooner(timeout_ms, LOOK_EVERY_MS);
        } else if (w->lost) {
            w->lost = false;
            kg_sandbox_sweep();
            sooner(timeout_ms, 0); /* a task may wait for this worker */
        } else {
            sooner(timeout_ms, s->tasks.n > 0 ? 0 : LOOK_EVERY_MS);
        }
    } else if (w->state == KG_WORKER_BUSY) {
        w->task->late = w->task->late || passed(w->task->deadline_ns, now_ns, timeout_ms);
        if (w->task->late || w->task->cancelled) {
            stop_task(s, w, now_ns);
            sooner(timeout_ms, CANCEL_EVERY_MS);
        }
    } else if (w->state == KG_WORKER_NONE && w->again_ns > now_ns && s->tasks.n > 0) {
        sooner(timeout_ms, (w->again_ns - now_ns) / NS_PER_MS + 1);
    }
}

static bool core_is_free(const struct kg_supervisor *s, int core)
{
    for (int i = 0; i < s->nworkers; i++) {
        enum kg_worker_state state = s->worker[i]->state; /* one that ends may still run */
        bool there = core == KG_ALL_CORES || s->worker[i]->core == core;
        if (there && (state == KG_WORKER_BUSY || state == KG_WORKER_ENDING)) {
            return false;
        }
    }
    return true;
}

static void tend_holds(struct kg_supervisor *s, int64_t now_ns, int *timeout_ms)
{
    for (int i = 0; i < s->nholds;) {
        struct kg_pool_hold *h = &s->hold[i];
        struct kg_err e = KG_ERR_INIT;
        bool there = core_is_free(s, h->core);
        if (!there && !passed(h->deadline_ns, now_ns, timeout_ms)) {
            i++;
            continue;
        }
        if (!there) {
            kg_fail(&e, KG_E_LIMIT, "a worker still has a task on a core that is asked for");
        }
        for (int c = 0; c < s->ncores && there; c++) {
            s->core[c].held = s->core[c].held || h->core == c || h->core == KG_ALL_CORES;
        }
        json_t *head = json_pack("{s:I}", "request", (json_int_t)h->request);
        kg_channel_queue_or_end(&s->client, KG_FRAME_REPLY, kg_frame_put_error(head, &e), "", 0);
        *h = s->hold[--s->nholds];
    }
}

int kg_supervisor_tend(struct kg_supervisor *s)
{
    int timeout_ms = -1;
    int64_t now_ns = kg_clock_ns();
    for (size_t i = 0; i < s->tasks.n;) {
        struct kg_pool_task *t = s->tasks.task[i];
        if (passed(t->deadline_ns, now_ns, &timeout_ms)) {
            fail_stopped(s, kg_pool_tasks_take(&s->tasks, i));
        } else {
            i++;
        }
    }
    for (int i = 0; i < s->nworkers; i++) {
        tend_worker(s, s->worker[i], now_ns, &timeout_ms);
    }
    tend_holds(s, now_ns, &timeout_ms);
    return timeout_ms;
}
