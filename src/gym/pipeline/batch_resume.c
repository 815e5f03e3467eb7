#include "gym/pipeline/batch_resume.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/pipeline/paths.h"
#include "gym/problem/problem.h"

static enum kg_code input_hash(const struct kg_items *items, size_t i,
                               const struct kg_config *config, const struct kg_paths *paths,
                               char out[KG_SHA256_HEX], struct kg_err *err)
{
    struct kg_item_task t;
    struct kg_problem *p = NULL;
    char path[1024];
    enum kg_code code = kg_item_open(items, i, &t, err);
    if (code == KG_OK) {
        code =
            kg_problem_find(t.task.problem, paths->suites, paths->nsuites, path, sizeof path, err);
    }
    if (code == KG_OK) {
        code = kg_problem_load(path, &p, err);
    }
    if (code == KG_OK) {
        kg_eval_input_sha256(config, p->source, p->source_len, t.task.text, t.task.len, out);
    }
    kg_problem_destroy(p);
    kg_item_close(&t);
    return code;
}

static int compare_ids(const void *a, const void *b)
{
    const struct kg_item *x = a, *y = b;
    return strcmp(x->id, y->id);
}

/* One complete line of the old output: whose is it, and does it still hold? */
static struct kg_item *holds(struct kg_items *items, void *const *tree,
                             const struct kg_config *config, const struct kg_paths *paths,
                             const char *line, size_t len)
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
    void *node = id && hash ? tfind(&key, tree, compare_ids) : NULL;
    if (node && json_is_null(json_object_get(j, "error"))) {
        struct kg_item *it = *(struct kg_item **)node;
        char now[KG_SHA256_HEX];
        if (input_hash(items, (size_t)(it - items->item), config, paths, now, &ignored) == KG_OK &&
            strcmp(now, hash) == 0) {
            found = it;
        }
    }
    json_decref(j);
    return found;
}

static size_t keep_lines(struct kg_items *items, const struct kg_config *config,
                         const struct kg_paths *paths, const struct kg_buf *old, size_t *prefix)
{
    void *tree = NULL;
    size_t end = 0;
    for (size_t i = 0; i < items->n; i++) {
        tsearch(&items->item[i], &tree, compare_ids);
    }
    *prefix = 0;
    for (size_t at = 0; at < old->len;) {
        const char *nl = memchr(old->data + at, '\n', old->len - at);
        if (!nl) {
            break;
        }
        size_t len = (size_t)(nl - (old->data + at));
        struct kg_item *it = holds(items, &tree, config, paths, old->data + at, len);
        if (it && !it->kept) {
            it->kept = strndup(old->data + at, len);
            if (it == &items->item[*prefix] && end == at) {
                ++*prefix;
                end = at + len + 1;
            }
        }
        at += len + 1;
    }
    for (size_t i = 0; i < items->n; i++) {
        tdelete(&items->item[i], &tree, compare_ids);
    }
    return end;
}

enum kg_code kg_batch_resume(struct kg_items *items, const struct kg_config *config,
                             const char *out, size_t *written, int *fd, struct kg_err *err)
{
    struct kg_paths paths;
    struct kg_buf old;
    size_t end = 0;
    *written = 0;
    if (kg_paths_find(config->suites, &paths, err) != KG_OK) {
        return err->code;
    }
    kg_buf_init(&old, KG_BATCH_MAX_BYTES);
    if (kg_file_exists(out)) {
        if (kg_file_read(out, &old, err) != KG_OK) {
            kg_buf_deinit(&old);
            return err->code;
        }
        end = keep_lines(items, config, &paths, &old, written);
    }
    kg_buf_deinit(&old);
    *fd = open(out, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (*fd < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot write: %s", out, strerror(errno));
    }
    if (ftruncate(*fd, (off_t)end) != 0 || lseek(*fd, (off_t)end, SEEK_SET) < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot resume: %s", out, strerror(errno));
    }
    return KG_OK;
}
