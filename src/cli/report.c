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
    "Prints the funnel and the verdicts of a file of records (one kgym.record/1 per line,\n"
    "as `kgym eval --batch` writes it); with --out also writes one HTML page that needs\n"
    "nothing else: funnel, speed-ups with intervals, timing distributions, evidence.\n"
    "\n"
    "  RECORDS.jsonl   - is standard input\n"
    "  --out PAGE      write the page\n"
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
    if (kg_json_parse(line, len, source, &j, err) != KG_OK) {
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

int kg_cmd_report(int argc, char **argv)
{
    const char *in = NULL, *out = NULL, *title = NULL;
    struct kg_err err = KG_ERR_INIT;
    for (int i = 1; i < argc;) {
        int used = 0;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help_text, stdout);
            return KG_STATUS_GOOD;
        }
        if (kg_cli_value("--out", argc, argv, i, &used, &out, &err) != KG_OK ||
            (!used && kg_cli_value("--title", argc, argv, i, &used, &title, &err) != KG_OK)) {
            return kg_cli_fail("report", &err);
        }
        if (!used && (in || (argv[i][0] == '-' && argv[i][1]))) {
            static const char *const flags[] = {"--out", "--title", "--help", NULL};
            enum kg_code code = kg_cli_unknown("report", argv[i], flags, false, &err);
            return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("report", &err);
        }
        in = used ? in : argv[i];
        i += used ? used : 1;
    }
    if (!in) {
        fputs(help_text, stderr);
        return KG_STATUS_ERROR;
    }
    json_t *records;
    struct kg_buf text;
    kg_buf_init(&text, 16u << 20);
    enum kg_code code = load(in, &records, &err);
    if (code == KG_OK && out) {
        code = write_page(out, records, title ? title : in, &err);
    }
    if (code == KG_OK) {
        code =
            kg_report_tables(records, kg_term_colour(stdout), kg_term_width(stdout), &text, &err);
        fputs(text.data, stdout);
    }
    json_decref(records);
    kg_buf_deinit(&text);
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("report", &err);
}
