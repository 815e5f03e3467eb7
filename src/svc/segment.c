/* Segments: files of zstd frames. */
#include "svc/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"

struct kg_svc_segments {
    char folder[3800];
    int64_t most;
    int fd; /* of the file that is written; -1: none */
    char name[KG_ULID_LEN];
    int64_t end;
    bool dirty, fresh; /* fresh: the folder's entry is not synced */
    ZSTD_CCtx *zip;
};

static void path_of(const struct kg_svc_segments *s, const char *name, char out[4096])
{
    snprintf(out, 4096, "%s/%s.zst", s->folder, name);
}

enum kg_code kg_svc_segments_open(const char *folder, int64_t most_bytes,
                                  struct kg_svc_segments **out, struct kg_err *err)
{
    *out = NULL;
    if (kg_file_mkdirs(folder, 0700, err) != KG_OK) {
        return err->code;
    }
    struct kg_svc_segments *s = calloc(1, sizeof *s);
    ZSTD_CCtx *zip = ZSTD_createCCtx();
    if (s == NULL || zip == NULL) {
        free(s);
        ZSTD_freeCCtx(zip);
        return kg_fail_memory(err, KG_E_HOST, "%s: no memory for segments", folder);
    }
    if (snprintf(s->folder, sizeof s->folder, "%s", folder) >= (int)sizeof s->folder) {
        free(s);
        ZSTD_freeCCtx(zip);
        return kg_fail(err, KG_E_LIMIT, "%.100s: path too long", folder);
    }
    s->most = most_bytes;
    s->fd = -1;
    s->zip = zip;
    *out = s;
    return KG_OK;
}

enum kg_code kg_svc_segments_need_none(const char *folder, struct kg_err *err)
{
    DIR *d = opendir(folder);
    bool some = false;
    for (const struct dirent *e; d != NULL && !some && (e = readdir(d)) != NULL;) {
        size_t n = strlen(e->d_name);
        some = n > 4 && strcmp(e->d_name + n - 4, ".zst") == 0;
    }
    if (d != NULL) {
        closedir(d);
    }
    return some ? kg_fail(err, KG_E_USAGE,
                          "%s: has records, but the store that names them is gone, and this one is "
                          "new: restore a backup (`kgym store restore`, or Redis' own files), or "
                          "move %s away to begin anew",
                          folder, folder)
                : KG_OK;
}

void kg_svc_segments_close(struct kg_svc_segments *s)
{
    if (s != NULL) {
        if (s->fd >= 0) {
            close(s->fd);
        }
        ZSTD_freeCCtx(s->zip);
        free(s);
    }
}

static enum kg_code io(struct kg_err *err, const char *path, const char *what)
{
    return kg_fail(err, KG_E_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* A file of this process, with room. What a full one has is synced before the next begins. */
static enum kg_code prepare(struct kg_svc_segments *s, struct kg_err *err)
{
    char path[4096];
    if (s->fd >= 0 && s->end < s->most) {
        return KG_OK;
    }
    if (kg_svc_segments_sync(s, err) != KG_OK || kg_ulid_new(s->name, err) != KG_OK) {
        return err->code;
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    path_of(s, s->name, path);
    s->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    s->end = 0;
    s->fresh = s->fd >= 0;
    return s->fd >= 0 ? KG_OK : io(err, path, "make");
}

enum kg_code kg_svc_segments_append(struct kg_svc_segments *s, const char *record, size_t len,
                                    struct kg_svc_place *out, struct kg_err *err)
{
    if (len > KG_SVC_RECORD_MAX) {
        return kg_fail(err, KG_E_LIMIT, "a record of %zu bytes is too long", len);
    }
    if (prepare(s, err) != KG_OK) {
        return err->code;
    }
    size_t room = ZSTD_compressBound(len);
    char *frame = malloc(room);
    if (frame == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory to compress a record");
    }
    size_t n = ZSTD_compressCCtx(s->zip, frame, room, record, len, 3);
    enum kg_code code = ZSTD_isError(n) ? kg_fail(err, KG_E_HOST, "zstd: %s", ZSTD_getErrorName(n))
                                        : kg_file_write_all(s->fd, frame, n, err);
    if (code == KG_OK) {
        memset(out, 0, sizeof *out);
        snprintf(out->segment, sizeof out->segment, "%s", s->name);
        out->offset = s->end;
        out->len = (int64_t)n;
        kg_sha256_hex(frame, n, out->sum);
        s->end += (int64_t)n;
        s->dirty = true;
    } else if (lseek(s->fd, s->end, SEEK_SET) < 0) {
        close(s->fd); /* what is torn stays an orphan */
        s->fd = -1;
    }
    free(frame);
    return code;
}

enum kg_code kg_svc_segments_sync(struct kg_svc_segments *s, struct kg_err *err)
{
    if (!s->dirty) {
        return KG_OK;
    }
    if (fdatasync(s->fd) != 0) {
        return io(err, s->folder, "sync a segment");
    }
    if (s->fresh) {
        int dir = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        bool synced = dir >= 0 && fsync(dir) == 0;
        if (dir >= 0) {
            close(dir);
        }
        if (!synced) {
            return io(err, s->folder, "sync");
        }
        s->fresh = false;
    }
    s->dirty = false;
    return KG_OK;
}

static enum kg_code read_frame(const char *path, const struct kg_svc_place *p, char *frame,
                               struct kg_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return io(err, path, "open");
    }
    int64_t got = 0;
    while (got < p->len) {
        ssize_t n = pread(fd, frame + got, (size_t)(p->len - got), p->offset + got);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        got += n;
    }
    close(fd);
    return got == p->len ? KG_OK : kg_fail(err, KG_E_IO, "%s: a record's bytes are gone", path);
}

static enum kg_code unpack(const char *path, const struct kg_svc_place *p, const char *frame,
                           struct kg_buf *out, struct kg_err *err)
{
    char sum[KG_SHA256_HEX];
    size_t n = (size_t)p->len;
    kg_sha256_hex(frame, n, sum);
    unsigned long long size = ZSTD_getFrameContentSize(frame, n);
    if (strcmp(sum, p->sum) != 0 || size > KG_SVC_RECORD_MAX) {
        return kg_fail(err, KG_E_IO, "%s: the record at %lld is damaged", path,
                       (long long)p->offset);
    }
    char *text = malloc((size_t)size + 1);
    if (text == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a record");
    }
    size_t got = ZSTD_decompress(text, (size_t)size, frame, n);
    enum kg_code code =
        ZSTD_isError(got) || got != size
            ? kg_fail(err, KG_E_IO, "%s: the record at %lld is damaged", path, (long long)p->offset)
            : KG_OK;
    if (code == KG_OK) {
        kg_buf_add(out, text, got);
        code = kg_buf_ok(out) ? KG_OK : kg_fail(err, KG_E_LIMIT, "%s: a record is too long", path);
    }
    free(text);
    return code;
}

enum kg_code kg_svc_segments_read(const struct kg_svc_segments *s, const struct kg_svc_place *p,
                                  struct kg_buf *out, struct kg_err *err)
{
    char path[4096];
    path_of(s, p->segment, path);
    char *frame = p->len > 0 && p->len <= (int64_t)ZSTD_compressBound(KG_SVC_RECORD_MAX)
                      ? malloc((size_t)p->len)
                      : NULL;
    if (frame == NULL) {
        return kg_fail(err, KG_E_IO, "%s: no record of %lld bytes", path, (long long)p->len);
    }
    enum kg_code code = read_frame(path, p, frame, err);
    if (code == KG_OK) {
        code = unpack(path, p, frame, out, err);
    }
    free(frame);
    return code;
}
