/* KernelBench on disk: names, ids, the hash that ignores layout, run folders and the lines made of
 * them, lists of numbers. The hashes were computed by Python's re and hashlib. */
#include "kb_rig.h"

#include "gym/kernelbench/kb_run.h"

static void hashes_are_those_of_python(void **state)
{
    (void)state;
    static const struct {
        const char *code, *md5;
    } golden[] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"import torch\n", "21f82d03bf060588739562f3e14186d3"},
        {"\"\"\"doc\"\"\"\nimport torch  # it\n\nclass Model:\n    x = 1\n",
         "10f2df402b636f3d61317d6afb77f369"},
        {"import torch\nclass Model:\n\tx=1", "10f2df402b636f3d61317d6afb77f369"},
        {"s = '# not a comment'\ny = 2\n", "0c9621c21efb92a4e3e9f8288d60f10d"},
        {"a = '''one # two\n''' + \"\"\"x\"\"\"\nb\n", "627dfaf0a67416c3e8772ccc252797b6"},
        {"\"\"\"never closed\nx = 1 # c", "e56aa263c27e5f63e05136e569961a35"},
        {"\"\"\"\"quote\"\"\"\"\n", "b15835f133ff2e27c7cb28117bfae8f4"},
        {"a\302\240=\342\200\2031\343\200\200\n", "3872c9ae3f427af0be0ead09d07ae2cf"},
        {"\303\251 = '\303\274' # \303\237\n", "e2c34dd6979fa609699c6dca797bb57a"},
        {"x = 1 # c\ny = 2\n", "57179bbac8571daede9ce78118faac00"},
        {"'''a\"\"\"b''' c \"\"\"d'''e\"\"\"", "4a8a08f09d37b73795649038408b5f33"},
        {"#", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a\034b\013c\302\205d", "e2fc714c4727ee9395f324cd2e7f331f"},
        {"x = 1 # c\r\ny = 2\r\n", "57179bbac8571daede9ce78118faac00"}, /* text mode */
    };
    char md5[KG_KB_HASH];
    for (size_t i = 0; i < N(golden); i++) {
        WORKS(kg_kb_hash(golden[i].code, strlen(golden[i].code), md5, &err));
        if (strcmp(md5, golden[i].md5) != 0) {
            fail_msg("case %zu: %s instead of %s", i, md5, golden[i].md5);
        }
    }
    WORKS(kg_kb_hash("a\0b\xff", 4, md5, &err)); /* any bytes */
    assert_int_equal(strlen(md5), 32);
}

static void names_are_taken_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int id; /* 0: refused */
    } files[] = {{"1_Square_matrix_multiplication_.py", 1},
                 {"007_x.py", 7},
                 {"100_HingeLoss.py", 100},
                 {"1_.py", 1},
                 {"0_x.py", 0},
                 {"1.py", 0},
                 {"x_1.py", 0},
                 {"-1_x.py", 0},
                 {"+1_x.py", 0},
                 {" 1_x.py", 0},
                 {"1_x.pyc", 0},
                 {"1_x", 0},
                 {"1_", 0},
                 {"", 0},
                 {"9999999_x.py", 0},
                 {"99999999999999999999_x.py", 0},
                 {"1a_x.py", 0}};
    for (size_t i = 0; i < N(files); i++) {
        int id;
        if (kg_kb_id_parse(files[i].name, &id) != (files[i].id > 0) ||
            (files[i].id > 0 && id != files[i].id)) {
            fail_msg("%s", files[i].name);
        }
    }
    int level;
    assert_true(kg_kb_level_parse("level12", &level) && level == 12);
    assert_false(kg_kb_level_parse("level0", &level) || kg_kb_level_parse("level", &level) ||
                 kg_kb_level_parse("level1x", &level) || kg_kb_level_parse("Level1", &level) ||
                 kg_kb_level_parse("level01", &level));
}

static void kernels_have_one_name(void **state)
{
    (void)state;
    struct kg_kb_kernel k;
    char id[KG_KB_ID_MAX];
    assert_true(kg_kb_kernel_parse("level_2_problem_30_sample_4_kernel.py", &k));
    assert_true(k.level == 2 && k.problem == 30 && k.sample == 4);
    kg_kb_kernel_id(&k, id);
    assert_string_equal(id, "level_2_problem_30_sample_4");
    assert_true(kg_kb_kernel_id_parse(id, &k));
    static const char *const bad[] = {"level_1_problem_1_sample_0_kernel.pyc",
                                      "level_1_problem_1_sample_0.py",
                                      "level_1_problem_1_sample_00_kernel.py",
                                      "level_01_problem_1_sample_0_kernel.py",
                                      "level_0_problem_1_sample_0_kernel.py",
                                      "level_1_problem_0_sample_0_kernel.py",
                                      "level_1_problem_1_sample__kernel.py",
                                      "level_1_problem_1_sample_-1_kernel.py",
                                      "level_1_problem_1_kernel.py",
                                      "xlevel_1_problem_1_sample_0_kernel.py",
                                      "level_1_problem_1_sample_0_kernel.py ",
                                      "level_1_problem_1_sample_9999999_kernel.py",
                                      "",
                                      "level_"};
    for (size_t i = 0; i < N(bad); i++) {
        if (kg_kb_kernel_parse(bad[i], &k)) {
            fail_msg("%s", bad[i]);
        }
    }
    assert_false(kg_kb_kernel_id_parse("level_1_problem_1_sample_0_kernel.py", &k));
}

static void lists_of_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *in, *out; /* numbers, one digit each */
    } good[] = {
        {"1,3-5", "1345", "0269"},   {"[1, 3]", "13", "2"},  {"(2,)", "2", "1"}, {"7", "7", "6"},
        {" [ 2 - 4 ] ", "234", "5"}, {"", "0123456789", ""}, {"None", "19", ""}, {"[]", "5", ""},
        {"3-3,3", "3", "24"}};
    struct kg_kb_numbers set;
    for (size_t i = 0; i < N(good); i++) {
        WORKS(kg_kb_numbers_parse("--x", good[i].text, &set, &err));
        for (const char *c = good[i].in; *c; c++) {
            assert_true(kg_kb_numbers_has(&set, *c - '0'));
        }
        for (const char *c = good[i].out; *c; c++) {
            assert_false(kg_kb_numbers_has(&set, *c - '0'));
        }
    }
    static const char *const bad[] = {"a",   "1;2",  "1,,2", "[1",  "1]",    "(1]",
                                      "3-1", "-1",   "1-",   "1 2", "1.5",   "9999999",
                                      "[",   "[1]]", ",",    "1,a", "None,", "1-2-3"};
    for (size_t i = 0; i < N(bad); i++) {
        FAILS(kg_kb_numbers_parse("--x", bad[i], &set, &err), KG_E_USAGE, "--x `");
    }
    WORKS(kg_kb_numbers_range("subset", "(2, 4)", &set, &err));
    assert_true(kg_kb_numbers_has(&set, 2) && kg_kb_numbers_has(&set, 4));
    assert_false(kg_kb_numbers_has(&set, 1) || kg_kb_numbers_has(&set, 5));
    WORKS(kg_kb_numbers_range("subset", "[3,None]", &set, &err));
    assert_true(!kg_kb_numbers_has(&set, 2) && kg_kb_numbers_has(&set, KG_KB_MAX_NUMBER));
    WORKS(kg_kb_numbers_range("subset", "(None, None)", &set, &err));
    assert_int_equal(set.n, 0);
    static const char *const pairs[] = {"(1)", "1", "(1,2,3)", "(4,2)", "", "(a,b)"};
    for (size_t i = 0; i < N(pairs); i++) {
        FAILS(kg_kb_numbers_range("subset", pairs[i], &set, &err), KG_E_USAGE, "a pair is needed");
    }
    struct kg_kb_numbers more;
    WORKS(kg_kb_numbers_range("subset", "(2, 4)", &set, &err));
    WORKS(kg_kb_numbers_parse("problem_ids", "[9]", &more, &err));
    WORKS(kg_kb_numbers_unite(&set, &more, &err));
    assert_true(kg_kb_numbers_has(&set, 3) && kg_kb_numbers_has(&set, 9));
    assert_false(kg_kb_numbers_has(&set, 8));
}

static void problems_are_found_by_id(void **state)
{
    (void)state;
    struct kg_kb_problems list;
    kb_put("kb/level1/2_b.py", "x = 2\n");
    kb_put("kb/level1/010_c.py", "x = 10\n");
    kb_put("kb/level1/1_a.py", "x  =  1 # one\n");
    kb_put("kb/level1/__init__.py", "");
    kb_put("kb/level1/README.md", "");
    kb_put("kb/level4/1_z.py", "x = 2");
    WORKS(kg_kb_problems_load("kb", 1, &list, &err));
    assert_int_equal(list.n, 3);
    assert_string_equal(list.problem[0].name, "1_a.py");
    assert_string_equal(list.problem[2].name, "010_c.py");
    assert_ptr_equal(kg_kb_problem_find(&list, 10), &list.problem[2]);
    assert_null(kg_kb_problem_find(&list, 3));
    assert_null(kg_kb_problem_find(&list, 11));
    assert_true(list.problem[0].path[0] == '/');
    char other[KG_KB_HASH];
    WORKS(kg_kb_hash("x=1", 3, other, &err));
    assert_string_equal(list.problem[0].hash, other);
    kg_kb_problems_deinit(&list);
    WORKS(kg_kb_problems_load("kb/level4", 4, &list, &err)); /* the folder itself */
    assert_int_equal(list.problem[0].level, 4);
    kg_kb_problems_deinit(&list);
    FAILS(kg_kb_problems_load("kb", 2, &list, &err), KG_E_NOT_FOUND, "level2: cannot open");
    FAILS(kg_kb_problems_load("nowhere", 1, &list, &err), KG_E_NOT_FOUND, "nowhere");
    kb_put("kb/level3/README.md", "");
    FAILS(kg_kb_problems_load("kb", 3, &list, &err), KG_E_NOT_FOUND, "no problem there");
    kb_put("kb/level1/01_other.py", "");
    FAILS(kg_kb_problems_load("kb", 1, &list, &err), KG_E_INPUT,
          "`01_other.py` and `1_a.py` have the same id 1");
}

static void runs_become_lines(void **state)
{
    (void)state;
    struct kg_kb_run run;
    struct kg_kb_problems list;
    struct kg_kb_numbers any = {.n = 0}, some;
    struct kg_buf lines;
    int level = 0;
    kb_put("set/level2/3_x.py", "");
    kb_put("set/level2/12_y.py", "");
    kb_put("run/level_2_problem_12_sample_0_kernel.py", "");
    kb_put("run/level_2_problem_3_sample_10_kernel.py", "");
    kb_put("run/level_2_problem_3_sample_2_kernel.py", "");
    kb_put("run/generation_config.yaml", "");
    kg_buf_init(&lines, 1 << 20);
    WORKS(kg_kb_problems_load("set", 2, &list, &err));
    WORKS(kg_kb_run_read("run", &run, &err));
    WORKS(kg_kb_run_choose(&run, &any, &any, &level, &err));
    assert_int_equal(level, 2);
    WORKS(kg_kb_run_lines(&run, &list, &lines, &err));
    char want[8192];
    snprintf(want, sizeof want,
             "{\"id\":\"level_2_problem_3_sample_2\",\"problem\":\"%s/set/level2/3_x.py\","
             "\"source_file\":\"%s/run/level_2_problem_3_sample_2_kernel.py\"}\n"
             "{\"id\":\"level_2_problem_3_sample_10\",\"problem\":\"%s/set/level2/3_x.py\","
             "\"source_file\":\"%s/run/level_2_problem_3_sample_10_kernel.py\"}\n"
             "{\"id\":\"level_2_problem_12_sample_0\",\"problem\":\"%s/set/level2/12_y.py\","
             "\"source_file\":\"%s/run/level_2_problem_12_sample_0_kernel.py\"}\n",
             kb_dir, kb_dir, kb_dir, kb_dir, kb_dir, kb_dir);
    assert_string_equal(lines.data, want);
    WORKS(kg_kb_numbers_parse("", "2-9", &some, &err));
    WORKS(kg_kb_run_choose(&run, &any, &some, &level, &err));
    assert_int_equal(run.n, 1);
    FAILS(kg_kb_run_choose(&run, &some, &any, &(int){3}, &err), KG_E_NOT_FOUND, "of level 3");
    kg_kb_run_deinit(&run);
    kb_put("run/level_1_problem_3_sample_0_kernel.py", "");
    kb_put("run/level_2_problem_99_sample_0_kernel.py", "");
    WORKS(kg_kb_run_read("run", &run, &err));
    level = 0;
    FAILS(kg_kb_run_choose(&run, &any, &any, &level, &err), KG_E_USAGE,
          "levels 1 to 2; name one with --level");
    level = 2;
    WORKS(kg_kb_run_choose(&run, &any, &any, &level, &err));
    FAILS(kg_kb_run_lines(&run, &list, &lines, &err), KG_E_NOT_FOUND,
          "level_2_problem_99_sample_0_kernel.py: level 2 has no problem 99");
    kg_kb_run_deinit(&run);
    kg_kb_problems_deinit(&list);
    kg_buf_deinit(&lines);
    FAILS(kg_kb_run_read("nowhere", &run, &err), KG_E_NOT_FOUND, "nowhere: cannot open");
    WORKS(kg_kb_run_read("set", &run, &err));
    FAILS(kg_kb_run_choose(&run, &any, &any, &level, &err), KG_E_NOT_FOUND, "no kernel there");
    kg_kb_run_deinit(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_of_python), cmocka_unit_test(names_are_taken_or_refused),
        cmocka_unit_test(kernels_have_one_name),      cmocka_unit_test(lists_of_numbers),
        cmocka_unit_test(problems_are_found_by_id),   cmocka_unit_test(runs_become_lines),
    };
    return cmocka_run_group_tests(tests, kb_enter, kb_leave);
}
