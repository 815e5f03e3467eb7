/* The records of a run folder: what an interrupted batch left is taken up, a narrower run loses
 * nothing, what is gone or somebody else's stays out. And the fields of KernelExecResult. */
#include "kb_rig.h"

#include "gym/kernelbench/store.h"
#include "gym/kernelbench/tolerance.h"
#include "tests/support/records.h"

/* A record of this kernel as a batch writes it, `torn` bytes short at its end. */
static void add_line(struct kg_buf *b, int problem, int sample, enum sample_kind kind, size_t torn)
{
    struct kg_record r;
    char id[KG_KB_ID_MAX];
    kg_kb_kernel_id(&(struct kg_kb_kernel){1, problem, sample}, id);
    sample_record(&r, kind, (unsigned)(problem * 10 + sample));
    r.batch_id = id;
    json_t *j = kg_record_json(&r, false);
    kg_json_dump(j, b);
    kg_buf_addc(b, '\n');
    b->len -= torn;
    b->data[b->len] = '\0';
    json_decref(j);
    kg_record_deinit(&r);
}

static void kernels(const char *folder, const int (*list)[2], size_t n)
{
    char path[256];
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/level_1_problem_%d_sample_%d_kernel.py", folder, list[i][0],
                 list[i][1]);
        kb_put(path, "");
    }
}

static const int three[][2] = {{1, 0}, {1, 1}, {2, 0}};
static const struct kg_kb_numbers any = {.n = 0}, one = {.range = {{1, 1}}, .n = 1};

struct rig {
    struct kg_kb_run all, chosen;
    struct kg_kb_problems problems;
    struct kg_kb_store store;
    struct kg_buf lines;
};

static void rig_open(struct rig *g, const char *folder, const char *ids)
{
    struct kg_kb_numbers set;
    int level = 1;
    kb_put("set/level1/1_a.py", "a");
    kb_put("set/level1/2_b.py", "b");
    kb_put("set/level1/3_c.py", "c");
    kg_buf_init(&g->lines, 1 << 20);
    WORKS(kg_kb_problems_load("set", 1, &g->problems, &err));
    WORKS(kg_kb_run_read(folder, &g->all, &err));
    WORKS(kg_kb_run_read(folder, &g->chosen, &err));
    WORKS(kg_kb_numbers_parse("", ids, &set, &err));
    WORKS(kg_kb_run_choose(&g->chosen, &set, &any, &level, &err));
    WORKS(kg_kb_run_lines(&g->chosen, &g->problems, &g->lines, &err));
    WORKS(kg_kb_store_open(folder, &g->store, &err));
    WORKS(kg_kb_store_begin(&g->store, &g->chosen, &g->lines, &err));
}

static void rig_close(struct rig *g)
{
    kg_kb_store_close(&g->store);
    kg_kb_problems_deinit(&g->problems);
    kg_kb_run_deinit(&g->all);
    kg_kb_run_deinit(&g->chosen);
    kg_buf_deinit(&g->lines);
}

static size_t lines_of(const char *path)
{
    char *text = kb_get(path);
    size_t n = 0;
    for (const char *s = text; (s = strchr(s, '\n')); s++) {
        n++;
    }
    free(text);
    return n;
}

static json_t *json_of(const char *path)
{
    char *text = kb_get(path);
    json_t *j = kb_json(text);
    free(text);
    return j;
}

static void a_run_is_judged_and_narrowed(void **state)
{
    (void)state;
    struct rig g;
    struct kg_kb_summary s;
    struct kg_buf part;
    kernels("a", three, N(three));
    rig_open(&g, "a", "");
    assert_int_equal(lines_of("a/kgym_batch.jsonl"), 3);
    assert_int_equal(lines_of("a/kgym_records.part.jsonl"), 0);
    kg_buf_init(&part, 1 << 20);
    add_line(&part, 1, 0, SAMPLE_OK, 0);
    add_line(&part, 1, 1, SAMPLE_WRONG, 0);
    add_line(&part, 2, 0, SAMPLE_ERROR, 0);
    kb_put("a/kgym_records.part.jsonl", part.data);
    WORKS(kg_kb_store_end(&g.store, &err));
    WORKS(kg_kb_store_results(&g.store, &g.all, &g.problems, &any, &one, &s, &err));
    assert_true(s.samples == 3 && s.results == 2 && s.correct == 1 && s.errors == 1);
    assert_true(s.compiled == 2 && s.timed == 1 && s.by_verdict[KG_V_WRONG] == 1);
    assert_int_equal(access("a/kgym_records.part.jsonl", F_OK), -1);
    json_t *j = json_of("a/eval_results.json");
    assert_int_equal(json_object_size(j), 1); /* the error is no result */
    assert_int_equal(json_array_size(json_object_get(j, "1")), 2);
    json_decref(j);
    rig_close(&g);

    rig_open(&g, "a", "2"); /* only problem 2, which now works */
    assert_int_equal(lines_of("a/kgym_batch.jsonl"), 1);
    assert_int_equal(lines_of("a/kgym_records.part.jsonl"), 1); /* its old record, for the batch */
    kg_buf_reset(&part);
    add_line(&part, 2, 0, SAMPLE_OK_UNTIMED, 0);
    kb_put("a/kgym_records.part.jsonl", part.data);
    WORKS(kg_kb_store_end(&g.store, &err));
    WORKS(kg_kb_store_results(&g.store, &g.all, &g.problems, &one, &one, &s, &err));
    assert_true(s.samples == 3 && s.results == 3 && s.correct == 2 && s.errors == 0);
    j = json_of("a/pass_at_k_results.json");
    json_t *m = json_object_get(j, "metadata");
    assert_int_equal(json_integer_value(json_object_get(m, "total_problems")), 2);
    assert_int_equal(json_integer_value(json_object_get(m, "total_correct_samples")), 2);
    NEAR(json_real_value(json_object_get(json_object_get(j, "averages"), "avg_pass@1")), 0.75, 0);
    json_decref(j);
    rig_close(&g);

    assert_int_equal(unlink("a/level_1_problem_1_sample_0_kernel.py"), 0);
    rig_open(&g, "a", "2"); /* a kernel that is gone has no result */
    WORKS(kg_kb_store_end(&g.store, &err));
    WORKS(kg_kb_store_results(&g.store, &g.all, &g.problems, &any, &one, &s, &err));
    assert_true(s.samples == 2 && s.correct == 1);
    rig_close(&g);
    kg_buf_deinit(&part);
}

static void an_interrupted_batch_is_taken_up(void **state)
{
    (void)state;
    struct rig g;
    struct kg_buf b;
    kernels("b", three, N(three));
    kg_buf_init(&b, 1 << 20);
    add_line(&b, 1, 0, SAMPLE_WRONG, 0);
    kb_put("b/kgym_records.jsonl", b.data);
    kg_buf_reset(&b);
    add_line(&b, 1, 0, SAMPLE_OK, 0); /* newer */
    add_line(&b, 1, 1, SAMPLE_OK, 0);
    add_line(&b, 2, 0, SAMPLE_OK, 9); /* the process was killed while it wrote */
    kb_put("b/kgym_records.part.jsonl", b.data);
    rig_open(&g, "b", "1");
    assert_int_equal(lines_of("b/kgym_records.jsonl"), 2);
    assert_int_equal(lines_of("b/kgym_records.part.jsonl"), 2);
    char *text = kb_get("b/kgym_records.jsonl");
    assert_null(strstr(text, "\"verdict\":\"wrong\""));
    free(text);
    FAILS(kg_kb_store_open("b", &(struct kg_kb_store){0}, &err), KG_E_USAGE,
          "b: another evaluation is at work there");
    rig_close(&g);
    rig_open(&g, "b", ""); /* the lock went with it */
    rig_close(&g);
    kg_buf_deinit(&b);
}

static void what_is_not_kgyms_is_left_alone(void **state)
{
    (void)state;
    struct kg_kb_store s;
    kb_put("c/eval_results.json", "{}");
    FAILS(kg_kb_store_open("c", &s, &err), KG_E_USAGE,
          "c/eval_results.json: kgym did not write this file");
    char *text = kb_get("c/eval_results.json");
    assert_string_equal(text, "{}");
    free(text);
    kb_put("c/kgym_records.jsonl", "{\"batch_id\":\"level_1_problem_1_sample_0\"}\nnonsense\n");
    FAILS(kg_kb_store_open("c", &s, &err), KG_E_INPUT, "c/kgym_records.jsonl:2:8:");
    kb_put("c/kgym_records.jsonl", "{\"batch_id\":\"line-7\"}\n");
    FAILS(kg_kb_store_open("c", &s, &err), KG_E_INPUT,
          "c/kgym_records.jsonl:1: batch_id: not that of a kernel");
    kb_put("c/kgym_records.jsonl", "{\"batch_id\":\"level_1_problem_1_sample_0\"}\n");
    kernels("c", three, 1);
    struct rig g;
    struct kg_kb_summary sum;
    rig_open(&g, "c", "");
    FAILS(kg_kb_store_results(&g.store, &g.all, &g.problems, &any, &one, &sum, &err), KG_E_INPUT,
          "c/kgym_records.jsonl: problem 1, sample 0: record: ");
    rig_close(&g);
}

static void tolerances_are_that_projects(void **state)
{
    (void)state;
    NEAR(kg_kb_tolerance("fp32"), 1e-4, 0);
    NEAR(kg_kb_tolerance("bf16"), 1e-2, 0);
    NEAR(kg_kb_tolerance("fp16"), 1e-2, 0);
    NEAR(kg_kb_tolerance("int8"), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_judged_and_narrowed),
        cmocka_unit_test(an_interrupted_batch_is_taken_up),
        cmocka_unit_test(what_is_not_kgyms_is_left_alone),
        cmocka_unit_test(tolerances_are_that_projects),
    };
    return cmocka_run_group_tests(tests, kb_enter, kb_leave);
}
