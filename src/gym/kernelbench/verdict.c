/* KernelBench's own result of one kernel, computed from what was observed in its trials. */
#include "gym/kernelbench/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gym/kernelbench/kb_stats.h"

double kg_kb_tolerance(const char *precision)
{
    return strcmp(precision, "fp32") == 0                                     ? 1e-4
           : strcmp(precision, "fp16") == 0 || strcmp(precision, "bf16") == 0 ? 1e-2
                                                                              : 0;
}

static void set_text(json_t *j, const char *key, const char *s)
{
    if (s) {
        json_object_set_new(j, key, kg_json_text(s, strlen(s)));
    }
}

/* Python's "{:.6f}". */
static void append_difference(json_t *list, double x)
{
    char text[400];
    snprintf(text, sizeof text, "%.6f", x);
    json_array_append_new(list, json_string(isnan(x) ? "nan" : text));
}

/* torch.Size([2, 3]) */
static void add_shape(struct kg_buf *out, const struct kg_kb_shape *s)
{
    kg_buf_adds(out, "torch.Size([");
    for (int i = 0; i < s->ndim; i++) {
        kg_buf_addf(out, "%s%lld", i ? ", " : "", (long long)s->dim[i]);
    }
    kg_buf_adds(out, "])");
}

static bool same_shape(const struct kg_kb_shape *a, const struct kg_kb_shape *b)
{
    return a->ndim == b->ndim && memcmp(a->dim, b->dim, (size_t)a->ndim * sizeof a->dim[0]) == 0;
}

static void note_shapes(json_t *metadata, const struct kg_kb_trial *t)
{
    struct kg_buf text;
    kg_buf_init(&text, 1024);
    kg_buf_adds(&text, "Output shape mismatch: Expected ");
    add_shape(&text, &t->want);
    kg_buf_adds(&text, ", got ");
    add_shape(&text, &t->got);
    set_text(metadata, "correctness_issue", text.data);
    set_text(metadata, "correctness_issue_name", "correctness_issue");
    kg_buf_deinit(&text);
}

/* One trial's part of the metadata; false ends the loop. */
static bool note_trial(json_t *metadata, json_t *max, json_t *avg, const struct kg_kb_trial *t,
                       size_t *passed)
{
    if (t->end == KG_KB_RAISED) {
        set_text(metadata, "runtime_error", t->raised ? t->raised : "");
        set_text(metadata, "runtime_error_name", t->raised_name ? t->raised_name : "Exception");
        return false;
    }
    if (!same_shape(&t->want, &t->got)) {
        note_shapes(metadata, t);
        return false;
    }
    if (t->close) {
        ++*passed;
        return true;
    }
    append_difference(max, t->max_difference);
    append_difference(avg, t->mean_difference);
    set_text(metadata, "correctness_issue", "Output mismatch");
    return true;
}

static bool judge(const struct kg_kb_observed *o, json_t *metadata)
{
    char text[64];
    size_t passed = 0;
    json_t *max = json_array(), *avg = json_array();
    for (size_t i = 0; i < o->ntrials && note_trial(metadata, max, avg, &o->trial[i], &passed);) {
        i++;
    }
    snprintf(text, sizeof text, "(%zu / %zu)", passed, o->planned);
    set_text(metadata, "correctness_trials", text);
    if (json_array_size(max) > 0) {
        json_object_set(metadata, "max_difference", max);
        json_object_set(metadata, "avg_difference", avg);
    }
    json_decref(max);
    json_decref(avg);
    return passed == o->planned && o->planned > 0;
}

static json_t *stats_json(const struct kg_kb_observed *o, double *mean_ms)
{
    struct kg_kb_stats s = kg_kb_stats_of(o->time_ns, o->ntimes);
    *mean_ms = kg_kb_round3(s.mean / 1e6);
    return json_pack("{s:f, s:f, s:f, s:f, s:I, s:s?, s:s?}", "mean", *mean_ms, "std",
                     kg_kb_round3(s.std / 1e6), "min", kg_kb_round3(s.min / 1e6), "max",
                     kg_kb_round3(s.max / 1e6), "num_trials", (json_int_t)s.n, "hardware",
                     o->hardware, "device", o->device);
}

json_t *kg_kb_exec_result(const struct kg_kb_observed *o)
{
    json_t *metadata = json_object(), *stats = NULL;
    double runtime = -1.0, reference = -1.0;
    bool correct = false;
    set_text(metadata, "hardware", o->hardware);
    set_text(metadata, "device", o->device);
    set_text(metadata, "compilation_error", o->compile_error);
    set_text(metadata, "compilation_error_name", o->compile_error_name);
    if (!o->compile_error) {
        correct = judge(o, metadata);
        set_text(metadata, "error_during_performance", correct ? o->time_error : NULL);
    }
    if (correct && !o->time_error && o->time_ns && o->ntimes > 0) {
        stats = stats_json(o, &runtime);
    }
    if (!o->compile_error && isfinite(o->reference_ns) && o->reference_ns > 0) {
        reference = kg_kb_round3(o->reference_ns / 1e6);
    }
    if (runtime > 0 && reference > 0 && reference / runtime > KG_KB_EXCESSIVE) {
        json_object_set_new(metadata, "excessive_speedup", json_true());
    }
    return json_pack("{s:b, s:b, s:o, s:f, s:o, s:f, s:o}", "compiled", o->compile_error == NULL,
                     "correctness", correct, "metadata", metadata, "runtime", runtime,
                     "runtime_stats", stats ? stats : json_object(), "ref_runtime", reference,
                     "ref_runtime_stats", json_object());
}
