/* The parent of a service. */
#include "svc/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "svc/http.h"

enum { GRACE_S = 10, DEATHS = 5, CALM_S = 60, STATUS_ERROR = 2, LISTEN_TRIES = 100 };
/* An error so soon is one of the start. The first one waits for another process that may still have
 * the store (5 s), and runs on a host that may be busy. */
enum { FIRST_EARLY_S = 20, EARLY_S = 2 };

struct child {
    const char *name;
    char *const *argv; /* NULL: there is none */
    int fd;            /* the socket, given to it; -1: none */
    int token;         /* the file, given to it */
    int ready;         /* the pipe, given to it; -1: none */
    pid_t pid;         /* 0: it does not run */
    int64_t begun_ns;
    int deaths;  /* since it last ran for CALM_S */
    bool before; /* it is not the first one */
};

static enum kg_code start(struct child *c, struct kg_err *err)
{
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        return kg_fail(err, KG_E_HOST, "cannot start a process: %s", strerror(errno));
    }
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setpgid(0, 0); /* an interrupt of the terminal is the parent's, which ends both in order */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || !(c->fd < 0 || dup2(c->fd, KG_SVC_SERVE_FD) >= 0) ||
            !(c->ready < 0 || dup2(c->ready, KG_SVC_READY_FD) >= 0) ||
            dup2(c->token, KG_SVC_TOKEN_FD) < 0) {
            _exit(STATUS_ERROR);
        }
        execv("/proc/self/exe", c->argv);
        _exit(STATUS_ERROR);
    }
    c->pid = pid;
    c->begun_ns = kg_clock_ns();
    return KG_OK;
}

/* fd as a number that no child expects. */
static int apart(int fd)
{
    int other = fcntl(fd, F_DUPFD_CLOEXEC, KG_SVC_READY_FD + 1);
    close(fd);
    return other;
}

/* A file without a name that holds a new token. */
static enum kg_code make_token(int *fd, struct kg_err *err)
{
    char token[KG_SVC_TOKEN_LEN];
    if (kg_svc_token_new(token, err) != KG_OK) {
        return err->code;
    }
    *fd = memfd_create("token", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    *fd = *fd >= 0 ? apart(*fd) : -1;
    if (*fd < 0 || write(*fd, token, sizeof token) != (ssize_t)sizeof token ||
        fcntl(*fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return kg_fail(err, KG_E_HOST, "cannot keep a token: %s", strerror(errno));
    }
    return KG_OK;
}

enum kg_code kg_svc_serve_token(char out[KG_SVC_TOKEN_LEN], struct kg_err *err)
{
    ssize_t n = pread(KG_SVC_TOKEN_FD, out, KG_SVC_TOKEN_LEN, 0);
    close(KG_SVC_TOKEN_FD);
    return n == KG_SVC_TOKEN_LEN && out[n - 1] == '\0'
               ? KG_OK
               : kg_fail(err, KG_E_HOST, "the parent gave no token");
}

/* A child has ended by itself. */
static enum kg_code restart(struct child *c, int status, struct kg_err *err)
{
    double lived_s = (double)(kg_clock_ns() - c->begun_ns) * 1e-9;
    double early_s = c->before ? EARLY_S : FIRST_EARLY_S;
    bool killed = WIFSIGNALED(status);
    c->pid = 0;
    c->before = true;
    if (!killed && WEXITSTATUS(status) == STATUS_ERROR && lived_s < early_s) {
        return kg_fail(err, KG_E_GYM, "the %s process could not start", c->name);
    }
    c->deaths = lived_s < CALM_S ? c->deaths + 1 : 1;
    if (c->deaths > DEATHS) {
        return kg_fail(err, KG_E_GYM, "the %s process ends again and again", c->name);
    }
    kg_log(KG_LOG_WARN, "the %s process ended (%s %d): another one starts", c->name,
           killed ? "signal" : "status", killed ? WTERMSIG(status) : WEXITSTATUS(status));
    return start(c, err);
}

static void end(struct child *c)
{
    int64_t until_ns = kg_clock_ns() + (int64_t)GRACE_S * 1000000000;
    const struct timespec slice = {0, 10 * 1000000};
    int status;
    if (c->pid == 0) {
        return;
    }
    kill(c->pid, SIGTERM);
    while (waitpid(c->pid, &status, WNOHANG) == 0) {
        if (kg_clock_ns() > until_ns) {
            kill(c->pid, SIGKILL);
            waitpid(c->pid, &status, 0);
            break;
        }
        nanosleep(&slice, NULL);
    }
    c->pid = 0;
}

static enum kg_code reap(struct child *child, int n, struct kg_err *err)
{
    for (int i = 0; i < n; i++) {
        int status;
        if (child[i].pid > 0 && waitpid(child[i].pid, &status, WNOHANG) == child[i].pid &&
            restart(&child[i], status, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

/* The processes of a service that was killed a moment ago may still have the port. */
static enum kg_code listen_soon(const struct kg_svc_serve_options *o, int *fd, struct kg_err *err)
{
    const struct timespec slice = {0, 20 * 1000000};
    for (int tries = 0; kg_svc_listen(o->host, o->port, fd, err) != KG_OK; tries++) {
        if (err->code != KG_E_IO || tries == LISTEN_TRIES) {
            return err->code;
        }
        nanosleep(&slice, NULL);
    }
    return KG_OK;
}

static int port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } a;
    socklen_t n = sizeof a;
    memset(&a, 0, sizeof a);
    if (getsockname(fd, &a.any, &n) != 0) {
        return 0;
    }
    return ntohs(a.any.sa_family == AF_INET6 ? a.six.sin6_port : a.four.sin_port);
}

static enum kg_code make_pipe(int ready[2], struct kg_err *err)
{
    if (pipe2(ready, O_CLOEXEC | O_NONBLOCK) != 0) {
        return kg_fail(err, KG_E_HOST, "cannot make a pipe: %s", strerror(errno));
    }
    ready[0] = apart(ready[0]);
    ready[1] = apart(ready[1]);
    return KG_OK;
}

/* Until a signal ends the service, or a child can't go on. Somebody who reads the address may ask
 * there at once, so it is told when an api process has said that it serves. */
static enum kg_code tend(const struct kg_svc_serve_options *o, const sigset_t *set,
                         struct child *child, int n, int ready, struct kg_err *err)
{
    const struct timespec slice = {0, 10 * 1000000}, hour = {3600, 0};
    bool told = false;
    for (;;) {
        char byte;
        if (!told && read(ready, &byte, 1) == 1) {
            told = true;
            o->ready(o->ctx, port_of(child[0].fd));
        }
        int signal = sigtimedwait(set, NULL, told ? &hour : &slice);
        if (signal == SIGTERM || signal == SIGINT) {
            return KG_OK;
        }
        if (signal == SIGCHLD && reap(child, n, err) != KG_OK) {
            return err->code;
        }
    }
}

enum kg_code kg_svc_serve(const struct kg_svc_serve_options *o, struct kg_err *err)
{
    sigset_t set;
    int fd = -1, token = -1, ready[2];
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (listen_soon(o, &fd, err) != KG_OK || make_token(&token, err) != KG_OK ||
        make_pipe(ready, err) != KG_OK) {
        return err->code;
    }
    fd = apart(fd);
    struct child child[2] = {
        {.name = "api", .argv = o->api, .fd = fd, .token = token, .ready = ready[1]},
        {.name = "worker",
         .argv = o->worker(o->ctx, port_of(fd)),
         .fd = -1,
         .token = token,
         .ready = -1}};
    int n = child[1].argv != NULL ? 2 : 1;
    enum kg_code code = KG_OK;
    for (int i = 0; i < n && code == KG_OK; i++) {
        code = start(&child[i], err);
    }
    if (code == KG_OK) {
        code = tend(o, &set, child, n, ready[0], err);
    }
    end(&child[1]); /* it hands back what it holds, and is heard */
    end(&child[0]);
    close(fd);
    close(token);
    close(ready[0]);
    close(ready[1]);
    return code;
}
