#include "fuzz.h"

#include <string.h>

#include "lm/tok/bpe.h"
#include "lm/tok/bpe_read.h"
#include "lm/tok/nfc.h"
#include "lm/tok/presplit.h"

/* Bytes come back; text comes back as repair and NFC leave it. */
static void encode_and_decode(struct lm_bpe *b, const char *text, size_t len)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_ids ids;
    struct kg_buf back, valid, normal;
    lm_ids_init(&ids);
    kg_buf_init(&back, 1 << 24);
    kg_buf_init(&valid, 1 << 24);
    kg_buf_init(&normal, 1 << 24);
    KG_ASSERT(lm_bpe_encode_piece(b, text, len, &ids, &err) == KG_OK);
    lm_bpe_decode(b, ids.id, ids.n, false, &back);
    KG_ASSERT(back.len == len && memcmp(back.data, text, len) == 0);
    lm_ids_reset(&ids);
    kg_buf_reset(&back);
    if (lm_bpe_encode(b, text, len, LM_BPE_PLAIN, &ids, &err) == KG_OK) {
        lm_utf8_repair(text, len, &valid);
        KG_ASSERT(lm_nfc(valid.data, valid.len, &normal, &err) == KG_OK);
        const struct kg_buf *want = lm_bpe_contents(b)->nfc ? &normal : &valid;
        lm_bpe_decode(b, ids.id, ids.n, false, &back);
        KG_ASSERT(back.len == want->len && memcmp(back.data, want->data, want->len) == 0);
    }
    kg_buf_deinit(&back);
    kg_buf_deinit(&valid);
    kg_buf_deinit(&normal);
    lm_ids_deinit(&ids);
}

static void use_file(const char *text, size_t size)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_bpe_def d;
    struct lm_bpe *b = NULL;
    if (lm_bpe_parse(text, size, "f", &d, &err) != KG_OK) {
        KG_ASSERT(d.vocab == 0 && d.added == NULL && strncmp(err.message, "f:", 2) == 0);
        return;
    }
    if (lm_bpe_create(&d, "f", &b, &err) == KG_OK) {
        encode_and_decode(b, text, size < 4000 ? size : 4000);
        lm_bpe_close(b);
    } else {
        KG_ASSERT(b == NULL);
    }
}

/* The bytes are a tokenizer.json, and a text for the pre-split of Qwen. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_presplit *p;
    struct kg_buf valid;
    use_file((const char *)data, size);
    kg_buf_init(&valid, 1 << 24);
    lm_utf8_repair((const char *)data, size, &valid);
    KG_ASSERT(lm_presplit_create(lm_presplit_qwen, "p", &p, &err) == KG_OK);
    for (size_t at = 0, end = 0; at < valid.len; at = end) {
        KG_ASSERT(lm_presplit_next(p, valid.data, valid.len, at, &end, &err) == KG_OK);
        KG_ASSERT(end > at && end <= valid.len);
    }
    lm_presplit_destroy(p);
    kg_buf_deinit(&valid);
    return 0;
}
