/* Reuses the network namespaces of programs that have ended. Making one costs 0.5 ms, a sixth of
 * the start of a runner, and the kernel's threads need as much again to remove it. A used one is as
 * good as new: its program is dead, could not make sockets, and had no right to configure it. Each
 * serves one sandbox at a time. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "gym/sandbox/plan.h"

#define KEPT 4 /* a worker's compiler and up to three runners live at a time */

/* A fork copies the descriptors, but must not share the namespaces that they name. */
static struct {
    pid_t owner;
    int n, fd[KEPT];
} kept;

static void disown(void)
{
    while (kept.owner != getpid() && kept.n > 0) {
        close(kept.fd[--kept.n]);
    }
    kept.owner = getpid();
}

/* Only where the end of the first process ends all of them, and a filter forbids sockets to each.
 * Without root the namespace would belong to a user namespace that dies too. */
static bool may_be_shared_out(const struct kg_plan *plan)
{
    uint32_t need = KG_STEP_NETNS | KG_STEP_PIDNS | KG_STEP_SECCOMP;
    enum kg_profile profile = plan->spec->profile;
    return plan->root && (plan->steps & need) == need &&
           (profile == KG_PROFILE_COMPILE || profile == KG_PROFILE_RUN);
}

void kg_netns_choose(struct kg_plan *plan, struct kg_sandbox *s)
{
    disown();
    if (may_be_shared_out(plan) && kept.n > 0) {
        plan->netns = s->netns = kept.fd[--kept.n] + 1;
    }
}

void kg_netns_hold(const struct kg_plan *plan, struct kg_sandbox *s)
{
    if (s->pid > 0 && s->netns == 0 && may_be_shared_out(plan)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/ns/net", (int)s->pid);
        s->netns = open(path, O_RDONLY | O_CLOEXEC) + 1;
    }
}

void kg_netns_release(struct kg_sandbox *s, bool all_dead)
{
    int fd = s->netns - 1;
    s->netns = 0;
    if (fd < 0) {
        return;
    }
    disown();
    if (all_dead && kept.n < KEPT) {
        kept.fd[kept.n++] = fd;
    } else {
        close(fd);
    }
}

void kg_child_netns(const struct kg_plan *plan)
{
    if (plan->netns > 0 && setns(plan->netns - 1, CLONE_NEWNET) != 0) {
        kg_child_fail(plan, KG_STEP_NETNS, "enter its network namespace");
    }
}
