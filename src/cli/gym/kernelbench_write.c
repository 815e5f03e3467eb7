/* kgym kernelbench write: records of any batch as a run folder of that project. */
#include <stdio.h>
#include <string.h>

#include "cli/gym/kernelbench.h"
#include "gym/kernelbench/export.h"

static void show(const struct kg_cli_kb *a, const struct kg_kb_store *store,
                 const struct kg_kb_export *done, const struct kg_kb_summary *s)
{
    printf("level %d: %zu kernel%s, %zu record%s of other problems or levels left out\n", a->level,
           done->kernels, done->kernels == 1 ? "" : "s", done->others,
           done->others == 1 ? "" : "s");
    if (done->no_code) {
        printf("no file   %zu whose reply held no kernel\n", done->no_code);
    }
    printf("results   %zu: compiled %zu, correct %zu, timed %zu\n", s->results, s->compiled,
           s->correct, s->timed);
    if (s->errors || s->unjudged) {
        printf("left out  %zu with an error, %zu not judged to the end\n", s->errors, s->unjudged);
    }
    printf("files     %s\n          %s\n", store->results, store->pass);
}

int kg_cli_kb_write(struct kg_cli_kb *a)
{
    static const struct kg_kb_numbers any = {.n = 0};
    struct kg_err err = KG_ERR_INIT;
    struct kg_kb_store store = {.lock = -1};
    struct kg_kb_problems problems = {.n = 0};
    struct kg_kb_run all = {.n = 0};
    struct kg_kb_export done;
    struct kg_kb_summary summary;
    enum kg_code code = kg_kb_store_open(a->out, &store, &err);
    code = code == KG_OK ? kg_kb_export(a->records, a->out, &a->level, &store, &all, &done, &err)
                         : code;
    if (code == KG_OK && done.kernels == 0) { /* results that are there stay */
        code = kg_fail(&err, KG_E_NOT_FOUND, "%s: none of its records is of level %d", a->records,
                       a->level);
    }
    if (code == KG_OK && a->problems) {
        code = kg_kb_problems_load(a->problems, a->level, &problems, &err);
    }
    code = code == KG_OK ? kg_kb_store_results(&store, &all, &problems, &any, &a->k, &summary, &err)
                         : code;
    int status = KG_STATUS_GOOD;
    if (code == KG_OK) {
        show(a, &store, &done, &summary);
    } else {
        status = kg_cli_fail("kernelbench", &err);
    }
    kg_kb_problems_deinit(&problems);
    kg_kb_run_deinit(&all);
    kg_kb_store_close(&store);
    return status;
}
