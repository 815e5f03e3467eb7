/* From source to object: what each kind of source ends in, and what the cache believes. */
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/build/toolchain.h"
#include "tests/support/attack.h"

static struct kg_err err;
static struct kg_scratch scratch;
static char kgops[128], cache[128];
static struct kg_cc *plain, *cached;

static struct kg_cc_spec spec_of(const char *cache_dir)
{
    struct kg_cc_spec spec = {
        .compiler = "gcc",
        .kgops_dir = kgops,
        .cache_dir = cache_dir,
        .cpu = -1,
        .limits = {.memory_bytes = (int64_t)512 << 20,
                   .processes = 16,
                   .file_bytes = 8 << 20,
                   .cpu_s = 20,
                   .descriptors = 64},
        .timeout_ns = (int64_t)10 * 1000000000,
    };
    return spec;
}

static int run(const char *command)
{
    return system(command) == 0 ? 0 : -1;
}

static int group_setup(void **state)
{
    char command[1024];
    if (attack_setup(state) != 0) {
        return -1;
    }
    snprintf(kgops, sizeof kgops, "%s/ops", attack_folder());
    snprintf(cache, sizeof cache, "%s/cache", attack_folder());
    snprintf(command, sizeof command,
             "mkdir %s && cd %s && echo 'float kgops_twice(float);' > kgops.h && "
             "echo 'float kgops_twice(float x) { return 2 * x; }' > k.c && "
             "gcc -shared -fPIC -Wl,-soname,libkgops.so k.c -o libkgops.so",
             kgops, kgops);
    struct kg_cc_spec without = spec_of(NULL), with = spec_of(cache);
    bool good = run(command) == 0 && kg_scratch_open(32 << 20, 1000, &scratch, &err) == KG_OK &&
                kg_cc_open(&without, &plain, &err) == KG_OK &&
                kg_cc_open(&with, &cached, &err) == KG_OK;
    if (!good) {
        fprintf(stderr, "%s\n", err.message);
    }
    return good ? 0 : -1;
}

static int group_teardown(void **state)
{
    kg_cc_close(plain);
    kg_cc_close(cached);
    kg_scratch_close(&scratch);
    return attack_teardown(state);
}

static struct kg_cc_result build_by(struct kg_cc *cc, enum kg_cc_kind kind, const char *source)
{
    struct kg_cc_result r;
    if (kg_cc_build(cc, kind, source, strlen(source), "f", scratch.path, &r, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return r;
}

static struct kg_cc_result build(const char *source)
{
    return build_by(plain, KG_CC_CANDIDATE, source);
}

static const char *const good_source =
    "#include <math.h>\n"
    "#include \"kgops.h\"\n"
    "void f(float *y) { *y = kgops_twice(21.0f) + sqrtf(*y); }\n";

static void test_a_good_source_becomes_a_loadable_object(void **state)
{
    (void)state;
    struct kg_cc_result r = build(good_source);
    assert_int_equal(r.status, KG_CC_OK);
    assert_string_equal(r.text.data, "");
    assert_false(r.cached);
    assert_true(r.ns > 0 && r.isolation.has != 0);
    char library[200];
    snprintf(library, sizeof library, "%s/libkgops.so", kgops);
    void *ops = dlopen(library, RTLD_NOW | RTLD_GLOBAL); /* by its name, as in a runner */
    assert_non_null(ops);
    void *object = dlopen(r.object, RTLD_NOW);
    if (object == NULL) {
        fail_msg("%s", dlerror());
    }
    void (*f)(float *) = (void (*)(float *))dlsym(object, "f");
    float y = 4;
    f(&y);
    assert_true(y == 44);
    dlclose(object);
    dlclose(ops);
    kg_buf_deinit(&r.text);
}

static void test_references_have_real_and_candidates_do_not(void **state)
{
    (void)state;
    const char *source = "#ifdef KGOPS_DOUBLE\n_Static_assert(sizeof(real) == 8, \"\");\n#else\n"
                         "_Static_assert(sizeof(real) == 4, \"\");\n#endif\n"
                         "void f(real *y) { *y = 1; }\n";
    static const enum kg_cc_status want[] = {KG_CC_SYNTAX, KG_CC_OK, KG_CC_OK};
    for (int kind = KG_CC_CANDIDATE; kind <= KG_CC_REF_DOUBLE; kind++) {
        struct kg_cc_result r = build_by(plain, (enum kg_cc_kind)kind, source);
        assert_int_equal(r.status, want[kind]);
        kg_buf_deinit(&r.text);
    }
    struct kg_cc_result r = build_by(plain, KG_CC_REF_FLOAT, "void f(void) { oops; }\n");
    assert_non_null(strstr(r.text.data, "reference.c:1:"));
    kg_buf_deinit(&r.text);
}

struct refusal {
    const char *source;
    enum kg_cc_status status;
    int line;
    const char *first; /* part of first_error */
};

static const struct refusal refusals[] = {
    {"void f(void)\n{\n    int x = ;\n}\n", KG_CC_SYNTAX, 3, "expected expression"},
    {"", KG_CC_MISSING_ENTRY, 0, "no function `f` is exported"},
    {"void g(void);\nvoid f(void) { g(); }\n", KG_CC_LINK, 0, "undefined reference to `g'"},
    {"static void f(void) {}\nvoid g(void) { f(); }\n", KG_CC_MISSING_ENTRY, 0, "`f`"},
    {"__attribute__((visibility(\"hidden\"))) void f(void) {}\n", KG_CC_MISSING_ENTRY, 0, "`f`"},
    {"const char f[64] = {1};\n", KG_CC_MISSING_ENTRY, 0, "`f`"},
    {"void ff(void) {}\n", KG_CC_MISSING_ENTRY, 0, "`f`"},
    {"#include \"/etc/passwd\"\nvoid f(void) {}\n", KG_CC_SYNTAX, 1, "No such file"},
    {"#include \"/etc/ld.so.cache/../passwd\"\n", KG_CC_SYNTAX, 1, ""},
    {"#include \"../../../../etc/shadow\"\n", KG_CC_SYNTAX, 1, "No such file"},
    {"#include \"/proc/self/environ\"\n", KG_CC_SYNTAX, 1, "No such file"},
    {"#include \"/proc/1/cmdline\"\n", KG_CC_SYNTAX, 1, "No such file"},
    {"#include \"/dev/zero\"\n", KG_CC_SYNTAX, 1, "No such file"},
    {"#include \"/dev/stdin\"\n", KG_CC_SYNTAX, 1, "No such file"},
    {"#include \"/dev/urandom\"\n", KG_CC_SYNTAX, 1, "No such file"},
    {"__asm__(\".incbin \\\"/etc/passwd\\\"\");\nvoid f(void) {}\n", KG_CC_SYNTAX, 0, "not found"},
    {"__asm__(\".include \\\"/etc/passwd\\\"\");\nvoid f(void) {}\n", KG_CC_SYNTAX, 0, "passwd"},
    {"#include __FILE__\n", KG_CC_SYNTAX, 1, "nested"},
    {"#error the end\n", KG_CC_SYNTAX, 1, "#error the end"},
    {"char big[] = {[1000000000] = 1};\nvoid f(void) {}\n", KG_CC_LIMITS, 0, "limit"},
};

static void test_what_fails_says_why_and_where(void **state)
{
    (void)state;
    if (!attack_has(KG_STEP_MOUNTNS)) { /* /proc and /dev then exist, and are refused instead */
        skip();
    }
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *w = &refusals[i];
        struct kg_cc_result r = build(w->source);
        if (r.status != w->status || r.line != w->line || !strstr(r.first_error, w->first)) {
            fail_msg("%s\n  status %d line %d: %s\n%.400s", w->source, r.status, r.line,
                     r.first_error, r.text.data);
        }
        assert_string_equal(r.object, "");
        assert_null(strstr(r.text.data, "/scratch"));
        assert_null(strstr(r.text.data, "/usr/"));
        kg_buf_deinit(&r.text);
    }
}

/* Landlock alone must hide them too. */
static void test_host_files_stay_hidden_without_mounts(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "#include \"/etc/passwd\"\nvoid f(void) {}\n",
        "#include \"/proc/self/environ\"\nvoid f(void) {}\n",
        "__asm__(\".incbin \\\"/etc/passwd\\\"\");\nvoid f(void) {}\n",
    };
    struct kg_cc_spec spec = spec_of(NULL);
    spec.without = KG_STEP_MOUNTNS;
    struct kg_cc *cc;
    assert_int_equal(kg_cc_open(&spec, &cc, &err), KG_OK);
    for (size_t i = 0; i < 3; i++) {
        struct kg_cc_result r = build_by(cc, KG_CC_CANDIDATE, sources[i]);
        assert_int_equal(r.status, KG_CC_SYNTAX);
        assert_null(strstr(r.text.data, "root:"));
        kg_buf_deinit(&r.text);
    }
    struct kg_cc_result r = build_by(cc, KG_CC_CANDIDATE, good_source);
    if (r.status != KG_CC_OK) {
        fail_msg("%s", r.text.data);
    }
    kg_buf_deinit(&r.text);
    kg_cc_close(cc);
}

/* Bombs of every kind end within the deadline: in an error, at a limit, or at the deadline. */
static void test_bombs_end(void **state)
{
    (void)state;
    static const char *const bombs[] = {
        /* macros doubling: 2^28 tokens */
        "#define A(x) x x\n#define B(x) A(A(A(A(x))))\n#define C(x) B(B(x))\n"
        "int y[] = {C(C(C(B(1,))))};\nvoid f(void) {}\n",
        /* a file that includes itself twice: 2^200 */
        "#if __INCLUDE_LEVEL__ < 30\n#include __FILE__\n#include __FILE__\n#endif\n",
        /* nesting */
        "#define P (((((((((((((((((((((((((((((((((((((((((\n#define Q P P P P P P P P P P P P\n"
        "#define R Q Q Q Q Q Q Q Q Q Q Q Q\n#define S R R R R R R R R R R R R\n"
        "int f(void) { return S S S S S S S S 1; }\n",
        /* an assembler loop */
        "__asm__(\".rept 1000000000\\n.quad 1\\n.endr\");\nvoid f(void) {}\n",
        /* a folding loop */
        "#define L(x) for (int i##x = 0; i##x < 9; i##x++)\n"
        "int f(int n) { int s = 0; L(a) L(b) L(c) L(d) L(e) L(g) L(h) L(i) L(j) s += n * s; "
        "return s; }\n",
    };
    struct kg_cc_spec spec = spec_of(NULL);
    spec.timeout_ns = 700000000;
    spec.limits.memory_bytes = 128 << 20;
    struct kg_cc *cc;
    assert_int_equal(kg_cc_open(&spec, &cc, &err), KG_OK);
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        int64_t start = kg_clock_ns();
        struct kg_cc_result r = build_by(cc, KG_CC_CANDIDATE, bombs[i]);
        int64_t took = kg_clock_ns() - start;
        bool mild = i == 4; /* compilers may see through it */
        if (!mild && r.status == KG_CC_OK) {
            fail_msg("bomb %zu was built", i);
        }
        assert_true(took < (int64_t)8 * 1000000000); /* the deadline, and a busy machine's slack */
        assert_true(mild || r.first_error[0] != '\0');
        kg_buf_deinit(&r.text);
    }
    kg_cc_close(cc);
}

static void test_the_deadline_is_a_timeout(void **state)
{
    (void)state;
    struct kg_cc_spec spec = spec_of(NULL);
    spec.timeout_ns = 1;
    struct kg_cc *cc;
    assert_int_equal(kg_cc_open(&spec, &cc, &err), KG_OK);
    struct kg_cc_result r = build_by(cc, KG_CC_CANDIDATE, good_source);
    assert_int_equal(r.status, KG_CC_TIMEOUT);
    assert_string_equal(r.first_error, "the compiler did not end within its deadline");
    kg_buf_deinit(&r.text);
    kg_cc_close(cc);
}

static void test_memory_is_a_limit(void **state)
{
    (void)state;
    struct kg_cc_spec spec = spec_of(NULL);
    spec.limits.memory_bytes = 6 << 20;
    struct kg_cc *cc;
    if (!attack_has(KG_STEP_CGROUP)) {
        skip();
    }
    assert_int_equal(kg_cc_open(&spec, &cc, &err), KG_OK);
    struct kg_cc_result r = build_by(cc, KG_CC_CANDIDATE, good_source);
    assert_int_equal(r.status, KG_CC_LIMITS);
    kg_buf_deinit(&r.text);
    kg_cc_close(cc);
}

/* A step below the shell is killed, which the shell may say; a limit of its own is told apart. */
static void test_a_compiler_that_others_kill(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "(while :; do :; done) & kill -9 $!; wait $!; exit $?",
        "(while :; do :; done) & kill -11 $!; wait $!; exit $?",
        "(while :; do :; done); exit $?",
    };
    struct kg_cc_spec spec = spec_of(NULL);
    spec.limits.cpu_s = 1;
    struct kg_cc *cc;
    assert_int_equal(kg_cc_open(&spec, &cc, &err), KG_OK);
    for (int i = 0; i < 3; i++) {
        cc->script[KG_CC_CANDIDATE] = scripts[i];
        struct kg_cc_result r = build_by(cc, KG_CC_CANDIDATE, good_source);
        assert_true(r.status == KG_CC_LIMITS || (i == 2 && r.status == KG_CC_TIMEOUT));
        assert_int_equal(r.killed, i == 0);
        kg_buf_deinit(&r.text);
    }
    kg_cc_close(cc);
}

static void test_messages_are_bounded(void **state)
{
    (void)state;
    char *source = malloc(1 << 20);
    size_t n = 0;
    for (int i = 0; i < 4000; i++) { /* three lines each */
        n += (size_t)snprintf(source + n, 100, "#error %060d\n", i);
    }
    struct kg_cc_result r = build(source);
    assert_int_equal(r.status, KG_CC_SYNTAX);
    assert_int_equal(r.line, 1);
    assert_true(r.text.len > 100000 && r.text.len <= 256 << 10);
    kg_buf_deinit(&r.text);
    free(source);
}

static void test_cancelling_is_an_error_not_a_verdict(void **state)
{
    (void)state;
    volatile int now = 1;
    struct kg_cc_spec spec = spec_of(NULL);
    spec.cancelled = &now;
    struct kg_cc *cc;
    struct kg_cc_result r;
    assert_int_equal(kg_cc_open(&spec, &cc, &err), KG_OK);
    assert_int_equal(kg_cc_build(cc, KG_CC_CANDIDATE, good_source, strlen(good_source), "f",
                                 scratch.path, &r, &err),
                     KG_E_CANCELLED);
    kg_cc_close(cc);
}

static void test_a_missing_compiler_says_how_to_get_one(void **state)
{
    (void)state;
    struct kg_cc_spec spec = spec_of(NULL);
    struct kg_cc *cc;
    spec.compiler = "no-such-gcc";
    assert_int_equal(kg_cc_open(&spec, &cc, &err), KG_E_HOST);
    assert_non_null(strstr(err.message, "compiler `no-such-gcc` cannot be run: "));
    assert_non_null(strstr(err.message,
                           "; install it (`apt-get install gcc binutils libc6-dev`) or "
                           "name another with --set compiler=NAME"));
    spec.compiler = "true";
    assert_int_equal(kg_cc_open(&spec, &cc, &err), KG_E_HOST);
    assert_non_null(strstr(err.message, "kgym needs gcc"));
    spec.compiler = "false";
    assert_int_equal(kg_cc_open(&spec, &cc, &err), KG_E_HOST);
    spec.compiler = "gcc";
    spec.kgops_dir = "/nowhere";
    assert_int_equal(kg_cc_open(&spec, &cc, &err), KG_E_HOST);
    assert_non_null(strstr(err.message, "/nowhere/libkgops.so"));
}

static void test_flags_are_those_of_the_page(void **state)
{
    (void)state;
    static const char *const want[] = {"-std=gnu17", "-O3",     "-march=native",
                                       "-fPIC",      "-shared", "-Wl,-z,defs",
                                       "-lkgops",    "-lm",     "-lpthread"};
    const char *const *flags = kg_cc_flags(plain);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_string_equal(flags[i], want[i]);
    }
    assert_null(flags[sizeof want / sizeof *want]);
    assert_non_null(strstr(kg_cc_version(plain), "gcc"));
}

/* Builds by the caching toolchain, and checks whether it was a hit. */
static void expect_cached(const char *source, bool want, char object[320])
{
    struct kg_cc_result r = build_by(cached, KG_CC_CANDIDATE, source);
    assert_int_equal(r.status, KG_CC_OK);
    assert_int_equal(r.cached, want);
    assert_int_not_equal(r.isolation.has, 0);
    memcpy(object, r.object, 320);
    kg_buf_deinit(&r.text);
}

static void test_the_second_build_is_a_hit(void **state)
{
    (void)state;
    char one[320], two[320];
    expect_cached("void f(void) { }\n", false, one);
    expect_cached("void f(void) { }\n", true, two);
    assert_string_equal(one, two);
    assert_int_equal(strncmp(one, cache, strlen(cache)), 0);
    expect_cached("void f(void) {  }\n", false, two);
    assert_string_not_equal(one, two);
    struct kg_cc_result r;
    const char *source = "void f(void) { }\n";
    assert_int_equal(kg_cc_build(cached, KG_CC_CANDIDATE, source, strlen(source), "other",
                                 scratch.path, &r, &err),
                     KG_OK);
    assert_int_equal(r.status, KG_CC_MISSING_ENTRY); /* of a hit, too */
    kg_buf_deinit(&r.text);
}

/* One text is three objects: `real` is float, double or nothing. */
static void test_each_kind_has_its_own_object(void **state)
{
    (void)state;
    static const enum kg_cc_kind kinds[] = {KG_CC_CANDIDATE, KG_CC_REF_FLOAT, KG_CC_REF_DOUBLE};
    char object[3][sizeof(((struct kg_cc_result *)0)->object)];
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < 3; i++) {
            struct kg_cc_result r = build_by(cached, kinds[i], "int f(void) { return 3; }\n");
            assert_int_equal(r.status, KG_CC_OK);
            assert_int_equal(r.cached, again);
            snprintf(object[i], sizeof object[i], "%s", r.object);
            kg_buf_deinit(&r.text);
        }
    }
    assert_string_not_equal(object[0], object[1]);
    assert_string_not_equal(object[0], object[2]);
    assert_string_not_equal(object[1], object[2]);
}

static void damage(const char *path, int how)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char c;
    switch (how) {
    case 0:
        assert_int_equal(ftruncate(fd, st.st_size / 2), 0);
        break;
    case 1:
        assert_int_equal(ftruncate(fd, 0), 0);
        break;
    case 2: /* one bit of the code */
        assert_int_equal(pread(fd, &c, 1, 4100), 1);
        c ^= 1;
        assert_int_equal(pwrite(fd, &c, 1, 4100), 1);
        break;
    case 3: /* one of the hash */
        assert_int_equal(pwrite(fd, "g", 1, st.st_size - 3), 1);
        break;
    default: /* something appended */
        assert_int_equal(pwrite(fd, "x", 1, st.st_size), 1);
    }
    close(fd);
}

static void test_a_poisoned_cache_is_noticed(void **state)
{
    (void)state;
    const char *source = "int poison; void f(void) { poison = 3; }\n";
    char path[320];
    expect_cached(source, false, path);
    for (int how = 0; how < 5; how++) {
        expect_cached(source, true, path);
        damage(path, how);
        expect_cached(source, false, path);
    }
    /* another entry's object under this one's name */
    char other[320], command[800];
    expect_cached("int other; void f(void) { other = 4; }\n", false, other);
    snprintf(command, sizeof command, "cp %s %s", other, path);
    assert_int_equal(run(command), 0);
    expect_cached(source, false, path);
    /* a link to it, and a folder */
    snprintf(command, sizeof command, "mv %s %s.away && ln -s %s.away %s", path, path, path, path);
    assert_int_equal(run(command), 0);
    expect_cached(source, false, path);
    snprintf(command, sizeof command, "rm %s && mkfifo %s", path, path);
    assert_int_equal(run(command), 0);
    expect_cached(source, false, path);
    expect_cached(source, true, path);
}

static void test_an_unwritable_cache_is_done_without(void **state)
{
    (void)state;
    char file[200];
    snprintf(file, sizeof file, "%s/not-a-folder", attack_folder());
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    struct kg_cc_spec spec = spec_of(file);
    struct kg_cc *cc;
    assert_int_equal(kg_cc_open(&spec, &cc, &err), KG_OK);
    struct kg_cc_result r = build_by(cc, KG_CC_CANDIDATE, good_source);
    assert_int_equal(r.status, KG_CC_OK);
    assert_int_equal(strncmp(r.object, scratch.path, strlen(scratch.path)), 0);
    kg_buf_deinit(&r.text);
    kg_cc_close(cc);
}

static void test_nothing_is_left_in_scratch_but_the_object(void **state)
{
    (void)state;
    char command[400];
    snprintf(command, sizeof command, "rm -rf %s/*", scratch.path);
    assert_int_equal(run(command), 0);
    struct kg_cc_result r = build("#error stop\n");
    kg_buf_deinit(&r.text);
    snprintf(command, sizeof command, "test -z \"$(ls -A %s)\"", scratch.path);
    assert_int_equal(run(command), 0);
    r = build(good_source);
    kg_buf_deinit(&r.text);
    snprintf(command, sizeof command, "test \"$(ls -A %s)\" = cc-candidate.so", scratch.path);
    assert_int_equal(run(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_source_becomes_a_loadable_object),
        cmocka_unit_test(test_references_have_real_and_candidates_do_not),
        cmocka_unit_test(test_what_fails_says_why_and_where),
        cmocka_unit_test(test_host_files_stay_hidden_without_mounts),
        cmocka_unit_test(test_bombs_end),
        cmocka_unit_test(test_the_deadline_is_a_timeout),
        cmocka_unit_test(test_memory_is_a_limit),
        cmocka_unit_test(test_a_compiler_that_others_kill),
        cmocka_unit_test(test_messages_are_bounded),
        cmocka_unit_test(test_cancelling_is_an_error_not_a_verdict),
        cmocka_unit_test(test_a_missing_compiler_says_how_to_get_one),
        cmocka_unit_test(test_flags_are_those_of_the_page),
        cmocka_unit_test(test_the_second_build_is_a_hit),
        cmocka_unit_test(test_each_kind_has_its_own_object),
        cmocka_unit_test(test_a_poisoned_cache_is_noticed),
        cmocka_unit_test(test_an_unwritable_cache_is_done_without),
        cmocka_unit_test(test_nothing_is_left_in_scratch_but_the_object),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
