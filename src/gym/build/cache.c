/* The cache of built objects: paths, reading with checks, and writing. */
#include "gym/build/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "gym/build/elf.h"

#define MARK     "\nkgym-object "
#define MARK_LEN (sizeof MARK - 1)
#define TAIL_LEN (MARK_LEN + KG_SHA256_HEX - 1 + 1) /* mark, 64 digits, newline */
_Static_assert(TAIL_LEN <= KG_CACHE_TAIL_BYTES, "what fits must be read again");

/* Of the first two of dir and the folders above it that exist: is one another user's? It is in path
 * then. Those further up may be of a user in whose folders root works. */
static bool is_of_another(const char *dir, char *path, size_t cap, uid_t *owner)
{
    int there = 0, n = snprintf(path, cap, "%s", dir);
    char *slash = path;
    if (n < 0 || (size_t)n >= cap) {
        return false;
    }
    while (slash != NULL && there < 2) {
        struct stat st;
        if (stat(path, &st) == 0) {
            there++;
            *owner = st.st_uid;
            if (st.st_uid != 0) {
                return true;
            }
        }
        slash = strrchr(path, '/');
        slash = slash == path ? NULL : slash;
        if (slash != NULL) {
            *slash = '\0';
        }
    }
    return false;
}

bool kg_cache_not_ours(const char *dir)
{
    char path[600];
    uid_t owner = 0;
    if (geteuid() != 0 || !is_of_another(dir, path, sizeof path, &owner)) {
        return false;
    }
    kg_log_once(KG_LOG_NOT_OURS, KG_LOG_WARN,
                "nothing is kept: %s belongs to another user (uid %lu), and this is root; name a "
                "folder of root with XDG_CACHE_HOME or --cache DIR",
                path, (unsigned long)owner);
    return true;
}

void kg_cache_folder(const char *variable, const char *part, char *out, size_t cap)
{
    const char *named = getenv(variable), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;
    if (named != NULL && *named != '\0') {
        n = snprintf(out, cap, "%s", strcmp(named, "none") == 0 ? "" : named);
    } else if (xdg != NULL && *xdg == '/') {
        n = snprintf(out, cap, "%s/kgym/%s", xdg, part);
    } else {
        n = snprintf(out, cap, "%s%s%s", home ? home : "", home ? "/.cache/kgym/" : "",
                     home ? part : "");
    }
    bool default_place = named == NULL || *named == '\0';
    if (n < 0 || (size_t)n >= cap || (default_place && kg_cache_not_ours(out))) {
        *out = '\0';
    }
}

bool kg_cache_path(const char *dir, const char *key, const char *suffix, char *out, size_t cap)
{
    int n = snprintf(out, cap, "%s/%.2s/%s.%s", dir, key, key, suffix);
    return n > 0 && (size_t)n < cap;
}

static void make_tail(const char *key, const void *bytes, size_t n, char tail[TAIL_LEN + 1])
{
    struct kg_sha256 h;
    char hex[KG_SHA256_HEX];
    kg_sha256_begin(&h);
    kg_sha256_part(&h, key, strlen(key));
    kg_sha256_part(&h, bytes, n);
    kg_sha256_end(&h, hex);
    snprintf(tail, TAIL_LEN + 1, MARK "%s\n", hex);
}

static bool is_whole(const char *bytes, size_t n, const char *key)
{
    char tail[TAIL_LEN + 1];
    if (n < TAIL_LEN) {
        return false;
    }
    make_tail(key, bytes, n - TAIL_LEN, tail);
    return memcmp(bytes + n - TAIL_LEN, tail, TAIL_LEN) == 0;
}

char *kg_object_read(int fd, size_t *n)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
        st.st_size > (off_t)KG_OBJECT_MAX_BYTES) {
        return NULL;
    }
    size_t size = (size_t)st.st_size;
    char *bytes = malloc(size);
    ssize_t got = 0;
    for (*n = 0; bytes != NULL && *n < size; *n += (size_t)got) {
        got = pread(fd, bytes + *n, size - *n, (off_t)*n);
        if (got <= 0) {
            free(bytes);
            return NULL;
        }
    }
    return bytes;
}

/* The whole file; *n: size of the content. NULL: see kg_cache_get. */
static char *read_whole(const char *path, const char *key, size_t *n)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    char *bytes = kg_object_read(fd, n);
    close(fd);
    if (bytes == NULL || !is_whole(bytes, *n, key)) {
        free(bytes);
        unlink(path);
        return NULL;
    }
    *n -= TAIL_LEN;
    return bytes;
}

bool kg_cache_check(const char *path, const char *key, const char *entry, bool *exports)
{
    size_t n = 0;
    char *bytes = read_whole(path, key, &n);
    *exports = bytes != NULL && kg_elf_exports(bytes, n, entry) == KG_ELF_EXPORTS;
    free(bytes);
    return bytes != NULL;
}

char *kg_cache_get(const char *path, const char *key, size_t *n)
{
    char *bytes = read_whole(path, key, n);
    if (bytes != NULL) {
        utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
    }
    return bytes;
}

static enum kg_code write_parts(const char *temporary, const char *key, const void *bytes, size_t n,
                                struct kg_err *err)
{
    unlink(temporary);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot create: %s", temporary, strerror(errno));
    }
    char tail[TAIL_LEN + 1];
    make_tail(key, bytes, n, tail);
    enum kg_code code = kg_file_write_all(fd, bytes, n, err);
    code = code == KG_OK ? kg_file_write_all(fd, tail, TAIL_LEN, err) : code;
    close(fd);
    return code;
}

enum kg_code kg_cache_put(const char *path, const char *key, const void *bytes, size_t n,
                          struct kg_err *err)
{
    char folder[512], temporary[544];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) : 0, path);
    enum kg_code code = kg_file_mkdirs(folder, 0755, err);
    if (code != KG_OK) {
        return code;
    }
    snprintf(temporary, sizeof temporary, "%s.tmp.%d", path, (int)getpid());
    code = write_parts(temporary, key, bytes, n, err);
    if (code == KG_OK && rename(temporary, path) != 0) {
        code = kg_fail(err, KG_E_IO, "%s: cannot rename into place: %s", path, strerror(errno));
    }
    if (code != KG_OK) {
        unlink(temporary);
    }
    return code;
}
