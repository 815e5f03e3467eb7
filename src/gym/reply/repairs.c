/* Repairs of text that defines nothing as it stands. Each undoes one known deformation of the whole
 * text, never a mistake in the code, and leaves a flag. */
#include <string.h>

#include "gym/reply/extract_private.h"

static size_t indentation(struct kg_slice line)
{
    size_t n = 0;
    while (n < line.len && (line.at[n] == ' ' || line.at[n] == '\t')) {
        n++;
    }
    return n;
}

/* Common leading blanks of all lines that hold something. */
static bool dedent(struct kg_slice in, struct kg_buf *out)
{
    struct kg_slice line, first = {NULL, 0};
    size_t common = 0;
    for (size_t at = 0; kg_slice_line(in, &at, &line);) {
        size_t n = indentation(line);
        if (n == line.len) {
            continue;
        }
        if (first.at == NULL) {
            first = line;
            common = n;
        }
        size_t same = 0;
        while (same < common && same < n && line.at[same] == first.at[same]) {
            same++;
        }
        common = same;
    }
    if (common == 0) {
        return false;
    }
    for (size_t at = 0; kg_slice_line(in, &at, &line);) {
        size_t drop = common < line.len ? common : line.len;
        drop = indentation(line) < drop ? indentation(line) : drop;
        kg_buf_add(out, line.at + drop, line.len - drop);
        kg_buf_addc(out, '\n');
    }
    return true;
}

/* Bytes of a `>>> ` or `... ` prompt. */
static size_t prompt(struct kg_slice line)
{
    if (!kg_slice_starts(line, ">>>") && !kg_slice_starts(line, "...")) {
        return 0;
    }
    return line.len == 3 ? 3 : line.at[3] == ' ' ? 4 : 0;
}

static bool prompts(struct kg_slice in, struct kg_buf *out)
{
    struct kg_slice line;
    size_t lines = 0, with = 0;
    for (size_t at = 0; kg_slice_line(in, &at, &line);) {
        lines += kg_slice_trim(line).len > 0;
        with += prompt(line) > 0;
    }
    if (with == 0 || with * 10 < lines * 9) {
        return false;
    }
    for (size_t at = 0; kg_slice_line(in, &at, &line);) {
        size_t drop = prompt(line);
        kg_buf_add(out, line.at + drop, line.len - drop);
        kg_buf_addc(out, '\n');
    }
    return true;
}

/* “ ” and ‘ ’ (U+2018..U+201F) to what a compiler reads. */
static bool curly_quotes(struct kg_slice in, struct kg_buf *out)
{
    bool changed = false;
    size_t from = 0;
    for (size_t at = 0; at + 2 < in.len; at++) {
        const char *lead = memchr(in.at + at, 0xE2, in.len - 2 - at);
        if (lead == NULL) {
            break;
        }
        at = (size_t)(lead - in.at);
        const unsigned char *p = (const unsigned char *)lead;
        if (p[1] != 0x80 || p[2] < 0x98 || p[2] > 0x9F) {
            continue;
        }
        kg_buf_add(out, in.at + from, at - from);
        kg_buf_addc(out, p[2] < 0x9C ? '\'' : '"');
        from = at + 3;
        at += 2;
        changed = true;
    }
    if (changed) {
        kg_buf_add(out, in.at + from, in.len - from);
    }
    return changed;
}

/* A string literal on one line, with or without its quotes, whose newlines are written \n. */
bool kg_repair_escaped(struct kg_slice in, struct kg_buf *out)
{
    struct kg_slice s = kg_slice_trim(in);
    if (memchr(s.at, '\n', s.len) != NULL || memmem(s.at, s.len, "\\n", 2) == NULL) {
        return false;
    }
    if (s.len > 1 && (*s.at == '"' || *s.at == '\'') && s.at[s.len - 1] == *s.at) {
        s = (struct kg_slice){s.at + 1, s.len - 2};
    }
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (c == '\\' && i + 1 < s.len) {
            c = s.at[++i];
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
            if (strchr("\n\t\r\\\"'/", c) == NULL) {
                kg_buf_addc(out, '\\');
            }
        }
        kg_buf_addc(out, c);
    }
    return true;
}

const struct kg_repair kg_reply_repairs[KG_REPAIRS] = {
    {KG_XF_DEDENT, dedent},           {KG_XF_PROMPTS, prompts},
    {KG_XF_GUTTER, kg_repair_gutter}, {KG_XF_ENTITIES, kg_repair_entities},
    {KG_XF_QUOTES, curly_quotes},
};
