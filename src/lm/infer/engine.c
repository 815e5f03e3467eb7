/* Conversations, and the step: schedule, forward, draw on all threads, append. */
#include "lm/infer/engine.h"

#include <stdlib.h>
#include <string.h>

#include "lm/infer/internal.h"

/* After the last layer, on every thread. */
static void draw(struct lm_run *run, int i, int n)
{
    struct lm_engine *e = run->after_arg;
    int vocab = e->model->cfg.vocab, lo, hi;
    lm_real *scratch = e->scratch + lm_sample_scratch(vocab) * (size_t)i;
    lm_threads_share(e->batch.n_want, 1, i, n, &lo, &hi);
    if (lo < hi) {
        lm_forward_logits(run, lo, hi, e->z + (ptrdiff_t)lo * vocab);
    }
    for (int r = lo; r < hi; r++) {
        const struct lm_conversation *c = &e->c[e->want_c[r]];
        e->draws[r] = lm_sample(e->model->ops, e->z + (ptrdiff_t)r * vocab, vocab,
                                &c->turn.sampling, c->request, c->n, scratch);
    }
}

static bool allocate(struct lm_engine *e)
{
    size_t seqs = (size_t)e->o.max_seqs, rows = (size_t)e->o.max_rows,
           tokens = (size_t)e->o.max_tokens;
    size_t table = tokens / LM_PAGE + 1, vocab = (size_t)e->model->cfg.vocab;
    e->c = calloc(seqs, sizeof *e->c);
    e->order = calloc(seqs, sizeof *e->order);
    e->ints = calloc(seqs * (tokens + table), sizeof *e->ints);
    e->z = calloc(seqs * vocab, sizeof *e->z);
    e->scratch = calloc((size_t)lm_threads_count(e->threads) * lm_sample_scratch((int)vocab),
                        sizeof *e->scratch);
    e->row_ids = calloc(rows, sizeof *e->row_ids);
    e->want = calloc(rows, sizeof *e->want);
    e->seq = calloc(rows, sizeof *e->seq);
    e->seq_c = calloc(rows, sizeof *e->seq_c);
    e->want_c = calloc(rows, sizeof *e->want_c);
    e->draws = calloc(seqs, sizeof *e->draws);
    if (e->c == NULL || e->order == NULL || e->ints == NULL || e->z == NULL || e->scratch == NULL ||
        e->row_ids == NULL || e->want == NULL || e->seq == NULL || e->seq_c == NULL ||
        e->want_c == NULL || e->draws == NULL) {
        return false;
    }
    for (size_t i = 0; i < seqs; i++) {
        e->c[i].ids = e->ints + i * (tokens + table);
        e->c[i].pages = e->c[i].ids + tokens;
    }
    return true;
}

static enum kg_code set_sizes(struct lm_engine *e, struct kg_err *err)
{
    struct lm_engine_options *o = &e->o;
    if (o->max_seqs < 1 || o->max_tokens < 2) {
        return kg_fail(err, KG_E_USAGE, "engine: at least one conversation of two tokens");
    }
    int pages = (o->max_tokens + LM_PAGE - 1) / LM_PAGE;
    o->max_rows = o->max_rows > 0 ? o->max_rows : o->max_seqs > 512 ? o->max_seqs : 512;
    o->n_pages = o->n_pages > 0 ? o->n_pages : o->max_seqs * pages;
    if (o->max_rows < o->max_seqs || o->n_pages < pages) {
        return kg_fail(err, KG_E_USAGE,
                       "engine: %d rows and %d pages are too few for %d conversations of %d tokens",
                       o->max_rows, o->n_pages, o->max_seqs, o->max_tokens);
    }
    return KG_OK;
}

enum kg_code lm_engine_create(const struct lm_model *model, struct lm_threads *threads,
                              const struct lm_engine_options *o, struct lm_engine **out,
                              struct kg_err *err)
{
    struct lm_engine *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "engine: no memory");
    }
    e->model = model;
    e->threads = threads;
    e->o = *o;
    e->version = model->version;
    enum kg_code rc = set_sizes(e, err);
    struct lm_run_options run = {
        .max_rows = e->o.max_rows, .max_tokens = e->o.max_tokens, .n_pages = e->o.n_pages};
    rc = rc == KG_OK ? lm_run_open(&e->run, model, threads, &run, err) : rc;
    rc = rc == KG_OK ? lm_pages_init(&e->pages, e->o.n_pages, err) : rc;
    if (rc == KG_OK && !allocate(e)) {
        rc = kg_fail_memory(err, KG_E_HOST, "engine: no memory for %d conversations of %d tokens",
                            e->o.max_seqs, e->o.max_tokens);
    }
    if (rc != KG_OK) {
        lm_engine_destroy(e);
        return rc;
    }
    e->run.after = draw;
    e->run.after_arg = e;
    *out = e;
    return KG_OK;
}

void lm_engine_destroy(struct lm_engine *e)
{
    if (e == NULL) {
        return;
    }
    lm_run_close(&e->run);
    lm_pages_deinit(&e->pages);
    free(e->c);
    free(e->order);
    free(e->ints);
    free(e->z);
    free(e->scratch);
    free(e->row_ids);
    free(e->want);
    free(e->seq);
    free(e->seq_c);
    free(e->want_c);
    free(e->draws);
    free(e);
}

static enum kg_code check(const struct lm_engine *e, const int32_t *ids, int n, int before,
                          const struct lm_turn *turn, struct kg_err *err)
{
    if (n < 0 || before + n < 1) {
        return kg_fail(err, KG_E_INPUT, "engine: no ids to begin with");
    }
    if (before + n >= e->o.max_tokens) {
        return kg_fail(err, KG_E_LIMIT, "engine: %d tokens leave no room in a conversation of %d",
                       before + n, e->o.max_tokens);
    }
    for (int i = 0; i < n; i++) {
        if (ids[i] < 0 || ids[i] >= e->model->cfg.vocab) {
            return kg_fail(err, KG_E_INPUT, "engine: the id %d is outside the vocabulary of %d",
                           (int)ids[i], e->model->cfg.vocab);
        }
    }
    if (turn->max_tokens < 1 || turn->n_stop < 0 || turn->n_stop > LM_STOPS) {
        return kg_fail(err, KG_E_INPUT,
                       "engine: a turn has at least one token and at most %d stop ids", LM_STOPS);
    }
    return KG_OK;
}

static int free_conversation(const struct lm_engine *e)
{
    int i = 0;
    while (e->c[i].phase != LM_UNUSED) {
        i++;
    }
    return i;
}

enum kg_code lm_engine_submit(struct lm_engine *e, const int32_t *ids, int n,
                              const struct lm_turn *turn, int n_samples, const uint64_t *requests,
                              int *conversations, struct kg_err *err)
{
    enum kg_code rc = check(e, ids, n, 0, turn, err);
    if (rc != KG_OK) {
        return rc;
    }
    if (n_samples < 1 || n_samples > e->o.max_seqs - e->n_order) {
        return kg_fail(err, KG_E_FULL, "engine: %d conversations, %d are free", n_samples,
                       e->o.max_seqs - e->n_order);
    }
    for (int s = 0; s < n_samples; s++) {
        int index = free_conversation(e);
        struct lm_conversation *c = &e->c[index];
        *c = (struct lm_conversation){.phase = s == 0 ? LM_RUNS : LM_WAITS,
                                      .request = requests[s],
                                      .turn = *turn,
                                      .ids = c->ids,
                                      .n = n,
                                      .pages = c->pages};
        memcpy(c->ids, ids, (size_t)n * sizeof *ids);
        conversations[s] = e->order[e->n_order++] = index;
        c->leader = conversations[0];
    }
    e->c[conversations[0]].waiting = n_samples - 1;
    return KG_OK;
}

enum kg_code lm_engine_extend(struct lm_engine *e, int conversation, const int32_t *ids, int n,
                              const struct lm_turn *turn, struct kg_err *err)
{
    struct lm_conversation *c = &e->c[conversation];
    KG_ASSERT(c->phase == LM_RESTS);
    enum kg_code rc = check(e, ids, n, c->n, turn, err);
    if (rc != KG_OK) {
        return rc;
    }
    memcpy(c->ids + c->n, ids, (size_t)n * sizeof *ids);
    c->n += n;
    c->turn = *turn;
    c->drawn = 0;
    c->phase = LM_RUNS;
    return KG_OK;
}

/* The next of its group computes the prompt for the others. */
static void hand_over(struct lm_engine *e, int leader)
{
    int next = -1;
    for (int i = 0; i < e->n_order; i++) {
        struct lm_conversation *c = &e->c[e->order[i]];
        if (c->phase != LM_WAITS || c->leader != leader) {
            continue;
        }
        if (next < 0) {
            next = e->order[i];
            c->phase = LM_RUNS;
            c->waiting = e->c[leader].waiting - 1;
        }
        c->leader = next;
    }
}

void lm_engine_release(struct lm_engine *e, int conversation)
{
    struct lm_conversation *c = &e->c[conversation];
    KG_ASSERT(c->phase != LM_UNUSED);
    if (c->waiting > 0) {
        hand_over(e, conversation);
    }
    if (c->phase == LM_WAITS) {
        e->c[c->leader].waiting--;
    }
    lm_schedule_evict(e, c);
    c->phase = LM_UNUSED;
    int kept = 0;
    for (int i = 0; i < e->n_order; i++) {
        if (e->order[i] != conversation) {
            e->order[kept++] = e->order[i];
        }
    }
    e->n_order = kept;
}

const int32_t *lm_engine_ids(const struct lm_engine *e, int conversation, int *n)
{
    *n = e->c[conversation].n;
    return e->c[conversation].ids;
}

static enum lm_finish finish_of(const struct lm_engine *e, const struct lm_conversation *c,
                                int32_t token)
{
    for (int i = 0; i < c->turn.n_stop; i++) {
        if (c->turn.stop[i] == token) {
            return LM_STOP;
        }
    }
    if (c->drawn >= c->turn.max_tokens) {
        return LM_LENGTH;
    }
    return c->n >= e->o.max_tokens ? LM_FULL : LM_GOING;
}

int lm_engine_step(struct lm_engine *e, struct lm_event *events, int max)
{
    lm_schedule_batch(e, max);
    if (e->batch.n_rows == 0) {
        return 0;
    }
    lm_forward(&e->run, &e->batch);
    for (int s = 0; s < e->batch.n_seq; s++) {
        e->c[e->seq_c[s]].done += e->batch.seq[s].n;
    }
    for (int r = 0; r < e->batch.n_want; r++) {
        struct lm_conversation *c = &e->c[e->want_c[r]];
        struct lm_draw d = e->draws[r];
        c->ids[c->n++] = d.token;
        c->drawn++;
        enum lm_finish finish = finish_of(e, c, d.token);
        c->phase = finish == LM_GOING ? LM_RUNS : LM_RESTS;
        events[r] = (struct lm_event){e->want_c[r], c->request, c->n - 1,  d.token,
                                      d.logp,       finish,     e->version};
    }
    e->stats.steps++;
    e->stats.rows += (uint64_t)e->batch.n_rows;
    e->stats.drawn += (uint64_t)e->batch.n_want;
    return e->batch.n_want;
}

bool lm_engine_busy(const struct lm_engine *e)
{
    for (int i = 0; i < e->n_order; i++) {
        if (e->c[e->order[i]].phase == LM_RUNS || e->c[e->order[i]].phase == LM_WAITS) {
            return true;
        }
    }
    return false;
}

struct lm_engine_stats lm_engine_stats(const struct lm_engine *e)
{
    struct lm_engine_stats s = e->stats;
    s.pages_free = e->pages.n_free;
    return s;
}
