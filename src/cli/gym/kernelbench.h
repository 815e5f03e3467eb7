/* kgym kernelbench: what its verbs share. Private to the command. */
#ifndef KG_CLI_GYM_KERNELBENCH_H
#define KG_CLI_GYM_KERNELBENCH_H

#include "cli/gym/config.h"
#include "gym/kernelbench/numbers.h"

struct kg_cli_kb {
    bool analyze, write; /* the verb; neither: eval */
    struct kg_cli_config config;
    const char *run, *problems, *level_text, *out, *jobs, *baseline, *hardware, *records;
    struct kg_kb_numbers ids, samples, k;
    int level; /* 0: the run's only one */
    bool json, dump, help;
    /* that project's words */
    const char *run_name, *runs_dir, *baseline_name, *dataset;
    const char *procedure; /* a word that only the preset `kernelbench` knows; NULL */
    char run_path[1024], baseline_path[1024];
    char sets[8][128]; /* "key=value" made of words, for config */
    int nsets;
};

/* One word key=value; the key may be one that has no meaning here: KG_E_USAGE says so by name. */
enum kg_code kg_cli_kb_word(struct kg_cli_kb *a, const char *word, struct kg_err *err) KG_MUST_USE;
/* Do the words fit the configuration that they were resolved to? */
enum kg_code kg_cli_kb_check(const struct kg_cli_kb *a, const struct kg_config *config,
                             struct kg_err *err) KG_MUST_USE;
/* What the words amount to: paths of run, problems and baseline. */
enum kg_code kg_cli_kb_settle(struct kg_cli_kb *a, struct kg_err *err) KG_MUST_USE;
/* The flags of either verb, NULL-terminated, and the words. */
extern const char *const kg_cli_kb_eval_flags[], *const kg_cli_kb_analyze_flags[],
                                                     *const kg_cli_kb_write_flags[];
void kg_cli_kb_words(struct kg_buf *out, const char *separator, bool analyze);

int kg_cli_kb_eval(struct kg_cli_kb *a, const struct kg_config *config);
int kg_cli_kb_analyze(struct kg_cli_kb *a);
int kg_cli_kb_write(struct kg_cli_kb *a);

#endif
