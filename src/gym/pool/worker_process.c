/* One worker process: started, given tasks, ended. */
#include "gym/pool/worker_process.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "gym/pool/result.h"
#include "gym/pool/spawn.h"

#define STOP_GRACE_NS 5000000000

enum kg_code kg_worker_process_start(struct kg_worker_process *w, const char *program, int shared,
                                     json_t *configure, struct kg_err *err)
{
    const struct kg_role role = {.program = program, .name = KG_ROLE_WORKER, .shared = shared};
    int sock;
    if (!configure) {
        return kg_fail(err, KG_E_LIMIT, "no memory to configure a worker");
    }
    if (kg_role_start(&role, &w->pid, &sock, err) != KG_OK) {
        json_decref(configure);
        return err->code;
    }
    kg_channel_init(&w->channel, sock);
    w->channel.most = KG_HEAD_MAX + KG_POOL_RECORD_MAX;
    w->ready = false;
    w->state = KG_WORKER_IDLE;
    w->problem = 0;
    w->prepared = false;
    if (!kg_channel_queue(&w->channel, KG_FRAME_CONFIGURE, configure, "", 0)) {
        kg_worker_process_end(w);
        return kg_fail(err, KG_E_LIMIT, "no memory to configure a worker");
    }
    kg_channel_flush(&w->channel);
    return KG_OK;
}

bool kg_worker_process_hand(struct kg_worker_process *w, struct kg_pool_task *t, bool more)
{
    if (json_object_set_new(t->head, "more", json_boolean(more)) != 0 ||
        !kg_channel_queue(&w->channel, KG_FRAME_TASK, json_incref(t->head), t->body, t->len)) {
        return false;
    }
    kg_channel_flush(&w->channel);
    w->task = t;
    w->state = KG_WORKER_BUSY;
    w->since_ns = kg_clock_ns();
    w->prepared = w->prepared && w->problem == t->problem;
    w->problem = t->problem;
    return true;
}

void kg_worker_process_cancel(struct kg_worker_process *w)
{
    kill(w->pid, SIGUSR1);
}

void kg_worker_process_end(struct kg_worker_process *w)
{
    if (w->state == KG_WORKER_NONE || w->state == KG_WORKER_ENDING) {
        return;
    }
    if (w->state == KG_WORKER_BUSY) {
        kill(w->pid, SIGTERM);
    }
    kg_channel_deinit(&w->channel);
    w->state = KG_WORKER_ENDING;
    w->kill_ns = kg_clock_ns() + STOP_GRACE_NS;
}

bool kg_worker_process_gone(struct kg_worker_process *w)
{
    if (w->state == KG_WORKER_ENDING && waitpid(w->pid, NULL, WNOHANG) == 0) {
        if (kg_clock_ns() > w->kill_ns) {
            kill(w->pid, SIGKILL);
        }
        return false;
    }
    w->state = KG_WORKER_NONE;
    return true;
}
