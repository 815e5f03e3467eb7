/* Reads the input lines of a batch, checks all of them, and opens one as a task. */
#include "gym/batch/batch_items.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "gym/eval/executor.h"
#include "gym/reply/extract.h"

static const char *const text_keys[] = {"reply", "reply_file", "source", "source_file"};
#define NTEXT      (sizeof text_keys / sizeof *text_keys)
#define PATH_BYTES sizeof((struct kg_item_task *)0)->problem

static enum kg_code bad(const struct kg_items *items, int line, struct kg_err *err,
                        const char *what)
{
    return kg_fail(err, KG_E_INPUT, "%s:%d: %s", items->path, line, what);
}

static bool known_key(const char *key)
{
    bool known = strcmp(key, "id") == 0 || strcmp(key, "problem") == 0;
    for (size_t i = 0; i < NTEXT; i++) {
        known = known || strcmp(key, text_keys[i]) == 0;
    }
    return known;
}

/* A string that may be a C string, or NULL. */
static const char *plain_text(const json_t *j, const char *key, size_t most)
{
    const json_t *v = json_object_get(j, key);
    const char *s = json_string_value(v);
    return s && *s && strlen(s) == json_string_length(v) && strlen(s) <= most ? s : NULL;
}

static enum kg_code check_line(struct kg_items *items, struct kg_item *it, const json_t *j,
                               struct kg_err *err)
{
    const char *key;
    json_t *v;
    int texts = 0;
    if (!json_is_object(j)) {
        return bad(items, it->line, err, "a line is one JSON object {id, problem, reply}");
    }
    json_object_foreach((json_t *)(uintptr_t)j, key, v)
    {
        if (!known_key(key)) {
            return kg_fail(err, KG_E_INPUT,
                           "%s:%d: unknown key `%.60s` (a line has id, problem and one of "
                           "reply, reply_file, source, source_file)",
                           items->path, it->line, key);
        }
        if (!json_is_string(v)) {
            return kg_fail(err, KG_E_INPUT, "%s:%d: %.60s: a string is needed", items->path,
                           it->line, key);
        }
    }
    for (size_t i = 0; i < NTEXT; i++) {
        texts += json_object_get(j, text_keys[i]) != NULL;
    }
    const char *id = plain_text(j, "id", 200);
    if (!id) {
        return bad(items, it->line, err, "id: a string of 1 to 200 bytes is needed");
    }
    if (!plain_text(j, "problem", PATH_BYTES - 1)) {
        return bad(items, it->line, err, "problem: a name or a path is needed");
    }
    if (texts != 1) {
        return bad(items, it->line, err,
                   "exactly one of reply, reply_file, source, source_file is needed");
    }
    it->id = strdup(id);
    return it->id ? KG_OK : kg_fail(err, KG_E_LIMIT, "%s: no memory", items->path);
}

static int by_id(const void *a, const void *b)
{
    const struct kg_item *const *x = a, *const *y = b;
    int c = strcmp((*x)->id, (*y)->id);
    return c ? c : (*x)->line - (*y)->line;
}

static enum kg_code check_unique(struct kg_items *items, struct kg_err *err)
{
    const struct kg_item **sorted = malloc((items->n + 1) * sizeof *sorted);
    if (!sorted) {
        return kg_fail(err, KG_E_LIMIT, "%s: no memory", items->path);
    }
    for (size_t i = 0; i < items->n; i++) {
        sorted[i] = &items->item[i];
    }
    qsort(sorted, items->n, sizeof *sorted, by_id);
    enum kg_code code = KG_OK;
    for (size_t i = 1; i < items->n && code == KG_OK; i++) {
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) == 0) {
            code = kg_fail(err, KG_E_INPUT, "%s:%d: id `%.100s` is that of line %d already",
                           items->path, sorted[i]->line, sorted[i]->id, sorted[i - 1]->line);
        }
    }
    free(sorted);
    return code;
}

static enum kg_code add_line(struct kg_items *items, size_t at, size_t len, int line, size_t *cap,
                             struct kg_err *err)
{
    if (items->n == *cap) {
        size_t more = *cap ? *cap * 2 : 64;
        struct kg_item *grown = realloc(items->item, more * sizeof *grown);
        if (!grown) {
            return kg_fail(err, KG_E_LIMIT, "%s: no memory for %zu lines", items->path, more);
        }
        items->item = grown;
        *cap = more;
    }
    struct kg_item *it = &items->item[items->n++];
    *it = (struct kg_item){.at = at, .len = len, .line = line};
    char source[600];
    json_t *j;
    snprintf(source, sizeof source, "%s:%d", items->path, line);
    if (kg_json_parse_line(items->text.data + at, len, source, &j, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = check_line(items, it, j, err);
    json_decref(j);
    return code;
}

static bool blank(const char *s, size_t n)
{
    return strspn(s, " \t\r") >= n; /* the text ends in NUL, which stops this */
}

enum kg_code kg_items_load(const char *path, struct kg_items *out, struct kg_err *err)
{
    *out = (struct kg_items){.path = path};
    kg_buf_init(&out->text, KG_BATCH_MAX_BYTES);
    const char *slash = strrchr(path, '/');
    int len = snprintf(out->folder, sizeof out->folder, "%.*s", slash ? (int)(slash - path) + 1 : 2,
                       slash ? path : "./");
    enum kg_code code = (size_t)len < sizeof out->folder
                            ? kg_file_read(path, &out->text, err)
                            : kg_fail(err, KG_E_INPUT, "%.200s...: the path is too long", path);
    size_t cap = 0;
    int line = 1;
    for (size_t at = 0; code == KG_OK && at < out->text.len; line++) {
        const char *s = out->text.data + at;
        const char *nl = memchr(s, '\n', out->text.len - at);
        size_t n = nl ? (size_t)(nl - s) : out->text.len - at;
        if (!blank(s, n)) {
            code = add_line(out, at, n, line, &cap, err);
        }
        at += n + 1;
    }
    if (code == KG_OK) {
        code = check_unique(out, err);
    }
    if (code != KG_OK) {
        kg_items_deinit(out);
    }
    return code;
}

void kg_items_deinit(struct kg_items *items)
{
    for (size_t i = 0; i < items->n; i++) {
        free(items->item[i].id);
        free(items->item[i].kept);
    }
    free(items->item);
    kg_buf_deinit(&items->text);
    items->item = NULL;
    items->n = 0;
}

static enum kg_code in_folder(const struct kg_items *items, const char *path, char *out, size_t cap,
                              struct kg_err *err)
{
    int n = snprintf(out, cap, "%s%s", *path == '/' ? "" : items->folder, path);
    return (size_t)n < cap ? KG_OK
                           : kg_fail(err, KG_E_INPUT, "%.200s...: the path is too long", path);
}

/* A word with a slash is a path. Another one that ends like a problem's file is a path where there
 * is such a file beside the batch; else it may be a file's name in the suites. */
static bool is_path(const struct kg_items *items, const char *problem)
{
    struct kg_err ignored = KG_ERR_INIT;
    char file[PATH_BYTES];
    if (strchr(problem, '/') || !kg_executor_of_path(problem)) {
        return strchr(problem, '/') != NULL;
    }
    if (in_folder(items, problem, file, sizeof file, &ignored) != KG_OK) {
        return true;
    }
    char *base = strrchr(file, '/'), *row = strrchr(base ? base : file, '#'); /* FILE#LINE */
    if (row) {
        *row = 0;
    }
    return kg_file_exists(file);
}

static enum kg_code take_text(const struct kg_items *items, const char *key, const json_t *v,
                              struct kg_item_task *out, struct kg_err *err)
{
    struct kg_task *t = &out->task;
    char path[PATH_BYTES];
    t->source = strncmp(key, "source", 6) == 0;
    t->text = json_string_value(v);
    t->len = json_string_length(v);
    if (!strstr(key, "_file")) {
        return KG_OK;
    }
    if (in_folder(items, t->text, path, sizeof path, err) != KG_OK ||
        kg_file_read(path, &out->file, err) != KG_OK) {
        return err->code;
    }
    t->text = out->file.data;
    t->len = out->file.len;
    return KG_OK;
}

enum kg_code kg_item_open(const struct kg_items *items, size_t i, struct kg_item_task *out,
                          struct kg_err *err)
{
    const struct kg_item *it = &items->item[i];
    char source[600];
    memset(out, 0, sizeof *out);
    kg_buf_init(&out->file, 64u << 20);
    snprintf(source, sizeof source, "%s:%d", items->path, it->line);
    if (kg_json_parse_line(items->text.data + it->at, it->len, source, &out->line, err) != KG_OK) {
        return err->code;
    }
    const char *problem = json_string_value(json_object_get(out->line, "problem"));
    out->task =
        (struct kg_task){.problem = out->problem, .batch_id = it->id, .stop_after = KG_ST_PROFILE};
    enum kg_code code = KG_OK;
    if (is_path(items, problem)) {
        code = in_folder(items, problem, out->problem, sizeof out->problem, err);
    } else {
        snprintf(out->problem, sizeof out->problem, "%s", problem);
    }
    for (size_t k = 0; k < NTEXT && code == KG_OK; k++) {
        const json_t *v = json_object_get(out->line, text_keys[k]);
        code = v ? take_text(items, text_keys[k], v, out, err) : KG_OK;
    }
    return code == KG_OK ? KG_OK : kg_err_prefix(err, "%s", source);
}

void kg_item_close(struct kg_item_task *t)
{
    json_decref(t->line);
    kg_buf_deinit(&t->file);
}
