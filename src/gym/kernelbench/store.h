/* The records of a run folder between evaluations. A folder holds
 *   kgym_records.jsonl       the latest record of each kernel, by level, problem, sample
 *   kgym_batch.jsonl         the input lines of the evaluation under way, or of the last one
 *   kgym_records.part.jsonl  what a batch is writing; left behind by one that was interrupted
 * so that narrowing a run to a few problems and widening it again loses nothing, and an interrupted
 * batch goes on where it was. A lock on the folder keeps a second evaluation out. Every file but
 * the last is replaced as a whole. */
#ifndef KG_GYM_KERNELBENCH_STORE_H
#define KG_GYM_KERNELBENCH_STORE_H

#include "gym/kernelbench/result.h"

struct kg_kb_line {
    struct kg_kb_kernel kernel;
    char *text; /* a record, one line without its end */
};

struct kg_kb_store {
    char records[1100], batch[1100], part[1100], results[1100], pass[1100];
    int lock;
    struct kg_kb_line *line; /* by kernel, each once */
    size_t n, cap;
};

/* Opens the folder (made if it is missing), takes the lock, reads the records and what an
 * interrupted batch left. Refuses a folder whose eval_results.json kgym did not write: KG_E_USAGE.
 * After success the caller closes. */
enum kg_code kg_kb_store_open(const char *folder, struct kg_kb_store *out,
                              struct kg_err *err) KG_MUST_USE;
void kg_kb_store_close(struct kg_kb_store *s);
/* The record of a kernel, in place of an earlier one; then all of them to the folder. */
enum kg_code kg_kb_store_put(struct kg_kb_store *s, const struct kg_kb_kernel *k, const char *text,
                             size_t len, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_kb_store_keep(const struct kg_kb_store *s, struct kg_err *err) KG_MUST_USE;
/* Write the input lines of these kernels, and their old records for the batch to look at. */
enum kg_code kg_kb_store_begin(struct kg_kb_store *s, const struct kg_kb_run *run,
                               const struct kg_buf *lines, struct kg_err *err) KG_MUST_USE;
/* Take in what the batch wrote. */
enum kg_code kg_kb_store_end(struct kg_kb_store *s, struct kg_err *err) KG_MUST_USE;

struct kg_kb_summary {
    size_t samples, results, compiled, correct, timed, errors, unjudged;
    size_t by_verdict[KG_V_COUNT];
};
/* Write eval_results.json of the level's kernels that still lie in `all`, and
 * pass_at_k_results.json, whose total are the problems that were asked for, or have results where
 * no problems are known. */
enum kg_code kg_kb_store_results(const struct kg_kb_store *s, const struct kg_kb_run *all,
                                 const struct kg_kb_problems *problems,
                                 const struct kg_kb_numbers *asked, const struct kg_kb_numbers *k,
                                 struct kg_kb_summary *out, struct kg_err *err) KG_MUST_USE;

#endif
