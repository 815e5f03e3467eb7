/* The options of a training run, as one table: from it come YAML keys, --set, the dump in the run's
 * folder and the help. Keys of the gym are passed on as they are: `gym.timing.pairs`, or below
 * `gym:` in YAML; the gym's own table checks them. Unknown keys are errors with the nearest name.
 * Plain data, no ownership. */
#ifndef KG_RL_OPTIONS_H
#define KG_RL_OPTIONS_H

#include "base/opt.h"
#include "rl/chains/chains.h"
#include "rl/select.h"

enum { RL_GYM_KEYS = 48, RL_GYM_KEY = 160 };

struct rl_config {
    int64_t seed, threads, part;
    int64_t hidden, inter, layers, heads;
    int64_t documents, merges;
    double talks, corpus_triples;
    int mix;
    int64_t sft_steps, sft_rows, sft_warmup;
    double sft_seconds, sft_rate;
    int64_t steps, groups, rollouts, rows, problems;
    double seconds, rate, clip, triples;
    int64_t turns, resp_max, min_resp, ctx_max, fb_max;
    char reward[48];
    bool reuse, void_turns;
    int returns;
    double gamma;
    char adv[32];
    int n1, baseline_set, cv;
    double cv_beta;
    int offpolicy, form, agg, denom;
    double clip_lo, clip_hi, dual, scale, entropy, ent_mask, risk_mask;
    int mrs, tis;
    double mrs_lo, mrs_hi, veto;
    bool prs;
    int prs_mode;
    double prs_tau, prs_sigma, prs_or_speed;
    int zero_var;
    int64_t eval_pairs, eval_triples, eval_samples;
    double eval_top_p;
    /* Of the gym, in order: "key=value". */
    char gym[RL_GYM_KEYS][RL_GYM_KEY];
    size_t ngym;
    char gym_preset[32];
};

const struct kg_opts *rl_options(void);
void rl_config_defaults(struct rl_config *c);
/* A YAML file. Errors: those of kg_yaml_parse and kg_opts_set. */
enum kg_code rl_config_file(struct rl_config *c, const char *path, struct kg_err *err) KG_MUST_USE;
/* "key=value". */
enum kg_code rl_config_pair(struct rl_config *c, const char *pair, const char *source,
                            struct kg_err *err) KG_MUST_USE;
/* Appends YAML that rl_config_file reads back to the same values. */
void rl_config_dump(const struct rl_config *c, struct kg_buf *out);
/* The methods of the run, checked. KG_E_USAGE names the key. */
enum kg_code rl_config_methods(const struct rl_config *c, struct rl_methods *m,
                               struct kg_err *err) KG_MUST_USE;
const struct rl_mix *rl_config_mix(const struct rl_config *c);

#endif
