/* From a record of kgym to an entry of eval_results.json. */
#include "gym/kernelbench/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gym/kernelbench/kb_stats.h"

#define EXCESSIVE 10.0 /* times the reference's speed: flagged, as that project does */
#define NS_PER_MS 1e6

bool kg_kb_is_result(const struct kg_record *r)
{
    return r->has_error ? kg_record_is_candidates(r) : r->verdict != KG_V_NONE;
}

static json_t *text(const char *s)
{
    return s ? kg_json_text(s, strlen(s)) : json_null();
}

static void set_text(json_t *j, const char *key, const char *s)
{
    if (s) {
        json_object_set_new(j, key, text(s));
    }
}

/* All windows of the candidate; the caller frees. NULL: none. */
static int64_t *windows(const struct kg_record *r, size_t *n)
{
    size_t i, k, total = 0;
    json_t *process, *v;
    *n = 0;
    if (r->timing.status != KG_T_MEASURED || !r->timing.samples) {
        return NULL;
    }
    json_array_foreach(r->timing.samples, i, process)
    {
        total += json_array_size(json_object_get(process, "candidate_ns"));
    }
    int64_t *ns = total ? malloc(total * sizeof *ns) : NULL;
    json_array_foreach(r->timing.samples, i, process)
    {
        json_array_foreach(json_object_get(process, "candidate_ns"), k, v)
        {
            if (ns && json_is_integer(v)) {
                ns[(*n)++] = json_integer_value(v);
            }
        }
    }
    return ns;
}

/* By that project's own procedure: it believes what the timed process says. */
static struct kg_kb_stats claimed(const json_t *claims)
{
    const json_t *c = json_object_get(claims, "candidate");
    json_int_t n = json_integer_value(json_object_get(claims, "trials"));
    double mean = json_number_value(json_object_get(c, "mean_ns"));
    if (n < 1 || !(mean > 0)) {
        return kg_kb_stats_of(NULL, 0);
    }
    return (struct kg_kb_stats){.mean = mean,
                                .std = json_number_value(json_object_get(c, "std_ns")),
                                .min = json_number_value(json_object_get(c, "min_ns")),
                                .max = json_number_value(json_object_get(c, "max_ns")),
                                .n = (size_t)n};
}

static struct kg_kb_stats times_of(const struct kg_record *r)
{
    size_t n;
    if (r->timing.claims) {
        return claimed(r->timing.claims);
    }
    int64_t *ns = windows(r, &n);
    struct kg_kb_stats s = kg_kb_stats_of(ns, n);
    free(ns);
    if (n == 0 && r->timing.status == KG_T_MEASURED && r->timing.candidate_ns >= 0) {
        s.mean = (double)r->timing.candidate_ns;
    }
    return s;
}

static const char *place(const struct kg_record *r, const char *key, const char *other)
{
    const char *s = json_string_value(json_object_get(r->environment, key));
    s = s ? s : other ? json_string_value(json_object_get(r->environment, other)) : NULL;
    return s ? s : "cpu";
}

static json_t *runtime_stats(const struct kg_record *r, const struct kg_kb_stats *s)
{
    if (s->n == 0) {
        return json_object();
    }
    return json_pack("{s:f, s:f, s:f, s:f, s:I, s:s, s:s}", "mean",
                     kg_kb_round3(s->mean / NS_PER_MS), "std", kg_kb_round3(s->std / NS_PER_MS),
                     "min", kg_kb_round3(s->min / NS_PER_MS), "max",
                     kg_kb_round3(s->max / NS_PER_MS), "num_trials", (json_int_t)s->n, "hardware",
                     place(r, "device_name", "cpu"), "device", place(r, "device", NULL));
}

static json_t *own(const struct kg_record *r, const struct kg_kb_problem *problem,
                   const struct kg_kb_stats *s)
{
    json_t *j = json_pack("{s:s, s:o, s:o, s:s}", "record", r->id, "reason", text(r->reason),
                          "verdict", text(kg_verdict_name(r->verdict)), "timing",
                          kg_timing_status_name(r->timing.status));
    if (problem) {
        json_object_set_new(j, "problem", json_string(problem->name));
        json_object_set_new(j, "problem_hash", json_string(problem->hash));
    }
    if (isfinite(s->mean)) {
        json_object_set_new(j, "runtime_ns", kg_json_real(s->mean));
    }
    if (s->n > 0) {
        json_object_set_new(j, "std_ns", kg_json_real(s->std));
    }
    if (s->n > 0 && r->timing.claims) {
        const json_t *ref = json_object_get(r->timing.claims, "reference");
        json_object_set_new(j, "reference_mean_ns",
                            kg_json_real(json_number_value(json_object_get(ref, "mean_ns"))));
    } else if (s->n > 0) {
        json_object_set_new(j, "median_ns", json_integer(r->timing.candidate_ns));
        json_object_set_new(j, "reference_median_ns", json_integer(r->timing.reference_ns));
    }
    if (r->has_speedup && (r->timing.status == KG_T_MEASURED || r->timing.claims)) {
        json_object_set_new(j, "speedup",
                            json_pack("{s:o, s:o, s:o}", "ratio", kg_json_real(r->speedup.ratio),
                                      "lo", kg_json_real(r->speedup.lo), "hi",
                                      kg_json_real(r->speedup.hi)));
    }
    return j;
}

/* A message about answers tells of secret inputs, and this file is what models are shown: that
 * project's own words instead. */
static const char *issue_of(const struct kg_record *r)
{
    if (r->verdict == KG_V_HACK) {
        return "Evidence of an answer or a time that was not earned";
    }
    return r->reason && strcmp(r->reason, "shape") == 0 ? "Output shape mismatch"
                                                        : "Output mismatch";
}

/* Which of that project's keys says it: it knows three ways to fail. */
static void describe_failure(const struct kg_record *r, bool compiled, json_t *metadata)
{
    static const char *const keys[][2] = {{"compilation_error", "compilation_error_name"},
                                          {"runtime_error", "runtime_error_name"},
                                          {"correctness_issue", "correctness_issue_name"}};
    bool answered = r->verdict == KG_V_WRONG || r->verdict == KG_V_HACK;
    const char *const *key = keys[!compiled ? 0 : answered ? 2 : 1];
    char name[96];
    const char *what = r->has_error ? kg_code_name(r->error.code) : kg_verdict_name(r->verdict);
    const char *message = r->has_error ? r->error.message : r->message;
    snprintf(name, sizeof name, "%s%s%s", what, r->reason ? "/" : "", r->reason ? r->reason : "");
    set_text(metadata, key[0], answered ? issue_of(r) : message ? message : name);
    bool absent = r->verdict == KG_V_NO_CODE ||
                  (r->reason &&
                   (strcmp(r->reason, "syntax") == 0 || strcmp(r->reason, "missing_entry") == 0));
    set_text(metadata, key[1], !compiled && absent ? "SyntaxError" : name);
}

/* Python's "{:.6f}". */
static json_t *six_decimals(const json_t *v)
{
    char text[400];
    snprintf(text, sizeof text, "%.6f", json_number_value(v));
    return json_string(json_is_number(v) ? text : "nan");
}

/* What that project says of its trials, where they were its own; differences of those that failed.
 */
static void note_trials(const struct kg_record *r, json_t *metadata)
{
    static const char *const keys[][2] = {{"max_difference", "max_difference"},
                                          {"avg_difference", "mean_difference"}};
    const json_t *trials = NULL;
    size_t i;
    json_t *e, *close;
    char text[64];
    json_array_foreach(r->evidence, i, e)
    {
        const char *check = json_string_value(json_object_get(e, "check"));
        trials = check && strcmp(check, "trials") == 0 ? e : trials;
    }
    size_t n = json_array_size(json_object_get(trials, "close"));
    json_int_t planned = json_integer_value(json_object_get(trials, "planned"));
    if (!trials || n != (size_t)planned) { /* it says so only of those that ran to the end */
        return;
    }
    snprintf(text, sizeof text, "(%lld / %lld)",
             (long long)json_integer_value(json_object_get(trials, "passed")), (long long)planned);
    json_object_set_new(metadata, "correctness_trials", json_string(text));
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        json_t *list = json_array();
        json_array_foreach(json_object_get(trials, "close"), i, close)
        {
            if (!json_is_true(close)) {
                json_array_append_new(
                    list, six_decimals(json_array_get(json_object_get(trials, keys[k][1]), i)));
            }
        }
        if (json_array_size(list) > 0) {
            json_object_set(metadata, keys[k][0], list);
        }
        json_decref(list);
    }
}

json_t *kg_kb_result_json(const struct kg_record *r, const struct kg_kb_kernel *k,
                          const struct kg_kb_problem *problem)
{
    bool correct = r->verdict == KG_V_OK;
    bool compiled = correct || r->compiled == 1;
    struct kg_kb_stats s = times_of(r);
    if (!correct || !(s.mean > 0)) {
        s = kg_kb_stats_of(NULL, 0);
    }
    json_t *metadata = json_object();
    set_text(metadata, "hardware", place(r, "device_name", "cpu"));
    set_text(metadata, "device", place(r, "device", NULL));
    if (!correct) {
        describe_failure(r, compiled, metadata);
    }
    note_trials(r, metadata);
    if (s.n > 0 && r->timing.claims && r->speedup.ratio > EXCESSIVE) {
        json_object_set_new(metadata, "excessive_speedup", json_true());
    }
    json_object_set_new(metadata, "kgym", own(r, problem, &s));
    double ms = isfinite(s.mean) ? kg_kb_round3(s.mean / NS_PER_MS) : -1.0;
    return json_pack("{s:i, s:b, s:b, s:o, s:f, s:o}", "sample_id", k->sample, "compiled", compiled,
                     "correctness", correct, "metadata", metadata, "runtime", ms, "runtime_stats",
                     runtime_stats(r, &s));
}

void kg_kb_results_add(json_t *all, int problem, json_t *entry)
{
    char key[16];
    snprintf(key, sizeof key, "%d", problem);
    json_t *list = json_object_get(all, key);
    if (!list) {
        list = json_array();
        json_object_set_new(all, key, list);
    }
    json_array_append_new(list, entry);
}
