/* PyTorch problems as files: a KernelBench module (FILE.py: class Model, get_inputs,
 * get_init_inputs) or one row of a KernelBook file (FILE.jsonl#LINE: python_code, entry_point).
 * Here they are found, read and looked at by the lexer; nothing is executed. What a problem asks
 * for in numbers is said by its own code in a confined reference runner (task.h). */
#ifndef KG_GYM_TORCH_PROBLEM_SUITE_H
#define KG_GYM_TORCH_PROBLEM_SUITE_H

#include "base/arena.h"
#include "base/hash.h"

#define KG_TPROBLEM_MAX_BYTES (256u << 10)
#define KG_TROW_MAX_BYTES     (4u << 20) /* of a JSONL line */
#define KG_TLEVEL_WEIGHTS     4          /* problems of this level need weights from elsewhere */

struct kg_tproblem {
    struct kg_arena arena;
    const char *path, *suite, *name;
    const char *reference; /* class of the reference: "Model", or a row's entry_point */
    const char *entry;     /* what a candidate defines: "ModelNew", or <entry_point>New */
    const char *desc;      /* first line of the module's docstring, "" without */
    int level;             /* 1..9; 1 where nothing says */
    bool row;              /* of a JSONL file */
    const char *source;    /* the module's text, NUL-terminated */
    size_t source_len;
    char sha256[KG_SHA256_HEX]; /* of source; of a row: of entry_point and source */
};

/* Is the word a path of this module: ends in .py, .jsonl or .jsonl#LINE? */
bool kg_tsuite_is_path(const char *problem);
/* A path, or the name of a .py file below the suites, with or without .py, or of a row in a file
 * there (NAME.jsonl#LINE); unknown names are KG_E_NOT_FOUND with the nearest one, a name that two
 * files have is KG_E_INPUT. */
enum kg_code kg_tsuite_find(const char *problem, const char *const *suites, size_t nsuites,
                            char *path, size_t cap, struct kg_err *err) KG_MUST_USE;
/* KG_E_INPUT says what a file lacks: the class, get_inputs, get_init_inputs, a column of a row.
 * Where it is to be judged with, that is KG_E_PROBLEM (executor.c). */
enum kg_code kg_tproblem_load(const char *path, struct kg_tproblem **out,
                              struct kg_err *err) KG_MUST_USE;
enum kg_code kg_tproblem_parse(const char *text, size_t len, const char *path,
                               struct kg_tproblem **out, struct kg_err *err) KG_MUST_USE;
void kg_tproblem_destroy(struct kg_tproblem *p); /* NULL is fine */
#endif
