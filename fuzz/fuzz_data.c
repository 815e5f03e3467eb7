#include "fuzz.h"

#include <string.h>

#include "rl/data/encode.h"
#include "rl/data/pack.h"

/* A byte is a token, so every text has ids. */
static struct rl_talker *talker(void)
{
    static struct rl_talker t;
    struct kg_err err = KG_ERR_INIT;
    struct rl_data none;
    if (t.bpe == NULL) {
        rl_data_init(&none, RL_DATA_ALL);
        KG_ASSERT(rl_encode_tokenizer(&none, 0, 24, &t, &err) == KG_OK);
        rl_data_deinit(&none);
    }
    return &t;
}

/* Messages lie one after the other in the text; a conversation ends with a reply that trains. */
static void look(const struct rl_data *d)
{
    size_t at = 0, next = 0;
    for (size_t i = 0; i < d->n; i++) {
        const struct rl_conversation *c = &d->conversation[i];
        KG_ASSERT(c->first == next && c->n >= 2);
        const struct rl_message *m = &d->message[c->first];
        next += c->n;
        KG_ASSERT(m[0].role != LM_CHAT_ASSISTANT && m[c->n - 1].trained);
        for (size_t k = 0; k < c->n; k++) {
            KG_ASSERT(m[k].at == at && at + m[k].len <= d->text.len);
            KG_ASSERT(!m[k].trained || m[k].role == LM_CHAT_ASSISTANT);
            at += m[k].len;
        }
    }
    KG_ASSERT(next == d->n_messages && at == d->text.len);
}

/* The mask begins behind a header and ends with the end of a turn. */
static void encode(const struct rl_data *d, bool cut)
{
    struct kg_err err = KG_ERR_INIT;
    struct rl_corpus c;
    struct rl_encode_counts n;
    const struct rl_encode_options o = {.max_tokens = 300, .cut = cut};
    if (rl_encode(d, talker(), &o, &c, &n, &err) != KG_OK) {
        KG_ASSERT(c.doc == NULL && n.left_out == d->n);
        return;
    }
    for (size_t i = 0; i < c.n; i++) {
        const struct rl_document *x = &c.doc[i];
        KG_ASSERT(x->n >= 2 && x->n <= 300 && x->first + x->n <= c.ids.n);
        KG_ASSERT(!c.ids.mask[x->first] && c.ids.mask[x->first + x->n - 1]);
        KG_ASSERT(c.ids.id[x->first + x->n - 1] == talker()->end);
    }
    KG_ASSERT(c.n + n.left_out == d->n);
    rl_corpus_destroy(&c);
}

/* The bytes are a file of lines. A bad line leaves what was read before. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rl_data d;
    rl_data_init(&d, size % 2 ? RL_DATA_IMPROVING : RL_DATA_ALL);
    for (size_t at = 0; at < size;) {
        struct kg_err err = KG_ERR_INIT;
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t n = end != NULL ? (size_t)(end - data) - at : size - at;
        if (rl_data_line(&d, (const char *)data + at, n, "f:1", &err) != KG_OK) {
            KG_ASSERT(strncmp(err.message, "f:1", 3) == 0);
        }
        look(&d);
        at += n + 1;
    }
    encode(&d, false);
    encode(&d, true);
    rl_data_deinit(&d);
    return 0;
}
