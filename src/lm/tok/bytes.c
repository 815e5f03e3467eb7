/* The spelling is computed, not tabled: three ranges keep their value, the rest are counted. */
#include "lm/tok/bytes.h"

#include "base/utf8.h"

static bool stands_for_itself(unsigned byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/* Bytes below this one that do not stand for themselves. */
static unsigned others_below(unsigned byte)
{
    return byte <= 32 ? byte : byte <= 126 ? 33 : byte <= 160 ? 33 + byte - 127 : 67;
}

uint32_t lm_bytes_char(unsigned char byte)
{
    return stands_for_itself(byte) ? byte : 256 + others_below(byte);
}

int lm_bytes_of(uint32_t cp)
{
    if (cp < 256) {
        return stands_for_itself(cp) ? (int)cp : -1;
    }
    uint32_t k = cp - 256;
    return k <= 32 ? (int)k : k <= 66 ? (int)(k - 33 + 127) : k == 67 ? 173 : -1;
}

void lm_bytes_spell(const char *bytes, size_t n, struct kg_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t cp = lm_bytes_char((unsigned char)bytes[i]);
        if (cp < 0x80) {
            kg_buf_addc(out, (char)cp);
        } else {
            kg_buf_addc(out, (char)(0xC0 | cp >> 6));
            kg_buf_addc(out, (char)(0x80 | (cp & 0x3F)));
        }
    }
}

bool lm_bytes_unspell(const char *text, size_t n, struct kg_buf *out)
{
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        bool ok;
        i += kg_utf8_next(text + i, n - i, &cp, &ok);
        int byte = ok ? lm_bytes_of(cp) : -1;
        if (byte < 0) {
            return false;
        }
        kg_buf_addc(out, (char)byte);
    }
    return true;
}
