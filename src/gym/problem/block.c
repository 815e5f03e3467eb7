/* Finds the YAML block in the leading comment of a problem file. */
#include <string.h>

#include "base/utf8.h"
#include "gym/problem/parse.h"

static const char OPEN[] = "/*---kgym", CLOSE[] = "---*/";

static int line_of(const char *text, const char *at)
{
    int line = 1;
    for (const char *s = text; s < at; s++) {
        line += *s == '\n';
    }
    return line;
}

enum kg_code kg_block_check(const struct kg_parse *c, const char *text, size_t len)
{
    if (len == 0) {
        return kg_parse_fail(c, 1, "file", "is empty (expected '%s' first)", OPEN);
    }
    if (len > KG_MAX_SOURCE_BYTES) {
        return kg_parse_fail(c, 1, "file", "has %zu bytes (at most %u)", len, KG_MAX_SOURCE_BYTES);
    }
    for (size_t k = 0; k < len;) {
        if (text[k] == '\0') {
            return kg_parse_fail(c, line_of(text, text + k), "file",
                                 "holds a NUL byte (remove it)");
        }
        uint32_t cp;
        bool ok;
        size_t n = kg_utf8_next(text + k, len - k, &cp, &ok);
        if (!ok) {
            return kg_parse_fail(c, line_of(text, text + k), "file",
                                 "is not valid UTF-8 (byte 0x%02x)", (unsigned char)text[k]);
        }
        k += n;
    }
    return KG_OK;
}

static const char *skip_leading(const char *s)
{
    if (strncmp(s, "\xef\xbb\xbf", 3) == 0) {
        s += 3;
    }
    return s + strspn(s, " \t\r\n");
}

enum kg_code kg_block_find(const struct kg_parse *c, const char *text, struct kg_block *out)
{
    const char *open = skip_leading(text);
    if (strncmp(open, OPEN, sizeof OPEN - 1) != 0) {
        return kg_parse_fail(c, line_of(text, open), "file",
                             "does not begin with '%s' (a problem opens with its YAML block)",
                             OPEN);
    }
    const char *yaml = open + sizeof OPEN - 1;
    yaml += strspn(yaml, " \t\r");
    if (*yaml != '\n') {
        return kg_parse_fail(c, line_of(text, open), "file", "text follows '%s' on its line", OPEN);
    }
    yaml++;
    const char *end = strstr(yaml, "*/");
    if (end == NULL) {
        return kg_parse_fail(c, line_of(text, open), "file",
                             "the block is never closed (expected a line '%s')", CLOSE);
    }
    const char *close = end - (sizeof CLOSE - 3);
    if (close < yaml || strncmp(close, CLOSE, sizeof CLOSE - 1) != 0 || close[-1] != '\n') {
        return kg_parse_fail(c, line_of(text, end), "file",
                             "'*/' ends the block here (close it with a line '%s')", CLOSE);
    }
    *out = (struct kg_block){yaml, (size_t)(close - yaml), line_of(text, yaml)};
    if (out->len > KG_MAX_BLOCK_BYTES) {
        return kg_parse_fail(c, out->first_line, "file", "the block has %zu bytes (at most %u)",
                             out->len, KG_MAX_BLOCK_BYTES);
    }
    return KG_OK;
}
