/* Words are counted once; each merge visits only the words that hold its pair. */
#include "lm/tok/bpe_train.h"

#include <stdlib.h>
#include <string.h>

#include "lm/tok/bytes.h"
#include "lm/tok/intern.h"
#include "lm/tok/nfc.h"
#include "lm/tok/pair_counts.h"
#include "lm/tok/presplit.h"

#define MAX_BYTES ((size_t)1 << 32) /* of all different words */

struct lm_bpe_trainer {
    struct lm_bpe_train_options o;
    char *pattern;
    struct lm_presplit *split;
    struct lm_intern words;
    int64_t *count; /* [words.n] */
    size_t count_cap;
    struct kg_buf valid, normal;
};

/* While running. Symbols of word i begin where its bytes do: a word never has more symbols. */
struct run {
    const struct lm_bpe_trainer *t;
    int32_t *symbol;
    uint32_t *length; /* [words.n] symbols left */
    struct lm_pair_counts pairs;
    struct lm_intern tokens;
    struct lm_bpe_def *d;
    size_t merge_cap;
};

static enum kg_code no_memory(struct kg_err *err)
{
    return kg_fail_memory(err, KG_E_HOST, "out of memory while training a vocabulary");
}

enum kg_code lm_bpe_trainer_create(const struct lm_bpe_train_options *o,
                                   struct lm_bpe_trainer **out, struct kg_err *err)
{
    *out = NULL;
    if (o->vocab < 256 || o->vocab > LM_BPE_MAX_IDS - LM_BPE_MAX_ADDED) {
        return kg_fail(err, KG_E_INPUT, "a byte-level vocabulary has 256 to %d tokens, not %zu",
                       LM_BPE_MAX_IDS - LM_BPE_MAX_ADDED, o->vocab);
    }
    struct lm_bpe_trainer *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return no_memory(err);
    }
    t->o = *o;
    lm_intern_init(&t->words, MAX_BYTES);
    kg_buf_init(&t->valid, MAX_BYTES);
    kg_buf_init(&t->normal, MAX_BYTES);
    t->pattern = strdup(o->pattern);
    enum kg_code code = t->pattern == NULL
                            ? no_memory(err)
                            : lm_presplit_create(t->pattern, "pattern", &t->split, err);
    if (code != KG_OK) {
        lm_bpe_trainer_destroy(t);
        return code;
    }
    *out = t;
    return KG_OK;
}

void lm_bpe_trainer_destroy(struct lm_bpe_trainer *t)
{
    if (t == NULL) {
        return;
    }
    lm_presplit_destroy(t->split);
    lm_intern_deinit(&t->words);
    kg_buf_deinit(&t->valid);
    kg_buf_deinit(&t->normal);
    free(t->count);
    free(t->pattern);
    free(t);
}

static bool count_word(struct lm_bpe_trainer *t, const char *word, size_t len)
{
    size_t i = lm_intern_put(&t->words, word, len);
    if (i == SIZE_MAX) {
        return false;
    }
    if (i >= t->count_cap) {
        size_t more = t->count_cap == 0 ? 1024 : 2 * t->count_cap;
        int64_t *count = realloc(t->count, more * sizeof *count);
        if (count == NULL) {
            return false;
        }
        memset(count + t->count_cap, 0, (more - t->count_cap) * sizeof *count);
        t->count = count;
        t->count_cap = more;
    }
    t->count[i]++;
    return true;
}

enum kg_code lm_bpe_trainer_add(struct lm_bpe_trainer *t, const char *text, size_t len,
                                struct kg_err *err)
{
    kg_buf_reset(&t->valid);
    kg_buf_reset(&t->normal);
    lm_utf8_repair(text, len, &t->valid);
    if (!kg_buf_ok(&t->valid)) {
        return no_memory(err);
    }
    const struct kg_buf *b = &t->valid;
    enum kg_code code = KG_OK;
    if (t->o.nfc) {
        code = lm_nfc(b->data, b->len, &t->normal, err);
        b = &t->normal;
    }
    for (size_t at = 0, end = 0; code == KG_OK && at < b->len; at = end) {
        code = lm_presplit_next(t->split, b->data, b->len, at, &end, err);
        if (code == KG_OK && !count_word(t, b->data + at, end - at)) {
            code = no_memory(err);
        }
    }
    return code;
}

/* The 256 bytes in the order of their spelling. */
static bool add_bytes(struct run *r)
{
    int32_t id = 0;
    for (uint32_t cp = 0; cp < 512; cp++) {
        int byte = lm_bytes_of(cp);
        if (byte >= 0) {
            char c = (char)byte;
            r->d->byte_id[byte] = id++;
            if (lm_intern_put(&r->tokens, &c, 1) == SIZE_MAX) {
                return false;
            }
        }
    }
    return true;
}

static size_t begin_of(const struct run *r, size_t word)
{
    return word == 0 ? 0 : r->t->words.end[word - 1];
}

static bool count_pairs(struct run *r)
{
    const struct lm_intern *words = &r->t->words;
    for (size_t i = 0; i < words->bytes.len; i++) {
        r->symbol[i] = r->d->byte_id[(unsigned char)words->bytes.data[i]];
    }
    for (size_t w = 0; w < words->n; w++) {
        const int32_t *s = r->symbol + begin_of(r, w);
        r->length[w] = (uint32_t)(words->end[w] - begin_of(r, w));
        for (uint32_t i = 0; i + 1 < r->length[w]; i++) {
            if (!lm_pair_counts_add(&r->pairs, s[i], s[i + 1], r->t->count[w], (uint32_t)w)) {
                return false;
            }
        }
    }
    return lm_pair_counts_settle(&r->pairs);
}

/* Replace the pair throughout one word, and correct the counts of the pairs around it. */
static bool merge_in_word(struct run *r, uint32_t word, const struct lm_bpe_merge *m)
{
    int32_t *s = r->symbol + begin_of(r, word);
    uint32_t n = r->length[word], kept = 0;
    int64_t count = r->t->count[word];
    struct lm_pair_counts *p = &r->pairs;
    bool ok = true;
    for (uint32_t i = 0; ok && i < n;) {
        if (i + 1 >= n || s[i] != m->left || s[i + 1] != m->right) {
            s[kept++] = s[i++];
            continue;
        }
        ok = lm_pair_counts_add(p, m->left, m->right, -count, word);
        if (kept > 0) {
            ok = ok && lm_pair_counts_add(p, s[kept - 1], m->left, -count, word) &&
                 lm_pair_counts_add(p, s[kept - 1], m->id, count, word);
        }
        if (i + 2 < n) {
            ok = ok && lm_pair_counts_add(p, m->right, s[i + 2], -count, word) &&
                 lm_pair_counts_add(p, m->id, s[i + 2], count, word);
        }
        s[kept++] = m->id;
        i += 2;
    }
    r->length[word] = ok ? kept : r->length[word];
    return ok;
}

static bool add_token(struct run *r, struct lm_bpe_merge *m)
{
    struct kg_buf both;
    size_t len;
    kg_buf_init(&both, MAX_BYTES);
    const char *part = lm_intern_get(&r->tokens, (size_t)m->left, &len);
    kg_buf_add(&both, part, len);
    part = lm_intern_get(&r->tokens, (size_t)m->right, &len);
    kg_buf_add(&both, part, len);
    size_t id = kg_buf_ok(&both) ? lm_intern_put(&r->tokens, both.data, both.len) : SIZE_MAX;
    kg_buf_deinit(&both);
    m->id = (int32_t)id;
    if (id == SIZE_MAX) {
        return false;
    }
    if (r->d->merges == r->merge_cap) {
        size_t more = r->merge_cap == 0 ? 256 : 2 * r->merge_cap;
        struct lm_bpe_merge *all = realloc(r->d->merge, more * sizeof *all);
        if (all == NULL) {
            return false;
        }
        r->d->merge = all;
        r->merge_cap = more;
    }
    r->d->merge[r->d->merges++] = *m;
    return true;
}

static bool merge_all(struct run *r)
{
    int64_t least = r->t->o.min_count < 1 ? 1 : r->t->o.min_count;
    while (r->tokens.n < r->t->o.vocab) {
        struct lm_pair *p = lm_pair_counts_take(&r->pairs, least);
        if (p == NULL) {
            return true;
        }
        struct lm_bpe_merge m = {.left = p->left, .right = p->right};
        /* The table of pairs moves while words change, so its list is taken out. */
        uint32_t *word = p->word;
        size_t n = p->words;
        p->word = NULL;
        p->words = p->cap = 0;
        bool ok = add_token(r, &m);
        for (size_t i = 0; ok && i < n; i++) {
            ok = merge_in_word(r, word[i], &m);
        }
        free(word);
        if (!ok || !lm_pair_counts_settle(&r->pairs)) {
            return false;
        }
    }
    return true;
}

static bool fill_def(struct run *r)
{
    struct lm_bpe_def *d = r->d;
    d->nfc = r->t->o.nfc;
    d->pattern = strdup(r->t->pattern);
    d->token_end = malloc(r->tokens.n * sizeof *d->token_end);
    if (d->pattern == NULL || d->token_end == NULL) {
        return false;
    }
    d->vocab = r->tokens.n;
    memcpy(d->token_end, r->tokens.end, r->tokens.n * sizeof *d->token_end);
    kg_buf_add(&d->bytes, r->tokens.bytes.data, r->tokens.bytes.len);
    return kg_buf_ok(&d->bytes);
}

enum kg_code lm_bpe_trainer_run(struct lm_bpe_trainer *t, struct lm_bpe_def *d, struct kg_err *err)
{
    struct run r = {.t = t, .d = d};
    lm_bpe_def_init(d);
    lm_intern_init(&r.tokens, MAX_BYTES);
    r.symbol = malloc((t->words.bytes.len + 1) * sizeof *r.symbol);
    r.length = malloc((t->words.n + 1) * sizeof *r.length);
    bool ok = r.symbol != NULL && r.length != NULL && add_bytes(&r) && count_pairs(&r) &&
              merge_all(&r) && fill_def(&r);
    lm_pair_counts_deinit(&r.pairs);
    lm_intern_deinit(&r.tokens);
    free(r.symbol);
    free(r.length);
    if (!ok) {
        lm_bpe_def_deinit(d);
        return no_memory(err);
    }
    return KG_OK;
}

enum kg_code lm_bpe_add_qwen(struct lm_bpe_def *d, bool qwen3, struct kg_err *err)
{
    static const char *const special[] = {
        "<|endoftext|>",      "<|im_start|>",     "<|im_end|>",     "<|object_ref_start|>",
        "<|object_ref_end|>", "<|box_start|>",    "<|box_end|>",    "<|quad_start|>",
        "<|quad_end|>",       "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
        "<|image_pad|>",      "<|video_pad|>",
    };
    static const char *const others[] = {
        "<tool_call>",     "</tool_call>",     "<|fim_prefix|>", "<|fim_middle|>",
        "<|fim_suffix|>",  "<|fim_pad|>",      "<|repo_name|>",  "<|file_sep|>",
        "<tool_response>", "</tool_response>", "<think>",        "</think>",
    };
    size_t n_special = sizeof special / sizeof *special;
    size_t n = n_special + (qwen3 ? 12 : 8);
    for (size_t i = 0; i < n; i++) {
        const char *text = i < n_special ? special[i] : others[i - n_special];
        if (!lm_bpe_def_add(d, (int32_t)(d->vocab + i), text, strlen(text), i < n_special)) {
            return no_memory(err);
        }
    }
    return lm_bpe_def_sort_added(d, "added tokens", err);
}
