/* The configuration of an evaluation: one struct, one option table. docs/options.md is printed from
 * the table. Presets are lists of key=value applied between defaults and the configuration file. */
#ifndef KG_GYM_EVAL_CONFIG_H
#define KG_GYM_EVAL_CONFIG_H

#include "base/opt.h"
#include "gym/reward/reward.h"

/* Of the gym's own protocol; the protocol `kernelbench` takes fewer warm-ups. */
#define KG_TIMING_MOST_PROCESSES 64
enum kg_timing_method { KG_TM_PAIRED, KG_TM_CALIBRATED };
enum kg_library { KG_LIB_ALLOWED, KG_LIB_FORBIDDEN };
enum kg_quarantine { KG_QUARANTINE_REFUSE, KG_QUARANTINE_IGNORE };
/* Inputs of the full run of a C problem. */
enum kg_variants { KG_VARIANTS_ALL, KG_VARIANTS_FEW };
enum kg_spare { KG_SPARE_AUTO, KG_SPARE_YES, KG_SPARE_NO };
/* Whose procedure judges: the gym's own, or KernelBench's, which never sets a reward. */
#define KG_KERNELBENCH_TIMES 5000 /* of one side, at most: they fit one reply */
enum kg_protocol { KG_PROTOCOL_OWN, KG_PROTOCOL_KERNELBENCH };

struct kg_config {
    int protocol; /* enum kg_protocol */
    /* modules, each switchable alone */
    bool staged; /* stop at the first failing stage */
    bool stage_static, stage_tiny, stage_full, stage_timing, stage_profile;
    int variants;     /* enum kg_variants */
    bool multi_input; /* the five multi-input variants and the laws */
    bool hack_checks; /* freeze clock, replay, floor */
    int64_t laws;     /* value laws besides the five variants: 0 none, else all that fit */
    int quarantine;   /* enum kg_quarantine */
    /* deadlines, seconds */
    double deadline_compile, deadline_run, deadline_eval;
    /* limits */
    int64_t limit_memory_mb, limit_compile_memory_mb, limit_processes, limit_file_mb,
        limit_scratch_mb, limit_output_kb;
    /* timing */
    int timing_method; /* enum kg_timing_method */
    int64_t timing_pairs, timing_processes, timing_min_processes, timing_warmups, timing_trials;
    int64_t timing_least_calls, timing_null_calls, timing_waits;
    bool timing_fresh_references, timing_fresh_candidate, timing_primers, timing_asides;
    double timing_least_life; /* seconds */
    int64_t timing_block_pairs, timing_blocks, timing_min_blocks;
    double timing_widest; /* hi / lo of a speed-up that is trusted; 0: any */
    double timing_half_width, timing_block_half_width, timing_trim, timing_budget;
    bool timing_exclusive, timing_cold, timing_ahead;
    /* league */
    int library; /* enum kg_library */
    double library_share;
    char league[32], precision[16];
    /* PyTorch */
    char device[32];  /* "auto", "cpu", "cuda:N" */
    char python[512]; /* "": that of `make torch`, else python3 */
    double torch_deadline_compile, torch_deadline_eval, torch_first_call; /* seconds */
    int64_t torch_memory_mb, torch_tiny_elements, torch_shapes, device_memory_mb;
    bool torch_shapes_gate;
    int torch_spare; /* enum kg_spare */
    bool torch_contexts_apart;
    int64_t torch_builds_mb, torch_connections;
    /* KernelBench's procedure */
    int64_t kernelbench_trials;
    double kernelbench_tolerance; /* 0: by precision */
    /* where things are */
    char compiler[128], suites[1024], cache[512];
    char seed[40]; /* 32 hex digits, or "" for the operating system's */
    char preset[32];
    char rewards[256]; /* comma-separated */
    bool allow_unconfined;
    double reward_cap, reward_hack_penalty, reward_step, reward_anneal_steps, reward_kevin_cap;
    bool reward_s_deadzone;
};

const struct kg_opts *kg_config_options(void);
/* Defaults < preset < file (NULL: none) < environment (NULL: none). The preset is the one given
 * (the command line's), else the environment's, else the file's, else `default`; flags are the
 * caller's to apply afterwards. */
enum kg_code kg_config_load(struct kg_config *c, const char *preset, const char *file,
                            char **environ_list, struct kg_err *err) KG_MUST_USE;
/* Apply a preset by name; unknown ones and those not built yet are refused by name. */
enum kg_code kg_config_preset(struct kg_config *c, const char *name,
                              struct kg_err *err) KG_MUST_USE;
const char *const *kg_config_presets(void); /* NULL-terminated, those that are built */
/* One line about a preset that is built; name must be one. */
const char *kg_config_preset_help(const char *name);
/* Consistency between options, and what is not built yet. */
enum kg_code kg_config_check(const struct kg_config *c, struct kg_err *err) KG_MUST_USE;
/* Are all names of a comma-separated list reward presets, each named once? */
enum kg_code kg_config_check_rewards(const char *list, struct kg_err *err) KG_MUST_USE;
/* The parameters of the rewards. */
void kg_config_reward_params(const struct kg_config *c, struct kg_reward_params *out);

#endif
