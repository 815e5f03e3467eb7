/* AdamW over the flat block of trained weights, and what a checkpoint holds of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lm/train/internal.h"

#define NORM_BLOCK 4096

static void squares_on(void *arg, int i, int n)
{
    struct lm_trainer *t = arg;
    int blocks = (int)((t->trained->n + NORM_BLOCK - 1) / NORM_BLOCK), lo, hi;
    lm_threads_share(blocks, 1, i, n, &lo, &hi);
    for (int b = lo; b < hi; b++) {
        size_t first = (size_t)b * NORM_BLOCK, left = t->trained->n - first;
        t->partial[b] = (double)t->model->ops->sum_squares(t->grad + first,
                                                           left < NORM_BLOCK ? left : NORM_BLOCK);
    }
}

static double gradient_norm(struct lm_trainer *t)
{
    double sum = 0;
    lm_threads_run(t->threads, squares_on, t);
    for (size_t b = 0; b * NORM_BLOCK < t->trained->n; b++) {
        sum += t->partial[b];
    }
    return sqrt(sum);
}

/* The tensors of the thread's share; a share may begin inside one. */
static void step_on(void *arg, int i, int n)
{
    struct lm_trainer *t = arg;
    int blocks = (int)((t->trained->n + NORM_BLOCK - 1) / NORM_BLOCK), first, last;
    lm_threads_share(blocks, 1, i, n, &first, &last);
    size_t lo = (size_t)first * NORM_BLOCK, hi = (size_t)last * NORM_BLOCK;
    double steps = (double)t->counters.steps;
    struct lm_adam a = {
        .rate = t->adam->rate,
        .beta1 = t->adam->beta1,
        .beta2 = t->adam->beta2,
        .eps = t->adam->eps,
        .fix1 = (lm_real)(1 / (1 - pow((double)t->adam->beta1, steps))),
        .fix2 = (lm_real)(1 / (1 - pow((double)t->adam->beta2, steps))),
        .scale = (lm_real)t->scale,
    };
    for (int j = 0; j < t->trained->n_tensors; j++) {
        const struct lm_tensor *x = &t->trained->tensors[j];
        size_t at = (size_t)(x->data - t->trained->w), end = at + x->count;
        at = at > lo ? at : lo;
        end = end < hi ? end : hi;
        if (at < end) {
            a.decay = x->decay ? t->adam->decay : 0;
            t->model->ops->adam(&a, t->trained->w + at, t->m + at, t->v + at, t->grad + at,
                                end - at);
        }
    }
}

void lm_trainer_zero(struct lm_trainer *t)
{
    memset(t->grad, 0, t->trained->n * sizeof *t->grad);
}

struct lm_update lm_trainer_update(struct lm_trainer *t, const struct lm_adamw *o)
{
    struct lm_update u = {.norm = gradient_norm(t)};
    if (!isfinite(u.norm)) {
        u.skipped = true;
        t->counters.skipped++;
        lm_trainer_zero(t);
        return u;
    }
    t->adam = o;
    t->scale = o->clip > 0 && u.norm > (double)o->clip ? (double)o->clip / u.norm : 1;
    t->counters.steps++;
    lm_threads_run(t->threads, step_on, t);
    lm_trainer_zero(t);
    lm_model_pack(t->model);
    return u;
}

lm_real *lm_trainer_gradient(struct lm_trainer *t, int tensor)
{
    return t->grad + (t->trained->tensors[tensor].data - t->trained->w);
}

int lm_trainer_states(const struct lm_trainer *t)
{
    return 2 * t->trained->n_tensors;
}

struct lm_state lm_trainer_state(struct lm_trainer *t, int i)
{
    const struct lm_tensor *x = &t->trained->tensors[i / 2];
    struct lm_state s = {.rank = x->rank, .shape = {x->shape[0], x->shape[1]}, .count = x->count};
    s.data = (i % 2 == 0 ? t->m : t->v) + (x->data - t->trained->w);
    snprintf(s.name, sizeof s.name, "%s.%s", x->name, i % 2 == 0 ? "exp_avg" : "exp_avg_sq");
    return s;
}

struct lm_counters *lm_trainer_counters(struct lm_trainer *t)
{
    return &t->counters;
}
