/* Supervised training on a corpus, packed by pack.h. The loss is the mean of -log p over the tokens
 * of a step whose mask is 1, so a reply and its end are trained, prompts and feedback are not. One
 * step is one update; it may have several micro-batches.
 *
 * The rate rises over `warmup` steps and falls by a cosine. It follows the part of the run that is
 * done: of its steps, or of its seconds where these pass faster. So a run without a limit in
 * seconds has the same bits each time; one with a limit has not. A run that goes on from the stats
 * of another one, with its weights and moments, has the bits of a run that was never ended.
 * Memory is allocated before the first step. Not thread safe. */
#ifndef KG_RL_STEP_SFT_H
#define KG_RL_STEP_SFT_H

#include "lm/train/trainer.h"
#include "rl/data/pack.h"

struct rl_sft_stats {
    int step;          /* steps done */
    uint64_t tokens;   /* rows computed */
    uint64_t trained;  /* of them: counted by the loss */
    uint64_t skipped;  /* steps whose gradient was not finite */
    uint64_t left_out; /* documents that are too long */
    double loss;       /* of the last step, nats a token */
    double rate, norm; /* of the last step */
    double seconds;
    double valid;       /* loss of the validation after this step; NaN: none was made */
    uint32_t epoch, at; /* epochs begun; documents of the last one that were taken */
};

struct rl_sft_options {
    uint64_t seed;
    int rows;       /* tokens of a micro-batch; at most those of the trainer */
    int longest;    /* tokens of a document; at most those of the trainer; 0: rows */
    int seqs;       /* documents of a micro-batch; at most those of the trainer */
    int micro;      /* micro-batches of a step; 0: 1 */
    int steps;      /* most */
    double seconds; /* most; 0: no limit */
    int warmup;
    float lowest;                    /* rate at the end, as a part of adamw.rate */
    struct lm_adamw adamw;           /* rate: the highest */
    bool dropout;                    /* of the adapter */
    const struct rl_corpus *valid;   /* NULL: no validation */
    int valid_every;                 /* steps; 0: after the last one only */
    const struct rl_sft_stats *from; /* go on from here; NULL: the beginning */
};

/* After each step. False: end here. */
typedef bool rl_sft_report(void *user, const struct rl_sft_stats *s);

/* report may be NULL. Errors: KG_E_INPUT (no document fits), KG_E_HOST, those of the trainer. */
enum kg_code rl_sft_run(struct lm_trainer *trainer, const struct rl_corpus *corpus,
                        const struct rl_sft_options *o, rl_sft_report *report, void *user,
                        struct rl_sft_stats *out, struct kg_err *err) KG_MUST_USE;

/* Steps that so many epochs take; at most o->steps. Errors: as above. */
enum kg_code rl_sft_steps(const struct rl_corpus *corpus, const struct rl_sft_options *o,
                          double epochs, int *steps, struct kg_err *err) KG_MUST_USE;

/* Mean of -log p over the trained tokens of a corpus; documents that are too long do not count.
 * Errors: as above. */
enum kg_code rl_sft_loss(struct lm_trainer *trainer, const struct rl_corpus *corpus,
                         const struct rl_sft_options *o, double *loss,
                         struct kg_err *err) KG_MUST_USE;

#endif
