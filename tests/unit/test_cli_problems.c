/* kgym problems: what is listed and checked, what is put aside, and what is none. Nothing here
 * needs torch but where it says so. */
#include "kgym_rig.h"

#define MODEL                                                                                      \
    "\"\"\"Twice.\"\"\"\nimport torch\nimport torch.nn as nn\n\nn = 40\n\n\n"                      \
    "class Model(nn.Module):\n    def forward(self, x):\n        return 2 * x\n\n\n"               \
    "def get_inputs():\n    return [torch.randn(n, 3)]\n\n\n"                                      \
    "def get_init_inputs():\n    return []\n"
#define ROW(name, body)                                                                            \
    "{\"entry_point\": \"" name "\", \"python_code\": \"import torch\\nfrom torch.nn import "      \
    "Module\\n\\n\\nclass " name "(Module):\\n    def forward(self, x):\\n        return " body    \
    "\\n\\n\\ndef get_inputs():\\n    return [torch.rand(4, 4)]\\n\\n\\n"                          \
    "def get_init_inputs():\\n    return [[], {}]\\n\"}\n"
#define CPU " --device cpu"

static void lay_out(void)
{
    rig_expect(0,
               "rm -rf suite cache && mkdir -p suite/level1 suite/level4 suite/tools empty/in/it");
    rig_text("suite/level1/1_Twice.py", MODEL);
    rig_text("suite/level1/2_Lost.py", "import torch\n\n\nclass Model:\n    pass\n");
    rig_text("suite/level1/3_Text.py", "this is not python )(\n");
    rig_text("suite/level4/1_Large.py", MODEL);
    rig_text("suite/tools/__init__.py", "x = 1\n");
    rig_text("suite/tools/replies.jsonl", "{\"id\": \"a\", \"reply\": \"\"}\n");
    rig_text("suite/rows.jsonl",
             ROW("Thrice", "3 * x") "\n" ROW(
                 "Zero", "0 * x") "{\"entry_point\": \"Bad\", \"python_code\": \"x = 1\"}\n");
    setenv("KGYM_CACHE", "cache", 1);
}

static void test_what_is_listed(void **state)
{
    (void)state;
    static const char want[] =
        "1_Large                     level 4  suite     Twice. (needs weights from elsewhere: not "
        "judged)\n"
        "1_Twice                     level 1  suite     Twice.\n"
        "rows.jsonl#1                level 1  rows      Thrice\n"
        "rows.jsonl#3                level 1  rows      Zero\n"
        "put aside:\n"
        "  2_Lost: does not define the function `get_inputs`\n"
        "  3_Text: does not define the class `Model`\n"
        "  rows.jsonl#4: does not define the class `Bad`\n";
    lay_out();
    rig_expect(0, "$K problems list --suites suite");
    assert_string_equal(rig.out.data, want);
    rig_expect(0, "$K problems list --suites suite --json | jq -r '[.problem, .note, .put_aside] | "
                  "@csv'");
    rig_shows(
        "\"1_Large\",\"needs weights from elsewhere: not judged\",\n\"1_Twice\",,\n\"2_Lost\",,"
        "\"suite/level1/2_Lost.py: does not define the function `get_inputs`\"\n");
    rig_expect(0, "$K problems list suite/level1 suite/rows.jsonl silu | cut -c1-43");
    assert_string_equal(rig.out.data, "suite/level1/1_Twice.py     level 1  suite \n"
                                      "suite/rows.jsonl#1          level 1  rows  \n"
                                      "suite/rows.jsonl#3          level 1  rows  \n"
                                      "silu                        level 1  native\n"
                                      "put aside:\n"
                                      "  suite/level1/2_Lost.py: does not define t\n"
                                      "  suite/level1/3_Text.py: does not define t\n"
                                      "  suite/rows.jsonl#4: does not define the c\n");
}

/* Shipped rows are problems like others, and have names. */
static void test_shipped_rows(void **state)
{
    (void)state;
    lay_out();
    rig_expect(0, "$K problems list | grep -c '^rows.jsonl#'");
    assert_string_equal(rig.out.data, "6\n");
    rig_expect(0, "$K problems show rows.jsonl#2");
    rig_shows("a candidate defines class PairwiseDistanceNew");
    rig_expect(2, "$K problems show rows.jsonl#7");
    rig_says("the file has no such line");
    rig_expect(2, "$K problems show raws.jsonl#1");
    rig_says("did you mean 'rows.jsonl'");
    rig_expect(0,
               "cp suite/rows.jsonl . && $K problems show rows.jsonl#1"); /* that of the folder */
    rig_shows("class ThriceNew");
    rig_expect(0, "rm rows.jsonl");
}

static void test_nothing_there(void **state)
{
    (void)state;
    static const char *const commands[] = {"list --suites empty", "check --suites empty",
                                           "list empty", "check empty/in",
                                           "check --suites suite:empty"};
    lay_out();
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        rig_expect(2, "$K problems %s", commands[i]);
        rig_says("kgym problems: no problem below empty");
        assert_int_equal(rig.out.len, 0);
    }
    rig_expect(2, ": > none.jsonl; $K problems list none.jsonl");
    rig_says("no problem below none.jsonl");
    rig_expect(2, "$K problems list nosuch.jsonl");
    rig_says("nosuch.jsonl: no such problem file");
    rig_expect(2, "$K problems check ./nosuch.py");
    rig_expect(2, "$K eval ./empty $P/silu.fast.c");
    rig_says("./empty: a folder, not a problem (`kgym problems list` lists what is in it)");
    rig_expect(2, "$K eval ./empty answer.py --source");
}

/* Names of files are shown as text; so are those in a folder that has a problem's name. */
static void test_odd_names(void **state)
{
    (void)state;
    lay_out();
    rig_expect(0, "mkdir odd && cp suite/level1/1_Twice.py \"$(printf 'odd/9_\\033[2Kx.py')\" && "
                  "cp suite/level1/3_Text.py \"$(printf 'odd/8_\\ny.py')\"");
    rig_expect(0, "$K problems list --suites odd");
    assert_null(strchr(rig.out.data, 033));
    rig_shows("9_\xEF\xBF\xBD[2Kx ");
    rig_shows("\n  8_ y: does not define");
    rig_expect(0, "cp suite/level1/1_Twice.py \"$(printf 'odd/7_\\377z.py')\"");
    rig_expect(0, "$K problems list --suites odd");
    rig_shows("z: its name is not UTF-8");
    rig_expect(0, "$K problems list --suites odd --json | wc -l");
    assert_string_equal(rig.out.data, "3\n");
    rig_expect(1, "$K problems list --suites odd --json | grep -v '^{'"); /* no empty line */
    rig_expect(0, "mkdir -p silu && $K problems list silu");
    rig_shows("silu                        level 1  native");
}

static void test_many_words(void **state)
{
    (void)state;
    lay_out();
    rig_expect(0, "$K problems list $(yes silu | head -300) | wc -l");
    assert_string_equal(rig.out.data, "300\n");
}

static void need_torch(void)
{
    if (rig_run("$K problems check suite/level1/1_Twice.py" CPU) == 2 &&
        strstr(rig.err.data, "make torch")) {
        printf("skip: %s", rig.err.data);
        skip();
    }
}

/* With torch: the set, what is put aside of it, and going on. */
static void test_a_set_is_checked(void **state)
{
    (void)state;
    lay_out();
    need_torch();
    rig_expect(1, "$K problems check --suites suite" CPU);
    rig_shows("DEFECT  1_Large             2 checks\n        weights: ");
    rig_shows("ok      1_Twice            ");
    rig_shows("DEFECT  2_Lost              1 check\n        parses: ");
    rig_shows("ok      rows.jsonl#1 Thrice ");
    rig_shows("DEFECT  rows.jsonl#3 Zero ");
    rig_shows("2 of 7 problems are fit to judge with\nput aside:\n  1_Large: weights\n"
              "  2_Lost: parses\n  3_Text: parses\n  rows.jsonl#3 Zero: zeros, mean, ");
    rig_shows("  rows.jsonl#4: parses\n");
    rig_expect(1, "$K problems check --suites suite --resume --json" CPU " > all");
    rig_expect(0, "jq -r '[.problem, .pass, (.path | sub(\".*/\"; \"\"))] | @csv' all");
    rig_shows("\"1_Twice\",true,\"1_Twice.py\"\n");
    rig_shows("\"Zero\",false,\"rows.jsonl#3\"\n");
    rig_expect(1, "$K problems check --suites suite --resume" CPU);
    rig_shows(
        "ok      1_Twice            13 checks     0.5 KB in,    0.5 KB out  (checked before)");
    rig_shows("2 of 7 problems are fit to judge with; 3 were checked before\n");
    rig_expect(1,
               "$K problems check --suites suite --resume --cache none suite/level1/3_Text.py" CPU);
}

/* What cannot be looked at is in no list of those that are fit. */
static void test_one_that_is_too_large(void **state)
{
    (void)state;
    lay_out();
    need_torch();
    rig_expect(0, "sed -i 's/n = 40/n = 1 << 34/' suite/level1/1_Twice.py");
    rig_expect(2, "$K problems check suite/level1/1_Twice.py suite/rows.jsonl#1" CPU);
    rig_says("kgym problems: suite/level1/1_Twice.py: ");
    rig_shows("1 of 2 problems are fit to judge with\nput aside:\n"
              "  suite/level1/1_Twice.py: it could not be looked at\n");
    rig_expect(2, "$K problems check suite/level1/1_Twice.py --json" CPU);
    json_t *j = rig_json();
    assert_true(json_is_null(json_object_get(j, "pass")));
    assert_string_equal(rig_get(json_object_get(j, "error"), "code"), "host");
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_listed),
        cmocka_unit_test(test_shipped_rows),
        cmocka_unit_test(test_nothing_there),
        cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_many_words),
        cmocka_unit_test(test_a_set_is_checked),
        cmocka_unit_test(test_one_that_is_too_large),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
