/* Finds the lines of an earlier run that still hold. */
#include "gym/batch/batch_resume.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/eval/executor.h"
#include "gym/eval/findings.h"
#include "gym/problem/problem.h"

static enum kg_code input_hash(const struct kg_items *items, size_t i,
                               const struct kg_config *config, const struct kg_paths *paths,
                               char out[KG_SHA256_HEX], struct kg_err *err)
{
    struct kg_item_task t;
    const struct kg_executor *x;
    struct kg_buf source;
    char path[1024];
    enum kg_code code = kg_item_open(items, i, &t, err);
    kg_buf_init(&source, KG_MAX_SOURCE_BYTES);
    if (code == KG_OK) {
        code = kg_executor_find(paths, t.task.problem, &x, path, sizeof path, err);
    }
    if (code == KG_OK) {
        code = x->read(path, &source, err);
    }
    if (code == KG_OK) {
        kg_eval_input_sha256(config, source.data, source.len, t.task.text, t.task.len,
                             t.task.source, out);
    }
    kg_buf_deinit(&source);
    kg_item_close(&t);
    return code;
}

static int compare_ids(const void *a, const void *b)
{
    const struct kg_item *x = a, *y = b;
    return strcmp(x->id, y->id);
}

struct search {
    struct kg_items *items;
    const struct kg_config *config;
    const struct kg_batch_spec *spec;
    bool anew; /* there was no output: what waited beside one is not of this run */
    struct kg_paths paths;
    void *tree; /* items by id */
};

/* Was it judged as far as this run goes? A failure ends a staged evaluation: nothing is missing
 * after it. */
static bool far_enough(const json_t *record, const char *last)
{
    enum kg_stage stop_after = KG_ST_PROFILE;
    if (last && !kg_stage_parse(last, &stop_after)) {
        return false;
    }
    const json_t *stages = json_object_get(record, "stages");
    for (int s = KG_ST_EXTRACT; s <= (int)stop_after; s++) {
        const char *status =
            json_string_value(json_object_get(json_array_get(stages, (size_t)s), "status"));
        if (!status || strcmp(status, "skip") == 0) {
            return false;
        }
        if (strcmp(status, "fail") == 0) {
            return true;
        }
    }
    return true;
}

/* A problem that was put aside since is asked again, and refused. */
static bool admitted(const struct search *s, const json_t *record)
{
    struct kg_err ignored = KG_ERR_INIT;
    const json_t *problem = json_object_get(record, "problem");
    const char *sha256 = json_string_value(json_object_get(problem, "sha256"));
    const char *device =
        json_string_value(json_object_get(json_object_get(record, "environment"), "device"));
    return !sha256 ||
           kg_findings_admit(s->config, "", sha256, device ? device : "cpu", &ignored) == KG_OK;
}

/* One whole line of the old output: whose is it, and does it still hold? */
static struct kg_item *holds(const struct search *s, const char *line, size_t len)
{
    struct kg_err ignored = KG_ERR_INIT;
    json_t *j = NULL;
    struct kg_item *found = NULL;
    if (kg_json_parse(line, len, "output", &j, &ignored) != KG_OK) {
        return NULL;
    }
    const char *id = json_string_value(json_object_get(j, "batch_id"));
    const char *hash = json_string_value(json_object_get(j, "input_sha256"));
    struct kg_item key = {.id = (char *)(uintptr_t)id};
    void *node = id && hash ? tfind(&key, &s->tree, compare_ids) : NULL;
    bool shows_too_much = s->spec->public_only && json_object_get(j, "private");
    if (node && json_is_null(json_object_get(j, "error")) && !shows_too_much &&
        far_enough(j, s->spec->stop_after)) {
        struct kg_item *it = *(struct kg_item **)node;
        char now[KG_SHA256_HEX];
        size_t i = (size_t)(it - s->items->item);
        if (input_hash(s->items, i, s->config, &s->paths, now, &ignored) == KG_OK &&
            strcmp(now, hash) == 0 && admitted(s, j)) {
            const char *verdict = json_string_value(json_object_get(j, "verdict"));
            found = it;
            it->kept_ok = verdict && strcmp(verdict, "ok") == 0;
        }
    }
    json_decref(j);
    return found;
}

/* A record of the line it is that still holds. Where the output has all before it in order, it
 * stays there; else its text is kept until it is written again. */
static enum kg_code keep(struct kg_items *items, struct kg_item *it, const char *line, size_t len,
                         struct kg_batch_out *out, int64_t at, bool in_output, struct kg_err *err)
{
    size_t i = (size_t)(it - items->item);
    if (i < out->written || it->kept) {
        return KG_OK;
    }
    if (in_output && i == out->written && out->end == at) {
        out->written++;
        out->end = at + (int64_t)len + 1;
        return KG_OK;
    }
    it->kept = strndup(line, len);
    return it->kept ? KG_OK : kg_fail_memory(err, KG_E_HOST, "no memory for earlier records");
}

static enum kg_code check_ours(const char *line, ssize_t len, const char *path, struct kg_err *err)
{
    static const char first[] = "{\"schema\":\"" KG_RECORD_SCHEMA "\"";
    size_t n = (size_t)len < sizeof first - 1 ? (size_t)len : sizeof first - 1;
    if (memcmp(line, first, n) == 0) {
        return KG_OK;
    }
    return kg_fail(err, KG_E_INPUT,
                   "%s: this file is not a batch's output; it is left as it is (name another)",
                   path);
}

/* One line at a time: an output may be larger than memory. */
static enum kg_code read_lines(struct search *s, FILE *f, const char *path, bool in_output,
                               struct kg_batch_out *out, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    for (int64_t at = 0; code == KG_OK && (n = getline(&line, &cap, f)) > 0; at += n) {
        code = at == 0 ? check_ours(line, n, path, err) : KG_OK;
        struct kg_item *it = code == KG_OK && line[n - 1] == '\n' && (in_output || !s->anew)
                                 ? holds(s, line, (size_t)n - 1)
                                 : NULL;
        if (it) {
            code = keep(s->items, it, line, (size_t)n - 1, out, at, in_output, err);
        }
    }
    if (code == KG_OK && !feof(f)) {
        code = kg_fail(err, KG_E_IO, "%s: cannot read: %s", path, strerror(errno));
    }
    free(line);
    return code;
}

static enum kg_code keep_lines(struct search *s, const char *path, bool in_output,
                               struct kg_batch_out *out, struct kg_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!f) {
        kg_fail(err, KG_E_IO, "%s: cannot open: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return KG_E_IO;
    }
    enum kg_code code = read_lines(s, f, path, in_output, out, err);
    fclose(f);
    return code;
}

static enum kg_code open_output(const struct kg_batch_spec *spec, struct kg_batch_out *out,
                                struct kg_err *err)
{
    struct stat st, in;
    *out = (struct kg_batch_out){.fd = open(spec->out, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)};
    if (out->fd < 0 || fstat(out->fd, &st) != 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot write: %s", spec->out, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        out->end = -1;
        return KG_OK;
    }
    if (stat(spec->in, &in) == 0 && in.st_dev == st.st_dev && in.st_ino == st.st_ino) {
        return kg_fail(err, KG_E_USAGE, "%s: input and output are the same file", spec->out);
    }
    if (flock(out->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return kg_fail(err, KG_E_USAGE, "%s: another batch is writing this file", spec->out);
    }
    return KG_OK;
}

/* What waited is safe beside the output before it is cut off there. */
static enum kg_code resume(struct search *s, struct kg_batch_out *out, struct kg_batch_ahead *ahead,
                           char *const *ready, struct kg_err *err)
{
    const char *path = s->spec->out;
    struct kg_items *items = s->items;
    for (size_t i = 0; i < items->n; i++) {
        tsearch(&items->item[i], &s->tree, compare_ids);
    }
    enum kg_code code = keep_lines(s, path, true, out, err);
    code = code == KG_OK ? kg_batch_ahead_init(ahead, path, err) : code;
    if (code == KG_OK && kg_file_exists(ahead->path)) {
        code = keep_lines(s, ahead->path, false, out, err);
    }
    for (size_t i = 0; i < items->n; i++) {
        tdelete(&items->item[i], &s->tree, compare_ids);
    }
    if (code == KG_OK) {
        if (!kg_batch_ahead_renew(ahead, &(struct kg_batch_waiting){items, ready, out->written})) {
            code = kg_fail(err, KG_E_IO,
                           "%s: cannot keep the records of %s meanwhile; nothing was changed",
                           ahead->path, path);
        } else if (ftruncate(out->fd, out->end) != 0 || lseek(out->fd, out->end, SEEK_SET) < 0) {
            code = kg_fail(err, KG_E_IO, "%s: cannot resume: %s", path, strerror(errno));
        }
    }
    return code;
}

enum kg_code kg_batch_resume(struct kg_items *items, const struct kg_config *config,
                             const struct kg_batch_spec *spec, char *const *ready,
                             struct kg_batch_out *out, struct kg_batch_ahead *ahead,
                             struct kg_err *err)
{
    struct search s = {
        .items = items, .config = config, .spec = spec, .anew = !kg_file_exists(spec->out)};
    *out = (struct kg_batch_out){.fd = -1};
    *ahead = (struct kg_batch_ahead){.fd = -1};
    if (kg_paths_find(config->suites, &s.paths, err) != KG_OK ||
        open_output(spec, out, err) != KG_OK) {
        return err->code;
    }
    return out->end < 0 ? KG_OK : resume(&s, out, ahead, ready, err);
}
