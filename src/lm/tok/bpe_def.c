/* Storage and the rules of added tokens. */
#include "lm/tok/bpe_def.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TOKEN_BYTES ((size_t)1 << 30) /* of all tokens together */

void lm_bpe_def_init(struct lm_bpe_def *d)
{
    memset(d, 0, sizeof *d);
    kg_buf_init(&d->bytes, MAX_TOKEN_BYTES);
    for (int i = 0; i < 256; i++) {
        d->byte_id[i] = -1;
    }
}

void lm_bpe_def_deinit(struct lm_bpe_def *d)
{
    for (size_t i = 0; i < d->n_added; i++) {
        free(d->added[i].content);
    }
    free(d->added);
    free(d->merge);
    free(d->token_end);
    free(d->pattern);
    kg_buf_deinit(&d->bytes);
    memset(d, 0, sizeof *d);
}

const char *lm_bpe_def_token(const struct lm_bpe_def *d, int32_t id, size_t *len)
{
    KG_ASSERT(id >= 0 && (size_t)id < d->vocab);
    size_t begin = id == 0 ? 0 : d->token_end[id - 1];
    *len = d->token_end[id] - begin;
    return d->bytes.data + begin;
}

bool lm_bpe_def_add(struct lm_bpe_def *d, int32_t id, const char *content, size_t len, bool special)
{
    struct lm_bpe_added *all = realloc(d->added, (d->n_added + 1) * sizeof *all);
    if (all == NULL) {
        return false;
    }
    d->added = all;
    char *copy = malloc(len + 1);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, content, len);
    copy[len] = '\0';
    all[d->n_added++] =
        (struct lm_bpe_added){.id = id, .content = copy, .len = len, .special = special};
    return true;
}

static int by_id(const void *a, const void *b)
{
    int32_t x = ((const struct lm_bpe_added *)a)->id, y = ((const struct lm_bpe_added *)b)->id;
    return x < y ? -1 : x > y;
}

static int by_content(const void *a, const void *b)
{
    const struct lm_bpe_added *x = *(const struct lm_bpe_added *const *)a;
    const struct lm_bpe_added *y = *(const struct lm_bpe_added *const *)b;
    size_t n = x->len < y->len ? x->len : y->len;
    int c = memcmp(x->content, y->content, n);
    return c != 0 ? c : x->len < y->len ? -1 : x->len > y->len;
}

static enum kg_code check_contents(const struct lm_bpe_def *d, const char *source,
                                   struct kg_err *err)
{
    const struct lm_bpe_added **by = calloc(d->n_added + 1, sizeof(struct lm_bpe_added *));
    if (by == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", source);
    }
    for (size_t i = 0; i < d->n_added; i++) {
        by[i] = &d->added[i];
    }
    qsort(by, d->n_added, sizeof(struct lm_bpe_added *), by_content);
    enum kg_code code = KG_OK;
    for (size_t i = 1; i < d->n_added && code == KG_OK; i++) {
        if (by_content(&by[i - 1], &by[i]) == 0) {
            code = kg_fail(err, KG_E_INPUT, "%s: added tokens %d and %d are both %.60s", source,
                           by[i - 1]->id, by[i]->id, by[i]->content);
        }
    }
    free(by);
    return code;
}

enum kg_code lm_bpe_def_sort_added(struct lm_bpe_def *d, const char *source, struct kg_err *err)
{
    if (d->n_added == 0) {
        return KG_OK;
    }
    qsort(d->added, d->n_added, sizeof *d->added, by_id);
    for (size_t i = 0; i < d->n_added; i++) {
        if (d->added[i].len == 0) {
            return kg_fail(err, KG_E_INPUT, "%s: added token %d is empty", source, d->added[i].id);
        }
        if (i > 0 && d->added[i].id == d->added[i - 1].id) {
            return kg_fail(err, KG_E_INPUT, "%s: two added tokens have the id %d", source,
                           d->added[i].id);
        }
    }
    return check_contents(d, source, err);
}

const struct lm_bpe_added *lm_bpe_def_find_added(const struct lm_bpe_def *d, int32_t id)
{
    struct lm_bpe_added key = {.id = id};
    return d->n_added == 0 ? NULL : bsearch(&key, d->added, d->n_added, sizeof *d->added, by_id);
}
