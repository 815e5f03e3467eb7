/* Sampling for many conversations at once. A conversation is a row of token ids that grows: by what
 * the caller appends, and by what the model draws. The engine holds its ids and the pages of its
 * keys and values, so a later turn computes new tokens only. A group is N conversations with one
 * prompt, which is computed once.
 *
 * lm_engine_step() takes all conversations that draw, and parts of prompts that are new, in one
 * batch. Tokens and log-probs of a conversation depend on its ids, its request number, the sampling
 * and the weights alone. When pages run out, conversations lose theirs, the youngest first, and are
 * computed again later, with the same bits. After a change of weights all are computed again.
 *
 * Owns its buffers; nothing is allocated after lm_engine_create(). Not thread safe; it runs on the
 * threads of its set. */
#ifndef KG_LM_INFER_ENGINE_H
#define KG_LM_INFER_ENGINE_H

#include "lm/infer/sample.h"
#include "lm/model/model.h"
#include "lm/ops/threads.h"

#define LM_STOPS 8

struct lm_engine;

struct lm_engine_options {
    int max_seqs;   /* conversations held at once */
    int max_tokens; /* longest conversation; at most max_pos of the model */
    int max_rows;   /* rows of a step, at least max_seqs; 0: the larger of max_seqs and 512 */
    int n_pages;    /* of 64 tokens; 0: enough for max_seqs full conversations */
};

struct lm_turn {
    struct lm_sampling sampling;
    int max_tokens;         /* of this turn */
    int32_t stop[LM_STOPS]; /* ids that end the turn; they are part of it */
    int n_stop;
};

enum lm_finish {
    LM_GOING,  /* the turn goes on */
    LM_STOP,   /* a stop id was drawn */
    LM_LENGTH, /* the turn has max_tokens */
    LM_FULL,   /* the conversation has max_tokens of the engine */
};

struct lm_event {
    int conversation;
    uint64_t request;
    int position; /* of the token in the conversation */
    int32_t token;
    lm_real logp;
    enum lm_finish finish;
    uint64_t version; /* of the weights */
};

/* The model and the threads must outlive it. Errors: KG_E_USAGE, KG_E_HOST. */
enum kg_code lm_engine_create(const struct lm_model *model, struct lm_threads *threads,
                              const struct lm_engine_options *o, struct lm_engine **out,
                              struct kg_err *err) KG_MUST_USE;
void lm_engine_destroy(struct lm_engine *e);

/* n_samples conversations that begin with ids [n]; requests [n_samples] names each one's draws.
 * conversations [n_samples] gets their handles. Errors: KG_E_INPUT (an id, no ids), KG_E_LIMIT (n
 * leaves no room), KG_E_FULL (too few conversations are free). */
enum kg_code lm_engine_submit(struct lm_engine *e, const int32_t *ids, int n,
                              const struct lm_turn *turn, int n_samples, const uint64_t *requests,
                              int *conversations, struct kg_err *err) KG_MUST_USE;

/* Appends ids [n] to a conversation whose turn has ended, and begins the next turn. Errors as
 * above. */
enum kg_code lm_engine_extend(struct lm_engine *e, int conversation, const int32_t *ids, int n,
                              const struct lm_turn *turn, struct kg_err *err) KG_MUST_USE;

/* Gives up a conversation, drawing or not. */
void lm_engine_release(struct lm_engine *e, int conversation);

/* Its ids so far, valid until the next call. */
const int32_t *lm_engine_ids(const struct lm_engine *e, int conversation, int *n);

/* One batch; at most max events. Returns how many: 0 with lm_engine_busy() means that only prompts
 * were computed. */
int lm_engine_step(struct lm_engine *e, struct lm_event *events, int max);

/* Some conversation has an unfinished turn. */
bool lm_engine_busy(const struct lm_engine *e);

struct lm_engine_stats {
    uint64_t steps, rows, drawn; /* rows: computed in all */
    uint64_t evicted;            /* conversations that lost their pages to others */
    int pages_free;
};
struct lm_engine_stats lm_engine_stats(const struct lm_engine *e);

#endif
