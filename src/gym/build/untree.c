/* Unpacks a block. The whole block is checked before anything is made of it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/build/tree.h"
#include "gym/build/tree_private.h"

#define PART   ".kgym-tree" /* name of a folder that is not complete yet */
#define SECOND 1000000000u

struct reader {
    const char *at;
    size_t left;
};

struct item {
    struct kg_tree_head head;
    char name[NAME_MAX + 1];
    const char *content;
};

static bool is_name(const char *s, size_t n)
{
    return n > 0 && memchr(s, '/', n) == NULL && memchr(s, '\0', n) == NULL &&
           !(n == 1 && s[0] == '.') && !(n == 2 && s[0] == '.' && s[1] == '.');
}

/* False: the end, or not a record. */
static bool next(struct reader *r, struct item *out)
{
    struct kg_tree_head *h = &out->head;
    if (r->left < sizeof *h) {
        return false;
    }
    memcpy(h, r->at, sizeof *h);
    const char *name = r->at + sizeof *h;
    size_t left = r->left - sizeof *h;
    bool up = h->kind == KG_TREE_UP, file = h->kind == KG_TREE_FILE;
    if ((!up && !file && h->kind != KG_TREE_FOLDER) || h->name_bytes > NAME_MAX ||
        h->name_bytes > left || h->bytes > left - h->name_bytes || h->mtime_ns >= SECOND ||
        h->mode > 0777 || (!file && h->bytes > 0) ||
        (up ? h->name_bytes > 0 : !is_name(name, h->name_bytes))) {
        return false;
    }
    memcpy(out->name, name, h->name_bytes);
    out->name[h->name_bytes] = '\0';
    out->content = name + h->name_bytes;
    r->at = out->content + h->bytes;
    r->left = left - h->name_bytes - (size_t)h->bytes;
    return true;
}

bool kg_tree_check(const void *bytes, size_t n)
{
    struct reader r = {bytes, n};
    struct item i;
    size_t entries = 0;
    int depth = 0;
    while (next(&r, &i)) {
        entries += i.head.kind != KG_TREE_UP;
        if ((depth == 0 && i.head.kind != KG_TREE_FOLDER) || entries > KG_TREE_MAX_ENTRIES) {
            return false;
        }
        depth += i.head.kind == KG_TREE_FOLDER ? 1 : i.head.kind == KG_TREE_UP ? -1 : 0;
        if (depth > KG_TREE_MAX_DEPTH) {
            return false;
        }
    }
    return r.left == 0 && depth == 0;
}

struct unpacker {
    int fd[KG_TREE_MAX_DEPTH + 1]; /* the caller's folder, and those that are open in it */
    int depth;
    char top[NAME_MAX + 1];
    uid_t uid;
    gid_t gid;
};

static bool make_file(const struct unpacker *u, const struct item *i)
{
    struct kg_err ignored = KG_ERR_INIT;
    const struct kg_tree_head *h = &i->head;
    struct timespec times[2] = {{.tv_nsec = UTIME_NOW},
                                {.tv_sec = h->mtime_s, .tv_nsec = (long)h->mtime_ns}};
    int fd = openat(u->fd[u->depth], i->name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    bool made = fd >= 0 && kg_file_write_all(fd, i->content, (size_t)h->bytes, &ignored) == KG_OK &&
                fchown(fd, u->uid, u->gid) == 0 && fchmod(fd, h->mode | 0600) == 0 &&
                futimens(fd, times) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return made;
}

static bool enter(struct unpacker *u, const struct item *i)
{
    const char *name = u->depth == 0 ? PART : i->name;
    if (u->depth == 0) {
        memcpy(u->top, i->name, sizeof u->top);
    }
    if (mkdirat(u->fd[u->depth], name, 0700) != 0) {
        return false;
    }
    int fd = openat(u->fd[u->depth], name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    u->fd[++u->depth] = fd;
    return fchown(fd, u->uid, u->gid) == 0 && fchmod(fd, i->head.mode | 0700) == 0;
}

static bool leave(struct unpacker *u)
{
    close(u->fd[u->depth--]);
    return u->depth > 0 || renameat(u->fd[0], PART, u->fd[0], u->top) == 0;
}

enum kg_code kg_tree_unpack(const void *bytes, size_t n, int dir, uid_t uid, gid_t gid,
                            struct kg_err *err)
{
    struct unpacker u = {.fd = {dir}, .uid = uid, .gid = gid};
    struct reader r = {bytes, n};
    struct item i;
    if (!kg_tree_check(bytes, n)) {
        return kg_fail(err, KG_E_GYM, "a build that was kept is malformed");
    }
    bool made = true;
    while (made && next(&r, &i)) {
        made = i.head.kind == KG_TREE_FILE     ? make_file(&u, &i)
               : i.head.kind == KG_TREE_FOLDER ? enter(&u, &i)
                                               : leave(&u);
    }
    int why = errno;
    while (u.depth > 0) {
        close(u.fd[u.depth--]);
    }
    return made ? KG_OK : kg_fail(err, KG_E_IO, "a build cannot be put back: %s", strerror(why));
}
