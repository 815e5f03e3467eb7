/* KernelBench's names, lists and files: what is accepted is within its bounds and printed back the
 * same; results and baselines that are accepted give metrics that are shares. A file is one JSON
 * value: results, a baseline, or {results, baseline} to be analysed together. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gym/kernelbench/analysis.h"

static void names(const char *text)
{
    struct kg_kb_kernel k, again;
    char id[KG_KB_ID_MAX], file[KG_KB_ID_MAX + 16];
    int v = 0;
    if (kg_kb_kernel_parse(text, &k)) {
        kg_kb_kernel_id(&k, id);
        snprintf(file, sizeof file, "%s_kernel.py", id);
        KG_ASSERT(strcmp(file, text) == 0); /* a kernel has one name */
        KG_ASSERT(kg_kb_kernel_id_parse(id, &again) && kg_kb_kernel_order(&k, &again) == 0);
        KG_ASSERT(k.level >= 1 && k.problem >= 1 && k.sample >= 0);
    }
    KG_ASSERT(!kg_kb_id_parse(text, &v) || (v >= 1 && v <= KG_KB_MAX_NUMBER));
    KG_ASSERT(!kg_kb_level_parse(text, &v) || v >= 1);
}

static void lists(const char *text)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_kb_numbers set;
    for (int pair = 0; pair < 2; pair++) {
        if ((pair ? kg_kb_numbers_range("f", text, &set, &err)
                  : kg_kb_numbers_parse("f", text, &set, &err)) != KG_OK) {
            KG_ASSERT(err.code == KG_E_USAGE);
            continue;
        }
        KG_ASSERT(set.n >= 0 && set.n <= KG_KB_MAX_RANGES);
        for (int i = 0; i < set.n; i++) {
            KG_ASSERT(set.range[i].lo >= 0 && set.range[i].lo <= set.range[i].hi);
            KG_ASSERT(set.range[i].hi <= KG_KB_MAX_NUMBER);
            KG_ASSERT(kg_kb_numbers_has(&set, set.range[i].hi));
        }
    }
}

/* Layout at the end changes no hash; a statement does. */
static void hashes(const char *text, size_t size)
{
    struct kg_err err = KG_ERR_INIT;
    char a[KG_KB_HASH], b[KG_KB_HASH];
    char *more = malloc(size + 8);
    KG_ASSERT(more && kg_kb_hash(text, size, a, &err) == KG_OK);
    memcpy(more, text, size);
    memcpy(more + size, "\n \t#x\n", 6);
    KG_ASSERT(kg_kb_hash(more, size + 6, b, &err) == KG_OK && strcmp(a, b) == 0);
    memcpy(more + size, "\nx", 2);
    KG_ASSERT(kg_kb_hash(more, size + 2, b, &err) == KG_OK && strcmp(a, b) != 0);
    free(more);
}

static void check_share(double x)
{
    KG_ASSERT(x >= 0 && x <= 1);
}

static void pass(const struct kg_kb_results *r)
{
    static const struct kg_kb_numbers k = {.range = {{1, 3}}, .n = 1};
    const char *key;
    json_t *v, *j = kg_kb_pass_json(r, 1, &k);
    json_object_foreach(json_object_get(j, "averages"), key, v)
    {
        check_share(json_real_value(v));
    }
    json_decref(j);
}

static void analyse(const struct kg_kb_results *r, const struct kg_kb_baseline *b)
{
    static const struct kg_kb_analysis_names named = {"r", "h", "b", 1};
    static const struct kg_kb_numbers any = {.n = 0};
    struct kg_err err = KG_ERR_INIT;
    struct kg_kb_analysis a;
    KG_ASSERT(kg_kb_analyze(r, b, &any, &a, &err) == KG_OK);
    KG_ASSERT(a.n == b->n && a.correct <= a.n && a.untimed <= a.correct && a.evaluated <= a.n);
    for (int i = 0; i < KG_KB_NP; i++) {
        check_share(a.exact.fast[i]);
        check_share(a.rounded.fast[i]);
        KG_ASSERT(i == 0 || a.rounded.fast[i] <= a.rounded.fast[i - 1]);
    }
    json_t *j = kg_kb_analysis_json(&a, &named, NULL);
    KG_ASSERT(j);
    json_decref(j);
}

static void files(const json_t *j)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_kb_results r;
    struct kg_kb_baseline b;
    const json_t *results = json_object_get(j, "results");
    const json_t *baseline = json_object_get(j, "baseline");
    bool has_results = kg_kb_results_parse(results ? results : j, "f", &r, &err) == KG_OK;
    bool has_baseline = kg_kb_baseline_parse(baseline ? baseline : j, "f", 1, &b, &err) == KG_OK;
    if (has_results) {
        pass(&r);
    }
    if (has_results && has_baseline) {
        analyse(&r, &b);
    }
    if (has_results) {
        kg_kb_results_deinit(&r);
    }
    if (has_baseline) {
        kg_kb_baseline_deinit(&b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *j;
    char *text = malloc(size + 1);
    KG_ASSERT(text);
    memcpy(text, data, size);
    text[size] = '\0';
    names(text);
    lists(text);
    hashes(text, size);
    if (kg_json_parse(text, size, "f", &j, &err) == KG_OK) {
        files(j);
        json_decref(j);
    }
    free(text);
    return 0;
}
