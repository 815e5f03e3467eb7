/* Supervised training on a corpus. Documents are shuffled for each epoch (stream 8) and packed,
 * whole, into the rows of a step. The loss is the mean of -log p over the tokens whose mask is 1,
 * so a reply and its end are trained, prompts and feedback are not. One step is one update.
 *
 * The rate rises over `warmup` steps and falls by a cosine. It follows the part of the run that is
 * done: of its steps, or of its seconds where these pass faster. So a run without a limit in
 * seconds has the same bits each time; one with a limit has not.
 * Memory is allocated before the first step. Not thread safe. */
#ifndef KG_RL_SFT_H
#define KG_RL_SFT_H

#include "lm/train/trainer.h"
#include "rl/corpus.h"

struct rl_sft_stats;
struct rl_sft_options {
    uint64_t seed;
    int rows;       /* tokens of a step; at most those of the trainer */
    int longest;    /* tokens of a document; at most those of the trainer; 0: rows */
    int seqs;       /* documents of a step; at most those of the trainer */
    int steps;      /* most */
    double seconds; /* most; 0: no limit */
    int warmup;
    float lowest;                    /* rate at the end, as a part of adamw.rate */
    struct lm_adamw adamw;           /* rate: the highest */
    const struct rl_sft_stats *from; /* go on where these are; NULL: begin */
};

struct rl_sft_stats {
    int step;          /* steps done */
    uint64_t tokens;   /* rows computed */
    uint64_t trained;  /* of them: counted by the loss */
    uint64_t skipped;  /* steps whose gradient was not finite */
    uint64_t left_out; /* documents that are too long */
    double loss;       /* of the last step, nats a token */
    double rate, norm; /* of the last step */
    double seconds;
    uint32_t epoch, at; /* epochs begun; documents of this one that were taken */
};

/* After each step. False: end here. */
typedef bool rl_sft_report(void *user, const struct rl_sft_stats *s);

/* report may be NULL. Errors: KG_E_INPUT (no document fits), KG_E_HOST, those of the trainer. */
enum kg_code rl_sft_run(struct lm_trainer *trainer, const struct rl_corpus *corpus,
                        const struct rl_sft_options *o, rl_sft_report *report, void *user,
                        struct rl_sft_stats *out, struct kg_err *err) KG_MUST_USE;

#endif
