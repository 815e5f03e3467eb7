#include "cli/eval_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "gym/pipeline/batch.h"
#include "gym/torch/torch.h"

struct tally {
    struct kg_progress bar;
    int64_t ok;
};

static void on_progress(void *ctx, int64_t done, int64_t total, const char *record)
{
    struct tally *t = ctx;
    char note[64];
    t->bar.total = total;
    t->ok += strstr(record, "\"verdict\":\"ok\"") != NULL ||
             strstr(record, "\"verdict\": \"ok\"") != NULL;
    snprintf(note, sizeof note, "%lld ok", (long long)t->ok);
    kg_progress_step(&t->bar, done, note);
}

/* Where a GPU is used, each job has a judge that must not share its runners' CPU. */
static enum kg_code job_count(const char *command, const char *text, const struct kg_config *config,
                              int *out, struct kg_err *err)
{
    int cpus[64];
    int n = kg_batch_cpus(cpus, 64);
    bool timing = config->stage_timing, gpu = strcmp(kg_torch_device(config), "cpu") != 0;
    *out = timing && gpu && n > 1 ? n / 2 : n;
    if (!text) {
        return KG_OK;
    }
    char *end;
    long v = strtol(text, &end, 10);
    if (*end || end == text || v < 1 || v > 64) {
        return kg_fail(err, KG_E_USAGE, "--jobs %s: a number from 1 to 64 is needed", text);
    }
    if (timing && v > n) {
        fprintf(stderr, "kgym %s: --jobs %ld: timing needs a CPU for each job; running %d\n",
                command, v, n);
        v = n;
    }
    *out = (int)v;
    return KG_OK;
}

enum kg_code kg_cli_batch_run(const char *command, const struct kg_config *config, const char *in,
                              const char *out, const char *jobs, bool public_only,
                              enum kg_stage stop_after, struct kg_batch_result *res, int64_t *ok,
                              struct kg_err *err)
{
    struct tally t = {.ok = 0};
    struct kg_batch_spec spec = {.in = in,
                                 .out = out,
                                 .public_only = public_only,
                                 .stop_after = stop_after,
                                 .progress = on_progress,
                                 .ctx = &t};
    if (job_count(command, jobs, config, &spec.jobs, err) != KG_OK) {
        return err->code;
    }
    kg_progress_init(&t.bar, stderr, "judging", 0);
    enum kg_code code = kg_batch_run(config, &spec, res, err);
    if (t.bar.done > 0) {
        kg_progress_end(&t.bar);
    }
    *ok = t.ok;
    return code;
}

int kg_cli_batch(const struct kg_config *config, const char *in, const char *out, const char *jobs,
                 bool public_only, enum kg_stage stop_after)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_batch_result res = {0};
    int64_t ok = 0;
    if (kg_cli_batch_run("eval", config, in, out, jobs, public_only, stop_after, &res, &ok, &err) !=
        KG_OK) {
        return kg_cli_fail("eval", &err);
    }
    fprintf(stderr,
            "%lld line%s: %lld with a verdict (%lld ok), %lld with an error; %lld kept from an "
            "earlier run; records in %s\n",
            (long long)res.lines, res.lines == 1 ? "" : "s", (long long)res.verdicts, (long long)ok,
            (long long)res.errors, (long long)res.resumed, out);
    return res.errors ? KG_EXIT_ERROR : KG_EXIT_GOOD;
}
