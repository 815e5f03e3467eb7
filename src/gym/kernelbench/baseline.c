/* Reads a baseline file of KernelBench: the reference's times per level and problem. */
#include "gym/kernelbench/baseline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/kernelbench/kb_stats.h"

static int by_id(const void *a, const void *b)
{
    int x, y; /* each element begins with its id */
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x - y;
}

static enum kg_code read_problem(const json_t *v, const char *name, const char *source, int level,
                                 struct kg_kb_baseline *out, struct kg_err *err)
{
    int id;
    double mean = json_number_value(json_object_get(v, "mean"));
    if (!kg_kb_id_parse(name, &id)) {
        return kg_fail(err, KG_E_INPUT, "%s: level%d: `%.100s` is not a name <id>_<Name>.py",
                       source, level, name);
    }
    if (json_is_null(v)) { /* it could not be timed there */
        return KG_OK;
    }
    if (!json_is_object(v)) {
        return kg_fail(err, KG_E_INPUT, "%s: level%d.%.100s: an object is needed", source, level,
                       name);
    }
    if (!(mean >= KG_KB_MIN_MS && mean <= KG_KB_MAX_MS)) {
        return kg_fail(err, KG_E_INPUT,
                       "%s: level%d.%.100s.mean: milliseconds are needed, from %g to %g", source,
                       level, name, KG_KB_MIN_MS, KG_KB_MAX_MS);
    }
    out->problem[out->n].id = id;
    out->problem[out->n].mean_ms = mean;
    snprintf(out->problem[out->n].name, sizeof out->problem[out->n].name, "%s", name);
    out->n++;
    return KG_OK;
}

static enum kg_code read_level(const json_t *problems, const char *source, int level,
                               struct kg_kb_baseline *out, struct kg_err *err)
{
    const char *name;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)problems, name, v)
    {
        if (read_problem(v, name, source, level, out, err) != KG_OK) {
            return err->code;
        }
    }
    if (out->n == 0) {
        return kg_fail(err, KG_E_INPUT, "%s: level%d: no problem has a time", source, level);
    }
    qsort(out->problem, out->n, sizeof *out->problem, by_id);
    for (size_t i = 1; i < out->n; i++) {
        if (out->problem[i - 1].id == out->problem[i].id) {
            return kg_fail(err, KG_E_INPUT, "%s: level%d: `%.100s` and `%.100s` have the same id",
                           source, level, out->problem[i - 1].name, out->problem[i].name);
        }
    }
    return KG_OK;
}

enum kg_code kg_kb_baseline_parse(const json_t *j, const char *source, int level,
                                  struct kg_kb_baseline *out, struct kg_err *err)
{
    char key[24];
    snprintf(key, sizeof key, "level%d", level);
    const json_t *problems = json_object_get(j, key);
    size_t n = json_object_size(problems);
    *out = (struct kg_kb_baseline){.n = 0};
    if (!json_is_object(j)) {
        return kg_fail(err, KG_E_INPUT, "%s: an object {level1, ...} is needed", source);
    }
    if (n == 0) {
        return kg_fail(err, KG_E_INPUT, "%s: %s: %s", source, key,
                       problems ? "an object with at least one problem is needed" : "missing");
    }
    out->problem = calloc(n, sizeof *out->problem);
    if (!out->problem) {
        return kg_fail(err, KG_E_LIMIT, "%s: no memory for %zu problems", source, n);
    }
    if (read_level(problems, source, level, out, err) != KG_OK) {
        kg_kb_baseline_deinit(out);
        return err->code;
    }
    return KG_OK;
}

void kg_kb_baseline_deinit(struct kg_kb_baseline *b)
{
    free(b->problem);
    b->problem = NULL;
    b->n = 0;
}
