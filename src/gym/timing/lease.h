/* The exclusive timing lease: one process of this user times at once on this host. A lock on a file
 * below /run/user/UID, or in /tmp where there is none; it ends with its holder, however that ends.
 * The file is opened without following links and must be a regular file of this user's. */
#ifndef KG_GYM_TIMING_LEASE_H
#define KG_GYM_TIMING_LEASE_H

#include "base/err.h"

struct kg_lease {
    int fd;
};

/* Where the lock lies: /run/user/UID/kgym-timing.lock or /tmp/kgym-timing-UID.lock. */
void kg_lease_default_path(char *out, size_t cap);
/* Wait for the lease of path (NULL: the default). deadline_ns: monotonic, 0 none; past it
 * KG_E_LIMIT. cancel: non-zero ends the wait with KG_E_CANCELLED; or NULL. */
enum kg_code kg_lease_acquire(const char *path, const volatile int *cancel, int64_t deadline_ns,
                              struct kg_lease *out, struct kg_err *err) KG_MUST_USE;
void kg_lease_release(struct kg_lease *l); /* idempotent */

#endif
