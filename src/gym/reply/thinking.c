/* Reasoning ends at a closing tag, and only a tag that stands alone on its line is one, so that
 * code may mention the tag. In a reply that begins with reasoning which no such tag ends, the first
 * one does: templates write the answer directly behind it. Some models reason again after the
 * answer, so what stands before an opening tag is read too. */
#include <string.h>
#include <strings.h>

#include "gym/reply/extract_private.h"

static const char *const names[] = {"think", "thinking", "thought", "reasoning"};

/* Length of `<name>` or `</name>` at the beginning of s, 0 if there is none. */
static size_t tag(struct kg_slice s, bool closing)
{
    size_t open = closing ? 2 : 1;
    if (!kg_slice_starts(s, closing ? "</" : "<")) {
        return 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (s.len > open + n && strncasecmp(s.at + open, names[i], n) == 0 &&
            s.at[open + n] == '>') {
            return open + n + 1;
        }
    }
    return 0;
}

static struct kg_slice after_first(struct kg_slice text, bool *closed)
{
    struct kg_slice t = kg_slice_trim(text);
    size_t i = tag(t, false), n = 0;
    while (i > 0 && i < t.len && n == 0) {
        n = tag((struct kg_slice){t.at + i, t.len - i}, true);
        i += n > 0 ? n : 1;
    }
    *closed = n > 0;
    return n > 0 ? (struct kg_slice){t.at + i, t.len - i} : text;
}

struct kg_slice kg_reply_after_thinking(struct kg_slice text, bool *closed)
{
    struct kg_slice rest = text, line;
    *closed = false;
    for (size_t at = 0; kg_slice_line(text, &at, &line);) {
        struct kg_slice t = kg_slice_trim(line);
        size_t n = tag(t, true);
        if (n != 0 && n == t.len) {
            rest = (struct kg_slice){text.at + at, text.len - at};
            *closed = true;
        }
    }
    return *closed ? rest : after_first(text, closed);
}

bool kg_reply_opens_thinking(struct kg_slice line, bool first)
{
    struct kg_slice t = kg_slice_trim(line);
    size_t n = tag(t, false);
    if (n == 0) {
        return false;
    }
    if (n == t.len) {
        return true;
    }
    /* `<think> text`: only as the very beginning of the reply, and not when closed on that line. */
    return first && memmem(t.at + n, t.len - n, "</", 2) == NULL;
}

bool kg_reply_without_thinking(struct kg_slice text, struct kg_buf *out)
{
    struct kg_slice line;
    size_t spoken = 0; /* bytes before the part that is open */
    bool inside = false, any = false;
    kg_buf_reset(out);
    for (size_t from = 0, at = 0; kg_slice_line(text, &at, &line); from = at) {
        struct kg_slice t = kg_slice_trim(line);
        size_t n = tag(t, true);
        if (n != 0 && n == t.len) {
            out->len = inside ? spoken : 0; /* nothing opened it: all before it is reasoning */
            inside = false;
            any = true;
            continue;
        }
        if (!inside && kg_reply_opens_thinking(line, true)) {
            inside = true;
            spoken = out->len;
        }
        kg_buf_add(out, text.at + from, at - from);
    }
    return any;
}
