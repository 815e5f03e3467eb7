/* The file system of a sandbox: an empty read-only tmpfs, with the folders and files of the plan on
 * it. It runs in the child, in its own mount namespace. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gym/sandbox/plan.h"

#define OLD "/.old"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
/* Source: include/uapi/linux/mount.h; glibc 2.36 declares it in conflict with sys/mount.h. */
enum { ATTR_RDONLY = 1, ATTR_NOSUID = 2, ATTR_RECURSIVE = 0x8000 };
struct attributes {
    uint64_t set, clear, propagation, userns_fd;
};

static void fail(const struct kg_plan *plan, const char *what)
{
    kg_child_fail(plan, KG_STEP_MOUNTNS, what);
}

/* Only adds flags. So it also works on mounts whose flags a user namespace may not remove. */
static void restrict_mount(const struct kg_plan *plan, const char *path, uint64_t flags)
{
    struct attributes a = {.set = flags};
    if (syscall(SYS_mount_setattr, AT_FDCWD, path, ATTR_RECURSIVE, &a, sizeof a) != 0) {
        fail(plan, path);
    }
}

/* Makes every missing folder above path. */
static void make_parents(const struct kg_plan *plan, const char *path)
{
    char at[KG_MAX_PATH];
    size_t n = strlen(path);
    for (size_t i = 1; i < n && i < sizeof at; i++) {
        if (path[i] == '/') {
            memcpy(at, path, i);
            at[i] = '\0';
            if (mkdir(at, 0755) != 0 && errno != EEXIST) {
                fail(plan, at);
            }
        }
    }
}

static void make_target(const struct kg_plan *plan, const struct kg_mount *m)
{
    make_parents(plan, m->dst);
    if (m->folder) {
        if (mkdir(m->dst, 0755) != 0 && errno != EEXIST) {
            fail(plan, m->dst);
        }
        return;
    }
    int fd = open(m->dst, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0 && errno != EROFS) {
        fail(plan, m->dst);
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void show(const struct kg_plan *plan, const struct kg_mount *m)
{
    char src[KG_MAX_PATH + sizeof OLD];
    snprintf(src, sizeof src, OLD "%s", m->src);
    make_target(plan, m);
    if (mount(src, m->dst, NULL, MS_BIND | MS_REC, NULL) != 0) {
        fail(plan, m->dst);
    }
    restrict_mount(plan, m->dst, ATTR_NOSUID | (m->writable ? 0 : ATTR_RDONLY));
}

static void enter_empty_root(const struct kg_plan *plan)
{
    /* Mounts made here must not appear on the host. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        fail(plan, "make mounts private");
    }
    static const char *const bases[] = {"/tmp", "/mnt", "/usr"};
    size_t i = 0;
    const char *options = "size=256k,nr_inodes=512,mode=755";
    while (mount("kgym", bases[i], "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) {
        if (++i == sizeof bases / sizeof *bases || errno != ENOENT) {
            fail(plan, "mount an empty tmpfs");
        }
    }
    if (chdir(bases[i]) != 0 || mkdir("." OLD, 0700) != 0) {
        fail(plan, "enter the empty tmpfs");
    }
    if (syscall(SYS_pivot_root, ".", "." OLD) != 0 || chdir("/") != 0) {
        fail(plan, "pivot_root");
    }
}

/* A host may refuse a new /proc, as in a container that hides parts of its own. Then there is
 * none. */
static void mount_proc(const struct kg_plan *plan)
{
    unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    flags |= kg_proc_writable(plan) ? 0 : MS_RDONLY;
    if (mkdir("/proc", 0755) != 0 && errno != EEXIST) {
        fail(plan, "/proc");
    }
    const char *own = plan->spec->proc == KG_PROC_OWN ? "subset=pid" : NULL;
    if (mount("proc", "/proc", "proc", flags, own) != 0 && own != NULL && errno == EINVAL) {
        mount("proc", "/proc", "proc", flags, NULL); /* before Linux 5.8 */
    }
}

/* Comes before anything is shown, because the plan may show files below the host's /tmp. */
static void mount_tmp(const struct kg_plan *plan)
{
    char options[96];
    snprintf(options, sizeof options, "size=%lld,nr_inodes=8192,mode=1777",
             (long long)plan->spec->tmp_bytes);
    if ((mkdir("/tmp", 0755) != 0 && errno != EEXIST) ||
        mount("kgym", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) {
        fail(plan, "/tmp");
    }
}

void kg_child_mounts(const struct kg_plan *plan)
{
    enter_empty_root(plan);
    if (plan->spec->tmp_bytes > 0) {
        mount_tmp(plan);
    }
    for (size_t i = 0; i < plan->nmounts; i++) {
        show(plan, &plan->mounts[i]);
    }
    for (size_t i = 0; i < plan->nlinks; i++) {
        if (symlink(plan->links[i].target, plan->links[i].path) != 0 && errno != EEXIST) {
            fail(plan, plan->links[i].path);
        }
    }
    if (plan->spec->proc != KG_PROC_NONE && (plan->steps & KG_STEP_PIDNS)) {
        mount_proc(plan);
    }
    if (umount2(OLD, MNT_DETACH) != 0 || rmdir(OLD) != 0) {
        fail(plan, "leave the host's root");
    }
    struct attributes a = {.set = ATTR_RDONLY | ATTR_NOSUID}; /* of the root only */
    if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &a, sizeof a) != 0) {
        fail(plan, "make the root read-only");
    }
}
