/* KernelBench problems as files: <folder>/level<N>/<id>_<Name>.py. What identifies one: level,
 * 1-based id, name (the file's, with .py: the key of baseline files), and a hash that ignores
 * layout and comments. Nothing is executed here. */
#ifndef KG_GYM_KERNELBENCH_KB_PROBLEM_H
#define KG_GYM_KERNELBENCH_KB_PROBLEM_H

#include "base/err.h"

#define KG_KB_HASH     33 /* 32 hex digits and NUL */
#define KG_KB_NAME_MAX 256

struct kg_kb_problem {
    int level, id;
    char name[KG_KB_NAME_MAX];
    char path[1024]; /* absolute */
    char hash[KG_KB_HASH];
};

struct kg_kb_problems {
    struct kg_kb_problem *problem; /* by id, each once */
    size_t n;
};

/* The number of a folder `level<N>`, N from 1. */
bool kg_kb_level_parse(const char *folder, int *level);
/* The id of `<id>_<Name>.py`, from 1; leading zeros are allowed. */
bool kg_kb_id_parse(const char *name, int *id);
/* md5 of the code without triple-quoted strings, # comments and white space, in that order and as
 * blindly as that project's regular expressions: a # inside a string begins a comment. Line ends
 * are those of Python's text mode. KG_E_HOST where libcrypto has no md5. */
enum kg_code kg_kb_hash(const char *code, size_t len, char out[KG_KB_HASH],
                        struct kg_err *err) KG_MUST_USE;
/* All problems of a level. folder holds level<N>, or is itself of that name. Files whose name has
 * no id are no problems; two of one id are KG_E_INPUT. After success the caller deinits *out. */
enum kg_code kg_kb_problems_load(const char *folder, int level, struct kg_kb_problems *out,
                                 struct kg_err *err) KG_MUST_USE;
void kg_kb_problems_deinit(struct kg_kb_problems *list);
/* NULL when there is none. */
const struct kg_kb_problem *kg_kb_problem_find(const struct kg_kb_problems *list, int id);

#endif
