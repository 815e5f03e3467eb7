/* Scratch folders. With the right to mount, the broker enters a mount namespace of its own and
 * mounts a tmpfs on the folder. The host never sees it, and it vanishes with the broker. The broker
 * holds a lock on the empty folder below, so that a sweep can tell whether the owner lives. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/sandbox/plan.h"

#define PREFIX "kgym-scratch-"

const char *kg_scratch_parent(void)
{
    const char *t = getenv("TMPDIR");
    return t != NULL && t[0] == '/' ? t : "/tmp";
}

static bool mount_limited(const char *path, int64_t bytes, int64_t inodes)
{
    char options[128];
    snprintf(options, sizeof options, "size=%lld,nr_inodes=%lld,mode=711", (long long)bytes,
             (long long)inodes);
    return mount("kgym", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

/* A mount namespace for this process. Later mounts of the host still appear here (slave). */
static bool private_mounts(void)
{
    static bool done;
    if (!done &&
        (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)) {
        return false;
    }
    done = true;
    return true;
}

bool kg_scratch_tmpfs_works(char why[120])
{
    pid_t pid = fork(); /* a try changes the process that tries */
    if (pid == 0) {
        bool works = private_mounts() && mount_limited(kg_scratch_parent(), 65536, 16);
        _exit(works ? 0 : errno & 127);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status)) {
        snprintf(why, 120, "cannot fork");
        return false;
    }
    snprintf(why, 120, "cannot mount a tmpfs: %s", strerror(WEXITSTATUS(status)));
    return WEXITSTATUS(status) == 0;
}

static enum kg_code make_folder(struct kg_scratch *out, struct kg_err *err)
{
    *out = (struct kg_scratch){.lock_fd = -1};
    int n = snprintf(out->path, sizeof out->path, "%s/" PREFIX "%d-XXXXXX", kg_scratch_parent(),
                     (int)getpid());
    if (n < 0 || (size_t)n >= sizeof out->path) {
        out->path[0] = '\0';
        return kg_fail(err, KG_E_HOST, "scratch: $TMPDIR is too long");
    }
    if (mkdtemp(out->path) == NULL) {
        char path[sizeof out->path];
        memcpy(path, out->path, sizeof path);
        out->path[0] = '\0';
        return kg_fail(err, KG_E_IO, "scratch: cannot make a folder like %s: %s", path,
                       strerror(errno));
    }
    out->lock_fd = open(out->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->lock_fd < 0 || flock(out->lock_fd, LOCK_EX | LOCK_NB) != 0 ||
        chmod(out->path, 0711) != 0) {
        enum kg_code code =
            kg_fail(err, KG_E_IO, "scratch: cannot hold %s: %s", out->path, strerror(errno));
        kg_scratch_close(out);
        return code;
    }
    return KG_OK;
}

enum kg_code kg_scratch_open_plain(struct kg_scratch *out, struct kg_err *err)
{
    return make_folder(out, err);
}

enum kg_code kg_scratch_open(int64_t max_bytes, int64_t max_inodes, struct kg_scratch *out,
                             struct kg_err *err)
{
    bool works = (kg_sandbox_caps()->steps & KG_STEP_TMPFS) && private_mounts();
    enum kg_code code = make_folder(out, err);
    if (code == KG_OK && works) {
        out->tmpfs = mount_limited(out->path, max_bytes, max_inodes);
    }
    return code;
}

void kg_scratch_close(struct kg_scratch *s)
{
    if (s->path[0] != '\0') {
        struct kg_err ignored = KG_ERR_INIT;
        if (s->tmpfs) {
            umount2(s->path, MNT_DETACH);
        }
        if (kg_file_remove_tree(s->path, &ignored) != KG_OK) {
            s->tmpfs = false; /* the next sweep finds what is left */
        }
    }
    if (s->lock_fd >= 0 && s->path[0] != '\0') {
        close(s->lock_fd);
    }
    *s = (struct kg_scratch){.lock_fd = -1};
}

void kg_scratch_sweep(void)
{
    DIR *dir = opendir(kg_scratch_parent());
    struct dirent *e;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0) {
            continue;
        }
        int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
            flock(fd, LOCK_EX | LOCK_NB) == 0) {
            char path[512];
            struct kg_err ignored = KG_ERR_INIT;
            snprintf(path, sizeof path, "%s/%s", kg_scratch_parent(), e->d_name);
            enum kg_code code = kg_file_remove_tree(path, &ignored);
            (void)code; /* cleaning up may fail */
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}
