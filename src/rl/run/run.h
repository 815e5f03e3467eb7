/* A training run: everything that its phases share, made once from the configuration, and the
 * phases: corpus, SFT, evaluation, RL, evaluation. The run's folder gets
 *   config.yaml         the resolved configuration
 *   host.json           one object for each start: the machine
 *   metrics.jsonl       one JSON object a line: phase, step and what was measured
 *   events.out...       the same numbers for TensorBoard
 *   trajectories.jsonl  kgym.trajectory/1
 *   verdicts.jsonl      the journal of verdicts
 *   sft/                the model after SFT
 *   checkpoint/         the last checkpoint, from which a run goes on
 * The terminal gets a line of progress. Not thread safe. */
#ifndef KG_RL_RUN_RUN_H
#define KG_RL_RUN_RUN_H

#include <stdio.h>

#include "base/hash.h"
#include "base/json.h"
#include "rl/judge/recheck.h"
#include "rl/rollout/dryrun.h"
#include "rl/run/evaluate.h"
#include "rl/run/options.h"
#include "rl/run/run_files.h"
#include "rl/run/sampler.h"
#include "rl/step/sft.h"
#include "rl/step/step.h"

enum rl_phase { RL_PHASE_CORPUS, RL_PHASE_SFT, RL_PHASE_BEFORE, RL_PHASE_RL, RL_PHASE_AFTER };
const char *rl_phase_name(enum rl_phase p);

/* What runs next. Plain data that a checkpoint stores, as the other parts marked so are. */
struct rl_run_place {
    uint32_t phase; /* enum rl_phase */
    uint32_t step;  /* of RL */
    uint32_t ended;
};

struct rl_run_options {
    const char *folder; /* made if it is not there; must not hold a run. NULL: none */
    bool resume;        /* the folder holds a run of this configuration, which goes on */
    bool dry;           /* corpus and gym alone: no model */
    FILE *terminal;
    volatile int *cancel;  /* not 0: end with KG_E_CANCELLED */
    rl_script_gym *script; /* judges in place of the gym; NULL: the gym judges */
    void *script_user;
    void (*moment)(void *user, const char *where); /* for tests that kill the run; NULL */
    void *moment_user;
};

struct rl_run {
    const struct rl_config *config;
    struct rl_run_options o;
    FILE *terminal;
    volatile int *cancel;
    struct rl_files files;
    char configuration[KG_SHA256_HEX]; /* of its dump */
    struct rl_journal *own, *replay;   /* NULL: none */
    json_t *saved;                     /* of the checkpoint that the run goes on from; else NULL */
    struct rl_run_place place;         /* stored */
    struct rl_sft_stats sft;           /* stored */
    int64_t saved_ns;                  /* clock of the last checkpoint */
    uint64_t version;                  /* updates that the sampling weights had seen */
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
    double seconds[5];                /* of the phases; stored */
    uint64_t updates, skipped;        /* stored */
    struct rl_recheck_counts recheck; /* correct replies of RL that were judged again */
};

/* Checks the configuration, opens folder and pool, makes the corpus, then the model, or takes it
 * from the checkpoint. A run that replays a journal opens the pool when the journal lacks a
 * verdict. Errors: KG_E_USAGE (a folder of another configuration names the key), KG_E_INPUT (a
 * checkpoint that is damaged), KG_E_HOST, those of its parts. On error nothing is left to close. */
enum kg_code rl_run_open(const struct rl_config *c, const struct rl_run_options *o,
                         struct rl_run *run, struct kg_err *err) KG_MUST_USE;
/* Checks the configuration and the gym's keys, and makes nothing. Errors as above. */
enum kg_code rl_run_check(const struct rl_config *c, struct kg_err *err) KG_MUST_USE;
void rl_run_close(struct rl_run *run);

/* A rehearsal (dry_run), SFT, evaluation, RL, evaluation, from where the run is; then the table to
 * the terminal. *idle: a component that was on and looked at nothing; NULL: none. Errors: KG_E_GYM
 * (the rehearsal found that the gym does not give replies what they must get), those of the phases.
 */
enum kg_code rl_run_train(struct rl_run *run, const char **idle, struct kg_err *err) KG_MUST_USE;
/* rehearse.c: drives the loop with the script; *bad: replies that did not get what they should. */
enum kg_code rl_run_rehearse(struct rl_run *run, int *bad, struct kg_err *err) KG_MUST_USE;

/* Before the rollouts of a step, or of an evaluation: their verdicts belong to it. */
void rl_run_sampling(struct rl_run *run, enum rl_phase phase, uint32_t step);
/* After a step or an evaluation: its trajectories are written. learned: the step that took them;
 * NULL: none did. Errors: KG_E_IO. */
enum kg_code rl_run_write(struct rl_run *run, enum rl_phase phase, uint32_t step,
                          const struct rl_step *learned, struct kg_err *err) KG_MUST_USE;

/* Adds this start to host.json. Errors: KG_E_IO, KG_E_INPUT. */
enum kg_code rl_run_host(const struct rl_run *run, struct kg_err *err) KG_MUST_USE;

/* A judge of this run: its journals, its gym. KG_E_HOST. */
enum kg_code rl_run_judge(struct rl_run *run, int tickets, bool reuse, struct rl_judge **out,
                          struct kg_err *err) KG_MUST_USE;

/* One line of metrics.jsonl; takes the object over. Errors: KG_E_IO. */
enum kg_code rl_run_log(struct rl_run *run, json_t *line, struct kg_err *err) KG_MUST_USE;
json_t *rl_log_sft(const struct rl_sft_stats *s);
json_t *rl_log_evaluation(enum rl_phase phase, const struct rl_evaluation *e, uint64_t seed);
/* table out: the same for people. */
json_t *rl_log_end(const struct rl_run *run, struct kg_buf *table);
/* The line of progress of a step. */
void rl_run_note(const struct rl_run *run, uint32_t step, const struct rl_step_stats *s,
                 double seconds, char *out, size_t cap);

#endif
