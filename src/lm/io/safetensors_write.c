/* The header is made first, because it holds every offset; then the data go out in one pass. */
#include "lm/io/safetensors_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

enum { CHUNK = 16384 }; /* elements converted at a time */

static size_t item_count(const struct lm_st_item *item)
{
    size_t n = 1;
    for (int i = 0; i < item->rank; i++) {
        KG_ASSERT(item->shape[i] >= 0 && !__builtin_mul_overflow(n, (size_t)item->shape[i], &n));
    }
    return n;
}

static uint64_t item_bytes(const struct lm_st_item *item)
{
    uint64_t bytes;
    KG_ASSERT(
        !__builtin_mul_overflow((uint64_t)item_count(item), lm_dtype_bytes(item->dtype), &bytes));
    return bytes;
}

/* The order of types in files that the safetensors library writes, from the last to the first. */
static int place_of(enum lm_dtype t)
{
    static const int place[LM_DTYPE_OTHER] = {
        [LM_BOOL] = 1,    [LM_U8] = 2,   [LM_I8] = 3,   [LM_F8_E5M2] = 4,
        [LM_F8_E4M3] = 5, [LM_I16] = 6,  [LM_F16] = 7,  [LM_BF16] = 8,
        [LM_I32] = 9,     [LM_F32] = 10, [LM_F64] = 11, [LM_I64] = 12,
    };
    return place[t];
}

static int by_type_and_name(const void *a, const void *b)
{
    const struct lm_st_item *x = *(const struct lm_st_item *const *)a;
    const struct lm_st_item *y = *(const struct lm_st_item *const *)b;
    int px = place_of(x->dtype), py = place_of(y->dtype);
    return px != py ? py - px : strcmp(x->name, y->name);
}

/* NULL and *err: a name is twice there, or is no text. */
static json_t *describe(const char *path, const struct lm_st_item *const *items, size_t n,
                        struct kg_err *err)
{
    json_t *all = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const struct lm_st_item *item = items[i];
        json_t *shape = json_array();
        for (int d = 0; d < item->rank; d++) {
            json_array_append_new(shape, json_integer(item->shape[d]));
        }
        uint64_t end = at + item_bytes(item);
        json_t *one = json_pack("{s:s,s:o,s:[I,I]}", "dtype", lm_dtype_name(item->dtype), "shape",
                                shape, "data_offsets", (json_int_t)at, (json_int_t)end);
        at = end;
        bool twice = json_object_get(all, item->name) != NULL;
        if (json_object_set_new(all, item->name, one) != 0 || twice) {
            json_decref(all);
            kg_fail(err, KG_E_INPUT,
                    "%s: cannot write tensor %.100s: its name is there twice or "
                    "is not UTF-8",
                    path, item->name);
            return NULL;
        }
    }
    return all;
}

static enum kg_code write_header(int fd, const char *path, const struct lm_st_item *const *items,
                                 size_t n, struct kg_err *err)
{
    struct kg_buf text;
    unsigned char length[8];
    json_t *all = describe(path, items, n, err);
    if (all == NULL) {
        return err->code;
    }
    kg_buf_init(&text, LM_ST_MAX_HEADER);
    kg_json_dump(all, &text);
    json_decref(all);
    while (text.len % 8 != 0) {
        kg_buf_addc(&text, ' ');
    }
    if (!kg_buf_ok(&text)) {
        kg_buf_deinit(&text);
        return kg_fail(err, KG_E_LIMIT, "%s: a header of more than %u bytes", path,
                       LM_ST_MAX_HEADER);
    }
    for (int i = 0; i < 8; i++) {
        length[i] = (unsigned char)((uint64_t)text.len >> (8 * i));
    }
    enum kg_code code = kg_file_write_all(fd, length, sizeof length, err);
    code = code == KG_OK ? kg_file_write_all(fd, text.data, text.len, err) : code;
    kg_buf_deinit(&text);
    return code == KG_OK ? KG_OK : kg_err_prefix(err, "%s", path);
}

static enum kg_code write_item(int fd, const struct lm_st_item *item, struct kg_err *err)
{
    unsigned char part[CHUNK * 4];
    size_t n = item_count(item), width = lm_dtype_bytes(item->dtype);
    if (!item->from_f32 || item->dtype == LM_F32) {
        return kg_file_write_all(fd, item->data, n * width, err);
    }
    const float *from = item->data;
    for (size_t i = 0; i < n; i += CHUNK) {
        size_t m = n - i < CHUNK ? n - i : CHUNK;
        lm_dtype_from_f32(item->dtype, from + i, part, m);
        enum kg_code code = kg_file_write_all(fd, part, m * width, err);
        if (code != KG_OK) {
            return code;
        }
    }
    return KG_OK;
}

static enum kg_code cannot(struct kg_err *err, const char *path, const char *what)
{
    return kg_fail(err, KG_E_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

static enum kg_code write_sorted(const char *path, const char *temporary,
                                 const struct lm_st_item *const *items, size_t n,
                                 struct kg_err *err)
{
    unlink(temporary); /* left by a process of the same number that was killed */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return cannot(err, path, "create");
    }
    enum kg_code code = write_header(fd, path, items, n, err);
    for (size_t i = 0; code == KG_OK && i < n; i++) {
        code = write_item(fd, items[i], err);
        if (code != KG_OK) {
            kg_err_prefix(err, "%s", path);
        }
    }
    if (code == KG_OK && fsync(fd) != 0) {
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

enum kg_code lm_st_write(const char *path, const struct lm_st_item *items, size_t n,
                         struct kg_err *err)
{
    char temporary[PATH_MAX];
    const struct lm_st_item **sorted = calloc(n + 1, sizeof(const struct lm_st_item *));
    if (sorted == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", path);
    }
    for (size_t i = 0; i < n; i++) {
        KG_ASSERT(items[i].rank >= 0 && items[i].rank <= LM_ST_MAX_RANK &&
                  lm_dtype_bytes(items[i].dtype) > 0 &&
                  (!items[i].from_f32 || lm_dtype_is_written(items[i].dtype)));
        sorted[i] = &items[i];
    }
    qsort(sorted, n, sizeof(const struct lm_st_item *), by_type_and_name);
    int len = snprintf(temporary, sizeof temporary, "%s.tmp.%ld", path, (long)getpid());
    enum kg_code code = len < 0 || (size_t)len >= sizeof temporary
                            ? kg_fail(err, KG_E_IO, "%s: path too long", path)
                            : write_sorted(path, temporary, sorted, n, err);
    free(sorted);
    if (code == KG_OK) {
        kg_file_sync_folder_of(path);
    }
    return code;
}

/* The end of the file that begins with items[from]. */
static size_t shard_end(const struct lm_st_item *items, size_t n, size_t from, uint64_t most)
{
    uint64_t bytes = item_bytes(&items[from]);
    size_t i = from + 1;
    while (i < n && bytes + item_bytes(&items[i]) <= most) {
        bytes += item_bytes(&items[i++]);
    }
    return i;
}

static enum kg_code write_index(const char *path, json_t *map, uint64_t total, struct kg_err *err)
{
    struct kg_buf text;
    json_t *index =
        json_pack("{s:{s:I},s:O}", "metadata", "total_size", (json_int_t)total, "weight_map", map);
    kg_buf_init(&text, LM_ST_MAX_HEADER);
    kg_json_dump_pretty(index, &text);
    kg_buf_addc(&text, '\n');
    json_decref(index);
    enum kg_code code = kg_buf_ok(&text)
                            ? kg_file_write_atomic(path, text.data, text.len, err)
                            : kg_fail(err, KG_E_LIMIT, "%s: an index of more than %u bytes", path,
                                      LM_ST_MAX_HEADER);
    kg_buf_deinit(&text);
    return code;
}

static enum kg_code write_shards(const char *dir, const struct lm_st_item *items, size_t n,
                                 uint64_t most, size_t shards, json_t *map, struct kg_err *err)
{
    char path[PATH_MAX], name[64];
    uint64_t total = 0;
    for (size_t from = 0, k = 1; from < n; k++) {
        size_t end = shard_end(items, n, from, most);
        snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", k, shards);
        snprintf(path, sizeof path, "%s/%s", dir, name);
        enum kg_code code = lm_st_write(path, items + from, end - from, err);
        if (code != KG_OK) {
            return code;
        }
        for (; from < end; from++) {
            total += item_bytes(&items[from]);
            if (json_object_get(map, items[from].name) != NULL) {
                return kg_fail(err, KG_E_INPUT, "%s: cannot write tensor %.100s twice", dir,
                               items[from].name);
            }
            json_object_set_new(map, items[from].name, json_string(name));
        }
    }
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", dir);
    return write_index(path, map, total, err);
}

enum kg_code lm_st_write_model(const char *dir, const struct lm_st_item *items, size_t n,
                               uint64_t shard_bytes, struct kg_err *err)
{
    char one[PATH_MAX], index[PATH_MAX];
    size_t shards = 0;
    if (strlen(dir) > PATH_MAX - 64) {
        return kg_fail(err, KG_E_IO, "%s: path too long", dir);
    }
    snprintf(one, sizeof one, "%s/model.safetensors", dir);
    snprintf(index, sizeof index, "%s/model.safetensors.index.json", dir);
    uint64_t most = shard_bytes == 0 ? UINT64_MAX / 2 : shard_bytes;
    for (size_t from = 0; from < n; shards++) {
        from = shard_end(items, n, from, most);
    }
    if (shards <= 1) {
        enum kg_code code = lm_st_write(one, items, n, err);
        if (code == KG_OK) {
            unlink(index);
        }
        return code;
    }
    json_t *map = json_object();
    enum kg_code code = write_shards(dir, items, n, most, shards, map, err);
    json_decref(map);
    if (code == KG_OK) {
        unlink(one);
    }
    return code;
}
