/* Buffers and micro-steps of training. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lm/train/internal.h"

#define LOGITS     ((size_t)4 << 20) /* numbers of logits kept between forward and backward */
#define NORM_BLOCK 4096              /* numbers in one partial sum of squares */

static void place(lm_real *slab, size_t *mark, lm_real **p, size_t n)
{
    if (slab != NULL) {
        *p = slab + *mark;
    }
    *mark += (n + 63) / 64 * 64;
}

static size_t lay_out(struct lm_trainer *t, lm_real *slab)
{
    const struct lm_config *c = &t->model->cfg;
    size_t mark = 0, rows = (size_t)t->o.max_rows, hidden = (size_t)c->hidden;
    size_t q = (size_t)c->heads * (size_t)c->head_dim, inter = (size_t)c->inter;
    size_t kv = (size_t)c->kv_heads * (size_t)c->head_dim, n = t->trained->n;
    place(slab, &mark, &t->z, (size_t)t->z_rows * (size_t)c->vocab);
    if (t->o.score_only) {
        return mark;
    }
    place(slab, &mark, &t->grad, n);
    place(slab, &mark, &t->m, n);
    place(slab, &mark, &t->v, n);
    lm_real **wide[] = {&t->dx, &t->dmid, &t->dn1, &t->dn2, &t->norm1, &t->norm2};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        place(slab, &mark, wide[i], rows * hidden);
    }
    place(slab, &mark, &t->dqkv, rows * (q + 2 * kv));
    place(slab, &mark, &t->dqk, c->qk_norm ? rows * (q + kv) : 0);
    place(slab, &mark, &t->d_o, rows * q);
    place(slab, &mark, &t->dgu, rows * 2 * inter);
    place(slab, &mark, &t->act, rows * inter);
    return mark;
}

static bool allocate(struct lm_trainer *t)
{
    size_t rows = (size_t)t->o.max_rows, z = LOGITS / (size_t)t->model->cfg.vocab;
    size_t pages = (size_t)t->run.kv.n_pages;
    z = z < 64 ? 64 : z;
    t->z_rows = (int)(z < rows ? z : rows);
    size_t n = lay_out(t, NULL);
    if (posix_memalign((void **)&t->slab, 64, n * sizeof *t->slab) != 0) {
        t->slab = NULL;
        return false;
    }
    memset(t->slab, 0, n * sizeof *t->slab);
    lay_out(t, t->slab);
    t->partial = calloc(t->trained->n / NORM_BLOCK + 1, sizeof *t->partial);
    t->seq = calloc((size_t)t->o.max_seqs, sizeof *t->seq);
    t->want = calloc(rows, sizeof *t->want);
    t->pages = calloc(pages, sizeof *t->pages);
    t->heads = calloc(rows, sizeof *t->heads);
    t->next = calloc(2 * (size_t)t->model->cfg.layers, sizeof *t->next);
    if (t->partial == NULL || t->seq == NULL || t->want == NULL || t->pages == NULL ||
        t->heads == NULL || t->next == NULL) {
        return false;
    }
    for (size_t i = 0; i < pages; i++) {
        t->pages[i] = (int32_t)i;
    }
    return true;
}

/* Losses of the rows whose logits are wanted, chunk by chunk. */
static void score(struct lm_run *run, int i, int n)
{
    struct lm_trainer *t = run->after_arg;
    const struct lm_rows *rows = t->rows;
    ptrdiff_t vocab = t->model->cfg.vocab;
    for (int c0 = 0; c0 < t->batch.n_want; c0 += t->z_rows) {
        int lo, hi, left = t->batch.n_want - c0 < t->z_rows ? t->batch.n_want - c0 : t->z_rows;
        if (t->batch.n_want > t->z_rows) { /* shares of a chunk lie in other threads' last and z */
            lm_threads_barrier(run->threads);
        }
        lm_threads_share(left, 1, i, n, &lo, &hi);
        lm_forward_logits(run, c0 + lo, c0 + hi, t->z + lo * vocab);
        for (int r = lo; r < hi; r++) {
            struct lm_head *h = &t->heads[c0 + r];
            int row = t->batch.want[c0 + r];
            *h = (struct lm_head){.n = (int)vocab,
                                  .inv_temp = 1 / (lm_real)rows->temperature,
                                  .target = rows->target[row]};
            t->model->ops->head(t->z + r * vocab, h);
            t->logp[row] = h->logp;
            if (t->ent != NULL) {
                t->ent[row] = h->ent;
            }
        }
    }
}

enum kg_code lm_trainer_create(struct lm_model *model, struct lm_threads *threads,
                               const struct lm_trainer_options *o, struct lm_trainer **out,
                               struct kg_err *err)
{
    if (o->max_seqs < 1 || o->max_rows < 1) {
        return kg_fail(err, KG_E_USAGE, "trainer: rows and sequences must be at least 1");
    }
    struct lm_trainer *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "trainer: no memory");
    }
    t->model = model;
    t->threads = threads;
    t->o = *o;
    t->trained = lm_model_trained(model);
    t->full = model->lora == NULL;
    struct lm_run_options run = {.max_rows = o->max_rows,
                                 .max_tokens = o->max_tokens,
                                 .n_pages = o->max_rows / LM_PAGE + o->max_seqs,
                                 .keep = !o->score_only};
    enum kg_code rc = lm_run_open(&t->run, model, threads, &run, err);
    if (rc == KG_OK && !allocate(t)) {
        rc = kg_fail_memory(err, KG_E_HOST, "trainer: no memory for %d rows", o->max_rows);
    }
    if (rc != KG_OK) {
        lm_trainer_destroy(t);
        return rc;
    }
    t->run.after = score;
    t->run.after_arg = t;
    *out = t;
    return KG_OK;
}

void lm_trainer_destroy(struct lm_trainer *t)
{
    if (t == NULL) {
        return;
    }
    lm_run_close(&t->run);
    free(t->slab);
    free(t->partial);
    free(t->seq);
    free(t->want);
    free(t->pages);
    free(t->heads);
    free(t->next);
    free(t);
}

static enum kg_code check(const struct lm_trainer *t, const struct lm_rows *rows,
                          struct kg_err *err)
{
    int vocab = t->model->cfg.vocab;
    if (rows->n_seq < 1 || rows->n_seq > t->o.max_seqs ||
        rows->start[rows->n_seq] > t->o.max_rows) {
        return kg_fail(err, KG_E_LIMIT, "rows: %d sequences of %d rows, at most %d of %d fit",
                       rows->n_seq, rows->n_seq > 0 ? rows->start[rows->n_seq] : 0, t->o.max_seqs,
                       t->o.max_rows);
    }
    if (!(rows->temperature > 0)) {
        return kg_fail(err, KG_E_INPUT, "rows: the temperature must be above 0");
    }
    for (int s = 0; s < rows->n_seq; s++) {
        int n = rows->start[s + 1] - rows->start[s];
        if (n < 1 || n > t->o.max_tokens) {
            return kg_fail(err, KG_E_LIMIT, "rows: sequence %d has %d tokens, 1 to %d fit", s, n,
                           t->o.max_tokens);
        }
    }
    for (int r = 0; r < rows->start[rows->n_seq]; r++) {
        if (rows->ids[r] < 0 || rows->ids[r] >= vocab || rows->target[r] < -1 ||
            rows->target[r] >= vocab) {
            return kg_fail(err, KG_E_INPUT, "rows: row %d has the id %d and the target %d of %d", r,
                           (int)rows->ids[r], (int)rows->target[r], vocab);
        }
    }
    return KG_OK;
}

static void fill_batch(struct lm_trainer *t, const struct lm_rows *rows)
{
    int page = 0, total = rows->start[rows->n_seq];
    t->batch = (struct lm_batch){.n_rows = total,
                                 .n_seq = rows->n_seq,
                                 .ids = rows->ids,
                                 .seq = t->seq,
                                 .want = t->want,
                                 .dropout = rows->dropout && t->model->lora != NULL,
                                 .dropout_seed = rows->dropout_seed};
    for (int s = 0; s < rows->n_seq; s++) {
        int n = rows->start[s + 1] - rows->start[s];
        t->seq[s] = (struct lm_seq_rows){rows->start[s], n, 0, t->pages + page};
        page += (n + LM_PAGE - 1) / LM_PAGE;
    }
    for (int r = 0; r < total; r++) {
        if (rows->target[r] >= 0) {
            t->want[t->batch.n_want++] = r;
        }
    }
}

enum kg_code lm_trainer_forward(struct lm_trainer *t, const struct lm_rows *rows, lm_real *logp,
                                lm_real *ent, struct kg_err *err)
{
    enum kg_code rc = check(t, rows, err);
    if (rc != KG_OK) {
        return rc;
    }
    size_t bytes = (size_t)rows->start[rows->n_seq] * sizeof *logp;
    memset(logp, 0, bytes);
    if (ent != NULL) {
        memset(ent, 0, bytes);
    }
    fill_batch(t, rows);
    t->rows = rows;
    t->logp = logp;
    t->ent = ent;
    lm_forward(&t->run, &t->batch);
    return KG_OK;
}

static void back_on(void *arg, int i, int n)
{
    lm_backward_on(arg, i, n);
}

void lm_trainer_backward(struct lm_trainer *t, const lm_real *c, const lm_real *eta)
{
    KG_ASSERT(!t->o.score_only && t->batch.n_rows > 0);
    t->c = c;
    t->eta = eta;
    for (int i = 0; i < 2 * t->model->cfg.layers; i++) {
        atomic_store(&t->next[i], 0);
    }
    lm_threads_run(t->threads, back_on, t);
    t->batch.n_rows = 0; /* logits are gone: a second backward needs another forward */
}
