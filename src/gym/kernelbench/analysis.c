/* KernelBench's metrics of a run: fast_p and the mean speed-up against a baseline. */
#include "gym/kernelbench/analysis.h"

#include <math.h>
#include <stdio.h>

const double kg_kb_p[KG_KB_NP] = {0.0, 0.5, 0.8, 1.0, 1.5, 2.0};

struct sums {
    double log;
    size_t fast[KG_KB_NP], n;
};

static void add_ratio(struct sums *s, double ratio)
{
    s->log += log(ratio);
    s->n++;
    for (int i = 0; i < KG_KB_NP; i++) {
        s->fast[i] += ratio > kg_kb_p[i];
    }
}

static struct kg_kb_speed finish(const struct sums *s, size_t n)
{
    struct kg_kb_speed out = {.geo_mean = s->n ? exp(s->log / (double)s->n) : NAN};
    for (int i = 0; i < KG_KB_NP; i++) {
        out.fast[i] = (double)s->fast[i] / (double)n;
    }
    return out;
}

/* The first sample of a problem, NULL without one. */
static const struct kg_kb_result *greedy(const struct kg_kb_results *r, int problem)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (r->result[mid].problem < problem) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    bool there = lo < r->n && r->result[lo].problem == problem && r->result[lo].sample == 0;
    return there ? &r->result[lo] : NULL;
}

static size_t count_unknown(const struct kg_kb_results *r, const struct kg_kb_baseline *b,
                            const struct kg_kb_numbers *only)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < r->n; i++) {
        int id = r->result[i].problem;
        bool first = i == 0 || r->result[i - 1].problem != id;
        while (at < b->n && b->problem[at].id < id) {
            at++;
        }
        bool known = at < b->n && b->problem[at].id == id;
        n += first && !known && kg_kb_numbers_has(only, id);
    }
    return n;
}

enum kg_code kg_kb_analyze(const struct kg_kb_results *results,
                           const struct kg_kb_baseline *baseline, const struct kg_kb_numbers *only,
                           struct kg_kb_analysis *out, struct kg_err *err)
{
    struct sums exact = {0}, rounded = {0};
    *out = (struct kg_kb_analysis){.results = results->problems};
    for (size_t i = 0; i < baseline->n; i++) {
        if (!kg_kb_numbers_has(only, baseline->problem[i].id)) {
            continue;
        }
        const struct kg_kb_result *r = greedy(results, baseline->problem[i].id);
        double mean = baseline->problem[i].mean_ms;
        out->n++;
        out->evaluated += r != NULL;
        out->compiled += r && r->compiled;
        out->correct += r && r->correct;
        if (!r || !r->correct) {
            continue;
        }
        if (!(r->runtime_ms > 0)) {
            out->untimed++;
            continue;
        }
        add_ratio(&exact, mean * 1e6 / r->runtime_ns);
        add_ratio(&rounded, mean / r->runtime_ms);
    }
    if (out->n == 0) {
        return kg_fail(err, KG_E_INPUT, "none of the problems asked for has a baseline");
    }
    out->without_baseline = count_unknown(results, baseline, only);
    out->exact = finish(&exact, out->n);
    out->rounded = finish(&rounded, out->n);
    return KG_OK;
}

static json_t *fast_json(const struct kg_kb_speed *s)
{
    json_t *j = json_object();
    for (int i = 0; i < KG_KB_NP; i++) {
        char key[16];
        snprintf(key, sizeof key, "%.1f", kg_kb_p[i]);
        json_object_set_new(j, key, json_real(s->fast[i]));
    }
    return j;
}

json_t *kg_kb_analysis_json(const struct kg_kb_analysis *a,
                            const struct kg_kb_analysis_names *names, const json_t *pass)
{
    double n = (double)a->n;
    json_t *j = json_pack(
        "{s:s, s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:o}", "run_name", names->run,
        "level", names->level, "hardware", names->hardware, "baseline", names->baseline,
        "total_count", (json_int_t)a->n, "total_eval", (json_int_t)a->results, "compiled_count",
        (json_int_t)a->compiled, "correct_count", (json_int_t)a->correct, "compilation_rate",
        (double)a->compiled / n, "correctness_rate", (double)a->correct / n, "geo_mean_speedup",
        isnan(a->rounded.geo_mean) ? 0.0 : a->rounded.geo_mean, "fast_p", fast_json(&a->rounded));
    if (j && pass) {
        json_object_set_new(j, "pass_at_k", json_deep_copy(pass));
    }
    json_t *own =
        json_pack("{s:o, s:o, s:I, s:I, s:I}", "geo_mean_speedup",
                  isnan(a->exact.geo_mean) ? json_null() : json_real(a->exact.geo_mean), "fast_p",
                  fast_json(&a->exact), "evaluated", (json_int_t)a->evaluated, "correct_untimed",
                  (json_int_t)a->untimed, "without_baseline", (json_int_t)a->without_baseline);
    json_object_set_new(j, "kgym", own);
    return j;
}
