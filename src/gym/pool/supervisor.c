/* The supervisor's process: its loop, and its end. */
#include "gym/pool/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "gym/eval/context.h"
#include "gym/sandbox/sandbox.h"

static volatile int told_to_stop;

static void on_terminate(int sig)
{
    (void)sig;
    told_to_stop = 1;
}

static bool everything_read(struct kg_supervisor *s)
{
    struct kg_frame f;
    while (kg_channel_take(&s->client, &f)) {
        kg_supervisor_obey(s, &f);
        kg_frame_deinit(&f);
    }
    return !s->client.ended;
}

static void listen_once(struct kg_supervisor *s, struct pollfd *p, int timeout_ms)
{
    p[0] = (struct pollfd){.fd = s->client.fd, .events = POLLIN};
    p[0].events = (short)(POLLIN | (kg_channel_flush(&s->client) ? POLLOUT : 0));
    for (int i = 0; i < s->nworkers; i++) {
        struct kg_worker_process *w = s->worker[i];
        bool open = w->state == KG_WORKER_IDLE || w->state == KG_WORKER_BUSY;
        p[i + 1] = (struct pollfd){.fd = open ? w->channel.fd : -1, .events = POLLIN};
        if (open && kg_channel_flush(&w->channel)) {
            p[i + 1].events = POLLIN | POLLOUT;
        }
    }
    int n = s->nworkers;
    timeout_ms = s->client.ended ? 0 : timeout_ms;
    /* a signal between the last look and poll is seen a second later */
    if (poll(p, (nfds_t)n + 1, timeout_ms < 0 ? 1000 : timeout_ms) <= 0) {
        return;
    }
    if (p[0].revents) {
        kg_channel_fill(&s->client);
    }
    for (int i = 0; i < n; i++) {
        if (p[i + 1].revents & (POLLIN | POLLHUP | POLLERR)) {
            kg_supervisor_hear(s, s->worker[i]);
        }
    }
}

/* Ends workers side by side: each may need a second for what it holds on a GPU. */
static void end_workers(struct kg_supervisor *s)
{
    for (int i = 0; i < s->nworkers; i++) {
        kg_worker_process_end(s->worker[i]);
    }
    for (bool some = true; some; usleep(1000)) {
        some = false;
        for (int i = 0; i < s->nworkers; i++) {
            some = !kg_worker_process_gone(s->worker[i]) || some;
        }
    }
    kg_sandbox_sweep(); /* of a worker that was killed */
}

static enum kg_code greet(struct kg_supervisor *s)
{
    struct kg_frame f;
    struct kg_err err = KG_ERR_INIT;
    if (!kg_channel_wait(&s->client, -1, &told_to_stop, &f)) {
        return KG_E_GYM;
    }
    enum kg_code code = f.kind == KG_FRAME_OPEN
                            ? kg_supervisor_open(s, f.head, &err)
                            : kg_fail(&err, KG_E_GYM, "the first frame is not OPEN");
    kg_frame_deinit(&f);
    json_t *head = json_pack("{s:s, s:i, s:i}", "version", KG_VERSION, "workers", s->wanted,
                             "cores", s->ncores);
    head = kg_frame_put_error(head, &err);
    return kg_channel_send(&s->client, KG_FRAME_REPLY, head, "", 0) ? code : KG_E_GYM;
}

int kg_pool_supervise(int fd)
{
    struct kg_supervisor s = {.stop = &told_to_stop};
    struct sigaction sa = {.sa_handler = on_terminate};
    sigemptyset(&sa.sa_mask);
    prctl(PR_SET_NAME, "kgym-pool"); /* what ps shows */
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGINT, &sa, NULL);
    kg_channel_init(&s.client, fd);
    kg_sandbox_sweep();
    enum kg_code code = greet(&s);
    struct pollfd *p = NULL;
    int room = 0;
    while (code == KG_OK && everything_read(&s) && !told_to_stop) {
        kg_supervisor_feed(&s);
        int timeout_ms = kg_supervisor_tend(&s);
        if (!p || room < s.nworkers + 1) {
            room = s.nworkers + 1;
            free(p);
            p = calloc((size_t)room, sizeof *p);
            KG_ASSERT(p);
        }
        listen_once(&s, p, timeout_ms);
    }
    free(p);
    end_workers(&s);
    kg_supervisor_close(&s);
    return code == KG_OK ? 0 : 2;
}
