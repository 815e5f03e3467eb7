/* The index is a small JSON file; each file that it names is opened once. */
#include "lm/io/shards.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

#define INDEX_NAME      "model.safetensors.index.json"
#define MAX_INDEX_BYTES (64u << 20)

struct lm_shards {
    char *dir;
    struct lm_st *file[LM_SHARDS_MAX];
    char *name[LM_SHARDS_MAX]; /* as the index has it */
    size_t n;
};

/* A file of the folder itself: an index from elsewhere must not name others of this machine. */
static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && strlen(name) < 256;
}

/* The number of the open file, opened now if it is not; SIZE_MAX and *err. */
static size_t file_of(struct lm_shards *s, const char *index, const char *name, struct kg_err *err)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->name[i], name) == 0) {
            return i;
        }
    }
    if (!is_plain_name(name) || s->n == LM_SHARDS_MAX) {
        kg_fail(err, KG_E_INPUT,
                "%s: \"%.100s\" is not a file of this folder, or there are more "
                "than %d",
                index, name, LM_SHARDS_MAX);
        return SIZE_MAX;
    }
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    if (lm_st_open(path, &s->file[s->n], err) != KG_OK) {
        kg_err_prefix(err, "%s", index);
        return SIZE_MAX;
    }
    s->name[s->n] = strdup(name);
    if (s->name[s->n] == NULL) {
        lm_st_close(s->file[s->n]);
        kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", index);
        return SIZE_MAX;
    }
    return s->n++;
}

static enum kg_code check_listed(const struct lm_shards *s, const char *index, const json_t *map,
                                 struct kg_err *err)
{
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < lm_st_count(s->file[i]); k++) {
            const char *tensor = lm_st_at(s->file[i], k)->name;
            const char *file = json_string_value(json_object_get(map, tensor));
            if (file == NULL || strcmp(file, s->name[i]) != 0) {
                return kg_fail(err, KG_E_INPUT,
                               "%s: %s holds tensor %.100s, which the index does "
                               "not list there",
                               index, s->name[i], tensor);
            }
        }
    }
    return KG_OK;
}

static enum kg_code open_map(struct lm_shards *s, const char *index, json_t *map,
                             struct kg_err *err)
{
    const char *tensor;
    json_t *value;
    if (!json_is_object(map) || json_object_size(map) == 0) {
        return kg_fail(err, KG_E_INPUT, "%s: no \"weight_map\" with tensors", index);
    }
    json_object_foreach(map, tensor, value)
    {
        if (!json_is_string(value)) {
            return kg_fail(err, KG_E_INPUT, "%s: weight_map: the file of %.100s is not a text",
                           index, tensor);
        }
        size_t i = file_of(s, index, json_string_value(value), err);
        if (i == SIZE_MAX) {
            return err->code;
        }
        if (lm_st_find(s->file[i], tensor) == NULL) {
            return kg_fail(err, KG_E_INPUT, "%s: tensor %.100s is not in %s", index, tensor,
                           s->name[i]);
        }
    }
    return check_listed(s, index, map, err);
}

static enum kg_code open_index(struct lm_shards *s, const char *index, struct kg_err *err)
{
    struct kg_buf text;
    json_t *j = NULL;
    kg_buf_init(&text, MAX_INDEX_BYTES);
    enum kg_code code = kg_file_read(index, &text, err);
    code = code == KG_OK ? kg_json_parse(text.data, text.len, index, &j, err) : code;
    code = code == KG_OK ? open_map(s, index, json_object_get(j, "weight_map"), err) : code;
    json_decref(j);
    kg_buf_deinit(&text);
    return code;
}

static enum kg_code open_dir(struct lm_shards *s, struct kg_err *err)
{
    char one[PATH_MAX], index[PATH_MAX];
    if (strlen(s->dir) > PATH_MAX - 300) {
        return kg_fail(err, KG_E_IO, "%s: path too long", s->dir);
    }
    snprintf(one, sizeof one, "%s/model.safetensors", s->dir);
    snprintf(index, sizeof index, "%s/" INDEX_NAME, s->dir);
    if (kg_file_exists(one)) {
        enum kg_code code = lm_st_open(one, &s->file[0], err);
        s->n = code == KG_OK;
        return code;
    }
    if (!kg_file_exists(index)) {
        return kg_fail(err, KG_E_NOT_FOUND, "%s: has neither model.safetensors nor " INDEX_NAME,
                       s->dir);
    }
    return open_index(s, index, err);
}

enum kg_code lm_shards_open(const char *dir, struct lm_shards **out, struct kg_err *err)
{
    *out = NULL;
    struct lm_shards *s = calloc(1, sizeof *s);
    if (s == NULL || (s->dir = strdup(dir)) == NULL) {
        free(s);
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", dir);
    }
    enum kg_code code = open_dir(s, err);
    if (code != KG_OK) {
        lm_shards_close(s);
        return code;
    }
    *out = s;
    return KG_OK;
}

void lm_shards_close(struct lm_shards *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        lm_st_close(s->file[i]);
        free(s->name[i]);
    }
    free(s->dir);
    free(s);
}

size_t lm_shards_files(const struct lm_shards *s)
{
    return s->n;
}

const struct lm_st *lm_shards_file(const struct lm_shards *s, size_t i)
{
    KG_ASSERT(i < s->n);
    return s->file[i];
}

const struct lm_st_tensor *lm_shards_find(const struct lm_shards *s, const char *name,
                                          const char **file)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct lm_st_tensor *t = lm_st_find(s->file[i], name);
        if (t != NULL) {
            if (file != NULL) {
                *file = lm_st_source(s->file[i]);
            }
            return t;
        }
    }
    return NULL;
}

enum kg_code lm_shards_read_f32(const struct lm_shards *s, const char *name, const int64_t *shape,
                                int rank, float *out, struct kg_err *err)
{
    const char *file = NULL;
    const struct lm_st_tensor *t = lm_shards_find(s, name, &file);
    if (t == NULL) {
        return kg_fail(err, KG_E_NOT_FOUND, "%s: no tensor %.100s among the weights", s->dir, name);
    }
    return lm_st_read_f32(t, file, shape, rank, out, err);
}
