/* The order matters: added tokens first, because a vocabulary may hold them too; then the
 * vocabulary, which merges refer to. */
#include "lm/tok/bpe_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "lm/tok/bpe_form.h"
#include "lm/tok/bytes.h"

struct reader {
    const char *source;
    const json_t *j;
    json_t *vocab;
    struct lm_bpe_def *d;
    struct kg_err *err;
};

static enum kg_code out_of_memory(const struct reader *r)
{
    return kg_fail_memory(r->err, KG_E_HOST, "%s: this machine is out of memory", r->source);
}

static enum kg_code read_added_one(const struct reader *r, size_t i, const json_t *a)
{
    const json_t *id = json_object_get(a, "id"), *content = json_object_get(a, "content");
    if (!json_is_integer(id) || json_integer_value(id) < 0 ||
        json_integer_value(id) >= LM_BPE_MAX_IDS || !json_is_string(content)) {
        return kg_fail(r->err, KG_E_INPUT,
                       "%s: added_tokens: entry %zu needs an \"id\" from 0 to %d and a text "
                       "\"content\"",
                       r->source, i, LM_BPE_MAX_IDS - 1);
    }
    static const char *const refused[] = {"lstrip", "rstrip", "single_word", "normalized"};
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        if (json_is_true(json_object_get(a, refused[k]))) {
            return kg_fail(r->err, KG_E_INPUT,
                           "%s: added_tokens: %.60s has \"%s\": true, which is "
                           "not supported",
                           r->source, json_string_value(content), refused[k]);
        }
    }
    return lm_bpe_def_add(r->d, (int32_t)json_integer_value(id), json_string_value(content),
                          json_string_length(content), json_is_true(json_object_get(a, "special")))
               ? KG_OK
               : out_of_memory(r);
}

static enum kg_code read_added(const struct reader *r)
{
    const json_t *list = json_object_get(r->j, "added_tokens");
    if (list != NULL && !json_is_null(list) && !json_is_array(list)) {
        return kg_fail(r->err, KG_E_INPUT, "%s: added_tokens is not a list", r->source);
    }
    if (json_array_size(list) > LM_BPE_MAX_ADDED) {
        return kg_fail(r->err, KG_E_INPUT, "%s: more than %d added tokens", r->source,
                       LM_BPE_MAX_ADDED);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        enum kg_code code = read_added_one(r, i, json_array_get(list, i));
        if (code != KG_OK) {
            return code;
        }
    }
    return lm_bpe_def_sort_added(r->d, r->source, r->err);
}

/* The names by id: each id from 0 to n-1 once. */
static enum kg_code order_vocab(const struct reader *r, const char **name, size_t n)
{
    const char *key;
    json_t *value;
    json_object_foreach(r->vocab, key, value)
    {
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || (uint64_t)id >= n || name[id] != NULL) {
            return kg_fail(r->err, KG_E_INPUT,
                           "%s: model.vocab: %.60s must have a whole number from 0 to %zu that no "
                           "other token has",
                           r->source, key, n - 1);
        }
        name[id] = key;
    }
    return KG_OK;
}

static enum kg_code read_token(const struct reader *r, int32_t id, const char *name)
{
    struct lm_bpe_def *d = r->d;
    size_t before = d->bytes.len;
    const struct lm_bpe_added *added = lm_bpe_def_find_added(d, id);
    if (added != NULL && strcmp(added->content, name) != 0) {
        return kg_fail(r->err, KG_E_INPUT,
                       "%s: token %d is %.60s in model.vocab and %.60s in added_tokens", r->source,
                       id, name, added->content);
    }
    if (added != NULL) {
        kg_buf_add(&d->bytes, added->content, added->len);
    } else if (!lm_bytes_unspell(name, strlen(name), &d->bytes) || d->bytes.len == before) {
        return kg_fail(r->err, KG_E_INPUT,
                       "%s: model.vocab: token %d, %.60s, is no byte-level token", r->source, id,
                       name);
    } else if (d->bytes.len == before + 1) {
        d->byte_id[(unsigned char)d->bytes.data[before]] = id;
    }
    if (!kg_buf_ok(&d->bytes)) {
        return out_of_memory(r);
    }
    d->token_end[id] = d->bytes.len;
    return KG_OK;
}

static enum kg_code read_vocab(const struct reader *r)
{
    size_t n = json_object_size(r->vocab);
    if (n == 0 || n > LM_BPE_MAX_IDS) {
        return kg_fail(r->err, KG_E_INPUT, "%s: model.vocab must be an object of 1 to %d tokens",
                       r->source, LM_BPE_MAX_IDS);
    }
    const char **name = calloc(n, sizeof(const char *));
    r->d->token_end = calloc(n, sizeof *r->d->token_end);
    if (name == NULL || r->d->token_end == NULL) {
        free(name);
        return out_of_memory(r);
    }
    enum kg_code code = order_vocab(r, name, n);
    for (size_t i = 0; code == KG_OK && i < n; i++) {
        KG_ASSERT(name[i] != NULL); /* n different ids below n are all of them */
        code = read_token(r, (int32_t)i, name[i]);
    }
    free(name);
    r->d->vocab = n;
    for (int i = 0; code == KG_OK && i < 256; i++) {
        if (r->d->byte_id[i] < 0) {
            code = kg_fail(r->err, KG_E_INPUT, "%s: model.vocab has no token for the byte 0x%02X",
                           r->source, (unsigned)i);
        }
    }
    return code;
}

static int32_t id_of(const struct reader *r, const char *name)
{
    const json_t *id = json_object_get(r->vocab, name);
    return id == NULL ? -1 : (int32_t)json_integer_value(id);
}

/* "a b" or ["a", "b"] -> the three ids */
static bool read_merge(const struct reader *r, const json_t *m, struct kg_buf *room,
                       struct lm_bpe_merge *out)
{
    const char *left = json_string_value(json_array_get(m, 0));
    const char *right = json_string_value(json_array_get(m, 1));
    const char *both = json_string_value(m);
    kg_buf_reset(room);
    if (both != NULL) {
        const char *space = strchr(both, ' ');
        if (space == NULL || strchr(space + 1, ' ') != NULL) {
            return false;
        }
        kg_buf_add(room, both, (size_t)(space - both));
        out->left = id_of(r, room->data);
        out->right = id_of(r, space + 1);
        kg_buf_adds(room, space + 1);
    } else {
        if (json_array_size(m) != 2 || left == NULL || right == NULL) {
            return false;
        }
        out->left = id_of(r, left);
        out->right = id_of(r, right);
        kg_buf_adds(room, left);
        kg_buf_adds(room, right);
    }
    out->id = kg_buf_ok(room) ? id_of(r, room->data) : -1;
    return out->left >= 0 && out->right >= 0 && out->id >= 0;
}

static enum kg_code read_merges(const struct reader *r)
{
    const json_t *list = json_object_get(json_object_get(r->j, "model"), "merges");
    struct kg_buf room;
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > LM_BPE_MAX_IDS) {
        return kg_fail(r->err, KG_E_INPUT, "%s: model.merges must be a list of at most %d merges",
                       r->source, LM_BPE_MAX_IDS);
    }
    r->d->merge = calloc(n + 1, sizeof *r->d->merge);
    if (r->d->merge == NULL) {
        return out_of_memory(r);
    }
    r->d->merges = n;
    kg_buf_init(&room, 1 << 20);
    enum kg_code code = KG_OK;
    for (size_t i = 0; i < n && code == KG_OK; i++) {
        if (!read_merge(r, json_array_get(list, i), &room, &r->d->merge[i])) {
            code = kg_fail(r->err, KG_E_INPUT,
                           "%s: model.merges: merge %zu is not two tokens of the vocabulary that "
                           "make a third",
                           r->source, i);
        }
    }
    kg_buf_deinit(&room);
    return code;
}

static enum kg_code read_all(struct reader *r)
{
    enum kg_code code = lm_bpe_form_read(r->j, r->source, &r->d->nfc, &r->d->pattern, r->err);
    code = code == KG_OK ? read_added(r) : code;
    code = code == KG_OK ? read_vocab(r) : code;
    return code == KG_OK ? read_merges(r) : code;
}

enum kg_code lm_bpe_parse(const char *text, size_t len, const char *source, struct lm_bpe_def *d,
                          struct kg_err *err)
{
    json_t *j;
    lm_bpe_def_init(d);
    enum kg_code code = kg_json_parse(text, len, source, &j, err);
    if (code == KG_OK) {
        struct reader r = {.source = source, .j = j, .d = d, .err = err};
        r.vocab = json_object_get(json_object_get(j, "model"), "vocab");
        code = read_all(&r);
        json_decref(j);
    }
    if (code != KG_OK) {
        lm_bpe_def_deinit(d);
    }
    return code;
}

enum kg_code lm_bpe_read(const char *path, struct lm_bpe_def *d, struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, LM_BPE_MAX_FILE_BYTES);
    enum kg_code code = kg_file_read(path, &text, err);
    code = code == KG_OK ? lm_bpe_parse(text.data, text.len, path, d, err) : code;
    kg_buf_deinit(&text);
    return code;
}
