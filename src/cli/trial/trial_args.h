/* What the command lines of `kgym bench` and `kgym refine` have alike: the policy and its sampling,
 * the gym, the budget, the folder. One table has all options but those of a command's own. */
#ifndef KG_CLI_TRIAL_TRIAL_ARGS_H
#define KG_CLI_TRIAL_TRIAL_ARGS_H

#include "gym/kgym.h"
#include "trial/drive/drive.h"
#include "trial/policy/policy.h"

enum { TR_SETS = 64 };

struct tr_args {
    struct tr_policy_options policy;
    const char *gym, *token_file, *preset; /* NULL: none */
    const char *set[TR_SETS];
    int64_t nset, workers;
    struct tr_budget budget;
    const char *rewards, *language; /* NULL: the pool's, the prompt's */
    int64_t feedback, seed;
    const char *out; /* NULL: missing */
    bool json, help;
};

void tr_args_defaults(struct tr_args *a);
/* Takes the word at argv[at], and its value; *used 0: it is none of these. KG_E_USAGE. */
enum kg_code tr_args_word(struct tr_args *a, int argc, char **argv, int at, int *used,
                          struct kg_err *err) KG_MUST_USE;
/* A number of a command's own option, `--name VALUE`; *used as above. KG_E_USAGE. */
enum kg_code tr_args_whole(const char *name, int64_t lo, int64_t hi, int argc, char **argv, int at,
                           int *used, int64_t *out, struct kg_err *err) KG_MUST_USE;
/* KG_E_USAGE: no such option; the message names the nearest of the common and of own
 * (NULL-terminated). */
enum kg_code tr_args_unknown(const char *command, const char *word, const char *const *own,
                             struct kg_err *err) KG_MUST_USE;
/* KG_E_USAGE: --policy or --out is missing. */
enum kg_code tr_args_check(const struct tr_args *a, const char *command,
                           struct kg_err *err) KG_MUST_USE;
/* The lines of the common options for a help text. */
extern const char tr_args_help[];

/* How a pool is opened; what it names is borrowed from a. */
struct kgym_options tr_args_gym(const struct tr_args *a);
/* id: of the run. After success the caller closes it. Errors: those of kgym_open. */
enum kg_code tr_args_pool(const struct tr_args *a, const char *id, struct kgym_pool **out,
                          struct kg_err *err) KG_MUST_USE;
/* How a drive is opened, but for policy, pool, folder and cancel. */
struct tr_drive_options tr_args_drive(const struct tr_args *a);
/* The members of run.json that say what was asked for: kind, id, policy, gym, seed, prices,
 * rewards, feedback, language. The caller owns the object and adds its own. */
json_t *tr_args_run(const struct tr_args *a, const struct tr_policy *policy, const char *kind,
                    const char *id);
/* {"name", "kernelbench", "of", "subset", "problems": [{"name", "level", "id", "hash"}],
 * "aside": [{"name", "why"}]}, and of KernelBench's problems "kernelbench_hashes": {NAME: hash}.
 * subset: as it was given; NULL: all. The caller owns it. */
json_t *tr_args_suite(const struct tr_suite *s, const char *subset);

#endif
