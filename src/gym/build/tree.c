/* Packs folders into one block. Records follow each other: a head, a name and, for a file, its
 * content. The contents of a folder stand between its record and a record that leads up again. */
#include "gym/build/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gym/build/tree_private.h"

struct packer {
    struct kg_buf *out;
    size_t entries, files;
    struct kg_err *err;
};

static enum kg_code refuse(const struct packer *p, const char *why)
{
    return kg_fail(p->err, KG_E_LIMIT, "a build is not kept: %s", why);
}

static enum kg_code cannot(const struct packer *p, const char *what)
{
    return kg_fail(p->err, KG_E_IO, "a build is not kept: cannot %s: %s", what, strerror(errno));
}

static enum kg_code put(const struct packer *p, uint32_t kind, const char *name,
                        const struct stat *st)
{
    struct kg_tree_head h = {.kind = kind, .name_bytes = (uint32_t)strlen(name)};
    h.mode = st->st_mode & 0777;
    if (kind == KG_TREE_FILE) {
        h.bytes = (uint64_t)st->st_size;
        h.mtime_s = st->st_mtim.tv_sec;
        h.mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
    }
    kg_buf_add(p->out, &h, sizeof h);
    kg_buf_add(p->out, name, h.name_bytes);
    return kg_buf_ok(p->out) ? KG_OK : refuse(p, "it is too large");
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Appends as many bytes as the file had when it was opened. */
static enum kg_code put_content(const struct packer *p, int fd, const struct stat *st)
{
    char chunk[65536];
    struct stat after;
    for (off_t at = 0; at < st->st_size;) {
        off_t left = st->st_size - at;
        ssize_t n = pread(fd, chunk, left < (off_t)sizeof chunk ? (size_t)left : sizeof chunk, at);
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            return n < 0 ? cannot(p, "read a file") : refuse(p, "a file changed meanwhile");
        }
        kg_buf_add(p->out, chunk, n > 0 ? (size_t)n : 0);
        at += n > 0 ? n : 0;
    }
    if (fstat(fd, &after) != 0 || !same(st, &after)) {
        return refuse(p, "a file changed meanwhile");
    }
    return kg_buf_ok(p->out) ? KG_OK : refuse(p, "it is too large");
}

static enum kg_code pack_file(struct packer *p, int dir, const char *name)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return cannot(p, "open a file");
    }
    enum kg_code code = KG_OK;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        code = refuse(p, "a file changed meanwhile");
    } else if ((uint64_t)st.st_size > p->out->max - p->out->len) { /* it may be sparse: not read */
        code = refuse(p, "it is too large");
    } else {
        code = put(p, KG_TREE_FILE, name, &st);
        code = code == KG_OK ? put_content(p, fd, &st) : code;
        p->files++;
    }
    close(fd);
    return code;
}

static bool is_lock(const char *name)
{
    size_t n = strlen(name);
    return strcmp(name, "lock") == 0 || (n > 5 && strcmp(name + n - 5, ".lock") == 0);
}

static enum kg_code pack_folder(struct packer *p, int dir, const char *name, int depth);

static enum kg_code pack_entry(struct packer *p, int dir, const char *name, int depth)
{
    struct stat st;
    if (++p->entries > KG_TREE_MAX_ENTRIES) {
        return refuse(p, "it has too many files");
    }
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return cannot(p, "look at a file");
    }
    if (S_ISDIR(st.st_mode)) {
        return pack_folder(p, dir, name, depth + 1);
    }
    if (!S_ISREG(st.st_mode)) {
        return refuse(p, "there is something that is neither file nor folder");
    }
    return is_lock(name) ? KG_OK : pack_file(p, dir, name);
}

static enum kg_code pack_entries(struct packer *p, DIR *list, int depth)
{
    enum kg_code code = KG_OK;
    const struct dirent *e;
    while (code == KG_OK && (e = readdir(list)) != NULL) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            code = pack_entry(p, dirfd(list), e->d_name, depth);
        }
    }
    return code;
}

static enum kg_code pack_folder(struct packer *p, int dir, const char *name, int depth)
{
    struct stat st;
    if (depth > KG_TREE_MAX_DEPTH) {
        return refuse(p, "its folders are too deep");
    }
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        enum kg_code code = cannot(p, "open a folder");
        if (fd >= 0) {
            close(fd);
        }
        return code;
    }
    DIR *list = fdopendir(fd);
    if (list == NULL) {
        close(fd);
        return cannot(p, "list a folder");
    }
    enum kg_code code = put(p, KG_TREE_FOLDER, name, &st);
    code = code == KG_OK ? pack_entries(p, list, depth) : code;
    closedir(list);
    return code == KG_OK ? put(p, KG_TREE_UP, "", &st) : code;
}

enum kg_code kg_tree_pack(int dir, const char *const *names, size_t n, struct kg_buf *out,
                          struct kg_err *err)
{
    struct packer p = {.out = out, .err = err};
    size_t before = out->len;
    enum kg_code code = KG_OK;
    for (size_t i = 0; i < n && code == KG_OK; i++) {
        struct stat st;
        if (fstatat(dir, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0) {
            code = S_ISDIR(st.st_mode)
                       ? pack_folder(&p, dir, names[i], 1)
                       : refuse(&p, "there is something that is neither file nor folder");
        } else if (errno != ENOENT) {
            code = cannot(&p, "look at a folder");
        }
    }
    if (code == KG_OK && p.files == 0) {
        out->len = before;
        out->data[before] = '\0';
    }
    return code;
}
