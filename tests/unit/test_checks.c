/* Every check of tools/check/ must fail on a tree that breaks its rule, and pass on one that does
 * not. Each test builds a small tree and gives it to the script as root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"

static char tree[64], home[PATH_MAX];

static int enter(void **state)
{
    (void)state;
    const char *given = getenv("KGYM_TREE");
    snprintf(tree, sizeof tree, "/tmp/kgym-test-checks-XXXXXX");
    return realpath(given == NULL ? "." : given, home) == NULL || mkdtemp(tree) == NULL;
}

static int leave(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return kg_file_remove_tree(tree, &err) != KG_OK;
}

static void put(const char *path, const char *text)
{
    char whole[PATH_MAX], folder[PATH_MAX];
    struct kg_err err = KG_ERR_INIT;
    snprintf(whole, sizeof whole, "%s/%s", tree, path);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(whole, '/') - whole), whole);
    assert_int_equal(kg_file_mkdirs(folder, 0755, &err), KG_OK);
    assert_int_equal(kg_file_write_atomic(whole, text, strlen(text), &err), KG_OK);
}

/* Runs a command; its output into out, its exit status returned. */
static int run(const char *command, struct kg_buf *out)
{
    char chunk[4096];
    FILE *f = popen(command, "r");
    assert_non_null(f);
    kg_buf_reset(out);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;) {
        kg_buf_add(out, chunk, n);
    }
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* wanted: a line of the output, or NULL where the check must pass. */
static void expect(const char *check, const char *wanted)
{
    struct kg_buf out;
    char command[2 * PATH_MAX + 100];
    kg_buf_init(&out, 1 << 16);
    snprintf(command, sizeof command, "'%s/tools/check/%s.sh' '%s' 2>&1", home, check, tree);
    int status = run(command, &out);
    if (wanted == NULL ? status != 0 : status != 1 || strstr(out.data, wanted) == NULL) {
        fail_msg("%s: exit status %d, output:\n%s", check, status, out.data);
    }
    kg_buf_deinit(&out);
}

static bool lacks(const char *tool)
{
    char command[100];
    struct kg_buf out;
    kg_buf_init(&out, 1000);
    snprintf(command, sizeof command, "command -v %s", tool);
    int status = run(command, &out);
    kg_buf_deinit(&out);
    return status != 0;
}

#define GOOD_HEADER                                                                                \
    "/* A module. */\n#ifndef KG_BASE_GOOD_H\n#define KG_BASE_GOOD_H\n\nint kg_good(void);\n\n"    \
    "#endif\n"

static void format(void **state)
{
    (void)state;
    if (lacks("clang-format")) {
        puts("skip: clang-format is not installed");
        skip();
    }
    char command[2 * PATH_MAX + 100];
    struct kg_buf out;
    kg_buf_init(&out, 1000);
    snprintf(command, sizeof command, "cp '%s/.clang-format' '%s'", home, tree);
    assert_int_equal(run(command, &out), 0);
    kg_buf_deinit(&out);
    put("src/base/good.h", GOOD_HEADER);
    put("tests/hostile/ugly.c", "int  x ;\n"); /* not ours to format */
    put("problems/ugly.c", "int  x ;\n");
    expect("format", NULL);
    put("src/base/bad.c", "int  x ;\n");
    expect("format", "src/base/bad.c: not formatted");
}

static void layers(void **state)
{
    (void)state;
    put("tools/check/edges.txt", "# a table\n\nx: y\ny:\nz/w: y\ncli/gym: y\nremote: y\n"
                                 "rl/m: rl/n\nrl/n:\n");
    put("src/base/a.c", "#include \"base/a.h\"\n#include <stdio.h>\n");
    put("src/gym/z/w/a.c", "#include \"gym/z/w/a.h\"\n#include \"gym/y/b.h\"\n");
    put("src/gym/x/a.c", "#include \"base/a.h\"\n#include \"gym/y/b.h\"\n");
    put("src/runner/a.c", "#include \"gym/run/wire.h\"\n#include \"gym/sandbox/sandbox.h\"\n");
    put("src/cli/a.c", "#include \"cli/gym/a.h\"\n#include \"base/a.h\"\n");
    put("src/cli/gym/a.c", "#include \"cli/a.h\"\n#include \"gym/y/b.h\"\n");
    put("src/cli/learn/a.c", "#include \"rl/a.h\"\n#include \"lm/lm.h\"\n"
                             "#include \"gym/kgym.h\"\n#include \"cli/cli.h\"\n");
    put("src/rl/m/a.c", "#include \"rl/m/a.h\"\n#include \"lm/lm.h\"\n#include \"gym/kgym.h\"\n");
    put("src/rl/m/b.c", "#include \"rl/n/a.h\"\n");
    put("src/remote/a.c", "#include \"svc/a.h\"\n#include \"gym/y/a.h\"\n");
    put("src/svc/a.c", "#include \"svc/a.h\"\n#include \"base/a.h\"\n#include \"gym/kgym.h\"\n");
    put("src/lm/train/a.c", "#include \"lm/ops/a.h\"\n#include \"lm/model/a.h\"\n");
    put("src/lm/model/a.c", "#include \"lm/ops/a.h\"\n#include \"lm/model/a.h\"\n");
    put("src/lm/ops/a.inc", "#include \"lm/ops/a.h\"\n");
    expect("layers", NULL);
    static const struct {
        const char *path, *text, *wanted;
    } cases[] = {
        {"src/base/b.c", "#include \"gym/y/b.h\"\n", "src/base/b.c:1: base may not include"},
        {"src/base/c.c", "\n#  include <gym/y/b.h>\n", "src/base/c.c:2: base may not include"},
        {"src/base/d.c", "#include \"d.h\"\n", "src/base/d.c:1: base may not include \"d.h\""},
        {"src/base/e.c", "#include \"base/../gym/y/b.h\"\n", "src/base/e.c:1:"},
        {"src/gym/x/b.c", "#include \"cli/a.h\"\n", "src/gym/x/b.c:1: gym may not include"},
        {"src/runner/b.c", "#include \"base/buf.h\"\n", "src/runner/b.c:1: runner may not"},
        {"src/runner/c.c", "#include \"gym/judge/judge.h\"\n", "src/runner/c.c:1: runner may not"},
        {"src/new/a.c", "#include \"base/a.h\"\n", "src/new/a.c:1: new may not include"},
        {"src/gym/y/c.c", "#include \"gym/x/a.h\"\n", "src/gym/y/c.c:1: y may not include"},
        {"src/gym/z/w/c.c", "#include \"gym/x/a.h\"\n", "src/gym/z/w/c.c:1: z/w may not include"},
        {"src/gym/n/c.c", "#include \"gym/y/b.h\"\n", "src/gym/n/c.c:1: n may not include"},
        {"src/cli/c.c", "#include \"gym/kgym.h\"\n", "src/cli/c.c:1: cli may not include"},
        {"src/cli/gym/c.c", "#include \"gym/x/a.h\"\n", "src/cli/gym/c.c:1: cli/gym may not"},
        {"src/cli/gym/d.c", "#include \"rl/a.h\"\n", "src/cli/gym/d.c:1: cli may not"},
        {"src/cli/learn/c.c", "#include \"gym/y/b.h\"\n", "src/cli/learn/c.c:1: cli may not"},
        {"src/cli/learn/d.c", "#include \"cli/gym/a.h\"\n", "src/cli/learn/d.c:1: cli may not"},
        {"src/svc/b.c", "#include \"gym/y/b.h\"\n", "src/svc/b.c:1: svc may not include"},
        {"src/svc/c.c", "#include \"rl/a.h\"\n", "src/svc/c.c:1: svc may not include"},
        {"src/remote/b.c", "#include \"gym/x/a.h\"\n", "src/remote/b.c:1: remote may not include"},
        {"src/remote/c.c", "#include \"rl/a.h\"\n", "src/remote/c.c:1: remote may not include"},
        {"src/svc/d.c", "#include \"remote/a.h\"\n", "src/svc/d.c:1: svc may not include"},
        {"src/cli/svc/c.c", "#include \"gym/x/a.h\"\n", "src/cli/svc/c.c:1: cli/svc may not"},
        {"src/cli/svc/d.c", "#include \"rl/a.h\"\n", "src/cli/svc/d.c:1: cli may not"},
        {"src/rl/n/b.c", "#include \"gym/y/b.h\"\n", "src/rl/n/b.c:1: rl may not include"},
        {"src/rl/n/c.c", "#include \"rl/m/a.h\"\n", "src/rl/n/c.c:1: rl/n may not include"},
        {"src/lm/train/b.c", "#include \"rl/a.h\"\n", "src/lm/train/b.c:1: lm may not"},
        {"src/lm/io/b.c", "#include \"gym/kgym.h\"\n", "src/lm/io/b.c:1: lm may not"},
        {"src/lm/model/b.c", "#include \"lm/infer/a.h\"\n", "src/lm/model/b.c:1: lm may not"},
        {"src/lm/ops/b.inc", "#include \"lm/model/a.h\"\n", "src/lm/ops/b.inc:1: lm may not"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(cases[i].path, cases[i].text);
        expect("layers", cases[i].wanted);
    }
    put("tools/check/edges.txt", "x: y\ny: z/w\nz/w: x y\ncli/gym: y\n");
    expect("layers", "tools/check/edges.txt: a loop: ");
    put("tools/check/edges.txt", "x: y v\ny:\nz/w: y\ncli/gym: y\n");
    expect("layers", "tools/check/edges.txt: nothing in x includes v");
}

static void headers(void **state)
{
    (void)state;
    put("src/base/good.h", GOOD_HEADER);
    expect("headers", NULL);
    put("src/base/bare.h", "#ifndef KG_BASE_BARE_H\n#define KG_BASE_BARE_H\n#endif\n");
    expect("headers", "src/base/bare.h: does not open with a comment");
    put("src/gym/x/guard.h", "/* x */\n#ifndef KG_GUARD_H\n#define KG_GUARD_H\n#endif\n");
    expect("headers", "src/gym/x/guard.h: its include guard is not KG_GYM_X_GUARD_H");
    put("src/base/needy.h", "/* x */\n#ifndef KG_BASE_NEEDY_H\n#define KG_BASE_NEEDY_H\n"
                            "size_t kg_needy(void);\n#endif\n");
    expect("headers", "src/base/needy.h: does not compile alone: ");
    put("src/gym/kgym.h", "/* x */\n#ifndef KG_GYM_KGYM_H\n#define KG_GYM_KGYM_H\n#endif\n");
    expect("headers", "src/gym/kgym.h: its include guard is not KGYM_H");
    put("src/gym/kgym.h", "/* x */\n#ifndef KGYM_H\n#define KGYM_H\nint kgym_a(int class, int b)\n"
                          "    __attribute__((nonnull));;\n#endif\n");
    expect("headers", "src/gym/kgym.h: does not compile with `g");
}

/* A function of so many lines, braces included, and a file of so many. */
static void put_long(const char *path, int function_lines, int file_lines)
{
    struct kg_buf text;
    kg_buf_init(&text, 1 << 16);
    kg_buf_adds(&text, "int kg_long(int x)\n{\n");
    for (int i = 0; i < function_lines - 2; i++) {
        kg_buf_adds(&text, "    x++;\n");
    }
    kg_buf_adds(&text, "}\n");
    for (int i = function_lines + 1; i < file_lines; i++) {
        kg_buf_adds(&text, "/* */\n");
    }
    put(path, text.data);
    kg_buf_deinit(&text);
}

/* A file that begins with `first` and has so many lines. */
static void put_lines(const char *path, const char *first, int lines)
{
    struct kg_buf text;
    kg_buf_init(&text, 1 << 16);
    kg_buf_adds(&text, first);
    for (const char *c = first; *c != '\0'; c++) {
        lines -= *c == '\n';
    }
    for (int i = 0; i < lines; i++) {
        kg_buf_adds(&text, "\n");
    }
    put(path, text.data);
    kg_buf_deinit(&text);
}

static void length(void **state)
{
    (void)state;
    put_long("src/base/ok.c", 60, 400);
    expect("length", NULL);
    put_long("src/base/function.c", 61, 70);
    expect("length", "src/base/function.c:2: function of 61 lines: int kg_long(int x)");
    put_long("src/base/file.c", 10, 401);
    expect("length", "src/base/file.c: more than 400 lines");
    put_long("src/gym/x/kernel.cu", 61, 70);
    expect("length", "src/gym/x/kernel.cu:2: function of 61 lines: int kg_long(int x)");
    put_lines("harness/kgym_harness/long.py", "", 401);
    expect("length", "harness/kgym_harness/long.py: more than 400 lines");
    put("harness/kgym_harness/wide.py",
        "# 345678901234567890123456789012345678901234567890123456789012345678901234567890"
        "123456789012345678901\n");
    expect("length", "harness/kgym_harness/wide.py:1: line of 101 columns");
    put_lines("src/svc/long.js", "", 401);
    expect("length", "src/svc/long.js: more than 400 lines");
}

static void heads(void **state)
{
    (void)state;
    put_lines("src/base/good.c", "/* This file does x. */\n", 61);
    put_lines("src/base/short.c", "#include <stdio.h>\n", 60);
    put_lines("src/gym/x/good.cu", "/* Kernels that do x. */\n", 61);
    put_lines("harness/kgym_harness/good.py", "#!/usr/bin/env python3\n\"\"\"Does x.\"\"\"\n", 61);
    expect("heads", NULL);
    static const struct {
        const char *path, *first;
    } cases[] = {
        {"src/base/bad.c", "#include <stdio.h>\n"},
        {"src/gym/x/bad.cu", "#define X 1\n"},
        {"src/svc/bad.js", "let x = 1;\n"},
        {"harness/kgym_harness/bad.py", "import os\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char wanted[200];
        snprintf(wanted, sizeof wanted, "%s: does not open with a comment", cases[i].path);
        put_lines(cases[i].path, cases[i].first, 61);
        expect("heads", wanted);
    }
}

static void names(void **state)
{
    (void)state;
    char command[300];
    struct kg_buf out;
    kg_buf_init(&out, 1000);
    expect("names", "no objects below build/check/obj");
    put("src/base/a.c", "int kg_a(void);\nint kg_a(void)\n{\n    return 0;\n}\n"
                        "static int helper;\nint *kg_b(void);\nint *kg_b(void)\n{\n"
                        "    return &helper;\n}\n");
    put("src/cli/main.c", "int main(void)\n{\n    return 0;\n}\n");
    put("build/check/obj/src/base/empty", "");
    put("build/check/obj/src/cli/empty", "");
    for (int round = 0; round < 2; round++) {
        snprintf(command, sizeof command,
                 "cd '%s' && for f in base/a cli/main; do gcc -c src/$f.c -o "
                 "build/check/obj/src/$f.o; done",
                 tree);
        assert_int_equal(run(command, &out), 0);
        expect("names", round == 0 ? NULL : "src/base/a.c: helper does not begin with kg_");
        put("src/base/a.c", "int helper(void);\nint helper(void)\n{\n    return 0;\n}\n");
    }
    kg_buf_deinit(&out);
}

#define PUBLIC(text) "#include \"gym/kgym.h\"\n#include <jansson.h>\n" text

/* The tree's own Makefile links the libraries of a small pool. */
static void reach(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {PUBLIC("#include <signal.h>\nint kgym_x(void)\n{\n    json_decref(json_null());\n"
                "    return signal(SIGPIPE, SIG_IGN) == SIG_ERR;\n}\n"),
         "libkgym.so.7.8.9: a public call reaches signal"},
        {PUBLIC("int kg_y(void);\nint kgym_x(void)\n{\n    json_decref(json_null());\n"
                "    return kg_y();\n}\n"),
         "libkgym.a: a public call reaches fork"},
        {PUBLIC("int kgym_x(void)\n{\n    json_decref(json_null());\n    return 0;\n}\n"
                "KGYM_API int kgym_z(void);\nint kgym_z(void)\n{\n    return 0;\n}\n"),
         "libkgym.so.7.8.9: exports kgym_z, which kgym.h does not declare"},
        {PUBLIC("int kg_x(void);\nint kg_x(void)\n{\n    return 0;\n}\n"),
         "libkgym.a: lacks kgym_x, which kgym.h declares"},
    };
    char command[2 * PATH_MAX + 100];
    struct kg_buf out;
    kg_buf_init(&out, 1000);
    put("src/base/version.h", "#define KG_VERSION \"7.8.9\"\n");
    put("src/gym/kgym.h", "#define KGYM_API __attribute__((visibility(\"default\")))\n"
                          "KGYM_API int kgym_x(void);\nKGYM_API int kgym_w(void);\n");
    put("src/gym/pool/w.c", PUBLIC("int kgym_w(void)\n{\n    return 0;\n}\n"));
    put("src/gym/pool/y.c", "#include <unistd.h>\nint kg_y(void);\nint kg_y(void)\n{\n"
                            "    return (int)fork();\n}\n"); /* nothing reaches it yet */
    put("src/gym/pool/x.c", PUBLIC("int kgym_x(void)\n{\n    json_decref(json_null());\n"
                                   "    return 0;\n}\n"));
    snprintf(command, sizeof command,
             "cp '%s/Makefile' '%s' && cp '%s/src/gym/kgym.map' '%s/src/gym'", home, tree, home,
             tree);
    assert_int_equal(run(command, &out), 0);
    expect("reach", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(command, sizeof command, "rm -rf '%s/build'", tree);
        assert_int_equal(run(command, &out), 0);
        put("src/gym/pool/x.c", cases[i].text);
        expect("reach", cases[i].wanted);
    }
    kg_buf_deinit(&out);
}

static void words(void **state)
{
    (void)state;
    put("docs/a.md", "A path such as build/work/x or https://example.org/work/x is fine.\n");
    expect("words", NULL);
    /* Spelled in two parts: this file is checked as well. */
    put("docs/b.md", "see /wo"
                     "rk/notes\n");
    expect("words", "docs/b.md:1:see ");
    put("docs/b.md", "fine again\n");
    put("src/base/a.c", "#define PLACE \"/fa"
                        "rm/x\"\n");
    expect("words", "src/base/a.c:1:");
}

static void messages(void **state)
{
    (void)state;
    put("src/base/a.c", "if (err->message[0] && strlen(err->message) < 9) {\n"
                        "    snprintf(out, n, \"%s\", err->message);\n"
                        "    memcpy(r.message, err.message, n);\n}\n"
                        "if (strcmp(text, \"x.message\") == 0 && message(b) == 1) {\n}\n");
    put("src/gym/x/a.c", "if (strstr(r->message, \"out of memory\")) {\n}\n");
    put("tools/check/messages.txt", "Why.\n\nsrc/gym/x/a.c: shows one\n");
    expect("messages", NULL);
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"if (strstr(err->message, \"no memory\")) {\n}\n",
         "src/gym/y/b.c:1: compares or searches"},
        {"\nif (!strncmp(err.message,\n             what, 5)) {\n}\n",
         "src/gym/y/b.c:2: compares or searches"},
        {"x = strcasestr(f(a(b), r->error.message), \")\");\n", "src/gym/y/b.c:1: compares"},
        {"const char *message = line->message;\nb = strncmp(message, place, n) == 0;\n",
         "src/gym/y/b.c:2: compares or searches"},
        {"x = err.message[n] == ':';\n", "src/gym/y/b.c:1: compares a byte of a message"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put("src/gym/y/b.c", cases[i].text);
        expect("messages", cases[i].wanted);
    }
}

static void warnings(void **state)
{
    (void)state;
    char command[2 * PATH_MAX + 100];
    struct kg_buf out;
    kg_buf_init(&out, 1000);
    snprintf(command, sizeof command, "cp '%s/Makefile' '%s'", home, tree);
    assert_int_equal(run(command, &out), 0);
    put("src/base/a.c", "int kg_a(void);\nint kg_a(void)\n{\n    return 0;\n}\n");
    put("src/base/wrong.c", "int kg_wrong(void)\n{\n    return 0;\n}\n");
    expect("warnings", "src/base/wrong.c:1:5: error: no previous prototype for");
    snprintf(command, sizeof command, "cd '%s' && ! test -e build/release && rm src/base/wrong.c",
             tree);
    assert_int_equal(run(command, &out), 0);
    expect("warnings", NULL);
    /* A tree without a release build has one now, and make finds nothing to do for it. */
    snprintf(command, sizeof command,
             "cd '%s' && env -u MAKEFLAGS make -q build/release/obj/src/base/a.o && "
             "grep -q '^build/release/obj/src/base/a.o:' build/release/obj/src/base/a.d",
             tree);
    assert_int_equal(run(command, &out), 0);
    kg_buf_deinit(&out);
    /* Another file: one written within a clock tick of its object looks up to date. */
    put("src/base/b.c", "int kg_b(void)\n{\n    return 0;\n}\n");
    expect("warnings", "src/base/b.c:1:5: error: no previous prototype for");
}

static void docs(void **state)
{
    (void)state;
    if (lacks("jq")) {
        puts("skip: jq is not installed");
        skip();
    }
    char binary[PATH_MAX], command[3 * PATH_MAX];
    struct kg_buf out;
    kg_buf_init(&out, 10000);
    snprintf(binary, sizeof binary, "%s/kgym", getenv("KGYM_BUILD"));
    setenv("KGYM_BINARY", binary, 1);
    snprintf(command, sizeof command,
             "mkdir -p '%s/docs' && '%s/tools/docs.sh' '%s' '%s/docs' 2>&1", tree, home, binary,
             tree);
    assert_int_equal(run(command, &out), 0);
    kg_buf_deinit(&out);
    expect("docs", NULL);
    put("docs/options.md", "# Configuration keys, by hand\n");
    expect("docs", "docs/options.md: out of date");
    put("docs/static-check.md",
        "| rule | severity | says |\n|---|---|---|\n| `gone` | note | x |\n");
    expect("docs", "docs/static-check.md: out of date");
    unsetenv("KGYM_BINARY");
}

#define OVERRUN                                                                                    \
    "int kg_a(void);\nint kg_a(void)\n{\n    int a[2] = {0};\n    int *p = 0;\n"                   \
    "    return a[2] + *p;\n}\n"

static void cppcheck(void **state)
{
    (void)state;
    if (lacks("cppcheck")) {
        puts("skip: cppcheck is not installed");
        skip();
    }
    put("tools/check/cppcheck.txt", "missingIncludeSystem\n");
    put("src/base/good.h", GOOD_HEADER);
    put("src/base/a.c", "#include \"base/good.h\"\nint kg_good(void)\n{\n    return 0;\n}\n");
    expect("cppcheck", NULL);
    put("src/base/a.c", OVERRUN);
    expect("cppcheck", "src/base/a.c:6: arrayIndexOutOfBounds");
}

static void tidy(void **state)
{
    (void)state;
    if (lacks("clang-tidy")) {
        puts("skip: clang-tidy is not installed");
        skip();
    }
    put(".clang-tidy", "Checks: 'clang-analyzer-*'\n");
    put("src/base/a.c", "int kg_a(void);\nint kg_a(void)\n{\n    return 0;\n}\n");
    expect("tidy", NULL);
    put("src/base/a.c", OVERRUN);
    expect("tidy", "[clang-analyzer-core.NullDereference]");
}

/* Whoever runs this may be a hook of git's, which tells git of another tree. */
static void in_tree(const char *command)
{
    char whole[PATH_MAX + 300];
    struct kg_buf out;
    kg_buf_init(&out, 10000);
    snprintf(whole, sizeof whole,
             "cd '%s' && unset $(git rev-parse --local-env-vars) && { %s; } 2>&1", tree, command);
    if (run(whole, &out) != 0) {
        fail_msg("%s: %s", command, out.data);
    }
    kg_buf_deinit(&out);
}

/* The rule of make that tells what includes it is wrapped. */
#define LONG "a_header_with_so_long_a_name_that_what_comes_behind_it_stands_in_another_line_"

/* What is as it was at the commit of tidy.base is passed by, and nothing else is. */
static void tidy_base(void **state)
{
    (void)state;
    if (lacks("clang-tidy") || lacks("git")) {
        puts("skip: clang-tidy or git is not installed");
        skip();
    }
    unsetenv("TIDY");
    put(".clang-tidy", "Checks: 'clang-analyzer-*'\n");
    put(".gitignore", "build/\n");
    put("src/base/good.h", GOOD_HEADER);
    put("src/base/" LONG ".h", "");
    put("src/base/a.c", "#include \"base/" LONG ".h\"\n#include \"base/good.h\"\n" OVERRUN);
    in_tree("git init -q && git add . && "
            "git -c user.name=N -c user.email=n@example.org -c commit.gpgsign=false "
            "-c core.hooksPath=/dev/null commit -q -m 'base: add a fault'");
    expect("tidy", "[clang-analyzer-core.NullDereference]"); /* no commit is named */
    in_tree("mkdir -p tools/check && git rev-parse HEAD >tools/check/tidy.base");
    expect("tidy", NULL);

    put("src/base/b.c", OVERRUN);
    in_tree("git add .");
    expect("tidy", "src/base/b.c");
    in_tree("git rm -q -f src/base/b.c");
    expect("tidy", NULL);
    put("src/base/good.h", GOOD_HEADER "\n");
    expect("tidy", "src/base/a.c");
    put("src/base/a.c", "#error no rule\n");
    expect("tidy", "src/base/a.c");
    in_tree("git checkout -q src/base/a.c");
    put("src/base/good.h", GOOD_HEADER);
    expect("tidy", NULL);
    put(".clang-tidy", "Checks: 'clang-analyzer-core*'\n");
    expect("tidy", "src/base/a.c");
    in_tree("git checkout -q .clang-tidy");
    put("tools/check/tidy.base", "0123456789012345678901234567890123456789\n");
    expect("tidy", "src/base/a.c");
}

int main(void)
{
#define IN_TREE(f) cmocka_unit_test_setup_teardown(f, enter, leave)
    const struct CMUnitTest tests[] = {
        IN_TREE(format),   IN_TREE(layers), IN_TREE(headers),   IN_TREE(heads), IN_TREE(length),
        IN_TREE(names),    IN_TREE(words),  IN_TREE(messages),  IN_TREE(docs),  IN_TREE(warnings),
        IN_TREE(cppcheck), IN_TREE(tidy),   IN_TREE(tidy_base), IN_TREE(reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
