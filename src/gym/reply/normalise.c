/* Bytes of a reply to text that every later step may trust: valid UTF-8, LF, no NUL, none of the
 * characters that look like nothing. Idempotent. */
#include <string.h>

#include "base/utf8.h"
#include "gym/reply/extract_private.h"

/* Soft hyphens and marks of direction are among them. */
static bool is_zero_width(uint32_t c)
{
    return c == 0xAD || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
           c == 0x2060 || c == 0xFEFF;
}

static bool is_odd_space(uint32_t c)
{
    return c == 0xA0 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x3000;
}

/* The last KG_REPLY_MAX_BYTES of text, not beginning inside a sequence. */
static size_t tail_start(const char *text, size_t len)
{
    if (len <= KG_REPLY_MAX_BYTES) {
        return 0;
    }
    size_t at = len - KG_REPLY_MAX_BYTES;
    for (int i = 0; i < 3 && ((unsigned char)text[at] & 0xC0) == 0x80; i++) {
        at++;
    }
    return at;
}

/* One character that is not plain ASCII; returns the bytes it took. */
static size_t odd_character(const char *p, size_t n, struct kg_buf *out, uint32_t *flags)
{
    uint32_t c;
    bool valid;
    size_t took = kg_utf8_next(p, n, &c, &valid);
    if (!valid) {
        kg_buf_adds(out, "\xEF\xBF\xBD");
        *flags |= KG_XF_UTF8;
    } else if (c == 0) {
        *flags |= KG_XF_NUL;
    } else if (c == '\r') {
        kg_buf_addc(out, '\n');
        *flags |= KG_XF_NORMALISED;
        took += n > 1 && p[1] == '\n';
    } else if (is_zero_width(c)) {
        *flags |= KG_XF_NORMALISED;
    } else if (is_odd_space(c)) {
        kg_buf_addc(out, ' ');
        *flags |= KG_XF_NORMALISED;
    } else {
        kg_buf_add(out, p, took);
    }
    return took;
}

void kg_reply_normalise(const char *text, size_t len, struct kg_buf *out, uint32_t *flags)
{
    size_t at = tail_start(text, len);
    *flags |= at > 0 ? KG_XF_TRUNCATED : 0;
    while (at < len) {
        size_t run = at;
        while (run < len && text[run] != '\0' && text[run] != '\r' &&
               ((unsigned char)text[run] & 0x80) == 0) {
            run++;
        }
        kg_buf_add(out, text + at, run - at);
        at = run;
        if (at < len) {
            at += odd_character(text + at, len - at, out, flags);
        }
    }
    /* Replacement characters are longer than what they replace. */
    size_t cut = tail_start(out->data, out->len);
    if (cut > 0) {
        *flags |= KG_XF_TRUNCATED;
        out->len -= cut;
        memmove(out->data, out->data + cut, out->len + 1);
    }
}
