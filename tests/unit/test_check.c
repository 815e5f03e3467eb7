/* The static check: every rule with code that triggers it and an honest look-alike that does not.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gym/reply/check.h"

#define ENTRY "void relu(const float *x, float *y, long n) { y[0] = x[n]; }\n"
#define CAP   64

struct rule_case {
    const char *rule, *fires, *honest;
};

static const struct rule_case cases[] = {
    {"entry-missing", "void gelu(const float *x) { }\n", ENTRY},
    {"entry-missing", "void relu(const float *x);\n", "#define F(n) void n(void) { }\nF(relu)\n"},
    {"entry-missing", "/* void relu(void) { } */\nint x;\n", "void relu(x) const float *x; { }\n"},
    {"entry-static", "static void relu(const float *x) { (void)x; }\n",
     "static void help(void) { }\n" ENTRY},
    {"entry-static", "static\nfloat *relu(void) { return 0; }\n",
     "#ifdef A\nstatic void relu(void) { }\n#endif\n" ENTRY},
    {"entry-static", "static __attribute__((noinline)) void relu(void) { }\n",
     "#ifdef A\nstatic\n#endif\n" ENTRY},
    {"entry-unclosed", "void relu(int x) { if (x) { }\n", ENTRY},
    {"entry-unclosed", "void relu(int x", "#define END }\nvoid relu(int x) { END\n"},
    {"entry-twice", ENTRY ENTRY, "#ifdef A\n" ENTRY "#else\n" ENTRY "#endif\n"},
    {"entry-twice", ENTRY "static void relu(void) { }\n",
     "void relu(int);\n" ENTRY "void relu(int);\n"},
    {"brace-unclosed", ENTRY "static int f(void) {\n",
     ENTRY "static int f(void) { return '{'; }\n"},
    {"brace-unclosed", ENTRY "struct s {\n",
     "#define OPEN {\n" ENTRY "static int f(void) OPEN }\n"},
    {"brace-stray", ENTRY "}\n", ENTRY "/* } */ const char *s = \"}\";\n"},
    {"brace-stray", "}" ENTRY,
     "#ifdef __cplusplus\nextern \"C\" {\n#endif\n" ENTRY "#ifdef __cplusplus\n}\n#endif\n"},
    {"brace-stray", ENTRY "}\n",
     "#ifdef __cplusplus\nextern \"C\" {\n#else\n#define RESTRICT restrict\n#endif\n" ENTRY
     "#ifdef __cplusplus\n}\n#endif\n"},
    {"comment-unterminated", ENTRY "/* to do", ENTRY "// /* to do\n"},
    {"string-unterminated", ENTRY "const char *s = \"abc\n;",
     ENTRY "const char *s = \"a\\\nb\";\n"},
    {"string-unterminated", ENTRY "char c = 'a\n;", "#if 0\ndon't\n#endif\n" ENTRY},
    {"empty-body", "void relu(const float *x) { (void)x; return; }\n", ENTRY},
    {"empty-body", "void relu(const float *x) { ... }\n", "void relu(float *x) { x[0] = 0; }\n"},
    {"real-type", "void relu(const real *x, real *y) { y[0] = x[0]; }\n",
     "void relu(float *x) { float real = 1, imag = 2; x[0] = (real * imag); }\n"},
    {"real-type", "real *buffer;\n" ENTRY, "typedef float real;\nvoid relu(real *x) { *x = 0; }\n"},
    {"asm-syscall", ENTRY "void f(void) { __asm__ volatile(\"syscall\" ::: \"memory\"); }\n",
     ENTRY "const char *s = \"syscall\"; // syscall\n"},
    {"asm-incbin", "__asm__(\".incbin \\\"/etc/passwd\\\"\");\n" ENTRY,
     ENTRY "const char *s = \".incbin\";\n"},
    {"inline-asm", "void relu(float *x) { asm(\"nop\"); *x = 0; }\n",
     ENTRY "const char *s = \"asm\"; /* asm */ struct t { int asm_; };\n"},
    {"include-path", "#include \"/etc/hostname\"\n" ENTRY, "#include <math.h>\n" ENTRY},
    {"include-path", "#include \"../secret.h\"\n" ENTRY, "// #include \"../x.h\"\n" ENTRY},
    {"process", "void relu(float *x) { if (fork() == 0) { *x = 1; } }\n",
     "void relu(float *x) { struct t { int fork; } s = {1}; *x = s.fork; /* fork() */ }\n"},
    {"process", "#define RUN system(\"id\")\n" ENTRY, ENTRY "const char *s = \"system()\";\n"},
    {"raw-syscall", "void relu(float *x) { *x = syscall(39); }\n",
     "void relu(float *x) { int syscall = 3; *x = syscall; }\n"},
    {"signal-send", "void relu(float *x) { kill(1, 9); *x = 0; }\n",
     "void relu(float *x) { int kill = 1; *x = kill * (2); }\n"},
    {"signal-send", "void relu(float *x) { raise(9); *x = 0; }\n",
     "struct f { float (*raise)(float); };\n"
     "void relu(float *x, struct f *f, struct f g) { *x = f->raise(1) + g.raise(2); }\n"},
    {"signal-timer", "void relu(float *x) { alarm(1); *x = 0; }\n",
     "void relu(float *signal) { signal[0] = 1; }\n"},
    {"clock-defined", "int clock_gettime(int c, void *t) { return 0; }\n" ENTRY,
     "int clock_gettime(int c, void *t);\n" ENTRY},
    {"libc-defined", "void *memcpy(void *d, const void *s, unsigned long n) { return d; }\n" ENTRY,
     "static void *free(void *d) { return d; }\n" ENTRY},
    {"clock-read", "void relu(float *x) { *x = clock(); }\n",
     "void relu(float *x) { float time = 2; *x = time; }\n"},
    {"sleep", "void relu(float *x) { usleep(5); *x = 0; }\n",
     "void relu(float *x) { /* no sleep() */ *x = 0; }\n"},
    {"scheduling", "void relu(float *x) { nice(5); *x = 0; }\n",
     "void relu(float *x) { float nice = 1; *x = nice; }\n"},
    {"constructor", "__attribute__((constructor)) static void f(void) { }\n" ENTRY,
     "static int constructor; /* __attribute__((constructor)) */\n" ENTRY},
    {"init-section", "__attribute__((section(\".init_array\"))) void *p = 0;\n" ENTRY,
     "const char *s = \".init_array\";\n" ENTRY},
    {"exit-hook", "static void f(void) { }\nvoid relu(float *x) { atexit(f); *x = 0; }\n",
     "void relu(float *x) { int atexit = 1; *x = atexit; }\n"},
    {"process-exit", "void relu(float *x) { _exit(0); }\n",
     "void relu(float *x) { goto exit; exit: *x = 0; }\n"},
    {"symbol-attribute",
     "void g(void) { }\nvoid h(void) __attribute__((weak, alias(\"g\")));\n" ENTRY,
     "static const int alias = 1, weak = 2;\n" ENTRY},
    {"dynamic-loading", "void relu(float *x) { *x = dlsym(0, \"memcpy\") != 0; }\n",
     "// dlsym(0, name)\n" ENTRY},
    {"introspection", "void relu(float *x) { x[0] = (long)__builtin_return_address(0); }\n",
     "const char *s = \"__builtin_return_address(0)\";\n" ENTRY},
    {"memory-map", "void relu(float *x) { mmap(0, 1, 1, 1, 1, 0); *x = 0; }\n",
     "void relu(float *x) { struct { int mmap; } s = {0}; *x = s.mmap; }\n"},
    {"file-access", "void relu(float *x) { *x = open(\"a\", 0); }\n",
     "void relu(float *x) { int open = 1; *x = open; }\n"},
    {"system-path", "const char *s = \"/proc/self/maps\";\n" ENTRY,
     "// \"/proc/self\"\nconst char *s = \"a /proc\";\n" ENTRY},
    {"descriptor-io", "void relu(float *x) { write(3, x, 4); }\n",
     "void relu(float *x) { struct { int write; } q = {1}; *x = q.write; }\n"},
    {"network", "void relu(float *x) { *x = socket(1, 1, 0); }\n",
     "void relu(float *x) { int connect = 1; *x = connect; }\n"},
    {"environment", "void relu(float *x) { *x = getenv(\"A\") != 0; }\n",
     "/* getenv(\"A\") */\n" ENTRY},
    {"randomness", "void relu(float *x) { *x = rand(); }\n",
     "void relu(float *random) { random[0] = 1; }\n"},
    {"threads", "void relu(float *x) { pthread_create(0, 0, 0, x); }\n",
     "/* no pthread_create() here */\n" ENTRY},
    {"openmp",
     "void relu(float *x) {\n#pragma omp parallel for\nfor (int i = 0; i < 9; i++) x[i] = 0; }\n",
     "void relu(float *x) {\n#pragma omp simd\nfor (int i = 0; i < 9; i++) x[i] = 0; }\n"},
    {"static-state", "static float cache[64];\n" ENTRY,
     "static const float table[] = {1};\n" ENTRY},
    {"static-state", "void relu(float *x) { static int calls; *x = calls; }\n",
     "static void f(int a);\nstruct s;\nextern int e;\ntypedef int t;\n" ENTRY},
    {"static-state", "float *last;\n" ENTRY,
     "void relu(float *x) { float cache[4] = {0}; *x = cache[0]; }\n"},
    {"static-state", "static const float *last;\n" ENTRY,
     "static const float *const p = 0;\n" ENTRY},
    {"pointer-memo",
     "static const float *last;\nvoid relu(const float *x) { if (x == last) return; last = x; }\n",
     "static float *work;\nvoid relu(const float *x) { if (work == NULL) work = malloc(4); }\n"},
    {"pointer-memo",
     "static const float *last;\nvoid relu(const float *x) { if (last != x) last = x; }\n",
     "void relu(const float *x, float *last) { if (x == last) return; }\n"},
    {"call-counter", "static int n;\nvoid relu(float *x) { if (n++ > 5) *x = 0; }\n",
     "void relu(float *x) { int n = 0; n++; *x = n; }\n"},
    {"call-counter", "void relu(float *x) { static long n; if (++n > 5) *x = 0; }\n", ENTRY},
    {"fast-math", "__attribute__((optimize(\"Ofast\"))) " ENTRY,
     "__attribute__((optimize(\"O3\"))) " ENTRY},
    {"fast-math-pragma", "#pragma GCC optimize(\"fast-math\")\n" ENTRY,
     "#pragma GCC optimize(\"O3\")\n// fast-math\n" ENTRY},
    {"optimize-pragma", "#pragma GCC optimize(\"O3\", \"unroll-loops\")\n" ENTRY,
     "#pragma GCC ivdep\n" ENTRY},
    {"reduced-precision", "void relu(float *x) { _Float16 h = x[0]; x[1] = h; }\n",
     "// _Float16 would be wrong\n" ENTRY},
    {"approximation", "void relu(float *x) { x[0] = _mm256_rcp_ps(x[1]); }\n",
     "const char *s = \"_mm256_rcp_ps\";\n" ENTRY},
    {"delegation", "void relu(float *x) { kgops_relu(x, x, 1); }\n",
     "/* kgops_relu() */ void relu(float *x) { struct { int kgops_n; } s = {1}; *x = s.kgops_n; "
     "}\n"},
    {"token-paste", "#define J(a, b) a##b\n" ENTRY, "const char *s = \"a##b\"; // ##\n" ENTRY},
};

static size_t findings(const char *code, struct kg_finding *out)
{
    return kg_check_c(code, strlen(code), "relu", out, CAP);
}

static bool has(const char *code, const char *rule)
{
    struct kg_finding f[CAP];
    size_t n = findings(code, f);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(f[i].rule, rule) == 0) {
            return true;
        }
    }
    return false;
}

static void test_rules_fire_and_spare_lookalikes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!has(cases[i].fires, cases[i].rule)) {
            fail_msg("%s does not fire on:\n%s", cases[i].rule, cases[i].fires);
        }
        if (has(cases[i].honest, cases[i].rule)) {
            fail_msg("%s fires on the honest:\n%s", cases[i].rule, cases[i].honest);
        }
    }
}

static void test_every_rule_has_a_case(void **state)
{
    (void)state;
    const struct kg_check_rule *rules;
    size_t n = kg_check_rules(&rules);
    assert_true(n > 40);
    for (size_t r = 0; r < n; r++) {
        bool covered = strcmp(rules[r].id, "opaque-data") == 0; /* a test of its own */
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            covered |= strcmp(cases[i].rule, rules[r].id) == 0;
        }
        if (!covered) {
            fail_msg("no case for rule %s", rules[r].id);
        }
        for (size_t q = 0; q < r; q++) {
            assert_string_not_equal(rules[q].id, rules[r].id);
        }
    }
}

static void test_opaque_data(void **state)
{
    (void)state;
    char code[16384] = "static const unsigned char t[] = {";
    size_t at = strlen(code);
    for (int i = 0; i < 600; i++) {
        at += (size_t)snprintf(code + at, sizeof code - at, "0x%02x, ", i & 255);
    }
    snprintf(code + at, sizeof code - at, "};\n%s", ENTRY);
    assert_true(has(code, "opaque-data"));
    assert_false(has("static const float w[] = {1.0f, -2.0f, 3.0f};\n" ENTRY, "opaque-data"));
}

/* Code that gcc accepts with an entry that the object exports. */
static const char *const honest[] = {
    ENTRY,
    "void (relu)(const float *x) { (void)x; }\n",
    "void relu(x, n) const float *x; long n; { (void)x; (void)n; }\n",
    "__attribute__((noinline, target(\"avx2\"))) void relu(const float *restrict x) { }\n",
    "void relu(const float *x) <% (void)x; %>\n",
    "#define BEGIN {\n#define END }\nvoid relu(void) BEGIN END\n",
    "#define NAME relu\nvoid NAME(void) { }\n",
    "#define MAKE(a, b) void a##b(void) { }\nMAKE(re, lu)\n",
    "void impl(void) { }\nvoid relu(void) __attribute__((alias(\"impl\")));\n",
    "void impl(void) __asm__(\"relu\");\nvoid impl(void) { }\n",
    "#ifdef X\nvoid relu(int a) {\n#else\nvoid relu(long a) {\n#endif\n}\n",
    "#if 0\n } don't \" {\n#endif\n" ENTRY,
    "const char *s = R\"x( } \" { )x\";\n" ENTRY,
    "void relu(void) { const char *s = \"\\\"}\"; char c = '}'; (void)s; (void)c; }\n",
    "int relu(void) { return ({ int a = 1; a; }); }\n",
    "float *relu(int (*f)(int)) { return f ? 0 : 0; }\n",
    "void re\\\nlu(void) { }\n",
    "extern inline __attribute__((gnu_inline)) void relu(void) { }\nvoid relu(void) { }\n",
    "void relu(void) { }\n#pragma weak other = relu\n",
    "static float relu_row(float v) { return v; }\nvoid relu(float *x) { *x = relu_row(*x); "
    "}\n",
    "#define ROW(n) float n(float v) { return v; }\nstatic ROW(row)\n" ENTRY,
    "#define ROW float row(float v) { return v; }\nstatic ROW\n" ENTRY,
    "#define NOTHROW\nstatic float row(float v) NOTHROW { return v; }\n" ENTRY,
    "#ifdef X\nstatic\n#endif\n" ENTRY,
    "#ifndef static\n#define static\n#endif\nstatic " ENTRY,
    "struct v { float a; };\nstruct v relu(struct v a) { return a; }\n",
    "int x = 1 ? 2 : 3; _Static_assert(1, \"}\");\n" ENTRY,
};

/* Only rejections stop an evaluation: code that gcc accepts must never have one. */
static void test_honest_code_is_never_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof honest / sizeof *honest; i++) {
        struct kg_finding f[CAP];
        size_t n = findings(honest[i], f);
        if (n > 0 && f[0].severity == KG_SEV_REJECT) {
            fail_msg("%s (line %d) rejects:\n%s", f[0].rule, f[0].line, honest[i]);
        }
    }
}

/* Does gcc make a shared object of it that exports the entry? */
static bool gcc_accepts(const char *code)
{
    char path[] = "/tmp/kgym-test-XXXXXX", command[256];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(command, sizeof command,
             "gcc -std=gnu17 -w -shared -fPIC -Wl,--require-defined=relu -o %s -x c - 2>/dev/null",
             path);
    FILE *p = popen(command, "w");
    assert_non_null(p);
    fwrite(code, 1, strlen(code), p);
    int status = pclose(p);
    unlink(path);
    return status == 0;
}

/* The promise that matters most: what a rule rejects the compiler or linker refuses, and the honest
 * code above is what the compiler takes. */
static void test_rejections_agree_with_gcc(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_finding f[CAP];
        size_t n = findings(cases[i].fires, f);
        if (n > 0 && f[0].severity == KG_SEV_REJECT && gcc_accepts(cases[i].fires)) {
            fail_msg("%s rejects what gcc accepts:\n%s", f[0].rule, cases[i].fires);
        }
    }
    for (size_t i = 0; i < sizeof honest / sizeof *honest; i++) {
        if (!gcc_accepts(honest[i])) {
            fail_msg("gcc refuses:\n%s", honest[i]);
        }
    }
}

static void test_findings_are_ordered_bounded_and_say_where(void **state)
{
    (void)state;
    const char *code =
        "static int a;\n\nstatic int b;\nvoid f(void) { fork(); fork();\nfork(); fork();"
        " fork(); }\nstatic void relu(void) { }\n";
    struct kg_finding f[CAP];
    size_t n = findings(code, f);
    assert_string_equal(f[0].rule, "entry-static");
    assert_int_equal(f[0].severity, KG_SEV_REJECT);
    assert_int_equal(f[0].line, 6);
    int forks = 0;
    for (size_t i = 2; i < n; i++) {
        assert_true(f[i].line >= f[i - 1].line);
    }
    for (size_t i = 0; i < n; i++) {
        forks += strcmp(f[i].rule, "process") == 0;
    }
    assert_int_equal(forks, 3); /* one rule must not hide the others */
    bool named = false;
    for (size_t i = 0; i < n; i++) {
        named |= strcmp(f[i].message, "starts a process: `fork`") == 0 && f[i].line == 4;
    }
    assert_true(named);
    assert_int_equal(kg_check_c(code, strlen(code), "relu", f, 1), 1);
    assert_string_equal(f[0].rule, "entry-static");
    assert_int_equal(kg_check_c(code, strlen(code), "relu", f, 0), 0);
}

static void test_any_bytes_end(void **state)
{
    (void)state;
    size_t n = 200000;
    char *noise = malloc(n);
    assert_non_null(noise);
    static const char alphabet[] = "{}()\"'/*\\\n#;=relu \xff\x00<>%:_,0x";
    uint32_t seed = 2463534242u;
    for (int kind = 0; kind < 4; kind++) {
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            noise[i] = kind == 0   ? (char)(seed >> 24)
                       : kind == 1 ? alphabet[(seed >> 16) % (sizeof alphabet - 1)]
                       : kind == 2 ? "{("[i & 1]
                                   : "#if 1\n"[i % 6];
        }
        struct kg_finding f[CAP];
        assert_true(kg_check_c(noise, n, "relu", f, CAP) <= CAP);
    }
    free(noise);
}

static void test_severity_names(void **state)
{
    (void)state;
    assert_string_equal(kg_severity_name(KG_SEV_NOTE), "note");
    assert_string_equal(kg_severity_name(KG_SEV_WARN), "warn");
    assert_string_equal(kg_severity_name(KG_SEV_REJECT), "reject");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_fire_and_spare_lookalikes),
        cmocka_unit_test(test_every_rule_has_a_case),
        cmocka_unit_test(test_opaque_data),
        cmocka_unit_test(test_honest_code_is_never_rejected),
        cmocka_unit_test(test_rejections_agree_with_gcc),
        cmocka_unit_test(test_findings_are_ordered_bounded_and_say_where),
        cmocka_unit_test(test_any_bytes_end),
        cmocka_unit_test(test_severity_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
