/* One training step over finished trajectories. */
#include "rl/step_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rl_step_destroy(struct rl_step *s)
{
    if (s == NULL) {
        return;
    }
    free(s->row);
    free(s->all);
    free(s->block);
    free(s->keep);
    free(s->first_token);
    free(s->trains);
    free(s->pack.start);
    free(s->pack.walk);
    free(s->pack.coef);
    free(s);
}

/* Arrays of tokens, and of a micro-batch. */
static bool allocate(struct rl_step *s)
{
    size_t walks = (size_t)s->o.walks, tokens = walks * (size_t)s->o.max_tokens;
    size_t turns = walks * RL_TURNS_MAX, rows = (size_t)s->o.max_rows, seqs = (size_t)s->o.max_seqs;
    struct rl_step_pack *p = &s->pack;
    s->row = calloc(turns, sizeof *s->row);
    s->all = calloc(turns, sizeof *s->all);
    s->first_token = calloc(turns, sizeof *s->first_token);
    s->trains = calloc(walks, sizeof *s->trains);
    s->block = calloc(7 * tokens, sizeof *s->block);
    s->keep = calloc(tokens, sizeof *s->keep);
    p->start = calloc(seqs + 1 + 3 * rows, sizeof *p->start);
    p->walk = calloc(seqs, sizeof *p->walk);
    p->coef = calloc(4 * rows, sizeof *p->coef);
    if (!s->row || !s->all || !s->first_token || !s->trains || !s->block || !s->keep || !p->start ||
        !p->walk || !p->coef) {
        return false;
    }
    float **array[] = {&s->mu, &s->theta, &s->entropy, &s->coef, &s->eta, &s->tis, &s->adv};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) {
        *array[i] = s->block + i * tokens;
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
    if (o->methods.loss.kl_loss > 0 || o->methods.returns.kl_beta != 0) {
        return kg_fail(err, KG_E_USAGE, "kl_loss, kl_reward: this run has no reference policy");
    }
    if (o->max_tokens > o->max_rows || o->max_seqs < 1) {
        return kg_fail(err, KG_E_USAGE, "a trajectory of %d tokens, but micro-batches of %d rows",
                       o->max_tokens, o->max_rows);
    }
    struct rl_step *s = calloc(1, sizeof *s);
    if (s != NULL) {
        *s = (struct rl_step){.o = *o, .trainer = trainer};
    }
    if (s == NULL || !allocate(s)) {
        rl_step_destroy(s);
        return kg_fail(err, KG_E_HOST, "no memory for a step of %d x %d tokens", o->walks,
                       o->max_tokens);
    }
    *out = s;
    return KG_OK;
}

/* --- micro-batches --- */

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

/* The next walks that fit, from *next on. False: none is left, and the last pack stays. */
static bool pack_next(struct rl_step *s, const struct rl_rollouts *r, int *next)
{
    while (*next < r->n && !s->trains[*next]) {
        ++*next;
    }
    if (*next == r->n) {
        return false;
    }
    s->pack.rows = s->pack.seqs = 0;
    while (*next < r->n && (!s->trains[*next] || pack_walk(s, &r->walk[*next], *next))) {
        ++*next;
    }
    return true;
}

static enum kg_code forward(struct rl_step *s, struct kg_err *err)
{
    struct rl_step_pack *p = &s->pack;
    p->view = (struct lm_rows){
        .n_seq = p->seqs, .start = p->start, .ids = p->ids, .target = p->target, .temperature = 1};
    return lm_trainer_forward(s->trainer, &p->view, p->logp, p->ent, err);
}

/* theta of all sampled tokens. Returns the number of micro-batches in *micro. */
static enum kg_code score(struct rl_step *s, const struct rl_rollouts *r, int *micro,
                          struct kg_err *err)
{
    int next = 0;
    *micro = 0;
    while (pack_next(s, r, &next)) {
        if (forward(s, err) != KG_OK) {
            return err->code;
        }
        for (int k = 0; k < s->pack.rows; k++) {
            if (s->pack.at[k] >= 0) {
                s->theta[s->pack.at[k]] = s->pack.logp[k];
                s->entropy[s->pack.at[k]] = s->pack.ent[k];
            }
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

/* The log-probs of sampler and learner have the same bits. */
static enum kg_code compare(const struct rl_step *s, struct rl_step_stats *out, struct kg_err *err)
{
    size_t n = s->tokens.n;
    for (size_t k = 0; k < n; k++) {
        double d = fabs((double)s->theta[k] - (double)s->mu[k]);
        out->max_diff = d > out->max_diff ? d : out->max_diff;
    }
    if (!s->o.same_bits || memcmp(s->mu, s->theta, n * sizeof *s->mu) == 0) {
        return KG_OK;
    }
    size_t k = 0;
    while (bits(s->mu[k]) == bits(s->theta[k])) {
        k++;
    }
    return kg_fail(err, KG_E_INPUT,
                   "log-probs differ at token %zu of %zu: sampler %.9g, learner %.9g", k, n,
                   (double)s->mu[k], (double)s->theta[k]);
}

static void count_tokens(struct rl_step *s, struct rl_step_stats *out)
{
    double entropy = 0, n = 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct rl_row *r = &s->rows.row[i];
        out->kept += rl_row_kept(r);
        for (size_t k = 0; k < r->length && rl_row_live(r); k++, n++) {
            entropy += (double)s->entropy[r->first + k];
        }
    }
    out->entropy = n > 0 ? entropy / n : 0;
}

/* Which trajectories have a row to train on. */
static void mark(struct rl_step *s, const struct rl_rollouts *r)
{
    memset(s->trains, 0, (size_t)r->n * sizeof *s->trains);
    int per_group = 0;
    while (per_group < r->n && r->walk[per_group].group == r->walk[0].group) {
        per_group++;
    }
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct rl_row *row = &s->rows.row[i];
        int walk = (int)row->group * per_group + (int)row->rollout - 1;
        s->trains[walk] |= rl_loss_trains(row, &s->tokens, &s->o.methods.loss);
    }
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

/* The gradient of the whole batch. The last forward serves again where it held all of it. */
static enum kg_code gradient(struct rl_step *s, const struct rl_rollouts *r,
                             struct rl_step_stats *out, struct kg_err *err)
{
    struct rl_loss_stats loss = {0};
    const struct rl_loss_options *o = &s->o.methods.loss;
    struct rl_norm norm = rl_loss_norm(&s->rows, &s->tokens, o);
    int next = 0;
    memset(s->coef, 0, s->tokens.n * sizeof *s->coef);
    memset(s->eta, 0, s->tokens.n * sizeof *s->eta);
    rl_loss(&s->rows, 0, s->rows.n, &s->tokens, &norm, o, &loss, &s->counts);
    out->loss = loss.loss;
    if (out->micro == 1) {
        backward(s);
        return KG_OK;
    }
    mark(s, r);
    while (pack_next(s, r, &next)) {
        if (forward(s, err) != KG_OK) {
            return err->code;
        }
        backward(s);
    }
    return KG_OK;
}

enum kg_code rl_step_learn(struct rl_step *s, const struct rl_rollouts *r, uint32_t step,
                           struct rl_step_stats *out, struct kg_err *err)
{
    *out = (struct rl_step_stats){.hack = rl_step_hacks(r)};
    enum kg_code code = rl_step_rows_make(s, r, step, err);
    if (code != KG_OK) {
        return code;
    }
    code = score(s, r, &out->micro, err);
    code = code != KG_OK ? code : compare(s, out, err);
    if (code != KG_OK) {
        return code;
    }
    rl_select_returns(&s->rows, &s->tokens, &s->o.methods, &s->counts);
    rl_step_measure(s, out);
    rl_step_filter(s, out);
    if (s->rows.n == 0) {
        return KG_OK; /* nothing to learn from: no update */
    }
    rl_select_masks(&s->rows, &s->tokens, &s->o.methods, s->o.seed, &s->counts);
    count_tokens(s, out);
    code = gradient(s, r, out, err);
    if (code != KG_OK) {
        lm_trainer_zero(s->trainer);
        return code;
    }
    struct lm_update u = lm_trainer_update(s->trainer, &s->o.adamw);
    out->norm = u.norm;
    out->skipped = u.skipped;
    return KG_OK;
}

const struct rl_counts *rl_step_counts(const struct rl_step *s)
{
    return &s->counts;
}

const struct rl_rows *rl_step_rows(const struct rl_step *s)
{
    return &s->rows;
}
