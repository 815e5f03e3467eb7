/* kgym report: tables on the terminal and a self-contained HTML page, from a file of records or the
 * folder of a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/term.h"
#include "cli/cli.h"
#include "cli/learn/report_run.h"
#include "cli/trial/report_trial.h"
#include "gym/record/record.h"
#include "gym/report/report.h"

static const char help_text[] =
    "usage: kgym report RECORDS.jsonl [--out PAGE.html] [--title TEXT]\n"
    "       kgym report RUN [--out PAGE.html] [--title TEXT] [--recheck N] [--json]\n"
    "\n"
    "Of a file of records (one kgym.record/1 per line, as `kgym eval --batch` writes\n"
    "it): prints the funnel and the verdicts; with --out also writes one HTML page\n"
    "that needs nothing else: funnel, speed-ups with intervals, timing distributions,\n"
    "evidence.\n"
    "\n"
    "Of the folder of a run (as `kgym train --out` makes it): prints the scores\n"
    "before and after RL with paired intervals, and writes one HTML page with them,\n"
    "curves, styles, counters of the components, trajectories and the best kernels.\n"
    "Of the folder of a trial (`kgym bench --out`, `kgym refine --out`): prints its\n"
    "scores or its rounds, and writes one HTML page: curves, fast_p over p, problems\n"
    "with a search, funnel, hacks, trajectories with what each turn changed; of a\n"
    "refinement the speed-up by round and the best kernel with its profile.\n"
    "A run that goes on, or whose files are cut off, has a report of what is there.\n"
    "\n"
    "  RECORDS.jsonl   - is standard input\n"
    "  --out PAGE      the page; a file that holds records is never replaced\n"
    "                  (default of a run: RUN/report.html)\n"
    "  --title TEXT    its heading (default: the name of the file or the folder)\n"
    "  --recheck N     of a training run: judge N random correct kernels of the last\n"
    "                  evaluation, and the best ones, again by preset `default`;\n"
    "                  kept in RUN/recheck.json\n"
    "  --json          of a run: print one JSON object in place of the tables\n"
    "\n"
    "examples:\n"
    "  kgym report records.jsonl --out report.html --title \"nightly\"\n"
    "  kgym report runs/demo --recheck 20\n"
    "\n"
    "exit status: 0 done; 1 a component of the run was on and looked at nothing;\n"
    "2 error\n";

/* One line must be a record: said here, where file and line are known. */
static enum kg_code add_record(json_t *list, const char *line, size_t len, const char *source,
                               struct kg_err *err)
{
    json_t *j;
    struct kg_record r;
    if (kg_json_parse_line(line, len, source, &j, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = kg_record_parse(j, &r, err);
    if (code == KG_OK) {
        kg_record_deinit(&r);
        json_array_append(list, j);
    } else {
        kg_err_prefix(err, "%s", source);
    }
    json_decref(j);
    return code;
}

static enum kg_code load(const char *path, json_t **out, struct kg_err *err)
{
    struct kg_buf b;
    char source[600];
    kg_buf_init(&b, 1u << 30);
    *out = json_array();
    enum kg_code code = kg_file_read(path, &b, err);
    int line = 1;
    for (size_t at = 0; code == KG_OK && at < b.len; line++) {
        const char *nl = memchr(b.data + at, '\n', b.len - at);
        size_t len = nl ? (size_t)(nl - b.data) - at : b.len - at;
        snprintf(source, sizeof source, "%s:%d", path, line);
        if (len > 0) {
            code = add_record(*out, b.data + at, len, source, err);
        }
        bool torn = code != KG_OK && !nl && json_array_size(*out) > 0;
        if (torn) { /* its writer was killed, or goes on */
            fprintf(stderr, "kgym report: %s: cut off, and left out\n", source);
            code = KG_OK;
        }
        at += len + 1;
    }
    kg_buf_deinit(&b);
    return code;
}

static enum kg_code write_page(const char *path, json_t *records, const char *title,
                               struct kg_err *err)
{
    struct kg_buf page;
    kg_buf_init(&page, 512u << 20);
    enum kg_code code = kg_report_html(records, title, &page, err);
    if (code == KG_OK) {
        code = kg_file_write_atomic(path, page.data, page.len, err);
    }
    kg_buf_deinit(&page);
    return code;
}

struct args {
    const char *in, *out, *title, *recheck;
    bool help, json;
};

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum kg_code parse(struct args *a, int argc, char **argv, struct kg_err *err)
{
    static const char *const flags[] = {"--out", "--title", "--recheck", "--json", "--help", NULL};
    for (int i = 1; i < argc;) {
        bool help = strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        bool json = strcmp(argv[i], "--json") == 0;
        int used = help || json;
        a->help = a->help || help;
        a->json = a->json || json;
        if ((!used && kg_cli_value("--out", argc, argv, i, &used, &a->out, err) != KG_OK) ||
            (!used && kg_cli_value("--title", argc, argv, i, &used, &a->title, err) != KG_OK) ||
            (!used && kg_cli_value("--recheck", argc, argv, i, &used, &a->recheck, err) != KG_OK)) {
            return err->code;
        }
        if (!used && (a->in || (argv[i][0] == '-' && argv[i][1]))) {
            return kg_cli_unknown("report", argv[i], flags, NULL, err);
        }
        a->in = used ? a->in : argv[i];
        i += used ? used : 1;
    }
    if (!a->help && a->in && !is_folder(a->in) && (a->recheck || a->json)) {
        return kg_fail(err, KG_E_USAGE,
                       "--recheck and --json need the folder of a run: %.200s is "
                       "none",
                       a->in);
    }
    return KG_OK;
}

static enum kg_code load_some(const char *path, json_t **out, struct kg_err *err)
{
    enum kg_code code = load(path, out, err);
    if (code == KG_OK && json_array_size(*out) == 0) {
        code = kg_fail(err, KG_E_INPUT,
                       "%s: no records; a file with one record a line is needed, as `kgym eval "
                       "--batch` writes it",
                       strcmp(path, "-") == 0 ? "standard input" : path);
    }
    return code;
}

static enum kg_code make(const struct args *a, struct kg_err *err)
{
    json_t *records;
    struct kg_buf text;
    if (a->out && kg_cli_spare_records(a->in, a->out, err) != KG_OK) {
        return err->code;
    }
    kg_buf_init(&text, 16u << 20);
    enum kg_code code = load_some(a->in, &records, err);
    if (code == KG_OK && a->out) {
        code = write_page(a->out, records, a->title ? a->title : a->in, err);
    }
    if (code == KG_OK) {
        code = kg_report_tables(records, kg_term_colour(stdout), kg_term_width(stdout), &text, err);
        fputs(text.data, stdout);
    }
    json_decref(records);
    kg_buf_deinit(&text);
    return code;
}

int kg_cmd_report(int argc, char **argv)
{
    struct args a = {.help = false};
    struct kg_err err = KG_ERR_INIT;
    if (parse(&a, argc, argv, &err) != KG_OK) {
        return kg_cli_fail("report", &err);
    }
    if (a.help || !a.in) {
        fputs(help_text, a.help ? stdout : stderr);
        return a.help ? KG_STATUS_GOOD : KG_STATUS_ERROR;
    }
    if (is_folder(a.in) && kg_report_trial_is(a.in)) {
        const struct kg_report_trial trial = {a.in, a.out, a.title, a.json};
        if (a.recheck != NULL) {
            kg_fail(&err, KG_E_USAGE,
                    "--recheck needs a training run: `kgym refine` judges a new best again itself");
            return kg_cli_fail("report", &err);
        }
        return kg_report_trial(&trial);
    }
    if (is_folder(a.in)) {
        const struct kg_report_run run = {a.in, a.out, a.title, a.recheck, a.json};
        return kg_report_run(&run);
    }
    return make(&a, &err) == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("report", &err);
}
