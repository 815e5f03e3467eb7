#include "gym/judge/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "gym/judge/state.h"
#include "gym/sandbox/sandbox.h"

#define SOCKET 3

/* Nothing of the broker's stays open but standard error, for assertions. */
static void keep_only(int sock)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
    }
    if (sock != SOCKET) {
        dup2(sock, SOCKET);
    }
    close_range(SOCKET + 1, ~0u, 0);
}

/* The broker decides when the judge ends: a terminal's interrupt is for the broker alone. */
static void reset_signals(void)
{
    sigset_t none;
    for (int k = 1; k < NSIG; k++) {
        signal(k, SIG_DFL);
    }
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void pin(int cpu)
{
    cpu_set_t set;
    if (cpu >= 0) {
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
}

/* The crypto library reads its configuration at the first use: that must be over before files are
 * out of reach. */
static void warm_up(void)
{
    struct kg_rng r;
    char hex[KG_SHA256_HEX];
    kg_rng_init(&r, kg_key_derive((struct kg_key){{0, 0}}, "warm up", 0), 0);
    (void)kg_rng_u64(&r);
    kg_rng_deinit(&r);
    kg_sha256_hex("", 0, hex);
}

static bool confine(void)
{
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return false;
    }
    return kg_seccomp_profile(KG_PROFILE_JUDGE) == 0;
}

/* One message: its length, or -1 at the end. Descriptors go to fds, *nfds of them. */
static ssize_t receive(void *buf, size_t cap, int *fds, int *nfds)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KG_JUDGE_FDS * sizeof(int))];
    struct iovec iov = {buf, cap};
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    *nfds = 0;
    ssize_t n;
    do {
        n = recvmsg(SOCKET, &m, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return -1;
    }
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL; c = CMSG_NXTHDR(&m, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            *nfds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(fds, CMSG_DATA(c), (size_t)*nfds * sizeof(int));
        }
    }
    return n;
}

static bool answer(const struct kg_judge_rep *rep)
{
    ssize_t n;
    do {
        n = send(SOCKET, rep, sizeof *rep, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *rep;
}

/* A message that is no request gets an error for an answer and changes nothing. */
static void refuse(const char *why, int *fds, int nfds, struct kg_judge_rep *rep)
{
    struct kg_err err = KG_ERR_INIT;
    kg_fail(&err, KG_E_GYM, "judge: %s", why);
    *rep = (struct kg_judge_rep){.magic = KG_JUDGE_MAGIC, .code = KG_E_GYM};
    memcpy(rep->message, err.message, sizeof rep->message);
    for (int k = 0; k < nfds; k++) {
        close(fds[k]);
    }
}

static void serve(struct kg_judge_state *s)
{
    /* One byte more than a request, so that a longer message is seen to be longer. */
    _Alignas(struct kg_judge_req) char buf[sizeof(struct kg_judge_req) + 1];
    struct kg_judge_rep rep;
    for (;;) {
        int fds[KG_JUDGE_FDS], nfds;
        ssize_t n = receive(buf, sizeof buf, fds, &nfds);
        if (n < 0 || (n == 0 && nfds == 0)) {
            return;
        }
        const char *wrong = kg_judge_req_check(buf, (size_t)n);
        if (wrong != NULL) {
            refuse(wrong, fds, nfds, &rep);
        } else {
            struct kg_judge_req req;
            memcpy(&req, buf, sizeof req);
            kg_judge_serve(s, &req, fds, nfds, &rep);
        }
        if (!answer(&rep)) {
            return;
        }
    }
}

void kg_judge_main(int sock, int cpu, pid_t broker)
{
    static struct kg_judge_state state; /* too large for a stack that is copied on write */
    struct kg_err err = KG_ERR_INIT;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != broker) {
        _exit(1); /* it died before the line above */
    }
    prctl(PR_SET_NAME, "kgym-judge");
    kg_log_role("judge");
    keep_only(sock);
    reset_signals();
    pin(cpu);
    warm_up();
    struct kg_judge_rep hello = {.magic = KG_JUDGE_MAGIC, .op = KG_JUDGE_HELLO};
    hello.code = (uint32_t)kg_judge_state_init(&state, &err);
    memcpy(hello.message, err.message, sizeof hello.message);
    hello.flag = confine();
    if (answer(&hello) && hello.code == KG_OK) {
        serve(&state);
    }
    _exit(0);
}
