/* The exclusive timing lease: one process of this user times at once on this host. A lock on a file
 * below /run/user/UID, or in /tmp where there is none; it ends with its holder, however that ends.
 * The file is opened without following links and must be a regular file of this user's. */
#ifndef KG_GYM_TIMING_LEASE_H
#define KG_GYM_TIMING_LEASE_H

#include <stdbool.h>

#include "base/err.h"

struct kg_lease {
    int fd;      /* -1: not held */
    int fd_long; /* of a device: the part of uses that last; -1: not held */
    int fd_slow; /* of a device: it is known to take long; -1: not said */
};
#define KG_LEASE_NONE                                                                              \
    (struct kg_lease)                                                                              \
    {                                                                                              \
        -1, -1, -1                                                                                 \
    }

/* Wait for the lease. cancel: non-zero ends the wait with KG_E_CANCELLED; or NULL. */
enum kg_code kg_lease_acquire(struct kg_lease *l, const volatile int *cancel,
                              struct kg_err *err) KG_MUST_USE;
/* The same of another file; deadline_ns: monotonic, 0 none; past it KG_E_LIMIT. */
enum kg_code kg_lease_acquire_at(const char *path, int64_t deadline_ns, struct kg_lease *l,
                                 const volatile int *cancel, struct kg_err *err) KG_MUST_USE;
/* A device that many use and one may have alone: users share it for a moment each; who wants it
 * alone waits in a queue until those inside have left, and keeps it until the release. While
 * anybody stands in the queue nobody new comes in, so nobody waits for ever. One who shares it must
 * not ask for more.
 *
 * There are two doors, because a use that lasts (a context that is made takes half a second) would
 * otherwise keep everybody from the device whenever somebody waits for its end to have it alone:
 * he closes the door of long uses first, and that of short ones when the last long one has left.
 * Where long uses are under way when he comes, others may still join them for 0.15 s: he has to
 * wait for some anyway, and together they take less. One who shares it for long has it for short
 * uses, too. */
enum kg_code kg_lease_share(const char *device, struct kg_lease *l, const volatile int *cancel,
                            struct kg_err *err) KG_MUST_USE;
enum kg_code kg_lease_share_long(const char *device, struct kg_lease *l, const volatile int *cancel,
                                 struct kg_err *err) KG_MUST_USE;
/* Who shares it for a moment and finds that it takes long (a call that compiles, or hangs) says so.
 * Until it ends nobody can have the device alone, so those who wait for that step back and let
 * others in. */
enum kg_code kg_lease_slow(const char *device, struct kg_lease *l, struct kg_err *err) KG_MUST_USE;
/* long_too: nobody uses it for long meanwhile, either. */
enum kg_code kg_lease_alone(const char *device, bool long_too, struct kg_lease *l,
                            const volatile int *cancel, struct kg_err *err) KG_MUST_USE;
void kg_lease_release(struct kg_lease *l); /* idempotent */
/* Where the lock lies: /run/user/UID/kgym-timing.lock or /tmp/kgym-timing-UID.lock. */
void kg_lease_default_path(char *out, size_t cap);
/* Where another lock of this device's lies: part says what it is of, as in ".slow". */
#define KG_LEASE_PATH 192
void kg_lease_device_path(const char *device, const char *part, char out[KG_LEASE_PATH]);

#endif
