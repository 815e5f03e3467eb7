/* The border between an evaluation and what runs code: one table of functions per kind of problem
 * (C, PyTorch). Configuration, stage order, record, rewards, canary, card and batch are common;
 * finding out what a problem is, and the stages that touch a candidate, are an executor's own. It
 * keeps its part of a worker and of an evaluation in their fields; nothing else asks which kind a
 * problem is. */
#ifndef KG_GYM_EVAL_EXECUTOR_H
#define KG_GYM_EVAL_EXECUTOR_H

#include "gym/eval/onboard.h"
#include "gym/eval/worker.h"

struct kg_executor {
    const char *language; /* of problems and candidates, as records say it */
    enum kg_lang lang;
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
    /* Before the stages, once the problem is current: a place on a device that others use too, or
     * the device alone (e->alone). NULL: there is none to share. */
    enum kg_code (*begin)(struct kg_evaluation *e, struct kg_err *err);
    /* End the candidate's processes and release what the evaluation holds. Idempotent. */
    void (*stop)(struct kg_evaluation *e);
    void (*forget)(struct kg_worker *w, enum kg_forget what);
    enum kg_code (*onboard)(struct kg_worker *w, const char *path, struct kg_onboard *out,
                            struct kg_err *err);
};

extern const struct kg_executor kg_executor_c, kg_executor_torch;

/* Who judges this problem, and its path. A path contains '/' or ends in .c, .py or .jsonl#LINE; any
 * other word is a name of the suites, C problems first. KG_E_NOT_FOUND names the nearest. */
enum kg_code kg_executor_find(const struct kg_paths *paths, const char *problem,
                              const struct kg_executor **out, char *path, size_t cap,
                              struct kg_err *err) KG_MUST_USE;
/* The same, and the problem becomes the worker's current one. */
enum kg_code kg_executor_problem(struct kg_worker *w, const char *problem,
                                 struct kg_err *err) KG_MUST_USE;

#endif
