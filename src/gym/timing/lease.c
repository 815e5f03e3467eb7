#include "gym/timing/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define POLL_NS 5000000 /* flock has no deadline */

void kg_lease_default_path(char *out, size_t cap)
{
    unsigned uid = (unsigned)getuid();
    char folder[64];
    struct stat st;
    snprintf(folder, sizeof folder, "/run/user/%u", uid);
    if (lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid) {
        snprintf(out, cap, "%s/kgym-timing.lock", folder);
    } else {
        snprintf(out, cap, "/tmp/kgym-timing-%u.lock", uid);
    }
}

static enum kg_code open_lock(const char *path, int *fd, struct kg_err *err)
{
    struct stat st;
    *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (*fd < 0) {
        return kg_fail(err, KG_E_HOST, "%s: cannot open the timing lease: %s", path,
                       errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    }
    if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != getuid()) {
        close(*fd);
        *fd = -1;
        return kg_fail(err, KG_E_HOST,
                       "%s: cannot be the timing lease: not a regular file of this user's; remove "
                       "it",
                       path);
    }
    return KG_OK;
}

enum kg_code kg_lease_acquire(struct kg_lease *l, const volatile int *cancel, struct kg_err *err)
{
    char path[96];
    kg_lease_default_path(path, sizeof path);
    return kg_lease_acquire_at(path, 0, l, cancel, err);
}

/* how: LOCK_EX or LOCK_SH. *fd is open and locked, or -1. */
static enum kg_code lock_file(const char *path, int how, int64_t deadline_ns, int *fd,
                              const volatile int *cancel, struct kg_err *err)
{
    if (open_lock(path, fd, err) != KG_OK) {
        return err->code;
    }
    while (flock(*fd, how | LOCK_NB) != 0) {
        enum kg_code code = KG_OK;
        if (errno != EWOULDBLOCK && errno != EINTR) {
            code = kg_fail(err, KG_E_HOST, "%s: cannot lock: %s", path, strerror(errno));
        } else if (cancel && *cancel) {
            code = kg_fail(err, KG_E_CANCELLED, "timing: cancelled while waiting for its turn");
        } else if (deadline_ns > 0 && kg_clock_ns() >= deadline_ns) {
            code =
                kg_fail(err, KG_E_LIMIT, "%s: another process has been timing for too long", path);
        }
        if (code != KG_OK) {
            close(*fd);
            *fd = -1;
            return code;
        }
        struct timespec pause = {.tv_sec = 0, .tv_nsec = POLL_NS};
        nanosleep(&pause, NULL);
    }
    return KG_OK;
}

enum kg_code kg_lease_acquire_at(const char *path, int64_t deadline_ns, struct kg_lease *l,
                                 const volatile int *cancel, struct kg_err *err)
{
    *l = KG_LEASE_NONE;
    return lock_file(path, LOCK_EX, deadline_ns, &l->fd, cancel, err);
}

static void device_path(char *out, size_t cap, const char *device, const char *suffix)
{
    char base[96];
    kg_lease_default_path(base, sizeof base);
    snprintf(out, cap, "%s.%.40s%s", base, device, suffix);
}

static enum kg_code enter(const char *device, int how, struct kg_lease *l,
                          const volatile int *cancel, struct kg_err *err)
{
    char path[192], gate[192];
    device_path(path, sizeof path, device, "");
    device_path(gate, sizeof gate, device, ".gate");
    *l = KG_LEASE_NONE;
    if (lock_file(gate, how, 0, &l->gate, cancel, err) != KG_OK ||
        lock_file(path, how, 0, &l->fd, cancel, err) != KG_OK) {
        kg_lease_release(l);
        return err->code;
    }
    return KG_OK;
}

/* Who waits to have a device alone stands in a queue: the lock of a descriptor, which all of them
 * hold at once, and which can be seen by others without being taken. */
static enum kg_code queue(const char *device, int *fd, struct kg_err *err)
{
    char path[192];
    device_path(path, sizeof path, device, ".queue");
    return open_lock(path, fd, err);
}

static enum kg_code stand_in(int fd, struct kg_err *err)
{
    struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &l) == 0
               ? KG_OK
               : kg_fail(err, KG_E_HOST, "timing: cannot queue: %s", strerror(errno));
}

static bool is_empty(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &l) != 0 || l.l_type == F_UNLCK;
}

/* They go one after the other, and only then those who share: letting one of these in between would
 * cost each of them another wait for whatever it does. */
static enum kg_code let_them_pass(const char *device, const volatile int *cancel,
                                  struct kg_err *err)
{
    int fd;
    enum kg_code code = queue(device, &fd, err);
    while (code == KG_OK && !is_empty(fd)) {
        struct timespec pause = {.tv_sec = 0, .tv_nsec = POLL_NS};
        nanosleep(&pause, NULL);
        code = cancel && *cancel
                   ? kg_fail(err, KG_E_CANCELLED, "timing: cancelled while waiting for its turn")
                   : KG_OK;
    }
    if (fd >= 0) {
        close(fd);
    }
    return code;
}

enum kg_code kg_lease_share(const char *device, struct kg_lease *l, const volatile int *cancel,
                            struct kg_err *err)
{
    *l = KG_LEASE_NONE;
    if (let_them_pass(device, cancel, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = enter(device, LOCK_SH, l, cancel, err);
    if (l->gate >= 0) { /* who wants the device alone waits for those inside, not for the gate */
        close(l->gate);
        l->gate = -1;
    }
    return code;
}

enum kg_code kg_lease_alone(const char *device, struct kg_lease *l, const volatile int *cancel,
                            struct kg_err *err)
{
    int fd;
    *l = KG_LEASE_NONE;
    enum kg_code code = queue(device, &fd, err);
    code = code == KG_OK ? stand_in(fd, err) : code;
    code = code == KG_OK ? enter(device, LOCK_EX, l, cancel, err) : code;
    if (fd >= 0) {
        close(fd);
    }
    return code;
}

void kg_lease_release(struct kg_lease *l)
{
    int *const held[] = {&l->fd, &l->gate};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        if (*held[i] >= 0) {
            close(*held[i]); /* the lock goes with the descriptor; the file stays, or two could
                                hold it */
        }
        *held[i] = -1;
    }
}
