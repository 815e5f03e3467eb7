/* The backward of the layers, from the last to the first. In each layer there are four stages, with
 * barriers between them: rows down to attention's output; attention and the weights whose inputs
 * are there; rows down to the layer's input; the other weights. Stages of rows split rows; the
 * others take tasks, and a task does all rows in order, so that sums do not depend on who takes it.
 */
#include <string.h>

#include "lm/model/linear.h"
#include "lm/model/lora.h"
#include "lm/train/internal.h"

#define TASK_ROWS 96 /* rows of a weight gradient in one task */
#define CHUNK     64 /* rows of a batch in one product: its inputs stay in the nearest cache */

/* A chunk of dy is copied first: its rows are far apart, and each is read once for every panel. */
static void weight_block(const struct lm_ops *ops, int rows, const lm_real *dy, ptrdiff_t ldy,
                         int width, const lm_real *x, int k, lm_real *g)
{
    lm_real part[CHUNK * TASK_ROWS];
    for (ptrdiff_t r = 0; r < rows; r += CHUNK) {
        int n = rows - r < CHUNK ? (int)(rows - r) : CHUNK;
        for (int i = 0; i < n; i++) {
            memcpy(part + (ptrdiff_t)i * width, dy + (r + i) * ldy, (size_t)width * sizeof *part);
        }
        ops->gemm(
            &(struct lm_gemm){width, k, n, part, 1, width, x + r * k, k, LM_PANEL, g, k, true});
    }
}

void lm_weight_grad(const struct lm_ops *ops, int rows, const lm_real *dy, ptrdiff_t ldy, int first,
                    int last, const lm_real *x, int k, lm_real *g)
{
    for (int i = first; i < last; i += TASK_ROWS) {
        int width = last - i < TASK_ROWS ? last - i : TASK_ROWS;
        weight_block(ops, rows, dy + i, ldy, width, x, k, g + (ptrdiff_t)i * k);
    }
}

/* Down to attention's output: d_o, dmid, dn2, dgu; act and norm2 are made again. */
static void rows_to_attention(struct lm_trainer *t, int layer, int lo, int hi,
                              const struct lm_scratch *own)
{
    const struct lm_model *m = t->model;
    struct lm_kept k = lm_forward_kept(&t->run, layer);
    struct lm_rows_at at = {layer, lo, hi - lo};
    ptrdiff_t hidden = m->cfg.hidden, inter = m->cfg.inter,
              q = (ptrdiff_t)m->cfg.heads * m->cfg.head_dim;
    lm_real eps = (lm_real)m->cfg.rms_eps;
    const lm_real *w = m->layers[layer].norm2;
    lm_linear_back(&t->run, at, LM_DOWN, t->dx + lo * hidden, own->act, own->lora);
    for (int r = lo; r < hi; r++) {
        m->ops->norm(k.mid + r * hidden, w, m->cfg.hidden, eps, t->norm2 + r * hidden);
        m->ops->swiglu(k.gu + r * 2 * inter, m->cfg.inter, t->act + r * inter);
        m->ops->swiglu_back(k.gu + r * 2 * inter, own->act + (r - lo) * inter, m->cfg.inter,
                            t->dgu + r * 2 * inter);
    }
    lm_linear_back(&t->run, at, LM_GATE_UP, t->dgu + lo * 2 * inter, t->dn2 + lo * hidden,
                   own->lora);
    memcpy(t->dmid + lo * hidden, t->dx + lo * hidden,
           (size_t)((hi - lo) * hidden) * sizeof *t->dx);
    for (int r = lo; r < hi; r++) {
        m->ops->norm_back(k.mid + r * hidden, w, m->cfg.hidden, eps, t->dn2 + r * hidden,
                          t->dmid + r * hidden);
    }
    lm_linear_back(&t->run, at, LM_O, t->dmid + lo * hidden, t->d_o + lo * q, own->lora);
}

/* Through rotation and norm of the heads of one row. */
static void heads_back(struct lm_trainer *t, int layer, int row, const lm_real *qkv, lm_real *own)
{
    const struct lm_config *c = &t->model->cfg;
    const struct lm_ops *ops = t->model->ops;
    const struct lm_layer *l = &t->model->layers[layer];
    const struct lm_seq_rows *s = &t->batch.seq[t->run.work.row_seq[row]];
    int d = c->head_dim, heads = c->heads + c->kv_heads;
    ptrdiff_t turn = (ptrdiff_t)(row - s->row0) * (d / 2);
    lm_real *dqkv = t->dqkv + (ptrdiff_t)row * l->linear[LM_QKV].n;
    for (int h = 0; h < heads; h++) {
        lm_real *x = dqkv + (ptrdiff_t)h * d;
        ops->rope(x, t->model->cos + turn, t->model->sin + turn, d, true);
        if (l->q_norm != NULL) {
            memcpy(own, x, (size_t)d * sizeof *x);
            memset(x, 0, (size_t)d * sizeof *x);
            ops->norm_back(qkv + (ptrdiff_t)h * d, h < c->heads ? l->q_norm : l->k_norm, d,
                           (lm_real)c->rms_eps, own, x);
            memcpy(t->dqk + ((ptrdiff_t)row * heads + h) * d, own, (size_t)d * sizeof *x);
        }
    }
}

/* From attention to the layer's input: dx; norm1 is made again. */
static void rows_to_input(struct lm_trainer *t, int layer, int lo, int hi,
                          const struct lm_scratch *own)
{
    const struct lm_model *m = t->model;
    struct lm_kept k = lm_forward_kept(&t->run, layer);
    ptrdiff_t hidden = m->cfg.hidden, wide = m->layers[layer].linear[LM_QKV].n;
    lm_real eps = (lm_real)m->cfg.rms_eps;
    const lm_real *w = m->layers[layer].norm1;
    for (int r = lo; r < hi; r++) {
        heads_back(t, layer, r, k.qkv + r * wide, own->head);
        m->ops->norm(k.x + r * hidden, w, m->cfg.hidden, eps, t->norm1 + r * hidden);
    }
    lm_linear_back(&t->run, (struct lm_rows_at){layer, lo, hi - lo}, LM_QKV, t->dqkv + lo * wide,
                   t->dn1 + lo * hidden, own->lora);
    memcpy(t->dx + lo * hidden, t->dmid + lo * hidden,
           (size_t)((hi - lo) * hidden) * sizeof *t->dx);
    for (int r = lo; r < hi; r++) {
        m->ops->norm_back(k.x + r * hidden, w, m->cfg.hidden, eps, t->dn1 + r * hidden,
                          t->dx + r * hidden);
    }
}

static void attention_task(struct lm_trainer *t, int layer, int task, lm_real *scratch)
{
    const struct lm_config *c = &t->model->cfg;
    struct lm_kept k = lm_forward_kept(&t->run, layer);
    const struct lm_seq_rows *s = &t->batch.seq[task / c->kv_heads];
    int h = task % c->kv_heads, group = c->heads / c->kv_heads, d = c->head_dim;
    ptrdiff_t q = (ptrdiff_t)c->heads * d, wide = t->model->layers[layer].linear[LM_QKV].n;
    ptrdiff_t at = s->row0 * q + (ptrdiff_t)h * group * d;
    lm_real *dqkv = t->dqkv + s->row0 * wide;
    t->model->ops->attn_back(&(struct lm_attn){
        .d = d,
        .group = group,
        .rows = s->n,
        .pool = t->run.kv.pool,
        .pages = s->pages,
        .page_stride = t->run.kv.stride,
        .key_at = lm_kv_key_at(c, layer, h),
        .value_at = lm_kv_value_at(c, layer, h),
        .q = k.q + at,
        .ldq = q,
        .o = k.o + at,
        .ldo = q,
        .scratch = scratch,
        .d_o = t->d_o + at,
        .dq = dqkv + (ptrdiff_t)h * group * d,
        .dk = dqkv + q + (ptrdiff_t)h * d,
        .dv = dqkv + q + (ptrdiff_t)(c->kv_heads + h) * d,
        .ldd = wide,
    });
}

/* Gradient and input of each linear layer. */
static void sides(struct lm_trainer *t, int layer, enum lm_linear_kind kind, const lm_real **dy,
                  const lm_real **x)
{
    const lm_real *dys[LM_LINEARS] = {t->dqkv, t->dmid, t->dgu, t->dx};
    const lm_real *xs[LM_LINEARS] = {t->norm1, lm_forward_kept(&t->run, layer).o, t->norm2, t->act};
    *dy = dys[kind];
    *x = xs[kind];
}

/* Task number `task` of the weights of one linear layer; false: there are fewer. */
static bool linear_task(struct lm_trainer *t, int layer, enum lm_linear_kind kind, int *task)
{
    const struct lm_linear *l = &t->model->layers[layer].linear[kind];
    int tasks = t->full ? (l->n + TASK_ROWS - 1) / TASK_ROWS : 0;
    if (*task >= tasks) {
        *task -= tasks;
        return false;
    }
    const lm_real *dy, *x;
    sides(t, layer, kind, &dy, &x);
    int first = *task * TASK_ROWS, last = first + TASK_ROWS < l->n ? first + TASK_ROWS : l->n;
    lm_weight_grad(t->model->ops, t->batch.n_rows, dy, l->n, first, last, x, l->k,
                   lm_grad_of(t, l->w));
    return true;
}

static void adapter_task(struct lm_trainer *t, int layer, enum lm_part part, lm_real *scratch)
{
    const struct lm_lora *lora = t->model->lora;
    const struct lm_adapter *a = &lora->adapters[layer * LM_PARTS + (int)part];
    enum lm_linear_kind kind;
    int first, n;
    const lm_real *dy, *x;
    if (a->a == NULL) {
        return;
    }
    lm_model_part(&t->model->cfg, part, &kind, &first, &n);
    sides(t, layer, kind, &dy, &x);
    lm_linear_adapter_grad(&t->run, layer, part, t->batch.n_rows, x, dy,
                           t->grad + (a->a - lora->params.w), t->grad + (a->b - lora->params.w),
                           scratch);
}

/* Biases and norms of a layer, those that are ready with attention or those after it. */
static void vectors_task(struct lm_trainer *t, int layer, bool late)
{
    const struct lm_model *m = t->model;
    const struct lm_layer *l = &m->layers[layer];
    int rows = t->batch.n_rows, hidden = m->cfg.hidden, d = m->cfg.head_dim;
    int heads = m->cfg.heads + m->cfg.kv_heads;
    if (!t->full) {
        return;
    }
    if (!late) {
        m->ops->column_sum(t->dn2, hidden, rows, hidden, lm_grad_of(t, l->norm2));
        return;
    }
    m->ops->column_sum(t->dn1, hidden, rows, hidden, lm_grad_of(t, l->norm1));
    if (l->linear[LM_QKV].bias != NULL) {
        int wide = l->linear[LM_QKV].n;
        m->ops->column_sum(t->dqkv, wide, rows, wide, lm_grad_of(t, l->linear[LM_QKV].bias));
    }
    for (int h = 0; l->q_norm != NULL && h < heads; h++) {
        const lm_real *w = h < m->cfg.heads ? l->q_norm : l->k_norm;
        m->ops->column_sum(t->dqk + (ptrdiff_t)h * d, (ptrdiff_t)heads * d, rows, d,
                           lm_grad_of(t, w));
    }
}

static void early_tasks(struct lm_trainer *t, int layer, const struct lm_scratch *own)
{
    int attention = t->batch.n_seq * t->model->cfg.kv_heads;
    for (;;) {
        int task = lm_threads_next(&t->next[2 * layer]);
        if (task < attention) {
            attention_task(t, layer, task, own->attn);
            continue;
        }
        task -= attention;
        if (linear_task(t, layer, LM_DOWN, &task) || linear_task(t, layer, LM_GATE_UP, &task) ||
            linear_task(t, layer, LM_O, &task)) {
            continue;
        }
        if (task == 0) {
            vectors_task(t, layer, false);
        } else if (!t->full && task <= LM_DOWN_PROJ - LM_O_PROJ + 1) {
            adapter_task(t, layer, (enum lm_part)(LM_O_PROJ + task - 1), own->lora);
        } else {
            return;
        }
    }
}

static void late_tasks(struct lm_trainer *t, int layer, const struct lm_scratch *own)
{
    for (;;) {
        int task = lm_threads_next(&t->next[2 * layer + 1]);
        if (linear_task(t, layer, LM_QKV, &task)) {
            continue;
        }
        if (task == 0) {
            vectors_task(t, layer, true);
        } else if (!t->full && task <= LM_V_PROJ - LM_Q_PROJ + 1) {
            adapter_task(t, layer, (enum lm_part)(LM_Q_PROJ + task - 1), own->lora);
        } else {
            return;
        }
    }
}

/* Each thread owns some ids, and adds their rows in order. */
static void embedding_back(struct lm_trainer *t, int i, int n)
{
    ptrdiff_t hidden = t->model->cfg.hidden;
    lm_real *g = lm_grad_of(t, t->model->embed);
    for (int r = 0; r < t->batch.n_rows; r++) {
        ptrdiff_t id = t->batch.ids[r];
        if (id % n == i) {
            t->model->ops->add(g + id * hidden, t->dx + r * hidden, t->model->cfg.hidden);
        }
    }
}

void lm_backward_on(struct lm_trainer *t, int i, int n)
{
    struct lm_scratch own = lm_forward_scratch(&t->run, i);
    int lo, hi;
    lm_threads_share(t->batch.n_rows, 4, i, n, &lo, &hi);
    lm_head_backward(t, i, n);
    for (int layer = t->model->cfg.layers - 1; layer >= 0; layer--) {
        for (int r = lo; r < hi; r += LM_BLOCK) {
            rows_to_attention(t, layer, r, r + LM_BLOCK < hi ? r + LM_BLOCK : hi, &own);
        }
        lm_threads_barrier(t->threads);
        early_tasks(t, layer, &own);
        lm_threads_barrier(t->threads);
        for (int r = lo; r < hi; r += LM_BLOCK) {
            rows_to_input(t, layer, r, r + LM_BLOCK < hi ? r + LM_BLOCK : hi, &own);
        }
        lm_threads_barrier(t->threads);
        late_tasks(t, layer, &own);
    }
    if (t->full) {
        embedding_back(t, i, n);
    }
}
