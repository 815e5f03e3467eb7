/* Writes the lines of a card: wrapping, columns, colours, and characters that the terminal has. */
#include "gym/card/pen.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* What can be shown, on one line. Bounded: a card needs no longer strings. */
#define CLEAN_MAX 16384

static void clean(const struct kg_pen *p, const char *text, struct kg_buf *out)
{
    kg_buf_init(out, CLEAN_MAX);
    struct kg_buf shown;
    kg_buf_init(&shown, CLEAN_MAX);
    kg_term_add(&shown, false, KG_PLAIN, text);
    for (size_t at = 0; at < shown.len;) {
        uint32_t cp;
        bool ok;
        size_t n = kg_utf8_next(shown.data + at, shown.len - at, &cp, &ok);
        if (cp == '\n' || cp == '\t') {
            kg_buf_addc(out, ' ');
        } else if (!ok || (p->ascii && cp > 0x7e)) {
            kg_buf_addc(out, '?');
        } else {
            kg_buf_add(out, shown.data + at, n);
        }
        at += n;
    }
    kg_buf_deinit(&shown);
}

/* Bytes of s[0..n) that fill at most `room` columns, whole characters. */
static size_t fitting(const char *s, size_t n, int room, int *columns)
{
    size_t at = 0;
    *columns = 0;
    while (at < n) {
        uint32_t cp;
        bool ok;
        char one[8] = "";
        size_t len = kg_utf8_next(s + at, n - at, &cp, &ok);
        memcpy(one, s + at, len);
        int w = (int)kg_term_columns(one);
        if (*columns + w > room) {
            break;
        }
        *columns += w;
        at += len;
    }
    return at;
}

static void raw(struct kg_pen *p, enum kg_style style, const char *s, size_t n, int columns)
{
    if (n > 0) {
        struct kg_buf part;
        kg_buf_init(&part, CLEAN_MAX);
        kg_buf_add(&part, s, n);
        kg_term_add(p->out, p->colour, style, part.data);
        kg_buf_deinit(&part);
        p->column += columns;
    }
}

void kg_pen_put(struct kg_pen *p, enum kg_style style, const char *text)
{
    struct kg_buf b;
    int columns;
    int room = p->width - p->column;
    clean(p, text, &b);
    size_t n = fitting(b.data, b.len, room, &columns);
    if (n < b.len && room > 0) {
        n = fitting(b.data, b.len, room - 1, &columns);
        raw(p, style, b.data, n, columns);
        kg_pen_to(p, p->width - 1);
        kg_buf_adds(p->out, kg_pen_pick(p, "…", "~"));
        p->column++;
    } else {
        raw(p, style, b.data, n, columns);
    }
    kg_buf_deinit(&b);
}

void kg_pen_putf(struct kg_pen *p, enum kg_style style, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kg_pen_put(p, style, text);
}

static void break_line(struct kg_pen *p, int indent)
{
    kg_pen_line(p);
    kg_pen_to(p, indent);
}

void kg_pen_wrap(struct kg_pen *p, enum kg_style style, int indent, const char *text)
{
    struct kg_buf b;
    clean(p, text, &b);
    indent = indent < p->width / 2 ? indent : 0;
    for (size_t at = 0; at < b.len;) {
        at += strspn(b.data + at, " ");
        size_t n = strcspn(b.data + at, " ");
        int columns, blank = p->column > indent;
        if (n == 0) {
            break;
        }
        fitting(b.data + at, n, p->width, &columns);
        if (p->column + blank + columns > p->width && p->column > indent) {
            break_line(p, indent);
            blank = 0;
        }
        if (blank) {
            kg_pen_to(p, p->column + 1);
        }
        size_t fits = fitting(b.data + at, n, p->width - p->column, &columns);
        raw(p, style, b.data + at, fits, columns);
        at += fits;
        if (fits < n) {
            if (columns == 0) {
                break; /* not even one character fits: nothing to gain from going on */
            }
            break_line(p, indent);
        }
    }
    kg_buf_deinit(&b);
}

void kg_pen_wrapf(struct kg_pen *p, enum kg_style style, int indent, const char *fmt, ...)
{
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kg_pen_wrap(p, style, indent, text);
}

void kg_pen_to(struct kg_pen *p, int column)
{
    for (; p->column < column && p->column < p->width; p->column++) {
        kg_buf_addc(p->out, ' ');
    }
}

void kg_pen_line(struct kg_pen *p)
{
    while (p->out->len > 0 && p->out->data[p->out->len - 1] == ' ') {
        p->out->len--; /* no trailing blanks: they spoil diffs and copies */
    }
    p->out->data[p->out->len] = '\0';
    kg_buf_addc(p->out, '\n');
    p->column = 0;
}

const char *kg_pen_pick(const struct kg_pen *p, const char *unicode, const char *ascii)
{
    return p->ascii ? ascii : unicode;
}
