/* Insides of sft_job.h: its files share them. */
#ifndef KG_RL_SFT_SFT_PARTS_H
#define KG_RL_SFT_SFT_PARTS_H

#include "base/hash.h"
#include "base/json.h"
#include "lm/lm.h"
#include "rl/data/encode.h"
#include "rl/sft/sft_job.h"
#include "rl/step/sft.h"

/* What a run holds while it lasts. */
struct rl_sft_state {
    const struct rl_sft_config *c;
    const struct rl_sft_job_options *o;
    struct rl_sft_plan plan;
    struct lm_config shape;
    struct rl_talker talker;
    struct rl_corpus all, other;   /* owned: of `data`, of `valid` */
    struct rl_corpus train, valid; /* views of them; valid.n is 0: none */
    int max_tokens;                /* of a document */
    char hash[KG_SHA256_HEX];      /* of all ids and masks of train */
    json_t *report;                /* the line `data` of metrics.jsonl */
    struct lm_threads *threads;
    struct lm_model *model;
    struct lm_trainer *trainer;
    struct rl_sft_options sft;
    struct rl_sft_stats from; /* of the checkpoint */
    bool goes_on;             /* there is one */
    FILE *metrics;
    int lock; /* the folder's descriptor; -1: none */
};

/* Reads or makes the data, opens the talker, splits. Errors: those of the readers, of the gym,
 * KG_E_INPUT (a problem is in training and validation). */
enum kg_code rl_sft_open_data(struct rl_sft_state *s, struct kg_err *err) KG_MUST_USE;
void rl_sft_close_data(struct rl_sft_state *s);

/* What a folder of an earlier run says. A run that goes on locks it first, so that no other process
 * changes what is read from here on. *ended: it holds the final weights. Errors: KG_E_USAGE
 * (another configuration, another process, not a run, a run where a new folder is needed). */
enum kg_code rl_sft_look(struct rl_sft_state *s, bool *ended, struct kg_err *err) KG_MUST_USE;
/* Makes the folder and locks it, or opens it again: metrics.jsonl keeps the lines up to the
 * checkpoint. Errors: KG_E_USAGE (another process began a run here), KG_E_IO. */
enum kg_code rl_sft_open_folder(struct rl_sft_state *s, struct kg_err *err) KG_MUST_USE;
/* Fills trainer and s->from from the checkpoint. Errors: KG_E_INPUT (of other data too). */
enum kg_code rl_sft_go_on(struct rl_sft_state *s, struct kg_err *err) KG_MUST_USE;
enum kg_code rl_sft_save(struct rl_sft_state *s, const struct rl_sft_stats *at,
                         struct kg_err *err) KG_MUST_USE;
/* The final weights; then the checkpoint goes. */
enum kg_code rl_sft_finish(struct rl_sft_state *s, struct kg_err *err) KG_MUST_USE;
/* Appends a line; takes it over. */
enum kg_code rl_sft_log(struct rl_sft_state *s, json_t *line, struct kg_err *err) KG_MUST_USE;
/* "RUN/NAME"; of a static buffer for each name. */
enum rl_sft_file { RL_SFT_YAML, RL_SFT_METRICS, RL_SFT_CHECKPOINT, RL_SFT_MODEL, RL_SFT_ADAPTER };
void rl_sft_path(const struct rl_sft_state *s, enum rl_sft_file f, char out[4096]);

#endif
