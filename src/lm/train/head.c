/* Backward of the head: chunks of logits become their gradients in place. */
#include <string.h>

#include "lm/train/internal.h"

#define TASK_ROWS 96 /* rows of a weight gradient that a thread takes at once */

/* Rows lo..hi-1 of want; logits of row c0 lie first in z. */
static void rows_back(struct lm_trainer *t, int c0, int lo, int hi)
{
    const struct lm_model *m = t->model;
    const struct lm_linear *h = &m->head;
    ptrdiff_t vocab = h->n, hidden = h->k;
    lm_real *z = t->z + (lo - c0) * vocab;
    if (t->batch.n_want > t->z_rows) {
        lm_forward_logits(&t->run, lo, hi, z);
    }
    for (int r = lo; r < hi; r++) {
        struct lm_head *row = &t->heads[r];
        row->c = t->c[t->batch.want[r]];
        row->eta = t->eta != NULL ? t->eta[t->batch.want[r]] : 0;
        m->ops->head_back(z + (r - lo) * vocab, row);
    }
    m->ops->gemm(&(struct lm_gemm){hi - lo, h->k, h->n, z, vocab, 1, h->w, hidden, LM_PANEL,
                                   t->dn1 + lo * hidden, hidden, false});
}

static void norms_back(struct lm_trainer *t, int lo, int hi)
{
    const struct lm_model *m = t->model;
    ptrdiff_t hidden = m->cfg.hidden;
    const lm_real *x = lm_forward_kept(&t->run, m->cfg.layers - 1).next;
    for (int r = lo; r < hi; r++) {
        ptrdiff_t row = t->batch.want[r];
        m->ops->norm_back(x + row * hidden, m->norm, m->cfg.hidden, (lm_real)m->cfg.rms_eps,
                          t->dn1 + r * hidden, t->dx + row * hidden);
    }
}

void lm_head_backward(struct lm_trainer *t, int i, int n)
{
    const struct lm_linear *h = &t->model->head;
    ptrdiff_t hidden = h->k;
    int lo, hi;
    lm_threads_share(t->batch.n_rows, 4, i, n, &lo, &hi);
    memset(t->dx + lo * hidden, 0, (size_t)(hi - lo) * (size_t)hidden * sizeof *t->dx);
    lm_threads_barrier(t->threads);
    for (int c0 = 0; c0 < t->batch.n_want; c0 += t->z_rows) {
        int rows = t->batch.n_want - c0 < t->z_rows ? t->batch.n_want - c0 : t->z_rows;
        lm_threads_share(rows, 1, i, n, &lo, &hi);
        rows_back(t, c0, c0 + lo, c0 + hi);
        norms_back(t, c0 + lo, c0 + hi);
        lm_threads_barrier(t->threads);
        if (t->full) {
            lm_threads_share(h->n, TASK_ROWS, i, n, &lo, &hi);
            lm_weight_grad(t->model->ops, rows, t->z, h->n, lo, hi, t->run.work.last + c0 * hidden,
                           h->k, lm_grad_of(t, h->w));
        }
        lm_threads_barrier(t->threads);
    }
    if (t->full && i == 0) {
        t->model->ops->column_sum(t->dn1, hidden, t->batch.n_want, h->k,
                                  lm_grad_of(t, t->model->norm));
    }
}
