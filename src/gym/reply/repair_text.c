/* Repairs of text around code: line numbers in front, HTML entities. */
#include <stdlib.h>
#include <string.h>

#include "gym/reply/extract_private.h"
#include "gym/reply/lex_private.h"

/* `  12 | code`, `12: code`, `12. code`, `12<tab>code`, `12 code`: the number, or -1, and *drop. */
static long gutter_number(struct kg_slice line, size_t *drop)
{
    size_t p = 0;
    while (p < line.len && line.at[p] == ' ') {
        p++;
    }
    long n = 0;
    size_t digits = p;
    while (p < line.len && p - digits < 7 && line.at[p] >= '0' && line.at[p] <= '9') {
        n = n * 10 + (line.at[p++] - '0');
    }
    if (p == digits) {
        return -1;
    }
    if (p == line.len) {
        *drop = p;
        return n;
    }
    size_t gap = p;
    while (gap < line.len && line.at[gap] == ' ') {
        gap++;
    }
    if (gap < line.len && strchr("|:.)\t", line.at[gap]) != NULL) {
        gap++;
        gap += gap < line.len && line.at[gap] == ' ';
    } else if (gap > p) {
        gap = p + 1;
    } else {
        return -1;
    }
    *drop = gap;
    return n;
}

/* Line numbers that count up by one on at least 90 % of the lines. */
bool kg_repair_gutter(struct kg_slice in, struct kg_buf *out)
{
    struct kg_slice line;
    size_t lines = 0, with = 0, drop;
    long before = -1;
    for (size_t at = 0; kg_slice_line(in, &at, &line);) {
        long n = gutter_number(line, &drop);
        lines += kg_slice_trim(line).len > 0;
        with += n >= 0 && (before < 0 || n == before + 1);
        before = n >= 0 ? n : before;
    }
    if (with < 2 || with * 10 < lines * 9) {
        return false;
    }
    for (size_t at = 0; kg_slice_line(in, &at, &line);) {
        drop = 0;
        gutter_number(line, &drop);
        kg_buf_add(out, line.at + drop, line.len - drop);
        kg_buf_addc(out, '\n');
    }
    return true;
}

/* The ASCII character that the entity at s stands for and its length; 0: none. */
static size_t entity(struct kg_slice s, char *c)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"&lt;", '<'},   {"&gt;", '>'},    {"&amp;", '&'},
                 {"&quot;", '"'}, {"&apos;", '\''}, {"&nbsp;", ' '}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (kg_slice_starts(s, named[i].name)) {
            *c = named[i].c;
            return strlen(named[i].name);
        }
    }
    if (s.len < 4 || s.at[1] != '#') {
        return 0;
    }
    bool hex = s.at[2] == 'x' || s.at[2] == 'X';
    char digits[8] = "";
    size_t p = hex ? 3 : 2, n = 0;
    while (p < s.len && n < 6 && s.at[p] != ';') {
        digits[n++] = s.at[p++];
    }
    char *end;
    long value = n > 0 ? strtol(digits, &end, hex ? 16 : 10) : 0;
    if (n == 0 || *end != '\0' || p >= s.len || s.at[p] != ';' || value < 9 || value > 126) {
        return 0;
    }
    *c = (char)value;
    return p + 1;
}

/* An entity outside strings and comments is read as `& lt ;`, so the block may seem to be whole.
 * Who escapes text escapes each bracket: one that is bare means that the entity is code. */
bool kg_repair_is_escaped(enum kg_lang lang, struct kg_slice code)
{
    static const char *const signs[] = {"&lt;", "&gt;", "&amp;", "&quot;"};
    bool bare = memchr(code.at, '<', code.len) != NULL || memchr(code.at, '>', code.len) != NULL;
    bool found = kg_lex_find(code.at, code.len, "#include &lt;") != NULL;
    if (found || bare || memchr(code.at, '&', code.len) == NULL) {
        return found;
    }
    struct kg_lexer lx;
    kg_lex_init(&lx, lang, code.at, code.len);
    for (struct kg_tok t = kg_lex_next(&lx); t.kind != KG_TOK_END && !found; t = kg_lex_next(&lx)) {
        struct kg_slice rest = {code.at + t.at, code.len - t.at};
        for (size_t i = 0; i < sizeof signs / sizeof *signs && t.kind == KG_TOK_PUNCT; i++) {
            found = found || kg_slice_starts(rest, signs[i]);
        }
    }
    return found;
}

bool kg_repair_entities(struct kg_slice in, struct kg_buf *out)
{
    bool changed = false;
    size_t at = 0;
    if (memchr(in.at, '&', in.len) == NULL) {
        return false;
    }
    while (at < in.len) {
        const char *amp = memchr(in.at + at, '&', in.len - at);
        size_t next = amp != NULL ? (size_t)(amp - in.at) : in.len;
        kg_buf_add(out, in.at + at, next - at);
        at = next;
        if (amp == NULL) {
            break;
        }
        char c = '&';
        size_t n = entity((struct kg_slice){amp, in.len - at}, &c);
        kg_buf_addc(out, c);
        changed |= n > 0;
        at += n > 0 ? n : 1;
    }
    return changed;
}
