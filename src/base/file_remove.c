/* kg_file_remove_tree. The tree may have been made by hostile code: any depth, names of any bytes,
 * links to anywhere, folders without permissions. So: no recursion and two descriptors whatever the
 * depth (the way up is ".." checked against the folder that was left), never through a link, never
 * into another mount. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What tells one folder from another, and one mount from another. */
struct place {
    uint64_t inode, mount;
    uint32_t dev_major, dev_minor;
};

struct walk {
    const char *root; /* for messages */
    int fd;           /* the folder being emptied */
    struct place *up; /* the folders above it, outermost first */
    size_t depth, room;
    struct place here;
    uint64_t emptied; /* inode of the folder left last, 0: none */
};

static enum kg_code failed(const struct walk *w, const char *name, const char *what,
                           struct kg_err *err)
{
    return kg_fail(err, KG_E_IO, "%s: cannot %s `%.80s`: %s", w->root, what, name, strerror(errno));
}

static bool place_of(int fd, struct place *p)
{
    struct statx sx;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &sx) != 0) {
        return false;
    }
    *p = (struct place){
        .inode = sx.stx_ino, .dev_major = sx.stx_dev_major, .dev_minor = sx.stx_dev_minor};
    if (sx.stx_mask & STATX_MNT_ID) {
        p->mount = sx.stx_mnt_id;
    }
    return true;
}

static bool same_mount(const struct place *a, const struct place *b)
{
    return a->mount == b->mount && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* Opens a folder for emptying, giving its owner's permissions back first: O_PATH needs none. */
static int open_folder(int at, const char *name, struct place *place)
{
    int path_fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (path_fd < 0) {
        return -1;
    }
    struct stat st;
    int fd = -1;
    if (fstat(path_fd, &st) == 0 && place_of(path_fd, place)) {
        if ((st.st_mode & S_IRWXU) != S_IRWXU) {
            char link[40];
            snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
            /* Not ours to change: then opening or removing says so. */
            int ignored = chmod(link, (st.st_mode & 07777) | S_IRWXU);
            (void)ignored;
        }
        fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    int why = errno;
    close(path_fd);
    errno = why;
    return fd;
}

static enum kg_code go_down(struct walk *w, const char *name, struct kg_err *err)
{
    struct place below;
    int fd = open_folder(w->fd, name, &below);
    if (fd < 0) {
        return failed(w, name, "open folder", err);
    }
    if (!same_mount(&below, &w->here)) {
        close(fd);
        return kg_fail(err, KG_E_IO, "%s: another file system is mounted on `%.80s` inside it",
                       w->root, name);
    }
    if (below.inode == w->emptied) {
        close(fd);
        return kg_fail(err, KG_E_IO, "%s: folder `%.80s` is being filled during removal", w->root,
                       name);
    }
    if (w->depth == w->room) {
        size_t room = w->room == 0 ? 64 : w->room * 2;
        struct place *grown = realloc(w->up, room * sizeof *grown);
        if (grown == NULL) {
            close(fd);
            return failed(w, name, "descend into", err);
        }
        w->up = grown;
        w->room = room;
    }
    w->up[w->depth++] = w->here;
    w->here = below;
    close(w->fd);
    w->fd = fd;
    return KG_OK;
}

static enum kg_code go_up(struct walk *w, struct kg_err *err)
{
    struct place above;
    int fd = openat(w->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || !place_of(fd, &above)) {
        enum kg_code code = failed(w, "..", "open folder", err);
        if (fd >= 0) {
            close(fd);
        }
        return code;
    }
    const struct place *left = &w->up[w->depth - 1];
    if (above.inode != left->inode || !same_mount(&above, left)) {
        close(fd);
        return kg_fail(err, KG_E_IO, "%s: a folder in it was moved during removal", w->root);
    }
    w->emptied = w->here.inode;
    w->here = above;
    w->depth--;
    close(w->fd);
    w->fd = fd;
    return KG_OK;
}

/* Removes what is not a non-empty folder from the current folder, and goes down into the first
 * folder that is not empty. *down: it did. */
static enum kg_code sweep(struct walk *w, bool *down, struct kg_err *err)
{
    *down = false;
    int copy = openat(w->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (dir == NULL) {
        enum kg_code code = failed(w, ".", "list folder", err);
        if (copy >= 0) {
            close(copy);
        }
        return code;
    }
    enum kg_code code = KG_OK;
    struct dirent *e;
    while (code == KG_OK && !*down && (errno = 0, e = readdir(dir)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            unlinkat(w->fd, e->d_name, 0) == 0) {
            continue;
        }
        if (errno != EISDIR && errno != EPERM) {
            code = errno == ENOENT ? KG_OK : failed(w, e->d_name, "remove", err);
        } else if (unlinkat(w->fd, e->d_name, AT_REMOVEDIR) != 0) {
            if (errno == ENOTEMPTY || errno == EEXIST) {
                code = go_down(w, e->d_name, err);
                *down = code == KG_OK;
            } else {
                errno = errno == ENOTDIR ? EPERM : errno;
                code = failed(w, e->d_name, "remove", err);
            }
        }
    }
    if (code == KG_OK && !*down && errno != 0) {
        code = failed(w, ".", "list folder", err);
    }
    closedir(dir);
    return code;
}

static enum kg_code empty_folder(struct walk *w, struct kg_err *err)
{
    for (;;) {
        bool down;
        enum kg_code code = sweep(w, &down, err);
        if (code != KG_OK) {
            return code;
        }
        if (!down && w->depth == 0) {
            return KG_OK;
        }
        if (!down) {
            code = go_up(w, err);
            if (code != KG_OK) {
                return code;
            }
        }
    }
}

enum kg_code kg_file_remove_tree(const char *path, struct kg_err *err)
{
    if (unlink(path) == 0 || errno == ENOENT) {
        return KG_OK;
    }
    struct walk w = {.root = path};
    if (errno != EISDIR && errno != EPERM) {
        return kg_fail(err, KG_E_IO, "%s: cannot remove: %s", path, strerror(errno));
    }
    w.fd = open_folder(AT_FDCWD, path, &w.here);
    if (w.fd < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot remove: %s", path, strerror(errno));
    }
    enum kg_code code = empty_folder(&w, err);
    close(w.fd);
    free(w.up);
    if (code == KG_OK && rmdir(path) != 0) {
        code = kg_fail(err, KG_E_IO, "%s: cannot remove: %s", path, strerror(errno));
    }
    return code;
}
