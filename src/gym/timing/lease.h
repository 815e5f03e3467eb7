/* Timing leases: locks on files, by which processes of one user share cores and devices.
 *
 * The exclusive timing lease lets one process of this user time at once on a core. The files lie
 * below /run/user/UID, or in /tmp where that is missing. A lock ends with its holder, however the
 * holder ends. Files are opened without following links, and must be regular files of this user.
 * Errors: KG_E_HOST a file cannot be opened or locked, KG_E_CANCELLED *cancel became non-zero. */
#ifndef KG_GYM_TIMING_LEASE_H
#define KG_GYM_TIMING_LEASE_H

#include <stdbool.h>

#include "base/err.h"

struct kg_lease {
    int fd;      /* -1: not held */
    int fd_long; /* the device's lock `long`; -1: not held */
    int fd_slow; /* the device's mark `slow`; -1: not set */
};
#define KG_LEASE_NONE                                                                              \
    (struct kg_lease)                                                                              \
    {                                                                                              \
        -1, -1, -1                                                                                 \
    }

/* Waits for the exclusive lease of a core; cpu -1: of those who are pinned to none. cancel:
 * non-zero ends the wait; may be NULL. */
enum kg_code kg_lease_acquire(int cpu, struct kg_lease *l, const volatile int *cancel,
                              struct kg_err *err) KG_MUST_USE;
/* The same for another file. deadline_ns: monotonic, 0: none; past it KG_E_LIMIT. */
enum kg_code kg_lease_acquire_at(const char *path, int64_t deadline_ns, struct kg_lease *l,
                                 const volatile int *cancel, struct kg_err *err) KG_MUST_USE;
/* Each device has two locks: `short` for requests (about 1 ms) and `long` for creating a CUDA
 * context (about 0.5 s). Users take one of them shared. A holder of `long` may also make short
 * uses.
 *
 * An exclusive user takes `long` first, waits for contexts under way, then takes `short`. So
 * requests are not blocked for half a second. While an exclusive user is queued, no new shared user
 * is admitted, which prevents starvation. Exception: for 150 ms, new contexts may join those
 * already being created, because together they take less time. A shared holder must not ask for
 * more. */
enum kg_code kg_lease_share(const char *device, struct kg_lease *l, const volatile int *cancel,
                            struct kg_err *err) KG_MUST_USE;
enum kg_code kg_lease_share_long(const char *device, struct kg_lease *l, const volatile int *cancel,
                                 struct kg_err *err) KG_MUST_USE;
/* The same after those who wait for the device alone, and let others join meanwhile. */
enum kg_code kg_lease_share_last(const char *device, struct kg_lease *l, const volatile int *cancel,
                                 struct kg_err *err) KG_MUST_USE;
/* Marks a short use that takes long (a call that compiles or hangs). The device cannot be had alone
 * until it ends, so queued exclusive users step back and admit others meanwhile. */
enum kg_code kg_lease_slow(const char *device, struct kg_lease *l, struct kg_err *err) KG_MUST_USE;
/* Waits for the device alone. long_too: no context may be created meanwhile either. */
enum kg_code kg_lease_alone(const char *device, bool long_too, struct kg_lease *l,
                            const volatile int *cancel, struct kg_err *err) KG_MUST_USE;
/* kg_lease_share without waiting. False: it would have to wait, or failed, and *l holds nothing.
 * For those who should give something back before they wait. */
bool kg_lease_share_now(const char *device, struct kg_lease *l) KG_MUST_USE;
void kg_lease_release(struct kg_lease *l); /* may be called twice */
/* Where the paths of all leases begin: /run/user/UID/kgym-timing.lock or
 * /tmp/kgym-timing-UID.lock. */
void kg_lease_default_path(char *out, size_t cap);
/* Path of another lock of a device; part: its suffix, such as ".slow". */
#define KG_LEASE_PATH 192
void kg_lease_device_path(const char *device, const char *part, char out[KG_LEASE_PATH]);
/* Opens such a file, and makes it where it is missing. The caller closes *fd. */
enum kg_code kg_lease_open_file(const char *path, int *fd, struct kg_err *err) KG_MUST_USE;

#endif
