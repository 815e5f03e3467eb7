/* Private to the command `problems`: what a verb goes through, problem by problem. Those of the
 * suites, or those that words name: a problem, FILE.jsonl (all its rows), a folder (all below it).
 * C problems come first, then PyTorch ones, then rows, each suite by suite and by name. Rows are
 * counted and named, not held. */
#ifndef KG_CLI_PROBLEMS_SET_H
#define KG_CLI_PROBLEMS_SET_H

#include "cli/cli.h"
#include "gym/eval/paths.h"

struct kg_cli_entry {
    char *word; /* what names it: of the suites, or a path; of rows without #LINE */
    char *path; /* its file, where that is known */
    long rows;  /* lines of a file of rows; 0: one problem */
    bool python;
};

struct kg_cli_set {
    struct kg_cli_entry *entry;
    size_t n, cap;
    int64_t total; /* problems; blank lines of a file of rows count here */
    size_t at;     /* the next entry, and its next row */
    long row;
};

/* KG_E_NOT_FOUND: a suite or folder holds no problem. A .py file that is none is left out, unless
 * its name is that of a KernelBench problem (digits and _) or it cannot be read: what is wrong with
 * it is then to be told. So is a file of rows whose first line is none. */
enum kg_code kg_cli_set_open(const struct kg_paths *paths, const char *const *word, size_t nwords,
                             struct kg_cli_set *out, struct kg_err *err) KG_MUST_USE;
void kg_cli_set_close(struct kg_cli_set *s);

struct kg_cli_item {
    char word[1200], path[1200]; /* path: "" where the word has to be looked up */
    bool python;
};
/* False: that was all. */
bool kg_cli_set_next(struct kg_cli_set *s, struct kg_cli_item *out);

#endif
