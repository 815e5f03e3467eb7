/* kgym kernelbench eval: kernels of a run through the batch, results into that project's files. */
#include <stdio.h>
#include <string.h>

#include "base/term.h"
#include "cli/gym/eval_batch.h"
#include "cli/gym/kernelbench.h"
#include "gym/kernelbench/store.h"

struct job {
    struct kg_kb_run all, chosen; /* the level's kernels; those to judge */
    struct kg_kb_problems problems;
    struct kg_kb_store store;
    struct kg_buf lines;
    struct kg_batch_result batch;
    struct kg_kb_summary summary;
    size_t asked; /* problems */
};

static enum kg_code prepare(struct kg_cli_kb *a, struct job *j, struct kg_err *err)
{
    static const struct kg_kb_numbers any = {.n = 0};
    if (kg_kb_run_read(a->run, &j->chosen, err) != KG_OK ||
        kg_kb_run_choose(&j->chosen, &a->ids, &a->samples, &a->level, err) != KG_OK ||
        kg_kb_run_read(a->run, &j->all, err) != KG_OK ||
        kg_kb_run_choose(&j->all, &any, &any, &a->level, err) != KG_OK ||
        kg_kb_problems_load(a->problems, a->level, &j->problems, err) != KG_OK) {
        return err->code;
    }
    for (size_t i = 0; i < j->problems.n; i++) {
        j->asked += kg_kb_numbers_has(&a->ids, j->problems.problem[i].id);
    }
    return kg_kb_run_lines(&j->chosen, &j->problems, &j->lines, err);
}

static enum kg_code judge(struct kg_cli_kb *a, const struct kg_config *config, struct job *j,
                          struct kg_err *err)
{
    int64_t ok = 0;
    if (kg_kb_store_open(a->out ? a->out : a->run, &j->store, err) != KG_OK ||
        kg_kb_store_begin(&j->store, &j->chosen, &j->lines, err) != KG_OK) {
        return err->code;
    }
    kg_cli_signals();
    const struct kg_cli_batch_args batch = {
        .command = "kernelbench", .in = j->store.batch, .out = j->store.part, .jobs = a->jobs};
    if (kg_cli_batch_run(config, &batch, &j->batch, &ok, err) != KG_OK ||
        kg_kb_store_end(&j->store, err) != KG_OK) {
        return err->code;
    }
    return kg_kb_store_results(&j->store, &j->all, &j->problems, &a->ids, &a->k, &j->summary, err);
}

static void show(const struct kg_cli_kb *a, const struct job *j)
{
    const struct kg_kb_summary *s = &j->summary;
    const char *separator = "";
    printf("level %d: %zu problem%s, %lld kernel%s judged, %lld of them earlier\n", a->level,
           j->asked, j->asked == 1 ? "" : "s", (long long)j->batch.lines,
           j->batch.lines == 1 ? "" : "s", (long long)j->batch.resumed);
    printf("results   %zu: compiled %zu, correct %zu, timed %zu\n", s->results, s->compiled,
           s->correct, s->timed);
    printf("verdicts  ");
    for (int v = KG_V_OK; v < KG_V_COUNT; v++) {
        if (s->by_verdict[v]) {
            printf("%s%s %zu", separator, kg_verdict_name((enum kg_verdict)v), s->by_verdict[v]);
            separator = ", ";
        }
    }
    printf("%s\n", *separator ? "" : "none");
    if (s->errors || s->unjudged) {
        printf("left out  %zu with an error, %zu not judged to the end\n", s->errors, s->unjudged);
    }
    printf("files     %s\n          %s\n          %s\n", j->store.results, j->store.pass,
           j->store.records);
}

int kg_cli_kb_eval(struct kg_cli_kb *a, const struct kg_config *config)
{
    struct kg_err err = KG_ERR_INIT;
    struct job j = {.store = {.lock = -1}};
    kg_buf_init(&j.lines, 1u << 30);
    enum kg_code code = prepare(a, &j, &err);
    if (code == KG_OK) {
        code = judge(a, config, &j, &err);
    }
    int status = j.batch.errors ? KG_STATUS_ERROR : KG_STATUS_GOOD;
    if (code == KG_OK) {
        show(a, &j);
    } else {
        status = kg_cli_fail("kernelbench", &err);
    }
    kg_kb_store_close(&j.store);
    kg_kb_problems_deinit(&j.problems);
    kg_kb_run_deinit(&j.all);
    kg_kb_run_deinit(&j.chosen);
    kg_buf_deinit(&j.lines);
    return status;
}
