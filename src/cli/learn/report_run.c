/* kgym report RUN: the report of a training run. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/learn/report_run.h"
#include "rl/report/report.h"

static enum kg_code write_page(const struct rl_report *r, const char *path, const char *title,
                               struct kg_err *err)
{
    struct kg_buf page;
    kg_buf_init(&page, 256u << 20);
    enum kg_code code = rl_report_html(r, title, &page, err);
    code = code != KG_OK ? code : kg_file_write_atomic(path, page.data, page.len, err);
    kg_buf_deinit(&page);
    return code;
}

static void print_tables(const struct rl_report *r, const char *page)
{
    struct kg_buf text;
    kg_buf_init(&text, 1u << 20);
    rl_report_text(r, &text);
    fputs(text.data, stdout);
    printf("report: %s\n", page);
    kg_buf_deinit(&text);
}

static void print_json(const struct rl_report *r)
{
    struct kg_buf text;
    json_t *j = rl_report_json(r);
    kg_buf_init(&text, 4u << 20);
    kg_json_dump(j, &text);
    puts(text.data);
    kg_buf_deinit(&text);
    json_decref(j);
}

static enum kg_code number(const char *word, int *out, struct kg_err *err)
{
    char *end;
    long n = strtol(word, &end, 10);
    if (*word == '\0' || *end != '\0' || n < 1 || n > RL_RECHECK_MOST) {
        return kg_fail(err, KG_E_USAGE, "--recheck: `%.40s` is not a number from 1 to %d", word,
                       RL_RECHECK_MOST);
    }
    *out = (int)n;
    return KG_OK;
}

int kg_report_run(const struct kg_report_run *o)
{
    struct kg_err err = KG_ERR_INIT;
    struct rl_report *r = NULL;
    char path[4096];
    int n = 0;
    if (snprintf(path, sizeof path, "%s/report.html", o->folder) >= (int)sizeof path) {
        kg_fail(&err, KG_E_USAGE, "the folder's path is too long");
        return kg_cli_fail("report", &err);
    }
    const char *page = o->out != NULL ? o->out : path;
    enum kg_code code = o->recheck != NULL ? number(o->recheck, &n, &err) : KG_OK;
    code = code != KG_OK ? code : kg_cli_spare_json("--out", page, &err);
    code = code != KG_OK ? code : rl_report_open(o->folder, &r, &err);
    if (code == KG_OK && n > 0) {
        kg_cli_signals();
        code = rl_report_recheck(r, "default", n, o->json ? NULL : stdout, &kg_cli_cancelled, &err);
    }
    code = code != KG_OK ? code : write_page(r, page, o->title ? o->title : o->folder, &err);
    if (code != KG_OK) {
        rl_report_close(r);
        return kg_cli_fail("report", &err);
    }
    if (o->json) {
        print_json(r);
    } else {
        print_tables(r, page);
    }
    bool failed = rl_report_failed(r);
    rl_report_close(r);
    return failed ? KG_STATUS_BAD : KG_STATUS_GOOD;
}
