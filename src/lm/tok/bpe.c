/* Repair and split at added tokens; normalize each span; cut it into pieces; merge each piece. */
#include "lm/tok/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "lm/tok/bpe_read.h"
#include "lm/tok/merge.h"
#include "lm/tok/nfc.h"
#include "lm/tok/presplit.h"
#include "lm/tok/word_cache.h"

struct lm_bpe {
    struct lm_bpe_def d;
    struct lm_merges merges;
    struct lm_presplit *split; /* NULL: text is one piece */
    /* Added tokens by first byte, the longest first among those of one byte. */
    const struct lm_bpe_added **by_byte;
    size_t first[257]; /* of byte c: by_byte[first[c]] .. by_byte[first[c + 1]] */
    /* working memory */
    struct lm_merge_room room;
    struct lm_word_cache *cache;
    int32_t *symbols;
    size_t symbols_cap;
    struct kg_buf text, span;
};

static int by_byte_and_length(const void *a, const void *b)
{
    const struct lm_bpe_added *x = *(const struct lm_bpe_added *const *)a;
    const struct lm_bpe_added *y = *(const struct lm_bpe_added *const *)b;
    int cx = (unsigned char)x->content[0], cy = (unsigned char)y->content[0];
    return cx != cy ? cx - cy : x->len != y->len ? (x->len > y->len ? -1 : 1) : x->id - y->id;
}

static bool index_added(struct lm_bpe *b)
{
    size_t n = b->d.n_added;
    b->by_byte = calloc(n + 1, sizeof(struct lm_bpe_added *));
    if (b->by_byte == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        b->by_byte[i] = &b->d.added[i];
    }
    qsort(b->by_byte, n, sizeof(struct lm_bpe_added *), by_byte_and_length);
    size_t at = 0;
    for (int c = 0; c <= 256; c++) {
        while (at < n && (unsigned char)b->by_byte[at]->content[0] < c) {
            at++;
        }
        b->first[c] = at;
    }
    return true;
}

static enum kg_code prepare(struct lm_bpe *b, const char *source, struct kg_err *err)
{
    b->cache = lm_word_cache_create();
    if (!index_added(b) || b->cache == NULL || !lm_merges_init(&b->merges, b->d.merges)) {
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", source);
    }
    for (size_t i = 0; i < b->d.merges; i++) {
        const struct lm_bpe_merge *m = &b->d.merge[i];
        if (!lm_merges_add(&b->merges, m->left, m->right, (int32_t)i, m->id)) {
            return kg_fail(err, KG_E_INPUT, "%s: model.merges: merge %zu is there before", source,
                           i);
        }
    }
    return b->d.pattern == NULL ? KG_OK : lm_presplit_create(b->d.pattern, source, &b->split, err);
}

enum kg_code lm_bpe_create(struct lm_bpe_def *d, const char *source, struct lm_bpe **out,
                           struct kg_err *err)
{
    *out = NULL;
    struct lm_bpe *b = calloc(1, sizeof *b);
    if (b == NULL) {
        lm_bpe_def_deinit(d);
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", source);
    }
    b->d = *d;
    memset(d, 0, sizeof *d);
    kg_buf_init(&b->text, 3 * (size_t)LM_BPE_MAX_TEXT);
    kg_buf_init(&b->span, 3 * (size_t)LM_BPE_MAX_TEXT);
    enum kg_code code = prepare(b, source, err);
    if (code != KG_OK) {
        lm_bpe_close(b);
        return code;
    }
    *out = b;
    return KG_OK;
}

enum kg_code lm_bpe_open(const char *path, struct lm_bpe **out, struct kg_err *err)
{
    struct lm_bpe_def d;
    *out = NULL;
    enum kg_code code = lm_bpe_read(path, &d, err);
    return code == KG_OK ? lm_bpe_create(&d, path, out, err) : code;
}

void lm_bpe_close(struct lm_bpe *b)
{
    if (b == NULL) {
        return;
    }
    lm_bpe_def_deinit(&b->d);
    lm_merges_deinit(&b->merges);
    lm_presplit_destroy(b->split);
    lm_merge_room_deinit(&b->room);
    lm_word_cache_destroy(b->cache);
    free(b->by_byte);
    free(b->symbols);
    kg_buf_deinit(&b->text);
    kg_buf_deinit(&b->span);
    free(b);
}

const struct lm_bpe_def *lm_bpe_contents(const struct lm_bpe *b)
{
    return &b->d;
}

int32_t lm_bpe_size(const struct lm_bpe *b)
{
    int32_t n = (int32_t)b->d.vocab;
    int32_t last = b->d.n_added == 0 ? -1 : b->d.added[b->d.n_added - 1].id;
    return last >= n ? last + 1 : n;
}

/* The longest added token that text [len] begins with. */
static const struct lm_bpe_added *match_added(const struct lm_bpe *b, const char *text, size_t len,
                                              enum lm_bpe_mode mode)
{
    unsigned char c = (unsigned char)text[0];
    for (size_t i = b->first[c]; i < b->first[c + 1]; i++) {
        const struct lm_bpe_added *a = b->by_byte[i];
        if (a->len <= len && (mode == LM_BPE_ALL || !a->special) &&
            memcmp(a->content, text, a->len) == 0) {
            return a;
        }
    }
    return NULL;
}

int32_t lm_bpe_added_id(const struct lm_bpe *b, const char *content)
{
    size_t len = strlen(content);
    for (size_t i = 0; i < b->d.n_added; i++) {
        if (b->d.added[i].len == len && memcmp(b->d.added[i].content, content, len) == 0) {
            return b->d.added[i].id;
        }
    }
    return -1;
}

const char *lm_bpe_token(const struct lm_bpe *b, int32_t id, size_t *len)
{
    const struct lm_bpe_added *a = lm_bpe_def_find_added(&b->d, id);
    *len = 0;
    if (a != NULL) {
        *len = a->len;
        return a->content;
    }
    return id >= 0 && (size_t)id < b->d.vocab ? lm_bpe_def_token(&b->d, id, len) : NULL;
}

bool lm_bpe_is_special(const struct lm_bpe *b, int32_t id)
{
    const struct lm_bpe_added *a = lm_bpe_def_find_added(&b->d, id);
    return a != NULL && a->special;
}

static bool reserve_symbols(struct lm_bpe *b, size_t n)
{
    if (n > b->symbols_cap) {
        int32_t *more = realloc(b->symbols, n * sizeof *more);
        if (more == NULL) {
            return false;
        }
        b->symbols = more;
        b->symbols_cap = n;
    }
    return true;
}

enum kg_code lm_bpe_encode_piece(struct lm_bpe *b, const char *bytes, size_t len,
                                 struct lm_ids *out, struct kg_err *err)
{
    size_t n = len;
    const int32_t *known = lm_word_cache_get(b->cache, bytes, len, &n);
    if (known != NULL) {
        lm_ids_add(out, known, n);
    } else {
        if (len > LM_BPE_MAX_TEXT * (size_t)3) {
            return kg_fail(err, KG_E_LIMIT, "a text of %zu bytes is too long to encode", len);
        }
        bool room = reserve_symbols(b, len);
        for (size_t i = 0; room && i < len; i++) {
            b->symbols[i] = b->d.byte_id[(unsigned char)bytes[i]];
        }
        if (!room || !lm_merge_word(&b->merges, &b->room, b->symbols, &n)) {
            return kg_fail_memory(err, KG_E_HOST, "out of memory while encoding %zu bytes", len);
        }
        lm_word_cache_put(b->cache, bytes, len, b->symbols, n);
        lm_ids_add(out, b->symbols, n);
    }
    return out->failed
               ? kg_fail_memory(err, KG_E_HOST, "out of memory while encoding %zu bytes", len)
               : KG_OK;
}

/* text between added tokens: valid UTF-8 */
static enum kg_code encode_span(struct lm_bpe *b, const char *text, size_t len, struct lm_ids *out,
                                struct kg_err *err)
{
    enum kg_code code = KG_OK;
    if (b->d.nfc) {
        kg_buf_reset(&b->span);
        code = lm_nfc(text, len, &b->span, err);
        text = b->span.data;
        len = b->span.len;
    }
    for (size_t at = 0, end; code == KG_OK && at < len; at = end) {
        end = len;
        if (b->split != NULL) {
            code = lm_presplit_next(b->split, text, len, at, &end, err);
        }
        code = code == KG_OK ? lm_bpe_encode_piece(b, text + at, end - at, out, err) : code;
    }
    return code;
}

static enum kg_code encode_valid(struct lm_bpe *b, const char *text, size_t len,
                                 enum lm_bpe_mode mode, struct lm_ids *out, struct kg_err *err)
{
    size_t from = 0;
    for (size_t i = 0; mode != LM_BPE_PLAIN && i < len;) {
        const struct lm_bpe_added *a = match_added(b, text + i, len - i, mode);
        if (a == NULL) {
            i++;
            continue;
        }
        enum kg_code code = encode_span(b, text + from, i - from, out, err);
        if (code != KG_OK) {
            return code;
        }
        lm_ids_add(out, &a->id, 1);
        i += a->len;
        from = i;
    }
    enum kg_code code = encode_span(b, text + from, len - from, out, err);
    return code != KG_OK || !out->failed
               ? code
               : kg_fail_memory(err, KG_E_HOST, "out of memory while encoding %zu bytes", len);
}

enum kg_code lm_bpe_encode(struct lm_bpe *b, const char *text, size_t len, enum lm_bpe_mode mode,
                           struct lm_ids *out, struct kg_err *err)
{
    if (len > LM_BPE_MAX_TEXT) {
        return kg_fail(err, KG_E_LIMIT, "a text of %zu bytes is too long to encode: at most %u",
                       len, LM_BPE_MAX_TEXT);
    }
    kg_buf_reset(&b->text);
    lm_utf8_repair(text, len, &b->text);
    if (!kg_buf_ok(&b->text)) {
        return kg_fail_memory(err, KG_E_HOST, "out of memory while encoding %zu bytes", len);
    }
    return encode_valid(b, b->text.data, b->text.len, mode, out, err);
}

void lm_bpe_decode(const struct lm_bpe *b, const int32_t *ids, size_t n, bool drop_special,
                   struct kg_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t len;
        const char *bytes = lm_bpe_token(b, ids[i], &len);
        if (bytes != NULL && !(drop_special && lm_bpe_is_special(b, ids[i]))) {
            kg_buf_add(out, bytes, len);
        }
    }
}

/* Could bytes [n] be the beginning of a character? Two continuations try all of its ranges. */
static bool may_continue(const char *bytes, size_t n)
{
    static const char fill[] = "\x80\x90\xA0\xBF"; /* one of each range of second bytes */
    char whole[4];
    uint32_t cp;
    bool ok;
    for (size_t k = 0; n < 4 && k < sizeof fill - 1; k++) {
        memset(whole, fill[k], sizeof whole);
        memcpy(whole, bytes, n);
        if (kg_utf8_next(whole, sizeof whole, &cp, &ok) > n && ok) {
            return true;
        }
    }
    return false;
}

static void push_byte(struct lm_bpe_stream *s, char c, struct kg_buf *out)
{
    s->pending[s->n++] = c;
    while (s->n > 0) {
        uint32_t cp;
        bool ok;
        size_t k = kg_utf8_next(s->pending, s->n, &cp, &ok);
        if (!ok && k == s->n && may_continue(s->pending, s->n)) {
            return;
        }
        if (ok) {
            kg_buf_add(out, s->pending, k);
        } else {
            kg_buf_adds(out, "\xEF\xBF\xBD");
        }
        s->n -= k;
        memmove(s->pending, s->pending + k, s->n);
    }
}

void lm_bpe_stream_push(const struct lm_bpe *b, struct lm_bpe_stream *s, int32_t id,
                        bool drop_special, struct kg_buf *out)
{
    size_t len;
    const char *bytes = lm_bpe_token(b, id, &len);
    if (bytes == NULL || (drop_special && lm_bpe_is_special(b, id))) {
        return;
    }
    for (size_t i = 0; i < len; i++) {
        push_byte(s, bytes[i], out);
    }
}

void lm_bpe_stream_end(struct lm_bpe_stream *s, struct kg_buf *out)
{
    if (s->n > 0) {
        kg_buf_adds(out, "\xEF\xBF\xBD");
    }
    s->n = 0;
}
