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

enum kg_code kg_lease_acquire_at(const char *path, int64_t deadline_ns, struct kg_lease *l,
                                 const volatile int *cancel, struct kg_err *err)
{
    l->fd = -1;
    int fd;
    if (open_lock(path, &fd, err) != KG_OK) {
        return err->code;
    }
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
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
            close(fd);
            return code;
        }
        struct timespec pause = {.tv_sec = 0, .tv_nsec = POLL_NS};
        nanosleep(&pause, NULL);
    }
    l->fd = fd;
    return KG_OK;
}

void kg_lease_release(struct kg_lease *l)
{
    if (l->fd >= 0) {
        close(l->fd); /* the lock goes with the descriptor; the file stays, or two could hold it */
    }
    l->fd = -1;
}
