/* Reading and writing JSON through jansson, with bounds on depth and size. */
#include "base/json.h"

#include "base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64

/* jansson's own limit is a build-time constant of thousands of levels and its parser recurses, so
 * the depth is counted first. Brackets in strings do not count. */
static bool depth_ok(const char *text, size_t len, int *line, int *column)
{
    int depth = 0;
    bool in_string = false;
    *line = 1;
    *column = 0;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        *column += ((unsigned char)c & 0xC0) != 0x80;
        if (c == '\n') {
            ++*line;
            *column = 0;
        } else if (in_string && c == '\\') {
            i++;
            ++*column;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '[' || c == '{')) {
            if (++depth > MAX_DEPTH) {
                return false;
            }
        } else if (!in_string && (c == ']' || c == '}')) {
            depth--;
        }
    }
    return true;
}

/* "LINE:COLUMN", or the column alone. */
static const char *place(bool one_line, int line, int column, char out[32])
{
    line = line < 1 ? 1 : line;
    column = column < 1 ? 1 : column;
    if (one_line) {
        snprintf(out, 32, "%d", column);
    } else {
        snprintf(out, 32, "%d:%d", line, column);
    }
    return out;
}

static enum kg_code parse(const char *text, size_t len, const char *source, bool one_line,
                          size_t flags, json_t **out, struct kg_err *err)
{
    int line, column;
    char at[32];
    *out = NULL;
    if (!depth_ok(text, len, &line, &column)) {
        return kg_fail(err, KG_E_INPUT, "%s:%s: more than %d levels of nesting", source,
                       place(one_line, line, column, at), MAX_DEPTH);
    }
    json_error_t e;
    *out = json_loadb(text, len, flags | JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
    if (*out != NULL) {
        return KG_OK;
    }
    /* jansson quotes the input. */
    for (char *p = e.text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            *p = '?';
        }
    }
    if (json_error_code(&e) == json_error_numeric_overflow) {
        return kg_fail(err, KG_E_INPUT, "%s:%s: a number beyond what is read: %s", source,
                       place(one_line, e.line, e.column, at), e.text);
    }
    return kg_fail(err, json_error_code(&e) == json_error_out_of_memory ? KG_E_HOST : KG_E_INPUT,
                   "%s:%s: not valid JSON: %s", source, place(one_line, e.line, e.column, at),
                   e.text);
}

enum kg_code kg_json_parse(const char *text, size_t len, const char *source, json_t **out,
                           struct kg_err *err)
{
    return parse(text, len, source, false, JSON_REJECT_DUPLICATES, out, err);
}

enum kg_code kg_json_parse_line(const char *text, size_t len, const char *source, json_t **out,
                                struct kg_err *err)
{
    return parse(text, len, source, true, JSON_REJECT_DUPLICATES, out, err);
}

/* The code unit of an escape \uXXXX at text, -1 where there is none. */
static int code_unit(const char *text, size_t len)
{
    int unit = 0;
    if (len < 6 || text[0] != '\\' || text[1] != 'u') {
        return -1;
    }
    for (int i = 2; i < 6; i++) {
        int c = text[i] | 0x20, digit = c >= '0' && c <= '9' ? c - '0' : c - 'a' + 10;
        if (!isxdigit((unsigned char)text[i])) {
            return -1;
        }
        unit = unit << 4 | digit;
    }
    return unit;
}

/* Each half of a surrogate pair that stands alone becomes U+FFFD, in place. */
static void mend_surrogates(char *text, size_t len)
{
    for (size_t i = 0; i + 1 < len; i++) {
        if (text[i] != '\\') {
            continue;
        }
        int unit = code_unit(text + i, len - i);
        if (unit < 0xD800 || unit > 0xDFFF) {
            i++; /* also past the second of two backslashes */
            continue;
        }
        int next = code_unit(text + i + 6, len - i > 6 ? len - i - 6 : 0);
        if (unit < 0xDC00 && next >= 0xDC00 && next <= 0xDFFF) {
            i += 11;
        } else {
            memcpy(text + i + 2, "fffd", 4);
            i += 5;
        }
    }
}

enum kg_code kg_json_parse_loose(const char *text, size_t len, const char *source, json_t **out,
                                 struct kg_err *err)
{
    char *mended = malloc(len + 1);
    *out = NULL;
    if (mended == NULL) {
        return kg_fail(err, KG_E_HOST, "%s: no memory for %zu bytes of JSON", source, len);
    }
    memcpy(mended, text, len);
    mend_surrogates(mended, len);
    enum kg_code code = parse(mended, len, source, false, 0, out, err);
    free(mended);
    return code;
}

json_t *kg_json_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *kg_json_text(const char *bytes, size_t len)
{
    struct kg_buf clean;
    /* A broken byte becomes three. */
    kg_buf_init(&clean, len > SIZE_MAX / 4 ? SIZE_MAX / 2 : len * 3);
    size_t copied = 0;
    for (size_t at = 0; at < len;) {
        uint32_t cp;
        bool ok;
        size_t n = kg_utf8_next(bytes + at, len - at, &cp, &ok);
        if (!ok || cp == 0) {
            kg_buf_add(&clean, bytes + copied, at - copied);
            kg_buf_adds(&clean, ok ? "" : "\xEF\xBF\xBD");
            copied = at + n;
        }
        at += n;
    }
    kg_buf_add(&clean, bytes + copied, len - copied);
    json_t *j = kg_buf_ok(&clean) ? json_stringn_nocheck(clean.data, clean.len) : NULL;
    kg_buf_deinit(&clean);
    return j;
}

static void add_real(const char *token, struct kg_buf *out)
{
    size_t start = out->len;
    kg_buf_add_real(out, strtod(token, NULL));
    if (strpbrk(out->data + start, ".e") == NULL) {
        kg_buf_adds(out, ".0"); /* a real stays a real when it is read again */
    }
}

/* Copies JSON text, each real number made short; strings and integers as they are. */
static void add_trimmed(const char *text, size_t len, struct kg_buf *out)
{
    size_t copied = 0;
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        if (in_string && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            in_string = !in_string;
        } else if (!in_string && (text[i] == '-' || (text[i] >= '0' && text[i] <= '9'))) {
            size_t n = strspn(text + i, "+-.0123456789eE");
            if (strcspn(text + i, ".eE") < n) {
                kg_buf_add(out, text + copied, i - copied);
                add_real(text + i, out);
                copied = i + n;
            }
            i += n - 1;
        }
    }
    kg_buf_add(out, text + copied, len - copied);
}

static int add_part(const char *part, size_t len, void *text)
{
    kg_buf_add(text, part, len);
    return 0;
}

/* jansson's own buffer is not used: it drops the end of a key without a word where memory lacks. */
static void dump(const json_t *j, size_t flags, struct kg_buf *out)
{
    struct kg_buf text;
    kg_buf_init(&text, SIZE_MAX / 2);
    flags |= JSON_ENCODE_ANY | JSON_REAL_PRECISION(17);
    if (json_dump_callback(j, add_part, &text, flags) == 0 && kg_buf_ok(&text)) {
        add_trimmed(text.data, text.len, out);
    } else {
        out->truncated = true; /* no memory */
    }
    kg_buf_deinit(&text);
}

void kg_json_dump(const json_t *j, struct kg_buf *out)
{
    dump(j, JSON_COMPACT, out);
}

void kg_json_dump_pretty(const json_t *j, struct kg_buf *out)
{
    dump(j, JSON_INDENT(2), out);
}
