/* The program `kgym-runner OBJECT`; see runner.h. It maps, catches faults, closes descriptors,
 * seals itself (seccomp) and tells the broker. When the broker says so it loads the object, and
 * then makes call after call until it is killed. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gym/sandbox/sandbox.h"
#include "runner/runner.h"

void kg_runner_die(const char *what)
{
    dprintf(STDERR_FILENO, "kgym-runner: %s: %s\n", what, strerror(errno));
    _exit(KG_RUNNER_BOOT_EXIT);
}

static void announce(enum kg_wire_state state)
{
    struct kg_wire *w = kg_runner_wire();
    atomic_store_explicit(&w->state, (uint32_t)state, memory_order_release);
    kg_runner_wake(&w->state);
}

/* Reports a failed load by state and note. The exit status would not do, because code of the object
 * (its constructors) could choose it as well. */
_Noreturn static void refuse(enum kg_wire_state state, const char *why)
{
    struct kg_wire *w = kg_runner_wire();
    snprintf(w->note, sizeof w->note, "%s", why ? why : "");
    announce(state);
    _exit(0);
}

static kg_entry_fn load(const char *object)
{
    struct kg_wire *w = kg_runner_wire();
    void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        refuse(KG_WIRE_LOAD_FAILED, dlerror());
    }
    void *symbol = dlsym(handle, w->entry);
    if (!symbol) {
        refuse(KG_WIRE_NO_ENTRY, dlerror());
    }
    kg_entry_fn entry;
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

_Noreturn static void serve(kg_entry_fn entry)
{
    struct kg_wire *w = kg_runner_wire();
    uint32_t seen = 0;
    for (;;) {
        uint32_t go = atomic_load_explicit(&w->go, memory_order_acquire);
        if (go == seen) {
            kg_runner_wait(&w->go, seen);
            continue;
        }
        kg_runner_invoke(entry, &w->call);
        seen = go;
        atomic_store_explicit(&w->done, seen, memory_order_release);
        kg_runner_wake(&w->done);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        errno = EINVAL;
        kg_runner_die("usage: kgym-runner OBJECT, started by kgym's broker only");
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* the broker blocks some, and a mask survives exec */
    kg_runner_map();
    kg_runner_catch_faults();
    for (int fd = KG_FD_CTRL; fd <= KG_FD_OBJECT; fd++) {
        close(fd);
    }
    int sealed = kg_seccomp_run();
    if (sealed != 0) {
        errno = -sealed;
        kg_runner_die("cannot seal itself");
    }
    struct kg_wire *w = kg_runner_wire();
    announce(KG_WIRE_LOADING);
    while (atomic_load_explicit(&w->load, memory_order_acquire) == 0) {
        kg_runner_wait(&w->load, 0);
    }
    kg_entry_fn entry = load(argv[1]);
    announce(KG_WIRE_READY);
    serve(entry);
}
