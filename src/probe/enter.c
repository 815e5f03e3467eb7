/* The calls of the two processes of a birth; src/gym/sandbox/adopt.c is the broker's side. */
#include <errno.h>

#include "gym/sandbox/plan.h"
#include "probe/probe.h"

int kg_probe_leave(int plan_fd, int ctl_fd)
{
    const struct kg_plan *plan = kg_plan_load(plan_fd, ctl_fd, NULL, 0);
    if (plan == NULL) {
        return -errno;
    }
    kg_child_leave(plan);
    return 0;
}

int kg_probe_born(int ctl_fd, int pid)
{
    static struct kg_plan plan; /* only its socket is used; too large for a stack */
    plan.ctl[1] = ctl_fd;
    kg_child_born(&plan, pid);
    return 0;
}

int kg_probe_climb(int plan_fd, int ctl_fd, const int *fds, int nfds)
{
    struct kg_plan *plan = kg_plan_load(plan_fd, ctl_fd, fds, (size_t)nfds);
    if (plan == NULL) {
        return -errno;
    }
    kg_child_climb(plan);
    return 0;
}
