/* Sets of problem numbers, from ranges and lists as KernelBench's options write them. */
#include "gym/kernelbench/numbers.h"

#include <stdlib.h>
#include <string.h>

const char *kg_kb_number(const char *s, int *out)
{
    int v = 0;
    const char *at = s;
    for (; *at >= '0' && *at <= '9'; at++) {
        v = v * 10 + (*at - '0');
        if (v > KG_KB_MAX_NUMBER) {
            return NULL;
        }
    }
    *out = v;
    return at == s ? NULL : at;
}

static const char *blanks(const char *s)
{
    return s + strspn(s, " \t");
}

static enum kg_code add(struct kg_kb_numbers *set, int lo, int hi, const char *what,
                        struct kg_err *err)
{
    if (set->n == KG_KB_MAX_RANGES) {
        return kg_fail(err, KG_E_USAGE, "%s: more than %d numbers and ranges", what,
                       KG_KB_MAX_RANGES);
    }
    set->range[set->n].lo = lo;
    set->range[set->n].hi = hi;
    set->n++;
    return KG_OK;
}

/* Takes off one pair of brackets; *end is where the list ends. NULL: they do not match. */
static const char *inside(const char *text, const char **end)
{
    const char *s = blanks(text);
    size_t n = strlen(s);
    while (n > 0 && strchr(" \t", s[n - 1])) {
        n--;
    }
    char close = *s == '[' ? ']' : *s == '(' ? ')' : 0;
    if (close && (n < 2 || s[n - 1] != close)) {
        return NULL;
    }
    *end = s + n - (close != 0);
    return close ? s + 1 : s;
}

static enum kg_code bad_list(const char *what, const char *text, struct kg_err *err)
{
    return kg_fail(err, KG_E_USAGE,
                   "%s `%.100s`: numbers from 0 to %d are needed, such as `1,3-5` or `[1, 3]`",
                   what, text, KG_KB_MAX_NUMBER);
}

static bool is_none(const char *s, const char *end)
{
    return end - s == 4 && memcmp(s, "None", 4) == 0;
}

enum kg_code kg_kb_numbers_parse(const char *what, const char *text, struct kg_kb_numbers *out,
                                 struct kg_err *err)
{
    const char *end, *s = inside(text, &end);
    out->n = 0;
    if (!s) {
        return bad_list(what, text, err);
    }
    s = blanks(s);
    if (s >= end || is_none(s, end)) {
        return KG_OK;
    }
    for (;;) {
        int lo, hi;
        s = kg_kb_number(blanks(s), &lo);
        hi = lo;
        s = s && *blanks(s) == '-' ? kg_kb_number(blanks(blanks(s) + 1), &hi) : s;
        if (!s || s > end || hi < lo) {
            return bad_list(what, text, err);
        }
        if (add(out, lo, hi, what, err) != KG_OK) {
            return err->code;
        }
        s = blanks(s);
        if (s >= end) {
            return KG_OK;
        }
        if (*s++ != ',') {
            return bad_list(what, text, err);
        }
        if (blanks(s) >= end) { /* Python allows a last comma */
            return KG_OK;
        }
    }
}

/* One end of a range: a number, or None for `open`. */
static const char *bound(const char *s, int open, int *out)
{
    s = blanks(s);
    if (strncmp(s, "None", 4) == 0) {
        *out = open;
        return blanks(s + 4);
    }
    s = kg_kb_number(s, out);
    return s ? blanks(s) : NULL;
}

enum kg_code kg_kb_numbers_range(const char *what, const char *text, struct kg_kb_numbers *out,
                                 struct kg_err *err)
{
    const char *end, *s = inside(text, &end);
    int lo = 0, hi = 0;
    bool both_open = s && strncmp(blanks(s), "None", 4) == 0;
    out->n = 0;
    if (s && is_none(blanks(s), end)) {
        return KG_OK;
    }
    s = s ? bound(s, 0, &lo) : NULL;
    s = s && *s == ',' ? bound(s + 1, KG_KB_MAX_NUMBER, &hi) : NULL;
    if (!s || s != end || hi < lo) {
        return kg_fail(err, KG_E_USAGE, "%s `%.100s`: a pair is needed, such as `(1, 20)`", what,
                       text);
    }
    return both_open && hi == KG_KB_MAX_NUMBER ? KG_OK : add(out, lo, hi, what, err);
}

bool kg_kb_numbers_has(const struct kg_kb_numbers *set, int v)
{
    bool in = set->n == 0;
    for (int i = 0; i < set->n && !in; i++) {
        in = v >= set->range[i].lo && v <= set->range[i].hi;
    }
    return in;
}

enum kg_code kg_kb_numbers_unite(struct kg_kb_numbers *into, const struct kg_kb_numbers *more,
                                 struct kg_err *err)
{
    for (int i = 0; i < more->n; i++) {
        if (add(into, more->range[i].lo, more->range[i].hi, "problem ids", err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}
