/* kgym report RUN: the report of a trial. */
#include "cli/trial/report_trial.h"

#include "base/file.h"
#include "base/term.h"
#include "trial/report/trial_report.h"

bool kg_report_trial_is(const char *folder)
{
    return tr_report_is(folder);
}

static enum kg_code write_page(struct tr_report *r, const char *path, const char *title,
                               struct kg_err *err)
{
    struct kg_buf page;
    kg_buf_init(&page, 256u << 20);
    enum kg_code code = tr_report_html(r, title, &page, err);
    code = code != KG_OK ? code : kg_file_write_atomic(path, page.data, page.len, err);
    kg_buf_deinit(&page);
    return code;
}

static void print(const struct tr_report *r, bool json, const char *page)
{
    struct kg_buf text;
    kg_buf_init(&text, 64u << 20);
    if (json) {
        json_t *j = tr_report_json(r);
        kg_json_dump(j, &text);
        puts(text.data);
        json_decref(j);
    } else {
        tr_report_text(r, kg_term_colour(stdout), &text);
        fputs(text.data, stdout);
        printf("report: %s\n", page);
    }
    kg_buf_deinit(&text);
}

int kg_report_trial(const struct kg_report_trial *o)
{
    struct kg_err err = KG_ERR_INIT;
    struct tr_report *r = NULL;
    char path[4096];
    if (snprintf(path, sizeof path, "%s/report.html", o->folder) >= (int)sizeof path) {
        kg_fail(&err, KG_E_USAGE, "the folder's path is too long");
        return kg_cli_fail("report", &err);
    }
    const char *page = o->out != NULL ? o->out : path;
    enum kg_code code = kg_cli_spare_json("--out", page, &err);
    code = code != KG_OK ? code : tr_report_open(o->folder, &r, &err);
    code = code != KG_OK ? code : write_page(r, page, o->title ? o->title : o->folder, &err);
    if (code == KG_OK) {
        print(r, o->json, page);
    }
    tr_report_close(r);
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("report", &err);
}
