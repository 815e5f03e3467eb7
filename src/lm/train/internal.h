/* Insides of the trainer, for the files of this folder. */
#ifndef KG_LM_TRAIN_INTERNAL_H
#define KG_LM_TRAIN_INTERNAL_H

#include <stdatomic.h>

#include "lm/model/forward.h"
#include "lm/train/trainer.h"

struct lm_trainer {
    struct lm_model *model;
    struct lm_threads *threads;
    struct lm_trainer_options o;
    struct lm_run run;
    struct lm_params *trained;
    bool full; /* the base is trained, not an adapter */
    lm_real *slab;
    lm_real *grad, *m, *v; /* [trained->n] */
    double *partial;       /* squares of blocks of the gradient */
    struct lm_counters counters;
    /* the micro-step */
    struct lm_batch batch;
    struct lm_seq_rows *seq; /* [max_seqs] */
    int32_t *want, *pages;   /* [max_rows]; pages 0, 1, ... */
    struct lm_head *heads;   /* [max_rows], in the order of want */
    const struct lm_rows *rows;
    lm_real *logp, *ent;
    const lm_real *c, *eta;
    lm_real *z; /* [z_rows, vocab] */
    int z_rows;
    atomic_int *next; /* [2*layers + 1] tasks taken */
    /* gradients of the layer at work, [max_rows, ...] */
    lm_real *dx, *dmid, *dn1, *dn2; /* hidden */
    lm_real *dqkv, *dqk, *d_o, *dgu;
    lm_real *norm1, *norm2, *act; /* inputs of linear layers, made again */
    const struct lm_adamw *adam;
    double scale;
};

/* The backward of the head on thread i of n; begins and ends without a barrier. */
void lm_head_backward(struct lm_trainer *t, int i, int n);
/* All of the backward on thread i of n. */
void lm_backward_on(struct lm_trainer *t, int i, int n);

/* g[first..last-1, k] += dy[:, first..last-1]^T x over rows ascending; dy has stride ldy. */
void lm_weight_grad(const struct lm_ops *ops, int rows, const lm_real *dy, ptrdiff_t ldy, int first,
                    int last, const lm_real *x, int k, lm_real *g);

/* The gradient of a weight of the base. */
static inline lm_real *lm_grad_of(struct lm_trainer *t, const lm_real *w)
{
    return t->grad + (w - t->model->base.w);
}

#endif
