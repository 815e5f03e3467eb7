/* The options of `kgym sft`. Its table holds the rows of `kgym train` that mean the same here (some
 * with another default), and rows of its own. In YAML `data` and `valid` are a file or a list of
 * files; keys of the gym are set as in rl/options.h. Plain data, no ownership. */
#ifndef KG_RL_SFT_SFT_CONFIG_H
#define KG_RL_SFT_SFT_CONFIG_H

#include "rl/data/data.h"
#include "rl/run/options.h"
#include "rl/run/source.h"

enum { RL_SFT_FILES = 64, RL_SFT_PATH = 512 };

struct rl_sft_files {
    char path[RL_SFT_FILES][RL_SFT_PATH];
    size_t n;
};

struct rl_sft_config {
    struct rl_config run; /* first: the shared rows point into it */
    struct rl_sft_files data, valid;
    char from[RL_SFT_PATH], adapter[RL_SFT_PATH], tokenizer[RL_SFT_PATH], template[32];
    bool thinking;
    int turns, over;
    double valid_share, epochs, decay, clip;
    int64_t valid_every, micro, save_every;
    int64_t lora_r;
    double lora_alpha, lora_dropout;
    char lora_targets[128], verify[32];
};

/* What texts of the options mean. */
struct rl_sft_plan {
    bool generated; /* the corpus is generated, not read */
    bool tokenizer; /* is trained */
    int merges;     /* of it */
    size_t verify;  /* documents of a generated corpus that the gym judges */
    unsigned parts; /* of the adapter: bits 1 << enum lm_part */
    bool adapter;   /* an adapter is trained */
    bool fresh;     /* weights are drawn */
    struct rl_source source;
};

const struct kg_opts *rl_sft_options(void);
void rl_sft_config_defaults(struct rl_sft_config *c);
/* A YAML file. Errors: those of kg_yaml_parse and kg_opts_set, KG_E_LIMIT (too many files). */
enum kg_code rl_sft_config_file(struct rl_sft_config *c, const char *path,
                                struct kg_err *err) KG_MUST_USE;
/* "key=value". */
enum kg_code rl_sft_config_pair(struct rl_sft_config *c, const char *pair, const char *source,
                                struct kg_err *err) KG_MUST_USE;
/* Appends a file. Errors: KG_E_LIMIT. */
enum kg_code rl_sft_files_add(struct rl_sft_files *f, const char *path,
                              struct kg_err *err) KG_MUST_USE;
/* Appends YAML that rl_sft_config_file reads back to the same values. */
void rl_sft_config_dump(const struct rl_sft_config *c, struct kg_buf *out);
/* KG_E_USAGE names the key. *out points into c. */
enum kg_code rl_sft_config_check(const struct rl_sft_config *c, struct rl_sft_plan *out,
                                 struct kg_err *err) KG_MUST_USE;

#endif
