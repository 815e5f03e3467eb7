/* What the trainer computes for a step: log-probs and gradients of packed trajectories. */
#include <math.h>
#include <string.h>

#include "rl/methods/streams.h"
#include "rl/step/step_parts.h"

static bool pack_walk(struct rl_step *s, const struct rl_walk *w, int i)
{
    struct rl_step_pack *p = &s->pack;
    int rows = w->n - 1;
    if (p->seqs == s->o.max_seqs || p->rows + rows > s->o.max_rows) {
        return false;
    }
    memcpy(p->ids + p->rows, w->ids, (size_t)rows * sizeof *p->ids);
    for (int k = 0; k < rows; k++) {
        p->target[p->rows + k] = p->at[p->rows + k] = -1;
    }
    for (int t = 0; t < w->turns; t++) {
        const struct rl_turn *turn = &w->turn[t];
        for (int k = 0; k < turn->length; k++) {
            int row = p->rows + turn->first - 1 + k;
            p->target[row] = w->ids[turn->first + k];
            p->at[row] = s->first_token[i * RL_TURNS_MAX + t] + k;
        }
    }
    p->walk[p->seqs] = i;
    p->rows += rows;
    p->start[++p->seqs] = p->rows;
    return true;
}

/* The next marked walks below `end` that fit, from *next on. False: none is left, and the last pack
 * stays. */
static bool pack_next(struct rl_step *s, const struct rl_rollouts *r, int end, int *next)
{
    while (*next < end && !s->trains[*next]) {
        ++*next;
    }
    if (*next == end) {
        return false;
    }
    s->pack.rows = s->pack.seqs = 0;
    while (*next < end && (!s->trains[*next] || pack_walk(s, &r->walk[*next], *next))) {
        ++*next;
    }
    s->pack.view = (struct lm_rows){.n_seq = s->pack.seqs,
                                    .start = s->pack.start,
                                    .ids = s->pack.ids,
                                    .target = s->pack.target,
                                    .temperature = s->o.temperature};
    return true;
}

static void keep(const struct rl_step *s, const float *from, float *to)
{
    for (int k = 0; k < s->pack.rows; k++) {
        if (s->pack.at[k] >= 0) {
            to[s->pack.at[k]] = from[k];
        }
    }
}

enum kg_code rl_step_score(struct rl_step *s, const struct rl_rollouts *r, int first, int end,
                           int *micro, struct kg_err *err)
{
    struct rl_step_pack *p = &s->pack;
    int next = first;
    *micro = 0;
    while (pack_next(s, r, end, &next)) {
        if (lm_trainer_forward(s->trainer, &p->view, p->logp, p->ent, err) != KG_OK) {
            return err->code;
        }
        keep(s, p->logp, s->theta);
        keep(s, p->ent, s->entropy);
        if (s->o.reference != NULL) {
            if (lm_trainer_forward(s->o.reference, &p->view, p->logp, NULL, err) != KG_OK) {
                return err->code;
            }
            keep(s, p->logp, s->ref);
        }
        ++*micro;
    }
    return KG_OK;
}

static uint32_t bits(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

enum kg_code rl_step_compare(struct rl_step *s, struct kg_err *err)
{
    size_t at = 0, other = 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct rl_row *r = &s->rows.row[i];
        for (size_t k = r->first; k < r->first + r->length; k++) {
            double d = fabs((double)s->theta[k] - (double)s->mu[k]);
            bool differs = bits(s->mu[k]) != bits(s->theta[k]);
            s->stats.max_diff = d > s->stats.max_diff ? d : s->stats.max_diff;
            at = differs && other == 0 ? k : at;
            other += differs;
            if (!s->o.same_bits) {
                rl_count(&s->counts, RL_C_SAMPLER, differs);
            }
        }
    }
    if (!s->o.same_bits || other == 0) {
        return KG_OK;
    }
    return kg_fail(err, KG_E_INPUT,
                   "log-probs differ at token %zu of %zu: sampler %.9g, learner %.9g", at,
                   s->tokens.n, (double)s->mu[at], (double)s->theta[at]);
}

void rl_step_coefficients(struct rl_step *s)
{
    struct rl_loss_stats loss = {0};
    const struct rl_loss_options *o = &s->o.methods.loss;
    struct rl_norm norm = rl_loss_norm(&s->rows, &s->tokens, o);
    memset(s->coef, 0, s->tokens.n * sizeof *s->coef);
    memset(s->eta, 0, s->tokens.n * sizeof *s->eta);
    rl_loss(&s->rows, 0, s->rows.n, &s->tokens, &norm, o, &loss, &s->counts);
    s->stats.loss = loss.loss;
}

static void backward(struct rl_step *s)
{
    struct rl_step_pack *p = &s->pack;
    bool bonus = s->o.methods.loss.entropy != 0;
    for (int k = 0; k < p->rows; k++) {
        p->coef[k] = p->at[k] >= 0 ? s->coef[p->at[k]] : 0;
        p->eta[k] = p->at[k] >= 0 ? s->eta[p->at[k]] : 0;
    }
    lm_trainer_backward(s->trainer, p->coef, bonus ? p->eta : NULL);
}

enum kg_code rl_step_gradient(struct rl_step *s, const struct rl_rollouts *r, uint32_t epoch,
                              struct kg_err *err)
{
    struct rl_step_pack *p = &s->pack;
    int next = 0;
    if (s->held && !s->o.dropout) { /* the last forward serves again: it held all of the batch */
        backward(s);
        return KG_OK;
    }
    for (uint32_t part = 0; pack_next(s, r, r->n, &next); part++) {
        p->view.dropout = s->o.dropout;
        p->view.dropout_seed = rl_draw_bits(s->o.seed, RL_STREAM_DROPOUT, s->step, epoch, part);
        if (lm_trainer_forward(s->trainer, &p->view, p->logp, p->ent, err) != KG_OK) {
            return err->code;
        }
        backward(s);
    }
    return KG_OK;
}
