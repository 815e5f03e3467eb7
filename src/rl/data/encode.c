/* Encoding of conversations, and the split by problem. */
#include "rl/data/encode.h"

#include <stdlib.h>
#include <string.h>

#include "lm/tok/presplit.h"
#include "rl/methods/streams.h"

/* --- one conversation --- */

struct text {
    const char *p;
    size_t n;
};

static bool drop_prefix(struct text *t, const char *prefix)
{
    size_t n = strlen(prefix);
    if (t->n < n || memcmp(t->p, prefix, n) != 0) {
        return false;
    }
    t->p += n;
    t->n -= n;
    return true;
}

/* A reply without what the header before it already says of a thought. */
static struct text reply_of(const struct lm_chat *c, const char *p, size_t n)
{
    struct text t = {p, n};
    if (c->kind == LM_CHAT_QWEN3_THINKING) {
        drop_prefix(&t, "<think>\n");
    } else if (c->kind == LM_CHAT_QWEN3 && !c->thinking) {
        drop_prefix(&t, "<think>\n\n</think>\n\n");
    }
    return t;
}

static enum kg_code add_reply(const struct rl_talker *talker, struct text t, bool trained,
                              struct lm_ids *out, struct kg_err *err)
{
    size_t from = out->n;
    if (lm_bpe_encode(talker->bpe, t.p, t.n, LM_BPE_TEXT, out, err) != KG_OK) {
        return err->code;
    }
    lm_ids_add(out, &talker->end, 1);
    if (out->failed) {
        return kg_fail_memory(err, KG_E_HOST, "data: no memory for %zu ids", out->n);
    }
    lm_ids_set_mask(out, from, trained);
    return KG_OK;
}

/* Where replies ended, while a conversation grows. */
struct fit {
    size_t max, end; /* end: ids up to the last trained reply that fits; 0: none */
    int turns, fitting;
};

static enum kg_code add_conversation(const struct rl_data *d, const struct rl_conversation *c,
                                     const struct rl_talker *talker, struct lm_ids *out,
                                     struct fit *fit, struct kg_err *err)
{
    struct lm_chat_message head[2];
    const struct rl_message *m = &d->message[c->first];
    size_t first = out->n, n_head = m[0].role == LM_CHAT_SYSTEM ? 2 : 1;
    for (size_t i = 0; i < n_head; i++) {
        head[i] = (struct lm_chat_message){
            .role = m[i].role, .content = d->text.data + m[i].at, .len = m[i].len};
    }
    enum kg_code code = lm_chat_encode(&talker->chat, head, n_head, true, out, err);
    for (size_t i = n_head; i < c->n && code == KG_OK; i++) {
        const char *text = d->text.data + m[i].at;
        if (m[i].role == LM_CHAT_USER) {
            code = lm_chat_continue(&talker->chat, true, text, m[i].len, out, err);
            continue;
        }
        code = add_reply(talker, reply_of(&talker->chat, text, m[i].len), m[i].trained, out, err);
        fit->turns++;
        if (m[i].trained && out->n - first <= fit->max) {
            fit->end = out->n - first;
            fit->fitting = fit->turns;
        }
    }
    return code;
}

/* --- the corpus --- */

static enum kg_code add_document(const struct rl_data *d, const struct rl_conversation *c,
                                 const struct rl_talker *talker, const struct rl_encode_options *o,
                                 struct rl_corpus *out, struct rl_encode_counts *counts,
                                 struct kg_err *err)
{
    struct fit fit = {.max = (size_t)o->max_tokens};
    size_t first = out->ids.n;
    if (add_conversation(d, c, talker, &out->ids, &fit, err) != KG_OK) {
        return err->code;
    }
    bool whole = fit.end == out->ids.n - first;
    if (fit.end == 0 || (!whole && !o->cut)) {
        counts->left_out++;
        out->ids.n = first;
        return KG_OK;
    }
    counts->cut += !whole;
    out->ids.n = first + fit.end;
    out->longest = fit.end > out->longest ? fit.end : out->longest;
    out->doc[out->n++] = (struct rl_document){
        .first = first, .n = fit.end, .turns = fit.fitting, .problem = c->problem};
    return KG_OK;
}

/* Whether replies may have a thought apart. */
static enum kg_code check_thoughts(const struct rl_data *d, const struct lm_chat *c,
                                   struct kg_err *err)
{
    bool room = c->kind == LM_CHAT_QWEN3_THINKING || (c->kind == LM_CHAT_QWEN3 && c->thinking);
    if (d->thought[0] == '\0' || room) {
        return KG_OK;
    }
    return kg_fail(err, KG_E_INPUT,
                   "%s: `reasoning_content`: the template %s%s has no room for a thought",
                   d->thought, lm_chat_kind_name(c->kind),
                   c->kind == LM_CHAT_QWEN3 ? " without `thinking`" : "");
}

enum kg_code rl_encode(const struct rl_data *d, const struct rl_talker *talker,
                       const struct rl_encode_options *o, struct rl_corpus *out,
                       struct rl_encode_counts *counts, struct kg_err *err)
{
    *out = (struct rl_corpus){0};
    *counts = (struct rl_encode_counts){0};
    enum kg_code code = check_thoughts(d, &talker->chat, err);
    if (code != KG_OK) {
        return code;
    }
    lm_ids_init(&out->ids);
    out->doc = calloc(d->n + 1, sizeof *out->doc);
    if (out->doc == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "data: no memory for %zu documents", d->n);
    }
    for (size_t i = 0; i < d->n && code == KG_OK; i++) {
        code = add_document(d, &d->conversation[i], talker, o, out, counts, err);
    }
    if (code == KG_OK && out->n == 0) {
        code = kg_fail(err, KG_E_INPUT,
                       "the data hold nothing to train on: of %zu conversations %llu are too long "
                       "(%d tokens are allowed)",
                       d->n, (unsigned long long)counts->left_out, o->max_tokens);
    }
    if (code != KG_OK) {
        rl_corpus_destroy(out);
    }
    return code;
}

/* --- the tokenizer --- */

static enum kg_code teach(const struct rl_data *d, struct lm_bpe_trainer *t, struct kg_err *err)
{
    static const char *const headers[] = {"system\n", "user\n", "assistant\n"};
    enum kg_code code = KG_OK;
    for (size_t i = 0; i < d->n_messages && code == KG_OK; i++) {
        const struct rl_message *m = &d->message[i];
        code = lm_bpe_trainer_add(t, headers[m->role], strlen(headers[m->role]), err);
        code = code != KG_OK ? code : lm_bpe_trainer_add(t, d->text.data + m->at, m->len, err);
    }
    return code;
}

enum kg_code rl_encode_tokenizer(const struct rl_data *d, int merges, int feedback,
                                 struct rl_talker *out, struct kg_err *err)
{
    const struct lm_bpe_train_options o = {
        .vocab = 256 + (size_t)merges, .min_count = 2, .pattern = lm_presplit_qwen, .nfc = true};
    struct lm_bpe_trainer *t;
    struct lm_bpe_def def;
    if (lm_bpe_trainer_create(&o, &t, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = teach(d, t, err);
    code = code != KG_OK ? code : lm_bpe_trainer_run(t, &def, err);
    lm_bpe_trainer_destroy(t);
    return code != KG_OK ? code : rl_talker_open(&def, feedback, out, err);
}

/* --- training and validation --- */

static bool held_out(uint64_t problem, uint64_t seed, double share)
{
    return rl_draw(seed ^ problem, RL_STREAM_SFT, UINT32_MAX, 0, 0) < share;
}

enum kg_code rl_corpus_hold_out(struct rl_corpus *c, uint64_t seed, double share, size_t *n,
                                struct kg_err *err)
{
    size_t kept = 0, held = 0;
    struct rl_document *aside = calloc(c->n + 1, sizeof *aside);
    if (aside == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "data: no memory for %zu documents", c->n);
    }
    for (size_t i = 0; i < c->n; i++) {
        if (held_out(c->doc[i].problem, seed, share)) {
            aside[held++] = c->doc[i];
        } else {
            c->doc[kept++] = c->doc[i];
        }
    }
    memcpy(c->doc + kept, aside, held * sizeof *aside);
    free(aside);
    *n = kept;
    return KG_OK;
}

static int by_key(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

enum kg_code rl_corpus_overlap(const struct rl_corpus *a, const struct rl_corpus *b, size_t *n,
                               struct kg_err *err)
{
    uint64_t *keys = calloc(a->n + 1, sizeof *keys);
    *n = 0;
    if (keys == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "data: no memory for %zu problems", a->n);
    }
    for (size_t i = 0; i < a->n; i++) {
        keys[i] = a->doc[i].problem;
    }
    qsort(keys, a->n, sizeof *keys, by_key);
    for (size_t i = 0; i < b->n; i++) {
        *n += bsearch(&b->doc[i].problem, keys, a->n, sizeof *keys, by_key) != NULL;
    }
    free(keys);
    return KG_OK;
}
