#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "gym/judge/client.h"
#include "gym/judge/process.h"

#define ANSWER_MS                                                                                  \
    120000 /* the longest operation takes seconds; a judge that is silent is stuck                 \
            */

static void no_regions(struct kg_judge *j)
{
    struct kg_region none = {.fd = -1, .runner_fd = -1};
    j->in = j->out = j->wide_in = j->wide_out = none;
}

/* How it ended, for the message; reaps it. */
static void reap(struct kg_judge *j, char *why, size_t cap)
{
    int status = 0;
    kill(j->pid, SIGKILL); /* it closed its socket, so it is dying or of no use */
    pid_t got;
    do {
        got = waitpid(j->pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    if (got == j->pid && WIFSIGNALED(status)) {
        snprintf(why, cap, "killed by signal %d", WTERMSIG(status));
    } else if (got == j->pid) {
        snprintf(why, cap, "exit status %d", WEXITSTATUS(status));
    } else {
        snprintf(why, cap, "reaped elsewhere");
    }
    close(j->sock);
    j->sock = -1;
    j->pid = -1;
}

static enum kg_code dead(struct kg_judge *j, uint32_t op, struct kg_err *err)
{
    char why[64];
    int pid = (int)j->pid;
    reap(j, why, sizeof why);
    return kg_fail(err, KG_E_GYM, "the judge (process %d) died during `%s`: %s", pid,
                   kg_judge_op_name(op), why);
}

static enum kg_code broken(struct kg_judge *j, uint32_t op, const char *what, struct kg_err *err)
{
    char why[64];
    reap(j, why, sizeof why);
    return kg_fail(err, KG_E_GYM, "the judge was ended during `%s`: %s", kg_judge_op_name(op),
                   what);
}

static bool send_all(int sock, const void *msg, size_t n, const int *fds, int nfds)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KG_JUDGE_FDS * sizeof(int))] = {0};
    struct iovec iov = {.iov_len = n};
    memcpy(&iov.iov_base, &msg, sizeof msg); /* sendmsg does not write */
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
    if (nfds > 0) {
        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, (size_t)nfds * sizeof(int));
    }
    ssize_t sent;
    do {
        sent = sendmsg(sock, &m, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)n;
}

/* 1: something to read (or the end); 0: silence for too long. */
static int wait_for_answer(int sock)
{
    int64_t deadline = kg_clock_ns() + (int64_t)ANSWER_MS * 1000000;
    for (;;) {
        struct pollfd p = {sock, POLLIN, 0};
        int64_t left = (deadline - kg_clock_ns()) / 1000000;
        int rc = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (rc >= 0 || errno != EINTR) {
            return rc;
        }
    }
}

static enum kg_code receive(struct kg_judge *j, uint32_t op, struct kg_judge_rep *rep,
                            struct kg_err *err)
{
    if (wait_for_answer(j->sock) == 0) {
        return broken(j, op, "it did not answer in time", err);
    }
    ssize_t n;
    do {
        n = recv(j->sock, rep, sizeof *rep, 0);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        return dead(j, op, err);
    }
    const char *wrong = kg_judge_rep_check(rep, (size_t)n, op, j->seq);
    return wrong ? broken(j, op, wrong, err) : KG_OK;
}

enum kg_code kg_judge_ask(struct kg_judge *j, struct kg_judge_req *req, const int *fds, int nfds,
                          struct kg_judge_rep *rep, struct kg_err *err)
{
    if (j->pid <= 0) {
        return kg_fail(err, KG_E_GYM, "the judge is not running (`%s`)", kg_judge_op_name(req->op));
    }
    req->magic = KG_JUDGE_MAGIC;
    req->seq = ++j->seq;
    const char *wrong = kg_judge_req_check(req, sizeof *req);
    if (wrong != NULL) {
        return kg_fail(err, KG_E_GYM, "cannot ask the judge to `%s`: %s", kg_judge_op_name(req->op),
                       wrong);
    }
    if (!send_all(j->sock, req, sizeof *req, fds, nfds)) {
        return dead(j, req->op, err);
    }
    if (receive(j, req->op, rep, err) != KG_OK) {
        return err->code;
    }
    return rep->code == KG_OK ? KG_OK : kg_fail(err, (enum kg_code)rep->code, "%s", rep->message);
}

enum kg_code kg_judge_start(int cpu, struct kg_judge *out, struct kg_err *err)
{
    int pair[2];
    pid_t self = getpid();
    memset(out, 0, sizeof *out);
    out->pid = out->sock = -1;
    no_regions(out);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        return kg_fail(err, KG_E_HOST, "no socket for the judge: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid < 0) {
        kg_fail(err, KG_E_HOST, "cannot fork the judge: %s", strerror(errno));
        close(pair[0]);
        close(pair[1]);
        return err->code;
    }
    if (pid == 0) {
        kg_judge_main(pair[1], cpu, self);
    }
    close(pair[1]);
    out->pid = pid;
    out->sock = pair[0];
    struct kg_judge_rep hello = {.magic = 0};
    if (receive(out, KG_JUDGE_HELLO, &hello, err) != KG_OK) {
        return err->code;
    }
    if (hello.code != KG_OK) {
        return broken(out, KG_JUDGE_HELLO, hello.message, err);
    }
    out->confined = hello.flag == 1;
    return KG_OK;
}

void kg_judge_stop(struct kg_judge *j)
{
    char why[64];
    if (j->pid > 0) {
        reap(j, why, sizeof why);
    }
    kg_judge_drop_regions(j);
}

void kg_judge_drop_regions(struct kg_judge *j)
{
    if (j->opened) {
        kg_region_destroy(&j->in);
        kg_region_destroy(&j->out);
        kg_region_destroy(&j->wide_in);
        kg_region_destroy(&j->wide_out);
    }
    no_regions(j);
    j->opened = false;
    j->in_bytes = j->out_bytes = 0;
}
