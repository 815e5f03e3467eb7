/* Private to the command `problems`: what a verb goes through, problem by problem. Those of the
 * suites, or those that words name: a problem, FILE.jsonl (all its rows), a folder (all below it).
 * The kinds come in the order of the table of executors, each ending of a kind by itself, each
 * suite by suite and by name. Rows are counted and named, not held. */
#ifndef KG_CLI_GYM_PROBLEMS_SET_H
#define KG_CLI_GYM_PROBLEMS_SET_H

#include "cli/cli.h"
#include "gym/eval/executor.h"

struct kg_cli_entry {
    char *word; /* what names it: of the suites, or a path; of rows without #LINE */
    char *path; /* its file, where that is known */
    long rows;  /* lines of a file of rows; -1: one problem */
    const struct kg_executor *executor; /* by word or path; NULL: a name tells nothing */
};

struct kg_cli_set {
    struct kg_cli_entry *entry;
    size_t n, cap;
    int64_t total; /* problems; blank lines of a file of rows count here */
    size_t at;     /* the next entry, and its next row */
    long row;
};

/* KG_E_NOT_FOUND: a suite or folder holds no problem. A file of a folder that holds none, as its
 * executor's holds() says, is left out. */
enum kg_code kg_cli_set_open(const struct kg_paths *paths, const char *const *word, size_t nwords,
                             struct kg_cli_set *out, struct kg_err *err) KG_MUST_USE;
void kg_cli_set_close(struct kg_cli_set *s);

struct kg_cli_item {
    char word[1200], path[1200];        /* path: "" where the word has to be looked up */
    const struct kg_executor *executor; /* as above */
};
/* False: that was all. */
bool kg_cli_set_next(struct kg_cli_set *s, struct kg_cli_item *out);

#endif
