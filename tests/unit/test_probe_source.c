/* Candidates made from a problem: their text, that each compiles, and what they compute, in this
 * process: they are the project's own code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/eval/paths.h"
#include "gym/native/native_panel.h"

static char dir[64];

static int setup(void **state)
{
    (void)state;
    setenv("KGYM_HOME", getenv("KGYM_BUILD"), 1);
    snprintf(dir, sizeof dir, "/tmp/kgym-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return kg_file_remove_tree(dir, &err) == KG_OK ? 0 : -1;
}

/* A dim that no argument carries (twice), names that C's library has (free, a0), two outputs. */
static const char awkward[] =
    "/*---kgym\nname: awkward\nlevel: 1\nentry: awkward\n"
    "dims: {free: 3, a0: 4, twice: 2 * a0}\nargs:\n"
    "  - {name: s, type: \"i32[free]\", role: in}\n"
    "  - {name: x, type: \"f32[free,a0]\", role: in}\n"
    "  - {name: y, type: \"f32[free,twice]\", role: out}\n"
    "  - {name: m, type: \"i32[free]\", role: out}\n"
    "  - {name: free, type: i64, role: dim}\n"
    "  - {name: a0, type: i64, role: dim}\n"
    "  - {name: scale, type: f32, role: param, value: 3}\n---*/\n"
    "#include <stdint.h>\n"
    "void awkward(const int32_t *s, const real *x, real *y, int32_t *m, int64_t free, int64_t a0,\n"
    "             float scale)\n{\n"
    "    for (int64_t i = 0; i < free; i++) {\n        m[i] = s[i];\n"
    "        for (int64_t j = 0; j < 2 * a0; j++) {\n"
    "            y[2 * a0 * i + j] = scale * x[a0 * i + j % a0] + s[i];\n        }\n    }\n}\n";
typedef void awkward_fn(const int32_t *s, const float *x, float *y, int32_t *m, int64_t rows,
                        int64_t cols, float scale);

static struct kg_problem *load(const char *text)
{
    char path[100];
    struct kg_err err = KG_ERR_INIT;
    struct kg_problem *p = NULL;
    snprintf(path, sizeof path, "%s/p.c", dir);
    assert_int_equal(kg_file_write_atomic(path, text, strlen(text), &err), KG_OK);
    if (kg_problem_load(path, &p, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return p;
}

static void *build(const struct kg_buf *source, const char *entry)
{
    static int number;
    char command[1200], c[100], so[100];
    struct kg_err err = KG_ERR_INIT;
    struct kg_paths paths;
    assert_int_equal(kg_paths_find("", &paths, &err), KG_OK);
    snprintf(c, sizeof c, "%s/made%d.c", dir, number);
    snprintf(so, sizeof so, "%s/made%d.so", dir, number++);
    assert_true(kg_buf_ok(source));
    assert_int_equal(kg_file_write_atomic(c, source->data, source->len, &err), KG_OK);
    snprintf(command, sizeof command,
             "gcc -std=gnu17 -O1 -Wall -Werror -Wno-unused -fPIC -shared -I%s -o %s %s "
             "%s/libkgops.so -lm",
             paths.kgops_dir, so, c, paths.kgops_dir);
    if (system(command) != 0) {
        fail_msg("does not compile:\n%s", source->data);
    }
    void *handle = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fail_msg("%s", dlerror());
    }
    void *fn = dlsym(handle, entry);
    assert_non_null(fn);
    return fn;
}

static struct {
    int32_t s[3], m[3];
    float x[12], y[24];
} data;

static void call(const struct kg_buf *source)
{
    union {
        void *object;
        awkward_fn *fn;
    } entry = {.object = build(source, "awkward")};
    for (int i = 0; i < 12; i++) {
        data.x[i] = (float)(i + 1);
    }
    for (int i = 0; i < 3; i++) {
        data.s[i] = 100 * (i + 1);
        data.m[i] = -1;
    }
    for (int i = 0; i < 24; i++) {
        data.y[i] = -1;
    }
    entry.fn(data.s, data.x, data.y, data.m, 3, 4, 3);
}

static void test_the_reference_is_itself(void **state)
{
    (void)state;
    struct kg_problem *p = load(awkward);
    struct kg_buf b;
    kg_buf_init(&b, 1 << 16);
    kg_probe_reference(p, &b);
    call(&b);
    assert_true(data.y[0] == 103 && data.y[4] == 103 && data.y[23] == 336 && data.m[2] == 300);
    kg_buf_deinit(&b);
    kg_problem_destroy(p);
}

static void test_trivial_answers(void **state)
{
    (void)state;
    struct kg_problem *p = load(awkward);
    static const char *const names[] = {"zeros", "ones", "first input"};
    for (int t = 0; t < KG_TRIVIAL_COUNT; t++) {
        struct kg_buf b;
        kg_buf_init(&b, 1 << 16);
        assert_string_equal(kg_trivial_name((enum kg_trivial)t), names[t]);
        kg_probe_trivial(p, (enum kg_trivial)t, &b);
        call(&b);
        for (int i = 0; i < 24; i++) {
            float want = t == KG_TRIVIAL_FIRST_INPUT ? (float)data.s[i % 3] : (float)t;
            assert_true(data.y[i] == want);
        }
        for (int i = 0; i < 3; i++) {
            assert_int_equal(data.m[i], t == KG_TRIVIAL_FIRST_INPUT ? data.s[i] : t);
        }
        kg_buf_deinit(&b);
    }
    kg_problem_destroy(p);
}

static void test_frozen_inputs(void **state)
{
    (void)state;
    struct kg_problem *p = load(awkward);
    struct kg_buf b;
    kg_buf_init(&b, 1 << 16);
    kg_probe_frozen(p, 0, &b);
    call(&b);
    assert_true(data.y[0] == 103 && data.y[23] == 136 && data.m[2] == 100);
    assert_int_equal(data.s[2], 300); /* the input itself is untouched */
    kg_buf_reset(&b);
    kg_probe_frozen(p, 1, &b);
    call(&b);
    assert_true(data.y[0] == 103 && data.y[23] == 303 && data.m[2] == 300);
    kg_buf_deinit(&b);
    kg_problem_destroy(p);
}

static const char small[] = "/*---kgym\nname: half\nlevel: 1\nentry: half\ndims: {n: 8}\nargs:\n"
                            "  - {name: x, type: \"f32[2*n]\", role: in}\n"
                            "  - {name: y, type: \"f32[n]\", role: out}\n"
                            "  - {name: n, type: i64, role: dim}\n---*/\n"
                            "void half(const real *x, real *y, long n) { y[0] = x[n]; }\n";

#define INCLUDES                                                                                   \
    "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n"           \
    "#define KG_MIN(a, b) ((a) < (b) ? (a) : (b))\n"                                               \
    "#define KG_MAX(a, b) ((a) > (b) ? (a) : (b))\n"                                               \
    "#define KG_CEIL_DIV(a, b) (((a) + (b) - 1) / (b))\n"
#define OPENING                                                                                    \
    "void half(const float *kgym_a0, float *kgym_a1, int64_t kgym_a2)\n{\n"                        \
    "    const int64_t n = kgym_a2;\n    (void)n;\n"

static void test_golden_text(void **state)
{
    (void)state;
    struct kg_problem *p = load(small);
    struct kg_buf b;
    kg_buf_init(&b, 1 << 16);
    kg_probe_trivial(p, KG_TRIVIAL_FIRST_INPUT, &b);
    assert_string_equal(
        b.data, INCLUDES OPENING
        "    for (int64_t kgym_i = 0, kgym_n = (int64_t)1 * n; kgym_i < kgym_n; kgym_i++) {\n"
        "        kgym_a1[kgym_i] = (float)kgym_a0[kgym_i % ((int64_t)1 * ((int64_t)2 * n))];\n"
        "    }\n}\n");
    kg_buf_reset(&b);
    kg_probe_frozen(p, 0, &b);
    char want[4096];
    snprintf(want, sizeof want, "%s%s%s%s", "#define real float\n#define half kgym_inner\n", small,
             "\n#undef half\n" INCLUDES OPENING,
             "    const int64_t kgym_n = (int64_t)1 * ((int64_t)2 * n);\n"
             "    float *kgym_frozen = __builtin_malloc((size_t)kgym_n * sizeof *kgym_frozen);\n"
             "    for (int64_t kgym_i = 0; kgym_i < kgym_n; kgym_i++) {\n"
             "        kgym_frozen[kgym_i] = kgym_a0[0];\n    }\n"
             "    kgym_inner(kgym_frozen, kgym_a1, kgym_a2);\n"
             "    __builtin_free(kgym_frozen);\n}\n");
    assert_string_equal(b.data, want);
    kg_buf_deinit(&b);
    kg_problem_destroy(p);
}

static void test_every_shipped_problem_compiles(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_paths paths;
    char **path;
    size_t n;
    assert_int_equal(kg_paths_find("", &paths, &err), KG_OK);
    assert_int_equal(kg_problem_list(paths.suites, paths.nsuites, &path, &n, &err), KG_OK);
    for (size_t i = 0; i < n; i++) {
        struct kg_problem *p;
        struct kg_buf b;
        int arg = 0;
        assert_int_equal(kg_problem_load(path[i], &p, &err), KG_OK);
        while (p->args[arg].role != KG_ROLE_IN) {
            arg++;
        }
        kg_buf_init(&b, 1 << 20);
        kg_probe_trivial(p, KG_TRIVIAL_FIRST_INPUT, &b);
        build(&b, p->entry);
        kg_buf_reset(&b);
        kg_probe_frozen(p, arg, &b);
        build(&b, p->entry);
        kg_buf_deinit(&b);
        kg_problem_destroy(p);
        free(path[i]);
    }
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_text),
        cmocka_unit_test(test_the_reference_is_itself),
        cmocka_unit_test(test_trivial_answers),
        cmocka_unit_test(test_frozen_inputs),
        cmocka_unit_test(test_every_shipped_problem_compiles),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
