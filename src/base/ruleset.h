/* Landlock: a ruleset takes away all that it handles from the calling thread and what it starts,
 * but for what is allowed. A ruleset handles all that the kernel's ABI knows: files, TCP, signals
 * and abstract sockets to processes outside.
 *
 * Numbers are those of include/uapi/linux/landlock.h, Linux 6.12, and are repeated here, because
 * distributions ship headers that are older than their kernels.
 *
 * Errors: -1, and errno is set. Calls are safe between fork and exec: they allocate nothing. */
#ifndef KG_BASE_RULESET_H
#define KG_BASE_RULESET_H

#include <stdint.h>

/* Rights below a folder, or to a file. */
enum {
    KG_RULE_EXECUTE = 1 << 0,
    KG_RULE_WRITE_FILE = 1 << 1,
    KG_RULE_READ_FILE = 1 << 2,
    KG_RULE_READ_DIR = 1 << 3,
    KG_RULE_REMOVE_DIR = 1 << 4,
    KG_RULE_REMOVE_FILE = 1 << 5,
    KG_RULE_MAKE_DIR = 1 << 7,
    KG_RULE_MAKE_REG = 1 << 8,
    KG_RULE_MAKE_SOCK = 1 << 9,
    KG_RULE_MAKE_FIFO = 1 << 10,
    KG_RULE_MAKE_SYM = 1 << 12,
    KG_RULE_REFER = 1 << 13,     /* ABI 2 */
    KG_RULE_TRUNCATE = 1 << 14,  /* ABI 3 */
    KG_RULE_IOCTL_DEV = 1 << 15, /* ABI 5 */
    KG_RULE_OF_A_FILE = KG_RULE_EXECUTE | KG_RULE_WRITE_FILE | KG_RULE_READ_FILE |
                        KG_RULE_TRUNCATE | KG_RULE_IOCTL_DEV /* others need a folder */
};

enum { KG_RULESET_ABI_TCP = 4 }; /* below it TCP is not handled */

/* The kernel's; 0: it has no Landlock. */
int kg_ruleset_abi(void);
/* A descriptor, the caller's. *handled: the rights to files that this ABI knows; a rule that allows
 * another one is refused. */
int kg_ruleset_create(int abi, uint64_t *handled);
/* Allows rights to what an O_PATH descriptor names, and below it. */
int kg_ruleset_allow(int ruleset, int path_fd, uint64_t rights);
/* Allows TCP connections to this port of any host. Needs KG_RULESET_ABI_TCP. */
int kg_ruleset_allow_connect(int ruleset, uint16_t port);
/* Holds from now on. Needs PR_SET_NO_NEW_PRIVS or CAP_SYS_ADMIN. */
int kg_ruleset_restrict(int ruleset);

#endif
