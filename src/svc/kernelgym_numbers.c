/* The numbers of `metadata`: times and their spread, phases, and whose the time of the device is.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "svc/kernelgym_metadata.h"

enum {
    SHORT = 200,      /* bytes of a name */
    KERNELS_MOST = 8, /* as many as a record names */
    WINDOWS_MOST = 1 << 16,
};

static const json_t *get(const json_t *j, const char *key)
{
    return json_object_get(j, key);
}

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(get(j, key));
    return s ? s : "";
}

static double number(const json_t *j, const char *key)
{
    double x = json_number_value(get(j, key));
    return isfinite(x) ? x : 0;
}

static void put(json_t *m, const char *key, json_t *value)
{
    json_object_set_new(m, key, value);
}

static void put_text(json_t *m, const char *key, const char *s, size_t most)
{
    if (*s) {
        put(m, key, kg_kernelgym_text(s, most));
    }
}

/* --- times --- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* In ms, of all windows of all processes, which are after K; null where there is none. */
static json_t *spread_of(const json_t *samples, const char *side)
{
    double *x = calloc(WINDOWS_MOST, sizeof *x), sum = 0, square = 0;
    size_t n = 0;
    KG_ASSERT(x != NULL);
    for (size_t s = 0; s < json_array_size(samples); s++) {
        const json_t *list = get(json_array_get(samples, s), side);
        for (size_t i = 0; i < json_array_size(list) && n < WINDOWS_MOST; i++) {
            double window = json_number_value(json_array_get(list, i));
            x[n++] = (isfinite(window) && window > 0 ? window : 1) / 1e6;
        }
    }
    qsort(x, n, sizeof *x, by_value);
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    double mean = n > 0 ? sum / (double)n : 0;
    for (size_t i = 0; i < n; i++) {
        square += (x[i] - mean) * (x[i] - mean);
    }
    json_t *j = json_null();
    if (n > 0) {
        j = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "mean", mean, "median",
                      (x[(n - 1) / 2] + x[n / 2]) / 2, "p10", x[(n - 1) / 10], "p90",
                      x[(n - 1) * 9 / 10], "std", n > 1 ? sqrt(square / (double)(n - 1)) : 0.0,
                      "min", x[0], "max", x[n - 1], "n", (json_int_t)n);
    }
    free(x);
    return j;
}

static void put_times(json_t *m, const json_t *record)
{
    const json_t *timing = get(record, "timing"), *samples = get(timing, "samples");
    const char *status = text(timing, "status");
    if (!*status || strcmp(status, "off") == 0) {
        put(m, "performance_skipped", json_true());
        return;
    }
    put(m, "num_perf_trials",
        json_integer(json_integer_value(get(get(record, "speedup"), "pairs"))));
    put_text(m, "timing_status", status, SHORT);
    put_text(m, "timing_why", text(timing, "why"), SHORT);
    if (json_array_size(samples) > 0) {
        put(m, "timing",
            json_pack("{s:o, s:o}", "kernel", spread_of(samples, "candidate_ns"), "reference",
                      spread_of(samples, "reference_ns")));
    }
}

static double stage_ms(const json_t *record, const char *name)
{
    const json_t *stages = get(record, "stages");
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *s = json_array_get(stages, i);
        if (strcmp(text(s, "name"), name) == 0) {
            return number(s, "ns") / 1e6;
        }
    }
    return 0;
}

static void put_phases(json_t *m, const json_t *record, const struct kg_kernelgym_task *t)
{
    double queue = t->started_us > t->submitted_us && t->submitted_us > 0
                       ? (double)(t->started_us - t->submitted_us) / 1e3
                       : 0;
    put(m, "phase_ms",
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "queue", queue, "compile",
                  stage_ms(record, "compile"), "correctness",
                  stage_ms(record, "tiny") + stage_ms(record, "full"), "timing",
                  stage_ms(record, "timing"), "profiling", stage_ms(record, "profile"), "reference",
                  number(record, "setup_ns") / 1e6));
}

/* --- whose the time is --- */

static bool counts(const json_t *kernel)
{
    return json_is_true(get(kernel, "own")) && !json_is_true(get(kernel, "dead")) &&
           !json_is_true(get(kernel, "idle"));
}

bool kg_kernelgym_unowned(const json_t *record)
{
    const json_t *shares = kg_kernelgym_evidence(record, "coverage");
    const json_t *coverage = get(record, "coverage"), *own = get(shares, "own");
    return json_is_number(coverage) && json_is_number(own) && json_number_value(coverage) <= 0 &&
           json_number_value(own) <= 0 && number(shares, "busy_ns") > 0;
}

/* The rows of the longest kernels, and how many are the candidate's. */
static json_t *kernels_of(const json_t *record, double busy_us, json_int_t *own, json_t *matches)
{
    const json_t *list = get(record, "evidence");
    json_t *rows = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *k = json_array_get(list, i);
        if (strcmp(text(k, "check"), "kernel") != 0 || json_array_size(rows) >= KERNELS_MOST) {
            continue;
        }
        json_t *name = kg_kernelgym_text(text(k, "name"), SHORT);
        if (counts(k)) {
            ++*own;
            json_array_append(matches, name);
        }
        json_array_append_new(rows, json_pack("{s:o, s:f, s:f, s:I}", "name", name, "cuda_time_us",
                                              number(k, "share") * busy_us, "cpu_time_us", 0.0,
                                              "count", json_integer_value(get(k, "calls"))));
    }
    return rows;
}

static void put_sentence(json_t *m, const char *key, const char *what, double part, double whole)
{
    char s[160];
    snprintf(s, sizeof s, "%s: %.6g of %.6g (%.4f)", what, part, whole,
             whole > 0 ? part / whole : 0.0);
    put(m, key, json_string(s));
}

/* Nothing where the profile could not be taken: that proves nothing (docs/record.md, coverage). */
static void put_coverage(json_t *m, const json_t *record, bool profiling)
{
    const json_t *shares = kg_kernelgym_evidence(record, "coverage");
    double coverage = number(record, "coverage"), busy_us = number(shares, "busy_ns") / 1e3;
    json_int_t own = 0, all;
    if (!json_is_number(get(record, "coverage"))) {
        return;
    }
    json_t *matches = json_array(), *rows = kernels_of(record, busy_us, &own, matches);
    struct kg_buf b;
    all = (json_int_t)json_array_size(rows) + (number(shares, "memory") > 0);
    put(m, "num_custom_kernels", json_integer(own));
    put(m, "num_total_kernels", json_integer(all));
    put(m, "custom_kernel_cuda_time_in_profiling_us", json_real(coverage * busy_us));
    put(m, "total_kernel_run_time_in_profiling_us", json_real(busy_us));
    put_sentence(m, "triton_kernel_coverage", "the candidate's own kernels among all", (double)own,
                 (double)all);
    put_sentence(m, "custom_kernel_cuda_time_coverage",
                 "device time in us of the candidate's own kernels", coverage * busy_us, busy_us);
    kg_buf_init(&b, 1 << 16);
    kg_json_dump(matches, &b);
    put(m, "triton_profiler_matches", json_string(b.data));
    kg_buf_deinit(&b);
    json_decref(matches);
    put(m, "coverage_basis", json_string("device_time"));
    if (profiling) {
        put(m, "profiling",
            json_pack("{s:O, s:I, s:f, s:f, s:f, s:I, s:I, s:I}", "kernels", rows, "kernel_count",
                      (json_int_t)json_array_size(rows), "total_cpu_time_us", 0.0,
                      "total_cuda_time_us", busy_us, "total_self_cuda_time_us", busy_us,
                      "cuda_device_event_count", all, "cuda_time_event_count", all,
                      "self_cuda_time_event_count", all));
    }
    json_decref(rows);
}

void kg_kernelgym_put_numbers(json_t *m, const json_t *record, const struct kg_kernelgym_task *t)
{
    put_times(m, record);
    put_phases(m, record, t);
    put_coverage(m, record, !json_is_false(get(t->echo, "profiling")));
}
