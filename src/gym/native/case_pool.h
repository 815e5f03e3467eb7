/* The pool of correctness inputs of one problem: cases (shape, law, secret key) whose expected
 * answers the judge keeps, shared by the candidates of that problem and rotated: each draw of a
 * kind takes one of a few cases; one draw in 32 adds another, in 64 replaces the oldest. No case is
 * drawn twice in one round (a full run), so that a buffer's old address always has new contents.
 * Timed inputs never come from here. Owner: the worker. */
#ifndef KG_GYM_NATIVE_CASE_POOL_H
#define KG_GYM_NATIVE_CASE_POOL_H

#include "gym/judge/judge.h"

#define KG_CASE_POOL_PER_KIND 3
#define KG_CASE_POOL_REPLAY   (1ull << 61) /* in the number of a case that is replayed */
#define KG_CASE_POOL_TWIN     (1ull << 62) /* in the number of an edited case\'s unedited twin */
#define KG_CASE_POOL_MAX      128

struct kg_pooled_case {
    struct kg_case c;
    enum kg_variant variant;
    uint64_t number; /* the judge's name for it; 0: slot unused */
    uint64_t age;    /* draw at which it was made */
    uint64_t round;  /* in which it was drawn last */
    bool applies;    /* the float reference meets the bound there */
};

struct kg_case_pool {
    struct kg_pooled_case cases[KG_CASE_POOL_MAX];
    uint64_t draws, round, replays;
};

/* What a kind of case is. */
struct kg_case_pool_kind {
    enum kg_variant variant;
    enum kg_law law;
    bool edited;  /* one element changed by the single-edit rule */
    bool aligned; /* 64-byte buffers (the default run); else alignments vary */
};

void kg_case_pool_reset(struct kg_case_pool *pool);
/* Begin a round. Before the first one, cases may be drawn again and again. */
void kg_case_pool_round(struct kg_case_pool *pool);
/* Is there one of this kind that this round has not drawn? */
bool kg_case_pool_has(const struct kg_case_pool *pool, const struct kg_case_pool_kind *kind);
/* A case of this kind: one that is there, or *fresh = true: a new one whose expected answers must
 * be computed. False: the problem has no such shape. rng: the worker's. */
bool kg_case_pool_draw(struct kg_case_pool *pool, const struct kg_problem *p,
                       const struct kg_case_pool_kind *kind, struct kg_rng *rng,
                       struct kg_pooled_case **out, bool *fresh);

#endif
