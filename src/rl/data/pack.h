/* Packs documents, whole, into the rows of a micro-batch. Each keeps positions and attention of its
 * own. Row i of a document holds its id i and must predict id i + 1, if the mask of id i + 1 is 1.
 * So a reply is trained from its first id on, and its end is; what follows the end is not.
 *
 * Documents are shuffled for each epoch by (seed, epoch); a cursor says how far a run has come, and
 * packing goes on from it with the same rows. Nothing is allocated after open. Not thread safe. */
#ifndef KG_RL_DATA_PACK_H
#define KG_RL_DATA_PACK_H

#include "lm/train/rows.h"
#include "rl/data/corpus.h"

struct rl_pack_place {
    uint32_t epoch; /* epochs begun */
    uint32_t at;    /* documents taken of the last one */
};

struct rl_pack {
    const struct rl_corpus *corpus;
    uint64_t seed;
    bool shuffle;
    int max_rows, max_seqs, longest;
    uint32_t *order;  /* [documents] of an epoch */
    uint32_t ordered; /* which one, from 1; 0: none */
    struct rl_pack_place cursor;
    /* the micro-batch */
    int32_t *start, *ids, *target;
    int rows, seqs, counted; /* counted: rows with a target */
    uint64_t left_out;       /* documents that were too long */
};

struct rl_pack_options {
    uint64_t seed;
    bool shuffle; /* false: in their order */
    int rows, seqs;
    int longest; /* tokens of a document, less its last one; 0: rows */
};

/* The corpus must outlive it. Errors: KG_E_INPUT (no document fits), KG_E_HOST (memory). */
enum kg_code rl_pack_open(const struct rl_corpus *corpus, const struct rl_pack_options *o,
                          struct rl_pack *out, struct kg_err *err) KG_MUST_USE;
void rl_pack_close(struct rl_pack *p);
/* Goes on from there. */
void rl_pack_seek(struct rl_pack *p, struct rl_pack_place c);
/* Documents in their order until one does not fit. A micro-batch may go on in the next epoch;
 * with `once` it does not, and an empty one says that the epoch is over. */
void rl_pack_next(struct rl_pack *p, bool once);
/* The rows as the trainer takes them, at temperature 1 and without dropout. */
struct lm_rows rl_pack_rows(const struct rl_pack *p);
/* Micro-batches until so many epochs are taken; at most `most`. The cursor moves. */
int rl_pack_count(struct rl_pack *p, double epochs, int most);

/* target [n - 1] of a document's rows. Returns how many are counted. */
int rl_pack_targets(const int32_t *ids, const uint8_t *mask, size_t n, int32_t *target);

#endif
