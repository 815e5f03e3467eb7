/* The longest common subsequence by dynamic programming, and hunks of what is not in it. */
#include "trial/refine/line_diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define AROUND 3

struct lines {
    const char **at; /* [n] */
    size_t *len;     /* [n] */
    int n;
};

/* One line of the result: kept, gone (of a) or new (of b). */
struct step {
    char sign;
    int a, b; /* lines before it in a and in b */
};

static bool split(const char *s, struct lines *l)
{
    int n = 0;
    for (const char *p = s; *p != '\0'; n++) {
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    *l = (struct lines){.at = calloc((size_t)n + 1, sizeof *l->at),
                        .len = calloc((size_t)n + 1, sizeof *l->len)};
    if (l->at == NULL || l->len == NULL) {
        return false;
    }
    for (; *s != '\0'; s += *s == '\n') {
        l->at[l->n] = s;
        l->len[l->n] = strcspn(s, "\n");
        s += l->len[l->n++];
    }
    return true;
}

static bool same(const struct lines *a, int i, const struct lines *b, int j)
{
    return a->len[i] == b->len[j] && memcmp(a->at[i], b->at[j], a->len[i]) == 0;
}

/* common [a.n + 1][b.n + 1]: the length of the longest common part of what follows; NULL: all that
 * differs is one change. Between `from` and the last `tail` lines. Returns the number of steps. */
static int walk(const struct lines *a, const struct lines *b, int from, int tail,
                const uint32_t *common, struct step *out)
{
    int i = 0, j = 0, n = 0, m = b->n + 1;
    while (i < a->n || j < b->n) {
        bool keep = common != NULL ? i < a->n && j < b->n && same(a, i, b, j)
                                   : i < from || (a->n - i <= tail && b->n - j <= tail);
        bool gone = i < a->n &&
                    (common != NULL ? j == b->n || common[(i + 1) * m + j] >= common[i * m + j + 1]
                                    : a->n - i > tail);
        out[n++] = (struct step){keep ? ' ' : gone ? '-' : '+', i, j};
        i += keep || gone;
        j += keep || !gone;
    }
    return n;
}

static uint32_t *table(const struct lines *a, const struct lines *b)
{
    size_t m = (size_t)b->n + 1;
    if (a->n > TR_DIFF_LINES || b->n > TR_DIFF_LINES) {
        return NULL;
    }
    uint32_t *t = calloc(((size_t)a->n + 1) * m, sizeof *t);
    for (int i = a->n - 1; t != NULL && i >= 0; i--) {
        for (int j = b->n - 1; j >= 0; j--) {
            size_t at = (size_t)i * m + (size_t)j;
            uint32_t down = t[at + m], right = t[at + 1];
            t[at] = same(a, i, b, j) ? t[at + m + 1] + 1 : down > right ? down : right;
        }
    }
    return t;
}

/* One hunk: steps from..to - 1. */
static void hunk(const struct lines *a, const struct lines *b, const struct step *s, int from,
                 int to, struct kg_buf *out)
{
    int of_a = 0, of_b = 0;
    for (int k = from; k < to; k++) {
        of_a += s[k].sign != '+';
        of_b += s[k].sign != '-';
    }
    kg_buf_addf(out, "@@ -%d,%d +%d,%d @@\n", s[from].a + (of_a > 0), of_a, s[from].b + (of_b > 0),
                of_b);
    for (int k = from; k < to; k++) {
        const struct lines *l = s[k].sign == '+' ? b : a;
        int line = s[k].sign == '+' ? s[k].b : s[k].a;
        kg_buf_addc(out, s[k].sign);
        kg_buf_add(out, l->at[line], l->len[line]);
        kg_buf_addc(out, '\n');
    }
}

static void hunks(const struct lines *a, const struct lines *b, const struct step *s, int n,
                  struct kg_buf *out)
{
    for (int k = 0; k < n; k++) {
        if (s[k].sign == ' ') {
            continue;
        }
        int from = k > AROUND ? k - AROUND : 0, last = k;
        for (int i = k; i < n && i <= last + 2 * AROUND; i++) {
            last = s[i].sign != ' ' ? i : last;
        }
        int to = last + 1 + AROUND < n ? last + 1 + AROUND : n;
        hunk(a, b, s, from, to, out);
        k = to - 1;
    }
}

void tr_line_diff(const char *name_a, const char *a, const char *name_b, const char *b,
                  struct kg_buf *out)
{
    struct lines x = {0}, y = {0};
    bool ok = split(a, &x), both = split(b, &y) && ok;
    struct step *s = both ? calloc((size_t)(x.n + y.n) + 1, sizeof *s) : NULL;
    int from = 0, tail = 0, least = x.n < y.n ? x.n : y.n;
    if (s != NULL && strcmp(a, b) != 0) {
        uint32_t *common = table(&x, &y);
        while (from < least && same(&x, from, &y, from)) {
            from++;
        }
        while (tail < least - from && same(&x, x.n - 1 - tail, &y, y.n - 1 - tail)) {
            tail++;
        }
        int n = walk(&x, &y, from, tail, common, s);
        kg_buf_addf(out, "--- %s\n+++ %s\n", name_a, name_b);
        hunks(&x, &y, s, n, out);
        free(common);
    }
    free(s);
    free(x.at);
    free(x.len);
    free(y.at);
    free(y.len);
}
