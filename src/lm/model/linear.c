/* Base and adapters of a linear layer. The adapter's product continues the base's chain. */
#include "lm/model/linear.h"

#include "base/philox.h"
#include "lm/model/lora.h"

size_t lm_linear_scratch(const struct lm_model *m)
{
    if (m->lora == NULL) {
        return 0;
    }
    int wide = m->cfg.inter;
    wide = wide > m->cfg.hidden ? wide : m->cfg.hidden;
    int q = m->cfg.heads * m->cfg.head_dim;
    wide = wide > q ? wide : q;
    return (size_t)LM_BLOCK * (size_t)(wide + 2 * m->lora->cfg.r);
}

static const struct lm_adapter *adapter(const struct lm_model *m, int layer, int part)
{
    if (m->lora == NULL || m->lora->adapters[layer * LM_PARTS + part].a == NULL) {
        return NULL;
    }
    return &m->lora->adapters[layer * LM_PARTS + part];
}

static struct lm_gemm times_panels(int m, int n, int k, const lm_real *x, const lm_real *panels,
                                   lm_real *y, int ldy, bool chain)
{
    return (struct lm_gemm){m, n,   k,    x, k, 1, panels, LM_PANEL, (ptrdiff_t)LM_PANEL * k,
                            y, ldy, chain};
}

/* y = x * mask / (1 - p); the mask is named by seed, layer, part, row and column. y may be x. */
static void drop(const struct lm_run *run, struct lm_rows_at at, int part, int k, const lm_real *x,
                 lm_real *y)
{
    const struct lm_batch *b = run->batch;
    const uint32_t key[2] = {(uint32_t)b->dropout_seed, (uint32_t)(b->dropout_seed >> 32)};
    double p = (double)run->model->lora->cfg.dropout;
    lm_real f = (lm_real)(1 / (1 - p));
    for (int r = 0; r < at.rows; r++) {
        for (int j = 0; j < k; j += 4) {
            const uint32_t counter[4] = {(uint32_t)j / 4, (uint32_t)(at.row0 + r),
                                         (uint32_t)(at.layer * LM_PARTS + part), 0x64726f70};
            uint32_t bits[4];
            kg_philox4x32(counter, key, bits);
            for (int i = 0; i < 4 && j + i < k; i++) {
                bool gone = (double)bits[i] * 0x1p-32 < p;
                y[r * k + j + i] = gone ? 0 : f * x[r * k + j + i];
            }
        }
    }
}

static bool drops(const struct lm_run *run)
{
    return run->batch->dropout && run->model->lora->cfg.dropout > 0;
}

/* t [rows, r] = input A^T; what was dropped lies behind t */
static void low_rank(const struct lm_run *run, struct lm_rows_at at, int part,
                     const struct lm_adapter *a, const lm_real *x, lm_real *t)
{
    int r = run->model->lora->cfg.r;
    if (drops(run)) {
        lm_real *dropped = t + 2 * LM_BLOCK * r;
        drop(run, at, part, a->k, x, dropped);
        x = dropped;
    }
    struct lm_gemm g = times_panels(at.rows, r, a->k, x, a->a_panels, t, r, false);
    run->model->ops->gemm(&g);
}

static void parts_of(enum lm_linear_kind kind, int *first, int *n)
{
    static const int firsts[LM_LINEARS] = {LM_Q_PROJ, LM_O_PROJ, LM_GATE_PROJ, LM_DOWN_PROJ};
    static const int counts[LM_LINEARS] = {3, 1, 2, 1};
    *first = firsts[kind];
    *n = counts[kind];
}

void lm_linear(const struct lm_run *run, struct lm_rows_at at, enum lm_linear_kind kind,
               const lm_real *x, lm_real *y, lm_real *scratch)
{
    const struct lm_model *m = run->model;
    const struct lm_linear *l = &m->layers[at.layer].linear[kind];
    struct lm_gemm g = times_panels(at.rows, l->n, l->k, x, l->panels, y, l->n, false);
    m->ops->gemm(&g);
    int first, n;
    parts_of(kind, &first, &n);
    for (int part = first; part < first + n; part++) {
        const struct lm_adapter *a = adapter(m, at.layer, part);
        if (a != NULL) {
            low_rank(run, at, part, a, x, scratch);
            g = times_panels(at.rows, a->n, m->lora->cfg.r, scratch, a->sb_panels, y + a->first,
                             l->n, true);
            m->ops->gemm(&g);
        }
    }
}

/* dx += (dy s B) A, through the mask where there is one */
static void adapter_back(const struct lm_run *run, struct lm_rows_at at, int part,
                         const struct lm_adapter *a, const lm_real *dy, int ldy, lm_real *dx,
                         lm_real *scratch)
{
    const struct lm_ops *ops = run->model->ops;
    int r = run->model->lora->cfg.r;
    lm_real *dt = scratch, *dropped = scratch + 2 * LM_BLOCK * r;
    ops->gemm(&(struct lm_gemm){at.rows, r, a->n, dy, ldy, 1, a->sb, r, LM_PANEL, dt, r, false});
    struct lm_gemm g = {at.rows, a->k, r, dt, r, 1, a->a, a->k, LM_PANEL, dx, a->k, true};
    if (drops(run)) {
        g.c = dropped;
        g.chain = false;
        ops->gemm(&g);
        drop(run, at, part, a->k, dropped, dropped);
        ops->add(dx, dropped, at.rows * a->k);
    } else {
        ops->gemm(&g);
    }
}

void lm_linear_back(const struct lm_run *run, struct lm_rows_at at, enum lm_linear_kind kind,
                    const lm_real *dy, lm_real *dx, lm_real *scratch)
{
    const struct lm_model *m = run->model;
    const struct lm_linear *l = &m->layers[at.layer].linear[kind];
    m->ops->gemm(
        &(struct lm_gemm){at.rows, l->k, l->n, dy, l->n, 1, l->w, l->k, LM_PANEL, dx, l->k, false});
    int first, n;
    parts_of(kind, &first, &n);
    for (int part = first; part < first + n; part++) {
        const struct lm_adapter *a = adapter(m, at.layer, part);
        if (a != NULL) {
            adapter_back(run, at, part, a, dy + a->first, l->n, dx, scratch);
        }
    }
}

void lm_linear_adapter_grad(const struct lm_run *run, int layer, enum lm_part part, int rows,
                            const lm_real *x, const lm_real *dy, lm_real *da, lm_real *db,
                            lm_real *scratch)
{
    const struct lm_model *m = run->model;
    const struct lm_adapter *a = adapter(m, layer, (int)part);
    enum lm_linear_kind kind;
    int first, n, r = m->lora->cfg.r;
    lm_model_part(&m->cfg, part, &kind, &first, &n);
    int ldy = m->layers[layer].linear[kind].n;
    lm_real *t = scratch, *dt = scratch + LM_BLOCK * r;
    for (int row = 0; row < rows; row += LM_BLOCK) {
        struct lm_rows_at at = {layer, row, rows - row < LM_BLOCK ? rows - row : LM_BLOCK};
        const lm_real *xr = x + (ptrdiff_t)row * a->k, *dyr = dy + (ptrdiff_t)row * ldy + first;
        low_rank(run, at, (int)part, a, xr, t);
        m->ops->scale(t, t, m->lora->s, at.rows * r);
        m->ops->gemm(
            &(struct lm_gemm){at.rows, r, n, dyr, ldy, 1, a->sb, r, LM_PANEL, dt, r, false});
        const lm_real *input = drops(run) ? scratch + 2 * LM_BLOCK * r : xr;
        m->ops->gemm(
            &(struct lm_gemm){r, a->k, at.rows, dt, 1, r, input, a->k, LM_PANEL, da, a->k, true});
        m->ops->gemm(&(struct lm_gemm){n, r, at.rows, dyr, 1, ldy, t, r, LM_PANEL, db, r, true});
    }
}
