/* A baseline of KernelBench, results/timing/<hardware>/<baseline>.json: per level the mean time of
 * each reference in milliseconds, by the problem's name. */
#ifndef KG_GYM_KERNELBENCH_BASELINE_H
#define KG_GYM_KERNELBENCH_BASELINE_H

#include "base/json.h"
#include "gym/kernelbench/kb_problem.h"

struct kg_kb_baseline {
    struct {
        int id;
        char name[KG_KB_NAME_MAX];
        double mean_ms; /* above 0 */
    } * problem;        /* by id, each once */
    size_t n;
};

/* One level of the file's JSON. Errors name file and key: "FILE: level1.1_X.py.mean: ...". Unknown
 * keys are ignored. A level with no problem is KG_E_INPUT. After success the caller deinits. */
enum kg_code kg_kb_baseline_parse(const json_t *j, const char *source, int level,
                                  struct kg_kb_baseline *out, struct kg_err *err) KG_MUST_USE;
void kg_kb_baseline_deinit(struct kg_kb_baseline *b);

#endif
