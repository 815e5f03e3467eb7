/* The options of a training run, as one table: from it come YAML keys, --set, the dump in the run's
 * folder and the help. Keys of the gym are passed on as they are: `gym.timing.pairs`, or below
 * `gym:` in YAML; the gym's own table checks them. Unknown keys are errors with the nearest name.
 * Plain data, no ownership. */
#ifndef KG_RL_RUN_OPTIONS_H
#define KG_RL_RUN_OPTIONS_H

#include "base/opt.h"
#include "rl/chains/chains.h"
#include "rl/data/corpus.h"
#include "rl/methods/bestof.h"
#include "rl/methods/curriculum.h"
#include "rl/methods/select.h"

enum { RL_GYM_KEYS = 48, RL_GYM_KEY = 160 };
enum rl_trainer { RL_TRAINER_PG, RL_TRAINER_TOPK, RL_TRAINER_SFT };

struct rl_config {
    int64_t seed, threads, split, part;
    int64_t hidden, inter, layers, heads;
    int64_t documents, merges;
    double talks, corpus_triples;
    int mix;
    int64_t sft_steps, sft_rows, sft_warmup;
    double sft_seconds, sft_rate;
    int64_t steps, groups, rollouts, rows, problems;
    double seconds, rate, clip, decay, triples, temperature;
    char verify[32];
    char sampler[32];
    int trainer, bestof_weight;
    int64_t bestof_n, bestof_k, bestof_epochs;
    double min_reward;
    int64_t lora_r;
    double lora_alpha, lora_dropout;
    char lora_targets[64];
    int64_t turns, resp_max, min_resp, ctx_max, fb_max;
    bool feedback, force_delta, batch_std;
    double early_stop;
    int fill;
    char reward[48];
    bool reuse, void_turns;
    int64_t recheck;
    double recheck_seconds;
    int returns;
    double gamma;
    char adv[32];
    int n1, baseline_set, cv;
    double cv_beta, adv_clip;
    int offpolicy, form, agg, denom;
    double clip_lo, clip_hi, dual, scale, entropy, ent_mask, risk_mask;
    double pure_cap, kl_loss, kl_reward;
    int kl;
    int mrs, tis;
    double mrs_lo, mrs_hi, veto, tis_cap;
    bool prs;
    int prs_mode;
    double prs_tau, prs_sigma, prs_or_speed;
    int zero_var;
    int64_t min_group, refill_rounds;
    bool need_success, no_overlong;
    double reward_least, prompt_over, sample_over;
    int over, curriculum;
    double cur_min, cur_delta, cur_band;
    int64_t cur_steps, cur_window, cur_theta, cur_evals, cur_fall, cur_cooldown;
    bool cur_ge, cur_lower;
    int64_t eval_pairs, eval_triples, eval_samples;
    double eval_top_p;
    bool dry_run;
    int device, dtype, quant, world;
    char base[80];
    int64_t checkpoint;
    double checkpoint_seconds;
    char journal[1024];
    /* Of the gym, in order: "key=value". */
    char gym[RL_GYM_KEYS][RL_GYM_KEY];
    size_t ngym;
    char gym_preset[32];
    char service[300], token_file[1024];
};

const struct kg_opts *rl_options(void);
void rl_config_defaults(struct rl_config *c);
/* A YAML file. Errors: those of kg_yaml_parse and kg_opts_set. */
enum kg_code rl_config_file(struct rl_config *c, const char *path, struct kg_err *err) KG_MUST_USE;
/* "key=value". */
enum kg_code rl_config_pair(struct rl_config *c, const char *pair, const char *source,
                            struct kg_err *err) KG_MUST_USE;
/* New weights for this vocabulary. */
struct lm_config rl_config_model(const struct rl_config *c, int vocab);
/* The generated corpus; own_tokenizer is left false. *split: which chains are held out. */
struct rl_corpus_options rl_config_corpus(const struct rl_config *c, struct rl_split *split);
/* Of the engine, at least 1. */
int rl_config_threads(const struct rl_config *c);
/* Takes a key of the gym, as kg_opts_other. */
enum kg_code rl_config_gym(struct rl_config *c, const char *key, size_t i, const char *value,
                           const char *source, bool *taken, struct kg_err *err) KG_MUST_USE;
/* Appends the keys of the gym as YAML. */
void rl_config_dump_gym(const struct rl_config *c, struct kg_buf *out);
/* Appends YAML that rl_config_file reads back to the same values. */
void rl_config_dump(const struct rl_config *c, struct kg_buf *out);
/* The methods of the run, checked. KG_E_USAGE names the key. */
enum kg_code rl_config_methods(const struct rl_config *c, struct rl_methods *m,
                               struct kg_err *err) KG_MUST_USE;
/* Numbers that follow from several keys. */
struct rl_shape {
    uint32_t first, groups;    /* of a step: sampled at once; most with refills */
    uint32_t rollouts, wanted; /* of a group: sampled; of them train */
    uint32_t turns;            /* of a trajectory; 1 without feedback */
    uint32_t samples;          /* trajectories of a problem in an evaluation */
    int live, walks;           /* trajectories: at once; most of a step */
};
struct rl_shape rl_config_shape(const struct rl_config *c);
void rl_config_curriculum(const struct rl_config *c, struct rl_curriculum_options *o);
void rl_config_bestof(const struct rl_config *c, struct rl_bestof_options *o);
/* Does the gym's configuration have the stage `profile`, which coverage comes from? */
bool rl_config_profiles(const struct rl_config *c);
/* The gym's name of the reward preset: `correct` stands for `binary`. */
const char *rl_config_reward(const struct rl_config *c);
/* Does the reward preset pay for coverage? */
bool rl_config_pays_coverage(const struct rl_config *c);
/* Appends one line for each thing that the configuration needs and this version has not. Returns
 * how many: a run with any is refused. */
int rl_config_lacks(const struct rl_config *c, struct kg_buf *out);
/* Components that are switched on, by their counters. */
void rl_config_on(const struct rl_config *c, const struct rl_methods *m, bool on[RL_C_N]);
const struct rl_mix *rl_config_mix(const struct rl_config *c);

#endif
