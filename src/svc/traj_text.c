/* Cutting members out of a JSON text, and putting them in. */
#include "svc/traj_text.h"

#include <string.h>

#include "base/utf8.h"

enum { LEVELS = 64 };

struct scan {
    const char *at, *end;
};

static void blanks(struct scan *s)
{
    while (s->at < s->end && strchr(" \t\r\n", *s->at) != NULL && *s->at != '\0') {
        s->at++;
    }
}

static bool take(struct scan *s, char c)
{
    bool there = s->at < s->end && *s->at == c;
    s->at += there;
    return there;
}

static bool word(struct scan *s, const char *text)
{
    size_t n = strlen(text);
    bool there = (size_t)(s->end - s->at) >= n && memcmp(s->at, text, n) == 0;
    s->at += there ? n : 0;
    return there;
}

static size_t digits(struct scan *s)
{
    size_t n = 0;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
        n++;
    }
    return n;
}

static bool number(struct scan *s)
{
    take(s, '-');
    bool ok = take(s, '0') || digits(s) > 0;
    if (ok && take(s, '.')) {
        ok = digits(s) > 0;
    }
    if (ok && (take(s, 'e') || take(s, 'E'))) {
        if (!take(s, '-')) {
            take(s, '+');
        }
        ok = digits(s) > 0;
    }
    return ok;
}

/* What follows a backslash. */
static bool escape(struct scan *s)
{
    if (s->at >= s->end || *s->at == '\0' || strchr("\"\\/bfnrtu", *s->at) == NULL) {
        return false;
    }
    int hex = *s->at++ == 'u' ? 4 : 0;
    for (; hex > 0 && s->at < s->end && *s->at != '\0' &&
           strchr("0123456789abcdefABCDEF", *s->at) != NULL;
         s->at++) {
        hex--;
    }
    return hex == 0;
}

static bool string(struct scan *s)
{
    if (!take(s, '"')) {
        return false;
    }
    while (s->at < s->end && *s->at != '"') {
        uint32_t c;
        bool ok = true;
        s->at += kg_utf8_next(s->at, (size_t)(s->end - s->at), &c, &ok);
        if (!ok || c < 0x20 || (c == '\\' && !escape(s))) {
            return false;
        }
    }
    return take(s, '"');
}

static bool value(struct scan *s, int level);

/* The members of an object, or the values of an array, up to its end. */
static bool several(struct scan *s, char end, int level)
{
    blanks(s);
    if (take(s, end)) {
        return true;
    }
    do {
        blanks(s);
        if (end == '}') {
            if (!string(s)) {
                return false;
            }
            blanks(s);
            if (!take(s, ':')) {
                return false;
            }
            blanks(s);
        }
        if (!value(s, level)) {
            return false;
        }
        blanks(s);
    } while (take(s, ','));
    return take(s, end);
}

static bool value(struct scan *s, int level)
{
    if (level > LEVELS || s->at >= s->end) {
        return false;
    }
    switch (*s->at) {
    case '{':
        s->at++;
        return several(s, '}', level + 1);
    case '[':
        s->at++;
        return several(s, ']', level + 1);
    case '"':
        return string(s);
    case 't':
        return word(s, "true");
    case 'f':
        return word(s, "false");
    case 'n':
        return word(s, "null");
    default:
        return number(s);
    }
}

/* Is this string, quotes included, the text of a name? */
static bool is_name(const char *at, size_t len, const char *name)
{
    if (memchr(at, '\\', len) == NULL) {
        return len == strlen(name) + 2 && memcmp(at + 1, name, len - 2) == 0;
    }
    json_t *j = json_loadb(at, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    bool same = j != NULL && json_string_length(j) == strlen(name) &&
                strcmp(json_string_value(j), name) == 0;
    json_decref(j);
    return same;
}

/* One member. Its value goes to out [n] if it has one of the names. */
static bool member(struct scan *s, const char *const *names, size_t n, struct kg_svc_slice *out,
                   struct kg_buf *rest)
{
    const char *name = s->at;
    if (!string(s)) {
        return false;
    }
    size_t len = (size_t)(s->at - name);
    blanks(s);
    if (!take(s, ':')) {
        return false;
    }
    blanks(s);
    const char *at = s->at;
    if (!value(s, 2)) {
        return false;
    }
    struct kg_svc_slice it = {at, (size_t)(s->at - at)}, left = it;
    for (size_t i = 0; i < n; i++) {
        if (is_name(name, len, names[i])) {
            out[i] = it;
            left = (struct kg_svc_slice){"null", 4};
        }
    }
    kg_buf_add(rest, name, len);
    kg_buf_addc(rest, ':');
    kg_buf_add(rest, left.at, left.len);
    return true;
}

static bool cut(struct scan *s, const char *const *names, size_t n, struct kg_svc_slice *out,
                struct kg_buf *rest)
{
    blanks(s);
    if (!take(s, '{')) {
        return false;
    }
    kg_buf_addc(rest, '{');
    blanks(s);
    if (!take(s, '}')) {
        bool more;
        do {
            blanks(s);
            if (!member(s, names, n, out, rest)) {
                return false;
            }
            blanks(s);
            more = take(s, ',');
            kg_buf_adds(rest, more ? "," : "");
        } while (more);
        if (!take(s, '}')) {
            return false;
        }
    }
    kg_buf_addc(rest, '}');
    blanks(s);
    return s->at == s->end;
}

enum kg_code kg_svc_traj_cut(const char *text, size_t len, const char *const *names, size_t n,
                             struct kg_svc_slice *out, struct kg_buf *rest, struct kg_err *err)
{
    struct scan s = {text, text + len};
    memset(out, 0, n * sizeof *out);
    if (!cut(&s, names, n, out, rest)) {
        return kg_fail(err, KG_E_USAGE, "no JSON object at byte %zu", (size_t)(s.at - text));
    }
    return kg_buf_ok(rest) ? KG_OK : kg_fail(err, KG_E_LIMIT, "the object is too long");
}

void kg_svc_traj_splice(struct kg_buf *out, const char *name, struct kg_svc_slice v,
                        const char *other)
{
    if (!kg_buf_ok(out)) {
        return;
    }
    KG_ASSERT(out->len > 1 && out->data[out->len - 1] == '}');
    out->len--;
    kg_buf_addf(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",", name);
    kg_buf_add(out, v.at != NULL ? v.at : other, v.at != NULL ? v.len : strlen(other));
    kg_buf_addc(out, '}');
}

void kg_svc_traj_one_line(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        text[i] = text[i] == '\n' || text[i] == '\r' ? ' ' : text[i];
    }
}
