/* The identity of a problem's code: what is left of it, through md5. */
#include <openssl/evp.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "gym/kernelbench/kb_problem.h"

/* What Python's \s matches in a text. */
static bool is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

/* The byte after a triple-quoted string that begins at s, or NULL. */
static const char *after_string(const char *s, const char *end)
{
    if (end - s < 6 || (memcmp(s, "\"\"\"", 3) != 0 && memcmp(s, "'''", 3) != 0)) {
        return NULL;
    }
    const char *close = memmem(s + 3, (size_t)(end - s) - 3, s, 3);
    return close ? close + 3 : NULL;
}

static void without_strings(const char *s, const char *end, struct kg_buf *out)
{
    const char *copied = s;
    while (s < end) {
        const char *after = after_string(s, end);
        if (after) {
            kg_buf_add(out, copied, (size_t)(s - copied));
            copied = after;
        }
        s = after ? after : s + 1;
    }
    kg_buf_add(out, copied, (size_t)(end - copied));
}

static void without_comments_and_space(const char *s, const char *end, struct kg_buf *out)
{
    while (s < end) {
        uint32_t c;
        bool ok;
        size_t n = kg_utf8_next(s, (size_t)(end - s), &c, &ok);
        if (*s == '#') {
            while (s < end && *s != '\n' && *s != '\r') {
                s++;
            }
            continue;
        }
        if (!ok || !is_space(c)) {
            kg_buf_add(out, s, n);
        }
        s += n;
    }
}

enum kg_code kg_kb_hash(const char *code, size_t len, char out[KG_KB_HASH], struct kg_err *err)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned int bytes = 0;
    struct kg_buf once, twice;
    kg_buf_init(&once, len);
    kg_buf_init(&twice, len);
    without_strings(code, code + len, &once);
    without_comments_and_space(once.data, once.data + once.len, &twice);
    bool good = EVP_Digest(twice.data, twice.len, sum, &bytes, EVP_md5(), NULL) == 1 &&
                bytes == 16 && kg_buf_ok(&once) && kg_buf_ok(&twice);
    for (unsigned int i = 0; good && i < bytes; i++) {
        out[2 * i] = digits[sum[i] >> 4];
        out[2 * i + 1] = digits[sum[i] & 15];
    }
    out[good ? KG_KB_HASH - 1 : 0] = '\0';
    kg_buf_deinit(&once);
    kg_buf_deinit(&twice);
    return good ? KG_OK
                : kg_fail(err, KG_E_HOST, "md5: not to be had from this machine's libcrypto");
}
