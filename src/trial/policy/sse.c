/* Splits a stream into lines, and lines into events. */
#include "trial/policy/sse.h"

#include <string.h>

void tr_sse_init(struct tr_sse *s, size_t max_bytes)
{
    *s = (struct tr_sse){.has_data = false};
    kg_buf_init(&s->line, max_bytes);
    kg_buf_init(&s->data, max_bytes);
}

void tr_sse_deinit(struct tr_sse *s)
{
    kg_buf_deinit(&s->line);
    kg_buf_deinit(&s->data);
}

void tr_sse_reset(struct tr_sse *s)
{
    kg_buf_reset(&s->line);
    kg_buf_reset(&s->data);
    s->has_data = s->after_cr = s->begun = false;
}

static enum kg_code too_long(const struct tr_sse *s, struct kg_err *err)
{
    return kg_fail(err, KG_E_LIMIT, "a line or an event of the stream is longer than %zu bytes",
                   s->line.max);
}

static enum kg_code end_event(struct tr_sse *s, tr_sse_event *event, void *user, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    if (s->has_data) {
        code = event(user, s->data.data, s->data.len, err);
    }
    s->has_data = false;
    kg_buf_reset(&s->data);
    return code;
}

/* `data` alone is a field too, with an empty value. */
static enum kg_code end_line(struct tr_sse *s, tr_sse_event *event, void *user, struct kg_err *err)
{
    const char *p = s->line.data;
    size_t n = s->line.len;
    if (!s->begun && n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        p += 3;
        n -= 3;
    }
    s->begun = true;
    if (n == 0) {
        kg_buf_reset(&s->line);
        return end_event(s, event, user, err);
    }
    if (n >= 4 && memcmp(p, "data", 4) == 0 && (n == 4 || p[4] == ':')) {
        size_t skip = n == 4 ? 4 : n > 5 && p[5] == ' ' ? 6 : 5;
        if (s->has_data) {
            kg_buf_addc(&s->data, '\n');
        }
        kg_buf_add(&s->data, p + skip, n - skip);
        s->has_data = true;
    }
    kg_buf_reset(&s->line);
    return kg_buf_ok(&s->data) ? KG_OK : too_long(s, err);
}

enum kg_code tr_sse_feed(struct tr_sse *s, const char *bytes, size_t n, tr_sse_event *event,
                         void *user, struct kg_err *err)
{
    for (size_t at = 0; at < n;) {
        if (s->after_cr && bytes[at] == '\n') {
            s->after_cr = false;
            at++;
            continue;
        }
        s->after_cr = false;
        size_t len = 0;
        while (at + len < n && bytes[at + len] != '\n' && bytes[at + len] != '\r') {
            len++;
        }
        kg_buf_add(&s->line, bytes + at, len);
        if (!kg_buf_ok(&s->line)) {
            return too_long(s, err);
        }
        at += len;
        if (at < n) {
            s->after_cr = bytes[at] == '\r';
            at++;
            if (end_line(s, event, user, err) != KG_OK) {
                return err->code;
            }
        }
    }
    return KG_OK;
}

enum kg_code tr_sse_end(struct tr_sse *s, tr_sse_event *event, void *user, struct kg_err *err)
{
    return end_event(s, event, user, err);
}
