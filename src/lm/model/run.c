/* Sizes and buffers of a run. */
#include <stdlib.h>
#include <string.h>

#include "lm/model/forward.h"
#include "lm/model/linear.h"

ptrdiff_t lm_kv_key_at(const struct lm_config *c, int layer, int head)
{
    return ((ptrdiff_t)layer * 2 * c->kv_heads + head) * LM_PAGE * c->head_dim;
}

ptrdiff_t lm_kv_value_at(const struct lm_config *c, int layer, int head)
{
    return lm_kv_key_at(c, layer, head) + (ptrdiff_t)c->kv_heads * LM_PAGE * c->head_dim;
}

struct lm_kept lm_forward_kept(const struct lm_run *run, int layer)
{
    const struct lm_config *c = &run->model->cfg;
    const struct lm_work *w = &run->work;
    size_t rows = (size_t)w->max_rows, at = w->keep ? (size_t)layer * rows : 0;
    size_t q = (size_t)c->heads * (size_t)c->head_dim, hidden = (size_t)c->hidden;
    return (struct lm_kept){
        .x = w->x + at * hidden,
        .next = w->x + (w->keep ? at + rows : 0) * hidden,
        .qkv = w->qkv + at * (size_t)run->model->layers[layer].linear[LM_QKV].n,
        .q = w->q + at * q,
        .o = w->o + at * q,
        .mid = w->mid + at * hidden,
        .gu = w->gu + at * 2 * (size_t)c->inter,
    };
}

struct lm_scratch lm_forward_scratch(const struct lm_run *run, int i)
{
    const struct lm_config *c = &run->model->cfg;
    struct lm_scratch s = {.norm = run->scratch + run->scratch_size * (size_t)i};
    s.out = s.norm + (size_t)LM_BLOCK * (size_t)c->hidden;
    s.act = s.out + (size_t)LM_BLOCK * (size_t)c->hidden;
    s.head = s.act + (size_t)LM_BLOCK * (size_t)c->inter;
    s.lora = s.head + 2 * (size_t)c->head_dim;
    s.attn = s.lora + lm_linear_scratch(run->model);
    return s;
}

/* Gives *p its place in the slab and moves the mark; with slab == NULL only counts. */
static void place(lm_real *slab, size_t *mark, lm_real **p, size_t n)
{
    if (slab != NULL) {
        *p = slab + *mark;
    }
    *mark += (n + 63) / 64 * 64;
}

static size_t thread_scratch(const struct lm_model *m, int keys)
{
    const struct lm_config *c = &m->cfg;
    size_t wide = (size_t)c->inter + 2 * (size_t)c->hidden;
    size_t own = LM_BLOCK * wide + lm_linear_scratch(m) + 2 * (size_t)c->head_dim;
    return own + lm_attn_back_scratch(c->head_dim, keys) + 64;
}

static size_t lay_out(struct lm_run *run, const struct lm_run_options *o, lm_real *slab)
{
    const struct lm_config *c = &run->model->cfg;
    struct lm_work *w = &run->work;
    size_t mark = 0, rows = (size_t)o->max_rows, kept = o->keep ? (size_t)c->layers : 1;
    size_t q = (size_t)c->heads * (size_t)c->head_dim,
           kv = (size_t)c->kv_heads * (size_t)c->head_dim;
    place(slab, &mark, &w->x, (kept + o->keep) * rows * (size_t)c->hidden);
    place(slab, &mark, &w->qkv, kept * rows * (q + 2 * kv));
    place(slab, &mark, &w->q, kept * rows * q);
    place(slab, &mark, &w->o, kept * rows * q);
    place(slab, &mark, &w->mid, kept * rows * (size_t)c->hidden);
    place(slab, &mark, &w->gu, kept * rows * 2 * (size_t)c->inter);
    place(slab, &mark, &w->last, rows * (size_t)c->hidden);
    place(slab, &mark, &run->scratch, run->scratch_size * (size_t)lm_threads_count(run->threads));
    place(slab, &mark, &run->kv.pool, (size_t)o->n_pages * (size_t)run->kv.stride);
    lm_real *ints = NULL;
    place(slab, &mark, &ints, rows);
    w->row_seq = (int32_t *)(void *)ints;
    return mark;
}

enum kg_code lm_run_open(struct lm_run *run, const struct lm_model *model,
                         struct lm_threads *threads, const struct lm_run_options *o,
                         struct kg_err *err)
{
    const struct lm_config *c = &model->cfg;
    *run = (struct lm_run){.model = model, .threads = threads, .max_keys = o->max_tokens};
    if (o->max_rows < 1 || o->n_pages < 1) {
        return kg_fail(err, KG_E_USAGE, "engine: rows and pages must be at least 1");
    }
    if (o->max_tokens < 1 || o->max_tokens > c->max_pos) {
        return kg_fail(err, KG_E_USAGE, "engine: sequences of %d tokens, the model takes 1 to %d",
                       o->max_tokens, c->max_pos);
    }
    run->work.max_rows = o->max_rows;
    run->work.keep = o->keep;
    run->kv.n_pages = o->n_pages;
    run->kv.stride = (ptrdiff_t)c->layers * 2 * c->kv_heads * LM_PAGE * c->head_dim;
    run->scratch_size = thread_scratch(model, o->max_tokens);
    size_t n = lay_out(run, o, NULL);
    if (posix_memalign((void **)&run->slab, 64, n * sizeof *run->slab) != 0) {
        run->slab = NULL;
        return kg_fail_memory(err, KG_E_HOST, "engine: no memory for %zu MB of buffers",
                              n * sizeof *run->slab >> 20);
    }
    memset(run->slab, 0, n * sizeof *run->slab);
    lay_out(run, o, run->slab);
    return KG_OK;
}

void lm_run_close(struct lm_run *run)
{
    free(run->slab);
    run->slab = NULL;
}
