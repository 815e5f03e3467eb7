/* A training run: everything that its phases share, made once from the configuration, and the
 * phases: corpus, SFT, evaluation, RL, evaluation. The run's folder gets
 *   config.yaml    the resolved configuration
 *   metrics.jsonl  one JSON object a line: phase, step and what was measured; flushed each time
 * The terminal gets a line of progress. Not thread safe. */
#ifndef KG_RL_RUN_H
#define KG_RL_RUN_H

#include <stdio.h>

#include "base/json.h"
#include "rl/dryrun.h"
#include "rl/evaluate.h"
#include "rl/options.h"
#include "rl/sampler.h"
#include "rl/sft.h"
#include "rl/step.h"

struct rl_run {
    const struct rl_config *config;
    FILE *terminal, *metrics; /* metrics: NULL in a dry run */
    volatile int *cancel;
    struct rl_methods methods;
    struct rl_split split;
    struct kgym_pool *pool;
    struct rl_cores cores; /* of the pool */
    struct rl_judge *judge;
    struct rl_corpus corpus;
    struct rl_talker talker;
    struct lm_threads *threads;
    struct lm_model *model;
    struct lm_trainer *trainer;
    struct rl_sampler sampler;
    struct lm_engine *engine;   /* on the sampler's weights */
    struct lm_model *reference; /* the start of RL, where KL asks for it; else NULL */
    struct lm_trainer *scorer;  /* of the reference */
    struct rl_engine_policy policy;
    struct rl_rollouts *rollouts;
    struct rl_step *step;
    struct rl_chain *pool_chains[2]; /* pairs, triples of the training side */
    struct rl_picker picker;
    struct rl_chain *held; /* pairs, then triples */
    int held_pairs, held_n;
    struct rl_evaluation before, after;
    double seconds[5]; /* of the phases */
    uint64_t updates, skipped;
};

enum rl_phase { RL_PHASE_CORPUS, RL_PHASE_SFT, RL_PHASE_BEFORE, RL_PHASE_RL, RL_PHASE_AFTER };
const char *rl_phase_name(enum rl_phase p);

struct rl_run_options {
    const char *folder; /* made if it is not there; must not hold a run. NULL: none */
    bool dry;           /* corpus and gym alone: no model */
    FILE *terminal;
    volatile int *cancel; /* not 0: end with KG_E_CANCELLED */
};

/* Checks the configuration, opens pool and folder, makes the corpus, then the model. Errors:
 * KG_E_USAGE, KG_E_HOST, those of its parts. On error nothing is left to close. */
enum kg_code rl_run_open(const struct rl_config *c, const struct rl_run_options *o,
                         struct rl_run *run, struct kg_err *err) KG_MUST_USE;
/* Checks the configuration and the gym's keys, and makes nothing. Errors as above. */
enum kg_code rl_run_check(const struct rl_config *c, struct kg_err *err) KG_MUST_USE;
void rl_run_close(struct rl_run *run);

/* A rehearsal (dry_run), SFT, evaluation, RL, evaluation; then the table to the terminal. *idle: a
 * component that was on and looked at nothing; NULL: none. Errors: KG_E_GYM (the rehearsal found
 * that the gym does not give replies what they must get), those of the phases. */
enum kg_code rl_run_train(struct rl_run *run, const char **idle, struct kg_err *err) KG_MUST_USE;
/* rehearse.c: drives the loop with the script; *bad: replies that did not get what they should. */
enum kg_code rl_run_rehearse(struct rl_run *run, int *bad, struct kg_err *err) KG_MUST_USE;

/* One line of metrics.jsonl; takes the object over. Errors: KG_E_IO. */
enum kg_code rl_run_log(struct rl_run *run, json_t *line, struct kg_err *err) KG_MUST_USE;
json_t *rl_log_sft(const struct rl_sft_stats *s);
json_t *rl_log_evaluation(enum rl_phase phase, const struct rl_evaluation *e, uint64_t seed);
/* table out: the same for people. */
json_t *rl_log_end(const struct rl_run *run, struct kg_buf *table);

#endif
