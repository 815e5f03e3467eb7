/* Packs documents and runs steps of AdamW on them. */
#include "rl/sft.h"

#include <stdlib.h>

#include "base/clock.h"
#include "lm/train/schedule.h"
#include "rl/streams.h"

#define PROGRESS 10000 /* parts of a run, for the schedule */

struct work {
    const struct rl_corpus *corpus;
    const struct rl_sft_options *o;
    uint32_t *order; /* [documents] of this epoch */
    size_t at;       /* in order */
    uint32_t epoch;
    int32_t *start, *ids, *target;
    float *coef, *logp;
    int rows, seqs, counted;
};

static void close_work(struct work *w)
{
    free(w->order);
    free(w->start);
    free(w->ids);
    free(w->target);
    free(w->coef);
    free(w->logp);
}

static enum kg_code open_work(struct work *w, struct kg_err *err)
{
    size_t n = (size_t)w->o->rows;
    w->order = calloc(w->corpus->n + 1, sizeof *w->order);
    w->start = calloc((size_t)w->o->seqs + 1, sizeof *w->start);
    w->ids = calloc(n, sizeof *w->ids);
    w->target = calloc(n, sizeof *w->target);
    w->coef = calloc(n, sizeof *w->coef);
    w->logp = calloc(n, sizeof *w->logp);
    bool ok = w->order && w->start && w->ids && w->target && w->coef && w->logp;
    return ok ? KG_OK : kg_fail(err, KG_E_HOST, "sft: no memory for %zu rows", n);
}

/* The last token of a document is only predicted, so it has no row. */
static int doc_rows(const struct rl_document *d)
{
    return (int)d->n - 1;
}

static int most_rows(const struct rl_sft_options *o)
{
    return o->longest > 0 && o->longest < o->rows ? o->longest : o->rows;
}

static void add_document(struct work *w, const struct rl_document *d)
{
    const int32_t *id = w->corpus->ids.id + d->first;
    const uint8_t *mask = w->corpus->ids.mask + d->first;
    for (int i = 0; i < doc_rows(d); i++) {
        w->ids[w->rows + i] = id[i];
        w->target[w->rows + i] = mask[i + 1] ? id[i + 1] : -1;
        w->counted += mask[i + 1];
    }
    w->rows += doc_rows(d);
    w->start[++w->seqs] = w->rows;
}

static void next_epoch(struct work *w)
{
    rl_shuffle(w->o->seed, RL_STREAM_SFT, w->epoch++, 0, w->corpus->n, w->order);
    w->at = 0;
}

/* Documents in their order until one does not fit; a longer one than a step is left out. */
static void pack(struct work *w, struct rl_sft_stats *s)
{
    w->rows = w->seqs = w->counted = 0;
    for (;;) {
        if (w->at == w->corpus->n) {
            next_epoch(w);
        }
        const struct rl_document *d = &w->corpus->doc[w->order[w->at]];
        if (doc_rows(d) > most_rows(w->o)) {
            s->left_out++;
            w->at++;
            continue;
        }
        if (w->rows + doc_rows(d) > w->o->rows || w->seqs == w->o->seqs) {
            return;
        }
        add_document(w, d);
        w->at++;
    }
}

static enum kg_code step(struct work *w, struct lm_trainer *t, struct rl_sft_stats *s,
                         struct kg_err *err)
{
    const struct lm_rows rows = {
        .n_seq = w->seqs, .start = w->start, .ids = w->ids, .target = w->target, .temperature = 1};
    double loss = 0;
    if (lm_trainer_forward(t, &rows, w->logp, NULL, err) != KG_OK) {
        return err->code;
    }
    for (int i = 0; i < w->rows; i++) {
        w->coef[i] = w->target[i] >= 0 ? 1.0f / (float)w->counted : 0;
        loss -= w->target[i] >= 0 ? (double)w->logp[i] : 0;
    }
    lm_trainer_backward(t, w->coef, NULL);
    struct lm_adamw adamw = w->o->adamw;
    adamw.rate = (float)s->rate;
    struct lm_update u = lm_trainer_update(t, &adamw);
    s->loss = loss / w->counted;
    s->norm = u.norm;
    s->skipped += u.skipped;
    s->tokens += (uint64_t)w->rows;
    s->trained += (uint64_t)w->counted;
    s->step++;
    s->epoch = w->epoch;
    s->at = (uint32_t)w->at;
    return KG_OK;
}

/* The place in the documents that a run had reached. */
static void go_on(struct work *w, const struct rl_sft_stats *from)
{
    if (from->epoch > 0) {
        w->epoch = from->epoch - 1;
        next_epoch(w);
        w->at = from->at;
    }
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

static enum kg_code check(const struct work *w, struct kg_err *err)
{
    for (size_t i = 0; i < w->corpus->n; i++) {
        if (doc_rows(&w->corpus->doc[i]) <= most_rows(w->o)) {
            return KG_OK;
        }
    }
    return kg_fail(err, KG_E_INPUT, "sft: no document of the corpus fits into %d rows",
                   most_rows(w->o));
}

enum kg_code rl_sft_run(struct lm_trainer *trainer, const struct rl_corpus *corpus,
                        const struct rl_sft_options *o, rl_sft_report *report, void *user,
                        struct rl_sft_stats *out, struct kg_err *err)
{
    struct work w = {.corpus = corpus, .o = o};
    *out = o->from != NULL ? *o->from : (struct rl_sft_stats){0};
    int64_t began = kg_clock_ns() - (int64_t)(out->seconds * 1e9);
    if (check(&w, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = open_work(&w, err);
    w.at = corpus->n; /* the first epoch begins */
    if (code == KG_OK) {
        go_on(&w, out);
    }
    while (code == KG_OK && out->step < o->steps &&
           (o->seconds <= 0 || out->seconds < o->seconds)) {
        out->rate = rate_now(o, out);
        pack(&w, out);
        code = step(&w, trainer, out, err);
        out->seconds = (double)(kg_clock_ns() - began) * 1e-9;
        if (code == KG_OK && report != NULL && !report(user, out)) {
            break;
        }
    }
    close_work(&w);
    return code;
}
