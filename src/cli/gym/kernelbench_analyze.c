/* kgym kernelbench analyze: the metrics of a run against a baseline. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/gym/kernelbench.h"
#include "gym/kernelbench/analysis.h"

static enum kg_code load(const char *path, json_t **out, struct kg_err *err)
{
    struct kg_buf b;
    kg_buf_init(&b, 1u << 30);
    enum kg_code code = kg_file_read(path, &b, err);
    if (code == KG_OK) {
        code = kg_json_parse(b.data, b.len, path, out, err);
    }
    kg_buf_deinit(&b);
    return code;
}

static enum kg_code load_results(const char *run, struct kg_kb_results *out, struct kg_err *err)
{
    char path[1100];
    json_t *j = NULL;
    snprintf(path, sizeof path, "%s/eval_results.json", run);
    enum kg_code code = load(path, &j, err);
    code = code == KG_OK ? kg_kb_results_parse(j, path, out, err) : code;
    json_decref(j);
    return code;
}

static enum kg_code load_baseline(const char *path, int level, struct kg_kb_baseline *out,
                                  struct kg_err *err)
{
    json_t *j = NULL;
    enum kg_code code = load(path, &j, err);
    code = code == KG_OK ? kg_kb_baseline_parse(j, path, level, out, err) : code;
    json_decref(j);
    return code;
}

/* pass_at_k_results.json, where there is one; NULL otherwise. */
static enum kg_code load_pass(const char *run, json_t **out, struct kg_err *err)
{
    char path[1100];
    *out = NULL;
    snprintf(path, sizeof path, "%s/pass_at_k_results.json", run);
    if (!kg_file_exists(path)) {
        return KG_OK;
    }
    enum kg_code code = load(path, out, err);
    if (code == KG_OK && !json_is_object(json_object_get(*out, "averages"))) {
        code = kg_fail(err, KG_E_INPUT, "%s: averages: an object is needed", path);
    }
    return code;
}

static enum kg_code level_of(struct kg_cli_kb *a, struct kg_err *err)
{
    static const struct kg_kb_numbers any = {.n = 0};
    struct kg_kb_run run;
    if (a->level) {
        return KG_OK;
    }
    if (kg_kb_run_read(a->run, &run, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code =
        run.n ? kg_kb_run_choose(&run, &any, &any, &a->level, err)
              : kg_fail(err, KG_E_USAGE, "--level L is needed: %.300s holds no kernels that say it",
                        a->run);
    kg_kb_run_deinit(&run);
    return code;
}

static void last_part(const char *path, int up, char *out, size_t cap)
{
    const char *end = path + strlen(path);
    for (;;) {
        while (end > path && end[-1] == '/') {
            end--;
        }
        const char *start = end;
        while (start > path && start[-1] != '/') {
            start--;
        }
        if (up-- == 0) {
            snprintf(out, cap, "%.*s", (int)(end - start), start);
            return;
        }
        end = start;
    }
}

static void print_speed(const char *what, const struct kg_kb_speed *s)
{
    printf("%-22s", what);
    for (int i = 0; i < KG_KB_NP; i++) {
        printf("  %6.3f", s->fast[i]);
    }
    printf(isnan(s->geo_mean) ? "       -\n" : "  %6.3f\n", s->geo_mean);
}

static void show(const struct kg_kb_analysis *a, const struct kg_kb_analysis_names *names,
                 const json_t *pass)
{
    const char *key;
    json_t *v;
    printf("run %s, level %d, against %s on %s\n", names->run, names->level, names->baseline,
           names->hardware);
    printf("%zu problems with a baseline: %zu have a sample 0, %zu compiled (%.1f %%), %zu correct "
           "(%.1f %%)\n",
           a->n, a->evaluated, a->compiled, 100.0 * (double)a->compiled / (double)a->n, a->correct,
           100.0 * (double)a->correct / (double)a->n);
    if (a->untimed || a->without_baseline) {
        printf("%zu correct without a time; %zu with results left out for want of a baseline\n",
               a->untimed, a->without_baseline);
    }
    printf("\n%-22s", "fast_p");
    for (int i = 0; i < KG_KB_NP; i++) {
        printf("  p > %-2.1f", kg_kb_p[i]);
    }
    puts("  geo mean");
    print_speed("unrounded", &a->exact);
    print_speed("3 digits", &a->rounded);
    json_object_foreach(json_object_get((json_t *)(uintptr_t)pass, "averages"), key, v)
    {
        printf("%-22s  %6.3f\n", key, json_number_value(v));
    }
}

static enum kg_code give(const struct kg_cli_kb *a, const struct kg_kb_analysis *analysis,
                         const json_t *pass, struct kg_err *err)
{
    char run[256], hardware[256], baseline[256];
    struct kg_kb_analysis_names names = {.run = run, .baseline = baseline, .level = a->level};
    struct kg_buf text;
    last_part(a->run, 0, run, sizeof run);
    last_part(a->baseline, 0, baseline, sizeof baseline);
    last_part(a->baseline, 1, hardware, sizeof hardware);
    baseline[strcspn(baseline, ".")] = '\0';
    names.hardware = a->hardware ? a->hardware : *hardware ? hardware : "unknown";
    json_t *j = kg_kb_analysis_json(analysis, &names, pass);
    if (!j) {
        return kg_fail(err, KG_E_INPUT, "the names of run, hardware and baseline must be UTF-8");
    }
    kg_buf_init(&text, 64u << 20);
    kg_json_dump_pretty(j, &text);
    kg_buf_addc(&text, '\n');
    json_decref(j);
    enum kg_code code = a->out ? kg_file_write_atomic(a->out, text.data, text.len, err) : KG_OK;
    if (code == KG_OK && a->json) {
        fputs(text.data, stdout);
    } else if (code == KG_OK) {
        show(analysis, &names, pass);
    }
    kg_buf_deinit(&text);
    return code;
}

/* The result replaces what is at --out: no file that it is made from. */
static enum kg_code check_out(const struct kg_cli_kb *a, struct kg_err *err)
{
    static const char *const names[] = {"eval_results.json", "pass_at_k_results.json"};
    char path[1100];
    if (!a->out) {
        return KG_OK;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", a->run, names[i]);
        if (kg_cli_spare_input("--out", a->out, path, err) != KG_OK) {
            return err->code;
        }
    }
    return kg_cli_spare_input("--out", a->out, a->baseline, err);
}

int kg_cli_kb_analyze(struct kg_cli_kb *a)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_kb_results results = {0};
    struct kg_kb_baseline baseline = {0};
    struct kg_kb_analysis analysis;
    json_t *pass = NULL;
    bool good = check_out(a, &err) == KG_OK && level_of(a, &err) == KG_OK &&
                load_results(a->run, &results, &err) == KG_OK &&
                load_baseline(a->baseline, a->level, &baseline, &err) == KG_OK &&
                load_pass(a->run, &pass, &err) == KG_OK;
    if (good && kg_kb_analyze(&results, &baseline, &a->ids, &analysis, &err) != KG_OK) {
        good = kg_err_prefix(&err, "%s", a->baseline) == KG_OK;
    }
    good = good && give(a, &analysis, pass, &err) == KG_OK;
    json_decref(pass);
    kg_kb_baseline_deinit(&baseline);
    kg_kb_results_deinit(&results);
    return good ? KG_STATUS_GOOD : kg_cli_fail("kernelbench", &err);
}
