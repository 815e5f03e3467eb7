/* The words key=value of KernelBench's scripts: those that mean something here are taken, the
 * others are refused by name, because a run that silently ignores one is not the run asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "cli/gym/kernelbench.h"

enum { EVAL = 1, ANALYZE = 2 };

struct word {
    const char *key;
    int verbs; /* 0: refused */
    enum kg_code (*take)(struct kg_cli_kb *a, const char *value, struct kg_err *err);
    size_t field;       /* of a const char *, where there is no function */
    const char *advice; /* of a refused one */
};

#define FIELD(f) offsetof(struct kg_cli_kb, f)

static enum kg_code only(const char *key, const char *value, const char *want, const char *advice,
                         struct kg_err *err)
{
    return strcmp(value, want) == 0 ? KG_OK
                                    : kg_fail(err, KG_E_USAGE, "%s=%.60s: %s", key, value, advice);
}

static enum kg_code take_dataset(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    a->dataset = value;
    return only("dataset_src", value, "local",
                "problems are read from a folder (--problems DIR, or dataset_src=local for "
                "./KernelBench)",
                err);
}

static enum kg_code take_mode(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    (void)a;
    return only("eval_mode", value, "local", "there is `local`", err);
}

static enum kg_code take_backend(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    (void)a;
    return only("backend", strcmp(value, "triton") == 0 ? "cuda" : value, "cuda",
                "there are `cuda` and `triton`; a candidate may use either", err);
}

static enum kg_code take_subset(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    struct kg_kb_numbers more;
    return kg_kb_numbers_range("subset", value, &more, err) == KG_OK
               ? kg_kb_numbers_unite(&a->ids, &more, err)
               : err->code;
}

static enum kg_code take_ids(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    struct kg_kb_numbers more;
    return kg_kb_numbers_parse("problem_ids", value, &more, err) == KG_OK
               ? kg_kb_numbers_unite(&a->ids, &more, err)
               : err->code;
}

static enum kg_code take_k(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    return kg_kb_numbers_parse("pass_at_k_values", value, &a->k, err);
}

static enum kg_code take_count(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    int n;
    const char *end = kg_kb_number(value, &n);
    if (!end || *end || n < 1) {
        return kg_fail(err, KG_E_USAGE, "num_samples_per_problem=%.60s: a number from 1 is needed",
                       value);
    }
    a->samples.range[0].lo = 0;
    a->samples.range[0].hi = n - 1;
    a->samples.n = 1;
    return KG_OK;
}

/* A configuration key, set as by --set. */
static enum kg_code set(struct kg_cli_kb *a, const char *key, const char *value, struct kg_err *err)
{
    struct kg_cli_config *cc = &a->config;
    int most = (int)(sizeof a->sets / sizeof *a->sets);
    if (a->nsets == most || cc->nset == (int)(sizeof cc->set / sizeof *cc->set) ||
        (size_t)snprintf(a->sets[a->nsets], sizeof *a->sets, "%s=%s", key, value) >=
            sizeof *a->sets) {
        return kg_fail(err, KG_E_USAGE, "%s=%.60s: too long, or too many of them", key, value);
    }
    cc->set[cc->nset++] = a->sets[a->nsets++];
    return KG_OK;
}

static enum kg_code take_timeout(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    return set(a, "torch.deadline_eval", value, err);
}

static enum kg_code take_precision(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    return set(a, "precision", value, err);
}

static enum kg_code take_measure(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    if (strcmp(value, "True") != 0 && strcmp(value, "False") != 0) {
        return kg_fail(err, KG_E_USAGE, "measure_performance=%.60s: True or False is needed",
                       value);
    }
    return set(a, "stage.timing", strcmp(value, "True") == 0 ? "yes" : "no", err);
}

/* Words of that project's own procedure: they mean nothing under another. */
static enum kg_code take_procedure(struct kg_cli_kb *a, const char *word, const char *key,
                                   const char *value, struct kg_err *err)
{
    a->procedure = word;
    return key ? set(a, key, value, err) : KG_OK;
}

static enum kg_code take_trials(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    return take_procedure(a, "num_correct_trials", "kernelbench.trials", value, err);
}

static enum kg_code take_times(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    return take_procedure(a, "num_perf_trials", "timing.trials", value, err);
}

static enum kg_code take_method(struct kg_cli_kb *a, const char *value, struct kg_err *err)
{
    return only("timing_method", value, "cuda_event", "there is `cuda_event`", err) == KG_OK
               ? take_procedure(a, "timing_method", NULL, NULL, err)
               : err->code;
}

enum kg_code kg_cli_kb_check(const struct kg_cli_kb *a, const struct kg_config *config,
                             struct kg_err *err)
{
    return !a->procedure || config->protocol == KG_PROTOCOL_KERNELBENCH
               ? KG_OK
               : kg_fail(err, KG_E_USAGE,
                         "%s=: it belongs to the evaluation preset `kernelbench` (--preset "
                         "kernelbench); kgym's own protocol decides",
                         a->procedure);
}

static const char builds[] = "kgym builds candidates itself, under limits (`kgym options`)";
static const char remote[] = "kgym judges on this machine; --device says where";

static const struct word words[] = {
    {"run_name", EVAL | ANALYZE, NULL, FIELD(run_name), NULL},
    {"runs_dir", EVAL | ANALYZE, NULL, FIELD(runs_dir), NULL},
    {"level", EVAL | ANALYZE, NULL, FIELD(level_text), NULL},
    {"subset", EVAL | ANALYZE, take_subset, 0, NULL},
    {"problem_ids", EVAL | ANALYZE, take_ids, 0, NULL},
    {"dataset_src", EVAL, take_dataset, 0, NULL},
    {"eval_mode", EVAL, take_mode, 0, NULL},
    {"num_gpu_devices", EVAL, NULL, FIELD(jobs), NULL},
    {"timeout", EVAL, take_timeout, 0, NULL},
    {"measure_performance", EVAL, take_measure, 0, NULL},
    {"num_samples_per_problem", EVAL, take_count, 0, NULL},
    {"pass_at_k_values", EVAL, take_k, 0, NULL},
    {"backend", EVAL, take_backend, 0, NULL},
    {"precision", EVAL, take_precision, 0, NULL},
    {"hardware", ANALYZE, NULL, FIELD(hardware), NULL},
    {"baseline", ANALYZE, NULL, FIELD(baseline_name), NULL},
    {"baseline_file", ANALYZE, NULL, FIELD(baseline), NULL},
    {"eval_results_dir", ANALYZE, NULL, FIELD(runs_dir), NULL},
    {"output_file", ANALYZE, NULL, FIELD(out), NULL},
    {"num_correct_trials", EVAL, take_trials, 0, NULL},
    {"num_perf_trials", EVAL, take_times, 0, NULL},
    {"timing_method", EVAL, take_method, 0, NULL},
    {"check_kernel", 0, NULL, 0, "the static check is the stage `static` (--stage-static)"},
    {"dataset_name", 0, NULL, 0, "problems are read from a folder (--problems DIR)"},
    {"gpu", 0, NULL, 0, remote},
    {"gpu_arch", 0, NULL, 0, "the architecture is that of the device"},
    {"build_cache", 0, NULL, 0, builds},
    {"num_cpu_workers", 0, NULL, 0, builds},
    {"kernel_eval_build_dir", 0, NULL, 0, builds},
    {"verbose", 0, NULL, 0, "kgym_records.jsonl says everything"},
};
#define NWORDS (sizeof words / sizeof *words)

void kg_cli_kb_words(struct kg_buf *out, const char *separator, bool analyze)
{
    for (size_t i = 0; i < NWORDS; i++) {
        if (words[i].verbs & (analyze ? ANALYZE : EVAL)) {
            kg_buf_addf(out, "%s%s=", separator, words[i].key);
        }
    }
}

static enum kg_code unknown(const char *key, struct kg_err *err)
{
    const char *names[NWORDS];
    size_t n = 0;
    for (size_t i = 0; i < NWORDS; i++) {
        names[n] = words[i].key;
        n += words[i].verbs != 0;
    }
    const char *near = kg_nearest(key, names, n);
    return kg_fail(err, KG_E_USAGE, "unknown word `%s=`%s%s%s", key,
                   near ? "; did you mean `" : "; see `kgym kernelbench --help`", near ? near : "",
                   near ? "=`?" : "");
}

enum kg_code kg_cli_kb_word(struct kg_cli_kb *a, const char *text, struct kg_err *err)
{
    char key[64];
    const char *eq = strchr(text, '=');
    snprintf(key, sizeof key, "%.*s", (int)(eq - text), text);
    for (size_t i = 0; i < NWORDS; i++) {
        const struct word *w = &words[i];
        if (strcmp(key, w->key) != 0) {
            continue;
        }
        if (w->verbs == 0) {
            return kg_fail(err, KG_E_USAGE, "%s=: not taken here: %s", key, w->advice);
        }
        if (!(w->verbs & (a->analyze ? ANALYZE : EVAL))) {
            return kg_fail(err, KG_E_USAGE, "%s=: a word of `kgym kernelbench %s`", key,
                           a->analyze ? "eval" : "analyze");
        }
        if (w->take) {
            return w->take(a, eq + 1, err);
        }
        memcpy((char *)a + w->field, &(const char *){eq + 1}, sizeof(const char *));
        return KG_OK;
    }
    return unknown(key, err);
}

static enum kg_code settle_run(struct kg_cli_kb *a, struct kg_err *err)
{
    if (!a->run && a->run_name) {
        const char *folder = a->runs_dir ? a->runs_dir : "runs";
        if ((size_t)snprintf(a->run_path, sizeof a->run_path, "%s/%s", folder, a->run_name) >=
            sizeof a->run_path) {
            return kg_fail(err, KG_E_USAGE, "run_name: the path is too long");
        }
        a->run = a->run_path;
    }
    return a->run ? KG_OK : kg_fail(err, KG_E_USAGE, "--run DIR (or run_name=) is needed");
}

static enum kg_code settle_level(struct kg_cli_kb *a, struct kg_err *err)
{
    const char *end = a->level_text ? kg_kb_number(a->level_text, &a->level) : "";
    if (!end || *end || (a->level_text && (a->level < 1 || a->level > 99))) {
        return kg_fail(err, KG_E_USAGE, "level `%.60s`: a number from 1 to 99 is needed",
                       a->level_text);
    }
    return KG_OK;
}

static enum kg_code settle_baseline(struct kg_cli_kb *a, struct kg_err *err)
{
    if (!a->baseline && a->hardware && a->baseline_name) {
        if ((size_t)snprintf(a->baseline_path, sizeof a->baseline_path, "results/timing/%s/%s.json",
                             a->hardware, a->baseline_name) >= sizeof a->baseline_path) {
            return kg_fail(err, KG_E_USAGE, "baseline: the path is too long");
        }
        a->baseline = a->baseline_path;
    }
    return a->baseline
               ? KG_OK
               : kg_fail(err, KG_E_USAGE, "--baseline FILE (or hardware= and baseline=) is needed");
}

static enum kg_code settle_k(struct kg_cli_kb *a, struct kg_err *err)
{
    if (a->k.n == 0) {
        a->k.range[0].lo = a->k.range[0].hi = 1;
        a->k.n = 1;
    }
    for (int i = 0; i < a->k.n; i++) {
        if (a->k.range[i].lo < 1 || a->k.range[i].hi > 1000) {
            return kg_fail(err, KG_E_USAGE, "pass@k: k is a number from 1 to 1000");
        }
    }
    return KG_OK;
}

enum kg_code kg_cli_kb_settle(struct kg_cli_kb *a, struct kg_err *err)
{
    if ((!a->write && settle_run(a, err) != KG_OK) || settle_level(a, err) != KG_OK) {
        return err->code;
    }
    if (a->analyze) {
        return settle_baseline(a, err);
    }
    if (a->write) {
        return a->records && a->out
                   ? settle_k(a, err)
                   : kg_fail(err, KG_E_USAGE, "--records FILE and --out DIR are needed");
    }
    if (!a->problems && a->dataset) {
        a->problems = "KernelBench"; /* where that project's scripts find it */
    }
    if (!a->problems) {
        return kg_fail(err, KG_E_USAGE, "--problems DIR (or dataset_src=local) is needed");
    }
    return settle_k(a, err);
}
