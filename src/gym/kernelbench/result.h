/* Results of a run as KernelBench keeps them: eval_results.json, an object keyed by the problem's
 * id in numeric order, each value a list of {sample_id, compiled, correctness, metadata{}, runtime,
 * runtime_stats{}} with times in milliseconds, rounded to 3 significant digits, -1 where nothing
 * was measured.
 *
 * What kgym knows besides lies under metadata.kgym, unrounded and in ns; readers that do not know
 * it lose nothing. An evaluation that ended in an error, or that was not carried through, is no
 * result: it is left out, as that project leaves out what it must try again. */
#ifndef KG_GYM_KERNELBENCH_RESULT_H
#define KG_GYM_KERNELBENCH_RESULT_H

#include "gym/kernelbench/kb_run.h"
#include "gym/record/record.h"

struct kg_kb_result {
    int problem, sample;
    bool compiled, correct;
    double runtime_ms; /* as the file has it; -1: not measured */
    double runtime_ns; /* metadata.kgym's, else runtime_ms in ns; NaN: not measured */
};

struct kg_kb_results {
    struct kg_kb_result *result; /* by problem, then sample */
    size_t n, problems;          /* problems: keys of the object */
};

/* Is the record a result: a verdict and no error? */
bool kg_kb_is_result(const struct kg_record *r);
/* The entry of one sample; problem may be NULL (then without its hash). r is a result. The caller
 * owns it. */
json_t *kg_kb_result_json(const struct kg_record *r, const struct kg_kb_kernel *k,
                          const struct kg_kb_problem *problem);
/* Put an entry where it belongs in the object of all results; entries come by problem, then
 * sample. Steals entry. */
void kg_kb_results_add(json_t *all, int problem, json_t *entry);

/* source names the file in messages, which name the key: "FILE: 3[0].runtime: ...". Unknown keys
 * are ignored; metadata and runtime_stats must be objects. Two entries of one sample are
 * KG_E_INPUT. After success the caller deinits *out. */
enum kg_code kg_kb_results_parse(const json_t *j, const char *source, struct kg_kb_results *out,
                                 struct kg_err *err) KG_MUST_USE;
void kg_kb_results_deinit(struct kg_kb_results *r);

/* The content of pass_at_k_results.json. total: problems that were asked for; k: the list of k. A k
 * above a problem's number of samples has no value for it. The caller owns it. */
json_t *kg_kb_pass_json(const struct kg_kb_results *r, size_t total, const struct kg_kb_numbers *k);

#endif
