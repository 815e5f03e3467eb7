/* tests/run.sh: its counts, its output, which programs it runs, and that a test that skips has
 * failed on a machine with a GPU. The programs here are scripts that print the lines of cmocka. */
#include "kgym_rig.h"

#define AGAIN(how, variant) "cd " variant " && " how " $T/tests/run.sh ../" variant
#define RUN(how, variant)   AGAIN(how " TEST_RETRY=0", variant)

static void program(const char *variant, const char *name, const char *body)
{
    char path[300], text[2000];
    snprintf(path, sizeof path, "%s/tests/%s", variant, name);
    snprintf(text, sizeof text, "#!/bin/sh\n%s", body);
    rig_expect(0, "mkdir -p %s/tests", variant);
    rig_text(path, text);
    rig_expect(0, "chmod +x %s", path);
}

static const char good[] = "echo '[ RUN      ] a'\necho 'told: 7 of 7'\necho '[       OK ] a'\n";
static const char skips[] = "echo '[ RUN      ] b'\necho 'skip: no device'\n"
                            "echo '[  SKIPPED ] b'\n"
                            "echo '[  SKIPPED ] 1 test(s), listed below:'\n"
                            "echo '[  SKIPPED ] b'\n";
static const char fails[] = "echo '[ RUN      ] c'\necho '[  FAILED  ] c'\nexit 1\n";

/* The lines of one process of a cmocka program: begin, then TEST and its end, then the summary. */
#define BEGIN   "echo '[==========] Running 1 test(s).'\necho '[ RUN      ] a'\n"
#define END     "echo '[==========] 1 test(s) run.'\n"
#define PASSES  BEGIN "echo '[       OK ] a'\n" END "echo '[  PASSED  ] 1 test(s).'\n"
#define SKIPS   "echo '[  SKIPPED ] a'\n" END
#define SKIPPED "echo '[  SKIPPED ] 1 test(s), listed below:'\necho '[  SKIPPED ] a'\n"

/* Without the settings of the run that this test is part of. */
static int setup(void **state)
{
    static const char *const names[] = {"TEST_RETRY", "TEST_TIMEOUT", "TEST_LANES",   "TEST_TALLY",
                                        "TEST_DEV",   "TEST_LIST",    "TEST_SOURCES", "TEST_UNTIL"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsetenv(names[i]);
    }
    return rig_setup(state);
}

static int fresh(void **state)
{
    (void)state;
    rig_run("rm -rf release sanitize dev list tally");
    return 0;
}

static void test_counts_and_what_is_told(void **state)
{
    (void)state;
    program("release", "good", good);
    program("release", "skips", skips);
    rig_expect(0, RUN("KGYM_TEST_GPU=0", "release"));
    rig_shows("1 passed, 0 failed, 1 skipped");
    rig_shows("          7 of 7\n");
    rig_shows("1 skip: no device");
    program("release", "fails", fails);
    rig_expect(1, RUN("KGYM_TEST_GPU=0", "release"));
    rig_shows("1 passed, 1 failed, 1 skipped");
    program("release", "dies", "exit 0\n");
    rig_expect(1, RUN("KGYM_TEST_GPU=0", "release"));
    rig_shows("\nfailed: dies fails\n1 passed, 2 failed, 1 skipped");
    rig_expect(1, RUN("KGYM_TEST_GPU=0", "release") " good lacking");
    rig_shows("\nfailed: lacking\n1 passed, 1 failed, 0 skipped");
    program("release", "errs",
            BEGIN "echo '[  ERROR   ] --- 1 != 2'\n"
                  "echo '[   LINE   ] --- t.c:9: error: Failure!'\nexit 1\n");
    rig_expect(1, RUN("", "release") " errs");
    rig_shows("what failed, or failed once:\n  errs: [  ERROR   ] --- 1 != 2\n"
              "  errs: t.c:9: error: Failure!\nfailed: errs\n");
}

/* cmocka counts no teardown of a group, and cuts a long message with the end of its line. */
static void test_a_teardown_and_a_long_message(void **state)
{
    (void)state;
    program("release", "down",
            BEGIN "echo '[       OK ] a'\necho 'ERROR: left behind: 1 processes'\n"
                  "echo '[  FAILED  ] GROUP TEARDOWN'\n" END "echo '[  PASSED  ] 1 test(s).'\n");
    rig_expect(1, RUN("", "release") " down");
    rig_shows("1 passed, 1 failed, 0 skipped");
    rig_shows("what failed, or failed once:\n  down: ERROR: left behind: 1 processes\n");
    program("release", "long",
            BEGIN "printf 'ERROR: exit status 1 instead of 0'\n"
                  "echo '[  ERROR   ] --- [   LINE   ] --- t.c:9: error: Failure!'\n"
                  "echo '[  FAILED  ] a'\nexit 1\n");
    rig_expect(1, RUN("", "release") " long");
    rig_shows("  long: t.c:9: error: Failure!\n");
    program("release", "leaks",
            PASSES "echo '==7==ERROR: LeakSanitizer: detected memory leaks'\nexit 1\n");
    rig_expect(1, RUN("", "release") " leaks");
    rig_shows("  leaks: ==7==ERROR: LeakSanitizer: detected memory leaks\n");
}

/* Several processes print to one log, each its own lines; these may come in any order. */
static void test_all_skipped_in_several_processes(void **state)
{
    (void)state;
    program("release", "two", BEGIN BEGIN SKIPS SKIPS SKIPPED SKIPPED);
    program("release", "turns", BEGIN SKIPS SKIPPED BEGIN SKIPS SKIPPED);
    rig_expect(0, RUN("KGYM_TEST_GPU=0", "release"));
    rig_shows("two                                ok       0 passed   2 skipped");
    rig_shows("turns                              ok       0 passed   2 skipped");
    rig_shows("\n0 passed, 0 failed, 4 skipped\n");
    program("release", "mixed", PASSES BEGIN SKIPS SKIPPED);
    rig_expect(0, RUN("KGYM_TEST_GPU=0", "release") " mixed");
    rig_shows("1 passed, 0 failed, 1 skipped");
    /* one of two has not ended its test */
    program("release", "half", BEGIN BEGIN SKIPS SKIPPED END);
    rig_expect(1, RUN("KGYM_TEST_GPU=0", "release") " half");
    rig_shows("0 passed, 1 failed, 1 skipped");
}

static void test_a_crash(void **state)
{
    (void)state;
    program("release", "in_a_test", BEGIN "kill -SEGV $$\n");
    rig_expect(1, RUN("", "release") " in_a_test");
    rig_shows("in_a_test failed with exit status 139");
    rig_shows("0 passed, 1 failed, 0 skipped");
    program("release", "later", PASSES "kill -ABRT $$\n");
    rig_expect(1, RUN("", "release") " later");
    rig_shows("later failed with exit status 134");
    rig_shows("1 passed, 1 failed, 0 skipped");
    program("release", "skipped", BEGIN SKIPS SKIPPED "exit 3\n");
    rig_expect(1, RUN("KGYM_TEST_GPU=0", "release") " skipped");
    rig_shows("0 passed, 1 failed, 1 skipped");
    program("release", "hangs", PASSES "sleep 60\n");
    rig_expect(1, RUN("TEST_TIMEOUT=1", "release") " hangs");
    rig_shows("hangs failed with exit status 124");
}

/* A program may leave with exit status 0 between two of its tests. */
static void test_a_missing_summary(void **state)
{
    (void)state;
    program("release", "leaves", BEGIN "echo '[       OK ] a'\n");
    rig_expect(1, RUN("", "release") " leaves");
    rig_shows("it ended before cmocka's last line");
    rig_shows("1 passed, 1 failed, 0 skipped");
    program("release", "skips", BEGIN "echo '[  SKIPPED ] a'\n");
    rig_expect(1, RUN("KGYM_TEST_GPU=0", "release") " skips");
    rig_shows("0 passed, 1 failed, 1 skipped");
    program("release", "child", PASSES BEGIN "echo '[       OK ] a'\n");
    rig_expect(1, RUN("", "release") " child");
    rig_shows("2 passed, 1 failed, 0 skipped");
    program("release", "silent", "exit 0\n");
    rig_expect(1, RUN("", "release") " silent");
    rig_shows("it ran no test");
    rig_shows("0 passed, 1 failed, 0 skipped");
}

static const char second_time[] = "if [ -e ../been ]; then\n" PASSES "exit 0\nfi\n"
                                  ": >../been\n" BEGIN "echo '[  FAILED  ] a'\nexit 1\n";

static void test_a_retry(void **state)
{
    (void)state;
    program("release", "shaky", second_time);
    program("release", "bad", fails);
    rig_run("rm -f been");
    rig_expect(0, AGAIN("", "release") " shaky");
    rig_shows("shaky failed with exit status 1");
    rig_shows("shaky                              again    1 passed   0 skipped");
    rig_shows("\n1 passed, 0 failed, 0 skipped\n");
    rig_run("rm -f been");
    rig_expect(1, RUN("", "release") " shaky");
    rig_shows("\n0 passed, 1 failed, 0 skipped\n");
    rig_expect(1, AGAIN("", "release") " bad");
    rig_shows("bad                                FAILED   0 passed   0 skipped");
    rig_shows("\n0 passed, 1 failed, 0 skipped\n");
    program("release", "third", "echo >>../runs\n[ $(wc -l <../runs) = 3 ] || exit 1\n" PASSES);
    rig_run("rm -f runs");
    rig_expect(0, AGAIN("", "release") " third");
    rig_run("rm -f runs");
    rig_expect(1, AGAIN("TEST_RETRY=1", "release") " third");
}

static void test_long_programs(void **state)
{
    (void)state;
    rig_text("list", "# long good\nlong   slow\n");
    program("release", "good", good);
    program("release", "slow", PASSES);
    rig_expect(0, RUN("TEST_LIST=../list", "release"));
    rig_shows("good  ");
    assert_null(strstr(rig.out.data, "slow  "));
    rig_expect(0, RUN("TEST_LIST=../list", "release") " --long");
    rig_shows("slow  ");
    assert_null(strstr(rig.out.data, "good  "));
    rig_expect(0, RUN("TEST_LIST=../list", "release") " --all");
    rig_shows("2 passed, 0 failed, 0 skipped");
    rig_expect(0, RUN("TEST_LIST=../list", "release") " slow");
    rig_shows("1 passed, 0 failed, 0 skipped");
    rig_expect(2, RUN("TEST_LIST=../lacking", "release"));
}

/* Each line of the list names a program that is there. */
static void test_the_list(void **state)
{
    (void)state;
    rig_expect(0, "grep -v -e '^#' -e '^$' $T/tests/programs.txt | while read -r kind name; do\n"
                  "  case $kind in long | light | unsanitized | slow | once) ;; *) echo \"kind "
                  "$kind\" ;; esac\n"
                  "  test -f $T/tests/unit/$name.c || echo \"lacks $name\"\ndone");
    assert_string_equal(rig.out.data, "");
    rig_expect(1, "grep -v -e '^#' -e '^$' $T/tests/programs.txt | sort | uniq -d | grep .");
}

#define WAITS_FOR(other)                                                                           \
    ": >../$(basename $0)\nfor i in 1 2 3 4 5 6 7 8 9 10; do\n"                                    \
    "[ -e ../" other " ] && { " PASSES "exit 0; }\nsleep 0.3\ndone\n" BEGIN

/* Two light programs that wait for each other pass only side by side. */
static void test_light_programs(void **state)
{
    (void)state;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        print_message("skip: one CPU\n");
        skip();
    }
    rig_text("list", "light left\nlight right\nlight shaky\n");
    program("release", "left", WAITS_FOR("right"));
    program("release", "right", WAITS_FOR("left"));
    program("release", "plain", good);
    rig_run("rm -f left right been");
    rig_expect(0, RUN("TEST_LIST=../list", "release"));
    rig_shows("3 passed, 0 failed, 0 skipped");
    rig_run("rm -f left right");
    rig_expect(1, RUN("TEST_LIST=../list TEST_LANES=1", "release"));
    rig_shows("failed: left\n");
    program("release", "shaky", second_time);
    rig_expect(0, AGAIN("TEST_LIST=../list", "release"));
    rig_shows("shaky                              again    1 passed");
    rig_shows("what failed, or failed once:\n  shaky: exit status 1\n");
    rig_shows("4 passed, 0 failed, 0 skipped");
    rig_run("rm -f left right"); /* sanitized, any program runs beside others */
    program("sanitize", "left", WAITS_FOR("right"));
    program("sanitize", "right", WAITS_FOR("left"));
    rig_expect(0, RUN("TEST_LIST=/dev/null", "sanitize"));
    rig_shows("2 passed, 0 failed, 0 skipped");
    for (int i = 0; i < 3; i++) { /* three for two CPUs: each waits for the others */
        char name[16];
        snprintf(name, sizeof name, "three%d", i);
        program("sanitize", name,
                ": >../$(basename $0)\nfor i in 1 2 3 4 5 6 7 8 9 10; do\n"
                "[ $(ls .. | grep -c '^three') = 3 ] && { " PASSES
                "exit 0; }\nsleep 0.3\ndone\n" BEGIN);
    }
    rig_expect(0, RUN("TEST_LIST=/dev/null TEST_LANES=2", "sanitize") " three0 three1 three2");
    /* a light program meets SIGINT as others do */
    program("release", "shaky",
            "grep -q 'SigIgn:.*[2367abef].$' /proc/self/status && exit 1\n" PASSES);
    rig_expect(0, RUN("TEST_LIST=../list", "release") " shaky");
}

static void test_the_slowest_and_the_sum(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < 11; i++) {
        snprintf(name, sizeof name, "p%d", i);
        program("release", name, i == 7 ? "sleep 0.3\n" PASSES : PASSES);
    }
    rig_expect(0, RUN("TEST_TALLY=../tally", "release"));
    rig_shows("the ten slowest of 11 programs");
    rig_shows(" s together:\n");
    rig_shows("s  p7\n");
    const char *list = strstr(rig.out.data, "the ten slowest"), *end = strstr(list, "passed, ");
    int lines = 0;
    for (const char *at = list; (at = strstr(at, " s  p")) && at < end; at++) {
        lines++;
    }
    assert_int_equal(lines, 10);
    assert_ptr_equal(strstr(list, " s  p"), strstr(list, " s  p7\n"));
    program("release", "skips", skips);
    program("release", "fails", fails);
    rig_expect(1, RUN("KGYM_TEST_GPU=0 TEST_TALLY=../tally", "release") " p1 skips fails");
    assert_null(strstr(rig.out.data, "slowest"));
    rig_expect(1, "$T/tests/run.sh --sum tally");
    assert_string_equal(rig.out.data, "12 passed, 1 failed, 1 skipped\n");
    rig_expect(0, "head -1 tally >one; $T/tests/run.sh --sum one");
    rig_expect(1, ": >none; $T/tests/run.sh --sum none");
}

/* Sanitized, what the list calls so is left out, and said to be; not if it is asked for by name,
 * nor in a release build. */
static void test_unsanitized_programs(void **state)
{
    (void)state;
    rig_text("list", "unsanitized fails\n");
    program("sanitize", "good", good);
    program("sanitize", "fails", fails);
    rig_expect(0, RUN("KGYM_TEST_GPU=0 TEST_LIST=../list", "sanitize"));
    rig_shows("fails                              skipped, sanitized");
    rig_shows("1 passed, 0 failed, 0 skipped");
    rig_expect(1, RUN("KGYM_TEST_GPU=0 TEST_LIST=../list", "sanitize") " fails");
    rig_expect(1, RUN("KGYM_TEST_GPU=0 TEST_LIST=/dev/null", "sanitize"));
    program("release", "fails", fails);
    rig_expect(1, RUN("KGYM_TEST_GPU=0 TEST_LIST=../list", "release"));
}

static void test_programs_that_name_python(void **state)
{
    (void)state;
    rig_run("mkdir -p sources; echo '/* PyTorch */' >sources/with.c; echo '/* C */' >sources/c.c");
    program("release", "with", good);
    program("release", "c", fails);
    program("release", "replay", fails); /* has no source there */
    rig_expect(0, RUN("TEST_SOURCES=../sources", "release") " --python");
    rig_shows("1 passed, 0 failed, 0 skipped");
    rig_text("list", "long with\n");
    rig_expect(0, RUN("TEST_LIST=../list TEST_SOURCES=../sources", "release") " --python");
    rig_shows("0 passed, 0 failed, 0 skipped");
}

/* What is called once is not run without PyTorch, and fails where it starts its Python. */
static void test_programs_that_start_no_python(void **state)
{
    (void)state;
    rig_run("mkdir -p sources; echo '/* PyTorch */' >sources/plain.c; cp sources/plain.c "
            "sources/asks.c");
    rig_text("list", "once plain\n");
    program("release", "plain", PASSES);
    program("release", "asks", "$KGYM_PYTHON -c ''\n" PASSES);
    rig_expect(0, RUN("KGYM_PYTHON=true TEST_LIST=../list TEST_SOURCES=../sources", "release"));
    rig_shows("2 passed, 0 failed, 0 skipped");
    rig_expect(0, RUN("KGYM_PYTHON=true TEST_LIST=../list TEST_SOURCES=../sources",
                      "release") " --python");
    rig_shows("1 passed, 0 failed, 0 skipped");
    static const char *const lists[] = {"once plain\nonce asks\n",
                                        "once plain\nonce asks\nlight plain\nlight asks\n"};
    for (int i = 0; i < 2; i++) {
        rig_text("list", lists[i]);
        rig_expect(1, RUN("KGYM_PYTHON=true KGYM_TEST_GPU=0 TEST_LIST=../list", "release"));
        rig_shows("it started the Python of PyTorch");
        rig_shows("\nfailed: asks\n2 passed, 1 failed, 0 skipped");
    }
    rig_expect(0, RUN("KGYM_PYTHON=true KGYM_TEST_GPU=1 TEST_LIST=../list", "release"));
}

static void test_nothing_skips_on_a_gpu(void **state)
{
    (void)state;
    program("release", "good", good);
    rig_expect(0, RUN("KGYM_TEST_GPU=1", "release"));
    program("release", "skips", skips);
    rig_expect(1, RUN("KGYM_TEST_GPU=1", "release"));
    rig_shows("with a GPU nothing may skip: skip: no device");
    rig_shows("1 passed, 1 failed, 1 skipped");
    program("sanitize", "skips", skips); /* these leave out what takes too long */
    rig_expect(0, RUN("KGYM_TEST_GPU=1", "sanitize"));
}

/* A device's files are looked for; a control file alone is no device. */
static void test_a_gpu_is_found(void **state)
{
    (void)state;
    program("release", "skips", skips);
    program("release", "asks",
            "echo '[ RUN      ] a'\necho \"told: gpu ${KGYM_TEST_GPU-unset}\"\n"
            "echo '[       OK ] a'\n");
    rig_expect(0, "mkdir dev");
    rig_expect(0, RUN("env -u KGYM_TEST_GPU TEST_DEV=../dev", "release"));
    rig_shows("gpu unset");
    rig_expect(0, ": >dev/nvidiactl");
    rig_expect(0, RUN("env -u KGYM_TEST_GPU TEST_DEV=../dev", "release"));
    rig_shows("gpu unset");
    rig_expect(0, ": >dev/nvidia0");
    rig_expect(1, RUN("env -u KGYM_TEST_GPU TEST_DEV=../dev", "release"));
    rig_shows("gpu 1");
    rig_expect(0, RUN("KGYM_TEST_GPU=0 TEST_DEV=../dev", "release"));
    rig_shows("gpu unset");
}

/* tools/bare.sh before it makes anything: its help, and folders that it must not take. */
static void test_the_bare_root(void **state)
{
    (void)state;
    rig_expect(0, "$T/tools/bare.sh --help");
    rig_shows("make demo");
    assert_null(strstr(rig.out.data, "set -"));
    rig_expect(2, "$T/tools/bare.sh --no-such-option");
    rig_says("bare: no option --no-such-option");
    rig_expect(2, "mkdir -p taken && : >taken/file && $T/tools/bare.sh --root taken true");
    rig_says("bare: taken: not empty, and not made by this script");
    rig_expect(0, "test -e taken/file");
}

/* TEST_UNTIL comes once there is a file "late". */
#define UNTIL "PATH=$PWD/..:$PATH TEST_UNTIL=99999999999 TEST_LIST=../list TEST_LANES=2"
static const char clock_of_file[] = "#!/bin/sh\n"
                                    "if [ \"$1\" = +%s ] && [ -e ../late ]; then\n"
                                    "  echo 99999999999\nelse\n  exec /bin/date \"$@\"\nfi\n";

static void put_clock(void)
{
    rig_text("date", clock_of_file);
    rig_expect(0, "chmod +x date && rm -f late");
}

/* Programs that are not begun in time are named. */
static void test_no_time_is_left(void **state)
{
    (void)state;
    put_clock();
    rig_text("list", "light brief\nlight last\n");
    program("release", "a", PASSES);
    program("release", "brief", PASSES);
    program("release", "last", PASSES);
    rig_expect(0, RUN(UNTIL, "release"));
    rig_shows("\n3 passed, 0 failed, 0 skipped\n");
    rig_shows_not("no time was left");
    program("release", "a", ": >../late\n" PASSES);
    rig_expect(0, RUN(UNTIL, "release"));
    rig_shows("not run, since no time was left (TEST_UNTIL): 2 of 3 programs: brief last\n");
    rig_shows("\n1 passed, 0 failed, 2 skipped\n");
    rig_expect(0, RUN(UNTIL, "release"));
    rig_shows("3 of 3 programs: a brief last\n");
    rig_shows("\n0 passed, 0 failed, 3 skipped\n");
    program("release", "a", "rm -f ../late\n" PASSES ": >../late\nexit 1\n");
    rig_run("rm -f late");
    rig_expect(1, RUN(UNTIL, "release"));
    rig_shows("failed: a\n1 passed, 1 failed, 2 skipped\n");
}

/* Sanitized, those at the list's end come first then. */
static void test_the_longest_are_left(void **state)
{
    (void)state;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        print_message("skip: one CPU\n");
        skip();
    }
    put_clock();
    rig_text("list", "light longest\nlight c\nlight b\nlight a\n");
    program("sanitize", "longest", PASSES);
    program("sanitize", "a", ": >../late\n" PASSES); /* three begin at once at most */
    program("sanitize", "b", ": >../late\n" PASSES);
    program("sanitize", "c", ": >../late\n" PASSES);
    rig_expect(0, RUN(UNTIL, "sanitize"));
    rig_shows(" longest\n");
    rig_shows(" ok       1 passed");
}

/* Of those that are not light, the slow ones. */
static void test_the_slow_are_left(void **state)
{
    (void)state;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        print_message("skip: one CPU\n");
        skip();
    }
    put_clock();
    rig_text("list", "slow a\n");
    program("sanitize", "a", PASSES);
    program("sanitize", "b", ": >../late\n" PASSES); /* three begin at once at most */
    program("sanitize", "c", ": >../late\n" PASSES);
    program("sanitize", "d", ": >../late\n" PASSES);
    rig_expect(0, RUN(UNTIL, "sanitize"));
    rig_shows("4 programs: a\n");
}

/* tests/long.sh begins no part then, and says so. */
static void test_no_part_is_begun_late(void **state)
{
    (void)state;
    rig_expect(0, "mkdir -p tree/tests && cp $T/tests/long.sh tree/tests/ &&"
                  " printf 'sanitize:\\n\\t@echo part\\n' >tree/Makefile");
    rig_text("tree/tests/run.sh",
             "#!/bin/sh\ncase $1 in --sum) cat \"$2\" ;; *) echo part ;; esac\n");
    rig_text("tree/tests/mutants.sh", "#!/bin/sh\necho part\n");
    rig_expect(0, "chmod +x tree/tests/*.sh && TEST_UNTIL=99999999999 tree/tests/long.sh b");
    rig_shows("programs that take long\npart\n");
    rig_shows("mutants\npart\n");
    rig_expect(0, "TEST_UNTIL=1 tree/tests/long.sh b");
    rig_shows_not("part\n");
    rig_shows("mutants\nnot run, since no time was left (TEST_UNTIL)\n0 0 1\n0 0 1\n0 0 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_counts_and_what_is_told, fresh),
        cmocka_unit_test_setup(test_a_teardown_and_a_long_message, fresh),
        cmocka_unit_test_setup(test_all_skipped_in_several_processes, fresh),
        cmocka_unit_test_setup(test_a_crash, fresh),
        cmocka_unit_test_setup(test_a_missing_summary, fresh),
        cmocka_unit_test_setup(test_a_retry, fresh),
        cmocka_unit_test_setup(test_long_programs, fresh),
        cmocka_unit_test(test_the_list),
        cmocka_unit_test_setup(test_light_programs, fresh),
        cmocka_unit_test_setup(test_the_slowest_and_the_sum, fresh),
        cmocka_unit_test(test_the_bare_root),
        cmocka_unit_test_setup(test_unsanitized_programs, fresh),
        cmocka_unit_test_setup(test_programs_that_name_python, fresh),
        cmocka_unit_test_setup(test_programs_that_start_no_python, fresh),
        cmocka_unit_test_setup(test_no_time_is_left, fresh),
        cmocka_unit_test_setup(test_the_longest_are_left, fresh),
        cmocka_unit_test_setup(test_the_slow_are_left, fresh),
        cmocka_unit_test_setup(test_no_part_is_begun_late, fresh),
        cmocka_unit_test_setup(test_nothing_skips_on_a_gpu, fresh),
        cmocka_unit_test_setup(test_a_gpu_is_found, fresh),
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
