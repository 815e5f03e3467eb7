/* From the records of a run folder to that project's result files. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "gym/kernelbench/store.h"

static enum kg_code write_json(const char *path, const json_t *j, struct kg_err *err)
{
    struct kg_buf b;
    kg_buf_init(&b, 1u << 30);
    kg_json_dump_pretty(j, &b);
    kg_buf_addc(&b, '\n');
    enum kg_code code = j && kg_buf_ok(&b)
                            ? kg_file_write_atomic(path, b.data, b.len, err)
                            : kg_fail(err, KG_E_LIMIT, "%s: the results are too large", path);
    kg_buf_deinit(&b);
    return code;
}

static void count(const struct kg_record *r, struct kg_kb_summary *out)
{
    out->samples++;
    out->errors += r->has_error && !kg_kb_is_result(r);
    out->unjudged += !r->has_error && r->verdict == KG_V_NONE;
    out->by_verdict[r->verdict]++;
    if (kg_kb_is_result(r)) {
        out->results++;
        out->compiled += r->verdict == KG_V_OK || r->compiled == 1;
        out->correct += r->verdict == KG_V_OK;
        out->timed += r->verdict == KG_V_OK &&
                      (r->timing.status == KG_T_MEASURED || r->timing.claims != NULL);
    }
}

static enum kg_code add_record(const struct kg_kb_store *s, const struct kg_kb_line *line,
                               const struct kg_kb_problems *problems, json_t *all,
                               struct kg_kb_summary *out, struct kg_err *err)
{
    struct kg_record r;
    json_t *j;
    if (kg_json_parse(line->text, strlen(line->text), s->records, &j, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = kg_record_parse(j, &r, err);
    json_decref(j);
    if (code != KG_OK) {
        return kg_err_prefix(err, "%s: problem %d, sample %d", s->records, line->kernel.problem,
                             line->kernel.sample);
    }
    count(&r, out);
    if (kg_kb_is_result(&r)) {
        const struct kg_kb_problem *p = kg_kb_problem_find(problems, line->kernel.problem);
        kg_kb_results_add(all, line->kernel.problem, kg_kb_result_json(&r, &line->kernel, p));
    }
    kg_record_deinit(&r);
    return KG_OK;
}

static size_t count_total(const json_t *all, const struct kg_kb_problems *problems,
                          const struct kg_kb_numbers *asked)
{
    size_t total = 0;
    for (size_t i = 0; i < problems->n; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", problems->problem[i].id);
        total += json_object_get(all, key) || kg_kb_numbers_has(asked, problems->problem[i].id);
    }
    return problems->n > 0 ? total : json_object_size(all);
}

static enum kg_code write_pass(const struct kg_kb_store *s, const json_t *all,
                               const struct kg_kb_problems *problems,
                               const struct kg_kb_numbers *asked, const struct kg_kb_numbers *k,
                               struct kg_err *err)
{
    struct kg_kb_results results;
    if (kg_kb_results_parse(all, s->results, &results, err) != KG_OK) {
        return err->code;
    }
    json_t *pass = kg_kb_pass_json(&results, count_total(all, problems, asked), k);
    enum kg_code code = write_json(s->pass, pass, err);
    json_decref(pass);
    kg_kb_results_deinit(&results);
    return code;
}

enum kg_code kg_kb_store_results(const struct kg_kb_store *s, const struct kg_kb_run *all,
                                 const struct kg_kb_problems *problems,
                                 const struct kg_kb_numbers *asked, const struct kg_kb_numbers *k,
                                 struct kg_kb_summary *out, struct kg_err *err)
{
    json_t *results = json_object();
    enum kg_code code = KG_OK;
    memset(out, 0, sizeof *out);
    for (size_t i = 0, at = 0; i < s->n && code == KG_OK; i++) {
        const struct kg_kb_line *line = &s->line[i];
        while (at < all->n && kg_kb_kernel_order(&all->kernel[at], &line->kernel) < 0) {
            at++;
        }
        if (at < all->n && kg_kb_kernel_order(&all->kernel[at], &line->kernel) == 0) {
            code = add_record(s, line, problems, results, out, err);
        }
    }
    if (code == KG_OK) {
        code = write_json(s->results, results, err);
    }
    if (code == KG_OK) {
        code = write_pass(s, results, problems, asked, k, err);
    }
    json_decref(results);
    return code;
}
