/* Two texts word by word: what is gone, what came, what stayed. Replies of small models have few
 * and long lines, so lines would not show what changed. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "rl/report/parts.h"

enum { WORDS = 1600 };

struct text {
    const char *word[WORDS];
    size_t len[WORDS];
    int n;
};

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

/* Names and numbers, blanks, and each other character. False: too many. */
static bool split(const char *s, struct text *out)
{
    for (out->n = 0; *s != '\0'; out->n++) {
        size_t len = 0;
        while (in_word(s[len])) {
            len++;
        }
        len = len > 0 ? len : strspn(s, " \t");
        len = len > 0 ? len : 1;
        if (out->n == WORDS) {
            return false;
        }
        out->word[out->n] = s;
        out->len[out->n] = len;
        s += len;
    }
    return true;
}

static bool equal(const struct text *a, int i, const struct text *b, int j)
{
    return a->len[i] == b->len[j] && memcmp(a->word[i], b->word[j], a->len[i]) == 0;
}

/* Words of one kind in a row are one span. */
struct pen {
    struct kg_buf *out;
    const char *class; /* of the span that is open; NULL: none */
};

static void put(struct pen *p, const char *class, const struct text *t, int i)
{
    if (p->class != class) {
        kg_buf_adds(p->out, p->class != NULL ? "</span>" : "");
        if (class != NULL) {
            kg_buf_addf(p->out, "<span class=\"%s\">", class);
        }
        p->class = class;
    }
    if (t != NULL) {
        kg_html_bytes(p->out, t->word[i], t->len[i]);
    }
}

/* common [n+1][m+1]: length of the longest common part of what follows. */
static void walk(const struct text *a, const struct text *b, const uint16_t *common,
                 struct kg_buf *out)
{
    static const char del[] = "del", ins[] = "ins";
    struct pen p = {.out = out};
    int m = b->n + 1, i = 0, j = 0;
    while (i < a->n || j < b->n) {
        if (i < a->n && j < b->n && equal(a, i, b, j)) {
            put(&p, NULL, b, j++);
            i++;
        } else if (j == b->n || (i < a->n && common[(i + 1) * m + j] >= common[i * m + j + 1])) {
            put(&p, del, a, i++);
        } else {
            put(&p, ins, b, j++);
        }
    }
    put(&p, NULL, NULL, 0);
}

void rl_page_diff(const char *x, const char *y, struct kg_buf *out)
{
    struct text *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
    uint16_t *common = NULL;
    kg_buf_adds(out, "<pre class=\"diff\">");
    if (a != NULL && b != NULL && split(x, a) && split(y, b)) {
        common = calloc((size_t)(a->n + 1) * (size_t)(b->n + 1), sizeof *common);
    }
    if (common == NULL) {
        kg_html_cut(out, y, 20000); /* too long to compare: the later text alone */
    } else {
        for (int i = a->n - 1; i >= 0; i--) {
            for (int j = b->n - 1; j >= 0; j--) {
                uint16_t *at = &common[i * (b->n + 1) + j], down = at[b->n + 1], right = at[1];
                *at = equal(a, i, b, j) ? (uint16_t)(at[b->n + 2] + 1)
                      : down > right    ? down
                                        : right;
            }
        }
        walk(a, b, common, out);
    }
    free(common);
    free(a);
    free(b);
    kg_buf_adds(out, "</pre>\n");
}
