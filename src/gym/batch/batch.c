#include "gym/batch/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/ulid.h"
#include "gym/batch/batch_choose.h"
#include "gym/batch/batch_items.h"
#include "gym/batch/batch_resume.h"
#include "gym/batch/batch_worker.h"
#include "gym/sandbox/sandbox.h"

#define MAX_JOBS 64
#define WINDOW   1024 /* lines that may be finished before the oldest unfinished one */

struct batch {
    const struct kg_config *config;
    const struct kg_batch_spec *spec;
    struct kg_batch_result *result;
    struct kg_items items;
    struct kg_batch_work work; /* what workers are made from: of the above */
    struct kg_batch_pace pace;
    char **ready;    /* finished records, not written yet */
    uint8_t *losses; /* workers that died over a line */
    size_t first;    /* no line before it is left to take */
    size_t end;      /* of the window; lines before it that were kept are finished */
    struct kg_batch_out out;
    struct kg_batch_ahead ahead;
    int64_t done;
    struct kg_batch_worker worker[MAX_JOBS];
    int jobs, cpus[MAX_JOBS], ncpus;
};

int kg_batch_cpus(int *out, int cap)
{
    cpu_set_t set;
    int n = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 0;
    }
    for (int c = CPU_SETSIZE - 1; c >= 0 && n < cap; c--) {
        if (CPU_ISSET((unsigned)c, &set)) {
            out[n++] = c;
        }
    }
    return n;
}

static void count(struct batch *b, const char *record)
{
    /* Keys come in the order of docs/record.md; `"error":null` is there exactly when there is no
     * error. */
    if (strstr(record, "\"error\":null") || strstr(record, "\"error\": null")) {
        b->result->verdicts++;
    } else {
        b->result->errors++;
    }
    b->done++;
    if (b->spec->progress) {
        b->spec->progress(b->spec->ctx, b->done, (int64_t)b->items.n, record);
    }
}

/* Write what is ready, in order. What a full disk took of a line is cut off again; so only a killed
 * process can leave a torn line, and resuming cuts that off. */
static enum kg_code flush(struct batch *b, struct kg_err *err)
{
    struct kg_batch_out *out = &b->out;
    while (out->written < b->items.n && b->ready[out->written]) {
        char *rec = b->ready[out->written];
        size_t len = strlen(rec);
        rec[len] = '\n';
        enum kg_code code = kg_file_write_all(out->fd, rec, len + 1, err);
        free(rec);
        b->ready[out->written] = NULL;
        if (code != KG_OK) {
            bool whole = out->end < 0 || ftruncate(out->fd, out->end) == 0;
            return kg_err_prefix(err, "%s%s", b->spec->out, whole ? "" : " (its end is torn)");
        }
        out->written++;
        out->end += out->end >= 0 ? (int64_t)len + 1 : 0;
    }
    return KG_OK;
}

static enum kg_code finish(struct batch *b, size_t line, char *record, struct kg_err *err)
{
    count(b, record);
    b->ready[line] = record; /* strdup'ed with room: the terminator becomes the newline */
    return flush(b, err);
}

static struct kg_batch_waiting waiting(const struct batch *b)
{
    return (struct kg_batch_waiting){&b->items, b->ready, b->out.written};
}

/* By a worker of this run. */
static enum kg_code finish_now(struct batch *b, size_t line, char *record, struct kg_err *err)
{
    enum kg_code code = finish(b, line, record, err);
    if (code == KG_OK && b->ready[line]) {
        const struct kg_batch_waiting w = waiting(b);
        kg_batch_ahead_add(&b->ahead, b->ready[line], &w);
    }
    return code;
}

static char *error_record(const struct batch *b, size_t line)
{
    struct kg_record r;
    struct kg_err e = KG_ERR_INIT;
    struct kg_buf out;
    kg_record_init(&r);
    if (kg_ulid_new(r.id, &e) != KG_OK) {
        r.id[0] = 0;
    }
    kg_fail(&e, KG_E_GYM, "the worker died twice while judging this line");
    r.batch_id = b->items.item[line].id;
    kg_record_error(&r, &e);
    json_t *j = kg_record_json(&r, b->spec->public_only);
    kg_buf_init(&out, 1 << 20);
    kg_json_dump(j, &out);
    json_decref(j);
    kg_record_deinit(&r);
    return kg_buf_detach(&out);
}

/* The window goes on as far as it may. What is kept from an earlier run is finished there. */
static enum kg_code open_window(struct batch *b, struct kg_err *err)
{
    while (b->end < b->items.n && b->end < b->out.written + WINDOW) {
        struct kg_item *it = &b->items.item[b->end++];
        if (it->kept) {
            char *kept = it->kept;
            it->kept = NULL;
            it->taken = true;
            b->result->resumed++;
            if (finish(b, b->end - 1, kept, err) != KG_OK) {
                return err->code;
            }
        }
    }
    while (b->first < b->end && b->items.item[b->first].taken) {
        b->first++;
    }
    return KG_OK;
}

/* So many lines are still to be handed out. */
static bool left(const struct batch *b, int lines)
{
    size_t i = b->first;
    for (; i < b->items.n && lines > 0; i++) {
        lines -= !b->items.item[i].taken && !b->items.item[i].kept;
    }
    return lines <= 0;
}

/* Another will follow it where there is one for each of the others before that; and so on. */
static void hand(struct batch *b, struct kg_batch_worker *w, size_t line)
{
    b->items.item[line].taken = true;
    w->prepared = w->prepared && w->problem == b->items.item[line].problem;
    w->problem = b->items.item[line].problem;
    kg_batch_worker_send(w, (uint32_t)line, left(b, b->jobs) + left(b, 2 * b->jobs));
}

static enum kg_code feed(struct batch *b, struct kg_batch_worker *w, struct kg_err *err)
{
    struct kg_batch_holder others[MAX_JOBS];
    if (open_window(b, err) != KG_OK) {
        return err->code;
    }
    if (!left(b, 1)) {
        kg_batch_worker_ask(w); /* what it holds goes while others are at work */
        return KG_OK;
    }
    for (int i = 0; i < b->jobs; i++) {
        const struct kg_batch_worker *o = &b->worker[i];
        others[i] = (struct kg_batch_holder){o == w ? -1 : o->problem, o->prepared};
    }
    size_t line = kg_batch_choose(b->items.item, b->first, b->end, w->problem, others, b->jobs,
                                  kg_batch_pace_lead(&b->pace));
    if (line < b->end) {
        hand(b, w, line);
    }
    return KG_OK;
}

static enum kg_code replace(struct batch *b, struct kg_batch_worker *w, struct kg_err *err)
{
    int64_t line = w->busy;
    int cpu = w->cpu;
    w->busy = -1;
    kg_batch_worker_ask(w);
    kg_batch_worker_wait(w);
    kg_sandbox_sweep(); /* what it left */
    if (kg_batch_worker_start(w, &b->work, cpu, err) != KG_OK) {
        return err->code;
    }
    if (++b->losses[line] < 2) {
        hand(b, w, (size_t)line);
        return KG_OK;
    }
    char *rec = error_record(b, (size_t)line);
    return finish_now(b, (size_t)line, rec, err);
}

static enum kg_code hear(struct batch *b, struct kg_batch_worker *w, struct kg_err *err)
{
    char *text = NULL;
    size_t line = (size_t)w->busy;
    switch (kg_batch_worker_read(w, &text)) {
    case KG_GOT_RECORD:
        kg_batch_pace_add(&b->pace, w->prepared, kg_clock_ns() - w->since_ns);
        w->prepared = true;
        return finish_now(b, line, text, err);
    case KG_GOT_REFUSAL: {
        enum kg_code code = kg_cancelled ? KG_OK : kg_fail(err, KG_E_HOST, "%s", text);
        free(text);
        return code;
    }
    case KG_GOT_END:
        return kg_cancelled ? KG_OK : replace(b, w, err);
    default:
        return KG_OK;
    }
}

static enum kg_code turn(struct batch *b, struct kg_err *err)
{
    struct pollfd p[MAX_JOBS];
    for (int i = 0; i < b->jobs; i++) {
        struct kg_batch_worker *w = &b->worker[i];
        if (w->busy < 0 && feed(b, w, err) != KG_OK) {
            return err->code;
        }
        p[i] = (struct pollfd){.fd = w->busy >= 0 ? w->from : -1, .events = POLLIN};
    }
    if (b->out.written == b->items.n || poll(p, (nfds_t)b->jobs, 500) <= 0) {
        return KG_OK;
    }
    for (int i = 0; i < b->jobs; i++) {
        struct kg_batch_worker *w = &b->worker[i];
        if (p[i].revents && hear(b, w, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

static enum kg_code run(struct batch *b, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    for (int i = 0; i < b->jobs && code == KG_OK; i++) {
        code = kg_batch_worker_start(&b->worker[i], &b->work,
                                     b->cpus[i % (b->ncpus > 0 ? b->ncpus : 1)], err);
    }
    while (code == KG_OK && b->out.written < b->items.n) {
        code = kg_cancelled
                   ? kg_fail(err, KG_E_CANCELLED,
                             "interrupted with %zu of %zu lines written; the same command resumes",
                             b->out.written, b->items.n)
                   : turn(b, err);
    }
    for (int i = 0; i < b->jobs; i++) {
        kg_batch_worker_ask(&b->worker[i]);
    }
    for (int i = 0; i < b->jobs; i++) {
        kg_batch_worker_wait(&b->worker[i]);
    }
    if (code != KG_OK) {
        kg_sandbox_sweep(); /* what a worker left that did not go in time */
    }
    return code;
}

static enum kg_code prepare(struct batch *b, struct kg_err *err)
{
    b->ncpus = kg_batch_cpus(b->cpus, MAX_JOBS);
    b->jobs = b->spec->jobs < 1 ? 1 : b->spec->jobs > MAX_JOBS ? MAX_JOBS : b->spec->jobs;
    if (b->ncpus < 1) {
        return kg_fail(err, KG_E_HOST, "no CPU to run on");
    }
    b->ready = calloc(b->items.n + 1, sizeof *b->ready);
    b->losses = calloc(b->items.n + 1, 1);
    struct kg_common *common =
        mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    b->work =
        (struct kg_batch_work){b->config, b->spec, &b->items, common == MAP_FAILED ? NULL : common};
    if (!b->ready || !b->losses || common == MAP_FAILED) {
        return kg_fail(err, KG_E_LIMIT, "no memory for %zu lines", b->items.n);
    }
    return kg_batch_resume(&b->items, b->config, b->spec, b->ready, &b->out, &b->ahead, err);
}

enum kg_code kg_batch_run(const struct kg_config *config, const struct kg_batch_spec *spec,
                          struct kg_batch_result *out, struct kg_err *err)
{
    struct batch b = {
        .config = config, .spec = spec, .result = out, .out = {.fd = -1}, .ahead = {.fd = -1}};
    memset(out, 0, sizeof *out);
    signal(SIGPIPE, SIG_IGN);
    if (kg_items_load(spec->in, &b.items, err) != KG_OK) {
        return err->code;
    }
    out->lines = (int64_t)b.items.n;
    enum kg_code code = prepare(&b, err);
    for (size_t i = 0; code == KG_OK && i < b.out.written; i++) {
        count(&b, b.items.item[i].kept);
        out->resumed++;
    }
    b.first = b.end = b.out.written;
    if (code == KG_OK && b.out.written < b.items.n) {
        code = run(&b, err);
    }
    if (b.ready) {
        const struct kg_batch_waiting w = waiting(&b);
        kg_batch_ahead_end(&b.ahead, &w);
    }
    for (size_t i = 0; b.ready && i < b.items.n; i++) {
        free(b.ready[i]);
    }
    free(b.ready);
    free(b.losses);
    if (b.work.common) {
        munmap(b.work.common, sizeof *b.work.common);
    }
    if (b.out.fd >= 0 && close(b.out.fd) != 0 && code == KG_OK) {
        code = kg_fail(err, KG_E_IO, "%s: cannot write: %s", spec->out, strerror(errno));
    }
    kg_items_deinit(&b.items);
    return code;
}
