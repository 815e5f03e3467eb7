/* Two texts: what is gone, what came, what stayed; by words, or by lines. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "rl/page/page.h"

enum { WORDS = 1600, LINES = 4000, AROUND = 3 };

/* Parts of a text; those that both texts share at their ends are not compared. */
struct text {
    const char **part;
    size_t *len;
    int n;
};

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

static void text_free(struct text *t)
{
    free(t->part);
    free(t->len);
}

/* False: too many, or no memory. */
static bool split(const char *s, size_t (*next)(const char *), int most, struct text *out)
{
    *out = (struct text){.part = calloc((size_t)most, sizeof *out->part),
                         .len = calloc((size_t)most, sizeof *out->len)};
    bool ok = out->part != NULL && out->len != NULL;
    while (ok && *s != '\0') {
        ok = out->n < most;
        if (ok) {
            out->part[out->n] = s;
            out->len[out->n] = next(s);
            s += out->len[out->n++];
        }
    }
    return ok;
}

static bool equal(const struct text *a, int i, const struct text *b, int j)
{
    return a->len[i] == b->len[j] && memcmp(a->part[i], b->part[j], a->len[i]) == 0;
}

/* What happens to a part: of a DEL, of b KEEP and INS. */
enum act { KEEP, DEL, INS };
struct pen {
    struct kg_buf *out;
    void (*put)(struct pen *, enum act, const struct text *, int);
    enum act open;           /* words: of the span that is open; KEEP: none */
    const struct text *kept; /* lines: equal ones that wait for what follows, [from, to) */
    int from, to;
    bool any; /* lines: something was written */
};

/* Words of one kind in a row are one span. */
static void put_word(struct pen *p, enum act act, const struct text *t, int i)
{
    if (p->open != act) {
        kg_buf_adds(p->out, p->open != KEEP ? "</span>" : "");
        kg_buf_adds(p->out, act == DEL   ? "<span class=\"del\">"
                            : act == INS ? "<span class=\"ins\">"
                                         : "");
        p->open = act;
    }
    if (t != NULL) {
        kg_html_bytes(p->out, t->part[i], t->len[i]);
    }
}

static void line(struct pen *p, const char *before, const struct text *t, int i)
{
    size_t len = t->len[i];
    len -= len > 0 && t->part[i][len - 1] == '\n';
    kg_buf_adds(p->out, before);
    kg_html_bytes(p->out, t->part[i], len);
    kg_buf_adds(p->out, before[0] == '<' ? "</span>\n" : "\n");
}

/* Of equal lines in a row: those beside a change, and how many are left out. last: none follows. */
static void put_kept(struct pen *p, bool last)
{
    int head = p->any ? AROUND : 0, tail = last ? 0 : AROUND, n = p->to - p->from;
    if (n > head + tail + 1) {
        for (int i = p->from; i < p->from + head; i++) {
            line(p, "  ", p->kept, i);
        }
        kg_buf_addf(p->out, "<i>… %d equal lines</i>\n", n - head - tail);
        p->from = p->to - tail;
    }
    for (int i = p->from; i < p->to; i++) {
        line(p, "  ", p->kept, i);
    }
    p->from = p->to = 0;
}

static void put_line(struct pen *p, enum act act, const struct text *t, int i)
{
    if (act == KEEP && t != NULL) {
        p->from = p->to > p->from ? p->from : i;
        p->to = i + 1;
        p->kept = t;
        return;
    }
    if (p->to > p->from) {
        put_kept(p, t == NULL);
    }
    if (t != NULL) {
        line(p, act == DEL ? "<span class=\"del\">- " : "<span class=\"ins\">+ ", t, i);
        p->any = true;
    }
}

/* common [n+1][m+1]: length of the longest common part of what follows the first `skip` parts. */
static void walk(const struct text *a, const struct text *b, const uint16_t *common, int skip,
                 int n, int m, struct pen *p)
{
    int i = 0, j = 0;
    for (int k = 0; k < skip; k++) {
        p->put(p, KEEP, b, k);
    }
    while (i < n || j < m) {
        const uint16_t *at = &common[(size_t)i * (size_t)(m + 1) + (size_t)j];
        if (i < n && j < m && equal(a, skip + i, b, skip + j)) {
            p->put(p, KEEP, b, skip + j++);
            i++;
        } else if (j == m || (i < n && at[m + 1] >= at[1])) {
            p->put(p, DEL, a, skip + i++);
        } else {
            p->put(p, INS, b, skip + j++);
        }
    }
    for (int k = skip + m; k < b->n; k++) {
        p->put(p, KEEP, b, k);
    }
    p->put(p, KEEP, NULL, 0);
}

/* False: no memory, or far too much that differs. */
static bool compare(const struct text *a, const struct text *b, struct pen *p)
{
    int skip = 0, n = a->n, m = b->n;
    while (skip < n && skip < m && equal(a, skip, b, skip)) {
        skip++;
    }
    while (n > skip && m > skip && equal(a, n - 1, b, m - 1)) {
        n--;
        m--;
    }
    n -= skip;
    m -= skip;
    uint16_t *common = calloc((size_t)(n + 1) * (size_t)(m + 1), sizeof *common);
    if (common == NULL) {
        return false;
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = m - 1; j >= 0; j--) {
            uint16_t *at = &common[(size_t)i * (size_t)(m + 1) + (size_t)j];
            uint16_t down = at[m + 1], right = at[1];
            *at = equal(a, skip + i, b, skip + j) ? (uint16_t)(at[m + 2] + 1)
                  : down > right                  ? down
                                                  : right;
        }
    }
    walk(a, b, common, skip, n, m, p);
    free(common);
    return true;
}

static bool diff(const char *x, const char *y, size_t (*next)(const char *), int most,
                 struct pen *p)
{
    struct text a, b = {0};
    bool ok = split(x, next, most, &a) && split(y, next, most, &b) && compare(&a, &b, p);
    text_free(&a);
    text_free(&b);
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
    struct pen p = {.out = out, .put = put_word};
    size_t at = out->len;
    kg_buf_adds(out, "<pre class=\"diff\">");
    if (diff(a, b, word_of, WORDS, &p)) {
        kg_buf_adds(out, "</pre>\n");
    } else {
        out->len = at;
        rl_page_diff_lines(a, b, out);
    }
}
