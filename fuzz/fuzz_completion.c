/* A streamed chat completion. The same bytes, whole or one at a time, are the same events and the
 * same reply, and fail alike; events are no longer than the limit. The bytes are read as a whole
 * body and as an error's words too: those have one line and never the key. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "trial/policy/completion.h"
#include "trial/policy/refusal.h"
#include "trial/policy/sse.h"

enum { MOST = 4096 };

static enum kg_code take(void *user, const char *data, size_t len, struct kg_err *err)
{
    KG_ASSERT(len <= MOST && data[len] == '\0');
    return tr_completion_event(user, data, len, err);
}

/* Gives the bytes in pieces of at most `piece`. */
static enum kg_code read_all(const uint8_t *data, size_t size, size_t piece,
                             struct tr_completion *c)
{
    struct tr_sse s;
    struct kg_err err = KG_ERR_INIT;
    enum kg_code code = KG_OK;
    tr_sse_init(&s, MOST);
    tr_completion_init(c);
    for (size_t at = 0; at < size && code == KG_OK; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        code = tr_sse_feed(&s, (const char *)data + at, n, take, c, &err);
    }
    code = code != KG_OK ? code : tr_sse_end(&s, take, c, &err);
    tr_sse_deinit(&s);
    return code;
}

static void read_words(const uint8_t *data, size_t size)
{
    static const char key[] = "sk-0123456789";
    struct tr_words w;
    tr_words_read((const char *)data, size, NULL, key, &w);
    KG_ASSERT(strstr(w.text, key) == NULL && strstr(w.code, key) == NULL);
    for (const char *p = w.text; *p != '\0'; p++) {
        KG_ASSERT((unsigned char)*p >= ' ' && *p != 0x7f);
    }
    (void)tr_refusal_fate(400, &w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_completion whole, bytes, body;
    struct kg_err err = KG_ERR_INIT;
    enum kg_code code = read_all(data, size, size, &whole);
    KG_ASSERT(code == read_all(data, size, 1, &bytes));
    KG_ASSERT(whole.text.len == bytes.text.len && whole.reasoning.len == bytes.reasoning.len);
    KG_ASSERT(memcmp(whole.text.data, bytes.text.data, whole.text.len) == 0);
    KG_ASSERT(tr_completion_whole(&whole) == tr_completion_whole(&bytes));
    KG_ASSERT(whole.tokens_in == bytes.tokens_in && strcmp(whole.model, bytes.model) == 0);
    KG_ASSERT(code != KG_E_IO || whole.error != NULL);
    tr_completion_deinit(&whole);
    tr_completion_deinit(&bytes);
    tr_completion_init(&body);
    (void)!tr_completion_body(&body, (const char *)data, size, &err);
    tr_completion_deinit(&body);
    read_words(data, size);
    return 0;
}
