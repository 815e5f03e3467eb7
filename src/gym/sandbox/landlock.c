/* Landlock rules: only the files of the plan; no TCP, and no signals or abstract sockets to
 * processes outside, where the kernel is new enough. */
#include <fcntl.h>
#include <unistd.h>

#include "base/ruleset.h"
#include "gym/sandbox/plan.h"

static void allow_path(const struct kg_plan *plan, int ruleset, const char *path, uint64_t rights)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        kg_child_fail(plan, KG_STEP_LANDLOCK, path);
    }
    if (kg_ruleset_allow(ruleset, fd, rights) != 0) {
        kg_child_fail(plan, KG_STEP_LANDLOCK, path);
    }
    close(fd);
}

/* Allows what was not there before: its own /tmp, in which nothing may be executed, and /proc. */
static void allow_own(const struct kg_plan *plan, int ruleset, uint64_t handled)
{
    if (!(plan->steps & KG_STEP_MOUNTNS)) {
        return;
    }
    if (plan->spec->tmp_bytes > 0) {
        uint64_t rights = KG_RULE_READ_FILE | KG_RULE_READ_DIR | KG_RULE_WRITE_FILE |
                          KG_RULE_REMOVE_DIR | KG_RULE_REMOVE_FILE | KG_RULE_MAKE_DIR |
                          KG_RULE_MAKE_REG | KG_RULE_MAKE_SOCK | KG_RULE_MAKE_FIFO |
                          KG_RULE_MAKE_SYM | KG_RULE_REFER | KG_RULE_TRUNCATE;
        allow_path(plan, ruleset, "/tmp", rights & handled);
    }
    if (plan->spec->proc != KG_PROC_NONE && (plan->steps & KG_STEP_PIDNS)) {
        uint64_t write = kg_proc_writable(plan) ? KG_RULE_WRITE_FILE | KG_RULE_TRUNCATE : 0;
        allow_path(plan, ruleset, "/proc",
                   (KG_RULE_READ_FILE | KG_RULE_READ_DIR | write) & handled);
    }
}

void kg_child_landlock(const struct kg_plan *plan)
{
    uint64_t handled;
    int fd = kg_ruleset_create(kg_ruleset_abi(), &handled);
    if (fd < 0) {
        kg_child_fail(plan, KG_STEP_LANDLOCK, "create a ruleset");
    }
    for (size_t i = 0; i < plan->nmounts; i++) {
        const struct kg_mount *m = &plan->mounts[i];
        uint64_t rights = KG_RULE_READ_FILE | KG_RULE_READ_DIR | (m->exec ? KG_RULE_EXECUTE : 0);
        if (m->writable) {
            rights |= KG_RULE_WRITE_FILE | KG_RULE_REMOVE_DIR | KG_RULE_REMOVE_FILE |
                      KG_RULE_MAKE_DIR | KG_RULE_MAKE_REG | KG_RULE_TRUNCATE;
            rights |= m->folder ? 0 : KG_RULE_IOCTL_DEV; /* a device */
        }
        allow_path(plan, fd, m->dst,
                   rights & handled & (m->folder ? ~0ull : (uint64_t)KG_RULE_OF_A_FILE));
    }
    allow_own(plan, fd, handled);
    if (plan->spec->argv != NULL) {
        allow_path(plan, fd, plan->spec->argv[0], KG_RULE_EXECUTE | KG_RULE_READ_FILE);
    }
    if (plan->loader[0] != '\0') {
        allow_path(plan, fd, plan->loader, KG_RULE_EXECUTE | KG_RULE_READ_FILE);
    }
    if (kg_ruleset_restrict(fd) != 0) {
        kg_child_fail(plan, KG_STEP_LANDLOCK, "restrict itself");
    }
    close(fd);
}
