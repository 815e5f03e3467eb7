#include <string.h>

#include "gym/reply/extract_private.h"

static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct kg_slice kg_slice_trim(struct kg_slice s)
{
    while (s.len > 0 && blank(s.at[0])) {
        s.at++;
        s.len--;
    }
    while (s.len > 0 && blank(s.at[s.len - 1])) {
        s.len--;
    }
    return s;
}

bool kg_slice_line(struct kg_slice s, size_t *at, struct kg_slice *line)
{
    if (*at >= s.len) {
        return false;
    }
    const char *from = s.at + *at;
    const char *nl = memchr(from, '\n', s.len - *at);
    line->at = from;
    line->len = nl != NULL ? (size_t)(nl - from) : s.len - *at;
    *at += line->len + (nl != NULL ? 1 : 0);
    return true;
}

bool kg_slice_starts(struct kg_slice s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.len >= n && memcmp(s.at, prefix, n) == 0;
}
