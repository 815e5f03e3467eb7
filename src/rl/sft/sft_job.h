/* `kgym sft` as a whole: data, tokenizer, model, training, what it leaves. The run's folder gets
 *   config.yaml      the resolved configuration
 *   metrics.jsonl    one JSON object a line: `data` (what was read), then `sft` for steps
 *   checkpoint/      while it trains: weights, moments and place, for going on
 *   model/, adapter/ at the end: what transformers or PEFT reads
 * The folder is made when data and model are there, so bad input leaves nothing. Not thread safe.
 */
#ifndef KG_RL_SFT_SFT_JOB_H
#define KG_RL_SFT_SFT_JOB_H

#include <stdio.h>

#include "rl/sft/sft_config.h"

struct rl_sft_job_options {
    const char *folder;
    bool resume; /* the folder holds a run of this configuration, which goes on */
    int stop_at; /* end there as an interruption does; 0: not */
    FILE *terminal;
    volatile int *cancel; /* not 0: save, then end with KG_E_CANCELLED */
};

/* Errors: KG_E_USAGE (the configuration, the folder), KG_E_INPUT (data, weights), KG_E_HOST
 * (memory), KG_E_IO, KG_E_CANCELLED (what is there is saved). */
enum kg_code rl_sft_job(const struct rl_sft_config *c, const struct rl_sft_job_options *o,
                        struct kg_err *err) KG_MUST_USE;

#endif
