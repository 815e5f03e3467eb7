/* One training step over finished trajectories. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rl/step/step_parts.h"

void rl_step_destroy(struct rl_step *s)
{
    if (s == NULL) {
        return;
    }
    free(s->row);
    free(s->block);
    free(s->keep);
    free(s->first_token);
    free(s->trains);
    free(s->drop);
    free(s->answer);
    free(s->value);
    free(s->size);
    free(s->order);
    free(s->pack.start);
    free(s->pack.walk);
    free(s->pack.coef);
    free(s);
}

static bool allocate_batch(struct rl_step *s)
{
    size_t walks = (size_t)s->o.walks, tokens = walks * (size_t)s->o.max_tokens;
    size_t turns = walks * RL_TURNS_MAX;
    s->row = calloc(turns, sizeof *s->row);
    s->first_token = calloc(turns, sizeof *s->first_token);
    s->trains = calloc(walks, sizeof *s->trains);
    s->drop = calloc(walks, sizeof *s->drop);
    s->answer = calloc(turns, sizeof *s->answer);
    s->value = calloc(turns, sizeof *s->value);
    s->size = calloc(walks, sizeof *s->size);
    s->order = calloc(2 * walks, sizeof *s->order);
    s->block = calloc(8 * tokens, sizeof *s->block);
    s->keep = calloc(tokens, sizeof *s->keep);
    float **array[] = {&s->mu,  &s->theta, &s->entropy, &s->coef,
                       &s->eta, &s->tis,   &s->adv,     &s->ref};
    for (size_t i = 0; s->block != NULL && i < sizeof array / sizeof *array; i++) {
        *array[i] = s->block + i * tokens;
    }
    return s->row && s->first_token && s->trains && s->drop && s->answer && s->value && s->size &&
           s->order && s->block && s->keep;
}

static bool allocate_pack(struct rl_step *s)
{
    size_t rows = (size_t)s->o.max_rows, seqs = (size_t)s->o.max_seqs;
    struct rl_step_pack *p = &s->pack;
    p->start = calloc(seqs + 1 + 3 * rows, sizeof *p->start);
    p->walk = calloc(seqs, sizeof *p->walk);
    p->coef = calloc(4 * rows, sizeof *p->coef);
    if (!p->start || !p->walk || !p->coef) {
        return false;
    }
    p->ids = p->start + seqs + 1;
    p->target = p->ids + rows;
    p->at = (int *)(p->target + rows);
    p->eta = p->coef + rows;
    p->logp = p->eta + rows;
    p->ent = p->logp + rows;
    return true;
}

enum kg_code rl_step_create(struct lm_trainer *trainer, const struct rl_step_options *o,
                            struct rl_step **out, struct kg_err *err)
{
    *out = NULL;
    if (rl_methods_check(&o->methods, err) != KG_OK) {
        return err->code;
    }
    if ((o->methods.loss.kl_loss > 0 || o->methods.returns.kl_beta != 0) && o->reference == NULL) {
        return kg_fail(err, KG_E_USAGE, "kl_loss, kl_reward: this run has no reference policy");
    }
    if (o->max_tokens > o->max_rows || o->max_seqs < 1) {
        return kg_fail(err, KG_E_USAGE, "a trajectory of %d tokens, but micro-batches of %d rows",
                       o->max_tokens, o->max_rows);
    }
    struct rl_step *s = calloc(1, sizeof *s);
    if (s != NULL) {
        *s = (struct rl_step){.o = *o, .trainer = trainer};
        s->o.temperature = o->temperature > 0 ? o->temperature : 1;
        s->o.epochs = o->epochs > 0 ? o->epochs : 1;
    }
    if (s == NULL || !allocate_batch(s) || !allocate_pack(s)) {
        rl_step_destroy(s);
        return kg_fail(err, KG_E_HOST, "no memory for a step of %d x %d tokens", o->walks,
                       o->max_tokens);
    }
    *out = s;
    return KG_OK;
}

void rl_step_begin(struct rl_step *s, uint32_t step)
{
    s->step = step;
    s->taken = 0;
    s->groups = s->passed = 0;
    s->scored = s->held = false;
    s->sums = (struct rl_step_sums){0};
    s->stats = (struct rl_step_stats){0};
    s->rows = (struct rl_rows){.row = s->row};
    s->tokens = (struct rl_tokens){.mu = s->mu,
                                   .old = s->theta,
                                   .theta = s->theta,
                                   .ref = s->o.reference != NULL ? s->ref : NULL,
                                   .entropy = s->entropy,
                                   .keep = s->keep,
                                   .tis = s->tis,
                                   .adv = s->o.methods.adv.estimator->per_token ? s->adv : NULL,
                                   .coef = s->coef,
                                   .eta = s->eta};
}

/* Trajectories of the first group. */
static uint32_t group_size(const struct rl_rollouts *r)
{
    uint32_t n = 0;
    while ((int)n < r->n && r->walk[n].group == r->walk[0].group) {
        n++;
    }
    return n;
}

enum kg_code rl_step_add(struct rl_step *s, const struct rl_rollouts *r, uint32_t *want,
                         struct kg_err *err)
{
    const struct rl_methods *m = &s->o.methods;
    bool scores = m->returns.kl_beta != 0;
    int first = s->taken, micro = 0;
    KG_ASSERT(r->n <= s->o.walks && r->max_tokens <= s->o.max_tokens && r->n > first);
    s->rollouts = group_size(r);
    for (int i = first; i < r->n; i += (int)s->rollouts) {
        size_t row = s->rows.n;
        for (int k = i; k < i + (int)s->rollouts; k++) {
            rl_step_rows_add(s, &r->walk[k], k);
            s->trains[k] = scores;
        }
        struct rl_rows mine = {.n = s->rows.n - row, .row = s->row + row};
        enum kg_code code = rl_rows_check(&mine, s->tokens.n, err);
        if (code == KG_OK && scores) {
            code = rl_step_score(s, r, i, i + (int)s->rollouts, &micro, err);
        }
        if (code != KG_OK) {
            return code;
        }
        rl_select_returns(&mine, &s->tokens, m, &s->counts);
        rl_step_measure(s, r->walk, row, s->rows.n);
        rl_step_group(s, r, r->walk[i].group, row);
        s->taken = i + (int)s->rollouts;
    }
    s->scored = scores;
    s->stats.rounds++;
    *want = 0;
    if (s->o.refills > 0 && rl_refill_decide(s->passed, m->groups, (uint32_t)s->stats.rounds - 1,
                                             s->o.refills, true, &s->counts) == RL_REFILL_SAMPLE) {
        *want = m->groups - s->passed;
    }
    return KG_OK;
}

static int walk_of(const struct rl_step *s, const struct rl_row *row)
{
    return (int)(row->group * s->rollouts + row->rollout - 1);
}

/* Marks the trajectories with rows; `all`, or those that have something to train on. */
static void mark(struct rl_step *s, const struct rl_rollouts *r, bool all)
{
    memset(s->trains, 0, (size_t)r->n * sizeof *s->trains);
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct rl_row *row = &s->rows.row[i];
        s->trains[walk_of(s, row)] |= all || rl_loss_trains(row, &s->tokens, &s->o.methods.loss);
    }
}

/* Masks, advantages, coefficients. */
static enum kg_code decide(struct rl_step *s, const struct rl_rollouts *r, struct kg_err *err)
{
    if (!s->scored) {
        mark(s, r, true);
        if (rl_step_score(s, r, 0, r->n, &s->stats.micro, err) != KG_OK) {
            return err->code;
        }
        s->held = s->stats.micro == 1;
    }
    if (rl_step_compare(s, err) != KG_OK) {
        return err->code;
    }
    s->stats.mismatch = rl_mismatch_stats(&s->rows, &s->tokens);
    rl_select_masks(&s->rows, &s->tokens, &s->o.methods, s->o.seed, &s->counts);
    rl_step_coefficients(s);
    return KG_OK;
}

static enum kg_code update(struct rl_step *s, const struct rl_rollouts *r, struct kg_err *err)
{
    mark(s, r, false);
    for (int epoch = 0; epoch < s->o.epochs; epoch++) {
        if (rl_step_gradient(s, r, (uint32_t)epoch, err) != KG_OK) {
            lm_trainer_zero(s->trainer);
            return err->code;
        }
        struct lm_update u = lm_trainer_update(s->trainer, &s->o.adamw);
        s->stats.norm = u.norm;
        s->stats.skipped = s->stats.skipped || u.skipped;
        s->stats.updated = s->stats.updated || !u.skipped;
        s->held = false;
        if (s->o.adapter) {
            rl_count(&s->counts, RL_C_LORA, !u.skipped);
        }
    }
    return KG_OK;
}

enum kg_code rl_step_update(struct rl_step *s, const struct rl_rollouts *r,
                            struct rl_step_stats *out, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    rl_step_choose(s);
    if (s->rows.n > 0) { /* else there is nothing to learn from: no update */
        code = decide(s, r, err);
        code = code != KG_OK ? code : update(s, r, err);
    }
    rl_step_summarize(s);
    *out = s->stats;
    return code;
}

void rl_step_rehearse(struct rl_step *s)
{
    rl_step_choose(s);
    memcpy(s->theta, s->mu, s->tokens.n * sizeof *s->theta);
    rl_select_masks(&s->rows, &s->tokens, &s->o.methods, s->o.seed, &s->counts);
}

enum kg_code rl_step_learn(struct rl_step *s, const struct rl_rollouts *r, uint32_t step,
                           struct rl_step_stats *out, struct kg_err *err)
{
    uint32_t want;
    *out = (struct rl_step_stats){0};
    rl_step_begin(s, step);
    enum kg_code code = rl_step_add(s, r, &want, err);
    return code != KG_OK ? code : rl_step_update(s, r, out, err);
}

struct rl_counts *rl_step_counts(struct rl_step *s)
{
    return &s->counts;
}

const struct rl_rows *rl_step_rows(const struct rl_step *s)
{
    return &s->rows;
}

enum rl_drop rl_step_drop(const struct rl_step *s, uint32_t group)
{
    KG_ASSERT(group < s->groups);
    return (enum rl_drop)s->drop[group];
}

double rl_step_difference(const struct rl_step *s, const struct rl_row *row)
{
    double most = 0;
    for (size_t k = row->first; k < row->first + row->length; k++) {
        most = fmax(most, fabs((double)s->theta[k] - (double)s->mu[k]));
    }
    return most;
}
