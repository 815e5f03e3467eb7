/* A batch: lines become tasks of a pool, results become lines of the output. */
#include "gym/batch/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/ulid.h"
#include "gym/batch/batch_items.h"
#include "gym/batch/batch_name.h"
#include "gym/batch/batch_resume.h"
#include "gym/pool/configured.h"

#define WINDOW        1024 /* lines that may be finished before the oldest unfinished one */
#define MOST_BYTES    ((size_t)256 << 20) /* of texts in the pool, beyond the first */
#define LOOK_EVERY_MS 50                  /* whether the batch is cancelled */

struct batch {
    const struct kg_config *config;
    const struct kg_batch_spec *spec;
    struct kg_batch_result *result;
    struct kg_items items;
    char **ready;    /* finished records that are not written yet */
    size_t *line_of; /* by a task's number, from 1 */
    size_t *bytes;   /* of each line's text while it is in the pool */
    size_t next;     /* the first line that was not submitted; lines before it are taken */
    size_t in_pool;  /* bytes of texts there */
    uint64_t submitted;
    struct kg_batch_out out;
    struct kg_batch_ahead ahead;
    struct kg_batch_name name;
    struct kgym_pool *pool;
    int64_t done;
};

static bool cancelled(const struct batch *b)
{
    return b->spec->cancelled && *b->spec->cancelled;
}

static void count(struct batch *b, const struct kg_batch_line *line)
{
    *(line->error == KG_OK ? &b->result->verdicts : &b->result->errors) += 1;
    b->done++;
    if (b->spec->progress) {
        b->spec->progress(b->spec->ctx, b->done, (int64_t)b->items.n, line);
    }
}

/* Writes what is ready, in order. What a full disk took of a line is cut off again, so only a
 * killed process can leave a torn line, and resuming cuts that off. */
static enum kg_code flush(struct batch *b, struct kg_err *err)
{
    struct kg_batch_out *out = &b->out;
    while (out->written < b->items.n && b->ready[out->written]) {
        char *rec = b->ready[out->written];
        size_t len = strlen(rec);
        rec[len] = '\n'; /* in the place of the terminator */
        enum kg_code code = kg_file_write_all(out->fd, rec, len + 1, err);
        rec[len] = '\0';
        if (code != KG_OK) { /* it still waits, also where records ahead are kept */
            bool whole = out->end < 0 || ftruncate(out->fd, out->end) == 0;
            return kg_err_prefix(err, "%s%s", b->spec->out, whole ? "" : " (its end is torn)");
        }
        free(rec);
        b->ready[out->written] = NULL;
        out->written++;
        out->end += out->end >= 0 ? (int64_t)len + 1 : 0;
    }
    return KG_OK;
}

/* record: allocated; taken. */
static enum kg_code finish(struct batch *b, size_t at, char *record,
                           const struct kg_batch_line *line, struct kg_err *err)
{
    if (!record) {
        return kg_fail(err, KG_E_LIMIT, "no memory for a record");
    }
    count(b, line);
    b->ready[at] = record;
    return flush(b, err);
}

static struct kg_batch_waiting waiting(const struct batch *b)
{
    return (struct kg_batch_waiting){&b->items, b->ready, b->out.written};
}

/* A line that was judged now: until it can be written it is kept beside the output. */
static enum kg_code finish_now(struct batch *b, size_t at, char *record,
                               const struct kg_batch_line *line, struct kg_err *err)
{
    enum kg_code code = finish(b, at, record, line, err);
    if (code == KG_OK && b->ready[at]) {
        const struct kg_batch_waiting w = waiting(b);
        kg_batch_ahead_add(&b->ahead, b->ready[at], &w);
    }
    return code;
}

/* A line whose text could not be read. */
static enum kg_code finish_unread(struct batch *b, size_t at, const struct kg_err *e,
                                  struct kg_err *err)
{
    struct kg_record r;
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_buf out;
    const char *id = b->items.item[at].id;
    kg_record_init(&r);
    if (kg_ulid_new(r.id, &ignored) != KG_OK) {
        r.id[0] = 0;
    }
    r.batch_id = id;
    kg_record_error(&r, e);
    json_t *j = kg_record_json(&r, b->spec->public_only);
    kg_buf_init(&out, 1 << 20);
    kg_json_dump(j, &out);
    json_decref(j);
    kg_record_deinit(&r);
    char place[600];
    snprintf(place, sizeof place, "%s:%d", b->items.path, b->items.item[at].line);
    const struct kg_batch_line line = {.id = id,
                                       .line = b->items.item[at].line,
                                       .error = e->code,
                                       .message = kg_err_without(e, place)};
    return finish_now(b, at, kg_buf_detach(&out), &line, err);
}

static enum kg_code submit(struct batch *b, size_t at, struct kg_err *err)
{
    struct kg_item_task t;
    struct kg_err e = KG_ERR_INIT;
    struct kgym_error refused;
    uint64_t id;
    if (kg_item_open(&b->items, at, &t, &e) != KG_OK) {
        kg_item_close(&t);
        return finish_unread(b, at, &e, err);
    }
    const struct kgym_task task = {.size = sizeof task,
                                   .problem = t.task.problem,
                                   .text = t.task.text,
                                   .text_len = t.task.len,
                                   .source = t.task.source,
                                   .tag = t.task.batch_id,
                                   .stop_after = b->spec->stop_after};
    enum kgym_code code = kgym_submit(b->pool, &task, &id, &refused);
    b->bytes[at] = t.task.len;
    kg_item_close(&t);
    if (code == KGYM_OK) {
        KG_ASSERT(id == b->submitted + 1);
        b->line_of[++b->submitted] = at;
        b->in_pool += b->bytes[at];
        return KG_OK;
    }
    (void)!kg_pool_error(&refused, &e);
    return code == KGYM_E_LIMIT ? finish_unread(b, at, &e, err) : kg_pool_error(&refused, err);
}

/* Lines go to the pool as far as the window reaches. What is kept of an earlier run is finished. */
static enum kg_code open_window(struct batch *b, struct kg_err *err)
{
    struct kgym_error e;
    size_t had = b->next;
    while (b->next < b->items.n && b->next < b->out.written + WINDOW && b->in_pool < MOST_BYTES) {
        size_t at = b->next++;
        struct kg_item *it = &b->items.item[at];
        if (it->kept) {
            const struct kg_batch_line line = {.id = it->id, .ok = it->kept_ok};
            char *kept = it->kept;
            it->kept = NULL;
            b->result->resumed++;
            if (finish(b, at, kept, &line, err) != KG_OK) {
                return err->code;
            }
        } else if (submit(b, at, err) != KG_OK) {
            return err->code;
        }
    }
    if (b->next == b->items.n && had < b->next && kgym_drain(b->pool, &e) != KGYM_OK) {
        return kg_pool_error(&e, err);
    }
    return KG_OK;
}

static enum kg_code take(struct batch *b, const struct kgym_result *r, struct kg_err *err)
{
    size_t at = b->line_of[r->id];
    const struct kg_batch_line line = {.id = b->items.item[at].id,
                                       .line = b->items.item[at].line,
                                       .ok = r->verdict && strcmp(r->verdict, "ok") == 0,
                                       .error = (enum kg_code)r->error,
                                       .message = r->message};
    b->in_pool -= b->bytes[at];
    return finish_now(b, at, strdup(r->record), &line, err);
}

static enum kg_code run(struct batch *b, struct kg_err *err)
{
    struct kgym_error e;
    while (b->out.written < b->items.n) {
        struct kgym_result *r = NULL;
        if (cancelled(b)) {
            return kg_fail(err, KG_E_CANCELLED,
                           "interrupted with %lld of %zu lines judged and kept%s; the same command "
                           "resumes",
                           (long long)b->done, b->items.n,
                           b->spec->gym ? ", the others cancelled at the service" : "");
        }
        if (open_window(b, err) != KG_OK) {
            return err->code;
        }
        if (b->out.written == b->items.n) {
            break;
        }
        if (kgym_next(b->pool, LOOK_EVERY_MS, &r, &e) != KGYM_OK) {
            if (cancelled(b)) {
                continue;
            }
            return kg_pool_error(&e, err);
        }
        enum kg_code code = r ? take(b, r, err) : KG_OK;
        kgym_result_free(r);
        if (code != KG_OK) {
            return code;
        }
    }
    return KG_OK;
}

static enum kg_code open_pool(struct batch *b, struct kg_err *err)
{
    const struct kgym_options options = {.workers = b->spec->jobs,
                                         .public_only = b->spec->public_only,
                                         .trace = b->spec->trace,
                                         .queue_limit = 2 * WINDOW,
                                         .gym = b->spec->gym,
                                         .token_file = b->spec->token_file,
                                         .run = b->name.path[0] ? b->name.name : NULL};
    struct kgym_info info = {.size = sizeof info};
    struct kgym_error e;
    if (kg_pool_open(b->config, &options, &b->pool, err) != KG_OK) {
        return err->code;
    }
    if (!b->spec->opened) {
        return KG_OK;
    }
    if (kgym_info(b->pool, &info, &e) != KGYM_OK) {
        return kg_pool_error(&e, err);
    }
    int workers = b->spec->opened(b->spec->ctx, info.workers, info.cores);
    return workers == info.workers || kgym_resize(b->pool, workers, &e) == KGYM_OK
               ? KG_OK
               : kg_pool_error(&e, err);
}

static enum kg_code prepare(struct batch *b, struct kg_err *err)
{
    b->ready = calloc(b->items.n + 1, sizeof *b->ready);
    b->line_of = calloc(b->items.n + 1, sizeof *b->line_of);
    b->bytes = calloc(b->items.n + 1, sizeof *b->bytes);
    if (!b->ready || !b->line_of || !b->bytes) {
        return kg_fail(err, KG_E_LIMIT, "no memory for %zu lines", b->items.n);
    }
    bool anew = !kg_file_exists(b->spec->out);
    if (kg_batch_resume(&b->items, b->config, b->spec, b->ready, &b->out, &b->ahead, err) !=
        KG_OK) {
        return err->code;
    }
    return b->spec->gym && b->out.end >= 0 ? kg_batch_name_take(&b->name, b->spec->out, anew, err)
                                           : KG_OK;
}

static enum kg_code close_all(struct batch *b, enum kg_code code, struct kg_err *err)
{
    kgym_close(b->pool);
    if (code == KG_OK) {
        kg_batch_name_drop(&b->name);
    }
    if (b->ready) {
        const struct kg_batch_waiting w = waiting(b);
        kg_batch_ahead_end(&b->ahead, &w);
    }
    for (size_t i = 0; b->ready && i < b->items.n; i++) {
        free(b->ready[i]);
    }
    free(b->ready);
    free(b->line_of);
    free(b->bytes);
    if (b->out.fd >= 0 && close(b->out.fd) != 0 && code == KG_OK) {
        code = kg_fail(err, KG_E_IO, "%s: cannot write: %s", b->spec->out, strerror(errno));
    }
    kg_items_deinit(&b->items);
    return code;
}

enum kg_code kg_batch_run(const struct kg_config *config, const struct kg_batch_spec *spec,
                          struct kg_batch_result *out, struct kg_err *err)
{
    struct batch b = {
        .config = config, .spec = spec, .result = out, .out = {.fd = -1}, .ahead = {.fd = -1}};
    memset(out, 0, sizeof *out);
    if (kg_items_load(spec->in, &b.items, err) != KG_OK) {
        return err->code;
    }
    out->lines = (int64_t)b.items.n;
    enum kg_code code = prepare(&b, err);
    for (size_t i = 0; code == KG_OK && i < b.out.written; i++) {
        const struct kg_batch_line line = {.id = b.items.item[i].id, .ok = b.items.item[i].kept_ok};
        count(&b, &line);
        out->resumed++;
    }
    b.next = b.out.written;
    if (code == KG_OK && b.out.written < b.items.n) {
        code = open_pool(&b, err) == KG_OK ? run(&b, err) : err->code;
    }
    return close_all(&b, code, err);
}
