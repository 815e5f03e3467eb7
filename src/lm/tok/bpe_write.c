/* One JSON value in memory, dumped at once: 151,643 tokens are about 11 MB of text. */
#include "lm/tok/bpe_write.h"

#include "base/file.h"
#include "base/json.h"
#include "lm/tok/bpe_form.h"
#include "lm/tok/bpe_read.h"
#include "lm/tok/bytes.h"

static json_t *make_added(const struct lm_bpe_def *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->n_added; i++) {
        const struct lm_bpe_added *a = &d->added[i];
        json_t *one = json_pack("{s:i,s:o,s:b,s:b,s:b,s:b,s:b}", "id", (int)a->id, "content",
                                kg_json_text(a->content, a->len), "single_word", 0, "lstrip", 0,
                                "rstrip", 0, "normalized", 0, "special", (int)a->special);
        json_array_append_new(list, one);
    }
    return list;
}

/* A token's name in the vocabulary. */
static void name_of(const struct lm_bpe_def *d, int32_t id, struct kg_buf *out)
{
    size_t len;
    const char *bytes = lm_bpe_def_token(d, id, &len);
    if (lm_bpe_def_find_added(d, id) != NULL) {
        kg_buf_add(out, bytes, len);
    } else {
        lm_bytes_spell(bytes, len, out);
    }
}

static json_t *make_vocab(const struct lm_bpe_def *d, struct kg_buf *room)
{
    json_t *vocab = json_object();
    for (size_t i = 0; i < d->vocab; i++) {
        kg_buf_reset(room);
        name_of(d, (int32_t)i, room);
        json_object_set_new(vocab, room->data, json_integer((json_int_t)i));
    }
    return vocab;
}

static json_t *make_merges(const struct lm_bpe_def *d, struct kg_buf *room)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->merges; i++) {
        kg_buf_reset(room);
        name_of(d, d->merge[i].left, room);
        kg_buf_addc(room, ' ');
        name_of(d, d->merge[i].right, room);
        json_array_append_new(list, json_string(room->data));
    }
    return list;
}

enum kg_code lm_bpe_write(const struct lm_bpe_def *d, const char *path, struct kg_err *err)
{
    struct kg_buf room, text;
    kg_buf_init(&room, 16u << 20);
    kg_buf_init(&text, LM_BPE_MAX_FILE_BYTES);
    json_t *j = lm_bpe_form_make(d->nfc, d->pattern, make_added(d), make_vocab(d, &room),
                                 make_merges(d, &room));
    bool complete =
        j != NULL && kg_buf_ok(&room) &&
        json_object_size(json_object_get(json_object_get(j, "model"), "vocab")) == d->vocab;
    if (complete) {
        kg_json_dump_pretty(j, &text);
        kg_buf_addc(&text, '\n');
    }
    json_decref(j);
    enum kg_code code = KG_OK;
    if (!complete || !kg_buf_ok(&text)) {
        code = kg_fail(err, KG_E_LIMIT,
                       "%s: cannot write: two tokens are the same bytes, or the "
                       "file is larger than %u bytes",
                       path, LM_BPE_MAX_FILE_BYTES);
    }
    code = code == KG_OK ? kg_file_write_atomic(path, text.data, text.len, err) : code;
    kg_buf_deinit(&text);
    kg_buf_deinit(&room);
    return code;
}
