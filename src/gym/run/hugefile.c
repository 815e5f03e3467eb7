/* Files with 2 MB pages in a tmpfs of this process that has no path. */
#include "gym/run/hugefile.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc of Debian 12 declares these calls in <sys/mount.h>, whose names clash with the kernel's
 * header. */
static int fs_open(const char *type)
{
    return (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}

static int fs_set(int fs, unsigned command, const char *key, const char *value)
{
    return (int)syscall(SYS_fsconfig, fs, command, key, value, 0);
}

/* The tmpfs of this process; -1: not allowed. It stays open, because later files are made in it. */
static int root_of_tmpfs(void)
{
    static int root = -2;
    if (root != -2) {
        return root;
    }
    root = -1;
    int fs = fs_open("tmpfs");
    if (fs < 0) {
        return root;
    }
    if (fs_set(fs, FSCONFIG_SET_STRING, "huge", "always") == 0 &&
        fs_set(fs, FSCONFIG_SET_STRING, "mode", "0700") == 0 &&
        fs_set(fs, FSCONFIG_CMD_CREATE, NULL, NULL) == 0) {
        root = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
                            MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    }
    close(fs);
    return root;
}

bool kg_hugefile_open(size_t bytes, int *rw, int *ro)
{
    static unsigned number;
    char name[32];
    int root = root_of_tmpfs();
    if (root < 0) {
        return false;
    }
    snprintf(name, sizeof name, "%u", number++);
    *rw = openat(root, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    *ro = *rw < 0 ? -1 : openat(root, name, O_RDONLY | O_CLOEXEC);
    unlinkat(root, name, 0);
    if (*rw >= 0 && *ro >= 0 && ftruncate(*rw, (off_t)bytes) == 0) {
        return true;
    }
    if (*rw >= 0) {
        close(*rw);
    }
    if (*ro >= 0) {
        close(*ro);
    }
    return false;
}
