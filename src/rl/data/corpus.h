/* The corpus of SFT: conversations as token ids with loss masks, and the tokenizer that is trained
 * on them. A conversation has one turn (prompt, candidate), or two (prompt, candidate with a flaw
 * or a slow one, the gym's feedback, a better candidate). Nothing of what the split holds out is in
 * it: chains are drawn from the training side, and every text is checked by rl_audit.
 *
 * A corpus is a function of its options, and for two turns of the gym's feedback. Not thread safe.
 * The caller owns what create gives. */
#ifndef KG_RL_DATA_CORPUS_H
#define KG_RL_DATA_CORPUS_H

#include "rl/data/talker.h"
#include "rl/judge/judge.h"

struct rl_corpus_options {
    uint64_t seed;
    int documents;  /* conversations */
    double talks;   /* share of them with two turns */
    double triples; /* share of chains with three operators; a tenth of the rest has one */
    int merges;     /* of the tokenizer */
    int feedback;   /* most ids of a feedback */
    const struct rl_mix *mix;
    bool own_tokenizer; /* the talker is open, and its tokenizer is used; merges do not count */
};

/* A first turn of a conversation of two. */
struct rl_first_turn {
    struct rl_chain chain;
    const char *code;
    size_t len;
    char feedback[RL_FEEDBACK_BYTES]; /* out: of the gym */
};
/* Fills the feedback of n first turns. */
typedef enum kg_code rl_feedback_fn(void *user, struct rl_first_turn *turn, size_t n,
                                    struct kg_err *err);

struct rl_document {
    size_t first, n; /* of its ids */
    int turns;
    struct rl_chain chain; /* of a generated one; n is 0 for others */
    uint64_t problem;      /* key of its problem, as in data.h; rl_corpus_keys() gives generated
                              documents theirs */
};

struct rl_corpus {
    struct rl_document *doc; /* [n] */
    size_t n;
    size_t longest; /* in ids */
    struct lm_ids ids;
};

/* Writes the texts, trains the tokenizer on them, encodes them. ask NULL: talks must be 0.
 * Errors: KG_E_USAGE (no documents, talks without ask), KG_E_INPUT (something that is held out),
 * KG_E_HOST (memory), those of ask. On error nothing is left to close, a talker with
 * own_tokenizer neither. */
enum kg_code rl_corpus_create(const struct rl_corpus_options *o, const struct rl_split *split,
                              rl_feedback_fn *ask, void *user, struct rl_talker *talker,
                              struct rl_corpus *out, struct kg_err *err) KG_MUST_USE;
void rl_corpus_destroy(struct rl_corpus *c);

/* Fills the keys of generated documents. Cost: 20 us for each. */
void rl_corpus_keys(struct rl_corpus *c);

#endif
