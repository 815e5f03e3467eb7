/* The probe's launch records, through a CUPTI that is played: attribution by the calling object,
 * windows, graphs, and launches that are made to do nothing. Loads libkgym_probe as Python does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <unistd.h>

#include "base/json.h"
#include "probe/profile.h"
#include "tests/fake_cuda/agree.h"
#include "tests/fake_cuda/fake_cupti.h"

static struct {
    __typeof__(kg_prof_open) *open;
    __typeof__(kg_prof_error) *error;
    __typeof__(kg_prof_label) *label;
    __typeof__(kg_prof_suppress) *suppress;
    __typeof__(kg_prof_begin) *begin;
    __typeof__(kg_prof_end) *end;
    __typeof__(kg_prof_take) *take;
    __typeof__(kg_prof_class_of) *class_of;
    __typeof__(kg_prof_compiled) *compiled;
} probe;

static struct {
    __typeof__(kg_fake_cupti_launch) *launch;
    __typeof__(kg_fake_cupti_module) *module;
    __typeof__(kg_fake_cupti_clone) *clone;
    __typeof__(kg_fake_cupti_graph) *graph;
    __typeof__(kg_fake_cupti_copy) *copy;
    __typeof__(kg_fake_cupti_wait) *wait;
    __typeof__(kg_fake_cupti_back) *back;
    __typeof__(kg_fake_cupti_drop) *drop;
} fake;

/* As CUPTI does on its own, once a buffer is full. */
static __typeof__(cuptiActivityFlushAll) *deliver;

static void *library(const char *name, const char *variable)
{
    char path[512];
    const char *build = getenv("KGYM_BUILD");
    snprintf(path, sizeof path, "%s/%s", build ? build : "build/release", name);
    if (variable) {
        setenv(variable, path, 1);
    }
    void *handle = dlopen(path, RTLD_NOW);
    if (!handle) {
        print_error("%s\n", dlerror());
    }
    return handle;
}

static int setup(void **state)
{
    (void)state;
    void *p = library("libkgym_probe.so", NULL), *f = library("libfakecupti.so", "KGYM_LIBCUPTI");
    if (!p || !f || !library("libfakecuda.so", "KGYM_LIBCUDA")) {
        return -1;
    }
#define FIND(of, name, symbol) *(void **)&of.name = dlsym(strcmp(#of, "fake") ? p : f, symbol #name)
    FIND(probe, open, "kg_prof_");
    FIND(probe, error, "kg_prof_");
    FIND(probe, label, "kg_prof_");
    FIND(probe, suppress, "kg_prof_");
    FIND(probe, begin, "kg_prof_");
    FIND(probe, end, "kg_prof_");
    FIND(probe, take, "kg_prof_");
    FIND(probe, class_of, "kg_prof_");
    FIND(probe, compiled, "kg_prof_");
    FIND(fake, launch, "kg_fake_cupti_");
    FIND(fake, module, "kg_fake_cupti_");
    FIND(fake, clone, "kg_fake_cupti_");
    FIND(fake, graph, "kg_fake_cupti_");
    FIND(fake, copy, "kg_fake_cupti_");
    FIND(fake, wait, "kg_fake_cupti_");
    FIND(fake, back, "kg_fake_cupti_");
    FIND(fake, drop, "kg_fake_cupti_");
#undef FIND
    *(void **)&deliver = dlsym(f, "cuptiActivityFlushAll");
    /* this program is nobody's library, so what it launches is its own */
    return probe.class_of && probe.open && probe.open("/usr:/nowhere") == 0 ? 0 : -1;
}

static json_t *take(void)
{
    static char text[64 << 10];
    json_error_t e;
    long n = probe.take(text, sizeof text);
    assert_true(n > 0);
    assert_int_equal(strlen(text), n);
    json_t *t = json_loads(text, 0, &e);
    assert_non_null(t);
    return t;
}

static int64_t number(const json_t *o, const char *key)
{
    assert_true(json_is_integer(json_object_get(o, key)));
    return json_integer_value(json_object_get(o, key));
}

static const json_t *kernel(const json_t *t, const char *name)
{
    size_t i;
    json_t *k;
    json_array_foreach(json_object_get(t, "kernels"), i, k)
    {
        if (strcmp(json_string_value(json_object_get(k, "name")), name) == 0) {
            return k;
        }
    }
    fail_msg("no row of %s", name);
    return NULL;
}

static void launch(const char *name, uint64_t ns)
{
    struct kg_launch_params p = {.function = &p};
    fake.launch(KG_CUPTI_LAUNCH, name, &p, ns, 0, false);
}

static void window_begin(void)
{
    fake.wait(10);
    probe.begin();
    fake.wait(10);
}

static void window_end(void)
{
    fake.wait(10);
    probe.end();
    fake.wait(10);
}

static int forget(void **state)
{
    (void)state;
    probe.suppress(NULL);
    probe.label(KG_PROF_UNKNOWN);
    json_decref(take());
    return 0;
}

/* --- tests --- */

static void only_windows_count(void **state)
{
    (void)state;
    launch("before", 100);
    window_begin();
    launch("relu", 300);
    fake.copy(KG_CUPTI_MEMCPY, 40);
    deliver(0);
    fake.copy(KG_CUPTI_MEMSET, 30);
    launch("relu", 200);
    window_end();
    launch("after", 100);
    json_t *t = take();
    assert_int_equal(json_array_size(json_object_get(t, "kernels")), 1);
    const json_t *k = kernel(t, "relu");
    assert_string_equal(json_string_value(json_object_get(k, "class")), "own");
    assert_int_equal(number(k, "calls"), 2);
    assert_int_equal(number(k, "ns"), 500);
    assert_int_equal(number(t, "memcpy_ns"), 40);
    assert_int_equal(number(t, "memset_ns"), 30);
    assert_int_equal(number(t, "span_ns"), 570);
    assert_int_equal(number(t, "dropped") + number(t, "missing") + number(t, "suppressed"), 0);
    json_decref(t);
    t = take(); /* forgotten */
    assert_int_equal(json_array_size(json_object_get(t, "kernels")), 0);
    assert_int_equal(number(t, "span_ns"), 0);
    json_decref(t);
}

/* The sum is the time in which anything ran, however many did. */
static void time_counts_once(void **state)
{
    (void)state;
    window_begin();
    launch("long", 1000);
    fake.back(800);
    launch("beside", 300); /* within the other */
    fake.back(100);
    launch("behind", 400); /* 100 of it beside */
    window_end();
    json_t *t = take();
    assert_int_equal(number(kernel(t, "long"), "ns"), 1000);
    assert_int_equal(number(kernel(t, "beside"), "ns"), 0);
    assert_int_equal(number(kernel(t, "behind"), "ns"), 300);
    assert_int_equal(number(t, "span_ns"), 1300);
    json_decref(t);
}

static void what_is_lost_is_told(void **state)
{
    (void)state;
    struct kg_launch_params p = {.function = &p};
    window_begin();
    launch("seen", 10);
    fake.launch(KG_CUPTI_LAUNCH, "unseen", &p, 10, 0, true);
    window_end();
    json_t *t = take();
    assert_int_equal(number(t, "missing"), 1);
    json_decref(t);
    window_begin();
    launch("seen", 10);
    fake.drop(3);
    window_end();
    t = take();
    assert_int_equal(number(t, "dropped"), 3);
    json_decref(t);
    window_begin();
    for (int i = 0; i < KG_PROF_LAUNCHES + 5; i++) {
        launch("many", 1);
    }
    window_end();
    t = take();
    assert_true(number(t, "dropped") >= 5);
    json_decref(t);
}

/* Records whose launch nobody saw belong to nobody. */
static void unknown_launches(void **state)
{
    (void)state;
    static const uint64_t stranger = 77;
    window_begin();
    fake.graph(&stranger, 1, 50);
    window_end();
    json_t *t = take();
    const json_t *k = kernel(t, "");
    assert_string_equal(json_string_value(json_object_get(k, "class")), "unknown");
    assert_int_equal(number(k, "ns"), 50);
    json_decref(t);
}

/* Captured before the window, instantiated (cloned), launched inside. */
static void graphs_belong_to_who_captured(void **state)
{
    (void)state;
    struct kg_launch_params p = {.function = &p};
    static const uint64_t clones[] = {1001, 1002};
    fake.launch(KG_CUPTI_LAUNCH_EX, "first", &(struct kg_launch_ex_params){0}, 0, 501, false);
    fake.launch(KG_CUPTI_LAUNCH, "second", &p, 0, 502, false);
    fake.clone(501, 1001);
    fake.clone(502, 1002);
    window_begin();
    fake.graph(clones, 2, 60);
    window_end();
    json_t *t = take();
    assert_int_equal(number(kernel(t, "first"), "ns"), 60);
    assert_int_equal(number(kernel(t, "second"), "calls"), 1);
    assert_int_equal(number(t, "graphs"), 1);
    assert_int_equal(number(t, "missing"), 0);
    json_decref(t);
    window_begin(); /* a capture inside: its launches have no records, and miss none */
    fake.launch(KG_CUPTI_LAUNCH, "second", &p, 0, 503, false);
    window_end();
    t = take();
    assert_int_equal(number(t, "missing"), 0);
    json_decref(t);
}

static void suppressed_launches_do_nothing(void **state)
{
    (void)state;
    static int mine;
    static const struct kg_cu_config config = {
        .grid = {7, 8, 9}, .block = {32, 2, 1}, .shared = 64, .stream = &mine, .nattributes = 3};
    void *stream = &mine;
    assert_int_equal(probe.suppress("relu"), 0);
    window_begin();
    struct kg_launch_params p = {.function = &mine,
                                 .grid = {5, 6, 7},
                                 .block = {64, 1, 1},
                                 .shared = 128,
                                 .stream = stream,
                                 .extra = (void **)&stream};
    struct kg_launch_params before = p;
    fake.launch(KG_CUPTI_LAUNCH, "other", &p, 10, 0, false);
    assert_memory_equal(&p, &before, sizeof p);
    fake.launch(KG_CUPTI_LAUNCH, "relu", &p, 10, 0, false);
    assert_ptr_not_equal(p.function, &mine);
    assert_non_null(p.function);
    assert_ptr_equal(p.stream, stream);
    assert_int_equal(p.grid[0] * p.grid[1] * p.grid[2] * p.block[0] * p.block[1] * p.block[2], 1);
    assert_true(p.shared == 0 && p.extra == NULL);
    p = before;
    fake.launch(KG_CUPTI_LAUNCH_COOP, "relu", &p, 10, 0, false);
    assert_ptr_not_equal(p.function, &mine);
    assert_ptr_equal(p.extra, before.extra); /* it has none: not ours to write */
    struct kg_launch_ex_params x = {.config = &config, .function = &mine};
    fake.launch(KG_CUPTI_LAUNCH_EX, "relu", &x, 10, 0, false);
    assert_ptr_not_equal(x.function, &mine);
    assert_ptr_not_equal(x.config, &config); /* the caller's is constant */
    assert_ptr_equal(x.config->stream, stream);
    assert_int_equal(x.config->grid[0] * x.config->block[0], 1);
    assert_int_equal(x.config->nattributes, 0);
    assert_int_equal(config.grid[0], 7);
    window_end();
    json_t *t = take();
    assert_int_equal(number(t, "suppressed"), 3);
    json_decref(t);
    probe.suppress(NULL);
    p = before;
    fake.launch(KG_CUPTI_LAUNCH, "relu", &p, 10, 0, false);
    assert_memory_equal(&p, &before, sizeof p);
    probe.suppress("*");
    fake.launch(KG_CUPTI_LAUNCH, "any", &p, 10, 0, false);
    assert_ptr_not_equal(p.function, &mine);
}

/* A name that JSON would not carry is suppressed by what JSON says of it. */
static void names_as_they_are_printed(void **state)
{
    (void)state;
    static int mine;
    struct kg_launch_params p = {.function = &mine};
    char longer[400];
    memset(longer, 'k', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    window_begin();
    launch("re\"l\\u\n\xc3\xa4", 10);
    launch(longer, 10);
    window_end();
    json_t *t = take();
    kernel(t, "re?l?u???");
    const char *cut = json_string_value(
        json_object_get(json_array_get(json_object_get(t, "kernels"), 1), "name"));
    assert_int_equal(strlen(cut), KG_PROF_NAME - 1);
    probe.suppress("re?l?u???");
    fake.launch(KG_CUPTI_LAUNCH, "re\"l\\u\n\xc3\xa4", &p, 10, 0, false);
    assert_ptr_not_equal(p.function, &mine);
    p.function = &mine;
    probe.suppress(cut);
    fake.launch(KG_CUPTI_LAUNCH, longer, &p, 10, 0, false);
    assert_ptr_not_equal(p.function, &mine);
    json_decref(t);
    probe.suppress(NULL);
    for (int i = 0; i < KG_PROF_NAMES; i++) {
        assert_int_equal(probe.suppress("x"), 0);
    }
    assert_int_equal(probe.suppress("x"), -1);
}

static void attribution(void **state)
{
    (void)state;
    static const char lib[] = "/venv:/usr:/opt/cuda/", compiled[] = "/tmp/inductor:/tmp/mine";
    static const struct {
        const char *object;
        int label;
        enum kg_prof_class want;
    } rows[] = {
        {"/venv/lib/libtorch_cuda.so", KG_PROF_UNKNOWN, KG_PROF_LIBRARY},
        {"/venv/lib/libcublasLt.so.13", KG_PROF_OWN, KG_PROF_LIBRARY}, /* no label helps */
        {"/usr/lib/libcudnn.so.9", KG_PROF_UNKNOWN, KG_PROF_LIBRARY},
        {"/opt/cuda/lib/libnpp.so", KG_PROF_UNKNOWN, KG_PROF_LIBRARY},
        {"/venvious/x.so", KG_PROF_UNKNOWN, KG_PROF_OWN},
        {"/tmp/extensions/mine/mine.so", KG_PROF_UNKNOWN, KG_PROF_OWN},
        {"/tmp/libtorch_cuda.so", KG_PROF_UNKNOWN, KG_PROF_OWN}, /* never by its name */
        {"", KG_PROF_UNKNOWN, KG_PROF_OWN},                      /* code made at run time */
        {"python3", KG_PROF_UNKNOWN, KG_PROF_LIBRARY},
        {"/usr/lib/libffi.so.8", KG_PROF_UNKNOWN, KG_PROF_OWN},
        {"/venv/lib/_ctypes.cpython-312-x86_64-linux-gnu.so", KG_PROF_UNKNOWN, KG_PROF_OWN},
        {"/tmp/triton/ab/__triton_launcher.cpython-312.so", KG_PROF_OWN, KG_PROF_OWN},
        {"/tmp/triton/ab/__triton_launcher.cpython-312.so", KG_PROF_LIBRARY, KG_PROF_LIBRARY},
        {"/tmp/triton/ab/__triton_launcher.cpython-312.so", KG_PROF_COMPILER, KG_PROF_COMPILER},
        {"/tmp/triton/ab/__triton_launcher.cpython-312.so", KG_PROF_UNKNOWN, KG_PROF_OWN},
        {"/tmp/cache/cuda_utils.cpython-311.so", KG_PROF_LIBRARY, KG_PROF_LIBRARY},
        {"/venv/lib/libtorch_python.so", KG_PROF_UNKNOWN, KG_PROF_COMPILER},
        {"/venv/lib/libtorch_python.so", KG_PROF_OWN, KG_PROF_OWN},
        /* Inductor's wrapper in C++ launches what it wrote */
        {"/tmp/inductor/ab/cabc.so", KG_PROF_UNKNOWN, KG_PROF_COMPILER},
        {"/tmp/inductor/ab/cabc.so", KG_PROF_COMPILER, KG_PROF_COMPILER},
        {"/tmp/inductor/ab/cabc.so", KG_PROF_OWN, KG_PROF_COMPILER},
        {"/tmp/mine/ab/cabc.so", KG_PROF_UNKNOWN, KG_PROF_COMPILER},
        {"/tmp/torchinductor_root/ab/cabc.so", KG_PROF_UNKNOWN, KG_PROF_COMPILER},
        {"/tmp/inductorial/cabc.so", KG_PROF_UNKNOWN, KG_PROF_OWN},
        {"/tmp/inductor/triton/0/ab/__triton_launcher.so", KG_PROF_OWN, KG_PROF_OWN},
        /* the jiterator compiles and launches the candidate's text; nothing else of torch's is */
        {"/venv/lib/libtorch_cuda.so", KG_PROF_JITTED, KG_PROF_OWN},
        {"/venv/lib/libcublas.so.13", KG_PROF_JITTED, KG_PROF_LIBRARY},
        {"/venv/lib/libtorch_python.so", KG_PROF_JITTED, KG_PROF_COMPILER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum kg_prof_class got = probe.class_of(rows[i].object, lib, compiled, rows[i].label);
        if (got != rows[i].want) {
            fail_msg("%s under label %d: %d, not %d", rows[i].object, rows[i].label, got,
                     rows[i].want);
        }
    }
}

static void labels_are_the_thread_s(void **state)
{
    (void)state;
    assert_int_equal(probe.label(KG_PROF_OWN), KG_PROF_UNKNOWN);
    assert_int_equal(probe.label(KG_PROF_COMPILER), KG_PROF_OWN);
    assert_int_equal(probe.label(KG_PROF_UNKNOWN), KG_PROF_COMPILER);
}

/* Code that is loaded, by whom: since the start, whenever that is asked. */
static void modules(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        fake.module(1000);
    }
    for (int round = 0; round < 2; round++) {
        json_t *t = take();
        const json_t *list = json_object_get(t, "modules");
        assert_int_equal(json_array_size(list), 1);
        const json_t *m = json_array_get(list, 0);
        assert_string_equal(json_string_value(json_object_get(m, "by")), "test_probe_profile");
        assert_string_equal(json_string_value(json_object_get(m, "class")), "own");
        assert_int_equal(number(m, "loaded"), 3);
        assert_int_equal(number(m, "bytes"), 3000);
        json_decref(t);
    }
    probe.compiled("/elsewhere");
    probe.compiled("");
    Dl_info at;
    char here[512];
    assert_true(dladdr((void *)modules, &at) != 0);
    snprintf(here, sizeof here, "%.*s", (int)(strrchr(at.dli_fname, '/') - at.dli_fname),
             at.dli_fname);
    probe.compiled(here); /* from now on this program is a compiler's */
    fake.module(500);
    window_begin();
    launch("fused", 10);
    window_end();
    json_t *t = take();
    assert_int_equal(number(json_array_get(json_object_get(t, "modules"), 1), "bytes"), 500);
    assert_string_equal(json_string_value(json_object_get(kernel(t, "fused"), "class")),
                        "compiler");
    json_decref(t);
}

static void opening(void **state)
{
    (void)state;
    assert_int_equal(probe.open("/elsewhere"), 0); /* it is open: nothing to do */
    assert_string_equal(probe.error(), "no error");
}

static void declarations_are_the_toolkits(void **state)
{
    (void)state;
    expect_agreement("cupti.h", "agree_cupti.c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(opening, forget),
        cmocka_unit_test_setup(only_windows_count, forget),
        cmocka_unit_test_setup(time_counts_once, forget),
        cmocka_unit_test_setup(what_is_lost_is_told, forget),
        cmocka_unit_test_setup(unknown_launches, forget),
        cmocka_unit_test_setup(graphs_belong_to_who_captured, forget),
        cmocka_unit_test_setup(suppressed_launches_do_nothing, forget),
        cmocka_unit_test_setup(names_as_they_are_printed, forget),
        cmocka_unit_test_setup(attribution, forget),
        cmocka_unit_test_setup(labels_are_the_thread_s, forget),
        cmocka_unit_test_setup(modules, forget), /* the last: what is a compiler's stays so */
        cmocka_unit_test(declarations_are_the_toolkits),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
