/* The forward. Each thread has a range of rows. Nothing but attention looks at other rows, and that
 * only at keys and values of the same layer: so one barrier in a layer is enough. */
#include "lm/model/forward.h"

#include <string.h>

#include "lm/model/linear.h"

struct part {
    struct lm_run *run;
    int lo, hi; /* own rows */
    struct lm_scratch own;
};

static struct part part_of(struct lm_run *run, int i, int n)
{
    struct part p = {.run = run, .own = lm_forward_scratch(run, i)};
    lm_threads_share(run->batch->n_rows, 4, i, n, &p.lo, &p.hi);
    return p;
}

void lm_forward_begin(struct lm_run *run, const struct lm_batch *batch)
{
    run->batch = batch;
    KG_ASSERT(batch->n_rows <= run->work.max_rows && batch->n_want <= run->work.max_rows);
    for (int s = 0; s < batch->n_seq; s++) {
        KG_ASSERT(batch->seq[s].pos0 + batch->seq[s].n <= run->max_keys);
        for (int r = 0; r < batch->seq[s].n; r++) {
            run->work.row_seq[batch->seq[s].row0 + r] = s;
        }
    }
}

static void embed(const struct part *p)
{
    size_t hidden = (size_t)p->run->model->cfg.hidden;
    for (int r = p->lo; r < p->hi; r++) {
        int id = p->run->batch->ids[r];
        KG_ASSERT(id >= 0 && id < p->run->model->cfg.vocab);
        memcpy(p->run->work.x + (size_t)r * hidden, p->run->model->embed + (size_t)id * hidden,
               hidden * sizeof(lm_real));
    }
}

/* A key becomes a column of its page, a value a row. */
static void store_key(lm_real *page, int at, const lm_real *k, int d)
{
    for (int i = 0; i < d; i++) {
        page[(ptrdiff_t)i * LM_PAGE + at] = k[i];
    }
}

/* One row: norm and rotation of its heads, keys and values into the page. */
static void spread(const struct part *p, int layer, int row, const lm_real *qkv, lm_real *q)
{
    const struct lm_run *run = p->run;
    const struct lm_config *c = &run->model->cfg;
    const struct lm_ops *ops = run->model->ops;
    const struct lm_layer *l = &run->model->layers[layer];
    const struct lm_seq_rows *s = &run->batch->seq[run->work.row_seq[row]];
    int pos = s->pos0 + row - s->row0, d = c->head_dim;
    lm_real *page = run->kv.pool + s->pages[pos / LM_PAGE] * run->kv.stride;
    const lm_real *cs = run->model->cos + (ptrdiff_t)pos * (d / 2);
    const lm_real *sn = run->model->sin + (ptrdiff_t)pos * (d / 2);
    for (int h = 0; h < c->heads + c->kv_heads; h++) {
        bool query = h < c->heads;
        lm_real *x = query ? q + (ptrdiff_t)h * d : p->own.head;
        if (l->q_norm != NULL) {
            ops->norm(qkv + (ptrdiff_t)h * d, query ? l->q_norm : l->k_norm, d, (lm_real)c->rms_eps,
                      x);
        } else {
            memcpy(x, qkv + (ptrdiff_t)h * d, (size_t)d * sizeof *x);
        }
        ops->rope(x, cs, sn, d, false);
        if (!query) {
            store_key(page + lm_kv_key_at(c, layer, h - c->heads), pos % LM_PAGE, x, d);
        }
    }
    for (int h = 0; h < c->kv_heads; h++) {
        memcpy(page + lm_kv_value_at(c, layer, h) + (ptrdiff_t)(pos % LM_PAGE) * d,
               qkv + (ptrdiff_t)(c->heads + c->kv_heads + h) * d, (size_t)d * sizeof(lm_real));
    }
}

/* Up to the keys and values. */
static void first_half(const struct part *p, int layer, int lo, int hi)
{
    const struct lm_run *run = p->run;
    const struct lm_model *m = run->model;
    const struct lm_layer *l = &m->layers[layer];
    struct lm_kept k = lm_forward_kept(run, layer);
    int hidden = m->cfg.hidden, wide = l->linear[LM_QKV].n, q = m->cfg.heads * m->cfg.head_dim;
    for (int r = lo; r < hi; r++) {
        m->ops->norm(k.x + (ptrdiff_t)r * hidden, l->norm1, hidden, (lm_real)m->cfg.rms_eps,
                     p->own.norm + (ptrdiff_t)(r - lo) * hidden);
    }
    lm_linear(run, (struct lm_rows_at){layer, lo, hi - lo}, LM_QKV, p->own.norm,
              k.qkv + (ptrdiff_t)lo * wide, p->own.lora);
    for (int r = lo; r < hi; r++) {
        lm_real *qkv = k.qkv + (ptrdiff_t)r * wide;
        if (l->linear[LM_QKV].bias != NULL) {
            m->ops->add(qkv, l->linear[LM_QKV].bias, wide);
        }
        spread(p, layer, r, qkv, k.q + (ptrdiff_t)r * q);
    }
}

static void attend(const struct part *p, int layer, int lo, int hi)
{
    const struct lm_run *run = p->run;
    const struct lm_config *c = &run->model->cfg;
    struct lm_kept k = lm_forward_kept(run, layer);
    int q = c->heads * c->head_dim, group = c->heads / c->kv_heads;
    for (int r = lo; r < hi;) {
        const struct lm_seq_rows *s = &run->batch->seq[run->work.row_seq[r]];
        int end = s->row0 + s->n < hi ? s->row0 + s->n : hi;
        for (int h = 0; h < c->kv_heads; h++) {
            ptrdiff_t at = (ptrdiff_t)r * q + (ptrdiff_t)h * group * c->head_dim;
            run->model->ops->attn(&(struct lm_attn){
                .d = c->head_dim,
                .group = group,
                .pos0 = s->pos0 + r - s->row0,
                .rows = end - r,
                .pool = run->kv.pool,
                .pages = s->pages,
                .page_stride = run->kv.stride,
                .key_at = lm_kv_key_at(c, layer, h),
                .value_at = lm_kv_value_at(c, layer, h),
                .q = k.q + at,
                .ldq = q,
                .o = k.o + at,
                .ldo = q,
                .scratch = p->own.attn,
            });
        }
        r = end;
    }
}

/* Attention and the feed-forward block. */
static void second_half(const struct part *p, int layer, int lo, int hi)
{
    const struct lm_run *run = p->run;
    const struct lm_model *m = run->model;
    const struct lm_layer *l = &m->layers[layer];
    struct lm_kept k = lm_forward_kept(run, layer);
    struct lm_rows_at at = {layer, lo, hi - lo};
    int hidden = m->cfg.hidden, inter = m->cfg.inter, q = m->cfg.heads * m->cfg.head_dim;
    attend(p, layer, lo, hi);
    lm_linear(run, at, LM_O, k.o + (ptrdiff_t)lo * q, p->own.out, p->own.lora);
    m->ops->sum(k.x + (ptrdiff_t)lo * hidden, p->own.out, (hi - lo) * hidden,
                k.mid + (ptrdiff_t)lo * hidden);
    for (int r = lo; r < hi; r++) {
        m->ops->norm(k.mid + (ptrdiff_t)r * hidden, l->norm2, hidden, (lm_real)m->cfg.rms_eps,
                     p->own.norm + (ptrdiff_t)(r - lo) * hidden);
    }
    lm_real *gu = k.gu + (ptrdiff_t)lo * 2 * inter;
    lm_linear(run, at, LM_GATE_UP, p->own.norm, gu, p->own.lora);
    for (int r = 0; r < hi - lo; r++) {
        m->ops->swiglu(gu + (ptrdiff_t)r * 2 * inter, inter, p->own.act + (ptrdiff_t)r * inter);
    }
    lm_linear(run, at, LM_DOWN, p->own.act, p->own.out, p->own.lora);
    m->ops->sum(k.mid + (ptrdiff_t)lo * hidden, p->own.out, (hi - lo) * hidden,
                k.next + (ptrdiff_t)lo * hidden);
}

static void each_block(const struct part *p, int layer,
                       void (*fn)(const struct part *p, int layer, int lo, int hi))
{
    for (int r = p->lo; r < p->hi; r += LM_BLOCK) {
        fn(p, layer, r, r + LM_BLOCK < p->hi ? r + LM_BLOCK : p->hi);
    }
}

/* The last norm, of the rows whose logits are wanted. */
static void finish(struct lm_run *run, int i, int n)
{
    const struct lm_model *m = run->model;
    ptrdiff_t hidden = m->cfg.hidden;
    const lm_real *x = lm_forward_kept(run, m->cfg.layers - 1).next;
    int lo, hi;
    lm_threads_share(run->batch->n_want, 1, i, n, &lo, &hi);
    for (int r = lo; r < hi; r++) {
        m->ops->norm(x + run->batch->want[r] * hidden, m->norm, m->cfg.hidden,
                     (lm_real)m->cfg.rms_eps, run->work.last + r * hidden);
    }
}

void lm_forward_on(struct lm_run *run, int i, int n)
{
    struct part p = part_of(run, i, n);
    embed(&p);
    for (int layer = 0; layer < run->model->cfg.layers; layer++) {
        each_block(&p, layer, first_half);
        lm_threads_barrier(run->threads);
        each_block(&p, layer, second_half);
    }
    lm_threads_barrier(run->threads);
    finish(run, i, n);
    if (run->after != NULL) {
        run->after(run, i, n);
    }
}

static void on_thread(void *arg, int i, int n)
{
    lm_forward_on(arg, i, n);
}

void lm_forward(struct lm_run *run, const struct lm_batch *batch)
{
    lm_forward_begin(run, batch);
    lm_threads_run(run->threads, on_thread, run);
}

void lm_forward_logits(const struct lm_run *run, int lo, int hi, lm_real *z)
{
    const struct lm_model *m = run->model;
    const struct lm_linear *h = &m->head;
    m->ops->gemm(&(struct lm_gemm){hi - lo, h->n, h->k, run->work.last + (ptrdiff_t)lo * h->k, h->k,
                                   1, h->panels, LM_PANEL, (ptrdiff_t)LM_PANEL * h->k, z, h->n,
                                   false});
}
