/* What is held out: pairs of operators by a seed, and proof that a corpus keeps to it. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "rl/chains/chains.h"

static void rng_of(struct kg_rng *r, uint64_t seed, const char *label, uint64_t number)
{
    const struct kg_key key = {{seed, 0x636861696e73}}; /* "chains" */
    kg_rng_init(r, kg_key_derive(key, label, number), 0);
}

static void shuffle(struct rl_chain *c, size_t n, struct kg_rng *r)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)kg_rng_below(r, i);
        struct rl_chain swap = c[i - 1];
        c[i - 1] = c[j];
        c[j] = swap;
    }
}

static struct rl_chain *list_all(int n, size_t *count)
{
    *count = rl_chains_list(n, NULL, 0);
    struct rl_chain *all = calloc(*count + 1, sizeof *all);
    KG_ASSERT(all != NULL);
    rl_chains_list(n, all, *count);
    return all;
}

void rl_split_init(struct rl_split *s, uint64_t seed, int part)
{
    struct kg_rng r;
    size_t n;
    KG_ASSERT(part >= 0 && part < RL_PARTS && rl_ops_count() <= RL_OPS_MAX);
    memset(s, 0, sizeof *s);
    s->seed = seed;
    s->part = part;
    struct rl_chain *pair = list_all(2, &n);
    rng_of(&r, seed, "pairs", 0);
    shuffle(pair, n, &r);
    kg_rng_deinit(&r);
    for (size_t i = n * (size_t)part / RL_PARTS; i < n * (size_t)(part + 1) / RL_PARTS; i++) {
        s->held[pair[i].op[0]][pair[i].op[1]] = 1;
    }
    free(pair);
}

bool rl_split_holds_out(const struct rl_split *s, const struct rl_chain *c)
{
    bool held = false;
    for (int i = 1; i < c->n; i++) {
        held = held || s->held[c->op[i - 1]][c->op[i]];
    }
    return held;
}

size_t rl_split_list(const struct rl_split *s, int n, bool held, struct rl_chain *out, size_t cap)
{
    struct kg_rng r;
    size_t total, found = 0;
    struct rl_chain *all = list_all(n, &total);
    rng_of(&r, s->seed, "order", (uint64_t)n);
    shuffle(all, total, &r);
    kg_rng_deinit(&r);
    for (size_t i = 0; i < total; i++) {
        if (rl_split_holds_out(s, &all[i]) == held) {
            if (found < cap) {
                out[found] = all[i];
            }
            found++;
        }
    }
    free(all);
    return found;
}

/* --- the audit --- */

struct print { /* of a text that must not be in the corpus */
    char sha[KG_SHA256_HEX];
    struct rl_chain chain;
};

struct rl_audit {
    struct rl_split split;
    struct print *print; /* sorted by sha */
    size_t n, cap;
};

/* SHA-256 of the text without its blanks. */
static void hash(const char *text, size_t len, char out[KG_SHA256_HEX])
{
    char *bare = malloc(len + 1);
    size_t n = 0;
    KG_ASSERT(bare != NULL);
    for (size_t i = 0; i < len; i++) {
        bare[n] = text[i];
        n += !isspace((unsigned char)text[i]);
    }
    kg_sha256_hex(bare, n, out);
    free(bare);
}

static int by_sha(const void *a, const void *b)
{
    return strcmp(((const struct print *)a)->sha, ((const struct print *)b)->sha);
}

static void add_print(struct rl_audit *a, const struct rl_chain *c, const struct kg_buf *text)
{
    KG_ASSERT(a->n < a->cap && kg_buf_ok(text));
    hash(text->data, text->len, a->print[a->n].sha);
    a->print[a->n++].chain = *c;
}

static void add_chain(struct rl_audit *a, const struct rl_chain *c, struct kg_buf *text)
{
    struct rl_style style[RL_STYLES];
    int n = rl_styles_list(c, style);
    kg_buf_reset(text);
    rl_chain_problem(c, text);
    add_print(a, c, text);
    for (int i = 0; i < n; i++) {
        kg_buf_reset(text);
        rl_chain_code(c, style[i], text);
        add_print(a, c, text);
    }
}

enum kg_code rl_audit_create(const struct rl_split *s, const struct rl_chain *held, size_t n,
                             struct rl_audit **out, struct kg_err *err)
{
    struct kg_buf text;
    char name[RL_CHAIN_NAME];
    struct rl_audit *a = calloc(1, sizeof *a);
    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!rl_split_holds_out(s, &held[i])) {
            rl_chain_name(&held[i], name);
            free(a);
            return kg_fail(err, KG_E_INPUT, "%s: the evaluation has a chain that is not held out",
                           name);
        }
    }
    KG_ASSERT(a != NULL);
    a->split = *s;
    a->cap = n * (RL_STYLES + 1);
    a->print = calloc(a->cap + 1, sizeof *a->print);
    KG_ASSERT(a->print != NULL);
    kg_buf_init(&text, RL_CHAIN_BYTES);
    for (size_t i = 0; i < n; i++) {
        add_chain(a, &held[i], &text);
    }
    kg_buf_deinit(&text);
    qsort(a->print, a->n, sizeof *a->print, by_sha);
    *out = a;
    return KG_OK;
}

void rl_audit_destroy(struct rl_audit *a)
{
    if (a) {
        free(a->print);
        free(a);
    }
}

enum kg_code rl_audit_text(const struct rl_audit *a, const char *text, size_t len,
                           struct kg_err *err)
{
    char name[RL_CHAIN_NAME];
    struct print key = {0};
    hash(text, len, key.sha);
    const struct print *found = bsearch(&key, a->print, a->n, sizeof key, by_sha);
    if (!found) {
        return KG_OK;
    }
    rl_chain_name(&found->chain, name);
    return kg_fail(err, KG_E_INPUT, "a text of the corpus is one of %s, which is held out", name);
}

enum kg_code rl_audit_chain(const struct rl_audit *a, const struct rl_chain *c, struct kg_err *err)
{
    struct kg_buf text;
    char name[RL_CHAIN_NAME];
    rl_chain_name(c, name);
    if (rl_split_holds_out(&a->split, c)) {
        return kg_fail(err, KG_E_INPUT, "%s: it is trained on and has a pair that is held out",
                       name);
    }
    kg_buf_init(&text, RL_CHAIN_BYTES);
    rl_chain_problem(c, &text);
    enum kg_code code = rl_audit_text(a, text.data, text.len, err);
    kg_buf_deinit(&text);
    return code;
}
