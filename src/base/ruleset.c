/* The three system calls of Landlock, which older C libraries have no names for. */
#include "base/ruleset.h"

#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

enum {
    CREATE_VERSION = 1,
    RULE_PATH_BENEATH = 1,
    RULE_PORT = 2,
    ALL_ABI1 = (1 << 13) - 1,
    NET_BIND = 1,
    NET_CONNECT = 2,
    SCOPE_SOCKET_SIGNAL = 3 /* ABI 6 */
};

struct ruleset {
    uint64_t fs, net, scoped;
};
struct path_rule {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));
struct port_rule {
    uint64_t allowed, port;
};

int kg_ruleset_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    return abi < 0 ? 0 : (int)abi;
}

int kg_ruleset_create(int abi, uint64_t *handled)
{
    const struct ruleset set = {.fs = ALL_ABI1 | (abi >= 2 ? KG_RULE_REFER : 0) |
                                      (abi >= 3 ? KG_RULE_TRUNCATE : 0) |
                                      (abi >= 5 ? KG_RULE_IOCTL_DEV : 0),
                                .net = abi >= KG_RULESET_ABI_TCP ? NET_BIND | NET_CONNECT : 0,
                                .scoped = abi >= 6 ? SCOPE_SOCKET_SIGNAL : 0};
    size_t size = abi >= 6 ? 24 : abi >= KG_RULESET_ABI_TCP ? 16 : 8;
    *handled = set.fs;
    return (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
}

int kg_ruleset_allow(int ruleset, int path_fd, uint64_t rights)
{
    const struct path_rule rule = {rights, path_fd};
    return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0);
}

int kg_ruleset_allow_connect(int ruleset, uint16_t port)
{
    const struct port_rule rule = {NET_CONNECT, port};
    return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PORT, &rule, 0);
}

int kg_ruleset_restrict(int ruleset)
{
    return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}
