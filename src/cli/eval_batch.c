#include "cli/eval_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "gym/batch/batch.h"
#include "gym/torch/runner/torch_device.h"

#define SHOWN_FAULTS 5

struct tally {
    struct kg_progress bar;
    int64_t ok, faults;
    struct kg_buf shown; /* the first faults: "  ID: message" */
};

/* A record with an error instead of a verdict. */
static void note_fault(struct tally *t, const char *record)
{
    struct kg_err ignored = KG_ERR_INIT;
    json_t *j = NULL;
    if (t->faults++ >= SHOWN_FAULTS ||
        kg_json_parse(record, strlen(record), "record", &j, &ignored) != KG_OK) {
        return;
    }
    const char *id = json_string_value(json_object_get(j, "batch_id"));
    const char *message =
        json_string_value(json_object_get(json_object_get(j, "error"), "message"));
    kg_buf_adds(&t->shown, "  ");
    kg_term_add_line(&t->shown, id ? id : "?");
    kg_buf_adds(&t->shown, ": ");
    kg_term_add_line(&t->shown, message ? message : "?");
    kg_buf_addc(&t->shown, '\n');
    json_decref(j);
}

static void show_faults(struct tally *t)
{
    fputs(t->shown.data, stderr);
    if (t->faults > SHOWN_FAULTS) {
        fprintf(stderr, "  and %lld more\n", (long long)t->faults - SHOWN_FAULTS);
    }
    kg_buf_deinit(&t->shown);
}

static void on_progress(void *ctx, int64_t done, int64_t total, const char *record)
{
    struct tally *t = ctx;
    char note[64];
    t->bar.total = total;
    t->ok += strstr(record, "\"verdict\":\"ok\"") != NULL ||
             strstr(record, "\"verdict\": \"ok\"") != NULL;
    if (!strstr(record, "\"error\":null") && !strstr(record, "\"error\": null")) {
        note_fault(t, record);
    }
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
                                 .cancelled = &kg_cli_cancelled,
                                 .progress = on_progress,
                                 .ctx = &t};
    if (job_count(command, jobs, config, &spec.jobs, err) != KG_OK) {
        return err->code;
    }
    kg_buf_init(&t.shown, 16 << 10);
    kg_progress_init(&t.bar, stderr, "judging", 0);
    enum kg_code code = kg_batch_run(config, &spec, res, err);
    if (t.bar.done > 0) {
        kg_progress_end(&t.bar);
    }
    show_faults(&t);
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
    return res.errors ? KG_STATUS_ERROR : KG_STATUS_GOOD;
}
