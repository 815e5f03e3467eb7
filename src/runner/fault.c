#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "runner/runner.h"

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* True for a write: bit 1 of the page-fault error code (Intel SDM 3A, 4.7); for trap 14 only. */
static uint32_t was_write(const ucontext_t *u)
{
#ifdef __x86_64__
    return u->uc_mcontext.gregs[REG_TRAPNO] == 14 && (u->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    (void)u;
    return 0;
#endif
}

/* SA_RESETHAND has restored the default action. So a fault happens again on return, and kills even
 * pid 1 of a namespace. A signal that was only sent (abort, raise) is sent again. Pid 1 ignores
 * that, so it exits with the status that a shell would show. */
static void note_and_die(int signal, siginfo_t *info, void *context)
{
    struct kg_wire *w = kg_runner_wire();
    if (w->fault_signal == 0) {
        w->fault_signal = (uint32_t)signal;
        w->fault_address = (uint64_t)(uintptr_t)info->si_addr;
        w->fault_write = was_write(context);
    }
    if (info->si_code > 0) {
        return;
    }
    kill(getpid(), signal);
    _exit(128 + signal);
}

void kg_runner_catch_faults(void)
{
    static unsigned char stack[1 << 16]; /* a frame with AMX state is 11 KB */
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    if (sigaltstack(&alternate, NULL) != 0) {
        kg_runner_die("cannot set the signal stack");
    }
    struct sigaction act = {.sa_sigaction = note_and_die,
                            .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        if (sigaction(fatal[i], &act, NULL) != 0) {
            kg_runner_die("cannot catch signals");
        }
    }
}
