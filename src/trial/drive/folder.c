/* The files of a run's folder: lock, run.json, replies, records, trajectories. */
#include "trial/drive/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "trial/drive/lines.h"
#include "trial/drive/run_file.h"

struct tr_folder {
    char path[PATH_MAX - 64];
    int lock;
    struct tr_lines *replies, *records, *trajectories, *refused, *full;
    struct tr_totals totals;
    char model[128];
};

static const char *inside(const struct tr_folder *f, const char *name, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/%s", f->path, name);
    return out;
}

/* --- opening --- */

/* What an opening that was broken off may have left counts as nothing. */
static enum kg_code check_empty(const struct tr_folder *f, struct kg_err *err)
{
    DIR *dir = opendir(f->path);
    if (dir == NULL) {
        return kg_fail(err, KG_E_IO, "%s: cannot read: %s", f->path, strerror(errno));
    }
    enum kg_code code = KG_OK;
    for (struct dirent *e; code == KG_OK && (e = readdir(dir)) != NULL;) {
        bool ours = e->d_name[0] == '.' || strcmp(e->d_name, "lock") == 0 ||
                    strncmp(e->d_name, "run.json.tmp.", 13) == 0;
        if (!ours) {
            code = kg_fail(err, KG_E_USAGE,
                           "%s: not the folder of a run: it holds `%.100s` and no run.json",
                           f->path, e->d_name);
        }
    }
    closedir(dir);
    return code;
}

static enum kg_code take_lock(struct tr_folder *f, struct kg_err *err)
{
    char path[PATH_MAX], pid[24] = "";
    f->lock = open(inside(f, "lock", path), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (f->lock < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot open: %s", path, strerror(errno));
    }
    if (flock(f->lock, LOCK_EX | LOCK_NB) == 0) {
        int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
        /* Only a message reads it. */
        bool told = ftruncate(f->lock, 0) == 0 && pwrite(f->lock, pid, (size_t)n, 0) == n;
        (void)told;
        return KG_OK;
    }
    if (errno != EWOULDBLOCK) {
        return kg_fail(err, KG_E_IO, "%s: cannot lock: %s", path, strerror(errno));
    }
    ssize_t n = pread(f->lock, pid, sizeof pid - 1, 0);
    pid[n > 0 ? strspn(pid, "0123456789") : 0] = '\0';
    return kg_fail(err, KG_E_USAGE,
                   "%s: another process%s%s writes this run: wait for its end, or name another "
                   "folder",
                   f->path, pid[0] != '\0' ? " with the id " : "", pid);
}

int64_t tr_folder_tokens(const json_t *line, const char *member)
{
    json_int_t n = json_integer_value(json_object_get(line, member));
    return n > 0 && n <= TR_TOKENS_MOST ? n : 0;
}

static void count(void *user, const json_t *line)
{
    struct tr_folder *f = user;
    const char *model = json_string_value(json_object_get(line, "model"));
    f->totals.replies++;
    f->totals.tokens_in += tr_folder_tokens(line, "tokens_in");
    f->totals.tokens_out += tr_folder_tokens(line, "tokens_out");
    f->totals.seconds += json_number_value(json_object_get(line, "seconds"));
    if (f->model[0] == '\0' && model != NULL) {
        snprintf(f->model, sizeof f->model, "%s", model);
    }
}

static enum kg_code open_files(struct tr_folder *f, const json_t *run, const char *const *may_grow,
                               struct kg_err *err)
{
    char path[PATH_MAX];
    if (kg_file_mkdirs(f->path, 0777, err) != KG_OK || take_lock(f, err) != KG_OK) {
        return err->code;
    }
    inside(f, "run.json", path);
    enum kg_code code = kg_file_exists(path) ? KG_OK : check_empty(f, err);
    code = code == KG_OK ? tr_run_file(path, run, may_grow, err) : code;
    code = code == KG_OK
               ? tr_lines_open(inside(f, "replies.jsonl", path), "key", count, f, &f->replies, err)
               : code;
    code = code == KG_OK ? tr_lines_open(inside(f, "records.jsonl", path), "batch_id", NULL, NULL,
                                         &f->records, err)
                         : code;
    return code == KG_OK ? tr_lines_open(inside(f, "trajectories.jsonl", path), "id", NULL, NULL,
                                         &f->trajectories, err)
                         : code;
}

enum kg_code tr_folder_id(const char *path, char out[KG_ULID_LEN], struct kg_err *err)
{
    char file[PATH_MAX];
    snprintf(file, sizeof file, "%.*s/run.json", PATH_MAX - 64, path);
    return tr_run_file_id(file, out, err);
}

enum kg_code tr_folder_open(const char *path, const json_t *run, const char *const *may_grow,
                            struct tr_folder **out, struct kg_err *err)
{
    struct tr_folder *f = calloc(1, sizeof *f);
    *out = NULL;
    if (f == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", path);
    }
    f->lock = -1;
    enum kg_code code = KG_OK;
    if ((size_t)snprintf(f->path, sizeof f->path, "%s", path) >= sizeof f->path) {
        code = kg_fail(err, KG_E_USAGE, "%.100s...: the path is too long", path);
    }
    code = code == KG_OK ? open_files(f, run, may_grow, err) : code;
    if (code != KG_OK) {
        tr_folder_close(f);
        return code;
    }
    *out = f;
    return KG_OK;
}

void tr_folder_close(struct tr_folder *f)
{
    if (f == NULL) {
        return;
    }
    tr_lines_close(f->replies);
    tr_lines_close(f->records);
    tr_lines_close(f->trajectories);
    tr_lines_close(f->refused);
    tr_lines_close(f->full);
    if (f->lock >= 0) {
        close(f->lock);
    }
    free(f);
}

/* --- reading --- */

enum kg_code tr_folder_reply(struct tr_folder *f, const char *key, json_t **out, struct kg_err *err)
{
    struct kg_buf text;
    bool found = false;
    *out = NULL;
    kg_buf_init(&text, TR_LINE_BYTES);
    enum kg_code code = tr_lines_read(f->replies, key, &text, &found, err);
    if (code == KG_OK && found) {
        code = kg_json_parse(text.data, text.len, "replies.jsonl", out, err);
    }
    kg_buf_deinit(&text);
    return code;
}

bool tr_folder_has_reply(const struct tr_folder *f, const char *key)
{
    return tr_lines_has(f->replies, key);
}

enum kg_code tr_folder_record(struct tr_folder *f, const char *key, char **out, size_t *len,
                              struct kg_err *err)
{
    struct kg_buf text;
    bool found = false;
    *out = NULL;
    *len = 0;
    kg_buf_init(&text, TR_LINE_BYTES);
    enum kg_code code = tr_lines_read(f->records, key, &text, &found, err);
    if (code == KG_OK && found) {
        *len = text.len;
        *out = kg_buf_detach(&text);
        code = *out != NULL ? KG_OK
                            : kg_fail_memory(err, KG_E_HOST, "%s: no memory for a record", f->path);
    }
    kg_buf_deinit(&text);
    return code;
}

/* --- writing --- */

static json_t *reply_line(const char *key, const struct tr_reply *r)
{
    json_t *line =
        json_pack("{s:s, s:s, s:I, s:I, s:b, s:f, s:i, s:o, s:o?}", "key", key, "finish",
                  tr_finish_name(r->finish), "tokens_in", (json_int_t)r->usage.tokens_in,
                  "tokens_out", (json_int_t)r->usage.tokens_out, "counted", r->usage.counted,
                  "seconds", r->usage.seconds, "tries", r->usage.tries, "model",
                  kg_json_text(r->model, strlen(r->model)), "logprob", kg_json_real(r->logprob));
    json_object_set_new(line, "text", kg_json_text(r->text, r->len));
    json_object_set_new(line, "reasoning",
                        r->reasoning != NULL ? kg_json_text(r->reasoning, r->reasoning_len)
                                             : json_null());
    if (r->ids != NULL) {
        json_t *ids = json_array();
        for (int i = 0; i < r->nids; i++) {
            json_array_append_new(ids, json_integer(r->ids[i]));
        }
        json_object_set_new(line, "ids", ids);
    }
    return line;
}

enum kg_code tr_folder_put_reply(struct tr_folder *f, const char *key, const struct tr_reply *r,
                                 struct kg_err *err)
{
    json_t *line = reply_line(key, r);
    enum kg_code code = tr_lines_append_json(f->replies, key, line, err);
    if (code == KG_OK) {
        count(f, line);
    }
    json_decref(line);
    return code;
}

enum kg_code tr_folder_put_refused(struct tr_folder *f, const char *key, const struct tr_reply *r,
                                   const char *why, struct kg_err *err)
{
    char path[PATH_MAX];
    if (f->refused == NULL && tr_lines_open(inside(f, "refused.jsonl", path), NULL, NULL, NULL,
                                            &f->refused, err) != KG_OK) {
        return err->code;
    }
    json_t *line = reply_line(key, r);
    json_object_set_new(line, "why", kg_json_text(why, strlen(why)));
    enum kg_code code = tr_lines_append_json(f->refused, NULL, line, err);
    json_decref(line);
    return code;
}

enum kg_code tr_folder_put_record(struct tr_folder *f, const char *key, const char *record,
                                  size_t len, char **stored, size_t *stored_len, struct kg_err *err)
{
    json_t *line = NULL;
    struct kg_buf text;
    if (kg_json_parse(record, len, key, &line, err) != KG_OK) {
        return err->code;
    }
    json_object_set_new(line, "batch_id", json_string(key));
    kg_buf_init(&text, TR_LINE_BYTES);
    kg_json_dump(line, &text);
    json_decref(line);
    enum kg_code code = tr_lines_append(f->records, key, text.data, text.len, err);
    if (code == KG_OK && stored != NULL) {
        *stored_len = text.len;
        *stored = kg_buf_detach(&text);
        code = *stored != NULL ? KG_OK
                               : kg_fail_memory(err, KG_E_HOST, "%s: no memory for a record", key);
    }
    kg_buf_deinit(&text);
    return code;
}

enum kg_code tr_folder_put_full(struct tr_folder *f, const char *id, uint32_t turn, const char *why,
                                struct kg_err *err)
{
    char path[PATH_MAX];
    if (f->full == NULL &&
        tr_lines_open(inside(f, "full.jsonl", path), "id", NULL, NULL, &f->full, err) != KG_OK) {
        return err->code;
    }
    if (tr_lines_has(f->full, id)) {
        return KG_OK;
    }
    json_t *line = json_pack("{s:s, s:I, s:o}", "id", id, "turn", (json_int_t)turn, "why",
                             kg_json_text(why, strlen(why)));
    enum kg_code code = tr_lines_append_json(f->full, id, line, err);
    json_decref(line);
    return code;
}

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
    const char *x = json_string_value(json_object_get(a, key));
    const char *y = json_string_value(json_object_get(b, key));
    return strcmp(x != NULL ? x : "", y != NULL ? y : "") == 0;
}

/* Both end alike after as many turns, and each turn has the same verdict: one without any may get
 * its own later. What else differs is how they came about: whose evaluation was shared depends on
 * what was under way. */
static bool same_talk(const json_t *a, const json_t *b)
{
    const json_t *x = json_object_get(a, "turns"), *y = json_object_get(b, "turns");
    bool same = same_text(a, b, "end") && json_array_size(x) == json_array_size(y);
    for (size_t i = 0; same && i < json_array_size(x); i++) {
        same = same_text(json_array_get(x, i), json_array_get(y, i), "verdict");
    }
    return same;
}

enum kg_code tr_folder_put_trajectory(struct tr_folder *f, const json_t *line, struct kg_err *err)
{
    const char *id = json_string_value(json_object_get(line, "id"));
    struct kg_buf text;
    json_t *old = NULL;
    bool found = false;
    KG_ASSERT(id != NULL);
    kg_buf_init(&text, TR_LINE_BYTES);
    enum kg_code code = tr_lines_read(f->trajectories, id, &text, &found, err);
    if (code == KG_OK && found) {
        code = kg_json_parse(text.data, text.len, "trajectories.jsonl", &old, err);
    }
    kg_buf_deinit(&text);
    if (code == KG_OK && (old == NULL || !same_talk(old, line))) {
        code = tr_lines_append_json(f->trajectories, id, line, err);
    }
    json_decref(old);
    return code;
}

enum kg_code tr_folder_sync(struct tr_folder *f, bool all, struct kg_err *err)
{
    if (tr_lines_sync(f->replies, err) != KG_OK ||
        (f->refused != NULL && tr_lines_sync(f->refused, err) != KG_OK)) {
        return err->code;
    }
    return all && (tr_lines_sync(f->records, err) != KG_OK ||
                   tr_lines_sync(f->trajectories, err) != KG_OK)
               ? err->code
               : KG_OK;
}

enum kg_code tr_folder_write(struct tr_folder *f, const char *name, const char *text, size_t len,
                             struct kg_err *err)
{
    char path[PATH_MAX];
    return kg_file_write_atomic(inside(f, name, path), text, len, err);
}

const char *tr_folder_path(const struct tr_folder *f)
{
    return f->path;
}

const char *tr_folder_model(const struct tr_folder *f)
{
    return f->model;
}

struct tr_totals tr_folder_totals(const struct tr_folder *f)
{
    return f->totals;
}
