/* Private to the command `problems`: what its verbs share. */
#ifndef KG_CLI_GYM_PROBLEMS_H
#define KG_CLI_GYM_PROBLEMS_H

#include "cli/gym/config.h"
#include "gym/eval/paths.h"

/* What is put aside, with the reasons, for the end. */
#define KG_CLI_ASIDE_BYTES (16u << 20)
struct kg_cli_aside {
    struct kg_buf list;
    int64_t n;
};
void kg_cli_aside_add(struct kg_cli_aside *a, const char *word, const char *reason);
void kg_cli_aside_print(const struct kg_cli_aside *a);

/* Of those that are named, or all of the suites. Exit status. */
int kg_cli_problems_list(const struct kg_paths *paths, const char *const *word, size_t nwords,
                         bool json);

struct kg_cli_check {
    const struct kg_config *config;
    const struct kg_paths *paths;
    const char *const *word; /* what to check; none: all of the suites */
    size_t nwords;
    bool json, resume;
};
/* Checks them; prints each, and what is put aside. Exit status. */
int kg_cli_problems_check(const struct kg_cli_check *c);

#endif
