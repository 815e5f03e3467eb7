/* Loss terms of tokens, and the coefficients that the engine multiplies into its backward pass. */
#include "rl/methods/loss.h"

#include <math.h>
#include <string.h>

#define K3_MAX 10.0

double rl_loss_term(double adv, double rho, const struct rl_loss_options *o, double *grad)
{
    double held = fmin(fmax(rho, 1 - o->clip_lo), 1 + o->clip_hi);
    double plain = -adv * rho, clipped = -adv * held;
    double loss = fmax(plain, clipped);
    *grad = plain >= clipped ? plain : 0;
    if (adv < 0 && o->dual > 0 && loss > -adv * o->dual) {
        *grad = 0;
        return -adv * o->dual;
    }
    return loss;
}

double rl_loss_kl(enum rl_kl kind, double d, double *grad)
{
    switch (kind) {
    case RL_KL_K1:
        *grad = 1;
        return d;
    case RL_KL_K2:
        *grad = d;
        return d * d / 2;
    case RL_KL_ABS:
        *grad = d > 0 ? 1 : d < 0 ? -1 : 0;
        return fabs(d);
    case RL_KL_K3:
        break;
    }
    double e = exp(fmin(-d, RL_EXPONENT_MAX)), k3 = e + d - 1;
    if (k3 > K3_MAX) {
        *grad = 0;
        return K3_MAX;
    }
    *grad = 1 - e;
    return k3;
}

/* Of entropies from 0 up the bits order as the values do. */
static uint32_t bits_of(float x)
{
    uint32_t u;
    x = x > 0 ? x : 0;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* Smallest entropy of a kept token with a share of at least q of them at or below it. Found byte
 * by byte, so that no array is sorted and none is needed. */
static float entropy_quantile(const struct rl_rows *rows, const struct rl_tokens *t, double tokens,
                              double q)
{
    uint32_t prefix = 0;
    double want = fmax(ceil(q * tokens), 1);
    for (int shift = 24; shift >= 0; shift -= 8) {
        size_t seen[256] = {0};
        for (size_t i = 0; i < rows->n; i++) {
            const struct rl_row *r = &rows->row[i];
            for (size_t k = r->first; rl_row_kept(r) && k < r->first + r->length; k++) {
                uint32_t b = bits_of(t->entropy[k]);
                if (rl_token_kept(t, k) && (shift == 24 || b >> (shift + 8) == prefix)) {
                    seen[b >> shift & 255]++;
                }
            }
        }
        uint32_t byte = 0;
        while (byte < 255 && (double)seen[byte] < want) {
            want -= (double)seen[byte++];
        }
        prefix = prefix << 8 | byte;
    }
    float out;
    memcpy(&out, &prefix, sizeof out);
    return out;
}

struct rl_norm rl_loss_norm(const struct rl_rows *rows, const struct rl_tokens *tokens,
                            const struct rl_loss_options *o)
{
    struct rl_norm norm = rl_aggregate_norm(rows, tokens, &o->aggregate);
    if (o->ent_quantile > 0) {
        KG_ASSERT(tokens->entropy != NULL);
        norm.entropy_least = entropy_quantile(rows, tokens, norm.tokens, o->ent_quantile);
    }
    return norm;
}

struct work {
    const struct rl_row *r;
    struct rl_tokens *t;
    const struct rl_norm *norm;
    const struct rl_loss_options *o;
    struct rl_counts *counts;
};

static const float *old_of(const struct work *w)
{
    switch (w->o->offpolicy) {
    case RL_DECOUPLED:
        return w->t->old;
    case RL_BYPASS:
    case RL_PURE:
        return w->t->mu;
    case RL_ONPOLICY:
        break;
    }
    return w->t->theta;
}

static double held_exponent(struct work *w, double x)
{
    bool far = !(fabs(x) <= RL_EXPONENT_MAX);
    rl_count(w->counts, RL_C_RATIO, far);
    return far ? copysign(RL_EXPONENT_MAX, x) : x;
}

/* Log ratio of a token, or of the row for gspo: one number for all its tokens. */
static double log_ratio(struct work *w, size_t k)
{
    const float *old = old_of(w);
    return held_exponent(w, (double)w->t->theta[k] - (double)old[k]);
}

static double row_log_ratio(struct work *w, size_t n)
{
    const float *old = old_of(w);
    double sum = 0;
    for (size_t k = w->r->first; k < w->r->first + w->r->length; k++) {
        if (rl_token_kept(w->t, k)) {
            sum += (double)w->t->theta[k] - (double)old[k];
        }
    }
    return held_exponent(w, sum / (double)n);
}

/* Is the policy term of a token masked? */
static bool masked(struct work *w, size_t k, double adv)
{
    bool out = false;
    if (w->o->ent_quantile != 0) {
        out = !(w->t->entropy[k] > w->norm->entropy_least);
        rl_count(w->counts, RL_C_ENT_MASK, out);
    }
    if (w->o->risk_prob > 0) {
        bool risk = adv < 0 && exp((double)old_of(w)[k]) < w->o->risk_prob;
        rl_count(w->counts, RL_C_RISK_MASK, risk);
        out = out || risk;
    }
    return out;
}

/* Policy term of a token; *grad = dl / d log theta. */
static double policy(struct work *w, size_t k, double adv, double log_rho, double *grad)
{
    double loss;
    if (w->o->offpolicy == RL_PURE) {
        double weight = fmin(exp(log_rho), w->o->pure_cap);
        loss = -weight * adv * (double)w->t->theta[k];
        *grad = -weight * adv;
    } else {
        loss = rl_loss_term(adv, exp(log_rho), w->o, grad);
        rl_count(w->counts, RL_C_CLIP, *grad == 0 && adv != 0);
    }
    if (masked(w, k, adv)) {
        *grad = 0;
        return 0;
    }
    if (w->t->tis != NULL) {
        *grad *= (double)w->t->tis[k];
        loss *= (double)w->t->tis[k];
    }
    return loss;
}

static void row_loss(struct work *w, size_t n, struct rl_loss_stats *stats)
{
    const struct rl_row *r = w->r;
    const struct rl_loss_options *o = w->o;
    struct rl_tokens *t = w->t;
    double scale = rl_aggregate_weight(w->norm, n), used = 0;
    double whole = o->form == RL_FORM_GSPO ? row_log_ratio(w, n) : 0;
    for (size_t k = r->first; k < r->first + r->length; k++) {
        if (!rl_token_kept(t, k)) {
            continue;
        }
        double adv = t->adv != NULL ? (double)t->adv[k] : r->adv, grad, kl_grad = 0;
        double log_rho = o->form == RL_FORM_GSPO ? whole : log_ratio(w, k);
        double loss = policy(w, k, adv, log_rho, &grad);
        if (o->kl_loss > 0) {
            double kl = rl_loss_kl(o->kl, (double)t->theta[k] - (double)t->ref[k], &kl_grad);
            stats->kl_loss += scale * o->kl_loss * kl;
            loss += o->kl_loss * kl;
            grad += o->kl_loss * kl_grad;
            rl_count(w->counts, RL_C_KL_LOSS, kl != 0);
        }
        if (o->entropy != 0) {
            loss -= t->entropy != NULL ? o->entropy * (double)t->entropy[k] : 0;
            t->eta[k] = (float)(scale * o->entropy);
            rl_count(w->counts, RL_C_ENTROPY, true);
        }
        t->coef[k] = (float)(-scale * grad);
        stats->loss += scale * loss;
        used += fabs((double)t->coef[k]);
    }
    stats->tokens += n;
    stats->abs_coef += used;
    stats->rows_used += used > 0;
}

void rl_loss(const struct rl_rows *rows, size_t first, size_t end, struct rl_tokens *tokens,
             const struct rl_norm *norm, const struct rl_loss_options *o,
             struct rl_loss_stats *stats, struct rl_counts *counts)
{
    KG_ASSERT(tokens->theta != NULL && tokens->coef != NULL);
    KG_ASSERT(o->entropy == 0 || tokens->eta != NULL);
    KG_ASSERT(!rl_loss_needs_ref(o) || tokens->ref != NULL);
    KG_ASSERT(!rl_loss_needs_old(o) || tokens->old != NULL);
    KG_ASSERT(o->ent_quantile == 0 || tokens->entropy != NULL);
    for (size_t i = first; i < end; i++) {
        const struct rl_row *r = &rows->row[i];
        memset(tokens->coef + r->first, 0, r->length * sizeof *tokens->coef);
        if (tokens->eta != NULL) {
            memset(tokens->eta + r->first, 0, r->length * sizeof *tokens->eta);
        }
        size_t n = rl_aggregate_tokens(r, tokens);
        if (n > 0) {
            struct work w = {r, tokens, norm, o, counts};
            row_loss(&w, n, stats);
        }
    }
}
