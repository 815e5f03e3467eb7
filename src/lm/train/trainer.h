/* Scoring and training. A micro-step is lm_trainer_forward(), then lm_trainer_backward() with one
 * coefficient for each row; gradients add up until lm_trainer_update().
 *
 * Loss of row t with target y: c[t] * (-log p_y) - eta[t] * H, H the entropy of the row. Every loss
 * of the learner comes as such coefficients (what they may depend on, log-probs, the forward
 * gives).
 *
 * The log-probs are bit for bit those of the sampler (infer/engine.h) at the same weights.
 * Gradients and updates have the same bits in each run, for any number of threads. Nothing is
 * allocated after lm_trainer_create(). Not thread safe; it runs on the threads of its set. */
#ifndef KG_LM_TRAIN_TRAINER_H
#define KG_LM_TRAIN_TRAINER_H

#include "lm/model/model.h"
#include "lm/ops/threads.h"
#include "lm/train/rows.h"

struct lm_trainer;

struct lm_trainer_options {
    int max_rows;    /* rows of a micro-step */
    int max_seqs;    /* sequences of a micro-step */
    int max_tokens;  /* longest sequence */
    bool score_only; /* no backward: a tenth of the memory */
};

/* The model and the threads must outlive it. Errors: KG_E_USAGE, KG_E_HOST. */
enum kg_code lm_trainer_create(struct lm_model *model, struct lm_threads *threads,
                               const struct lm_trainer_options *o, struct lm_trainer **out,
                               struct kg_err *err) KG_MUST_USE;
void lm_trainer_destroy(struct lm_trainer *t);

/* logp [rows] and ent [rows] of each row with a target, in nats, 0 for the others; ent may be NULL.
 * Errors: KG_E_INPUT (an id or a target outside the vocabulary), KG_E_LIMIT (too many rows). */
enum kg_code lm_trainer_forward(struct lm_trainer *t, const struct lm_rows *rows, lm_real *logp,
                                lm_real *ent, struct kg_err *err) KG_MUST_USE;

/* Adds the gradient of the rows of the last forward. c [rows]; eta [rows] or NULL for 0. */
void lm_trainer_backward(struct lm_trainer *t, const lm_real *c, const lm_real *eta);

struct lm_adamw {
    float rate, beta1, beta2, eps;
    float decay; /* of matrices only */
    float clip;  /* highest global norm of the gradient; 0: no clipping */
};

struct lm_update {
    double norm;  /* of the gradient, before clipping */
    bool skipped; /* the norm is not finite: weights and optimiser stay */
};

/* One step of AdamW, then gradients are 0 and the model is packed. */
struct lm_update lm_trainer_update(struct lm_trainer *t, const struct lm_adamw *o);

/* Forgets the gradients of the micro-steps so far. */
void lm_trainer_zero(struct lm_trainer *t);

/* The gradient of a trained tensor, by its index in lm_model_trained(). */
lm_real *lm_trainer_gradient(struct lm_trainer *t, int tensor);

/* What a checkpoint must hold besides the weights: the arrays 0..lm_trainer_states()-1, and the
 * counters. To resume, fill the weights and these arrays, set the counters, call lm_model_pack().
 */
struct lm_state {
    char name[128]; /* "TENSOR.exp_avg" or "TENSOR.exp_avg_sq" */
    lm_real *data;
    int rank, shape[2];
    size_t count;
};
struct lm_counters {
    uint64_t steps, skipped;
};
int lm_trainer_states(const struct lm_trainer *t);
struct lm_state lm_trainer_state(struct lm_trainer *t, int i);
struct lm_counters *lm_trainer_counters(struct lm_trainer *t);

#endif
