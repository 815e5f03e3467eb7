/* What the compilers of a PyTorch candidate say, on its way to the model: extensions that do not
 * build at import, in the constructor or in a call, linkers and loaders, Triton's compiler, and the
 * lines of a traceback. What could carry an input is filtered. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include "gym/feedback/feedback.h"
#include "gym/torch/judging/complaint.h"

/* Without torch's headers, which take a minute to read. */
#define BUILD(more, code) "load_inline('own', '''\n" code "''', no_implicit_headers=True" more ")\n"
#define IMPORT            "from torch.utils.cpp_extension import load_inline\n\n\n"
#define BAD               "int half(int n) {\n    return n + pp;\n}\n"

static char cache[64];

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = 0;
    config.torch_first_call = 120;
    return rig_open();
}

static void judge_text(const char *text, struct kg_record *r)
{
    char all[8192];
    need_torch();
    snprintf(all, sizeof all, "%s%s", HEAD, text);
    judge("affine.py", all, KG_ST_FULL, r);
}

/* What a model reads of the record. */
static void feedback(const struct kg_record *r, struct kg_buf *out)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_feedback_spec spec = {.tokens = 2000};
    kg_buf_init(out, 1 << 16);
    assert_int_equal(kg_feedback_render(r, &spec, out, &err), KG_OK);
}

static void expect_text(const char *text, const char *want, const char *const *parts)
{
    struct kg_record r;
    struct kg_buf out;
    char got[100];
    judge_text(text, &r);
    seen(&r, got, sizeof got);
    if (strcmp(got, want) != 0) {
        fail_msg("%s, not %s (%s)", got, want, r.has_error ? r.error.message : r.message);
    }
    feedback(&r, &out);
    for (; *parts; parts++) {
        bool absent = **parts == '!';
        if ((strstr(out.data, *parts + absent) == NULL) != absent) {
            fail_msg("%s `%s`:\n%s", absent ? "there is" : "no", *parts + absent, out.data);
        }
    }
    kg_buf_deinit(&out);
    kg_record_deinit(&r);
}

/* The line of the source that the compiler quotes, and its words, whatever the command's length. */
static void an_extension_at_import(void **state)
{
    (void)state;
    static const char *const parts[] = {"First error, line 12: ‘pp’ was not declared in this scope",
                                        ">  12 |     return n + pp;",
                                        "main.cpp:3:16: error: ‘pp’ was not declared",
                                        "!-MMD",
                                        "!FAILED",
                                        NULL};
    expect_text(IMPORT BUILD("", BAD) FORWARD ANSWER, "compile_error/syntax", parts);
    expect_text(IMPORT BUILD(", extra_cflags=['-DKGYM_%d=1' % i for i in range(900)]", BAD)
                    FORWARD ANSWER,
                "compile_error/syntax", parts);
}

static void an_extension_in_the_constructor(void **state)
{
    (void)state;
    static const char *const parts[] = {"error: ‘pp’ was not declared in this scope", NULL};
    expect_text(IMPORT "class ModelNew(nn.Module):\n    def __init__(self, cols):\n"
                       "        super().__init__()\n        " BUILD("", BAD),
                "compile_error/syntax", parts);
}

static void linkers_and_loaders(void **state)
{
    (void)state;
    static const char *const library[] = {"cannot find -lnosuch", NULL};
    static const char *const symbol[] = {"undefined symbol: _Z5ppv17v", NULL};
    expect_text(IMPORT BUILD(", extra_ldflags=['-lnosuch']", "int half(int n) { return n / 2; }\n")
                    FORWARD ANSWER,
                "compile_error/link", library);
    expect_text(IMPORT BUILD("", "int ppv17();\nint half() { return ppv17(); }\n") FORWARD ANSWER,
                "compile_error/load", symbol);
}

/* Inputs are there by then: words without numbers. */
static void an_extension_in_a_call(void **state)
{
    (void)state;
    static const char *const words[] = {"error: 'pp' was not declared in this scope", "!-MMD",
                                        "!What the compiler said", NULL};
    static const char *const leak[] = {"error: got N", "!0.", "!What the compiler said", NULL};
    expect_text(IMPORT FORWARD "        " BUILD("", BAD), "crash/exception", words);
    expect_text(FORWARD "        raise RuntimeError('build failed\\na.cpp:1:2: error: got %r' "
                        "% x.flatten()[0].item())\n",
                "crash/exception", leak);
}

/* Whoever forges its runner's reply in a call has seen inputs, too. */
static void a_log_that_comes_late(void **state)
{
    (void)state;
    static const char *const parts[] = {"!17", "!What the compiler said", NULL};
    expect_text("import kgym_harness.explain as e\n\ne.explain = lambda *a: (1, {'type': 'Error', "
                "'log': 'a.cpp:1:2: error: got 17.25'})\n\n\n" FORWARD
                "        raise ValueError('no')\n",
                "crash/exception", parts);
}

/* A process of the same source that had inputs may have left what the next one finds. */
static void builds_that_are_kept_tell_nothing(void **state)
{
    (void)state;
    static const char text[] =
        HEAD "at = '/tmp/extensions/own/note'\nif os.path.exists(at):\n"
             "    raise RuntimeError('build failed\\na.cpp:1:2: error: ' + open(at).read())\n"
             "os.makedirs(os.path.dirname(at), exist_ok=True)\n\n\n" FORWARD
             "        with open(at, 'w') as f:\n            f.write('got 17.25')\n" ANSWER;
    struct kg_worker *w, *mine = worker;
    struct kg_config kept = config;
    struct kg_err err = KG_ERR_INIT;
    struct kg_record r;
    struct kg_buf out;
    char got[100];
    need_torch();
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(kept.cache, sizeof kept.cache, "%s", cache);
    assert_int_equal(kg_worker_open(&kept, -1, NULL, &w, &err), KG_OK);
    worker = w;
    judge("affine.py", text, KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_OK);
    kg_record_deinit(&r);
    judge("affine.py", text, KG_ST_FULL, &r);
    worker = mine;
    seen(&r, got, sizeof got);
    assert_non_null(evidence(&r, "builds"));
    assert_string_equal(got, "compile_error/load");
    assert_null(evidence(&r, "compiler"));
    feedback(&r, &out);
    assert_null(strstr(out.data, "17"));
    kg_buf_deinit(&out);
    kg_record_deinit(&r);
    kg_worker_close(w);
}

/* The candidate's own lines, and no other's. */
static void lines_of_a_traceback(void **state)
{
    (void)state;
    static const char *const parts[] = {"Called through lines 17, 8, 12.",
                                        ">  12 |     raise ValueError('no')", NULL};
    expect_text(
        "def first(f, x):\n    return torch.vmap(f)(x)\n\n\n"
        "def second(x):\n    raise ValueError('no')\n\n\n"
        "class ModelNew(nn.Module):\n    def forward(self, x, z):\n"
        "        return first(second, x)\n\n    def __init__(self, cols):\n"
        "        super().__init__()\n        self.weight = nn.Parameter(torch.ones(cols))\n",
        "crash/exception", parts);
    static const char *const most[] = {"Called through lines 8, 8, 8, 8, 8, 8.", NULL};
    expect_text("def down(n):\n    return down(n - 1) if n else 1 / 0\n\n\n" FORWARD
                "        return down(20)\n",
                "crash/exception", most);
}

/* Its own words and the kernel's line, not the kernel's text. */
static void tritons_compiler(void **state)
{
    (void)state;
    static const char *const parts[] = {"CompilationError: NameError('nosuch is not defined')",
                                        ">  19 |     tl.store(y + i, nosuch)", "!at N:N", NULL};
    struct kg_record r;
    judge_text(FORWARD ANSWER, &r);
    kg_record_deinit(&r);
    if (!json_is_string(json_object_get(kg_torch_of(worker)->zygote[0].facts, "triton"))) {
        printf("skip: triton is missing\n");
        skip();
    }
    expect_text(
        "import triton\nimport triton.language as tl\n"
        "from triton.backends.compiler import GPUTarget\n"
        "from triton.runtime.jit import JITFunction\n\n\n"
        "def inner(y, i):\n    pass\n\n\n"
        "def kernel(y):\n    i = tl.arange(0, 16)\n    tl.store(y + i, nosuch)\n\n\n" FORWARD
        "        source = triton.compiler.ASTSource(fn=JITFunction(kernel), "
        "signature={'y': '*fp32'})\n"
        "        triton.compile(source, target=GPUTarget('cuda', 90, 32))\n" ANSWER,
        "crash/exception", parts);
}

/* Logs as gcc, nvcc and NVRTC write them. */
static void logs(void **state)
{
    (void)state;
    static const char code[] = "import torch\nsource = '''\n"
                               "__global__ void k(float *y) { y[0] = pp; }\n  y += 1;\n"
                               "  twice;\n  twice;\n'''\n";
    static const struct {
        const char *log, *reason, *first;
        int line;
    } cases[] = {
        {"/tmp/e/main.cpp:4:3: error: 'y' was not declared\n    4 |   y += 1;\n      |   ^\n",
         "syntax", "'y' was not declared", 4},
        {"/tmp/e/cuda.cu(2): error: identifier \"pp\" is undefined\n"
         "  __global__ void k(float *y) { y[0] = pp; }\n                   ^\n",
         "syntax", "identifier \"pp\" is undefined", 3},
        {"cuda.cu(2): error: twice is not\n  twice;\n", "syntax", "twice is not", 0},
        {"cuda.cu(2): error: far away\n\n\n\n\n\n  y += 1;\n", "syntax", "far away", 0},
        {"/usr/bin/ld: main.o: in function `f': undefined reference to `g'\n"
         "collect2: error: ld returned 1 exit status\n",
         "link", "undefined reference to `g'", 0},
        {"c++: fatal error: Killed signal terminated program cc1plus\n", "limits",
         "Killed signal terminated program cc1plus", 0},
        {"cc1plus: out of memory allocating 65536 bytes\nmain.cpp:1:1: error: x\n", "limits", "x",
         0},
        {"/tmp/e/own.so: undefined symbol: _Z2ppv", "load", "own.so: undefined symbol: _Z2ppv", 0},
        {"", "syntax", "", 0},
        {"a.cpp:1:1: error: ", "syntax", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_tcomplaint c;
        struct kg_buf text;
        kg_buf_init(&text, 1 << 16);
        kg_tcomplaint_read(cases[i].log, code, &text, &c);
        assert_string_equal(c.reason, cases[i].reason);
        assert_string_equal(c.first, cases[i].first);
        assert_int_equal(c.line, cases[i].line);
        assert_null(memmem(text.data, text.len, "/tmp", 4));
        kg_buf_deinit(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs),
        cmocka_unit_test(an_extension_at_import),
        cmocka_unit_test(an_extension_in_the_constructor),
        cmocka_unit_test(linkers_and_loaders),
        cmocka_unit_test(an_extension_in_a_call),
        cmocka_unit_test(a_log_that_comes_late),
        cmocka_unit_test(builds_that_are_kept_tell_nothing),
        cmocka_unit_test(lines_of_a_traceback),
        cmocka_unit_test(tritons_compiler),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
