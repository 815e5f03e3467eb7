/* Text of a candidate, of its compiler and of its exceptions, made harmless for a prompt. */
#include <string.h>

#include "base/utf8.h"
#include "gym/build/diag.h"
#include "gym/feedback/feedback_parts.h"

#define ESCAPE 0x1Bu

/* Characters that show nothing, change the direction of what follows, or carry hidden text. */
static bool invisible(uint32_t cp)
{
    static const uint32_t ranges[][2] = {
        {0x00AD, 0x00AD},    {0x034F, 0x034F}, {0x061C, 0x061C},   {0x115F, 0x1160},
        {0x17B4, 0x17B5},    {0x180B, 0x180F}, {0x200B, 0x200F},   {0x202A, 0x202E},
        {0x2060, 0x206F},    {0x3164, 0x3164}, {0xE000, 0xF8FF},   {0xFE00, 0xFE0F},
        {0xFFA0, 0xFFA0},    {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
        {0xE0000, 0x10FFFF},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (cp >= ranges[i][0] && cp <= ranges[i][1]) {
            return true;
        }
    }
    return false;
}

/* Bytes of the escape sequence whose introducer was just read: to its end, or to the line's. */
static size_t sequence(const char *s, size_t n, uint32_t kind)
{
    bool control = kind == '[';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '\n') {
            return i;
        }
        if (control ? c >= 0x40 && c <= 0x7E : c == 0x07) {
            return i + 1;
        }
        if (!control && c == ESCAPE) {
            return i + 1 < n && s[i + 1] == '\\' ? i + 2 : i;
        }
    }
    return n;
}

/* s[0..n) follows an ESC: how much of it belongs to the sequence. */
static size_t after_escape(const char *s, size_t n)
{
    if (n == 0 || s[0] == '\n') {
        return 0;
    }
    if (strchr("[]PX^_", s[0]) != NULL && s[0] != '\0') {
        return 1 + sequence(s + 1, n - 1, (unsigned char)s[0]);
    }
    return s[0] >= 0x20 && s[0] <= 0x7E ? 1 : 0;
}

static void visible(const char *s, size_t n, struct kg_buf *out)
{
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        bool ok;
        size_t len = kg_utf8_next(s + i, n - i, &cp, &ok);
        if (cp == '\n' || cp == '\r') {
            bool pair = cp == '\r' && i + 1 < n && s[i + 1] == '\n';
            kg_buf_adds(out, pair ? "" : "\n");
        } else if (cp == '\t') {
            kg_buf_adds(out, "    ");
        } else if (cp == ESCAPE) {
            len += after_escape(s + i + len, n - i - len);
        } else if (ok && (cp == 0x9B || cp == 0x9D || cp == 0x90)) {
            len += sequence(s + i + len, n - i - len, cp == 0x9B ? '[' : ']');
        } else if (!ok) {
            kg_buf_adds(out, "\xEF\xBF\xBD");
        } else if (kg_utf8_in_line(cp) && !invisible(cp)) {
            kg_buf_add(out, s + i, len);
        }
        i += len;
    }
}

void kg_fb_clean(const char *s, size_t n, struct kg_buf *out)
{
    struct kg_buf seen;
    kg_buf_init(&seen, 4 * n + 4);
    visible(s, n, &seen);
    kg_fb_defuse(seen.data, seen.len, out);
    kg_buf_deinit(&seen);
}

/* Bytes of s that are whole characters and at most cap. */
static size_t whole(const char *s, size_t n, size_t cap)
{
    if (n <= cap) {
        return n;
    }
    while (cap > 0 && ((unsigned char)s[cap] & 0xC0) == 0x80) {
        cap--;
    }
    return cap;
}

void kg_fb_inline(const char *s, size_t cap, struct kg_buf *out)
{
    struct kg_buf seen;
    size_t n = strnlen(s, 16 * cap + 64);
    kg_buf_init(&seen, 16 * n + 4);
    kg_fb_clean(s, n, &seen);
    size_t keep = whole(seen.data, seen.len, cap);
    for (size_t i = 0; i < keep; i++) {
        char c = seen.data[i];
        kg_buf_addc(out, c == '`' ? '\'' : c == '\n' ? ' ' : c);
    }
    kg_buf_adds(out, keep < seen.len ? "..." : "");
    kg_buf_deinit(&seen);
}

/* 0x and at least six digits: an address, not a constant of the source that is worth its place. */
static size_t address(const char *s, size_t n)
{
    size_t len = 2;
    if (n < 8 || s[0] != '0' || (s[1] != 'x' && s[1] != 'X')) {
        return 0;
    }
    while (len < n && s[len] != '\0' && strchr("0123456789abcdefABCDEF", s[len]) != NULL) {
        len++;
    }
    return len >= 8 ? len : 0;
}

static void without_addresses(const char *s, size_t n, struct kg_buf *out)
{
    for (size_t i = 0; i < n;) {
        size_t len = address(s + i, n - i);
        if (len > 0) {
            kg_buf_adds(out, "0x?");
        } else {
            kg_buf_addc(out, s[i]);
            len = 1;
        }
        i += len;
    }
}

static void told_again(size_t times, struct kg_buf *out)
{
    if (times > 0) {
        kg_buf_addf(out, "[the same line %zu more time%s]\n", times, times == 1 ? "" : "s");
    }
}

/* Equal lines that follow each other once, with a count. */
static void collapsed(const char *s, size_t n, struct kg_buf *out)
{
    const char *last = NULL;
    size_t last_len = 0, again = 0;
    for (size_t i = 0; i < n;) {
        const char *nl = memchr(s + i, '\n', n - i);
        size_t len = nl != NULL ? (size_t)(nl - (s + i)) : n - i;
        if (last != NULL && len == last_len && memcmp(last, s + i, len) == 0) {
            again++;
        } else {
            told_again(again, out);
            again = 0;
            kg_buf_add(out, s + i, len);
            kg_buf_addc(out, '\n');
        }
        last = s + i;
        last_len = len;
        i += len + 1;
    }
    told_again(again, out);
}

/* The build of an extension runs in the candidate's process. */
static bool is_own_process(const struct kg_record *r)
{
    return r->candidate.language != NULL && strcmp(r->candidate.language, "c") != 0;
}

void kg_fb_compiler(const struct kg_record *r, const char *s, struct kg_buf *out)
{
    struct kg_buf a, b, c, d, known;
    size_t n = strlen(s);
    kg_buf_init(&d, 64 * n + 4);
    kg_buf_init(&known, 64 * n + 4);
    kg_buf_init(&a, n + 4);
    kg_buf_init(&b, 16 * n + 4);
    kg_buf_init(&c, 16 * n + 4);
    kg_diag_clean(s, n, &a);
    kg_fb_clean(a.data, a.len, &b);
    without_addresses(b.data, b.len, &c);
    if (is_own_process(r)) {
        kg_fb_known_words(c.data, c.len, r->candidate.code, &known);
        kg_fb_defuse(known.data, known.len, &d); /* what was left out may have parted a marker */
    } else {
        kg_buf_add(&d, c.data, c.len);
    }
    collapsed(d.data, d.len, out);
    kg_buf_deinit(&d);
    kg_buf_deinit(&known);
    kg_buf_deinit(&a);
    kg_buf_deinit(&b);
    kg_buf_deinit(&c);
}
