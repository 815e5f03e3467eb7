/* `make install` as a user of it sees it: a program that works anywhere, for root and for a normal
 * user, a library that a C program links, man pages, completion, and an uninstall that leaves
 * nothing. Only builds without sanitizers are installed. */
#include "kgym_rig.h"

#include "sanitized.h"

#define PREFIX  "$PWD/p"
#define NOWHERE "env -i PATH=/usr/bin:/bin" /* no HOME, no variable of kgym */

static bool sanitized;
static char make[300];   /* the command, without target and PREFIX */
static const char *user; /* words before a command that run it as a normal user */

static int setup(void **state)
{
    sanitized = is_sanitized(getenv("KGYM_BUILD"));
    if (rig_setup(state) != 0) {
        return -1;
    }
    char *slash = strrchr(getenv("K"), '/');
    *slash = 0; /* in place: .../build/VARIANT/kgym */
    snprintf(make, sizeof make, "make -s -C \"$T\" VARIANT=%s", strrchr(getenv("K"), '/') + 1);
    *slash = '/';
    static const char *const gone[] = {"KGYM_HOME", "KGYM_CACHE", "KGYM_PROGRAM",
                                       "MAKEFLAGS", "MAKELEVEL",  "MAKEOVERRIDES"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        unsetenv(gone[i]);
    }
    user = geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " NOWHERE : NOWHERE;
    rig_text("good.md", "```c\n#include <math.h>\n#include <stdint.h>\n"
                        "void silu(const float *x, float *y, int64_t n)\n{\n"
                        "    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (1 + expf(-x[i]));\n"
                        "}\n```\n");
    return sanitized || rig_run("%s install PREFIX=" PREFIX, make) == 0 ? 0 : -1;
}

static void need_an_installation(void)
{
    if (sanitized) {
        puts("skip: a sanitized build has no library to install");
        skip();
    }
}

static void need(const char *tool)
{
    need_an_installation();
    if (rig_run("command -v %s", tool) != 0) {
        printf("skip: %s is not installed\n", tool);
        skip();
    }
}

/* For the last part of a test: the rest of it has passed. */
static bool lacks(const char *tool)
{
    bool none = rig_run("command -v %s", tool) != 0;
    if (none) {
        printf("skip: %s is not installed, so one part of a test is left out\n", tool);
    }
    return none;
}

static void test_every_file_is_listed_and_readable(void **state)
{
    (void)state;
    need_an_installation();
    rig_expect(0, "(cd p && find . -type f -o -type l | sort) > there; "
                  "sed -n \"s|^f $PWD/p|.|p\" p/lib/kgym/installed | sort | diff - there");
    rig_expect(0, "test -z \"$(find p -perm /022 -not -type l)\"");
    rig_expect(0, "test -z \"$(find p -type f -not -perm -444)\"");
    rig_expect(0, "cd p && test -x bin/kgym && test -x lib/kgym/kgym-runner && test -f "
                  "include/kgym.h && test -f share/kgym/problems/native/silu.c && test -f "
                  "lib/kgym/libkgym_probe.so && test -f share/kgym/harness/kgym_harness/zygote.py");
    rig_expect(0, "test \"$(readlink p/lib/libkgym.so)\" = libkgym.so.0 && test -f "
                  "p/lib/libkgym.so");
}

static void test_the_program_works_anywhere(void **state)
{
    (void)state;
    need_an_installation();
    const char *const as[] = {NOWHERE " HOME=$PWD/home", NOWHERE, user};
    for (size_t i = 0; i < sizeof as / sizeof *as; i++) {
        rig_expect(0, "d=$PWD; cd / && %s $d/p/bin/kgym eval silu --no-stage-timing - < $d/good.md",
                   as[i]);
        rig_shows("OK");
    }
    rig_expect(0, "%s HOME=/nonexistent p/bin/kgym problems list", user);
    rig_shows("softmax");
    rig_expect(0,
               "mv p moved; %s moved/bin/kgym eval silu --no-stage-timing - < good.md; "
               "s=$?; mv moved p; exit $s",
               user);
    rig_expect(0, "%s KGYM_HOME=" PREFIX " $K eval silu --no-stage-timing - < good.md", NOWHERE);
    rig_expect(1, "find p -name __pycache__ | grep .");
}

/* The example judges a right reply, a wrong one and one without code. */
static void run_example(const char *as, const char *program)
{
    rig_expect(0, "d=$PWD; cd / && %s $d/%s stage.timing=false", as, program);
    rig_shows("right    ok       right on every input\n         reward dr-kernel 1\n");
    rig_shows("wrong    wrong    ");
    rig_shows("no code  no_code  ");
    rig_shows("         reward dr-kernel 0\n");
}

static void test_a_c_program_uses_the_library(void **state)
{
    (void)state;
    need("pkg-config");
    rig_expect(0, "test $(wc -l < $T/examples/submit.c) -le 60");
    setenv("PKG_CONFIG_PATH", "p/lib/pkgconfig", 1);
    rig_expect(0, "test \"$(pkg-config --modversion kgym)\" = \"$($K --version | cut -d' ' -f2)\"");
    rig_expect(0, "test \"$(pkg-config --variable=program kgym)\" = " PREFIX "/bin/kgym");
    rig_expect(0, "gcc -Wall -Wextra -Werror p/share/doc/kgym/examples/submit.c -o shared "
                  "$(pkg-config --cflags --libs kgym)");
    rig_expect(0, "gcc -static p/share/doc/kgym/examples/submit.c -o static "
                  "$(pkg-config --static --cflags --libs kgym)");
    unsetenv("PKG_CONFIG_PATH");
    char as[600];
    snprintf(as, sizeof as, "%s LD_LIBRARY_PATH=%s/p/lib", NOWHERE, rig_dir);
    run_example(as, "shared");
    snprintf(as, sizeof as, "%s LD_LIBRARY_PATH=%s/p/lib", user, rig_dir);
    run_example(as, "shared");
    snprintf(as, sizeof as, "%s KGYM_PROGRAM=%s/p/bin/kgym", NOWHERE, rig_dir);
    run_example(as, "static");
    snprintf(as, sizeof as, "%s PATH=%s/p/bin:/usr/bin:/bin", user, rig_dir);
    run_example(as, "static");
    rig_expect(2, "%s ./static stage.timing=false", user);
    rig_says("KGYM_PROGRAM names it");
    rig_expect(2, "LD_LIBRARY_PATH=p/lib ./shared stage.timing=perhaps");
    rig_says("stage.timing");
}

static void test_only_the_calls_are_visible(void **state)
{
    (void)state;
    need("nm");
    rig_expect(0, "nm -D --defined-only p/lib/libkgym.so | grep -c ' T kgym_open@@KGYM_0.1$'");
    rig_expect(1, "nm -D --defined-only p/lib/libkgym.so | grep -v -e ' T kgym_[a-z_]*@@KGYM_' -e "
                  "' A KGYM_0.1$'");
    rig_expect(0, "nm -g --defined-only p/lib/libkgym.a | grep -c ' T kgym_open$'");
    rig_expect(1, "nm -g --defined-only p/lib/libkgym.a | grep ' [A-Z] ' | grep -v ' T kgym_'");
    rig_expect(0, "test \"$(nm -D --defined-only p/lib/libkgym.so | sed -n 's/.* T \\(.*\\)@@.*/"
                  "\\1/p' | sort)\" = \"$(nm -g --defined-only p/lib/libkgym.a | sed -n "
                  "'s/.* T //p' | sort)\"");
    rig_expect(0, "objdump -p p/lib/libkgym.so | grep -q 'SONAME *libkgym.so.0$'");
    rig_expect(1, "objdump -p p/lib/libkgym.so | grep NEEDED | grep -v -e libjansson -e libm -e "
                  "libc.so -e libpthread");
}

static void test_man_pages(void **state)
{
    (void)state;
    need_an_installation();
    rig_expect(0, "$K --help | sed -n 's/^  \\([a-z][a-z]*\\) .*/\\1/p' > commands; test -s "
                  "commands; for c in $(cat commands); do test -s p/share/man/man1/kgym-$c.1 && "
                  "grep -q \"kgym..$c\" p/share/man/man1/kgym.1 || exit 1; done");
    /* Examples keep their lines: they are a section, and no paragraph. */
    rig_expect(1, "grep -l '^Examples*:' p/share/man/man1/*.1");
    rig_expect(0, "grep -q '^.SH EXAMPLES' p/share/man/man1/kgym-refine.1");
    rig_expect(0, "sed 's/.[-]/-/g' p/share/man/man7/kgym-options.7 > text; $K options --markdown "
                  "| sed -n 's/^| `\\([a-z._]*\\)` .*/\\1/p' > keys; test -s keys; "
                  "for k in $(cat keys); do grep -q \"$k\" text || { echo $k; exit 1; }; done");
    rig_expect(0, "sed 's/.[-]/-/g' p/share/man/man1/kgym-eval.1 > text; for f in $($K eval --help "
                  "| grep -oE '^ *--[a-z-]+' | sort -u); do grep -q -e \"$f\" text || { echo $f; "
                  "exit 1; }; done");
    if (lacks("groff")) {
        return;
    }
    rig_expect(0, "for f in p/share/man/man*/*; do groff -man -ww -Tutf8 -Kutf8 -z $f; done 2>&1");
    assert_int_equal(rig.out.len, 0);
    rig_expect(0, "groff -man -Tascii -P-cbou p/share/man/man1/kgym-eval.1");
    rig_shows("kgym-eval - judge a candidate");
    rig_shows("\nEXIT STATUS\n");
}

static void test_completion(void **state)
{
    (void)state;
    need("bash");
    rig_expect(0, "bash -n p/share/bash-completion/completions/kgym");
    rig_expect(0, "head -1 p/share/zsh/site-functions/_kgym | grep -qx '#compdef kgym'");
    rig_expect(0, "$K options --markdown | sed -n 's/^| `\\([a-z._]*\\)` .*/\\1/p' > keys; test -s "
                  "keys; for f in p/share/bash-completion/completions/kgym "
                  "p/share/zsh/site-functions/_kgym; do for k in $(cat keys); do grep -q \" $k=\" "
                  "$f || { echo $k; exit 1; }; done; done");
    rig_text("offers.sh",
             "for c in $($1 --help | sed -n 's/^  \\([a-z][a-z]*\\) .*/\\1/p'); do\n"
             "  w=\" $(for v in '' list eval analyze write generate; do __kgym_words $c $v; done | "
             "tr '\\n' "
             "' ') \"\n"
             "  for f in $($1 $c --help | grep -E '^ +--' | sed 's/\\([^ ]\\)   *[^ ].*/\\1/' | "
             "grep -oE -e '--[a-z][a-z-]*'); do\n"
             "    case $w in *\" $f \"*) echo $f ;; *) echo \"$c lacks $f\"; exit 1 ;; esac\n"
             "  done\ndone\n");
    rig_expect(0, "bash -c '. p/share/bash-completion/completions/kgym; . ./offers.sh' x $K");
    rig_shows("--stop-after\n");
    if (lacks("zsh")) {
        return;
    }
    rig_expect(0, "zsh -n p/share/zsh/site-functions/_kgym");
    rig_expect(0, "ZDOTDIR=$PWD zsh -f -c 'fpath=($PWD/p/share/zsh/site-functions $fpath); "
                  "autoload -Uz compinit; compinit -u -d dump; echo $_comps[kgym]'");
    assert_string_equal(rig.out.data, "_kgym\n");
}

static void test_a_package_is_staged(void **state)
{
    (void)state;
    need_an_installation();
    rig_expect(0, "mkdir stage && %s install DESTDIR=$PWD/stage PREFIX=/opt/k", make);
    rig_expect(0, "grep -qx prefix=/opt/k stage/opt/k/lib/pkgconfig/kgym.pc");
    rig_expect(1, "grep -r \"$PWD\" stage");
    rig_expect(0, NOWHERE " stage/opt/k/bin/kgym eval silu --no-stage-timing - < good.md");
    rig_expect(0, "DESTDIR=$PWD/stage PREFIX=/opt/k $T/tools/install.sh uninstall");
    rig_expect(0, "rmdir stage");
    rig_expect(2, "PREFIX=relative $T/tools/install.sh install ${K%%/kgym}");
    rig_says("PREFIX must be an absolute path");
    static const char *const roots[] = {"/", "//"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        rig_expect(2, "PREFIX=%s $T/tools/install.sh install ${K%%/kgym}", roots[i]);
        rig_says("PREFIX must be a folder below /, not / itself");
    }
    static const char *const odd[] = {"PREFIX=$PWD/a$'\\n'b", "PREFIX=$PWD/a$'\\n'",
                                      "PREFIX=/opt/k DESTDIR=$PWD/a$'\\r'b",
                                      "PREFIX=$PWD/a$'\\e'b"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        rig_expect(2, "bash -c \"%s \\$T/tools/install.sh install \\${K%%%%/kgym}\"", odd[i]);
        rig_says("must not hold a line break");
    }
    rig_expect(2, "%s install \"PREFIX=$PWD/a$(printf '\\nb')\"", make);
    rig_says("must not hold a line break");
    rig_expect(1, "ls | grep '^a'");
}

#define INTO_Q "PREFIX=$PWD/q $T/tools/install.sh "

static void test_an_uninstall_leaves_nothing(void **state)
{
    (void)state;
    need_an_installation();
    rig_expect(0, "mkdir -p q/share/man/man1 q/lib && echo mine > q/share/man/man1/mine.1");
    rig_expect(0, "(find q | sort) > before; " INTO_Q "install ${K%%/kgym}");
    /* A version before this one had a file that this one lacks; another program came to bin/. */
    rig_expect(0, "echo old > q/lib/kgym/gone && echo \"f $PWD/q/lib/kgym/gone\" >> "
                  "q/lib/kgym/installed && " INTO_Q
                  "install ${K%%/kgym} && ! test -e q/lib/kgym/gone");
    rig_expect(0,
               "mkdir q/share/kgym/harness/kgym_harness/__pycache__ && echo > "
               "q/share/kgym/harness/kgym_harness/__pycache__/zygote.pyc && echo > q/bin/theirs");
    rig_expect(0, INTO_Q "uninstall");
    rig_shows("q/bin holds other files: it stays");
    rig_expect(0, "rm -r q/bin; (find q | sort) | diff before -");
    rig_expect(2, INTO_Q "uninstall");
    rig_says("nothing is installed below");
    rig_expect(0, "%s uninstall PREFIX=" PREFIX " && ! test -e p", make);
    rig_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_file_is_listed_and_readable),
        cmocka_unit_test(test_the_program_works_anywhere),
        cmocka_unit_test(test_a_c_program_uses_the_library),
        cmocka_unit_test(test_only_the_calls_are_visible),
        cmocka_unit_test(test_man_pages),
        cmocka_unit_test(test_completion),
        cmocka_unit_test(test_a_package_is_staged),
        cmocka_unit_test(test_an_uninstall_leaves_nothing), /* the last: it removes what they use */
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
