/* One request to the judge of tensors and its reply, and the start and end of the judge's process.
 * While a request is under way, this side holds the shared lease of the device. */
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/trace.h"
#include "gym/device/device_client.h"
#include "gym/device/device_process.h"
#include "gym/run/trusted.h"
#include "gym/timing/lease.h"

/* A judge that stays silent for so long beyond a call's deadline is stuck. */
#define SILENCE_NS 120000000000
#define ATTEND_NS  1000000 /* pause between two looks at `building` */
/* A request that takes longer is marked slow: queued exclusive users step back for it. */
#define SLOW_NS 200000000
#define SPIN_NS 500000 /* most requests that call no runner end within it */

/* Ends the judge and makes the error. what NULL: it died by itself. */
static enum kg_code end(struct kg_dj *j, enum kg_code code, uint32_t op, const char *what,
                        struct kg_err *err)
{
    char why[64];
    int pid = (int)j->pid;
    kg_trusted_reap(&j->pid, &j->sock, why, sizeof why);
    if (what == NULL) {
        return kg_fail(err, code, "the judge of tensors (process %d) died during `%s`: %s", pid,
                       kg_djm_op_name(op), why);
    }
    return kg_fail(err, code, "the judge of tensors was ended during `%s`: %s", kg_djm_op_name(op),
                   what);
}

/* The lease of the device during one request. While the runner says that it builds, it is
 * released. */
struct use {
    struct kg_lease lease;
    _Atomic uint32_t *building; /* NULL: the runner never says so */
    int64_t since_ns;           /* the lease is shared since then */
    int64_t builds_ns;          /* the runner builds since then; 0: it does not */
};

/* Waits for the shared lease. The judge learns how long that took, and extends the deadline by
 * it. */
static enum kg_code share(struct kg_dj *j, struct kg_lease *lease, struct kg_err *err)
{
    int64_t asked = kg_clock_ns();
    atomic_store(&j->pause->since_ns, asked);
    enum kg_code code = kg_lease_share(j->spec.device, lease, j->spec.cancelled, err);
    int64_t waited = kg_clock_ns() - asked;
    atomic_fetch_add(&j->pause->total_ns, waited);
    atomic_store(&j->pause->since_ns, 0);
    j->waited_ns += waited;
    kg_trace_span(asked, "judge", "wait");
    return code;
}

/* Ends the trace of a build. */
static void built(struct use *u)
{
    if (u->builds_ns > 0) {
        kg_trace_span(u->builds_ns, "runner", "build");
        u->builds_ns = 0;
    }
}

/* Acts on the runner's word: releases the lease while it builds, and takes the lease again when the
 * runner waits for the device. A request that takes long is marked slow. */
static enum kg_code attend(struct kg_dj *j, struct use *u, struct kg_err *err)
{
    uint32_t said = u->building != NULL ? atomic_load(u->building) : KG_TB_NONE;
    if (said == KG_TB_BUSY) {
        kg_lease_release(&u->lease);
        u->builds_ns = u->builds_ns > 0 ? u->builds_ns : kg_clock_ns();
    }
    if (said == KG_TB_WAITS) {
        built(u);
        if (u->lease.fd < 0 && share(j, &u->lease, err) != KG_OK) {
            return err->code;
        }
        u->since_ns = kg_clock_ns();
        atomic_store(u->building, KG_TB_NONE);
        syscall(SYS_futex, u->building, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
    bool slow = u->lease.fd >= 0 && u->lease.fd_slow < 0 && kg_clock_ns() - u->since_ns > SLOW_NS;
    return slow ? kg_lease_slow(j->spec.device, &u->lease, err) : KG_OK;
}

/* Waits for the reply, and attends to the runner meanwhile. Results as kg_trusted_poll; -1: *err.
 * Time that the request waits for the device moves the deadline. */
static int await(struct kg_dj *j, int64_t deadline_ns, struct use *u, struct kg_err *err)
{
    int got = 0;
    int64_t waited = j->waited_ns, lost = kg_clock_lost_ns(), until = deadline_ns;
    while ((u->building != NULL || (u->lease.fd >= 0 && u->lease.fd_slow < 0)) && got == 0 &&
           kg_clock_ns() < until && !(j->spec.cancelled != NULL && *j->spec.cancelled)) {
        if (attend(j, u, err) != KG_OK) {
            return -1;
        }
        until = deadline_ns + j->waited_ns - waited + kg_clock_lost_ns() - lost;
        int64_t slice = kg_clock_ns() + (u->building != NULL ? ATTEND_NS : SLOW_NS);
        got = kg_trusted_poll(j->sock, slice < until ? slice : until, NULL);
        until = deadline_ns + j->waited_ns - waited + kg_clock_lost_ns() - lost;
    }
    return got ? got : kg_trusted_poll(j->sock, until, j->spec.cancelled);
}

static enum kg_code receive(struct kg_dj *j, uint32_t op, int64_t deadline_ns, struct use *u,
                            struct kg_djm_rep *rep, int fds[KG_MESSAGE_FDS], int *nfds,
                            struct kg_err *err)
{
    *nfds = 0;
    /* Spins for short requests while the device is held for timing, because a wake-up takes long.
     * Not for RUN: there the runner may need this core. */
    if (j->facts.clock && j->held && op != KG_DJM_RUN) {
        kg_trusted_spin(j->sock, SPIN_NS);
    }
    int got = await(j, deadline_ns, u, err);
    if (got < 0) {
        struct kg_err cause = *err;
        return end(j, cause.code, op, cause.message, err);
    }
    if (got == 0) {
        bool asked = j->spec.cancelled != NULL && *j->spec.cancelled;
        return asked ? end(j, KG_E_CANCELLED, op, "interrupted", err)
                     : end(j, KG_E_GYM, op, "it did not answer in time", err);
    }
    ssize_t n = kg_message_receive(j->sock, rep, sizeof *rep, fds, nfds);
    if (n <= 0) {
        return end(j, KG_E_GYM, op, NULL, err);
    }
    const char *wrong = kg_djm_rep_check(rep, (size_t)n, op, j->seq);
    wrong = wrong == NULL && rep->code == KG_OK && *nfds != (op == KG_DJM_OPEN ? 3 : 0)
                ? "a reply with the wrong descriptors"
                : wrong;
    if (wrong != NULL) {
        for (int k = 0; k < *nfds; k++) {
            close(fds[k]);
        }
        *nfds = 0;
        return end(j, KG_E_GYM, op, wrong, err);
    }
    return KG_OK;
}

/* One round trip. fd: sent where fd >= 0; got: descriptors that came back. */
static enum kg_code ask_now(struct kg_dj *j, struct kg_djm_req *req, int fd, struct use *u,
                            struct kg_djm_rep *rep, int got[KG_MESSAGE_FDS], struct kg_err *err)
{
    int64_t until = kg_clock_ns();
    int nfds;
    if (j->pid <= 0) {
        return kg_fail(err, KG_E_GYM, "the judge of tensors is not running (`%s`)",
                       kg_djm_op_name(req->op));
    }
    req->magic = KG_DJM_MAGIC;
    req->seq = ++j->seq;
    atomic_store(&j->pause->total_ns, 0);
    const char *wrong = kg_djm_req_check(req, kg_djm_req_bytes(req->op));
    if (wrong != NULL) {
        return kg_fail(err, KG_E_GYM, "cannot ask the judge of tensors to `%s`: %s",
                       kg_djm_op_name(req->op), wrong);
    }
    until = req->op == KG_DJM_RUN && req->deadline_ns > until ? req->deadline_ns : until;
    if (!kg_message_send(j->sock, req, kg_djm_req_bytes(req->op), &fd, fd >= 0 ? 1 : 0)) {
        return end(j, KG_E_GYM, req->op, NULL, err);
    }
    if (receive(j, req->op, until + SILENCE_NS, u, rep, got, &nfds, err) != KG_OK) {
        return err->code;
    }
    j->bytes = rep->held;
    if (rep->code == KG_OK) {
        return KG_OK;
    }
    kg_fail(err, (enum kg_code)rep->code, "%s", rep->message);
    err->strained = err->code == KG_E_HOST || err->code == KG_E_LIMIT;
    err->memory = rep->memory;
    return err->code;
}

/* The span of a request, and those of a call's parts. */
static void trace(const struct kg_dj *j, const struct kg_djm_req *req, const struct kg_djm_rep *rep,
                  int64_t begun)
{
    const struct kg_dj_report *r = &rep->report;
    bool run = req->op == KG_DJM_RUN;
    if (run && req->command == KG_TC_CALL && rep->code == KG_OK && r->answered_ns > 0) {
        const char *kind = req->timed ? "part of a timed call" : "part of a call";
        kg_trace_span_of(begun, r->released_ns, kind, "set-up");
        kg_trace_span_of(r->released_ns, r->answered_ns, kind, "answer");
        kg_trace_span(r->answered_ns, kind, "after");
    }
    kg_trace_span(begun, j->held ? "judge, alone:" : "judge:",
                  run ? kg_tcommand_name((enum kg_tcommand)req->command) : kg_djm_op_name(req->op));
}

enum kg_code kg_dj_ask(struct kg_dj *j, struct kg_djm_req *req, int fd, _Atomic uint32_t *building,
                       struct kg_djm_rep *rep, int got[KG_MESSAGE_FDS], struct kg_err *err)
{
    /* No lease is needed if the judge is gone, or for what does not touch the device. */
    bool away = req->op == KG_DJM_USE || req->op == KG_DJM_ATTACH;
    bool shares = j->pid > 0 && j->facts.clock && !j->held && !away;
    struct use u = {KG_LEASE_NONE, shares ? building : NULL, 0, 0};
    int64_t asked = kg_clock_ns();
    rep->code = KG_E_GYM;
    rep->flag = 0;
    rep->port = -1;
    if (shares && share(j, &u.lease, err) != KG_OK) {
        return err->code;
    }
    int64_t begun = u.since_ns = kg_clock_ns();
    if (req->op == KG_DJM_RUN) { /* waiting for the lease does not use up the runner's time */
        req->deadline_ns += begun - asked;
    }
    if (u.building != NULL) { /* else the runner's word would get no answer */
        req->flags |= KG_TF_POLITE;
        atomic_store(building, KG_TB_NONE);
    }
    enum kg_code code = ask_now(j, req, fd, &u, rep, got, err);
    built(&u);
    trace(j, req, rep, begun);
    kg_lease_release(&u.lease);
    return code;
}

static enum kg_code share_pause(struct kg_dj *j, struct kg_err *err)
{
    void *page =
        mmap(NULL, sizeof *j->pause, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return kg_fail_memory(err, KG_E_HOST, "no memory to share with the judge of tensors");
    }
    j->pause = page;
    return KG_OK;
}

static enum kg_code greet(struct kg_dj *j, struct kg_err *err)
{
    int nfds, fds[KG_MESSAGE_FDS];
    struct kg_djm_rep hello;
    struct use none = {KG_LEASE_NONE, NULL, 0, 0};
    hello.code = KG_E_GYM;
    if (receive(j, KG_DJM_HELLO, kg_clock_ns() + SILENCE_NS, &none, &hello, fds, &nfds, err) !=
        KG_OK) {
        return err->code;
    }
    j->facts = hello.facts;
    return hello.code == KG_OK ? KG_OK
                               : kg_fail(err, (enum kg_code)hello.code, "%s", hello.message);
}

enum kg_code kg_dj_start(const struct kg_dj_spec *spec, struct kg_dj *out, struct kg_err *err)
{
    pid_t self = getpid();
    *out = (struct kg_dj){.spec = *spec};
    enum kg_code code = share_pause(out, err);
    if (code == KG_OK) {
        code = kg_trusted_fork("the judge of tensors", &out->pid, &out->sock, err);
    }
    if (code == KG_OK && out->pid == 0) {
        kg_dj_main(out->sock, spec, self, out->pause);
    }
    code = code == KG_OK ? greet(out, err) : code;
    if (code != KG_OK) {
        kg_dj_stop(out);
    }
    return code;
}

void kg_dj_stop(struct kg_dj *j)
{
    char why[64];
    if (j->pid > 0) {
        kg_trusted_reap(&j->pid, &j->sock, why, sizeof why);
    }
    if (j->pause != NULL) {
        munmap(j->pause, sizeof *j->pause);
        j->pause = NULL;
    }
}
