/* Whole files: reading with a bound, writing all or nothing, folders and paths. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITER_MS 1000

static enum kg_code cannot(struct kg_err *err, const char *path, const char *what)
{
    enum kg_code code = errno == ENOENT ? KG_E_NOT_FOUND : KG_E_IO;
    return kg_fail(err, code, "%s: cannot %s: %s", path, what, strerror(errno));
}

static enum kg_code read_all(int fd, const char *name, struct kg_buf *out, struct kg_err *err)
{
    char chunk[16384];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return cannot(err, name, "read");
        }
        if (n == 0) {
            return KG_OK;
        }
        if ((size_t)n > out->max - out->len) {
            return kg_fail(err, KG_E_LIMIT, "%s: larger than the limit of %zu bytes", name,
                           out->max);
        }
        kg_buf_add(out, chunk, (size_t)n);
        if (!kg_buf_ok(out)) {
            return kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", name);
        }
    }
}

/* Opening a pipe waits for whoever writes to it, and so would reading: for ever, where nobody does.
 * Whoever is about to gets a moment. A first byte that was there goes to *out. */
static enum kg_code await_writer(int fd, const char *path, struct kg_buf *out, struct kg_err *err)
{
    struct stat st;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;
    if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && poll(&p, 1, WRITER_MS) == 0) {
        ssize_t n = read(fd, &byte, 1);
        if (n == 0) {
            return kg_fail(err, KG_E_IO, "%s: cannot read: nobody writes to this pipe", path);
        }
        if (n == 1) {
            kg_buf_addc(out, byte);
        }
    }
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0
               ? KG_OK
               : kg_fail(err, KG_E_IO, "%s: cannot read: %s", path, strerror(errno));
}

enum kg_code kg_file_read(const char *path, struct kg_buf *out, struct kg_err *err)
{
    if (strcmp(path, "-") == 0) {
        return read_all(STDIN_FILENO, "standard input", out, err);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        return cannot(err, path, "open");
    }
    enum kg_code code = await_writer(fd, path, out, err);
    code = code == KG_OK ? read_all(fd, path, out, err) : code;
    close(fd);
    return code;
}

enum kg_code kg_file_write_all(int fd, const void *bytes, size_t n, struct kg_err *err)
{
    const char *p = bytes;
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            return kg_fail(err, KG_E_IO, "cannot write: %s", strerror(errno));
        }
        p += done;
        n -= (size_t)done;
    }
    return KG_OK;
}

/* Devices and pipes (/dev/stdout, a named pipe) are written in place: renaming a file over them
 * would replace them. */
static enum kg_code write_in_place(const char *path, const void *bytes, size_t n,
                                   struct kg_err *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return cannot(err, path, "open for writing");
    }
    enum kg_code code = kg_file_write_all(fd, bytes, n, err);
    close(fd);
    return code == KG_OK ? KG_OK : kg_err_prefix(err, "%s", path);
}

void kg_file_sync_folder_of(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        snprintf(folder, sizeof folder, ".");
    } else {
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

/* Messages name path: nobody knows the temporary name. */
static enum kg_code write_new(const char *path, const char *temporary, const void *bytes, size_t n,
                              struct kg_err *err)
{
    unlink(temporary); /* left by a process of the same number that was killed */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return cannot(err, path, "create");
    }
    enum kg_code code = kg_file_write_all(fd, bytes, n, err);
    if (code != KG_OK) {
        kg_err_prefix(err, "%s", path);
    } else if (fsync(fd) != 0) {
        code = cannot(err, path, "write to disk");
    }
    close(fd);
    if (code == KG_OK && rename(temporary, path) != 0) {
        code = cannot(err, path, "replace");
    }
    if (code != KG_OK) {
        unlink(temporary);
    }
    return code;
}

enum kg_code kg_file_write_atomic(const char *path, const void *bytes, size_t n, struct kg_err *err)
{
    char target[PATH_MAX], temporary[PATH_MAX];
    struct stat st;
    bool is_link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    bool there = stat(path, &st) == 0;
    if (there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        return write_in_place(path, bytes, n, err);
    }
    /* Through a link to the file it names, so that the link survives. */
    if (!is_link || !there || realpath(path, target) == NULL) {
        if (snprintf(target, sizeof target, "%s", path) >= (int)sizeof target) {
            return kg_fail(err, KG_E_IO, "%s: path too long", path);
        }
    }
    int len = snprintf(temporary, sizeof temporary, "%s.tmp.%ld", target, (long)getpid());
    if (len < 0 || (size_t)len >= sizeof temporary) {
        return kg_fail(err, KG_E_IO, "%s: path too long", path);
    }
    enum kg_code code = write_new(target, temporary, bytes, n, err);
    if (code == KG_OK) {
        kg_file_sync_folder_of(target);
    }
    return code;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

enum kg_code kg_file_mkdirs(const char *path, unsigned mode, struct kg_err *err)
{
    char part[PATH_MAX];
    int len = snprintf(part, sizeof part, "%s", path);
    if (len <= 0 || (size_t)len >= sizeof part) {
        return kg_fail(err, KG_E_IO, "%s: %s", path, len == 0 ? "empty path" : "path too long");
    }
    for (char *p = part + 1;; p++) {
        if (*p != '/' && *p != '\0') {
            continue;
        }
        char end = *p;
        *p = '\0';
        int why = mkdir(part, (mode_t)mode) == 0 ? 0 : errno;
        if (why != 0 && !is_folder(part)) {
            return kg_fail(err, KG_E_IO, "%s: cannot create folder: %s", part,
                           why == EEXIST ? "a file is in the way" : strerror(why));
        }
        if (end == '\0') {
            return KG_OK;
        }
        *p = end;
    }
}

enum kg_code kg_file_lock_folder(const char *folder, int *fd, struct kg_err *err)
{
    *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot open: %s", folder, strerror(errno));
    }
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0) {
        close(*fd);
        *fd = -1;
        return kg_fail(err, KG_E_USAGE, "%s: another process runs in this folder", folder);
    }
    return KG_OK;
}

bool kg_file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

enum kg_code kg_file_absolute(const char *path, char *out, size_t cap, struct kg_err *err)
{
    char here[PATH_MAX] = "";
    if (path[0] != '/' && getcwd(here, sizeof here) == NULL) {
        return kg_fail(err, KG_E_HOST, "%s: the current folder is not known: %s", path,
                       strerror(errno));
    }
    int n = snprintf(out, cap, "%s%s%s", here, path[0] != '/' ? "/" : "", path);
    return n >= 0 && (size_t)n < cap ? KG_OK : kg_fail(err, KG_E_LIMIT, "%s: path too long", path);
}

enum kg_code kg_file_self_dir(char *out, size_t cap, struct kg_err *err)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) {
        return kg_fail(err, KG_E_HOST, "/proc/self/exe: cannot read: %s", strerror(errno));
    }
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash - path) >= cap) {
        return kg_fail(err, KG_E_LIMIT, "%s: path of the executable too long", path);
    }
    *slash = '\0';
    snprintf(out, cap, "%s", path);
    return KG_OK;
}
