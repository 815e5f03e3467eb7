/* The header is untrusted: every number is checked before it becomes a pointer. */
#include "lm/io/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"

struct lm_st {
    char *source;
    void *map; /* NULL: the bytes are the caller's */
    size_t map_bytes;
    json_t *header;               /* owns names and metadata */
    struct lm_st_tensor *tensors; /* in the order of the data */
    struct lm_st_tensor **by_name;
    size_t n;
};

const char *lm_st_shape_text(const int64_t *shape, int rank, char *out, size_t cap)
{
    size_t at = 0;
    for (int i = 0; i < rank && at < cap; i++) {
        at += (size_t)snprintf(out + at, cap - at, "%s%lld", i == 0 ? "[" : ", ",
                               (long long)shape[i]);
    }
    if (at < cap) {
        snprintf(out + at, cap - at, "%s", rank == 0 ? "[]" : "]");
    }
    return out;
}

static enum kg_code bad(const struct lm_st *st, const char *tensor, struct kg_err *err,
                        const char *what)
{
    return kg_fail(err, KG_E_INPUT, "%s: tensor %.100s: %s", st->source, tensor, what);
}

static enum kg_code read_shape(const struct lm_st *st, const json_t *shape, struct lm_st_tensor *t,
                               struct kg_err *err)
{
    if (!json_is_array(shape)) {
        return bad(st, t->name, err, "shape is not a list");
    }
    if (json_array_size(shape) > LM_ST_MAX_RANK) {
        return kg_fail(err, KG_E_INPUT, "%s: tensor %.100s: %zu dimensions, at most %d are read",
                       st->source, t->name, json_array_size(shape), LM_ST_MAX_RANK);
    }
    t->rank = (int)json_array_size(shape);
    t->count = 1;
    for (int i = 0; i < t->rank; i++) {
        const json_t *d = json_array_get(shape, (size_t)i);
        if (!json_is_integer(d) || json_integer_value(d) < 0) {
            return bad(st, t->name, err, "a dimension is not a whole number of 0 or more");
        }
        t->shape[i] = json_integer_value(d);
        if (__builtin_mul_overflow(t->count, (size_t)t->shape[i], &t->count)) {
            return bad(st, t->name, err, "shape has more elements than any file");
        }
    }
    return KG_OK;
}

static enum kg_code check_bytes(const struct lm_st *st, const struct lm_st_tensor *t,
                                struct kg_err *err)
{
    size_t want;
    char shape[128];
    if (t->dtype == LM_DTYPE_OTHER) {
        return KG_OK;
    }
    if (__builtin_mul_overflow(t->count, lm_dtype_bytes(t->dtype), &want) || want != t->bytes) {
        return kg_fail(err, KG_E_INPUT, "%s: tensor %.100s: %zu bytes do not hold %s of shape %s",
                       st->source, t->name, t->bytes, t->dtype_name,
                       lm_st_shape_text(t->shape, t->rank, shape, sizeof shape));
    }
    return KG_OK;
}

static enum kg_code read_offsets(const struct lm_st *st, const json_t *offsets,
                                 const unsigned char *data, size_t data_bytes,
                                 struct lm_st_tensor *t, struct kg_err *err)
{
    const json_t *b = json_array_get(offsets, 0), *e = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(b) || !json_is_integer(e)) {
        return bad(st, t->name, err, "data_offsets is not a list of two whole numbers");
    }
    json_int_t begin = json_integer_value(b), end = json_integer_value(e);
    if (begin < 0 || end < begin || (uint64_t)end > data_bytes) {
        return kg_fail(err, KG_E_INPUT,
                       "%s: tensor %.100s: data_offsets [%lld, %lld] are not within the %zu bytes "
                       "of data: is the file cut short?",
                       st->source, t->name, (long long)begin, (long long)end, data_bytes);
    }
    t->data = data + begin;
    t->bytes = (size_t)(end - begin);
    return check_bytes(st, t, err);
}

static enum kg_code read_tensor(const struct lm_st *st, const char *name, const json_t *j,
                                const unsigned char *data, size_t data_bytes,
                                struct lm_st_tensor *t, struct kg_err *err)
{
    t->name = name;
    const char *dtype = json_string_value(json_object_get(j, "dtype"));
    if (dtype == NULL) {
        return bad(st, name, err, "no text \"dtype\"");
    }
    if (json_object_size(j) != 3) {
        return bad(st, name, err, "has other keys than dtype, shape, data_offsets");
    }
    t->dtype = lm_dtype_parse(dtype);
    t->dtype_name = dtype;
    enum kg_code code = read_shape(st, json_object_get(j, "shape"), t, err);
    if (code != KG_OK) {
        return code;
    }
    return read_offsets(st, json_object_get(j, "data_offsets"), data, data_bytes, t, err);
}

static int by_place(const void *a, const void *b)
{
    const struct lm_st_tensor *x = a, *y = b;
    if (x->data != y->data) {
        return x->data < y->data ? -1 : 1;
    }
    /* An empty one lies before the one that begins where it does. */
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1) : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct lm_st_tensor *const *)a)->name,
                  (*(struct lm_st_tensor *const *)b)->name);
}

static enum kg_code check_tiling(const struct lm_st *st, const unsigned char *data,
                                 size_t data_bytes, struct kg_err *err)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < st->n; i++) {
        const struct lm_st_tensor *t = &st->tensors[i];
        if (t->data != at) {
            return bad(st, t->name, err,
                       t->data > at ? "bytes before it belong to no tensor"
                                    : "overlaps the tensor before it");
        }
        at += t->bytes;
    }
    if (at != data + data_bytes) {
        return kg_fail(err, KG_E_INPUT, "%s: the last %zu bytes belong to no tensor", st->source,
                       (size_t)(data + data_bytes - at));
    }
    return KG_OK;
}

static enum kg_code read_metadata(const struct lm_st *st, json_t *j, struct kg_err *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(j)) {
        return kg_fail(err, KG_E_INPUT, "%s: __metadata__ is not an object", st->source);
    }
    json_object_foreach(j, key, value)
    {
        if (!json_is_string(value)) {
            return kg_fail(err, KG_E_INPUT, "%s: __metadata__: %.100s is not a text", st->source,
                           key);
        }
    }
    return KG_OK;
}

static enum kg_code read_tensors(struct lm_st *st, const unsigned char *data, size_t data_bytes,
                                 struct kg_err *err)
{
    const char *key;
    json_t *value;
    enum kg_code code = KG_OK;
    size_t most = json_object_size(st->header);
    st->tensors = calloc(most + 1, sizeof *st->tensors);
    st->by_name = calloc(most + 1, sizeof(struct lm_st_tensor *));
    if (st->tensors == NULL || st->by_name == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", st->source);
    }
    json_object_foreach(st->header, key, value)
    {
        code = strcmp(key, "__metadata__") == 0
                   ? read_metadata(st, value, err)
                   : read_tensor(st, key, value, data, data_bytes, &st->tensors[st->n++], err);
        if (code != KG_OK) {
            return code;
        }
    }
    qsort(st->tensors, st->n, sizeof *st->tensors, by_place);
    for (size_t i = 0; i < st->n; i++) {
        st->by_name[i] = &st->tensors[i];
    }
    qsort(st->by_name, st->n, sizeof(struct lm_st_tensor *), by_name);
    return check_tiling(st, data, data_bytes, err);
}

static enum kg_code read_all(struct lm_st *st, const unsigned char *bytes, size_t n,
                             struct kg_err *err)
{
    uint64_t header = 0;
    char source[512];
    if (bytes == NULL || n < sizeof header) {
        return kg_fail(err, KG_E_INPUT, "%s: %zu bytes are no safetensors file", st->source, n);
    }
    for (size_t i = 0; i < sizeof header; i++) {
        header |= (uint64_t)bytes[i] << (8 * i);
    }
    if (header > LM_ST_MAX_HEADER || header > n - sizeof header) {
        return kg_fail(err, KG_E_INPUT,
                       "%s: a header of %llu bytes is not within the file of %zu bytes and the "
                       "limit of %u: is the file cut short, or no safetensors file?",
                       st->source, (unsigned long long)header, n, LM_ST_MAX_HEADER);
    }
    const char *text = (const char *)bytes + sizeof header;
    if (header == 0 || text[0] != '{') {
        return kg_fail(err, KG_E_INPUT, "%s: the header does not begin with {", st->source);
    }
    snprintf(source, sizeof source, "%.490s: header", st->source);
    enum kg_code code = kg_json_parse(text, (size_t)header, source, &st->header, err);
    if (code != KG_OK) {
        return code;
    }
    return read_tensors(st, bytes + sizeof header + header, n - sizeof header - (size_t)header,
                        err);
}

static struct lm_st *new_st(const char *source, struct kg_err *err)
{
    struct lm_st *st = calloc(1, sizeof *st);
    if (st == NULL || (st->source = strdup(source)) == NULL) {
        free(st);
        kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", source);
        return NULL;
    }
    return st;
}

enum kg_code lm_st_parse(const void *bytes, size_t n, const char *source, struct lm_st **out,
                         struct kg_err *err)
{
    *out = NULL;
    struct lm_st *st = new_st(source, err);
    if (st == NULL) {
        return err->code;
    }
    enum kg_code code = read_all(st, bytes, n, err);
    if (code != KG_OK) {
        lm_st_close(st);
        return code;
    }
    *out = st;
    return KG_OK;
}

static enum kg_code map_file(struct lm_st *st, struct kg_err *err)
{
    struct stat s;
    int fd = open(st->source, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &s) != 0) {
        enum kg_code code = errno == ENOENT ? KG_E_NOT_FOUND : KG_E_IO;
        kg_fail(err, code, "%s: cannot open: %s", st->source, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return code;
    }
    if (!S_ISREG(s.st_mode)) {
        close(fd);
        return kg_fail(err, KG_E_INPUT, "%s: not a file", st->source);
    }
    st->map_bytes = (size_t)s.st_size;
    void *map =
        st->map_bytes == 0 ? NULL : mmap(NULL, st->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    int problem = errno;
    close(fd);
    if (map == MAP_FAILED) {
        return kg_fail(err, KG_E_IO, "%s: cannot map: %s", st->source, strerror(problem));
    }
    st->map = map;
    return KG_OK;
}

enum kg_code lm_st_open(const char *path, struct lm_st **out, struct kg_err *err)
{
    *out = NULL;
    struct lm_st *st = new_st(path, err);
    if (st == NULL) {
        return err->code;
    }
    enum kg_code code = map_file(st, err);
    code = code == KG_OK ? read_all(st, st->map, st->map_bytes, err) : code;
    if (code != KG_OK) {
        lm_st_close(st);
        return code;
    }
    *out = st;
    return KG_OK;
}

void lm_st_close(struct lm_st *st)
{
    if (st == NULL) {
        return;
    }
    if (st->map != NULL) {
        munmap(st->map, st->map_bytes);
    }
    json_decref(st->header);
    free(st->tensors);
    free(st->by_name);
    free(st->source);
    free(st);
}

const char *lm_st_source(const struct lm_st *st)
{
    return st->source;
}

size_t lm_st_count(const struct lm_st *st)
{
    return st->n;
}

const struct lm_st_tensor *lm_st_at(const struct lm_st *st, size_t i)
{
    KG_ASSERT(i < st->n);
    return &st->tensors[i];
}

const struct lm_st_tensor *lm_st_find(const struct lm_st *st, const char *name)
{
    struct lm_st_tensor key = {.name = name}, *k = &key;
    struct lm_st_tensor **found =
        bsearch(&k, st->by_name, st->n, sizeof(struct lm_st_tensor *), by_name);
    return found == NULL ? NULL : *found;
}

const char *lm_st_metadata(const struct lm_st *st, const char *key)
{
    return json_string_value(json_object_get(json_object_get(st->header, "__metadata__"), key));
}

enum kg_code lm_st_read_f32(const struct lm_st_tensor *t, const char *source, const int64_t *shape,
                            int rank, float *out, struct kg_err *err)
{
    char have[128], want[128];
    if (t->rank != rank ||
        (rank > 0 && memcmp(t->shape, shape, (size_t)rank * sizeof *shape) != 0)) {
        return kg_fail(err, KG_E_INPUT, "%s: tensor %.100s has shape %s; the model needs %s",
                       source, t->name, lm_st_shape_text(t->shape, t->rank, have, sizeof have),
                       lm_st_shape_text(shape, rank, want, sizeof want));
    }
    if (!lm_dtype_is_float(t->dtype)) {
        return kg_fail(err, KG_E_INPUT,
                       "%s: tensor %.100s is %.20s, which is no floating type that "
                       "is read",
                       source, t->name, t->dtype_name);
    }
    lm_dtype_to_f32(t->dtype, t->data, out, t->count);
    return KG_OK;
}
