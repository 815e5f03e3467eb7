/* Records of a batch as a run folder: which are kernels, which sample each is, what is written, and
 * what is refused. */
#include "kb_rig.h"

#include "gym/kernelbench/export.h"

static char *record(const char *id, const char *name, int level, const char *code,
                    enum kg_verdict v)
{
    struct kg_record r;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf b;
    kg_record_init(&r);
    assert_int_equal(kg_ulid_new(r.id, &err), KG_OK);
    r.batch_id = id;
    r.problem.name = name;
    r.problem.level = level;
    r.candidate.code = code;
    if (v == KG_V_NONE) {
        (void)!kg_fail(&err, KG_E_HOST, "no torch");
        kg_record_error(&r, &err);
    } else {
        kg_record_verdict(&r, v,
                          v == KG_V_OK        ? NULL
                          : v == KG_V_NO_CODE ? "empty"
                                              : "value",
                          "said");
    }
    json_t *j = kg_record_json(&r, false);
    kg_buf_init(&b, 1 << 20);
    kg_json_dump(j, &b);
    kg_buf_addc(&b, '\n');
    json_decref(j);
    kg_record_deinit(&r);
    return kg_buf_detach(&b);
}

/* The same record, made by a replay. */
static char *replayed(char *line)
{
    static const char none[] = "\"replay\":null";
    char *at = strstr(line, none);
    struct kg_buf b;
    assert_non_null(at);
    kg_buf_init(&b, 1 << 20);
    kg_buf_add(&b, line, (size_t)(at - line));
    kg_buf_adds(&b, "\"replay\":\"01J8Z3TQ4W6Y8A0C2E4G6J8K0N\"");
    kg_buf_adds(&b, at + strlen(none));
    free(line);
    return kg_buf_detach(&b);
}

static void put_records(const char *path, char *const *line, size_t n)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    for (size_t i = 0; i < n; i++) {
        kg_buf_adds(&b, line[i]);
        free(line[i]);
    }
    WORKS(kg_file_write_atomic(path, b.data, b.len, &err));
    kg_buf_deinit(&b);
}

static enum kg_code export(const char *records, const char *folder, int *level,
                           struct kg_kb_export *out, size_t *all, struct kg_err *err) {
    struct kg_kb_store s; struct kg_kb_run run;
    if (kg_kb_store_open(folder, &s, err) != KG_OK){return err->code;}
enum kg_code code = kg_kb_export(records, folder, level, &s, &run, out, err);
*all = run.n;
kg_kb_run_deinit(&run);
kg_kb_store_close(&s);
return code;
}

static void expect_file(const char *path, const char *want)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&b, 1 << 20);
    enum kg_code code = kg_file_read(path, &b, &err);
    assert_int_equal(code, want ? KG_OK : KG_E_NOT_FOUND);
    if (want) {
        assert_string_equal(b.data, want);
    }
    kg_buf_deinit(&b);
}

#define KERNEL(p, s) "run/level_1_problem_" p "_sample_" s "_kernel.py"

static void which_kernel_each_is(void **state)
{
    (void)state;
    char *lines[] = {
        record("a", "19_ReLU", 1, "first", KG_V_OK),
        record("level_1_problem_19_sample_1", "19_ReLU", 1, "named", KG_V_WRONG),
        record("b", "19_ReLU", 1, "after it", KG_V_OK),
        record("c", "03_Softmax", 1, NULL, KG_V_NO_CODE),
        record("d", "softmax", 1, "no id", KG_V_OK),
        record("level_2_problem_3_sample_4", "3_Softmax", 1, "of another level", KG_V_OK),
        record("e", "100_Loss", 1, "unjudged", KG_V_NONE),
        record(NULL, NULL, 0, NULL, KG_V_NONE),
        replayed(record("f", "100_Loss", 1, "of a replay", KG_V_OK)),
    };
    struct kg_kb_export out;
    int level = 0;
    size_t all = 0;
    put_records("out.jsonl", lines, N(lines));
    WORKS(export("out.jsonl", "run", &level, &out, &all, &err));
    assert_int_equal(level, 1);
    assert_true(out.kernels == 6 && out.others == 3 && out.no_code == 1 && all == 6);
    expect_file(KERNEL("19", "1"), "named");
    expect_file(KERNEL("19", "2"), "first"); /* the next after those that are named */
    expect_file(KERNEL("19", "3"), "after it");
    expect_file(KERNEL("3", "0"), NULL);
    expect_file(KERNEL("3", "1"), "of another level");
    expect_file(KERNEL("100", "0"), "unjudged");
    WORKS(export("out.jsonl", "run", &level, &out, &all, &err)); /* the same again */
    assert_true(out.kernels == 6 && all == 6);
}

static void what_is_refused(void **state)
{
    (void)state;
    struct kg_kb_export out;
    int level = 0;
    size_t all = 0;
    char *two[] = {record("a", "1_A", 1, "x", KG_V_OK), record("b", "1_B", 2, "y", KG_V_OK)};
    put_records("two.jsonl", two, N(two));
    FAILS(export("two.jsonl", "other", &level, &out, &all, &err), KG_E_USAGE,
          "two.jsonl: it holds records of levels 1 to 2; name one with --level");
    level = 2;
    WORKS(export("two.jsonl", "other", &level, &out, &all, &err));
    assert_true(out.kernels == 1 && out.others == 1);
    char *twice[] = {record("level_1_problem_1_sample_0", "1_A", 1, "x", KG_V_OK),
                     record("level_1_problem_1_sample_0", "1_A", 1, "y", KG_V_OK)};
    put_records("twice.jsonl", twice, N(twice));
    level = 0;
    FAILS(export("twice.jsonl", "third", &level, &out, &all, &err), KG_E_INPUT,
          "twice.jsonl:2: a second record of problem 1, sample 0");
    WORKS(kg_file_mkdirs("fourth", 0755, &err));
    WORKS(kg_file_write_atomic("fourth/level_1_problem_1_sample_0_kernel.py", "mine", 4, &err));
    char *one[] = {record("a", "1_A", 1, "x", KG_V_OK)};
    put_records("one.jsonl", one, N(one));
    FAILS(export("one.jsonl", "fourth", &level, &out, &all, &err), KG_E_USAGE,
          "it holds another kernel, and is left as it is");
    expect_file("fourth/level_1_problem_1_sample_0_kernel.py", "mine");
    WORKS(kg_file_write_atomic("none.jsonl", "\n", 1, &err));
    level = 0;
    FAILS(export("none.jsonl", "fifth", &level, &out, &all, &err), KG_E_NOT_FOUND,
          "no record is of a problem of that project");
    WORKS(kg_file_write_atomic("bad.jsonl", "{}\n", 3, &err));
    FAILS(export("bad.jsonl", "fifth", &level, &out, &all, &err), KG_E_INPUT,
          "bad.jsonl:1: not a record");
    FAILS(export("absent.jsonl", "fifth", &level, &out, &all, &err), KG_E_NOT_FOUND, "absent");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_kernel_each_is),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, kb_enter, kb_leave);
}
