/* kgym report: tables on the terminal and a self-contained HTML page from a file of records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/term.h"
#include "cli/cli.h"
#include "gym/report/report.h"

static const char help_text[] =
    "usage: kgym report RECORDS.jsonl [--out PAGE.html] [--title TEXT]\n"
    "\n"
    "Prints the funnel and the verdicts of a file of records (one kgym.record/1 per\n"
    "line, as `kgym eval --batch` writes it); with --out also writes one HTML page\n"
    "that needs nothing else: funnel, speed-ups with intervals, timing distributions,\n"
    "evidence.\n"
    "\n"
    "  RECORDS.jsonl   - is standard input\n"
    "  --out PAGE      write the page; a file that holds records is never replaced\n"
    "  --title TEXT    its heading (default: the file's name)\n"
    "\n"
    "example:\n"
    "  kgym report records.jsonl --out report.html --title \"nightly\"\n"
    "\n"
    "exit status: 0 done, 2 error\n";

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
    const char *in, *out, *title;
    bool help;
};

static enum kg_code parse(struct args *a, int argc, char **argv, struct kg_err *err)
{
    static const char *const flags[] = {"--out", "--title", "--help", NULL};
    for (int i = 1; i < argc;) {
        int used = strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        a->help = a->help || used;
        if ((!used && kg_cli_value("--out", argc, argv, i, &used, &a->out, err) != KG_OK) ||
            (!used && kg_cli_value("--title", argc, argv, i, &used, &a->title, err) != KG_OK)) {
            return err->code;
        }
        if (!used && (a->in || (argv[i][0] == '-' && argv[i][1]))) {
            return kg_cli_unknown("report", argv[i], flags, false, err);
        }
        a->in = used ? a->in : argv[i];
        i += used ? used : 1;
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
    return make(&a, &err) == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("report", &err);
}
