/* Keeps a cache within its size. The time of last use is the modification time that kg_cache_put
 * and kg_cache_get leave. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gym/build/cache.h"

#define MOST_FILES 65536

struct file {
    char path[96]; /* relative to the cache's folder */
    struct timespec used;
    int64_t bytes;
};

struct files {
    struct file *at;
    size_t n, cap;
    int64_t bytes;
};

static bool add(struct files *f, const char *path, const struct stat *st)
{
    if (f->n == f->cap) {
        size_t cap = f->cap == 0 ? 256 : 2 * f->cap;
        struct file *more = f->n < MOST_FILES ? realloc(f->at, cap * sizeof *more) : NULL;
        if (more == NULL) {
            return false;
        }
        f->at = more;
        f->cap = cap;
    }
    struct file *new = &f->at[f->n++];
    *new = (struct file){.used = st->st_mtim, .bytes = st->st_size};
    snprintf(new->path, sizeof new->path, "%s", path);
    f->bytes += st->st_size;
    return true;
}

/* Lists the regular files of one folder of the cache. */
static void list_folder(struct files *f, int root, const char *name)
{
    int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    bool room = true;
    while (dir != NULL && room && (e = readdir(dir)) != NULL) {
        char path[sizeof f->at->path];
        struct stat st;
        int n = snprintf(path, sizeof path, "%s/%s", name, e->d_name);
        if (n > 0 && (size_t)n < sizeof path &&
            fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
            room = add(f, path, &st);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    } else if (fd >= 0) {
        close(fd);
    }
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct file *)a)->used,
                          *y = &((const struct file *)b)->used;
    if (x->tv_sec != y->tv_sec) {
        return x->tv_sec < y->tv_sec ? -1 : 1;
    }
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

void kg_cache_trim(const char *dir, int64_t most_bytes)
{
    struct files f = {NULL, 0, 0, 0};
    DIR *root = opendir(dir);
    const struct dirent *e;
    if (root == NULL) {
        return;
    }
    while ((e = readdir(root)) != NULL) {
        if (strlen(e->d_name) == 2 && strcmp(e->d_name, "..") != 0) {
            list_folder(&f, dirfd(root), e->d_name);
        }
    }
    if (f.at != NULL && f.bytes > most_bytes) {
        qsort(f.at, f.n, sizeof *f.at, by_use);
        for (size_t i = 0; i < f.n && f.bytes > most_bytes; i++) {
            f.bytes -= unlinkat(dirfd(root), f.at[i].path, 0) == 0 ? f.at[i].bytes : 0;
        }
    }
    closedir(root);
    free(f.at);
}
