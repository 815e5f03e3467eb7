/* kgym feedback as its users meet it. */
#include "kgym_rig.h"

#define NO_TIMING "--no-stage-timing"

static void test_records_become_texts(void **state)
{
    (void)state;
    rig_expect(0, "$K eval silu $P/silu.fast.c --json " NO_TIMING " >ok.json");
    rig_expect(0, "$K feedback ok.json");
    rig_shows("Verdict: ok, stage ");
    rig_shows("Its speed was not measured.");
    rig_expect(0, "$K eval silu $P/silu.wrong.c --json " NO_TIMING " >wrong.json; "
                  "$K feedback - <wrong.json");
    rig_shows("Verdict: wrong (");
    rig_shows("Send a corrected, complete version of silu in one code block.\n");
    assert_int_equal(rig.err.len, 0);
}

static void test_a_compiler_error_comes_with_its_source(void **state)
{
    (void)state;
    rig_text("broken.c", "#include <stdint.h>\nvoid silu(const float *x, float *y, int64_t n)\n{\n"
                         "    y[0] = x[0]\n}\n");
    rig_expect(0, "$K eval silu broken.c --json >broken.json; $K feedback broken.json");
    rig_shows("First error, line 4: expected");
    rig_shows("\n```c\n");
    rig_shows("\n>   4 |     y[0] = x[0]\n");
    rig_expect(0, "$K feedback --style plain --tokens=1000 broken.json");
    rig_shows("\n    >   4 |     y[0] = x[0]\n");
    assert_null(strchr(rig.out.data, '`'));
}

static void test_secrets_stay(void **state)
{
    (void)state;
    rig_expect(0,
               "$K eval silu $P/silu.wrong.c --json " NO_TIMING " >secret.json; "
               "grep -q '\"private\":{\"key\":' secret.json && $K feedback secret.json >text && "
               "! grep -q -F \"$(sed 's/.*\"key\":\"\\([0-9a-f]*\\)\".*/\\1/' secret.json)\" text "
               "&& ! grep -q -i -e law -e bound -e seed text");
}

static void test_mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *command, *message;
    } table[] = {
        {"feedback", "RECORD.json is needed; see `kgym feedback --help`"},
        {"feedback --tokens", "--tokens: a value is needed"},
        {"feedback x --tokens 3", "--tokens 3: a number from 96 to 1000000 is needed"},
        {"feedback x --tokens many", "--tokens many: a number from 96"},
        {"feedback x --style markdwon", "--style markdwon: did you mean `markdown`?"},
        {"feedback x --style brief --tokens 0", "--tokens 0: a number from 1 to 1000000"},
        {"feedback x --style xyzzy", "--style xyzzy: markdown, plain or brief is needed"},
        {"feedback x --tokns 3", "unknown option `--tokns`; did you mean `--tokens`?"},
        {"feedback x y", "one word too many: `y`"},
        {"feedback missing.json", "missing.json"},
        {"feedback - </dev/null", "standard input:1:1: not valid JSON"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig_expect(2, "$K %s", table[i].command);
        rig_says("kgym feedback: ");
        rig_says(table[i].message);
        assert_int_equal(rig.out.len, 0);
    }
    rig_text("half.json", "{\"schema\": \"kgym.record/1\"}\n");
    rig_expect(2, "$K feedback half.json");
    rig_says("kgym feedback: half.json: record: `id`: missing");
    rig_text("two.jsonl", "{}\n{}\n");
    rig_expect(2, "$K feedback two.jsonl");
    rig_expect(2, "$K eval silu $P/silu.fast.c --json " NO_TIMING " >ok.json; "
                  "$K feedback ok.json >/dev/full");
    rig_says("kgym feedback: standard output: cannot write");
}

static void test_it_helps_and_completes(void **state)
{
    (void)state;
    static const char *const words[] = {"usage: kgym feedback", "--tokens N", "--style S",
                                        "examples:", "exit status: 0"};
    rig_expect(0, "$K feedback --help");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        rig_shows(words[i]);
    }
    rig_expect(0, "$K --help");
    rig_shows("\n  feedback ");
    rig_expect(0,
               "$K completion > c.bash && bash -c '. ./c.bash; COMP_WORDS=(kgym feedback --); "
               "COMP_CWORD=2; _kgym; echo \"${COMPREPLY[@]}\"; COMP_WORDS=(kgym feedback --style "
               "p); COMP_CWORD=3; _kgym; echo \"${COMPREPLY[@]}\"'");
    rig_shows("--tokens --style");
    rig_shows("\nplain");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_become_texts),
        cmocka_unit_test(test_a_compiler_error_comes_with_its_source),
        cmocka_unit_test(test_secrets_stay),
        cmocka_unit_test(test_mistakes_are_named),
        cmocka_unit_test(test_it_helps_and_completes),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
