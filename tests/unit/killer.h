/* A process that kills parts of another, on request: it looks for the asked kind among the children
 * of the one under test, waits, kills one. Everything is static: each test program has its own. */
#ifndef KG_TESTS_KILLER_H
#define KG_TESTS_KILLER_H

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"

#define VICTIM_WAIT 400 /* ms that a victim of the kind is looked for */

enum victim { NOBODY, JUDGE, RUNNER, COMPILER, VICTIM_KINDS };
__attribute__((unused)) static const char *const victim_names[] = {"nobody", "judge", "runner",
                                                                   "compiler"};

static struct shared {
    _Atomic int victim;   /* asked for; the killer puts NOBODY back when it is done */
    _Atomic int delay_us; /* after the victim was seen */
    _Atomic int kills[VICTIM_KINDS];
} * shared;

static struct kg_rng rng;

static inline void rest_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

/* The killer. A judge is a fork of the test; a runner says its name; what else there is compiles.
 */

static inline enum victim kind_of(long pid)
{
    char path[64], exe[512], own[512];
    snprintf(path, sizeof path, "/proc/%ld/exe", pid);
    ssize_t n = readlink(path, exe, sizeof exe - 1);
    ssize_t m = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0 || m <= 0) {
        return NOBODY;
    }
    exe[n] = own[m] = 0;
    if (strcmp(exe, own) == 0) {
        return JUDGE; /* or a child that is about to execute */
    }
    return strstr(exe, "kgym-runner") ? RUNNER : COMPILER;
}

static inline long find_victim(pid_t parent, enum victim kind)
{
    char path[300];
    long found = 0;
    int seen = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    DIR *tasks = opendir(path);
    struct dirent *e;
    while (tasks && (e = readdir(tasks))) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)parent, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
        long pid;
        while (f && fscanf(f, "%ld", &pid) == 1) {
            if (pid != getpid() && kind_of(pid) == kind &&
                kg_rng_below(&rng, (uint64_t)++seen) == 0) {
                found = pid;
            }
        }
        if (f) {
            fclose(f);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    return found;
}

_Noreturn static inline void kill_for_ever(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        enum victim kind = (enum victim)atomic_load(&shared->victim);
        if (kind == NOBODY) {
            rest_us(500);
            continue;
        }
        long pid = 0;
        int64_t until = kg_clock_ns() + VICTIM_WAIT * 1000000ll;
        while (pid == 0 && kg_clock_ns() < until && atomic_load(&shared->victim) == (int)kind) {
            pid = find_victim(parent, kind);
            rest_us(pid ? atomic_load(&shared->delay_us) : 300);
        }
        if (pid && atomic_load(&shared->victim) == (int)kind && kill((pid_t)pid, SIGKILL) == 0) {
            atomic_fetch_add(&shared->kills[kind], 1);
        }
        int asked = (int)kind;
        atomic_compare_exchange_strong(&shared->victim, &asked, NOBODY);
    }
}

static inline int kills(void)
{
    int n = 0;
    for (int i = 0; i < VICTIM_KINDS; i++) {
        n += atomic_load(&shared->kills[i]);
    }
    return n;
}

#endif
