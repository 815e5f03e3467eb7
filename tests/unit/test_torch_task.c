/* PyTorch problems as text: what modules and rows tell by their tokens, how they are found, the
 * description that a reference runner gives, and which laws follow from it. Nothing is executed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <sys/stat.h>

#include "base/file.h"
#include "gym/reply/check.h"
#include "gym/torch/onboard/panel_source.h"
#include "gym/torch/problem/input_plan.h"
#include "gym/torch/problem/module.h"
#include "gym/torch/problem/own_law.h"
#include "gym/torch/problem/suite.h"
#include "gym/torch/problem/task.h"

#define PROBLEM                                                                                    \
    "class Model:\n    pass\n\n\ndef get_inputs():\n    return []\n\n\n"                           \
    "def get_init_inputs():\n    return []\n"

static void modules(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool triton;
    } imports[] = {
        {"import triton\n", true},
        {"import torch, triton\n", true},
        {"import triton.language as tl\n", true},
        {"from triton import jit\n", true},
        {"from triton.language import exp\n", true},
        {"def f():\n    import triton\n", true},
        {"if True: import triton\n", true},
        {"x = 1; import triton\n", true},
        {"try:\n    import triton\nexcept ImportError:\n    pass\n", true},
        {"import torch as triton_like\n", false},
        {"import torch\n# import triton\n", false},
        {"s = 'import triton'\n", false},
        {"triton = 1\n", false},
        {"from torch import triton\n", false},
        {"import tritonx\n", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof imports / sizeof *imports; i++) {
        bool is = kg_module_imports(imports[i].text, strlen(imports[i].text), "triton");
        if (is != imports[i].triton) {
            fail_msg("%s: %d", imports[i].text, is);
        }
    }
    assert_true(kg_module_is_problem(PROBLEM, strlen(PROBLEM)));
    assert_false(kg_module_is_problem("class Model:\n    pass\n", 22));
    assert_true(kg_module_defines("if a:\n    class X:\n        pass\n", 32, "X"));
    assert_false(kg_module_defines("X = 1\n", 6, "Y"));
}

static void docs(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"\"\"\"One line.\"\"\"\n", "One line."},
        {"'''Two\nlines, joined.\n\nMore.'''\n", "Two lines, joined."},
        {"# comment\n\"short\"\n", "short"},
        {"r\"\"\"raw\"\"\"\n", "raw"},
        {"import torch\n", ""},
        {"\"\"\"never closed", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_arena a;
        struct kg_err err = KG_ERR_INIT;
        kg_arena_init(&a, "test", 1 << 16);
        assert_string_equal(kg_module_doc(cases[i][0], strlen(cases[i][0]), &a, &err), cases[i][1]);
        kg_arena_deinit(&a);
    }
}

static void refuse(const char *text, const char *path, const char *why)
{
    struct kg_tproblem *p;
    struct kg_err err = KG_ERR_INIT;
    if (kg_tproblem_parse(text, strlen(text), path, &p, &err) == KG_OK) {
        fail_msg("accepted: %s", text);
    }
    if (strstr(err.message, why) == NULL) {
        fail_msg("%s: not `%s`", err.message, why);
    }
}

static void problems(void **state)
{
    (void)state;
    struct kg_tproblem *p;
    struct kg_err err = KG_ERR_INIT;
    static const struct {
        const char *path, *suite, *name;
        int level;
    } at[] = {
        {"/x/KernelBench/level2/19_Conv.py", "KernelBench", "19_Conv", 2},
        {"/x/suite/level_3/a.py", "suite", "a", 3},
        {"/x/suite/L4/a.py", "L4", "a", 1},
        {"/x/suite/l4/a.py", "suite", "a", 4},
        {"/x/suite/2/a.py", "suite", "a", 2},
        {"/x/level12/a.py", "level12", "a", 1},
        {"dir/a.py", "dir", "a", 1},
        {"a.py", "", "a", 1},
    };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        assert_int_equal(kg_tproblem_parse(PROBLEM, strlen(PROBLEM), at[i].path, &p, &err), KG_OK);
        assert_string_equal(p->suite, at[i].suite);
        assert_string_equal(p->name, at[i].name);
        assert_int_equal(p->level, at[i].level);
        assert_string_equal(p->entry, "ModelNew");
        assert_string_equal(p->reference, "Model");
        kg_tproblem_destroy(p);
    }
    refuse("x = 1\n", "a.py", "a.py: does not define the class `Model`");
    refuse("class Model:\n    pass\n", "a.py", "does not define the function `get_inputs`");
    refuse("class Model:\n    pass\ndef get_inputs():\n    pass\n", "a.py", "`get_init_inputs`");
}

static char folder[256];

static void put(const char *name, const char *text)
{
    char path[512];
    struct kg_err err = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(kg_file_write_atomic(path, text, strlen(text), &err), KG_OK);
}

static int setup(void **state)
{
    (void)state;
    char path[300];
    snprintf(folder, sizeof folder, "/tmp/kgym-suite-XXXXXX");
    if (!mkdtemp(folder)) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/level1", folder);
    return mkdir(path, 0755);
}

static int teardown(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return kg_file_remove_tree(folder, &err) == KG_OK ? 0 : -1;
}

static void finding(void **state)
{
    (void)state;
    const char *suites[] = {folder};
    char path[512];
    struct kg_err err = KG_ERR_INIT;
    put("level1/01_one.py", PROBLEM);
    put("level1/02_two.py", PROBLEM);
    put("02_two.py", PROBLEM);
    assert_int_equal(kg_tsuite_find("01_one", suites, 1, path, sizeof path, &err), KG_OK);
    assert_non_null(strstr(path, "/level1/01_one.py"));
    assert_int_equal(kg_tsuite_find("01_one.py", suites, 1, path, sizeof path, &err), KG_OK);
    assert_int_equal(kg_tsuite_find("02_two", suites, 1, path, sizeof path, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "ambiguous"));
    assert_int_equal(kg_tsuite_find("01_onw", suites, 1, path, sizeof path, &err), KG_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "did you mean '01_one'"));
    assert_int_equal(kg_tsuite_find("/no/such.py", suites, 1, path, sizeof path, &err),
                     KG_E_NOT_FOUND);
    assert_int_equal(kg_tsuite_find("no.jsonl#1", suites, 1, path, sizeof path, &err),
                     KG_E_NOT_FOUND);
    assert_true(kg_tsuite_is_path("a.jsonl#3") && kg_tsuite_is_path("a.py"));
    assert_true(kg_tsuite_is_path("a#b/a.jsonl#3") && kg_tsuite_is_path("a#b/a.py"));
    char file[512];
    snprintf(file, sizeof file, "%s/a#b", folder);
    assert_int_equal(kg_file_mkdirs(file, 0755, &err), KG_OK);
    put("a#b/03_three.py", PROBLEM);
    snprintf(file, sizeof file, "%s/a#b/03_three.py", folder);
    assert_int_equal(kg_tsuite_find(file, suites, 1, path, sizeof path, &err), KG_OK);
    assert_string_equal(path, file);
    assert_false(kg_tsuite_is_path("a.c") || kg_tsuite_is_path("silu"));
}

static void rows(void **state)
{
    (void)state;
    static const struct {
        const char *row, *why;
    } bad[] = {
        {"{\"entry_point\": \"A\"}", "python_code: a string is needed"},
        {"{\"python_code\": \"x\"}", "entry_point: the name of a class is needed"},
        {"{\"python_code\": \"x\", \"entry_point\": \"1A\"}", "entry_point"},
        {"{\"python_code\": \"x\", \"entry_point\": \"A B\"}", "entry_point"},
        {"{\"python_code\": \"x\", \"entry_point\": \"A\"}", "does not define the class `A`"},
        {"[1]", "a row is one JSON object"},
        {"{", "rows.jsonl#"},
        {"{\"python_code\": \"class A:\\u0000 pass\", \"entry_point\": \"A\"}", "NUL"},
    };
    struct kg_buf all;
    struct kg_tproblem *p;
    struct kg_err err = KG_ERR_INIT;
    char path[512];
    kg_buf_init(&all, 1 << 16);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kg_buf_addf(&all, "%s\n", bad[i].row);
    }
    kg_buf_adds(&all, "{\"python_code\": \"class A:\\n  pass\\ndef get_inputs():\\n  pass\\n"
                      "def get_init_inputs():\\n  pass\\n\", \"entry_point\": \"A\"}");
    put("rows.jsonl", all.data);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(path, sizeof path, "%s/rows.jsonl#%zu", folder, i + 1);
        assert_int_not_equal(kg_tproblem_load(path, &p, &err), KG_OK);
        if (strstr(err.message, bad[i].why) == NULL) {
            fail_msg("%s: not `%s`", err.message, bad[i].why);
        }
    }
    snprintf(path, sizeof path, "%s/rows.jsonl#%zu", folder, sizeof bad / sizeof *bad + 1);
    assert_int_equal(kg_tproblem_load(path, &p, &err), KG_OK);
    assert_string_equal(p->entry, "ANew");
    assert_string_equal(p->suite, "rows");
    kg_tproblem_destroy(p);
    static const char *const places[] = {"#0", "#", "#1x", "", "#99"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/rows.jsonl%s", folder, places[i]);
        assert_int_not_equal(kg_tproblem_load(path, &p, &err), KG_OK);
    }
    kg_buf_deinit(&all);
}

/* --- descriptions --- */

#define INIT "'init': {'args': [3], 'kwargs': {}}, 'template': ['T']"
#define INPUT                                                                                      \
    "{'dtype': 'float32', 'shape': [4, 6], 'min': -2.5, 'max': 2.5, 'mean': 0, 'sd': 1, "          \
    "'distinct': 24, 'finite': true, 'whole': false, 'fixed': false}"
#define STATE                                                                                      \
    "{'name': 'weight', 'dtype': 'float32', 'shape': [6], 'mean': 1, 'sd': 0, 'min': 1, "          \
    "'max': 1}"

static enum kg_code parse(const char *text, struct kg_task_desc *d, struct kg_err *err)
{
    char json[4096];
    json_t *j;
    snprintf(json, sizeof json, "%s", text);
    for (char *c = json; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    assert_int_equal(kg_json_parse(json, strlen(json), "test", &j, err), KG_OK);
    enum kg_code code = kg_task_parse(j, "p.py", d, err);
    json_decref(j);
    return code;
}

static void description(void **state)
{
    (void)state;
    struct kg_task_desc *d = malloc(sizeof *d);
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(parse("{" INIT ", 'inputs': [" INPUT "], 'state': [" STATE "], "
                           "'outputs': [" INPUT "], 'constants': {'n': 4, 'bad name': 1, 'x': 'y'},"
                           " 'random': true, 'updates_state': false, 'deterministic': true}",
                           d, &err),
                     KG_OK);
    assert_int_equal(d->ninputs, 1);
    assert_int_equal(d->elements, 24);
    assert_int_equal(d->input_bytes, 96);
    assert_int_equal(d->state_bytes, 24);
    assert_int_equal(d->output_bytes, 96);
    assert_int_equal(d->input[0].leaf.stride[0], 6);
    assert_int_equal(d->nconstants, 1);
    assert_true(d->random && d->repeats && !d->updates_state && !d->writes_inputs);
    assert_string_equal(d->state[0].leaf.name, "weight");
    char text[64];
    kg_task_leaf_text(&d->input[0].leaf, text, sizeof text);
    assert_string_equal(text, "[4,6] float32");
    kg_task_deinit(d);
    kg_task_deinit(d);
    free(d);
}

/* Compared after calls is what they change and a candidate needs; all of it where nothing is said.
 */
static void left_by_calls(void **state)
{
    (void)state;
#define ONE(NAME, MORE) "{'name': '" NAME "', 'dtype': 'float32', 'shape': [6]" MORE "}"
#define SAID                                                                                       \
    ONE("a", ", 'changed': false, 'need': 'n'")                                                    \
    ", " ONE("b", ", 'changed': true, 'need': 'n'") ", " ONE("c", ", 'changed': true, 'need': "    \
                                                                  "'i'")
    static const struct {
        const char *state, *updates;
        size_t left;
    } cases[] = {
        {SAID, "true", 1},
        {SAID, "false", 0},
        {ONE("a", "") ", " ONE("b", ""), "true", 2},
        {ONE("a", ", 'changed': true, 'need': 'i'") ", " ONE("b", ", 'changed': false"), "true", 0},
    };
    struct kg_task_desc *d = malloc(sizeof *d);
    struct kg_err err = KG_ERR_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2000];
        snprintf(text, sizeof text,
                 "{" INIT ", 'inputs': [" INPUT "], 'state': [%s], 'outputs': [" INPUT "], "
                 "'updates_state': %s}",
                 cases[i].state, cases[i].updates);
        assert_int_equal(parse(text, d, &err), KG_OK);
        assert_int_equal(d->nleft, cases[i].left);
        kg_task_deinit(d);
    }
    free(d);
}

static void layouts(void **state)
{
    (void)state;
    static const struct {
        const char *stride;
        uint32_t laid;
        uint64_t bytes;
    } cases[] = {
        {"[6, 1]", 0, 96},
        {"[1, 4]", 1, 96},
        {"[0, 1]", 1, 24},
        {"[12, 2]", 1, 4 * (36 + 10 + 1)},
    };
    struct kg_task_desc *d = malloc(sizeof *d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_err err = KG_ERR_INIT;
        char text[500];
        snprintf(text, sizeof text,
                 "{" INIT ", 'inputs': [{'dtype': 'float32', 'shape': [4, 6], 'stride': %s}], "
                 "'state': []}",
                 cases[i].stride);
        assert_int_equal(parse(text, d, &err), KG_OK);
        assert_int_equal(d->input[0].leaf.laid, cases[i].laid);
        assert_int_equal(d->input[0].leaf.bytes, cases[i].bytes);
        assert_int_equal(d->input_bytes, cases[i].bytes);
        kg_task_deinit(d);
    }
    free(d);
}

static void bad_descriptions(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{}", "init: {args, kwargs} is needed"},
        {"{'init': {'args': 1, 'kwargs': {}}}", "init"},
        {"{'init': {'args': [], 'kwargs': {}}}", "template: a list is needed"},
        {"{" INIT "}", "inputs: a list is needed"},
        {"{" INIT ", 'inputs': [1]}", "inputs[0]: an object is needed"},
        {"{" INIT ", 'inputs': [{'dtype': 'complex64', 'shape': []}]}",
         "inputs[0].dtype: not a dtype that can be judged"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8'}]}", "inputs[0].shape"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8', 'shape': [0]}]}", "inputs[0].shape"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8', 'shape': [-1]}]}", "inputs[0].shape"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8', 'shape': [1.5]}]}", "inputs[0].shape"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8', 'shape': [1,1,1,1,1,1,1,1,1]}]}", "at most 8"},
        {"{" INIT ", 'inputs': [{'dtype': 'float64', 'shape': [3037000500, 3037000500]}]}",
         "more than 64 GB"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8', 'shape': [9223372036854775807, 2]}]}",
         "more than 64 GB"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8', 'shape': [64000000000]}, {'dtype': 'int8', "
         "'shape': [64000000000]}]}",
         "inputs: more than 64 GB together"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8', 'shape': [4, 6], 'stride': [6]}]}",
         "inputs[0].stride: a number for each extent"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8', 'shape': [4], 'stride': 1}]}", "each extent"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8', 'shape': [4], 'stride': [-1]}]}",
         "no integer of at least 0"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8', 'shape': [4], 'stride': [36000000000]}]}",
         "stride: more than 64 GB"},
        {"{" INIT ", 'inputs': [{'dtype': 'int8', 'shape': [9, 9], 'stride': "
         "[2305843009213693952, 2305843009213693952]}]}",
         "stride: more than 64 GB"},
        {"{" INIT ", 'inputs': [" INPUT "]}", "state: a list is needed"},
        {"{" INIT ", 'inputs': [], 'state': [{'dtype': 'int8', 'shape': []}]}", "state[0].name"},
        {"{" INIT ", 'inputs': [], 'state': [{'name': 'a b', 'dtype': 'int8', 'shape': []}]}",
         "state[0].name"},
        {"{" INIT ", 'inputs': [], 'state': [" STATE ", " STATE "]}",
         "state[1].name: two tensors have this name"},
        {"{" INIT ", 'inputs': [], 'state': [], 'outputs': []}", "the answer holds no tensor"},
        {"{" INIT ", 'inputs': [], 'state': [], 'outputs': 3}", "outputs: a list is needed"},
    };
    struct kg_task_desc *d = malloc(sizeof *d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_err err = KG_ERR_INIT;
        if (parse(cases[i].text, d, &err) == KG_OK) {
            fail_msg("accepted: %s", cases[i].text);
        }
        assert_int_equal(err.code, KG_E_PROBLEM);
        if (strstr(err.message, cases[i].why) == NULL || strncmp(err.message, "p.py", 4) != 0) {
            fail_msg("%s: not `%s`", err.message, cases[i].why);
        }
    }
    free(d);
}

/* --- laws --- */

static struct kg_task_input input(enum kg_tdtype t, struct kg_tstats s)
{
    struct kg_task_input in = {.leaf = {.dtype = t, .rank = 1, .shape = {1000}}, .stats = s};
    return in;
}

static void free_inputs(void **state)
{
    (void)state;
    const struct kg_tstats spread = {
        .min = -3, .max = 3, .sd = 1, .distinct = 1000, .finite = true};
    struct kg_tstats s = spread;
    struct kg_task_input in = input(KG_TD_F32, s);
    assert_true(kg_tplan_free(&in));
    in = input(KG_TD_I64, s);
    assert_false(kg_tplan_free(&in)); /* indices are the reference's own */
    s.fixed = true;
    in = input(KG_TD_F32, s);
    assert_false(kg_tplan_free(&in)); /* a table, a mask */
    s = spread;
    s.distinct = 2;
    in = input(KG_TD_F32, s);
    assert_false(kg_tplan_free(&in)); /* a mask that is drawn */
    s = spread;
    s.whole = true;
    in = input(KG_TD_F32, s);
    assert_false(kg_tplan_free(&in)); /* classes, as floats */
    s = spread;
    s.finite = false;
    in = input(KG_TD_F32, s);
    assert_false(kg_tplan_free(&in));
    s = spread;
    s.sd = NAN;
    in = input(KG_TD_F32, s);
    assert_false(kg_tplan_free(&in));
}

/* One input has full significands, whichever; every other is one power of two. */
static void precise_inputs(void **state)
{
    (void)state;
    struct kg_task_desc *d = calloc(1, sizeof *d);
    const struct kg_tstats spread = {
        .min = 0, .max = 1, .sd = 0.3, .distinct = 1000, .finite = true};
    bool was[3] = {false};
    d->ninputs = 3;
    d->input[0] = input(KG_TD_F32, spread);
    d->input[1] = input(KG_TD_F16, spread); /* rounds what it holds as it is */
    d->input[2] = input(KG_TD_F64, spread);
    assert_true(kg_tplan_probed(d));
    for (uint64_t key = 0; key < 40; key++) {
        size_t full = 0;
        for (size_t i = 0; i < 3; i++) {
            struct kg_dj_law law;
            int power;
            kg_tplan_law(d, i, KG_TL_PRECISION, (struct kg_key){{key, 7}}, &law);
            was[i] = was[i] || law.kind == KG_DJ_FULL;
            full += law.kind == KG_DJ_FULL;
            assert_true(law.kind == KG_DJ_FULL || law.kind == KG_DJ_CONSTANT);
            assert_true(law.kind == KG_DJ_FULL ||
                        (frexp(law.a, &power) == 0.5 && law.a >= 0.25 && law.a <= 4));
        }
        assert_int_equal(full, 1);
    }
    assert_true(was[0] && !was[1] && was[2]);
    d->ninputs = 2;
    d->input[0] = input(KG_TD_BF16, spread);
    assert_false(kg_tplan_probed(d));
    free(d);
}

/* Of sums of all that give few numbers, parts of the inputs differ. */
static void parts_of_long_sums_differ(void **state)
{
    (void)state;
    struct kg_task_desc *d = calloc(1, sizeof *d);
    const struct kg_key k = {{4, 7}};
    d->ninputs = 1;
    d->noutputs = 2;
    d->input[0] =
        input(KG_TD_F32,
              (struct kg_tstats){
                  .min = 0, .max = 1, .mean = 0.5, .sd = 0.2887, .distinct = 1000, .finite = true});
    for (int more = 0; more < 2; more++) {
        d->output[0].leaf = (struct kg_tleaf){.rank = 1, .shape = {32 + more}};
        d->output[1].leaf = (struct kg_tleaf){.rank = 1, .shape = {32}};
        for (int l = 0; l < KG_TL_COUNT; l++) {
            struct kg_dj_law law = {.uneven = KG_DJ_UNEVENS};
            enum kg_dj_uneven want = more                ? KG_DJ_EVEN
                                     : l == KG_TL_RAISED ? KG_DJ_EIGHTHS
                                     : l == KG_TL_SPIKE  ? KG_DJ_TILES
                                                         : KG_DJ_EVEN;
            assert_true(!kg_tplan_made(d, 0, (enum kg_tlaw)l, k, false, &law) ||
                        law.uneven == want);
        }
    }
    free(d);
}

/* Laws near the own one: whose values the judge makes, and what it makes of them. */
static void near_laws(void **state)
{
    (void)state;
    struct kg_task_desc *d = calloc(1, sizeof *d);
    struct kg_dj_law law;
    double least = INFINITY, most = 0;
    int negative = 0, shifted = 0;
    d->ninputs = 3;
    d->input[0] =
        input(KG_TD_F32,
              (struct kg_tstats){
                  .min = 0, .max = 1, .mean = 0.5, .sd = 0.2887, .distinct = 1000, .finite = true});
    d->input[1] = input(KG_TD_F32, (struct kg_tstats){.min = -3.2,
                                                      .max = 9.8,
                                                      .mean = 0.5,
                                                      .sd = 0.3,
                                                      .distinct = 1000,
                                                      .finite = true}); /* neither law */
    d->input[2] = input(KG_TD_I64, d->input[0].stats);
    for (uint64_t key = 0; key < 200; key++) {
        const struct kg_key k = {{key << 8, 7}};
        assert_true(kg_tplan_made(d, 0, KG_TL_RAISED, k, false, &law));
        assert_int_equal(law.kind, KG_DJ_UNIFORM);
        double factor = law.b - law.a, shift = (law.a + law.b) / 2;
        least = fmin(least, factor);
        most = fmax(most, factor);
        negative += shift < 0;
        shifted += fabs(fabs(shift / factor) - 0.5) > 1e-9;
        assert_true(fabs(shift / factor) <= 8.5 + 1e-9);
        assert_true(kg_tplan_made(d, 0, KG_TL_TOUCHED, k, false, &law));
        assert_true(law.a == 0 && law.b == 1);
        assert_true(kg_tplan_gentle(kg_tplan_gently(k, true)));
        assert_int_equal(kg_tplan_touch_key(k, KG_TL_TOUCHED).w[1] % 2, 0);
        assert_int_equal(kg_tplan_touch_key(k, KG_TL_ELSEWHERE).w[1] % 2, 1);
        assert_false(kg_tplan_gentle(kg_tplan_gently(k, false)));
    }
    assert_true(least > 0.124 && least < 0.2 && most > 40 && most <= 64);
    assert_true(negative > 30 && negative < 120 && shifted > 60 && shifted < 140);
    const struct kg_key k = {{4, 7}};
    assert_false(kg_tplan_made(d, 0, KG_TL_TOUCHED, k, true, &law)); /* all are drawn */
    assert_false(kg_tplan_made(d, 1, KG_TL_TOUCHED, k, false, &law));
    assert_false(kg_tplan_made(d, 2, KG_TL_RAISED, k, false, &law));
    assert_true(kg_tplan_made(d, 1, KG_TL_NORMAL, k, true, &law));
    assert_true(kg_tplan_touch_unit(d, 1, KG_TL_ELSEWHERE) == 9.8);
    assert_true(kg_tplan_touch_unit(d, 1, KG_TL_RAISED) == 0);
    assert_true(kg_tplan_touch_unit(d, 2, KG_TL_TOUCHED) == 0);
    assert_int_equal(kg_tplan_draw(d, KG_TL_TOUCHED, k, false), 0); /* the judge touches it */
    assert_int_equal(kg_tplan_draw(d, KG_TL_RAISED, k, false) & KG_TF_LAWS,
                     KG_TF_LAW * (KG_TL_RAISED + 1));
    d->ninputs = 1;
    assert_int_equal(kg_tplan_draw(d, KG_TL_RAISED, k, false), 0);
    assert_int_equal(kg_tplan_draw(d, KG_TL_RAISED, k, true), KG_TF_LAW * (KG_TL_RAISED + 1));
    free(d);
}

static uint32_t bits(enum kg_tstructure a, enum kg_tstructure b)
{
    return 1u << a | 1u << b;
}

/* Inputs with structure: which of them laws and edits may change, and what their draw is told. */
static void kept_inputs(void **state)
{
    (void)state;
    struct kg_task_desc *d = calloc(1, sizeof *d);
    const struct kg_tstats spread = {
        .min = 0, .max = 1, .sd = 0.3, .distinct = 1000, .finite = true};
    static const enum kg_tplan_kept want[KG_TX_COUNT] = {
        [KG_TX_ZEROS] = KG_TK_WITHIN,    [KG_TX_SYMMETRIC] = KG_TK_WITHIN,
        [KG_TX_EQUAL] = KG_TK_WITHIN,    [KG_TX_DEFINITE] = KG_TK_SCALED,
        [KG_TX_DOMINANT] = KG_TK_SCALED, [KG_TX_SORTED] = KG_TK_SCALED,
        [KG_TX_REPEATED] = KG_TK_SCALED};
    const struct kg_key key = {{5, 7}};
    enum kg_tlaw laws[KG_TL_COUNT];
    struct kg_rng rng;
    kg_rng_init(&rng, key, 0);
    d->ninputs = 1;
    d->input[0] = input(KG_TD_F32, spread);
    assert_int_equal(kg_tplan_draw(d, KG_TL_LARGE, key, false), 0); /* the judge's own */
    for (int x = 0; x < KG_TX_COUNT; x++) {
        d->input[0].structure = bits((enum kg_tstructure)x, KG_TX_ZEROS);
        enum kg_tplan_kept kept = kg_tplan_keeps(&d->input[0]);
        bool within = kept == KG_TK_WITHIN;
        size_t n = kg_tplan_full(d, true, 4, false, (uint64_t[KG_TL_COUNT]){0}, &rng, laws);
        assert_int_equal(kept, want[x]);
        assert_false(kg_tplan_free(&d->input[0]));
        assert_int_equal(kg_tplan_edited(d, key), within ? 0 : -1);
        assert_int_equal(kg_tplan_probed(d), within);
        assert_int_equal(n, within                 ? 3 + (KG_TL_DRAWN - KG_TL_BF16) + 4
                            : kept == KG_TK_SCALED ? 4
                                                   : 2);
        assert_int_equal(kg_tplan_draw(d, KG_TL_NEW, key, false), 0);
        assert_int_equal(kg_tplan_draw(d, KG_TL_LARGE, key, false) != 0, kept != KG_TK_OWN);
        assert_int_equal(kg_tplan_draw(d, KG_TL_EDITED, key, false) != 0, within);
    }
    d->ninputs = 2;
    d->input[1] = input(KG_TD_F32, spread);
    d->input[1].structure = 1u << KG_TX_ZEROS;
    d->input[0].stats.whole = true; /* unlike classes, it may be edited */
    assert_int_equal(kg_tplan_edited(d, key), 1);
    assert_int_equal(kg_tplan_draw(d, KG_TL_EDITED, key, false),
                     KG_TF_LAW * (KG_TL_EDITED + 1) + KG_TF_WHICH);
    d->input[1].stats.fixed = true;
    assert_int_equal(kg_tplan_edited(d, key), -1);
    assert_int_equal(kg_tplan_keeps(&d->input[1]), KG_TK_OWN);
    int edits[3] = {0};
    d->ninputs = 3; /* of floats and integers either is edited in turn */
    d->input[0] = d->input[1] = input(KG_TD_F32, spread);
    d->input[2] = input(KG_TD_I64, spread);
    for (uint64_t i = 0; i < 400; i++) {
        edits[kg_tplan_edited(d, (struct kg_key){{i, 3}})]++;
    }
    assert_true(edits[2] > 150 && edits[2] < 250 && edits[0] > 50 && edits[1] > 50);
    d->ninputs = 1;
    d->input[0] = d->input[2]; /* or what there is */
    assert_int_equal(kg_tplan_edited(d, key), 0);
    d->input[0].stats.fixed = true; /* but no table, of integers or floats */
    assert_int_equal(kg_tplan_edited(d, key), -1);
    d->input[0] = input(KG_TD_F32, spread);
    assert_int_equal(kg_tplan_edited(d, key), 0);
    d->input[0].stats.fixed = true;
    assert_int_equal(kg_tplan_edited(d, key), -1);
    assert_true(KG_TL_COUNT < KG_TF_LAWS / KG_TF_LAW);
    assert_int_equal(KG_TASK_INPUTS, KG_TF_WHICHES / KG_TF_WHICH + 1);
    kg_rng_deinit(&rng);
    free(d);
}

static struct kg_tleaf leaf(enum kg_tdtype t, uint32_t rank, int64_t a, int64_t b)
{
    return (struct kg_tleaf){.dtype = t, .rank = rank, .shape = {a, b}};
}

static void reductions(void **state)
{
    (void)state;
    struct kg_task_desc *d = calloc(1, sizeof *d);
    assert_int_equal(kg_tplan_reduction(d), 1);
    d->ninputs = d->noutputs = 1;
    d->input[0].leaf = leaf(KG_TD_F32, 2, 64, 5000);
    d->output[0].leaf = leaf(KG_TD_F32, 2, 64, 5000);
    assert_int_equal(kg_tplan_reduction(d), 1); /* element by element */
    d->output[0].leaf = leaf(KG_TD_F32, 1, 64, 0);
    assert_int_equal(kg_tplan_reduction(d), 5000); /* sums of rows */
    d->ninputs = 2;
    d->input[1].leaf = leaf(KG_TD_F32, 2, 5000, 32);
    d->output[0].leaf = leaf(KG_TD_F32, 2, 64, 32);
    assert_int_equal(kg_tplan_reduction(d), 5000); /* a product */
    d->input[0].leaf = leaf(KG_TD_F32, 2, 64, 32);
    d->input[1].leaf = leaf(KG_TD_F32, 2, 32, 5000);
    d->output[0].leaf = leaf(KG_TD_F32, 2, 64, 5000);
    assert_int_equal(kg_tplan_reduction(d), 32); /* whichever is the larger */
    d->noutputs = 2;
    d->output[1].leaf = leaf(KG_TD_F32, 1, 2, 0);
    assert_int_equal(kg_tplan_reduction(d), 32); /* of the largest answer */
    d->input[1].leaf.dtype = KG_TD_I64;
    assert_int_equal(kg_tplan_reduction(d), 1); /* indices are not summed */
    struct kg_task_state weight;
    d->nstate = 1;
    d->state = &weight;
    weight.leaf = leaf(KG_TD_F32, 2, 16, 700);
    assert_int_equal(kg_tplan_reduction(d), 700); /* a row of a weight */
    weight.leaf = leaf(KG_TD_F32, 2, 1, 700);
    assert_int_equal(kg_tplan_reduction(d), 1); /* a table that is added */
    d->input[0].leaf = leaf(KG_TD_F32, 2, 1 << 15, 1 << 15);
    d->noutputs = 1;
    d->output[0].leaf = leaf(KG_TD_F32, 0, 0, 0);
    assert_int_equal(kg_tplan_reduction(d), 1 << 20);
    free(d);
}

/* A number that makes no sense is as none at all: sizes tell. */
static void described_terms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t want;
    } row[] = {{"", 0},
               {", 'terms': 1", 1},
               {", 'terms': 4096", 4096},
               {", 'terms': 1099511627776", KG_TASK_TERMS},
               {", 'terms': 1099511627777", 0},
               {", 'terms': 0", 0},
               {", 'terms': -5", 0},
               {", 'terms': 7.0", 0},
               {", 'terms': '7'", 0},
               {", 'terms': true", 0},
               {", 'terms': null", 0},
               {", 'terms': [7]", 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[2000];
        struct kg_err err = KG_ERR_INIT;
        struct kg_task_desc *d = calloc(1, sizeof *d);
        snprintf(text, sizeof text, "{" INIT ", 'inputs': [" INPUT "], 'state': []%s}",
                 row[i].text);
        assert_int_equal(parse(text, d, &err), KG_OK);
        assert_int_equal(d->terms, row[i].want);
        kg_task_deinit(d);
        free(d);
    }
}

/* What the reference was seen to depend on, where that is more than sizes say; of equal terms
 * squared, but never what sizes say. */
static void terms(void **state)
{
    (void)state;
    static const struct {
        int64_t terms, k, of_equal;
    } row[] = {{0, 50, 50},
               {1, 50, 50},
               {7, 50, 50},
               {8, 50, 64},
               {60, 60, 3600},
               {1 << 20, 1 << 20, (int64_t)1 << 40},
               {KG_TASK_TERMS, 1 << 20, (int64_t)1 << 40}};
    struct kg_task_desc *d = calloc(1, sizeof *d);
    d->ninputs = d->noutputs = 1;
    d->input[0].leaf = leaf(KG_TD_F32, 2, 64, 50);
    d->output[0].leaf = leaf(KG_TD_F32, 1, 64, 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        d->terms = row[i].terms;
        assert_int_equal(kg_tplan_reduction(d), row[i].k);
        for (int law = 0; law < KG_TL_COUNT; law++) {
            bool walks = law != KG_TL_EQUAL && !kg_tplan_touches((enum kg_tlaw)law);
            int64_t want = walks ? row[i].k : row[i].of_equal;
            assert_int_equal(kg_tplan_k(d, (enum kg_tlaw)law), want);
        }
    }
    free(d);
}

static void plans(void **state)
{
    (void)state;
    struct kg_task_desc *d = calloc(1, sizeof *d);
    const struct kg_tstats spread = {
        .min = 0, .max = 1, .sd = 0.3, .distinct = 1000, .finite = true};
    enum kg_tlaw laws[KG_TL_COUNT];
    uint64_t fresh[KG_TL_COUNT] = {0}, rank[KG_TL_COUNT];
    struct kg_rng rng;
    kg_rng_init(&rng, (struct kg_key){{1, 2}}, 0);
    d->ninputs = 1;
    d->input[0] = input(KG_TD_F32, spread);
    assert_int_equal(kg_tplan_full(d, false, 4, false, fresh, &rng, laws), 1);
    size_t n = kg_tplan_full(d, true, 4, false, fresh, &rng, laws);
    assert_int_equal(n, 3 + (KG_TL_DRAWN - KG_TL_BF16) + 4);
    assert_int_equal(laws[0], KG_TL_OWN);
    assert_int_equal(laws[1], KG_TL_EDITED); /* right after its twin */
    bool seen[KG_TL_COUNT] = {false};
    for (size_t i = 0; i < n; i++) {
        assert_false(seen[laws[i]]);
        seen[laws[i]] = true;
    }
    assert_false(seen[KG_TL_RELOAD]);
    assert_true(seen[KG_TL_PRECISION]);
    for (int l = 0; l < KG_TL_COUNT; l++) { /* two come first, in any order, then others */
        rank[l] = l == KG_TL_SPARSE || l == KG_TL_SMALL ? 0 : l == KG_TL_EQUAL ? 7 : 3;
    }
    bool first[KG_TL_COUNT] = {false}, then[KG_TL_COUNT] = {false};
    for (int i = 0; i < 200; i++) {
        n = kg_tplan_full(d, true, 3, false, rank, &rng, laws);
        assert_int_equal(n, 3 + (KG_TL_DRAWN - KG_TL_BF16) + 3);
        first[laws[n - 3]] = first[laws[n - 2]] = then[laws[n - 1]] = true;
    }
    for (int l = KG_TL_DRAWN; l < KG_TL_COUNT; l++) {
        assert_true(first[l] == (rank[l] == 0) && then[l] == (rank[l] == 3));
    }
    assert_int_equal(kg_tplan_full(d, true, 1, false, rank, &rng, laws), n - 2);
    assert_int_equal(rank[laws[n - 3]], 0);
    d->input[0] = input(KG_TD_F16, spread);
    n = kg_tplan_full(d, true, 4, false, fresh, &rng, laws);
    for (size_t i = 0; i < n; i++) {
        assert_true(laws[i] != KG_TL_PRECISION);
    }
    d->input[0] = input(KG_TD_F32, spread);
    struct kg_task_state one = {.need = KG_TN_NEEDED};
    d->nstate = 1;
    d->state = &one;
    assert_int_equal(kg_tplan_full(d, true, 99, false, fresh, &rng, laws), KG_TL_COUNT);
    assert_int_equal(kg_tplan_full(d, true, 0, true, fresh, &rng, laws), KG_TL_COUNT);
    d->input[0] = input(KG_TD_I64, spread);
    assert_int_equal(kg_tplan_full(d, true, 4, false, fresh, &rng, laws), 4);
    assert_int_equal(laws[1], KG_TL_EDITED);
    d->input[0].structure = 1u << KG_TX_SORTED;
    assert_int_equal(kg_tplan_full(d, true, 4, false, fresh, &rng, laws), 3); /* own, new, reload */
    d->input[0] = input(KG_TD_BOOL, spread);
    assert_int_equal(kg_tplan_full(d, true, 4, false, fresh, &rng, laws), 3);
    for (int l = 0; l < KG_TL_COUNT; l++) {
        enum kg_tlaw back;
        assert_true(kg_tlaw_parse(kg_tlaw_name((enum kg_tlaw)l), &back));
        assert_int_equal(back, l);
    }
    enum kg_tlaw none;
    assert_false(kg_tlaw_parse("no such law", &none));
    kg_rng_deinit(&rng);
    free(d);
}

static void parameters(void **state)
{
    (void)state;
    struct kg_dj_law law;
    const struct kg_key key = {{3, 4}};
    struct kg_task_state s = {.leaf = {.dtype = KG_TD_F32, .rank = 1, .shape = {64}},
                              .stats = {.min = 1, .max = 1, .mean = 1, .sd = 0, .distinct = 1}};
    assert_true(
        kg_tplan_state(&s, key, 0, &law)); /* a scale of ones stays positive, not constant */
    assert_true(law.a > 0 && law.b > law.a);
    s.stats = (struct kg_tstats){.min = 0, .max = 0, .mean = 0, .sd = 0, .distinct = 1};
    assert_true(kg_tplan_state(&s, key, 0, &law)); /* a bias of zeros */
    assert_true(law.a < 0 && law.b > 0);
    s.leaf.rank = 2;
    s.leaf.shape[1] = 10000;
    assert_true(kg_tplan_state(&s, key, 0, &law));
    assert_true(law.b < 0.02); /* by its fan-in */
    s.stats = (struct kg_tstats){.min = 0.01, .max = 4, .mean = 1, .sd = 1, .distinct = 60};
    assert_true(kg_tplan_state(&s, key, 0, &law)); /* a variance */
    assert_true(law.a > 0);
    s.stats = (struct kg_tstats){.min = 0, .max = 1, .mean = 0.5, .sd = 0.5, .distinct = 2};
    assert_true(kg_tplan_state(&s, key, 0, &law));
    s.buffer = true;
    assert_false(kg_tplan_state(&s, key, 0, &law)); /* a causal mask of floats */
    s.buffer = false;
    s.stats.mean = NAN;
    assert_false(kg_tplan_state(&s, key, 0, &law)); /* -inf in it */
    s.leaf.dtype = KG_TD_I64;
    s.stats.mean = 1;
    assert_false(kg_tplan_state(&s, key, 0, &law)); /* a counter */
}

/* --- the static check --- */

static void labels(void **state)
{
    (void)state;
    static const struct {
        const char *text, *rule; /* NULL: none */
    } cases[] = {
        {"class ModelNew:\n    pass\n", NULL},
        {"class Other:\n    pass\n", "entry-missing"},
        {"class ModelNew:\n    pass\ntorch.cuda.synchronize = lambda: None\n", "patches-torch"},
        {"class ModelNew:\n    pass\ny = torch.cuda.synchronize\n", NULL},
        {"class ModelNew:\n    pass\nf(torch.x == 1, a=torch.y)\n", NULL},
        {"class ModelNew:\n    f = torch.compile(g)\n", "compiler"},
        {"class ModelNew:\n    f = re.compile('x')\n", NULL},
        {"class ModelNew:\n    # torch.compile(x)\n    s = 'torch.compile'\n", NULL},
        {"class ModelNew:\n    def f(self):\n        try:\n            x()\n        except E:\n"
         "            y()\n",
         "except"},
        {"class ModelNew:\n    s = torch.cuda.Stream()\n", "stream"},
        {"class ModelNew:\n    p = x.data_ptr()\n", "address"},
        {"class ModelNew:\n    def f(self):\n        self.eval()\n", NULL},
        {"class ModelNew:\n    x = eval('1')\n", "dynamic-code"},
        {"class ModelNew:\n    import ctypes\n", "raw-memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_finding f[8];
        size_t n = kg_check_python(cases[i].text, strlen(cases[i].text), "ModelNew", f, 8);
        bool good = cases[i].rule ? n == 1 && strcmp(f[0].rule, cases[i].rule) == 0 : n == 0;
        if (!good) {
            fail_msg("%s: %zu findings, %s", cases[i].text, n, n ? f[0].rule : "none");
        }
        assert_true(n == 0 || f[0].severity < KG_SEV_REJECT);
    }
}

static void probes(void **state)
{
    (void)state;
    struct kg_tproblem *p;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf b;
    kg_buf_init(&b, 1 << 16);
    assert_int_equal(kg_tproblem_parse(PROBLEM, strlen(PROBLEM), "a.py", &p, &err), KG_OK);
    for (int k = 0; k < KG_TPROBE_COUNT; k++) {
        kg_buf_reset(&b);
        kg_tprobe_source(p, (enum kg_tprobe)k, &b);
        assert_int_equal(kg_lex_defines(KG_LANG_PYTHON, b.data, b.len, "ModelNew"), KG_DEF_WHOLE);
        assert_non_null(kg_tprobe_name((enum kg_tprobe)k));
    }
    kg_tproblem_destroy(p);
    kg_buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules),
        cmocka_unit_test(docs),
        cmocka_unit_test(problems),
        cmocka_unit_test(finding),
        cmocka_unit_test(rows),
        cmocka_unit_test(description),
        cmocka_unit_test(left_by_calls),
        cmocka_unit_test(layouts),
        cmocka_unit_test(bad_descriptions),
        cmocka_unit_test(free_inputs),
        cmocka_unit_test(precise_inputs),
        cmocka_unit_test(parts_of_long_sums_differ),
        cmocka_unit_test(near_laws),
        cmocka_unit_test(kept_inputs),
        cmocka_unit_test(reductions),
        cmocka_unit_test(described_terms),
        cmocka_unit_test(terms),
        cmocka_unit_test(plans),
        cmocka_unit_test(parameters),
        cmocka_unit_test(labels),
        cmocka_unit_test(probes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
