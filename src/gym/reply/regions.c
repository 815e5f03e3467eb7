/* Finds the regions of a reply between tags such as <answer>, <pre> and <code>. */
#include <string.h>
#include <strings.h>

#include "gym/reply/extract_private.h"

static const struct {
    const char *name, *rule;
} kinds[] = {{"answer", "answer-tag"},   {"pre", "pre-code"},        {"code", "code-tag"},
             {"solution", "answer-tag"}, {"response", "answer-tag"}, {"final", "answer-tag"},
             {"python", "answer-tag"},   {"cpp", "answer-tag"},      {"file", "answer-tag"}};
enum { PRE = 1, CODE = 2, KINDS = sizeof kinds / sizeof *kinds };

static const char *rule_of(int kind, const char *const *open)
{
    return kinds[kind == CODE && open[PRE] != NULL ? PRE : kind].rule;
}

/* Which tag stands at s (`<name ...>` or `</name>`), -1: none; *len: its length. */
static int tag_at(struct kg_slice s, bool *closing, size_t *len)
{
    *closing = s.len > 1 && s.at[1] == '/';
    size_t p = *closing ? 2 : 1;
    for (int k = 0; k < KINDS; k++) {
        size_t n = strlen(kinds[k].name);
        if (s.len <= p + n || strncasecmp(s.at + p, kinds[k].name, n) != 0 ||
            (s.at[p + n] != '>' && s.at[p + n] != ' ')) {
            continue;
        }
        size_t most = s.len < 200 ? s.len : 200; /* attributes are short */
        const char *end = memchr(s.at, '>', most);
        if (end == NULL || memchr(s.at, '\n', (size_t)(end - s.at)) != NULL) {
            return -1;
        }
        *len = (size_t)(end - s.at) + 1;
        return k;
    }
    return -1;
}

/* Keeps the list ordered by where regions begin, the last first; the earliest fall off. */
static int insert(struct kg_region *list, int n, struct kg_region r)
{
    int at = n < KG_REGIONS_MAX ? n : KG_REGIONS_MAX - 1;
    if (n == KG_REGIONS_MAX && list[at].code.at > r.code.at) {
        return n;
    }
    while (at > 0 && list[at - 1].code.at < r.code.at) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = r;
    return n < KG_REGIONS_MAX ? n + 1 : n;
}

int kg_regions_find(struct kg_slice text, struct kg_region out[KG_REGIONS_MAX])
{
    const char *open[KINDS] = {NULL}, *end = text.at + text.len, *p = text.at;
    int n = 0;
    while (p < end && (p = memchr(p, '<', (size_t)(end - p))) != NULL) {
        bool closing;
        size_t len = 1;
        int k = tag_at((struct kg_slice){p, (size_t)(end - p)}, &closing, &len);
        if (k >= 0 && !closing) {
            open[k] = p + len;
        } else if (k >= 0 && open[k] != NULL) {
            struct kg_slice code = {open[k], (size_t)(p - open[k])};
            n = insert(out, n, (struct kg_region){code, rule_of(k, open), true});
            open[k] = NULL;
        }
        p += len;
    }
    for (int k = 0; k < KINDS; k++) {
        if (open[k] != NULL) {
            struct kg_slice code = {open[k], (size_t)(end - open[k])};
            n = insert(out, n, (struct kg_region){code, rule_of(k, open), false});
        }
    }
    return n;
}
