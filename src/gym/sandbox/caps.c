/* Finds out what this host allows. It takes all steps of the ladder with nothing to run at the end.
 * A step that fails is left out, with the system's reason, and the next try begins. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ruleset.h"
#include "gym/sandbox/cgroup.h"
#include "gym/sandbox/plan.h"

static int bit_of(uint32_t step)
{
    for (int i = 0; i < KG_STEP_COUNT; i++) {
        if (step == 1u << i) {
            return i;
        }
    }
    return 0;
}

static void drop(struct kg_host_caps *c, uint32_t step, const char *why)
{
    c->steps &= ~step;
    snprintf(c->why[bit_of(step)], sizeof c->why[0], "%s", why);
}

/* Facts that need no try. */
static void look(struct kg_host_caps *c)
{
    char why[120] = "";
    c->root = geteuid() == 0;
    c->steps = KG_ALL_STEPS;
    c->landlock_abi = kg_ruleset_abi();
    if (c->landlock_abi == 0) {
        drop(c, KG_STEP_LANDLOCK, "the kernel has no Landlock, or it is not in its lsm= list");
    }
    const struct kg_cgroup_host *h = kg_cgroup_host();
    c->cgroup_version = h->version;
    c->freezer = h->version == 2 || (h->version == 1 && h->base[KG_CG_FREEZER][0] != '\0');
    if (h->version == 0) {
        drop(c, KG_STEP_CGROUP, h->why);
    }
    if (!c->root) {
        drop(c, KG_STEP_UID, "only root can give it a uid of its own");
    }
    if (!kg_scratch_tmpfs_works(why)) {
        drop(c, KG_STEP_TMPFS, why);
    }
}

static void drop_dependents(struct kg_host_caps *c, uint32_t failed)
{
    uint32_t left = kg_steps_possible(c->steps, c->root);
    for (int i = 0; i < KG_STEP_COUNT; i++) {
        uint32_t step = 1u << i;
        if ((c->steps & step) && !(left & step)) {
            char why[120];
            snprintf(why, sizeof why, "needs %s", kg_step_name((int)failed));
            drop(c, step, why);
        }
    }
}

static void find(struct kg_host_caps *c)
{
    static const char *const argv[] = {"/", NULL};
    struct kg_sandbox_spec spec = {
        .profile = KG_PROFILE_COMPILE,
        .argv = argv,
        .limits = {.memory_bytes = (int64_t)1 << 30,
                   .processes = 16,
                   .file_bytes = 1 << 20,
                   .cpu_s = 10,
                   .descriptors = 32},
        .cpu = -1,
    };
    look(c);
    for (int tries = 0; tries < KG_STEP_COUNT; tries++) {
        struct kg_sandbox s;
        struct kg_err err = KG_ERR_INIT;
        int failed;
        enum kg_code code = kg_spawn_steps(&spec, c->steps, true, &s, &failed, &err);
        if (code == KG_OK) {
            kg_sandbox_wait(&s, kg_clock_ns() + 10000000000);
            kg_sandbox_end(&s);
            return;
        }
        /* If no step is named, the step that others build on is left out. */
        uint32_t step = failed != 0 ? (uint32_t)failed : KG_STEP_MOUNTNS;
        char subject[80];
        snprintf(subject, sizeof subject, "sandbox: step %s failed", kg_step_name((int)step));
        drop(c, step, kg_err_without(&err, subject));
        drop_dependents(c, step);
    }
}

const struct kg_host_caps *kg_sandbox_caps(void)
{
    static struct kg_host_caps caps;
    static bool known;
    if (!known) {
        known = true;
        find(&caps);
    }
    return &caps;
}

enum kg_code kg_sandbox_require(bool allow_unconfined, struct kg_err *err)
{
    const struct kg_host_caps *c = kg_sandbox_caps();
    static const uint32_t needed[] = {KG_STEP_SECCOMP, KG_STEP_LANDLOCK};
    for (size_t i = 0; !allow_unconfined && i < 2; i++) {
        if (!(c->steps & needed[i])) {
            return kg_fail(err, KG_E_HOST,
                           "this host cannot confine candidates: no %s (%s); --allow-unconfined "
                           "runs them anyway, recorded as isolation level L0",
                           kg_step_name((int)needed[i]), c->why[bit_of(needed[i])]);
        }
    }
    return KG_OK;
}

void kg_sandbox_sweep(void)
{
    kg_cgroup_sweep();
    kg_scratch_sweep();
}
