/* Steps of AdamW on packed documents. */
#include "rl/step/sft.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "lm/train/schedule.h"
#include "rl/methods/streams.h"

#define PROGRESS 10000 /* parts of a run, for the schedule */

struct work {
    const struct rl_sft_options *o;
    struct lm_trainer *trainer;
    struct rl_pack *micro; /* [micros]; each holds a micro-batch of the step */
    int micros;
    float *coef, *logp; /* [rows] */
};

static int micros_of(const struct rl_sft_options *o)
{
    return o->micro > 1 ? o->micro : 1;
}

static struct rl_pack_options pack_options(const struct rl_sft_options *o, bool shuffle)
{
    return (struct rl_pack_options){.seed = o->seed,
                                    .shuffle = shuffle,
                                    .rows = o->rows,
                                    .seqs = o->seqs,
                                    .longest = o->longest};
}

static void close_work(struct work *w)
{
    for (int i = 0; w->micro != NULL && i < w->micros; i++) {
        rl_pack_close(&w->micro[i]);
    }
    free(w->micro);
    free(w->coef);
    free(w->logp);
}

static enum kg_code open_work(struct work *w, const struct rl_corpus *corpus, struct kg_err *err)
{
    size_t n = (size_t)w->o->rows;
    const struct rl_pack_options p = pack_options(w->o, true);
    w->micros = micros_of(w->o);
    w->micro = calloc((size_t)w->micros, sizeof *w->micro);
    w->coef = calloc(n, sizeof *w->coef);
    w->logp = calloc(n, sizeof *w->logp);
    if (w->micro == NULL || w->coef == NULL || w->logp == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "sft: no memory for %zu rows", n);
    }
    enum kg_code code = KG_OK;
    for (int i = 0; i < w->micros && code == KG_OK; i++) {
        code = rl_pack_open(corpus, &p, &w->micro[i], err);
    }
    return code;
}

/* All micro-batches of a step, so that the mean is over all of them. Returns the counted tokens. */
static int pack_step(struct work *w, struct rl_sft_stats *s)
{
    int counted = 0;
    struct rl_pack_place at = {s->epoch, s->at};
    for (int i = 0; i < w->micros; i++) {
        struct rl_pack *p = &w->micro[i];
        p->left_out = 0;
        rl_pack_seek(p, at);
        rl_pack_next(p, false);
        at = p->cursor;
        s->left_out += p->left_out;
        s->tokens += (uint64_t)p->rows;
        counted += p->counted;
    }
    s->epoch = at.epoch;
    s->at = at.at;
    s->trained += (uint64_t)counted;
    return counted;
}

/* Adds the gradient of a micro-batch; *loss += its sum of -log p. */
static enum kg_code micro_step(struct work *w, int i, int step, int counted, double *loss,
                               struct kg_err *err)
{
    const struct rl_pack *p = &w->micro[i];
    struct lm_rows rows = rl_pack_rows(p);
    rows.dropout = w->o->dropout;
    rows.dropout_seed = rl_draw_bits(w->o->seed, RL_STREAM_DROPOUT, (uint32_t)step, (uint32_t)i, 0);
    if (lm_trainer_forward(w->trainer, &rows, w->logp, NULL, err) != KG_OK) {
        return err->code;
    }
    for (int k = 0; k < p->rows; k++) {
        w->coef[k] = p->target[k] >= 0 ? 1.0f / (float)counted : 0;
        *loss -= p->target[k] >= 0 ? (double)w->logp[k] : 0;
    }
    lm_trainer_backward(w->trainer, w->coef, NULL);
    return KG_OK;
}

static enum kg_code step(struct work *w, struct rl_sft_stats *s, struct kg_err *err)
{
    double loss = 0;
    int counted = pack_step(w, s);
    for (int i = 0; i < w->micros; i++) {
        if (micro_step(w, i, s->step, counted, &loss, err) != KG_OK) {
            return err->code;
        }
    }
    struct lm_adamw adamw = w->o->adamw;
    adamw.rate = (float)s->rate;
    struct lm_update u = lm_trainer_update(w->trainer, &adamw);
    s->loss = loss / counted;
    s->norm = u.norm;
    s->skipped += u.skipped;
    s->step++;
    return KG_OK;
}

/* By the part of the run that is done. */
static double rate_now(const struct rl_sft_options *o, const struct rl_sft_stats *s)
{
    double done = (double)s->step / o->steps;
    if (o->seconds > 0 && s->seconds / o->seconds > done) {
        done = s->seconds / o->seconds;
    }
    const struct lm_schedule fall = {.kind = LM_COSINE,
                                     .rate = o->adamw.rate,
                                     .lowest = o->lowest * o->adamw.rate,
                                     .steps = PROGRESS};
    const struct lm_schedule rise = {
        .kind = LM_CONSTANT, .rate = o->adamw.rate, .warmup = o->warmup, .steps = o->steps};
    double a = lm_schedule_rate(&fall, (int)(done * PROGRESS));
    double b = lm_schedule_rate(&rise, s->step);
    return a < b ? a : b;
}

/* --- validation --- */

static enum kg_code loss_of(struct lm_trainer *trainer, struct rl_pack *p, float *logp,
                            double *loss, struct kg_err *err)
{
    double sum = 0;
    uint64_t counted = 0;
    rl_pack_seek(p, (struct rl_pack_place){0});
    for (rl_pack_next(p, true); p->seqs > 0; rl_pack_next(p, true)) {
        const struct lm_rows rows = rl_pack_rows(p);
        if (lm_trainer_forward(trainer, &rows, logp, NULL, err) != KG_OK) {
            return err->code;
        }
        for (int i = 0; i < p->rows; i++) {
            sum -= p->target[i] >= 0 ? (double)logp[i] : 0;
        }
        counted += (uint64_t)p->counted;
    }
    *loss = sum / (double)counted;
    return KG_OK;
}

enum kg_code rl_sft_loss(struct lm_trainer *trainer, const struct rl_corpus *corpus,
                         const struct rl_sft_options *o, double *loss, struct kg_err *err)
{
    struct rl_pack p;
    const struct rl_pack_options options = pack_options(o, false);
    if (rl_pack_open(corpus, &options, &p, err) != KG_OK) {
        return kg_err_prefix(err, "validation");
    }
    float *logp = calloc((size_t)o->rows, sizeof *logp);
    enum kg_code code = logp != NULL
                            ? loss_of(trainer, &p, logp, loss, err)
                            : kg_fail_memory(err, KG_E_HOST, "sft: no memory for %d rows", o->rows);
    free(logp);
    rl_pack_close(&p);
    return code;
}

/* --- the run --- */

static bool goes_on(const struct rl_sft_options *o, const struct rl_sft_stats *s)
{
    return s->step < o->steps && (o->seconds <= 0 || s->seconds < o->seconds);
}

static enum kg_code validate(struct work *w, struct rl_pack *valid, struct rl_sft_stats *s,
                             struct kg_err *err)
{
    int every = w->o->valid_every;
    s->valid = (double)NAN;
    if (w->o->valid == NULL || (goes_on(w->o, s) && (every == 0 || s->step % every != 0))) {
        return KG_OK;
    }
    return loss_of(w->trainer, valid, w->logp, &s->valid, err);
}

static enum kg_code all_steps(struct work *w, struct rl_pack *valid, rl_sft_report *report,
                              void *user, struct rl_sft_stats *s, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    double before = s->seconds;
    int64_t began = kg_clock_ns();
    while (code == KG_OK && goes_on(w->o, s)) {
        s->rate = rate_now(w->o, s);
        code = step(w, s, err);
        s->seconds = before + (double)(kg_clock_ns() - began) * 1e-9;
        code = code != KG_OK ? code : validate(w, valid, s, err);
        if (code == KG_OK && report != NULL && !report(user, s)) {
            break;
        }
    }
    return code;
}

enum kg_code rl_sft_run(struct lm_trainer *trainer, const struct rl_corpus *corpus,
                        const struct rl_sft_options *o, rl_sft_report *report, void *user,
                        struct rl_sft_stats *out, struct kg_err *err)
{
    struct work w = {.o = o, .trainer = trainer};
    struct rl_pack valid = {0};
    const struct rl_pack_options v = pack_options(o, false);
    *out = o->from != NULL ? *o->from : (struct rl_sft_stats){.valid = (double)NAN};
    enum kg_code code = open_work(&w, corpus, err);
    if (code == KG_OK && o->valid != NULL && rl_pack_open(o->valid, &v, &valid, err) != KG_OK) {
        code = kg_err_prefix(err, "validation");
    }
    code = code != KG_OK ? code : all_steps(&w, &valid, report, user, out, err);
    rl_pack_close(&valid);
    close_work(&w);
    return code;
}

enum kg_code rl_sft_steps(const struct rl_corpus *corpus, const struct rl_sft_options *o,
                          double epochs, int *steps, struct kg_err *err)
{
    struct rl_pack p;
    const struct rl_pack_options options = pack_options(o, true);
    if (rl_pack_open(corpus, &options, &p, err) != KG_OK) {
        return err->code;
    }
    int micros = micros_of(o), most = o->steps < INT32_MAX / micros ? o->steps * micros : INT32_MAX;
    *steps = (rl_pack_count(&p, epochs, most) + micros - 1) / micros;
    rl_pack_close(&p);
    return KG_OK;
}
