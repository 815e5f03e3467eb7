/* The one forward of the engine: prefill, decode, scoring and training all run it. It takes rows of
 * several sequences, packed one after the other; each sequence has a table of pages that holds the
 * keys and values of its earlier tokens and takes those of its new ones.
 *
 * The values of a row depend on the tokens of its own sequence up to it and on the weights, not on
 * the batch, its order, the pages, how a prefill was cut, or the number of threads: bit for bit.
 *
 * A run owns its buffers, made once by lm_run_open(); the forward allocates nothing. One thread
 * calls it; it runs on the threads of the set. */
#ifndef KG_LM_MODEL_FORWARD_H
#define KG_LM_MODEL_FORWARD_H

#include "lm/model/model.h"
#include "lm/ops/threads.h"

#define LM_BLOCK 96 /* rows that a thread takes through a layer at once: they stay in its cache */

/* Pages of keys and values: [page][layer][key|value][kv_head][64*head_dim]. */
struct lm_kv {
    lm_real *pool;
    int n_pages;
    ptrdiff_t stride; /* numbers of a page */
};

struct lm_seq_rows {
    int row0, n; /* its rows in the batch, at least 1 */
    int pos0;    /* position of the first of them; earlier ones are in the pages */
    const int32_t *pages;
};

struct lm_batch {
    int n_rows, n_seq;
    const int32_t *ids;            /* [n_rows] */
    const struct lm_seq_rows *seq; /* [n_seq], rows in order without a gap */
    int n_want;
    const int32_t *want; /* [n_want] rows whose logits are wanted, ascending */
    bool dropout;        /* of the adapter's inputs */
    uint64_t dropout_seed;
};

/* What a forward leaves. Buffers of a layer are at layer * (its size) if the run keeps them. */
struct lm_work {
    int max_rows;
    bool keep;
    lm_real *x;       /* [layers+1][max_rows, hidden] input of each layer */
    lm_real *qkv;     /* [layers][max_rows, (heads+2*kv_heads)*head_dim] after the bias */
    lm_real *q;       /* [layers][max_rows, heads*head_dim] after norm and rotation */
    lm_real *o;       /* [layers][max_rows, heads*head_dim] */
    lm_real *mid;     /* [layers][max_rows, hidden] after attention */
    lm_real *gu;      /* [layers][max_rows, 2*inter] */
    lm_real *last;    /* [max_rows, hidden] normalised rows of want, in its order */
    int32_t *row_seq; /* [max_rows] */
};

struct lm_run {
    const struct lm_model *model;
    struct lm_threads *threads;
    struct lm_kv kv;
    struct lm_work work;
    lm_real *slab;
    lm_real *scratch; /* [threads][scratch_size] */
    size_t scratch_size;
    int max_keys;                 /* longest sequence */
    const struct lm_batch *batch; /* of the forward that runs */
    /* Called on every thread after the last layer; rows of want are in work.last by then.
     * NULL: nothing. */
    void (*after)(struct lm_run *run, int i, int n);
    void *after_arg;
};

struct lm_run_options {
    int max_rows;   /* rows of a batch */
    int max_tokens; /* longest sequence; at most max_pos of the model */
    int n_pages;    /* pages of 64 tokens */
    bool keep;      /* keep what a backward needs */
};

/* The model and the threads must outlive the run. Errors: KG_E_USAGE (a size), KG_E_HOST (memory).
 */
enum kg_code lm_run_open(struct lm_run *run, const struct lm_model *model,
                         struct lm_threads *threads, const struct lm_run_options *o,
                         struct kg_err *err) KG_MUST_USE;
void lm_run_close(struct lm_run *run);

/* Runs the batch. Ids must lie within the vocabulary, positions below max_tokens. */
void lm_forward(struct lm_run *run, const struct lm_batch *batch);

/* The same on one thread of a run of the set, for callers that do more in it. */
void lm_forward_on(struct lm_run *run, int i, int n);

/* Finds each row's sequence; lm_forward() does it, callers of lm_forward_on() must. */
void lm_forward_begin(struct lm_run *run, const struct lm_batch *batch);

/* z [hi-lo, vocab] = logits of rows lo..hi-1 of want. */
void lm_forward_logits(const struct lm_run *run, int lo, int hi, lm_real *z);

/* A thread's own buffers. */
struct lm_scratch {
    lm_real *norm, *out; /* [LM_BLOCK, hidden] */
    lm_real *act;        /* [LM_BLOCK, inter] */
    lm_real *head;       /* [2*head_dim] */
    lm_real *lora;       /* lm_linear_scratch() */
    lm_real *attn;       /* lm_attn_back_scratch() */
};
struct lm_scratch lm_forward_scratch(const struct lm_run *run, int i);

/* Buffers of one layer. */
struct lm_kept {
    lm_real *x, *next, *qkv, *q, *o, *mid, *gu;
};
struct lm_kept lm_forward_kept(const struct lm_run *run, int layer);

/* Where the keys and the values of a head begin within a page. */
ptrdiff_t lm_kv_key_at(const struct lm_config *c, int layer, int head);
ptrdiff_t lm_kv_value_at(const struct lm_config *c, int layer, int head);

#endif
