/* kgym refine: one operator improved over many turns. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/term.h"
#include "cli/cli.h"
#include "cli/trial/refine_line.h"
#include "cli/trial/trial_args.h"

#define OTHER_COLUMNS      48
#define ENDPOINT_RESERVE   0.2
#define CHECKPOINT_RESERVE 0.05

const char *const kg_cli_refine_flags[] = {"--strategy", "--metric", "--w",        "--depth",
                                           "--turns",    "--target", "--patience", NULL};

struct args {
    struct tr_args common;
    const char *problem;
    enum tr_strategy strategy;
    enum tr_by metric;
    int64_t w, depth, turns, patience;
    double target;
};

static void usage(FILE *f)
{
    fputs("usage: kgym refine PROBLEM --policy P --out RUN [OPTIONS]\n\n"
          "One operator improved over many turns: a model writes a kernel, the gym judges\n"
          "it, the model is told and tries again. Keeps the best kernel over all rounds; a\n"
          "new best is judged again by a new process with new secrets before it is one.\n"
          "PROBLEM: a name, a file .c, a PyTorch module .py, or a row FILE.jsonl#N.\n\n"
          "  --strategy S       which earlier turns the next one is shown: top-w (default),\n"
          "                     vanilla, window, last-w, parallel,\n"
          "                     parallel-then-sequential, restart, no-feedback\n"
          "  --w N              turns that top-w, window and last-w show (4)\n"
          "  --metric M         what makes a turn better: reward (default), speedup,\n"
          "                     coverage, lexicographic (coverage, then reward)\n"
          "  --depth N          turns of a conversation of parallel-then-sequential (3)\n"
          "  --turns N          rounds at most (14)\n"
          "  --target S         ends when the best is surely so much faster: the lower end\n"
          "                     of its interval is S\n"
          "  --patience K       ends when K rounds brought no new best\n\n",
          f);
    fputs(tr_args_help, f);
    fputs("\nRUN gets the best kernel (best.c or best.py), what changed from best to best\n"
          "(bests.diff), rounds.jsonl, trajectories.jsonl, all replies and records.\n"
          "Ctrl-C keeps all; the same command goes on, and --turns may grow.\n\n"
          "examples:\n"
          "  kgym refine softmax --policy endpoint:http://localhost:8080/v1 --out run1\n"
          "  kgym refine mine.py --policy endpoint:https://api.example.com/v1 --model M \\\n"
          "      --key-file key.txt --target 2 --patience 6 --out run2\n"
          "  kgym report run1\n\n"
          "exit status: 0 there is a verified kernel, 1 there is none, 2 error\n",
          f);
}

static enum kg_code real(const char *name, const char *text, double *out, struct kg_err *err)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= 0 && *out <= 1e6
               ? KG_OK
               : kg_fail(err, KG_E_USAGE, "%s: `%.60s` is not a number from 0 to 1e6", name, text);
}

/* Options with a value that is no whole number. */
static enum kg_code named(struct args *a, int argc, char **argv, int at, int *used,
                          struct kg_err *err)
{
    const char *value = NULL;
    if (kg_cli_value("--strategy", argc, argv, at, used, &value, err) != KG_OK) {
        return err->code;
    }
    if (*used) {
        return tr_strategy_parse(value, &a->strategy, err);
    }
    if (kg_cli_value("--metric", argc, argv, at, used, &value, err) != KG_OK) {
        return err->code;
    }
    if (*used) {
        return tr_by_parse(value, &a->metric, err);
    }
    if (kg_cli_value("--target", argc, argv, at, used, &value, err) != KG_OK) {
        return err->code;
    }
    return *used ? real("--target", value, &a->target, err) : KG_OK;
}

static enum kg_code word(struct args *a, int argc, char **argv, int at, int *used,
                         struct kg_err *err)
{
    const struct {
        const char *name;
        int64_t least, *field;
    } whole[] = {{"--w", 1, &a->w},
                 {"--depth", 1, &a->depth},
                 {"--turns", 1, &a->turns},
                 {"--patience", 0, &a->patience}};
    if (named(a, argc, argv, at, used, err) != KG_OK || *used) {
        return err->code;
    }
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (tr_args_whole(whole[i].name, whole[i].least, TR_ROUNDS_MAX, argc, argv, at, used,
                          whole[i].field, err) != KG_OK ||
            *used) {
            return err->code;
        }
    }
    if (tr_args_word(&a->common, argc, argv, at, used, err) != KG_OK || *used) {
        return err->code;
    }
    if (argv[at][0] == '-' && argv[at][1] != '\0') {
        return tr_args_unknown("refine", argv[at], kg_cli_refine_flags, err);
    }
    if (a->problem != NULL) {
        return kg_fail(err, KG_E_USAGE, "one problem, not `%.60s` as well; `kgym bench` takes many",
                       argv[at]);
    }
    a->problem = argv[at];
    *used = 1;
    return KG_OK;
}

static enum kg_code parse(struct args *a, int argc, char **argv, struct kg_err *err)
{
    *a = (struct args){
        .strategy = TR_TOP_W, .metric = TR_BY_REWARD, .w = 4, .depth = 3, .turns = 14};
    tr_args_defaults(&a->common);
    for (int i = 1, used = 0; i < argc; i += used) {
        if (word(a, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        }
    }
    if (a->common.help) {
        return KG_OK;
    }
    if (a->problem == NULL) {
        return kg_fail(err, KG_E_USAGE, "name a problem, such as softmax or mine.py");
    }
    return tr_args_check(&a->common, "refine", err);
}

/* --- the run --- */

struct open {
    struct tr_suite suite;
    struct tr_policy policy;
    struct kgym_pool *pool;
    struct tr_folder *folder;
    struct tr_drive *drive;
    bool has_suite, has_policy;
};

static void shut(struct open *o)
{
    tr_drive_destroy(o->drive);
    tr_folder_close(o->folder);
    kgym_close(o->pool);
    if (o->has_policy) {
        o->policy.close(o->policy.self);
    }
    if (o->has_suite) {
        tr_suite_close(&o->suite);
    }
}

/* Decisions follow from what is here; a run that goes on must ask for the same. */
static json_t *run_of(const struct args *a, const struct open *o, const char *id)
{
    json_t *run = tr_args_run(&a->common, &o->policy, "refine", id);
    json_object_set_new(run, "suite", tr_args_suite(&o->suite, NULL));
    json_object_set_new(run, "turns", json_integer(a->turns));
    json_object_set_new(run, "options",
                        json_pack("{s:s, s:s, s:I, s:I, s:I}", "strategy",
                                  tr_strategy_name(a->strategy), "metric", tr_by_name(a->metric),
                                  "w", (json_int_t)a->w, "depth", (json_int_t)a->depth, "context",
                                  (json_int_t)a->common.policy.sampling.context));
    return run;
}

static enum kg_code open_problem(const struct args *a, struct open *o, struct kg_err *err)
{
    if (tr_suite_open(a->problem, &o->suite, err) != KG_OK) {
        return err->code;
    }
    o->has_suite = true;
    return o->suite.n == 1 ? KG_OK
                           : kg_fail(err, KG_E_USAGE,
                                     "%.200s: names %zu problems, and `kgym refine` takes one; "
                                     "`kgym bench` takes a suite",
                                     a->problem, o->suite.n);
}

static enum kg_code open_all(const struct args *a, struct open *o, struct kg_err *err)
{
    static const char *const grow[] = {"turns", NULL};
    /* The layout of conversations side by side follows from the number of turns. */
    const char *const *may_grow = a->strategy == TR_PARALLEL_SEQUENTIAL ? NULL : grow;
    char id[KG_ULID_LEN];
    if (open_problem(a, o, err) != KG_OK || tr_folder_id(a->common.out, id, err) != KG_OK ||
        tr_args_pool(&a->common, id, &o->pool, err) != KG_OK ||
        tr_suite_weed(&o->suite, o->pool, a->common.language, err) != KG_OK ||
        tr_policy_open(&a->common.policy, &o->policy, err) != KG_OK) {
        return err->code;
    }
    o->has_policy = true;
    json_t *run = run_of(a, o, id);
    enum kg_code code = tr_folder_open(a->common.out, run, may_grow, &o->folder, err);
    json_decref(run);
    if (code != KG_OK) {
        return code;
    }
    struct tr_drive_options d = tr_args_drive(&a->common);
    d.policy = &o->policy;
    d.pool = o->pool;
    d.folder = o->folder;
    d.cancel = &kg_cli_cancelled;
    return tr_drive_create(&d, &o->drive, err);
}

struct screen {
    const struct tr_drive *drive;
    int rounds, columns, done;
    int64_t since_ns;         /* the last line */
    bool colour, quiet, live; /* live: a line that is replaced tells of the wait */
};

#define CLEAR_LINE "\r\033[K"

static void wait_line(void *user)
{
    const struct screen *s = user;
    struct tr_counts c = tr_drive_counts(s->drive);
    if (s->live && !s->quiet) {
        printf(CLEAR_LINE "%3d/%d  %s, %lld s", s->done + 1, s->rounds,
               c.replied < c.asked ? "the model writes" : "the gym judges",
               (long long)((kg_clock_ns() - s->since_ns) / 1000000000));
        fflush(stdout);
    }
}

static void seen(void *user, const struct tr_round *r)
{
    struct screen *s = user;
    struct kg_buf line;
    s->done = r->round;
    s->since_ns = kg_clock_ns();
    if (s->quiet) {
        return;
    }
    kg_buf_init(&line, 1 << 16);
    kg_buf_adds(&line, s->live ? CLEAR_LINE : "");
    kg_refine_line(r, s->rounds, s->columns, s->colour, &line);
    fwrite(line.data, 1, line.len, stdout);
    fflush(stdout);
    kg_buf_deinit(&line);
}

static double reserve_of(const struct args *a)
{
    struct kg_err unused = KG_ERR_INIT;
    struct tr_policy_name name = {.kind = TR_ENDPOINT, .rest = ""};
    enum kg_code code = tr_policy_parse(a->common.policy.policy, &name, &unused);
    return code != KG_OK || name.kind == TR_ENDPOINT ? ENDPOINT_RESERVE
           : name.kind == TR_CHECKPOINT              ? CHECKPOINT_RESERVE
                                                     : 0;
}

static enum kg_code refine(const struct args *a, struct open *o, const struct screen *s,
                           struct tr_refine_outcome *out, struct kg_err *err)
{
    const struct tr_args *c = &a->common;
    struct kgym_options again = tr_args_gym(c);
    again.workers = 1;
    struct screen screen = *s;
    screen.drive = o->drive;
    screen.since_ns = kg_clock_ns();
    const struct tr_refine_options r = {.plan = {.strategy = a->strategy,
                                                 .metric = a->metric,
                                                 .w = (int)a->w,
                                                 .depth = (int)a->depth,
                                                 .rounds = (int)a->turns,
                                                 .reply = c->policy.sampling.max_tokens,
                                                 .context = c->policy.sampling.context,
                                                 .reserve = reserve_of(a)},
                                        .target = a->target,
                                        .patience = (int)a->patience,
                                        .problem = &o->suite.problem[0],
                                        .policy = &o->policy,
                                        .drive = o->drive,
                                        .folder = o->folder,
                                        .again = &again,
                                        .seen = seen,
                                        .waits = wait_line,
                                        .user = &screen};
    enum kg_code code = tr_refine_run(&r, out, err);
    fputs(screen.live && !screen.quiet ? CLEAR_LINE : "", stdout);
    fflush(stdout);
    return code;
}

static enum kg_code print_summary(const char *folder, struct kg_err *err)
{
    char path[4096];
    struct kg_buf text;
    snprintf(path, sizeof path, "%s/summary.json", folder);
    kg_buf_init(&text, 1 << 20);
    if (kg_file_read(path, &text, err) == KG_OK) {
        fwrite(text.data, 1, text.len, stdout);
    }
    kg_buf_deinit(&text);
    return err->code;
}

/* Of a line of OTHER_COLUMNS beside it. */
static int middle_columns(void)
{
    int left = kg_term_tty(stdout) ? kg_term_width(stdout) - OTHER_COLUMNS : 60;
    return left < 20 ? 20 : left > 90 ? 90 : left;
}

static int run(const struct args *a)
{
    struct open o = {.pool = NULL};
    struct kg_err err = KG_ERR_INIT;
    struct tr_refine_outcome out = {.best = 0};
    const struct screen s = {.rounds = (int)a->turns,
                             .columns = middle_columns(),
                             .colour = kg_term_colour(stdout),
                             .quiet = a->common.json,
                             .live = kg_term_tty(stdout)};
    bool failed = open_all(a, &o, &err) != KG_OK || refine(a, &o, &s, &out, &err) != KG_OK;
    if (!failed && a->common.json) {
        failed = print_summary(a->common.out, &err) != KG_OK;
    } else if (!failed || out.rounds > 0) {
        struct tr_counts c = tr_drive_counts(o.drive);
        struct kg_buf text;
        kg_buf_init(&text, 1 << 16);
        kg_refine_end(&out, &c, a->common.out, s.colour, &text);
        fwrite(text.data, 1, text.len, a->common.json ? stderr : stdout);
        fflush(stdout); /* an error stands behind it */
        kg_buf_deinit(&text);
    }
    bool mute = o.drive != NULL && tr_drive_counts(o.drive).totals.replies == 0;
    shut(&o);
    if (err.code == KG_E_CANCELLED) {
        kg_fail(&err, KG_E_CANCELLED, "stopped; %s keeps all, and the same command goes on",
                a->common.out);
    }
    bool broken = out.ending == TR_END_DEFECT || out.ending == TR_END_NO_REPLY ||
                  out.ending == TR_END_UNJUDGED || (out.ending == TR_END_FULL && mute);
    if (!failed && broken) {
        kg_fail(&err, KG_E_HOST, "%s", out.why);
        failed = true;
    }
    return failed ? kg_cli_fail("refine", &err) : out.best > 0 ? KG_STATUS_GOOD : KG_STATUS_BAD;
}

int kg_cmd_refine(int argc, char **argv)
{
    struct args a;
    struct kg_err err = KG_ERR_INIT;
    if (parse(&a, argc, argv, &err) != KG_OK) {
        return kg_cli_fail("refine", &err);
    }
    if (a.common.help) {
        usage(stdout);
        return KG_STATUS_GOOD;
    }
    kg_cli_signals();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error with a name */
    return run(&a);
}
