/* Landlock rules: only the files of the plan; no TCP, and no signals or abstract sockets to
 * processes outside, where the kernel is new enough. The kernel's numbers are repeated here,
 * because distributions ship headers that are older than their kernels. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gym/sandbox/plan.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

/* Source: include/uapi/linux/landlock.h, Linux 6.12. */
enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    MAKE_SOCK = 1 << 9,
    MAKE_FIFO = 1 << 10,
    MAKE_SYM = 1 << 12,
    ALL_ABI1 = (1 << 13) - 1,
    REFER = 1 << 13,     /* ABI 2 */
    TRUNCATE = 1 << 14,  /* ABI 3 */
    IOCTL_DEV = 1 << 15, /* ABI 5 */
    OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
};
enum { NET_BIND_CONNECT = 3 /* ABI 4 */, SCOPE_SOCKET_SIGNAL = 3 /* ABI 6 */ };
enum { CREATE_VERSION = 1, RULE_PATH_BENEATH = 1 };

struct ruleset {
    uint64_t fs, net, scoped;
};
struct path_rule {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

int kg_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    return abi < 0 ? 0 : (int)abi;
}

static uint64_t handled_by(int abi)
{
    uint64_t fs = ALL_ABI1;
    fs |= abi >= 2 ? REFER : 0;
    fs |= abi >= 3 ? TRUNCATE : 0;
    fs |= abi >= 5 ? IOCTL_DEV : 0;
    return fs;
}

static void allow_path(const struct kg_plan *plan, int ruleset, const char *path, uint64_t rights)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        kg_child_fail(plan, KG_STEP_LANDLOCK, path);
    }
    struct path_rule rule = {rights, fd};
    if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) != 0) {
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
        uint64_t rights = READ_FILE | READ_DIR | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR |
                          MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE;
        allow_path(plan, ruleset, "/tmp", rights & handled);
    }
    if (plan->spec->proc != KG_PROC_NONE && (plan->steps & KG_STEP_PIDNS)) {
        uint64_t write = kg_proc_writable(plan) ? WRITE_FILE | TRUNCATE : 0;
        allow_path(plan, ruleset, "/proc", (READ_FILE | READ_DIR | write) & handled);
    }
}

void kg_child_landlock(const struct kg_plan *plan)
{
    int abi = kg_landlock_abi();
    struct ruleset set = {handled_by(abi), abi >= 4 ? NET_BIND_CONNECT : 0,
                          abi >= 6 ? SCOPE_SOCKET_SIGNAL : 0};
    size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
    int fd = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
    if (fd < 0) {
        kg_child_fail(plan, KG_STEP_LANDLOCK, "create a ruleset");
    }
    for (size_t i = 0; i < plan->nmounts; i++) {
        const struct kg_mount *m = &plan->mounts[i];
        uint64_t rights = READ_FILE | READ_DIR | (m->exec ? EXECUTE : 0);
        if (m->writable) {
            rights |= WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | TRUNCATE;
            rights |= m->folder ? 0 : IOCTL_DEV; /* a device */
        }
        allow_path(plan, fd, m->dst, rights & set.fs & (m->folder ? ~0ull : (uint64_t)OF_A_FILE));
    }
    allow_own(plan, fd, set.fs);
    if (plan->spec->argv != NULL) {
        allow_path(plan, fd, plan->spec->argv[0], EXECUTE | READ_FILE);
    }
    if (plan->loader[0] != '\0') {
        allow_path(plan, fd, plan->loader, EXECUTE | READ_FILE);
    }
    if (syscall(SYS_landlock_restrict_self, fd, 0) != 0) {
        kg_child_fail(plan, KG_STEP_LANDLOCK, "restrict itself");
    }
    close(fd);
}
