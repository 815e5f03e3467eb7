/* The border between an evaluation and what runs code: one row of functions per kind of problem (C,
 * PyTorch). Configuration, order of stages, record, rewards, canary, card and batch are common.
 * What a problem is, and the stages that touch a candidate, are an executor's own. The table of
 * rows is in src/gym/executors; nothing below it names a row, and nothing but a row tells which
 * kind a problem is. A row names its language, and what depends on that alone is looked up by the
 * language: the lexer, the fence's tag, and the sections of first messages. Cards and rewards have
 * only a record, and read the language that it holds. */
#ifndef KG_GYM_EVAL_EXECUTOR_H
#define KG_GYM_EVAL_EXECUTOR_H

#include "gym/eval/onboard.h"
#include "gym/eval/worker.h"
#include "gym/prompt/prompt.h"

/* What a problem's file says of it; nothing is executed. Strings are in arena. */
struct kg_problem_facts {
    struct kg_arena arena;
    const char *name, *suite, *entry, *sha256;
    const char *desc; /* one line, "" without */
    const char *note; /* why it is not judged, or NULL */
    int level;
    bool row; /* one of several in its file */
};

struct kg_executor {
    const char *language; /* of problems and candidates, as records say it */
    const char *title;    /* the same for people: "C", "Python" */
    const char *kind;     /* of problems, for people: "C", "PyTorch" */
    const char *suffix;   /* of a file that holds a candidate: ".c" */
    enum kg_lang lang;
    /* Is this word a path of such a problem, by its ending? */
    bool (*is_path)(const char *word);
    /* Endings of the files that hold such problems, in the order of a list; NULL-terminated. */
    const char *const *endings;
    /* Does this file of a folder hold problems, as far as its text and name tell? True for one that
     * can't be read. NULL: every file with such an ending does. */
    bool (*holds)(const char *path);
    /* Problems in lines of their own, PATH#LINE from 1: how many lines the file has; -1: it is one
     * problem. NULL: always one. has_row: false for a blank line. */
    enum kg_code (*rows)(const char *path, long *out, struct kg_err *err);
    bool (*has_row)(const char *path, long line);
    /* The file of a path or of a name in the suites. KG_E_NOT_FOUND: there is none; err->suggests:
     * the message has a name that was probably meant. */
    enum kg_code (*find)(const char *problem, const char *const *suites, size_t nsuites, char *path,
                         size_t cap, struct kg_err *err);
    /* KG_E_USAGE: the configuration asks for what there is not for such a problem. NULL: it may ask
     * for everything. */
    enum kg_code (*supports)(const struct kg_config *c, struct kg_err *err);
    /* Of the problem at this path. facts: the caller's, to be given back with
     * kg_problem_facts_deinit(), after an error, too. show: its text, and what there is to know. */
    enum kg_code (*facts)(const char *path, struct kg_problem_facts *out, struct kg_err *err);
    enum kg_code (*show)(const char *path, struct kg_buf *out, struct kg_err *err);
    /* Where this configuration has such problems run: "cpu", "cuda:0". Static, or in c. */
    const char *(*device)(const struct kg_config *c);
    /* Make the problem at this path the worker's current one; what of it can be kept is kept. */
    enum kg_code (*problem)(struct kg_worker *w, const char *path, struct kg_err *err);
    /* problem.* and environment.* of a record; the problem is current. */
    void (*describe)(struct kg_worker *w, struct kg_record *r);
    /* What the candidate must define. */
    const char *(*entry)(const struct kg_worker *w);
    /* The problem's own bytes, for the input hash: of the current one, or read from a path. */
    const char *(*source)(const struct kg_worker *w, size_t *len);
    enum kg_code (*read)(const char *path, struct kg_buf *out, struct kg_err *err);
    /* Seconds that a whole evaluation may take. */
    double (*deadline_s)(const struct kg_config *c);
    /* A candidate made of the current problem's own reference. */
    void (*canary)(const struct kg_worker *w, struct kg_buf *out);
    /* By enum kg_stage; NULL: no such stage. `extract` is common. */
    enum kg_stage_result (*stage[KG_ST_COUNT])(struct kg_evaluation *e, struct kg_err *err);
    /* Before the stages, once the problem is current: makes e->run; a place on a device that others
     * use too, or the device alone (e->alone). After an error stop() is called, too. */
    enum kg_code (*begin)(struct kg_evaluation *e, struct kg_err *err);
    /* End the candidate's processes, release what the evaluation holds, free e->run. Idempotent. */
    void (*stop)(struct kg_evaluation *e);
    /* Both do nothing where the worker has no part of this executor. close() frees it. */
    void (*forget)(struct kg_worker *w, enum kg_forget what);
    /* The worker has nothing to do: give back what others wait for. NULL: nothing. */
    void (*idle)(struct kg_worker *w);
    void (*close)(struct kg_worker *w);
    /* KG_E_HOST: this host lacks what such problems need at all; the message says what and how to
     * get it. NULL: every host that runs kgym has it. */
    enum kg_code (*usable)(struct kg_worker *w, struct kg_err *err);
    enum kg_code (*onboard)(struct kg_worker *w, const char *path, struct kg_onboard *out,
                            struct kg_err *err);
    /* Does the current problem's own run leave it in doubt (its answer is all zeros, it does not
     * repeat itself)? False once that is settled. NULL, with settle: never. */
    bool (*doubted)(struct kg_worker *w);
    /* Makes the checks that settle it. An error: they could not be made, now or later. */
    enum kg_code (*settle)(struct kg_worker *w, struct kg_onboard *out, struct kg_err *err);
    /* Append the first message for the problem at this path; no worker is needed. about: which
     * problem it is, NULL is fine. */
    enum kg_code (*prompt)(const char *path, const struct kg_prompt_spec *spec,
                           struct kg_prompt_about *about, struct kg_buf *out, struct kg_err *err);
};

/* All rows, in the order in which a name is looked for; NULL-terminated, KG_EXECUTORS_MAX at most.
 * Defined in src/gym/executors/executors.c. */
extern const struct kg_executor *const kg_executors[];

/* Which row of the table it is, from 0. */
size_t kg_executor_row(const struct kg_executor *x);
/* The part of this executor of a worker; NULL: it has none yet. */
void *kg_worker_part(const struct kg_worker *w, const struct kg_executor *x);
void kg_worker_set_part(struct kg_worker *w, const struct kg_executor *x, void *part);

void kg_problem_facts_deinit(struct kg_problem_facts *f);

/* Whose path this is by its ending; NULL: it is a name, or a path of no known kind. */
const struct kg_executor *kg_executor_of_path(const char *word);
/* The first in the table whose candidates are files with this ending; NULL: none. */
const struct kg_executor *kg_executor_of_candidate(const char *file);
/* Who judges this problem, and its path. A path contains '/' or has the ending of one; any other
 * word is a name of the suites, looked for in the order of the table. KG_E_NOT_FOUND names the
 * nearest. */
enum kg_code kg_executor_find(const struct kg_paths *paths, const char *problem,
                              const struct kg_executor **out, char *path, size_t cap,
                              struct kg_err *err) KG_MUST_USE;
/* The same, and the problem becomes the worker's current one. */
enum kg_code kg_executor_problem(struct kg_worker *w, const char *problem,
                                 struct kg_err *err) KG_MUST_USE;

#endif
