/* kgym as its users meet it: exit status, output and messages of every command. */
#include "kgym_rig.h"

#define NO_TIMING "--no-stage-timing"
#define SILU      "#include <stdint.h>\nvoid silu(const float *x, float *y, int64_t n)\n{\n"

static void test_the_exit_status_says_how_it_went(void **state)
{
    (void)state;
    rig_expect(0, "$K eval silu $P/silu.fast.c " NO_TIMING);
    rig_shows("OK");
    rig_expect(1, "$K eval silu $P/silu.wrong.c " NO_TIMING);
    rig_shows("WRONG");
    rig_text("broken.c", SILU "    y[0] = x[0]\n}\n");
    rig_expect(1, "$K eval silu broken.c");
    rig_shows("COMPILE ERROR");
    rig_expect(2, "$K eval sillu $P/silu.fast.c");
    rig_says("kgym eval: no problem 'sillu' in the suites (did you mean 'silu'?)");
    assert_int_equal(rig.out.len, 0);
}

static void test_every_command_helps(void **state)
{
    (void)state;
    static const char *const commands[] = {"",       "eval",    "problems",  "report",
                                           "doctor", "options", "completion"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        rig_expect(0, "$K %s --help", commands[i]);
        rig_shows("usage: kgym");
        rig_shows(commands[i]);
        assert_int_equal(rig.err.len, 0);
    }
    rig_expect(2, "$K");
    rig_says("usage: kgym");
    rig_expect(0, "$K --version");
    rig_shows("kgym 0.");
}

static void test_help_lists_what_the_parser_takes(void **state)
{
    (void)state;
    static const char *const flags[] = {
        "--source", "--json", "--public", "--stop-after", "--replay", "--rewards",    "--batch",
        "--out",    "--jobs", "--preset", "--config",     "--set",    "--dump-config"};
    rig_expect(0, "$K eval --help");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        rig_shows(flags[i]);
    }
    rig_shows("single-input");
    rig_shows("dr-kernel");
    rig_shows("exit status: 0 verdict ok, 1 any other verdict, 2 error");
}

static void test_mistyped_words_get_the_nearest(void **state)
{
    (void)state;
    static const struct {
        const char *command, *message;
    } table[] = {
        {"evl", "kgym: no command `evl`; did you mean `eval`?"},
        {"xyzzy", "kgym: no command `xyzzy`; `kgym --help` lists them"},
        {"eval --jsn", "kgym eval: unknown option `--jsn`; did you mean `--json`?"},
        {"eval --stopafter=x", "unknown option `--stopafter=x`; did you mean `--stop-after`?"},
        {"eval silu x --timing-pars 3", "did you mean `--timing-pairs`?"},
        {"eval --xyzzy", "unknown option `--xyzzy`; see `kgym eval --help`"},
        {"eval --set timing.pars=3 silu x", "did you mean `timing.pairs`?"},
        {"eval --set timing.pairs=many silu x", "timing.pairs"},
        {"eval --set timing.pairs silu x", "timing.pairs"},
        {"eval --preset quikc silu x", "did you mean `quick`?"},
        {"eval --preset strict silu x", "preset `strict` is not built yet"},
        {"eval --preset kernelbench --laws 3 silu x",
         "laws: the protocol `kernelbench` wants it 0"},
        {"eval --preset kernelbench --reward kevin silu x",
         "reward `kevin`, preset `kernelbench`: what is judged by KernelBench's own procedure is "
         "never rewarded; leave out one of them"},
        {"eval --preset kernelbench --set rewards=binary silu x", "reward `binary`, preset"},
        {"eval --preset kernelbench --rewards dr-kernel silu x", "reward `dr-kernel`, preset"},
        {"eval --preset=kernelbench --rewards=a,b silu x", "reward `a,b`, preset"},
        {"kernelbench eval --preset kernelbench --reward kevin", "reward `kevin`, preset"},
        {"kernelbench analyze --reward kevin", "unknown option `--reward`"},
        {"eval --preset kernelbench silu $T/problems/candidates/silu.fast.c",
         "preset kernelbench: it is KernelBench's own procedure, which judges PyTorch problems; "
         "this one is in C"},
        {"eval --reward dr-kernal silu x", "dr-kernel"},
        {"eval --stop-after ful silu x", "--stop-after ful: no such stage"},
        {"eval silu", "PROBLEM and REPLY are needed"},
        {"eval silu a b", "one word too many: `b`"},
        {"eval --batch", "--batch: a value is needed"},
        {"eval --batch x", "--batch needs --out FILE"},
        {"eval --batch x --out y silu", "--batch takes no PROBLEM and REPLY"},
        {"eval silu x --jobs 2", "--out and --jobs go with --batch"},
        {"eval --batch x --out y --jobs 0", "--jobs 0: a number from 1 to 4096 is needed"},
        {"eval --batch x --out y --jobs two", "--jobs two: a number"},
        {"problems chek", "did you mean `check`?"},
        {"problems list x", "no problem 'x' in the suites"},
        {"problems show", "show: name one problem"},
        {"problems show sofmax", "did you mean 'softmax'?"},
        {"problems list --jsno", "did you mean `--json`?"},
        {"report --otu x", "did you mean `--out`?"},
        {"doctor --quikc", "did you mean `--quick`?"},
        {"eval silu x.c --stage-timing false", "write `--no-stage-timing`"},
        {"options --markdwon", "did you mean `--markdown`?"},
        {"completion fish", "unknown word `fish`"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig_expect(2, "$K %s", table[i].command);
        rig_says(table[i].message);
        assert_int_equal(rig.out.len, 0);
    }
}

static void test_json_is_exactly_one_record(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        int status;
        const char *verdict;
    } table[] = {
        {"silu $P/silu.fast.c", 0, "ok"}, {"silu $P/silu.wrong.c", 1, "wrong"},
        {"silu empty.md", 1, "no_code"},  {"nosuch $P/silu.fast.c", 2, ""},
        {"silu nosuch.md", 2, ""},        {"silu $P/silu.fast.c --set compiler=nope", 2, ""},
    };
    rig_text("empty.md", "");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig_expect(table[i].status, "$K eval " NO_TIMING " --json %s", table[i].arguments);
        json_t *j = rig_json();
        assert_string_equal(rig_get(j, "schema"), "kgym.record/1");
        assert_int_equal(strlen(rig_get(j, "id")), 26);
        assert_string_equal(rig_get(j, "verdict"), table[i].verdict);
        assert_int_equal(json_is_null(json_object_get(j, "error")), table[i].status != 2);
        if (table[i].status == 2) {
            rig_says(rig_get(json_object_get(j, "error"), "message"));
        }
        json_decref(j);
    }
}

static void test_public_records_hold_no_secrets(void **state)
{
    (void)state;
    rig_expect(0, "$K eval silu $P/silu.fast.c --json " NO_TIMING);
    json_t *j = rig_json();
    char key[64];
    snprintf(key, sizeof key, "%s", rig_get(json_object_get(j, "private"), "key"));
    assert_int_equal(strlen(key), 32);
    assert_null(json_object_get(json_object_get(j, "config"), "seed"));
    json_decref(j);
    rig_expect(0, "$K eval silu $P/silu.fast.c --json --public --seed %s " NO_TIMING, key);
    assert_null(strstr(rig.out.data, key));
    j = rig_json();
    assert_null(json_object_get(j, "private"));
    json_decref(j);
}

static void test_stopping_early(void **state)
{
    (void)state;
    static const char *const names[] = {"extract", "static", "compile", "tiny"};
    for (int i = 0; i < 4; i++) {
        rig_expect(0, "$K eval silu $P/silu.fast.c --json --stop-after %s", names[i]);
        json_t *j = rig_json();
        assert_true(json_is_null(json_object_get(j, "verdict")));
        assert_true(json_is_null(json_object_get(j, "error")));
        assert_int_equal(json_object_size(json_object_get(j, "rewards")), 0);
        assert_string_equal(rig_get(j, "stage"), names[i]);
        const json_t *stages = json_object_get(j, "stages");
        for (int s = 0; s < 6; s++) {
            assert_string_equal(rig_get(json_array_get(stages, (size_t)s), "status"),
                                s <= i ? "pass" : "skip");
        }
        json_decref(j);
    }
    rig_expect(0, "$K eval silu $P/silu.fast.c --json --stop-after full");
    json_t *j = rig_json();
    assert_string_equal(rig_get(j, "verdict"), "ok");
    assert_true(json_is_null(json_object_get(j, "speedup")));
    json_decref(j);
    rig_expect(1, "$K eval silu $P/silu.wrong.c --json --stop-after full");
    rig_expect(0, "$K eval silu $P/silu.fast.c --json --no-stage-full --no-stage-timing");
    j = rig_json();
    assert_true(json_is_null(json_object_get(j, "verdict")));
    json_decref(j);
}

static void test_what_counts_as_source(void **state)
{
    (void)state;
    rig_expect(
        0, "cp $P/silu.fast.c answer.txt && $K eval silu answer.txt --source --json " NO_TIMING);
    rig_shows("\"rule\":\"source-file\"");
    rig_expect(0, "(echo '```c'; cat $P/silu.fast.c; echo '```') > reply.md; "
                  "$K eval silu reply.md --json " NO_TIMING);
    json_t *j = rig_json();
    assert_string_not_equal(rig_get(json_object_get(j, "candidate"), "rule"), "source-file");
    json_decref(j);
    rig_expect(0, "$K eval silu - --json " NO_TIMING " < reply.md");
    rig_expect(0, "$K eval silu - --source --json " NO_TIMING " < $P/silu.fast.c");
    rig_text("kernel.cu", "x");
    rig_text("kernel.py", "x");
    rig_expect(2, "$K eval silu kernel.cu");
    rig_says("kernel.cu: .cu candidates are not built yet");
    rig_expect(2, "$K eval silu kernel.py");
    rig_says("kernel.py: a candidate for `silu` is C, not Python");
    rig_expect(2, "$K eval 27_relu $P/silu.fast.c");
    rig_says("a candidate for `27_relu` is Python, not C");
    rig_expect(2, "$K eval suite.jsonl#3 reply.md");
    rig_says("suite.jsonl: no such problem file");
}

/* A file of the values of `kgym eval --dump-config`, without its comments. */
static void dump(const char *arguments, const char *to)
{
    rig_expect(0, "$K eval --dump-config %s > dumped && grep -v '^ *#' dumped > %s", arguments, to);
}

static void test_a_dumped_configuration_reads_back(void **state)
{
    (void)state;
    dump("--preset quick --set timing.pairs=7 --set suites=$T/problems/native --laws 3 "
         "--reward binary",
         "first");
    rig_expect(0, "cp dumped again.yaml");
    dump("--config again.yaml", "second");
    rig_expect(0, "diff first second && grep -q 'pairs: 7' second && grep -q 'laws: 3' second && "
                  "grep -q 'preset: \"quick\"' second && grep -q 'rewards: \"binary\"' second");
}

static void test_precedence(void **state)
{
    (void)state;
    rig_text("c.yaml", "timing: {pairs: 11, trials: 12}\nlaws: 13\n");
    static const struct {
        const char *before, *arguments, *want;
    } table[] = {
        {"", "", "pairs: 20"},
        {"", "--config c.yaml", "pairs: 11"},
        {"KGYM_TIMING_PAIRS=9", "--config c.yaml", "pairs: 9"},
        {"KGYM_TIMING_PAIRS=9", "--config c.yaml --timing-pairs 8", "pairs: 8"},
        {"KGYM_TIMING_PAIRS=9", "--config c.yaml --set timing.pairs=7", "pairs: 7"},
        {"KGYM_TIMING_PAIRS=9", "--config c.yaml", "trials: 12"},
        {"KGYM_LAWS=9", "--preset single-input --config c.yaml", "laws: 9"},
        {"", "--preset single-input --config c.yaml", "laws: 13"},
        {"", "--preset single-input", "multi_input: false"},
        {"KGYM_PRESET=single-input", "", "multi_input: false"},
        {"KGYM_PRESET=single-input", "--preset default", "multi_input: true"},
        {"KGYM_PRESET=single-input", "--set preset=default", "multi_input: true"},
        {"", "--preset single-input --multi-input", "multi_input: true"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig_expect(0, "%s $K eval --dump-config %s", table[i].before, table[i].arguments);
        rig_shows(table[i].want);
    }
}

static void test_bad_configurations_name_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *message;
    } table[] = {
        {"laws: 3\ntiming:\n  pears: 3\n", "c.yaml:3"},
        {"laws: 3\ntiming:\n  pears: 3\n", "did you mean `timing.pairs`?"},
        {"laws: -1\n", "c.yaml:1"},
        {"laws: [1, 2]\n", "c.yaml:1"},
        {"laws: 1\nlaws: 2\n", "c.yaml:2"},
        {"laws: {\n", "c.yaml:"},
        {"seed: 12\n", "seed"},
        {"stage: {profile: yes}\nlibrary: forbidden\n", "this problem is in C"},
        {"\xff\xfe: 1\n", "c.yaml"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig_text("c.yaml", table[i].yaml);
        rig_expect(2, "$K eval --config c.yaml silu $P/silu.fast.c");
        rig_says(table[i].message);
    }
    rig_expect(2, "$K eval --config nosuch.yaml silu $P/silu.fast.c");
    rig_says("nosuch.yaml");
    rig_expect(2, "KGYM_TIMING_PARS=3 $K eval silu $P/silu.fast.c");
    rig_says("KGYM_TIMING_PARS");
    rig_expect(2, "KGYM_LAWS=many $K eval silu $P/silu.fast.c");
    rig_says("KGYM_LAWS");
}

static void test_replay_repeats_a_verdict(void **state)
{
    (void)state;
    rig_expect(1, "$K eval softmax $P/softmax.wrong.c --json > rec.json; test $? = 1 && "
                  "$K eval softmax $P/softmax.wrong.c --replay rec.json --json");
    json_t *again = rig_json(), *first;
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&b, 1 << 24);
    assert_int_equal(kg_file_read("rec.json", &b, &err), KG_OK);
    assert_int_equal(kg_json_parse(b.data, b.len, "rec.json", &first, &err), KG_OK);
    static const char *const same[] = {"verdict", "reason", "message", "stage", "input_sha256"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_string_equal(rig_get(first, same[i]), rig_get(again, same[i]));
    }
    json_t *evidence = json_object_get(again, "evidence");
    size_t last = json_array_size(evidence) - 1;
    assert_string_equal(rig_get(json_array_get(evidence, last), "check"), "unrewarded");
    json_array_remove(evidence, last);
    assert_true(json_equal(json_object_get(first, "evidence"), evidence));
    assert_string_equal(rig_get(again, "replay"), rig_get(first, "id"));
    assert_int_equal(json_object_size(json_object_get(again, "rewards")), 0);
    assert_true(json_is_null(json_object_get(first, "replay")));
    json_decref(first);
    json_decref(again);
    kg_buf_deinit(&b);
    rig_expect(2, "jq -c 'del(.private)' rec.json > pub.json 2>/dev/null || "
                  "sed 's/,\"private\".*$/}/' rec.json > pub.json; "
                  "$K eval softmax $P/softmax.wrong.c --replay pub.json");
    rig_says("pub.json: private: missing");
    rig_text("none.json", "{\"id\": \"01J8Z3TQ4W6Y8A0C2E4G6J8K0N\", \"private\": {}}");
    rig_expect(2, "$K eval softmax $P/softmax.wrong.c --replay none.json"); /* it failed early */
    rig_says("private.key: missing");
    rig_text("none.json", "{\"id\": \"first\", \"private\": {\"key\": \"0\"}}");
    rig_expect(2, "$K eval softmax $P/softmax.wrong.c --replay none.json");
    rig_says("replay: the record has no `id`");
    rig_text("in.jsonl", "{\"id\": \"1\", \"problem\": \"softmax\", \"source\": \"int x;\"}\n");
    rig_expect(2, "$K eval --batch in.jsonl --out out.jsonl --replay nosuch.json");
    rig_says("--batch takes no --replay");
    rig_expect(2, "$K eval --batch in.jsonl --out out.jsonl --source");
    rig_says("--batch takes no --source: a line has `source` instead of `reply`");
    rig_expect(2, "$K eval --batch in.jsonl --out out.jsonl --json");
    rig_expect(2, "ls out.jsonl");
    rig_text("rec.json", "{\"private\": ");
    rig_expect(2, "$K eval softmax $P/softmax.wrong.c --replay rec.json");
    rig_says("rec.json:1:");
    rig_text("rec.json", "{\"private\": {\"key\": 7, \"tiny\": \"x\", \"full\": [3]}}");
    rig_expect(2, "$K eval softmax $P/softmax.wrong.c --replay rec.json");
}

/* The cases of a failure are known, so a kernel that is right on them has shown little. */
static void test_a_replay_is_no_evaluation(void **state)
{
    (void)state;
    rig_expect(1, "$K eval silu $P/silu.wrong.c --json >r.json");
    rig_expect(0, "$K eval silu $P/silu.fast.c --replay r.json --no-stage-timing");
    rig_shows("right on every recorded input");
    rig_shows("replay     only the recorded cases of ");
    rig_shows("rewards    none: a replay asks only the cases of an earlier record");
    rig_expect(0, "$K eval silu $P/silu.fast.c --replay r.json --no-stage-timing --json >a.json; "
                  "cat r.json a.json >both.jsonl; $K report both.jsonl");
    rig_shows("left out: 1 replay");
    rig_shows_not(" ok ");
    rig_expect(2, "$K eval silu x.c --replay r.json --rewards binary");
    rig_says("reward `binary`, --replay r.json: a replay asks only the recorded cases and is never "
             "rewarded; leave out one of them");
    rig_expect(2, "$K eval silu x.c --replay r.json --set rewards=kevin");
    rig_says("reward `kevin`, --replay r.json");
}

static void test_report(void **state)
{
    (void)state;
    rig_expect(1, "$K eval silu $P/silu.wrong.c --json > r.jsonl");
    rig_expect(0, "$K report r.jsonl --out page.html && grep -q '</html>' page.html");
    rig_shows("wrong");
    rig_expect(0, "$K report - < r.jsonl");
    rig_expect(2, "cp r.jsonl bad.jsonl; echo '{\"schema\": ' >> bad.jsonl; $K report bad.jsonl");
    rig_says("bad.jsonl:2");
    rig_expect(2, "cp r.jsonl bad.jsonl; echo '[1, 2]' >> bad.jsonl; $K report bad.jsonl");
    rig_says("bad.jsonl:2");
    rig_expect(0, "cp r.jsonl cut.jsonl; head -c 1000 r.jsonl >> cut.jsonl; $K report cut.jsonl");
    rig_says("cut.jsonl:2: cut off, and left out");
    rig_expect(2, "head -c 1000 /dev/urandom > bad.jsonl; $K report bad.jsonl --out nothing.html");
    rig_says("bad.jsonl:1");
    rig_expect(1, "test -e nothing.html");
    rig_expect(2, "$K report nosuch.jsonl");
    rig_expect(2, "$K report r.jsonl --out /nosuch/page.html");
    rig_says("/nosuch/page.html");
}

static void test_doctor(void **state)
{
    (void)state;
    int status = rig_run("$K doctor --quick --json");
    assert_in_range(status, 0, 1);
    json_t *j = rig_json();
    assert_true(json_is_string(json_object_get(json_object_get(j, "host"), "compiler")));
    assert_int_equal(json_object_size(json_object_get(j, "sandbox")), 15);
    assert_true(json_is_null(json_object_get(j, "error")));
    json_decref(j);
    assert_int_equal(rig_run("$K doctor --quick"), status);
    rig_shows("seccomp");
    rig_expect(2, "$K doctor --quick --json --set compiler=nope");
    j = rig_json();
    assert_true(strlen(rig_get(j, "error")) > 0);
    json_decref(j);
}

static void test_completion_is_valid_bash(void **state)
{
    (void)state;
    rig_expect(0, "$K completion > c.bash && bash -n c.bash && bash -c '. ./c.bash; "
                  "COMP_WORDS=(kgym ev); COMP_CWORD=1; _kgym; echo \"${COMPREPLY[@]}\"; "
                  "COMP_WORDS=(kgym eval --stop); COMP_CWORD=2; _kgym; echo \"${COMPREPLY[@]}\"'");
    rig_shows("eval");
    rig_shows("--stop-after");
}

static void test_options_document_themselves(void **state)
{
    (void)state;
    rig_expect(0, "$K options");
    rig_shows("--timing-pairs");
    rig_expect(0, "$K options --markdown");
    rig_shows("timing.pairs");
    rig_expect(0, "$K options --static-rules");
    rig_shows("| `");
}

static void test_nothing_is_left_behind(void **state)
{
    (void)state;
    rig_expect(0, "$K eval silu $P/silu.fast.c " NO_TIMING);
    rig_expect(1, "$K eval silu $P/silu.wrong.c");
    rig_expect(2, "$K eval silu $P/silu.fast.c --set compiler=nope");
    rig_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_exit_status_says_how_it_went),
        cmocka_unit_test(test_every_command_helps),
        cmocka_unit_test(test_help_lists_what_the_parser_takes),
        cmocka_unit_test(test_mistyped_words_get_the_nearest),
        cmocka_unit_test(test_json_is_exactly_one_record),
        cmocka_unit_test(test_public_records_hold_no_secrets),
        cmocka_unit_test(test_stopping_early),
        cmocka_unit_test(test_what_counts_as_source),
        cmocka_unit_test(test_a_dumped_configuration_reads_back),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_bad_configurations_name_the_place),
        cmocka_unit_test(test_replay_repeats_a_verdict),
        cmocka_unit_test(test_a_replay_is_no_evaluation),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_doctor),
        cmocka_unit_test(test_completion_is_valid_bash),
        cmocka_unit_test(test_options_document_themselves),
        cmocka_unit_test(test_nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
