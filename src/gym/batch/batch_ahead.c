/* The file beside a batch that keeps records which wait for an older one. */
#include "gym/batch/batch_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

#define MOST ((int64_t)64 << 20)

enum kg_code kg_batch_ahead_init(struct kg_batch_ahead *a, const char *output, struct kg_err *err)
{
    *a = (struct kg_batch_ahead){.fd = -1, .most = MOST};
    int n = snprintf(a->path, sizeof a->path, "%s.ahead", output);
    return n > 0 && (size_t)n < sizeof a->path
               ? KG_OK
               : kg_fail(err, KG_E_LIMIT, "%s: path too long", output);
}

static void give_up(struct kg_batch_ahead *a, const char *why)
{
    kg_log(KG_LOG_WARN,
           "%s: %s: if this run is killed, records that wait for an older one are lost", a->path,
           why);
    a->failed = true;
}

static void done_with(struct kg_batch_ahead *a)
{
    if (a->fd >= 0) {
        close(a->fd);
        a->fd = -1;
    }
}

static const char *record_of(const struct kg_batch_waiting *w, size_t line)
{
    return w->ready[line] ? w->ready[line] : w->items->item[line].kept;
}

static bool anything(const struct kg_batch_waiting *w)
{
    size_t i = w->written;
    while (i < w->items->n && !record_of(w, i)) {
        i++;
    }
    return i < w->items->n;
}

/* All that waits, a line at a time: together it may be more than memory holds twice. */
static bool write_lines(struct kg_batch_ahead *a, FILE *f, const struct kg_batch_waiting *w)
{
    bool good = true;
    a->bytes = 0;
    for (size_t i = w->written; i < w->items->n && good; i++) {
        const char *record = record_of(w, i);
        good = !record || (fputs(record, f) >= 0 && fputc('\n', f) != EOF);
        a->bytes += record ? (int64_t)strlen(record) + 1 : 0;
    }
    return fflush(f) == 0 && good && fsync(fileno(f)) == 0;
}

static bool write_anew(struct kg_batch_ahead *a, const struct kg_batch_waiting *w)
{
    char fresh[sizeof a->path + 8];
    snprintf(fresh, sizeof fresh, "%s.new", a->path);
    unlink(fresh); /* of a run that was killed */
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool good = f && write_lines(a, f, w);
    int why = errno;
    if (f) {
        fclose(f);
    } else if (fd >= 0) {
        close(fd);
    }
    if (good && rename(fresh, a->path) == 0) {
        kg_file_sync_folder_of(a->path); /* before the output is cut off */
        return true;
    }
    give_up(a, strerror(good ? errno : why));
    unlink(fresh);
    return false;
}

bool kg_batch_ahead_renew(struct kg_batch_ahead *a, const struct kg_batch_waiting *w)
{
    done_with(a);
    a->ours = true;
    if (!anything(w)) {
        unlink(a->path);
        a->bytes = 0;
        return true;
    }
    bool good = write_anew(a, w);
    a->most = 2 * a->bytes > MOST ? 2 * a->bytes : MOST;
    return good;
}

void kg_batch_ahead_add(struct kg_batch_ahead *a, const char *record,
                        const struct kg_batch_waiting *w)
{
    struct kg_err err = KG_ERR_INIT;
    if (!a->ours || a->failed) {
        return;
    }
    if (a->bytes > a->most) { /* holds this one, too */
        (void)!kg_batch_ahead_renew(a, w);
        return;
    }
    if (a->fd < 0) {
        a->fd = open(a->path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    }
    if (a->fd < 0) {
        give_up(a, strerror(errno));
        return;
    }
    size_t len = strlen(record);
    if (kg_file_write_all(a->fd, record, len, &err) != KG_OK ||
        kg_file_write_all(a->fd, "\n", 1, &err) != KG_OK) {
        give_up(a, err.message);
    }
    a->bytes += (int64_t)len + 1;
}

void kg_batch_ahead_end(struct kg_batch_ahead *a, const struct kg_batch_waiting *w)
{
    done_with(a);
    if (a->ours && !anything(w)) {
        unlink(a->path);
    }
}
