/* Escapes text for HTML, and helpers for the report's pages. */
#include "base/html.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"

/* Turning text round, or hiding it, must not make a page say what its source does not. */
static bool misleads(uint32_t cp)
{
    return cp == 0x061C || cp == 0x200E || cp == 0x200F || (cp >= 0x202A && cp <= 0x202E) ||
           (cp >= 0x2066 && cp <= 0x2069);
}

void kg_html_bytes(struct kg_buf *out, const char *s, size_t n)
{
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        bool ok;
        size_t len = kg_utf8_next(s + at, n - at, &cp, &ok);
        if (cp == '&') {
            kg_buf_adds(out, "&amp;");
        } else if (cp == '<') {
            kg_buf_adds(out, "&lt;");
        } else if (cp == '>') {
            kg_buf_adds(out, "&gt;");
        } else if (cp == '"') {
            kg_buf_adds(out, "&quot;");
        } else if (cp == '\'') {
            kg_buf_adds(out, "&#39;");
        } else if (ok && (cp == '\n' || cp == '\t' || (kg_utf8_in_line(cp) && !misleads(cp)))) {
            kg_buf_add(out, s + at, len);
        } else if (cp != '\r' || at + 1 == n || s[at + 1] != '\n') {
            kg_buf_adds(out, "\xEF\xBF\xBD");
        }
        at += len;
    }
}

void kg_html_text(struct kg_buf *out, const char *s)
{
    if (s != NULL) {
        kg_html_bytes(out, s, strlen(s));
    }
}

void kg_html_cut(struct kg_buf *out, const char *s, size_t max)
{
    size_t n = s == NULL ? 0 : strlen(s), keep = n;
    if (n > max) {
        keep = max;
        while (keep > 0 && ((unsigned char)s[keep] & 0xC0) == 0x80) {
            keep--;
        }
    }
    kg_html_bytes(out, s, keep);
    if (keep < n) {
        kg_buf_addf(out, "\n… %zu more bytes", n - keep);
    }
}

void kg_html_value(struct kg_buf *out, const json_t *v, size_t max)
{
    if (json_is_string(v)) {
        size_t n = json_string_length(v);
        kg_html_bytes(out, json_string_value(v), n < max ? n : max);
        kg_buf_adds(out, n < max ? "" : "…");
    } else if (json_is_real(v)) {
        kg_buf_addf(out, "%.6g", json_real_value(v));
    } else if (json_is_boolean(v)) {
        kg_buf_adds(out, json_is_true(v) ? "yes" : "no");
    } else if (v == NULL || json_is_null(v)) {
        kg_buf_adds(out, "–");
    } else {
        struct kg_buf text;
        kg_buf_init(&text, max);
        kg_json_dump(v, &text);
        kg_html_bytes(out, text.data, text.len);
        kg_buf_adds(out, kg_buf_ok(&text) ? "" : "…");
        kg_buf_deinit(&text);
    }
}

void kg_html_sha256(struct kg_buf *out, const char *s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char hex[KG_SHA256_HEX];
    unsigned char raw[33] = {0};
    kg_sha256_hex(s, strlen(s), hex);
    for (int i = 0; i < 32; i++) {
        const char pair[] = {hex[2 * i], hex[2 * i + 1], '\0'};
        unsigned byte = 0;
        int got = sscanf(pair, "%2x", &byte);
        KG_ASSERT(got == 1);
        raw[i] = (unsigned char)byte;
    }
    for (int i = 0; i < 33; i += 3) { /* 32 bytes: the last group has two, and one `=` */
        unsigned bits = (unsigned)raw[i] << 16 | (unsigned)raw[i + 1] << 8 | raw[i + 2];
        kg_buf_addc(out, digits[bits >> 18 & 63]);
        kg_buf_addc(out, digits[bits >> 12 & 63]);
        kg_buf_addc(out, digits[bits >> 6 & 63]);
        kg_buf_addc(out, i + 3 < 33 ? digits[bits & 63] : '=');
    }
}
