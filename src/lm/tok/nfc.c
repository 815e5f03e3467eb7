/* Characters below U+0300 are their own NFC form and compose with nothing below U+0300. */
#include "lm/tok/nfc.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "base/utf8.h"

void lm_utf8_repair(const char *text, size_t n, struct kg_buf *out)
{
    size_t good = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        bool ok;
        size_t k = kg_utf8_next(text + i, n - i, &cp, &ok);
        if (!ok) {
            kg_buf_add(out, text + good, i - good);
            kg_buf_adds(out, "\xEF\xBF\xBD");
            good = i + k;
        }
        i += k;
    }
    kg_buf_add(out, text + good, n - good);
}

/* U+0300 begins with byte 0xCC. */
static bool needs_work(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] >= 0xCC) {
            return true;
        }
    }
    return false;
}

enum kg_code lm_nfc(const char *text, size_t n, struct kg_buf *out, struct kg_err *err)
{
    if (!needs_work(text, n)) {
        kg_buf_add(out, text, n);
    } else {
        utf8proc_uint8_t *composed = NULL;
        utf8proc_ssize_t len = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n,
                                            &composed, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
        if (len < 0) {
            return kg_fail(err, KG_E_HOST, "cannot normalize a text of %zu bytes: %s", n,
                           utf8proc_errmsg(len));
        }
        kg_buf_add(out, composed, (size_t)len);
        free(composed);
    }
    return kg_buf_ok(out)
               ? KG_OK
               : kg_fail(err, KG_E_LIMIT, "a text of %zu bytes is too long to encode", n);
}
