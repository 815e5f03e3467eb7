/* Timing leases by flock on files, and the queue of exclusive users by record locks. lease.h
 * explains the two locks of a device. */
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

/* flock has no deadline, so it is polled; a device is idle for as long at most. */
#define POLL_NS 500000
#define SLOW    ".slow"   /* somebody inside takes long */
#define WANTED  ".wanted" /* somebody waits for the device alone, in no queue yet */
#define JOIN_NS 150000000 /* contexts take half as long each where several are created at once */

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

void kg_lease_device_path(const char *device, const char *part, char out[KG_LEASE_PATH])
{
    char base[96];
    kg_lease_default_path(base, sizeof base);
    snprintf(out, KG_LEASE_PATH, "%s.%.40s%s", base, device, part);
}

enum kg_code kg_lease_open_file(const char *path, int *fd, struct kg_err *err)
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

enum kg_code kg_lease_acquire(int cpu, struct kg_lease *l, const volatile int *cancel,
                              struct kg_err *err)
{
    char base[96], path[KG_LEASE_PATH];
    kg_lease_default_path(base, sizeof base);
    snprintf(path, sizeof path, "%s.core%d", base, cpu);
    return kg_lease_acquire_at(path, 0, l, cancel, err);
}

/* Enters a queue. Exclusive users that wait hold a shared lock on its file; others see the lock
 * without taking it. */
static enum kg_code join_queue(int queue, struct kg_err *err)
{
    struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(queue, F_OFD_SETLK, &l) == 0
               ? KG_OK
               : kg_fail(err, KG_E_HOST, "timing: cannot queue: %s", strerror(errno));
}

static bool is_empty(int queue)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(queue, F_OFD_GETLK, &l) != 0 || l.l_type == F_UNLCK;
}

/* One wait for a lock. */
struct wanted {
    const char *path;
    int how;   /* LOCK_EX or LOCK_SH */
    int queue; /* its members go first; -1: none */
    int slow;  /* stop waiting while this queue has members; -1: go on waiting */
    int64_t deadline_ns;
    const volatile int *cancel;
};

/* Pauses before the next try. KG_OK: go on waiting. */
static enum kg_code may_wait(const struct wanted *w, struct kg_err *err)
{
    if (w->cancel && *w->cancel) {
        return kg_fail(err, KG_E_CANCELLED, "timing: cancelled while waiting for its turn");
    }
    if (w->deadline_ns > 0 && kg_clock_ns() >= w->deadline_ns) {
        return kg_fail(err, KG_E_LIMIT, "%s: another process has been timing for too long",
                       w->path);
    }
    struct timespec pause = {.tv_sec = 0, .tv_nsec = POLL_NS};
    nanosleep(&pause, NULL);
    return KG_OK;
}

/* 0: locked; EWOULDBLOCK: not yet; else the reason. */
static int try_lock(const struct wanted *w, int fd)
{
    if (w->queue >= 0 && !is_empty(w->queue)) {
        return EWOULDBLOCK;
    }
    int why = flock(fd, w->how | LOCK_NB) == 0 ? 0 : errno;
    return why == EINTR ? EWOULDBLOCK : why;
}

/* Opens and locks the file. *fd -1: an error, or with KG_OK a slow user is inside. */
static enum kg_code lock_file(const struct wanted *w, int *fd, struct kg_err *err)
{
    enum kg_code code = kg_lease_open_file(w->path, fd, err);
    bool back = false;
    int why;
    while (code == KG_OK && !back && (why = try_lock(w, *fd)) != 0) {
        back = w->slow >= 0 && !is_empty(w->slow);
        code = why == EWOULDBLOCK
                   ? may_wait(w, err)
                   : kg_fail(err, KG_E_HOST, "%s: cannot lock: %s", w->path, strerror(why));
    }
    if ((code != KG_OK || back) && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

enum kg_code kg_lease_acquire_at(const char *path, int64_t deadline_ns, struct kg_lease *l,
                                 const volatile int *cancel, struct kg_err *err)
{
    const struct wanted w = {path, LOCK_EX, -1, -1, deadline_ns, cancel};
    *l = KG_LEASE_NONE;
    return lock_file(&w, &l->fd, err);
}

/* One of a device's two locks, `short` or `long`, with its queue. */
struct device_lock {
    char path[KG_LEASE_PATH], queue_path[KG_LEASE_PATH];
    int queue;
};

static enum kg_code open_device_lock(const char *device, bool of_long, struct device_lock *d,
                                     struct kg_err *err)
{
    kg_lease_device_path(device, of_long ? ".long" : "", d->path);
    kg_lease_device_path(device, of_long ? ".long.queue" : ".queue", d->queue_path);
    return kg_lease_open_file(d->queue_path, &d->queue, err);
}

static enum kg_code share(const char *device, bool of_long, int *fd, const volatile int *cancel,
                          struct kg_err *err)
{
    struct device_lock d;
    if (open_device_lock(device, of_long, &d, err) != KG_OK) {
        return err->code;
    }
    const struct wanted w = {d.path, LOCK_SH, d.queue, -1, 0, cancel};
    enum kg_code code = lock_file(&w, fd, err);
    close(d.queue);
    return code;
}

enum kg_code kg_lease_share(const char *device, struct kg_lease *l, const volatile int *cancel,
                            struct kg_err *err)
{
    *l = KG_LEASE_NONE;
    return share(device, false, &l->fd, cancel, err);
}

enum kg_code kg_lease_share_long(const char *device, struct kg_lease *l, const volatile int *cancel,
                                 struct kg_err *err)
{
    *l = KG_LEASE_NONE;
    return share(device, true, &l->fd_long, cancel, err);
}

static enum kg_code open_mark(const char *device, const char *part, int *fd, struct kg_err *err)
{
    char path[KG_LEASE_PATH];
    kg_lease_device_path(device, part, path);
    return kg_lease_open_file(path, fd, err);
}

enum kg_code kg_lease_share_last(const char *device, struct kg_lease *l, const volatile int *cancel,
                                 struct kg_err *err)
{
    const struct wanted w = {"", LOCK_SH, -1, -1, 0, cancel};
    int wanted;
    *l = KG_LEASE_NONE;
    enum kg_code code = open_mark(device, WANTED, &wanted, err);
    if (code != KG_OK) {
        return code;
    }
    while (code == KG_OK && !is_empty(wanted)) {
        code = may_wait(&w, err);
    }
    close(wanted);
    return code == KG_OK ? kg_lease_share_long(device, l, cancel, err) : code;
}

enum kg_code kg_lease_slow(const char *device, struct kg_lease *l, struct kg_err *err)
{
    if (l->fd_slow >= 0) {
        return KG_OK;
    }
    enum kg_code code = open_mark(device, SLOW, &l->fd_slow, err);
    return code == KG_OK ? join_queue(l->fd_slow, err) : code;
}

/* True if others hold the lock shared. fd: an open descriptor of the lock, not locked before and
 * after. */
static bool is_shared(int fd)
{
    bool shared = flock(fd, LOCK_EX | LOCK_NB) != 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
    flock(fd, LOCK_UN);
    return shared;
}

/* Lets new contexts join those already being created, for JOIN_NS at most. The exclusive user has
 * to wait for some of them anyway. */
static enum kg_code let_join(const struct device_lock *d, const volatile int *cancel,
                             struct kg_err *err)
{
    const struct wanted w = {d->path, LOCK_EX, -1, -1, 0, cancel};
    int64_t until = kg_clock_ns() + JOIN_NS;
    int fd;
    enum kg_code code = kg_lease_open_file(d->path, &fd, err);
    while (code == KG_OK && kg_clock_ns() < until && is_empty(d->queue) && is_shared(fd)) {
        code = may_wait(&w, err);
    }
    if (fd >= 0) {
        close(fd);
    }
    return code;
}

/* Takes one lock exclusively. KG_OK with *fd -1: a slow user is inside, and the caller steps
 * back. */
static enum kg_code lock_exclusive(const char *device, bool of_long, int slow, int *fd,
                                   const volatile int *cancel, struct kg_err *err)
{
    struct device_lock d;
    if (open_device_lock(device, of_long, &d, err) != KG_OK) {
        return err->code;
    }
    const struct wanted w = {d.path, LOCK_EX, -1, slow, 0, cancel};
    enum kg_code code = of_long ? let_join(&d, cancel, err) : KG_OK;
    code = code == KG_OK ? join_queue(d.queue, err) : code;
    code = code == KG_OK ? lock_file(&w, fd, err) : code;
    close(d.queue);
    return code;
}

static enum kg_code take_alone(const char *device, bool long_too, int slow, struct kg_lease *l,
                               const volatile int *cancel, struct kg_err *err)
{
    const struct wanted w = {"", LOCK_EX, -1, slow, 0, cancel};
    enum kg_code code = KG_OK;
    while (code == KG_OK && l->fd < 0) {
        kg_lease_release(l);
        while (code == KG_OK && !is_empty(slow)) {
            code = may_wait(&w, err);
        }
        int wanted = -1;
        code = code == KG_OK ? open_mark(device, WANTED, &wanted, err) : code;
        code = code == KG_OK ? join_queue(wanted, err) : code;
        if (code == KG_OK && long_too) {
            code = lock_exclusive(device, true, slow, &l->fd_long, cancel, err);
        }
        if (code == KG_OK && (!long_too || l->fd_long >= 0)) {
            code = lock_exclusive(device, false, slow, &l->fd, cancel, err);
        }
        if (wanted >= 0) {
            close(wanted);
        }
    }
    return code;
}

enum kg_code kg_lease_alone(const char *device, bool long_too, struct kg_lease *l,
                            const volatile int *cancel, struct kg_err *err)
{
    int slow;
    *l = KG_LEASE_NONE;
    if (open_mark(device, SLOW, &slow, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = take_alone(device, long_too, slow, l, cancel, err);
    close(slow);
    if (code != KG_OK) {
        kg_lease_release(l);
    }
    return code;
}

bool kg_lease_share_now(const char *device, struct kg_lease *l)
{
    struct device_lock d;
    struct kg_err ignored = KG_ERR_INIT;
    *l = KG_LEASE_NONE;
    if (open_device_lock(device, false, &d, &ignored) != KG_OK) {
        return false;
    }
    const struct wanted w = {d.path, LOCK_SH, d.queue, -1, 0, NULL};
    if (kg_lease_open_file(d.path, &l->fd, &ignored) == KG_OK && try_lock(&w, l->fd) != 0) {
        kg_lease_release(l);
    }
    close(d.queue);
    return l->fd >= 0;
}

/* Closing a descriptor ends its lock. The files stay: if one were removed, two processes could lock
 * different files of the same name. */
void kg_lease_release(struct kg_lease *l)
{
    if (l->fd >= 0) {
        close(l->fd);
    }
    if (l->fd_long >= 0) {
        close(l->fd_long);
    }
    if (l->fd_slow >= 0) {
        close(l->fd_slow);
    }
    *l = KG_LEASE_NONE;
}
