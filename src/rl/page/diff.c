/* Two texts: what is gone, what came, what stayed; by words, or by lines. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/diff.h"
#include "rl/page/page.h"

enum { WORDS = 1600, LINES = 4000, AROUND = 3 };

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

/* Names and numbers, blanks, and each other character. */
static size_t word_of(const char *s)
{
    size_t len = 0;
    while (in_word(s[len])) {
        len++;
    }
    len = len > 0 ? len : strspn(s, " \t");
    return len > 0 ? len : 1;
}

/* With its end. */
static size_t line_of(const char *s)
{
    size_t len = strcspn(s, "\n");
    return len + (s[len] == '\n');
}

/* The parts of a text, [most], the caller's; NULL: too many, or no memory. */
static struct kg_part *split(const char *s, size_t (*next)(const char *), int most, int *n)
{
    struct kg_part *part = calloc((size_t)most, sizeof *part);
    for (*n = 0; part != NULL && *s != '\0' && *n < most; s += part[(*n)++].len) {
        part[*n] = (struct kg_part){s, next(s)};
    }
    if (*s != '\0') {
        free(part);
        part = NULL;
    }
    return part;
}

/* Signs are those of struct kg_change. */
struct pen {
    struct kg_buf *out;
    void (*put)(struct pen *, char sign, const struct kg_part *); /* NULL: there are no more */
    char open;                  /* words: of the span that is open; ' ': none */
    const struct kg_part *kept; /* lines: equal ones that wait for what follows, [n] in a row */
    int n;
    bool any; /* lines: something was written */
};

/* Words of one kind in a row are one span. */
static void put_word(struct pen *p, char sign, const struct kg_part *word)
{
    if (p->open != sign) {
        kg_buf_adds(p->out, p->open != ' ' ? "</span>" : "");
        kg_buf_adds(p->out, sign == '-'   ? "<span class=\"del\">"
                            : sign == '+' ? "<span class=\"ins\">"
                                          : "");
        p->open = sign;
    }
    if (word != NULL) {
        kg_html_bytes(p->out, word->s, word->len);
    }
}

static void put(struct pen *p, const char *before, const struct kg_part *line)
{
    size_t len = line->len;
    len -= len > 0 && line->s[len - 1] == '\n';
    kg_buf_adds(p->out, before);
    kg_html_bytes(p->out, line->s, len);
    kg_buf_adds(p->out, before[0] == '<' ? "</span>\n" : "\n");
}

/* Of equal lines in a row: those beside a change, and how many are left out. last: none follows. */
static void put_kept(struct pen *p, bool last)
{
    int head = p->any ? AROUND : 0, tail = last ? 0 : AROUND;
    bool skips = p->n > head + tail + 1;
    for (int i = 0; i < p->n; i++) {
        if (!skips || i < head || i >= p->n - tail) {
            put(p, "  ", &p->kept[i]);
        } else if (i == head) {
            kg_buf_addf(p->out, "<i>… %d equal lines</i>\n", p->n - head - tail);
        }
    }
    p->n = 0;
}

static void put_line(struct pen *p, char sign, const struct kg_part *line)
{
    if (sign == ' ' && line != NULL) {
        p->kept = p->n++ > 0 ? p->kept : line;
        return;
    }
    put_kept(p, line == NULL);
    if (line != NULL) {
        put(p, sign == '-' ? "<span class=\"del\">- " : "<span class=\"ins\">+ ", line);
        p->any = true;
    }
}

static bool diff(const char *x, const char *y, size_t (*next)(const char *), int most,
                 struct pen *p)
{
    int na = 0, nb = 0;
    struct kg_part *a = split(x, next, most, &na), *b = split(y, next, most, &nb);
    struct kg_change *c = calloc((size_t)na + (size_t)nb + 1, sizeof *c);
    bool ok = a != NULL && b != NULL && c != NULL;
    int n = ok ? kg_diff(a, na, b, nb, c) : 0;
    for (int i = 0; i < n; i++) {
        p->put(p, c[i].sign, c[i].sign == '-' ? &a[c[i].a] : &b[c[i].b]);
    }
    if (ok) {
        p->put(p, ' ', NULL);
    }
    free(a);
    free(b);
    free(c);
    return ok;
}

void rl_page_diff_lines(const char *a, const char *b, struct kg_buf *out)
{
    struct pen p = {.out = out, .put = put_line};
    kg_buf_adds(out, "<pre class=\"diff lines\">");
    if (!diff(a, b, line_of, LINES, &p)) {
        kg_html_cut(out, b, 20000); /* too long to compare: the later text alone */
    }
    kg_buf_adds(out, "</pre>\n");
}

void rl_page_diff(const char *a, const char *b, struct kg_buf *out)
{
    struct pen p = {.out = out, .put = put_word, .open = ' '};
    size_t at = out->len;
    kg_buf_adds(out, "<pre class=\"diff\">");
    if (diff(a, b, word_of, WORDS, &p)) {
        kg_buf_adds(out, "</pre>\n");
    } else {
        out->len = at;
        rl_page_diff_lines(a, b, out);
    }
}
