#include "base/utf8.h"

/* Length by the first byte, and the range of the second: it excludes overlong forms, surrogates and
 * what lies beyond U+10FFFF. 0: not a first byte. */
static int shape(unsigned char c, unsigned char *lo, unsigned char *hi)
{
    *lo = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    *hi = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (c < 0x80) {
        return 1;
    }
    if (c < 0xC2 || c > 0xF4) {
        return 0;
    }
    return c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

size_t kg_utf8_next(const char *s, size_t n, uint32_t *cp, bool *ok)
{
    const unsigned char *p = (const unsigned char *)s;
    unsigned char lo, hi;
    int len = shape(p[0], &lo, &hi);
    *ok = len == 1;
    *cp = len == 1 ? p[0] : KG_UTF8_REPLACEMENT;
    if (len <= 1) {
        return 1;
    }
    uint32_t value = p[0] & (0x7Fu >> len);
    for (int i = 1; i < len; i++) {
        if ((size_t)i >= n || p[i] < lo || p[i] > hi) {
            return (size_t)i;
        }
        value = value << 6 | (p[i] & 0x3Fu);
        lo = 0x80;
        hi = 0xBF;
    }
    *ok = true;
    *cp = value;
    return (size_t)len;
}

bool kg_utf8_in_line(uint32_t cp)
{
    return cp >= 0x20 && !(cp >= 0x7F && cp < 0xA0) && cp != 0x2028 && cp != 0x2029 &&
           cp != 0xFEFF && (cp & 0xFFFE) != 0xFFFE;
}
