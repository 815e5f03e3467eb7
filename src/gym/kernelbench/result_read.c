/* eval_results.json back, by whomever it was written; and what pass@k makes of it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/kernelbench/kb_stats.h"
#include "gym/kernelbench/result.h"

struct reader {
    const char *source, *problem; /* the file, the problem's key */
    size_t at;                    /* in its list */
    struct kg_err *err;
};

static enum kg_code bad(const struct reader *rd, const char *key, const char *what)
{
    return kg_fail(rd->err, KG_E_INPUT, "%s: %.20s[%zu].%s: %s", rd->source, rd->problem, rd->at,
                   key, what);
}

static enum kg_code read_flag(const struct reader *rd, const json_t *entry, const char *key,
                              bool *out)
{
    const json_t *v = json_object_get(entry, key);
    *out = json_is_true(v);
    return json_is_boolean(v) ? KG_OK : bad(rd, key, "true or false is needed");
}

static enum kg_code read_times(const struct reader *rd, const json_t *entry,
                               struct kg_kb_result *out)
{
    const json_t *runtime = json_object_get(entry, "runtime");
    const json_t *metadata = json_object_get(entry, "metadata");
    const json_t *own = json_object_get(metadata, "kgym");
    const json_t *exact = json_object_get(own, "runtime_ns");
    double ms = json_number_value(runtime), ns = json_number_value(exact);
    if (!json_is_number(runtime) || (ms > 0 && !(ms >= KG_KB_MIN_MS && ms <= KG_KB_MAX_MS))) {
        return bad(rd, "runtime", "a number is needed (milliseconds, -1 where not measured)");
    }
    if (!json_is_object(metadata)) {
        return bad(rd, "metadata", "an object is needed");
    }
    if (!json_is_object(json_object_get(entry, "runtime_stats"))) {
        return bad(rd, "runtime_stats", "an object is needed");
    }
    if (exact && !(ns >= KG_KB_MIN_MS * 1e6 && ns <= KG_KB_MAX_MS * 1e6)) {
        return bad(rd, "metadata.kgym.runtime_ns", "nanoseconds are needed");
    }
    out->runtime_ms = ms;
    out->runtime_ns = !(ms > 0) ? NAN : exact ? ns : ms * 1e6;
    return KG_OK;
}

static enum kg_code read_entry(const struct reader *rd, const json_t *entry,
                               struct kg_kb_result *out)
{
    const json_t *sample = json_object_get(entry, "sample_id");
    json_int_t number = json_integer_value(sample);
    if (!json_is_object(entry)) {
        return kg_fail(rd->err, KG_E_INPUT, "%s: %.20s[%zu]: an object is needed", rd->source,
                       rd->problem, rd->at);
    }
    if (!json_is_integer(sample) || number < 0 || number > KG_KB_MAX_NUMBER) {
        return bad(rd, "sample_id", "a number from 0 is needed");
    }
    out->sample = (int)number;
    if (read_flag(rd, entry, "compiled", &out->compiled) != KG_OK ||
        read_flag(rd, entry, "correctness", &out->correct) != KG_OK) {
        return rd->err->code;
    }
    return read_times(rd, entry, out);
}

static int by_sample(const void *a, const void *b)
{
    const struct kg_kb_result *x = a, *y = b;
    return x->problem != y->problem ? x->problem - y->problem : x->sample - y->sample;
}

static enum kg_code check_unique(const struct kg_kb_results *r, const char *source,
                                 struct kg_err *err)
{
    for (size_t i = 1; i < r->n; i++) {
        if (by_sample(&r->result[i - 1], &r->result[i]) == 0) {
            return kg_fail(err, KG_E_INPUT, "%s: %d: two entries of sample_id %d", source,
                           r->result[i].problem, r->result[i].sample);
        }
    }
    return KG_OK;
}

static bool parse_key(const char *key, int *problem)
{
    const char *end = kg_kb_number(key, problem);
    return end && *end == '\0' && key[0] != '0';
}

static enum kg_code read_all(const json_t *j, const char *source, struct kg_kb_results *out,
                             struct kg_err *err)
{
    const char *key;
    json_t *list, *entry;
    int problem;
    json_object_foreach((json_t *)(uintptr_t)j, key, list)
    {
        struct reader rd = {.source = source, .problem = key, .err = err};
        if (!parse_key(key, &problem)) {
            return kg_fail(err, KG_E_INPUT, "%s: `%.60s`: not a problem's id", source, key);
        }
        if (!json_is_array(list)) {
            return kg_fail(err, KG_E_INPUT, "%s: %s: a list of samples is needed", source, key);
        }
        json_array_foreach(list, rd.at, entry)
        {
            out->result[out->n].problem = problem;
            if (read_entry(&rd, entry, &out->result[out->n]) != KG_OK) {
                return err->code;
            }
            out->n++;
        }
    }
    return KG_OK;
}

enum kg_code kg_kb_results_parse(const json_t *j, const char *source, struct kg_kb_results *out,
                                 struct kg_err *err)
{
    const char *key;
    json_t *list;
    size_t total = 0;
    *out = (struct kg_kb_results){.problems = json_object_size(j)};
    if (!json_is_object(j)) {
        return kg_fail(err, KG_E_INPUT, "%s: an object keyed by problem ids is needed", source);
    }
    json_object_foreach((json_t *)(uintptr_t)j, key, list)
    {
        total += json_array_size(list);
    }
    out->result = calloc(total + 1, sizeof *out->result);
    if (!out->result) {
        return kg_fail(err, KG_E_LIMIT, "%s: no memory for %zu results", source, total);
    }
    enum kg_code code = read_all(j, source, out, err);
    if (code == KG_OK) {
        qsort(out->result, out->n, sizeof *out->result, by_sample);
        code = check_unique(out, source, err);
    }
    if (code != KG_OK) {
        kg_kb_results_deinit(out);
    }
    return code;
}

void kg_kb_results_deinit(struct kg_kb_results *r)
{
    free(r->result);
    *r = (struct kg_kb_results){0};
}

/* --- pass@k --- */

struct tally {
    double sum;
    int64_t problems;
};

static void add_problem(json_t *problems, const struct kg_kb_result *first, int64_t n, int64_t c,
                        const struct kg_kb_numbers *k, struct tally *tally)
{
    char name[40];
    json_t *p =
        json_pack("{s:I, s:I}", "total_samples", (json_int_t)n, "correct_samples", (json_int_t)c);
    for (int i = 0, t = 0; i < k->n; i++) {
        for (int v = k->range[i].lo; v <= k->range[i].hi; v++, t++) {
            double value = kg_kb_pass_at_k(n, c, v);
            if (isfinite(value)) {
                snprintf(name, sizeof name, "pass@%d", v);
                json_object_set_new(p, name, json_real(value));
                tally[t].sum += value;
                tally[t].problems++;
            }
        }
    }
    snprintf(name, sizeof name, "%d", first->problem);
    json_object_set_new(problems, name, p);
}

static void add_averages(json_t *averages, json_t *metadata, const struct kg_kb_numbers *k,
                         const struct tally *tally)
{
    char name[40];
    for (int i = 0, t = 0; i < k->n; i++) {
        for (int v = k->range[i].lo; v <= k->range[i].hi; v++, t++) {
            if (tally[t].problems > 0) {
                snprintf(name, sizeof name, "avg_pass@%d", v);
                json_object_set_new(averages, name,
                                    json_real(tally[t].sum / (double)tally[t].problems));
            }
            snprintf(name, sizeof name, "pass@%d_count", v);
            json_object_set_new(metadata, name, json_integer(tally[t].problems));
        }
    }
}

static size_t count_of(const struct kg_kb_numbers *k)
{
    size_t n = 0;
    for (int i = 0; i < k->n; i++) {
        n += (size_t)(k->range[i].hi - k->range[i].lo + 1);
    }
    return n;
}

json_t *kg_kb_pass_json(const struct kg_kb_results *r, size_t total, const struct kg_kb_numbers *k)
{
    json_t *problems = json_object(), *averages = json_object();
    struct tally *tally = calloc(count_of(k) + 1, sizeof *tally);
    int64_t seen = 0, correct = 0;
    KG_ASSERT(tally);
    for (size_t i = 0, end; i < r->n; i = end) {
        int64_t c = 0;
        for (end = i; end < r->n && r->result[end].problem == r->result[i].problem; end++) {
            c += r->result[end].correct;
        }
        add_problem(problems, &r->result[i], (int64_t)(end - i), c, k, tally);
        correct += c;
        seen++;
    }
    json_t *metadata =
        json_pack("{s:I, s:I, s:I, s:I}", "total_problems", (json_int_t)total,
                  "problems_with_samples", (json_int_t)seen, "total_evaluated_samples",
                  (json_int_t)r->n, "total_correct_samples", (json_int_t)correct);
    add_averages(averages, metadata, k, tally);
    free(tally);
    return json_pack("{s:o, s:o, s:o}", "averages", averages, "metadata", metadata, "problems",
                     problems);
}
