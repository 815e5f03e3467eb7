/* Notes fatal signals in the control block before they kill: the address, and whether it was a
 * write. As in the C runner (src/runner/fault.c), a fault happens again on return, and kills even
 * pid 1 of a namespace. Pid 1 ignores signals that are only sent (abort, raise), so it exits with
 * the status that a shell would show. */
#include <errno.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "probe/probe.h"

static struct kg_twire *wire;

/* Bit 1 of the page-fault error code (Intel SDM 3A, 4.7); for trap 14 only. */
static uint32_t was_write(const ucontext_t *u)
{
#ifdef __x86_64__
    return u->uc_mcontext.gregs[REG_TRAPNO] == 14 && (u->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    (void)u;
    return 0;
#endif
}

static void note_and_die(int signal, siginfo_t *info, void *context)
{
    if (wire->fault_signal == 0) {
        wire->fault_address = (uint64_t)(uintptr_t)info->si_addr;
        wire->fault_write = was_write(context);
        wire->fault_signal = (uint32_t)signal;
    }
    if (info->si_code > 0) {
        return;
    }
    kill(getpid(), signal);
    _exit(128 + signal);
}

int kg_probe_catch_faults(struct kg_twire *w)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static unsigned char stack[1 << 16]; /* a frame with AMX state is 11 KB */
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    wire = w;
    struct sigaction act = {.sa_sigaction = note_and_die,
                            .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER};
    int rc = sigaltstack(&alternate, NULL);
    for (size_t i = 0; rc == 0 && i < sizeof fatal / sizeof *fatal; i++) {
        rc = sigaction(fatal[i], &act, NULL);
    }
    return rc == 0 ? 0 : -errno;
}
