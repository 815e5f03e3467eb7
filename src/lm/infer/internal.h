/* Insides of the engine, for the files of this folder. */
#ifndef KG_LM_INFER_INTERNAL_H
#define KG_LM_INFER_INTERNAL_H

#include "lm/infer/engine.h"
#include "lm/infer/pages.h"
#include "lm/model/forward.h"

enum lm_phase {
    LM_UNUSED,
    LM_WAITS, /* for its group's first to compute the prompt */
    LM_RUNS,
    LM_RESTS, /* its turn has ended */
};

struct lm_conversation {
    enum lm_phase phase;
    uint64_t request;
    struct lm_turn turn;
    int32_t *ids;   /* [max_tokens] */
    int n;          /* ids */
    int done;       /* of them are in the pages */
    int drawn;      /* in this turn */
    int leader;     /* of its group, while it waits */
    int waiting;    /* that wait for it */
    int32_t *pages; /* [max_tokens/64 + 1] */
    int n_pages;
    bool scheduled; /* in the batch that is made */
};

struct lm_engine {
    const struct lm_model *model;
    struct lm_threads *threads;
    struct lm_engine_options o;
    struct lm_run run;
    struct lm_pages pages;
    uint64_t version;
    struct lm_conversation *c; /* [max_seqs] */
    int *order, n_order;       /* those in use, the oldest first */
    int32_t *ints;             /* all ids and page tables */
    lm_real *z;                /* [max_seqs, vocab] */
    lm_real *scratch;          /* [threads][lm_sample_scratch()] */
    struct lm_batch batch;
    int32_t *row_ids, *want; /* [max_rows] */
    struct lm_seq_rows *seq; /* [max_rows] */
    int *seq_c, *want_c;     /* conversation of each */
    struct lm_draw *draws;   /* [max_seqs] */
    struct lm_engine_stats stats;
};

/* Fills e->batch with what the next step computes, at most max drawing rows. */
void lm_schedule_batch(struct lm_engine *e, int max);
/* Gives up a conversation's pages. */
void lm_schedule_evict(struct lm_engine *e, struct lm_conversation *c);

#endif
