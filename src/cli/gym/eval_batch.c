/* A batch on the command line: the number of jobs, the progress bar, and the lines that failed. */
#include "cli/gym/eval_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/term.h"

#define SHOWN_FAULTS 5
#define MOST_JOBS    4096

struct tally {
    const char *command, *in;
    bool places; /* whether to name lines of in: not where a command has made it */
    struct kg_progress bar;
    bool timing;
    int64_t ok, faults;
    struct kg_buf shown; /* the first faults: "  FILE:LINE: ID: message" */
};

/* A line with an error instead of a verdict. */
static void note_fault(struct tally *t, const struct kg_batch_line *line)
{
    if (t->faults++ >= SHOWN_FAULTS) {
        return;
    }
    char place[1100];
    snprintf(place, sizeof place, "%s:%d: ", t->in, line->line);
    kg_buf_adds(&t->shown, "  ");
    kg_term_add_line(&t->shown, t->places ? place : "");
    kg_term_add_line(&t->shown, line->id);
    kg_buf_adds(&t->shown, ": ");
    kg_term_add_line(&t->shown, line->message ? line->message : "?");
    kg_buf_addc(&t->shown, '\n');
}

static void show_faults(struct tally *t)
{
    fputs(t->shown.data, stderr);
    if (t->faults > SHOWN_FAULTS) {
        fprintf(stderr, "  and %lld more\n", (long long)t->faults - SHOWN_FAULTS);
    }
    kg_buf_deinit(&t->shown);
}

static void on_progress(void *ctx, int64_t done, int64_t total, const struct kg_batch_line *line)
{
    struct tally *t = ctx;
    char note[64];
    t->bar.total = total;
    t->ok += line->ok;
    if (line->error != KG_OK) {
        note_fault(t, line);
    }
    snprintf(note, sizeof note, "%lld ok", (long long)t->ok);
    kg_progress_step(&t->bar, done, note);
}

/* Two workers on one core would time each other. */
static int on_opened(void *ctx, int workers, int cores)
{
    const struct tally *t = ctx;
    if (!t->timing || workers <= cores) {
        return workers;
    }
    fprintf(stderr, "kgym %s: --jobs %d: timing needs a CPU for each job; running %d\n", t->command,
            workers, cores);
    return cores;
}

/* 0: the pool's default. */
static enum kg_code job_count(const char *text, int *out, struct kg_err *err)
{
    char *end = NULL;
    long v = text ? strtol(text, &end, 10) : 0;
    if (text && (*end || end == text || v < 1 || v > MOST_JOBS)) {
        return kg_fail(err, KG_E_USAGE, "--jobs %s: a number from 1 to %d is needed", text,
                       MOST_JOBS);
    }
    *out = (int)v;
    return KG_OK;
}

enum kg_code kg_cli_batch_run(const struct kg_config *config, const struct kg_cli_batch_args *a,
                              struct kg_batch_result *res, int64_t *ok, struct kg_err *err)
{
    struct tally t = {.command = a->command,
                      .in = a->in,
                      .places = a->places,
                      .timing = config->stage_timing && a->gym == NULL};
    struct kg_batch_spec spec = {.in = a->in,
                                 .out = a->out,
                                 .public_only = a->public_only,
                                 .stop_after = a->stop_after,
                                 .trace = a->trace,
                                 .gym = a->gym,
                                 .token_file = a->token_file,
                                 .cancelled = &kg_cli_cancelled,
                                 .opened = on_opened,
                                 .progress = on_progress,
                                 .ctx = &t};
    if (job_count(a->jobs, &spec.jobs, err) != KG_OK) {
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

int kg_cli_batch(const struct kg_config *config, const struct kg_cli_batch_args *a)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_batch_result res = {0};
    int64_t ok = 0;
    if (kg_cli_batch_run(config, a, &res, &ok, &err) != KG_OK) {
        return kg_cli_fail(a->command, &err);
    }
    fprintf(stderr,
            "%lld line%s: %lld with a verdict (%lld ok), %lld with an error; %lld kept from an "
            "earlier run; records in %s\n",
            (long long)res.lines, res.lines == 1 ? "" : "s", (long long)res.verdicts, (long long)ok,
            (long long)res.errors, (long long)res.resumed, a->out);
    return res.errors ? KG_STATUS_ERROR : KG_STATUS_GOOD;
}
