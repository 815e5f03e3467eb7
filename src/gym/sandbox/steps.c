/* Names of the ladder's steps, and the level that a set of steps reaches. */
#include "gym/sandbox/plan.h"

static const char *const names[KG_STEP_COUNT] = {
    "rlimit",   "cgroup", "userns",  "mountns", "pidns", "netns", "ipcns",   "uid",
    "landlock", "nnp",    "seccomp", "tmpfs",   "env",   "fds",   "session",
};

const char *kg_step_name(int bit)
{
    for (int i = 0; i < KG_STEP_COUNT; i++) {
        if (bit == 1 << i) {
            return names[i];
        }
    }
    return "?";
}

#define ALWAYS                                                                                     \
    (KG_STEP_RLIMIT | KG_STEP_LANDLOCK | KG_STEP_NNP | KG_STEP_SECCOMP | KG_STEP_ENV |             \
     KG_STEP_FDS | KG_STEP_SESSION)
#define SEPARATE                                                                                   \
    (KG_STEP_CGROUP | KG_STEP_USERNS | KG_STEP_MOUNTNS | KG_STEP_PIDNS | KG_STEP_NETNS |           \
     KG_STEP_IPCNS | KG_STEP_UID)

struct kg_isolation kg_isolation_of(uint32_t has)
{
    struct kg_isolation isolation = {0, has, KG_ALL_STEPS & ~has};
    if ((has & ALWAYS) == ALWAYS) {
        isolation.level = (has & SEPARATE) == SEPARATE ? 2 : 1;
    }
    return isolation;
}

struct kg_isolation kg_sandbox_isolation(uint32_t without)
{
    const struct kg_host_caps *c = kg_sandbox_caps();
    return kg_isolation_of(kg_steps_possible(c->steps & ~without, c->root));
}
