/* The programs of docs/training-loop.md do what the page says, as a reader would paste them. Times
 * are off: which rewards there are does not rest on them. */
#define RIG_LIMIT_S 300

#include "kgym_rig.h"
#include "sanitized.h"

/* The page's first block of this language, into a file. */
static void extract(const char *language, const char *file)
{
    rig_expect(0,
               "awk '/^```/ { if (on) exit; if ($0 == \"```%s\") { on = 1; next } } on' "
               "$T/docs/training-loop.md >%s && test -s %s",
               language, file, file);
}

static void need_python(void)
{
    if (rig_run("command -v python3") != 0) {
        printf("skip: no python3 on this host\n");
        skip();
    }
    setenv("KGYM_STAGE_TIMING", "no", 1);
}

#define LOOP "PATH=$(dirname $K):$PATH python3 -B loop.py $P"

static void test_the_loop_in_python(void **state)
{
    (void)state;
    need_python();
    extract("python", "loop.py");
    rig_expect(0, LOOP);
    rig_shows("1 softmax wrong 0.0\n1 silu wrong 0.0\n1 matmul wrong 0.0\n"
              "2 softmax ok 1.0\n2 silu ok 1.0\n2 matmul ok 1.0\n");
    /* The second turn saw the first answer and what kgym says of it. */
    rig_text(
        "look.py",
        "import json, subprocess, sys\n"
        "rows = [json.loads(line) for line in open('runs/loop/rollouts.jsonl')]\n"
        "assert [len(r['messages']) for r in rows] == [1, 1, 1, 3, 3, 3]\n"
        "record = open('runs/loop/records-1.jsonl').readline()\n"
        "said = subprocess.run([sys.argv[1], 'feedback', '-'], input=record, text=True,\n"
        "                      capture_output=True).stdout\n"
        "first, second, third = rows[3]['messages']\n"
        "assert first['content'] == subprocess.run([sys.argv[1], 'prompt', 'softmax'],\n"
        "    text=True, capture_output=True).stdout\n"
        "assert second == {'role': 'assistant', 'content': rows[0]['reply']}\n"
        "assert third == {'role': 'user', 'content': said} and said.startswith('Verdict: ')\n");
    rig_expect(0, "python3 -B look.py $K");
}

/* The check can fail: a model that does not learn is wrong twice. */
static void test_a_loop_that_learns_nothing(void **state)
{
    (void)state;
    need_python();
    extract("python", "loop.py");
    rig_expect(0, "sed -i 's/else \"fast\"/else \"wrong\"/' loop.py && " LOOP);
    rig_shows("2 softmax wrong 0.0\n");
    assert_null(strstr(rig.out.data, " ok "));
}

/* What is no problem ends the loop with the command's own words. */
static void test_a_loop_on_a_problem_that_is_none(void **state)
{
    (void)state;
    need_python();
    extract("python", "loop.py");
    rig_expect(1, "sed -i 's/\"silu\"/\"silo\"/' loop.py && " LOOP);
    rig_says("kgym prompt: no problem 'silo' in the suites (did you mean 'silu'?)");
}

/* --- the same in C --- */

static bool sanitized;

static int setup(void **state)
{
    const char *build = getenv("KGYM_BUILD");
    sanitized = build != NULL && is_sanitized(build);
    return rig_setup(state);
}

static void compile(const char *edit)
{
    if (sanitized) {
        printf("skip: release builds only\n");
        skip();
    }
    setenv("KGYM_STAGE_TIMING", "no", 1);
    extract("c", "loop.c");
    rig_expect(0,
               "%s; libraries=$(sed -n 's,^cc -Isrc/gym examples/submit.c build/release/libkgym.a "
               "-o runs/submit,,p' $T/docs/library.md) && test -n \"$libraries\" && gcc -Wall "
               "-Wextra -Werror -I$T/src/gym loop.c $(dirname $K)/libkgym.a -o loop $libraries",
               edit);
}

#define LOOP_C "here=$PWD; cd $T && KGYM_PROGRAM=$K $here/loop"

static void test_the_loop_in_c(void **state)
{
    (void)state;
    compile("test $(grep -c . loop.c) -le 40");
    rig_expect(0, "(" LOOP_C ") >out && sort out");
    assert_string_equal(rig.out.data, "1 matmul wrong 0\n1 silu wrong 0\n1 softmax wrong 0\n"
                                      "2 matmul ok 1\n2 silu ok 1\n2 softmax ok 1\n");
    rig_nothing_left();
}

static void test_a_loop_in_c_that_learns_nothing(void **state)
{
    (void)state;
    compile("sed -i 's/\"fast\"/\"wrong\"/' loop.c");
    rig_expect(0, "(" LOOP_C ") >out && sort out");
    rig_shows("2 softmax wrong 0\n");
    assert_null(strstr(rig.out.data, " ok "));
}

static void test_a_loop_in_c_on_a_problem_that_is_none(void **state)
{
    (void)state;
    compile("sed -i 's/\"silu\"/\"silo\"/' loop.c");
    rig_expect(1, LOOP_C);
    rig_says("no problem 'silo' in the suites (did you mean 'silu'?)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_loop_in_python),
        cmocka_unit_test(test_a_loop_that_learns_nothing),
        cmocka_unit_test(test_a_loop_on_a_problem_that_is_none),
        cmocka_unit_test(test_the_loop_in_c),
        cmocka_unit_test(test_a_loop_in_c_that_learns_nothing),
        cmocka_unit_test(test_a_loop_in_c_on_a_problem_that_is_none),
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
