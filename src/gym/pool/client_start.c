/* Starting a pool's supervisor, ending it, and starting another one when it died. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"
#include "gym/pool/client.h"
#include "gym/pool/spawn.h"

#define GREETING_MS 60000
#define END_NS      10000000000
#define MOST_DEATHS 3 /* of supervisors without a result in between */

static enum kg_code greeted(struct kgym_pool *p, struct kg_err *err)
{
    struct kg_frame f;
    bool sent = kg_channel_send(&p->channel, KG_FRAME_OPEN, json_incref(p->options), "", 0);
    if (!sent && !p->channel.ended) {
        return kg_fail(err, KG_E_LIMIT,
                       "no memory to send the pool's options, or they are longer "
                       "than 1 MiB");
    }
    if (!sent || !kg_channel_wait(&p->channel, GREETING_MS, NULL, &f)) {
        return kg_fail(err, KG_E_HOST, "%s: this is no `kgym` that can run a pool", p->program);
    }
    const char *version = kg_frame_text(f.head, "version");
    enum kg_code code = KG_OK;
    if (!version || strcmp(version, KG_VERSION) != 0) {
        code = kg_fail(err, KG_E_HOST,
                       "%s is version %s, and the library is version " KG_VERSION
                       ": install both alike, or set KGYM_PROGRAM",
                       p->program, version ? version : "unknown");
    } else {
        code = kg_frame_get_error(f.head, err);
    }
    kg_frame_deinit(&f);
    return code;
}

enum kg_code kg_client_start(struct kgym_pool *p, struct kg_err *err)
{
    const struct kg_role role = {.program = p->program,
                                 .name = p->remote ? KG_ROLE_REMOTE : KG_ROLE_SUPERVISOR,
                                 .shared = -1,
                                 .own_session = true};
    int sock;
    if (kg_role_start(&role, &p->supervisor, &sock, err) != KG_OK) {
        p->supervisor = -1;
        return err->code;
    }
    p->starts++;
    kg_channel_init(&p->channel, sock);
    if (greeted(p, err) != KG_OK) {
        return err->code;
    }
    struct epoll_event e = {.events = EPOLLIN};
    if (epoll_ctl(p->poll_fd, EPOLL_CTL_ADD, sock, &e) != 0) {
        return kg_fail(err, KG_E_HOST, "epoll: %s", strerror(errno));
    }
    return KG_OK;
}

/* Only the process that this pool started is waited for. A caller that takes the status of all of
 * its children, or ignores SIGCHLD, may have it already. */
static void reap(pid_t pid)
{
    siginfo_t info;
    int64_t end_ns = kg_clock_ns() + END_NS;
    for (;;) {
        info.si_pid = 0;
        int got = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG);
        if ((got == 0 && info.si_pid == pid) || (got != 0 && errno != EINTR)) {
            return;
        }
        if (kg_clock_ns() > end_ns) {
            kill(pid, SIGKILL);
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

void kg_client_end(struct kgym_pool *p)
{
    if (p->channel.fd >= 0) { /* a child of the caller may hold a copy of it */
        (void)epoll_ctl(p->poll_fd, EPOLL_CTL_DEL, p->channel.fd, NULL);
    }
    kg_channel_deinit(&p->channel);
    if (p->supervisor > 0) {
        reap(p->supervisor);
    }
    p->supervisor = -1;
}

/* False: the new supervisor has died, too, or there is no memory to tell it everything. */
static bool send_all(struct kgym_pool *p)
{
    size_t i;
    json_t *core;
    bool good = true;
    if (p->workers > 0) {
        good = kg_channel_queue(
            &p->channel, KG_FRAME_REQUEST,
            json_pack("{s:i, s:s, s:i}", "request", -1, "call", "resize", "workers", p->workers),
            "", 0);
    }
    json_array_foreach(p->held, i, core)
    {
        if (json_integer_value(core) == KG_CLIENT_NO_CORE) {
            continue; /* the request that asks for it is sent again */
        }
        good = good && kg_channel_queue(&p->channel, KG_FRAME_REQUEST,
                                        json_pack("{s:i, s:s, s:O, s:i}", "request", -1, "call",
                                                  "hold", "core", core, "timeout_ms", -1),
                                        "", 0);
    }
    for (size_t k = 0; k < p->ntasks && good; k++) {
        struct kg_client_task *t = &p->task[k];
        if (t->deadline_ns > 0) { /* what is left of it */
            double left_s = 1e-9 * (double)(t->deadline_ns - kg_clock_ns());
            left_s = left_s > 1e-9 ? left_s : 1e-9;
            good = json_object_set_new(t->head, "deadline_s", json_real(left_s)) == 0;
        }
        if (t->deaths > 0) {
            good = json_object_set_new(t->head, "deaths", json_integer(t->deaths)) == 0 && good;
        }
        good = good &&
               kg_channel_send(&p->channel, KG_FRAME_TASK, json_incref(t->head), t->body, t->len);
        if (good && t->cancelled) {
            good = kg_channel_send(&p->channel, KG_FRAME_CANCEL,
                                   json_pack("{s:I}", "id", (json_int_t)t->id), "", 0);
        }
    }
    if (p->draining) {
        good = good && kg_channel_send(&p->channel, KG_FRAME_DRAIN, json_object(), "", 0);
    }
    return good;
}

/* A task that a worker had may be what killed the supervisor. */
static void count_death(struct kgym_pool *p)
{
    for (size_t i = 0; i < p->ntasks; i++) {
        p->task[i].deaths += p->task[i].taken;
        p->task[i].taken = false;
    }
}

void kg_client_restart(struct kgym_pool *p)
{
    struct kg_err err = KG_ERR_INIT;
    if (p->broken.code == KG_OK) {
        kg_client_hear_last(p);
    }
    if (p->broken.code != KG_OK) {
        return;
    }
    count_death(p);
    kg_client_end(p);
    bool said = json_object_set_new(p->options, "again", json_true()) == 0;
    if (!said) {
        kg_fail_memory(&p->broken, KG_E_LIMIT, "no memory to start another supervisor");
    } else if (++p->deaths > MOST_DEATHS) {
        kg_fail(&p->broken, KG_E_GYM, "the pool's supervisor died %d times without a result",
                p->deaths);
    } else if (kg_client_start(p, &err) != KG_OK) {
        if (p->supervisor > 0 && p->channel.ended) { /* killed as it started: another death */
            kg_client_restart(p);
        } else {
            p->broken = err;
        }
    } else if (!send_all(p)) {
        if (p->channel.ended) {
            kg_client_restart(p);
        } else {
            kg_fail_memory(&p->broken, KG_E_LIMIT,
                           "no memory to give the tasks to another supervisor: the pool has ended");
        }
    }
}

enum kg_code kg_client_send(struct kgym_pool *p, enum kg_frame_kind kind, json_t *head,
                            const void *body, size_t len, struct kg_err *err)
{
    if (!kg_channel_send(&p->channel, kind, head, body, len)) {
        if (!p->channel.ended) {
            return kg_fail_memory(err, KG_E_LIMIT, "no memory to speak with the pool's supervisor");
        }
        kg_client_restart(p);
        kg_client_show(p);
    }
    return KG_OK;
}
