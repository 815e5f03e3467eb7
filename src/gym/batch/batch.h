/* Many evaluations: a JSONL file of {id, problem, one of reply|reply_file|source|source_file} in,
 * one record per line out, in input order whatever order they finish in. One worker process per
 * job, each pinned to its own CPU; a worker that dies is replaced and its line is tried once more.
 * An interrupted run resumes: complete lines with the same input hash are kept, those that waited
 * for an older one (batch_ahead.h) too, a torn last line is cut off. Paths in the input are
 * relative to its folder. */
#ifndef KG_GYM_BATCH_BATCH_H
#define KG_GYM_BATCH_BATCH_H

#include "gym/eval/evaluate.h"

struct kg_batch_spec {
    const char *in, *out;
    int jobs;
    bool public_only;
    enum kg_stage stop_after;
    const volatile int *cancelled; /* not zero: end as soon as possible; or NULL */
    /* Called after each line, in order of completion; done counts resumed lines too. record: its
     * JSON, borrowed. May be NULL. */
    void (*progress)(void *ctx, int64_t done, int64_t total, const char *record);
    void *ctx;
};

struct kg_batch_result {
    int64_t lines, resumed, verdicts,
        errors; /* lines with a verdict (or nothing asked), with an error */
};

enum kg_code kg_batch_run(const struct kg_config *config, const struct kg_batch_spec *spec,
                          struct kg_batch_result *out, struct kg_err *err) KG_MUST_USE;

/* CPUs that this process may use, best first for timing (highest number first: CPU 0 takes the
 * interrupts). Returns how many were stored. */
int kg_batch_cpus(int *out, int cap);

#endif
