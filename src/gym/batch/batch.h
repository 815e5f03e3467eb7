/* Many evaluations: a JSONL file of {id, problem, one of reply|reply_file|source|source_file} in,
 * one record per line out, in input order whatever order they finish in. The lines are tasks of a
 * pool (kgym.h), which the batch opens and closes.
 * An interrupted run resumes: complete lines with the same input hash are kept, those that waited
 * for an older one (batch_ahead.h) too, a torn last line is cut off. Paths in the input are
 * relative to its folder. */
#ifndef KG_GYM_BATCH_BATCH_H
#define KG_GYM_BATCH_BATCH_H

#include "gym/eval/evaluate.h"

/* A line that is finished, or kept of an earlier run. Strings are borrowed. */
struct kg_batch_line {
    const char *id;
    int line;            /* its number in the input, from 1 */
    bool ok;             /* its verdict is `ok` */
    enum kg_code error;  /* KG_OK: it has a verdict */
    const char *message; /* of the error, without the place FILE:LINE of the line itself */
};

struct kg_batch_spec {
    const char *in, *out;
    int jobs; /* workers; 0: the pool's default */
    bool public_only;
    const char *stop_after;        /* the last stage, or NULL */
    const char *trace;             /* file for a trace, or NULL */
    const char *gym, *token_file;  /* a service that judges, or NULL: this host does */
    const volatile int *cancelled; /* not zero: end as soon as possible; or NULL */
    /* Once the pool is open: how many workers it has, for how many cores. May be NULL. */
    int (*opened)(void *ctx, int workers, int cores); /* returns how many it shall have */
    /* Called after each line, in order of completion; done counts kept lines too. May be NULL. */
    void (*progress)(void *ctx, int64_t done, int64_t total, const struct kg_batch_line *line);
    void *ctx;
};

struct kg_batch_result {
    int64_t lines, resumed, verdicts,
        errors; /* lines with a verdict (or nothing asked), with an error */
};

enum kg_code kg_batch_run(const struct kg_config *config, const struct kg_batch_spec *spec,
                          struct kg_batch_result *out, struct kg_err *err) KG_MUST_USE;

#endif
