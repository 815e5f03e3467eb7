/* Rows of documents. */
#include "rl/data/pack.h"

#include <stdlib.h>
#include <string.h>

#include "rl/methods/streams.h"

/* The last token of a document is only predicted, so it has no row. */
static int doc_rows(const struct rl_document *d)
{
    return (int)d->n - 1;
}

int rl_pack_targets(const int32_t *ids, const uint8_t *mask, size_t n, int32_t *target)
{
    int counted = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        target[i] = mask[i + 1] ? ids[i + 1] : -1;
        counted += mask[i + 1];
    }
    return counted;
}

static bool fits_one(const struct rl_corpus *c, int rows)
{
    size_t i = 0;
    while (i < c->n && doc_rows(&c->doc[i]) > rows) {
        i++;
    }
    return i < c->n;
}

enum kg_code rl_pack_open(const struct rl_corpus *corpus, const struct rl_pack_options *o,
                          struct rl_pack *out, struct kg_err *err)
{
    size_t n = (size_t)o->rows;
    *out =
        (struct rl_pack){.corpus = corpus,
                         .seed = o->seed,
                         .shuffle = o->shuffle,
                         .max_rows = o->rows,
                         .max_seqs = o->seqs,
                         .longest = o->longest > 0 && o->longest < o->rows ? o->longest : o->rows};
    if (!fits_one(corpus, out->longest)) {
        return kg_fail(err, KG_E_INPUT, "sft: no document of the corpus fits into %d rows",
                       out->longest);
    }
    out->order = calloc(corpus->n, sizeof *out->order);
    out->start = calloc((size_t)o->seqs + 1, sizeof *out->start);
    out->ids = calloc(n, sizeof *out->ids);
    out->target = calloc(n, sizeof *out->target);
    if (!out->order || !out->start || !out->ids || !out->target) {
        rl_pack_close(out);
        return kg_fail_memory(err, KG_E_HOST, "sft: no memory for %zu rows", n);
    }
    out->cursor.at = (uint32_t)corpus->n; /* the first epoch begins */
    return KG_OK;
}

void rl_pack_close(struct rl_pack *p)
{
    free(p->order);
    free(p->start);
    free(p->ids);
    free(p->target);
    *p = (struct rl_pack){0};
}

static void order_of(struct rl_pack *p, uint32_t epoch)
{
    if (p->ordered == epoch + 1) {
        return;
    }
    p->ordered = epoch + 1;
    if (p->shuffle) {
        rl_shuffle(p->seed, RL_STREAM_SFT, epoch, 0, p->corpus->n, p->order);
        return;
    }
    for (size_t i = 0; i < p->corpus->n; i++) {
        p->order[i] = (uint32_t)i;
    }
}

void rl_pack_seek(struct rl_pack *p, struct rl_pack_place c)
{
    p->cursor = c;
    if (c.epoch > 0) {
        order_of(p, c.epoch - 1);
    } else {
        p->cursor.at = (uint32_t)p->corpus->n;
    }
}

static void add_document(struct rl_pack *p, const struct rl_document *d)
{
    const int32_t *id = p->corpus->ids.id + d->first;
    memcpy(p->ids + p->rows, id, (size_t)doc_rows(d) * sizeof *id);
    p->counted += rl_pack_targets(id, p->corpus->ids.mask + d->first, d->n, p->target + p->rows);
    p->rows += doc_rows(d);
    p->start[++p->seqs] = p->rows;
}

void rl_pack_next(struct rl_pack *p, bool once)
{
    p->rows = p->seqs = p->counted = 0;
    for (;;) {
        if (p->cursor.at == p->corpus->n) {
            if (once && p->cursor.epoch > 0) {
                return;
            }
            order_of(p, p->cursor.epoch++);
            p->cursor.at = 0;
        }
        const struct rl_document *d = &p->corpus->doc[p->order[p->cursor.at]];
        if (doc_rows(d) > p->longest) {
            p->left_out++;
            p->cursor.at++;
            continue;
        }
        if (p->rows + doc_rows(d) > p->max_rows || p->seqs == p->max_seqs) {
            return;
        }
        add_document(p, d);
        p->cursor.at++;
    }
}

struct lm_rows rl_pack_rows(const struct rl_pack *p)
{
    return (struct lm_rows){
        .n_seq = p->seqs, .start = p->start, .ids = p->ids, .target = p->target, .temperature = 1};
}

int rl_pack_count(struct rl_pack *p, double epochs, int most)
{
    int n = 0;
    double documents = epochs * (double)p->corpus->n, taken = 0;
    while (n < most && taken < documents) {
        rl_pack_next(p, false);
        taken = (double)(p->cursor.epoch - 1) * (double)p->corpus->n + (double)p->cursor.at;
        n++;
    }
    return n;
}
