/* Hunks of what changed. */
#include "trial/refine/line_diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/diff.h"

#define AROUND 3

/* The lines of a text, the caller's. NULL: no memory. */
static struct kg_part *split(const char *s, int *n)
{
    int most = 1;
    for (const char *at = s; (at = strchr(at, '\n')) != NULL; at++) {
        most++;
    }
    struct kg_part *line = calloc((size_t)most, sizeof *line);
    for (*n = 0; line != NULL && *s != '\0'; s += *s == '\n') {
        line[*n] = (struct kg_part){s, strcspn(s, "\n")};
        s += line[(*n)++].len;
    }
    return line;
}

/* One hunk: steps from..to - 1. */
static void hunk(const struct kg_part *a, const struct kg_part *b, const struct kg_change *s,
                 int from, int to, struct kg_buf *out)
{
    int of_a = 0, of_b = 0;
    for (int k = from; k < to; k++) {
        of_a += s[k].sign != '+';
        of_b += s[k].sign != '-';
    }
    kg_buf_addf(out, "@@ -%d,%d +%d,%d @@\n", s[from].a + (of_a > 0), of_a, s[from].b + (of_b > 0),
                of_b);
    for (int k = from; k < to; k++) {
        const struct kg_part *line = s[k].sign == '+' ? &b[s[k].b] : &a[s[k].a];
        kg_buf_addc(out, s[k].sign);
        kg_buf_add(out, line->s, line->len);
        kg_buf_addc(out, '\n');
    }
}

static void hunks(const struct kg_part *a, const struct kg_part *b, const struct kg_change *s,
                  int n, struct kg_buf *out)
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
    int na = 0, nb = 0;
    struct kg_part *x = split(a, &na), *y = split(b, &nb);
    struct kg_change *s = calloc((size_t)na + (size_t)nb + 1, sizeof *s);
    if (x == NULL || y == NULL || s == NULL) {
        out->truncated = true; /* no memory */
    } else if (strcmp(a, b) != 0) {
        kg_buf_addf(out, "--- %s\n+++ %s\n", name_a, name_b);
        hunks(x, y, s, kg_diff(x, na, y, nb, s), out);
    }
    free(s);
    free(x);
    free(y);
}
