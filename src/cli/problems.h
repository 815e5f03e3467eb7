/* Private to the command `problems`: what its verbs share. */
#ifndef KG_CLI_PROBLEMS_H
#define KG_CLI_PROBLEMS_H

#include "cli/cli.h"
#include "gym/pipeline/paths.h"

/* Paths of all problems of the suites: C, then PyTorch, each sorted by name. */
enum kg_code kg_cli_problems_all(const struct kg_paths *paths, char ***out, size_t *n,
                                 struct kg_err *err) KG_MUST_USE;
void kg_cli_problems_free(char **path, size_t n);
/* Checks those named, or all; prints each, and what is put aside. Exit status. */
int kg_cli_problems_check(const struct kg_config *config, const struct kg_paths *paths,
                          const char *const *name, int nnames, bool json);

#endif
