/* kgym prompt as its users meet it, and the demonstrations judged by the gym itself. */
#define RIG_LIMIT_S 300

#include "kgym_rig.h"

#include "gym/prompt/demonstration.h"

#define NO_TIMING "--no-stage-timing"
#define DEMO      "$T/problems/demonstrations/product_bias"

/* The content of a message of a chat, which is stdout. */
static const char *content(const json_t *chat, size_t at, const char *role)
{
    const json_t *m = json_array_get(chat, at);
    assert_string_equal(rig_get(m, "role"), role);
    assert_int_equal(json_object_size(m), 2);
    return rig_get(m, "content");
}

static void test_a_message_and_its_json_are_one_text(void **state)
{
    (void)state;
    rig_expect(0, "$K prompt softmax >text");
    assert_int_equal(rig.err.len, 0);
    rig_expect(0, "$K prompt softmax --json");
    json_t *chat = rig_json();
    assert_int_equal(json_array_size(chat), 1);
    rig_text("content", content(chat, 0, "user"));
    json_decref(chat);
    rig_expect(0, "cmp text content && $K prompt $T/problems/native/softmax.c | cmp - text");
}

static void test_languages_styles_and_hardware(void **state)
{
    (void)state;
    rig_expect(0, "$K prompt 01_linear_gelu");
    rig_shows("written in Triton");
    rig_expect(0, "$K prompt 01_linear_gelu --language cuda --hardware 'NVIDIA X9'");
    rig_shows("written in CUDA C++");
    rig_shows("- Device: NVIDIA X9.\n");
    rig_expect(0, "$K prompt 01_linear_gelu --language=pytorch --set precision=tf32");
    rig_shows("may read their operands as TF32");
    rig_expect(0, "$K prompt softmax --style plain --hardware ''");
    assert_null(strchr(rig.out.data, '`'));
    assert_null(strstr(rig.out.data, "- Device:"));
    rig_expect(0, "mkdir -p mine && sed s/softmax/own_one/g $T/problems/native/softmax.c "
                  ">mine/own_one.c && sed -i s/kgops_own_one/kgops_softmax/ mine/own_one.c && "
                  "$K prompt own_one --suites mine");
    rig_shows("void own_one(const float *x");
}

/* Each shipped candidate follows the signature that the message gives; it is told apart from one
 * that differs. */
static void test_signatures_are_those_of_the_candidates(void **state)
{
    (void)state;
    rig_text("fits.sh",
             "set -e\nfor f in $P/*.fast.c; do\n  p=$(basename $f .fast.c)\n"
             "  { echo '#include <stdint.h>'\n"
             "    $K prompt $p | sed -n '/^## Contract/,/^- /p' | sed '1,/^```/d;/^```/,$d'\n"
             "    cat $f; } >unit.c\n"
             "  grep -q \"^void $p(\" unit.c && gcc -std=gnu17 -march=native -I$T/kgops -w "
             "-fsyntax-only unit.c\n  echo $p\ndone\n");
    rig_expect(0, "sh fits.sh");
    rig_shows("softmax\n");
    rig_shows("conv2d\n");
    rig_expect(1, "sed -i '0,/float/s//double/' unit.c; "
                  "gcc -std=gnu17 -march=native -I$T/kgops -w -fsyntax-only unit.c");
}

static void test_a_conversation_with_feedback(void **state)
{
    (void)state;
    rig_expect(0, "$K eval softmax $P/softmax.wrong.c --json " NO_TIMING " >one.json; "
                  "$K eval softmax $P/softmax.fast.c --json " NO_TIMING " >two.json; "
                  "$K prompt softmax >first; $K feedback one.json >said; $K feedback two.json "
                  "--tokens 100 >short");
    rig_expect(0, "$K prompt softmax --record one.json --record=two.json --json --tokens 100");
    json_t *chat = rig_json();
    assert_int_equal(json_array_size(chat), 5);
    rig_text("m0", content(chat, 0, "user"));
    rig_text("m1", content(chat, 1, "assistant"));
    rig_text("m3", content(chat, 3, "assistant"));
    rig_text("m4", content(chat, 4, "user"));
    json_decref(chat);
    rig_expect(0, "cmp m0 first && cmp m4 short && { echo '```c'; cat $P/softmax.wrong.c; echo "
                  "'```'; } | cmp - m1 && grep -q may_alias m3");
    rig_expect(0, "$K prompt softmax --record - <one.json >talk; { echo '=== user ==='; echo; cat "
                  "first; echo; echo '=== assistant ==='; echo; cat m1; echo; echo '=== user ==='; "
                  "echo; cat said; } | cmp - talk");
    /* What the model wrote comes back as the same candidate. */
    rig_expect(0, "$K eval softmax - --json --stop-after extract <m1 >again.json; "
                  "for f in one again; do grep -o '\"sha256\":\"[0-9a-f]*\",\"bytes' $f.json "
                  ">$f.sha; done; test -s one.sha && cmp one.sha again.sha");
}

static void test_a_reply_without_code(void **state)
{
    (void)state;
    rig_expect(0, "echo I cannot. | $K eval softmax - --json >none.json; "
                  "$K prompt softmax --record none.json");
    rig_shows("=== assistant ===\n\n(No code was found in this reply.)\n\n=== user ===\n\n");
    rig_shows("Verdict: no_code");
}

static void test_a_record_of_another_problem(void **state)
{
    (void)state;
    rig_expect(2, "$K eval silu $P/silu.fast.c --json --stop-after extract >silu.json; "
                  "$K prompt softmax --record silu.json");
    rig_says("kgym prompt: silu.json: a record of the problem `silu`, not of `softmax`");
    assert_int_equal(rig.out.len, 0);
    rig_expect(2, "mkdir -p changed && sed 's/rows: 384/rows: 385/' $T/problems/native/softmax.c "
                  ">changed/softmax.c; $K eval softmax $P/softmax.fast.c --json --stop-after "
                  "extract >old.json; $K prompt ./changed/softmax.c --record old.json");
    rig_says("old.json: the problem `softmax` has changed since this record was made");
}

static void test_mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *command, *message;
    } table[] = {
        {"prompt", "PROBLEM is needed; see `kgym prompt --help`"},
        {"prompt softmaks", "did you mean 'softmax'"},
        {"prompt softmax silu", "one word too many: `silu`"},
        {"prompt softmax --limit", "--limit: a value is needed"},
        {"prompt softmax --limit 100", "--limit 100: a number from 256 to 4194304 is needed"},
        {"prompt softmax --limit 1k", "--limit 1k: a number from"},
        {"prompt softmax --limit 1000", "softmax: its prompt has "},
        {"prompt softmax --tokens 3", "--tokens 3: a number from 96"},
        {"prompt softmax --language tritn", "--language tritn: did you mean `triton`?"},
        {"prompt softmax --language c", "--language c: triton, cuda or pytorch is needed"},
        {"prompt softmax --style xyzzy", "--style xyzzy: markdown or plain is needed"},
        {"prompt softmax --recrod x", "unknown option `--recrod`; did you mean `--record`?"},
        {"prompt softmax --record nothing.json", "nothing.json"},
        {"prompt softmax --suites nowhere", "suites: no folder `nowhere`"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig_expect(2, "$K %s", table[i].command);
        rig_says("kgym prompt: ");
        rig_says(table[i].message);
        assert_int_equal(rig.out.len, 0);
    }
    rig_expect(2, "$K prompt softmax >/dev/full");
    rig_says("kgym prompt: standard output: cannot write");
}

static void test_it_helps_and_completes(void **state)
{
    (void)state;
    static const char *const words[] = {"usage: kgym prompt", "--record R.json", "--language L",
                                        "--limit BYTES",      "examples:",       "exit status: 0"};
    rig_expect(0, "$K prompt --help");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        rig_shows(words[i]);
    }
    rig_expect(0, "$K --help");
    rig_shows("\n  prompt ");
    rig_expect(0, "$K completion > c.bash && PATH=$(dirname $K):$PATH bash -c '. ./c.bash; "
                  "COMP_WORDS=(kgym prompt --lan); COMP_CWORD=2; _kgym; echo \"${COMPREPLY[@]}\"; "
                  "COMP_WORDS=(kgym prompt softm); COMP_CWORD=2; _kgym; echo \"${COMPREPLY[@]}\"; "
                  "COMP_WORDS=(kgym prompt --language c); COMP_CWORD=3; _kgym; "
                  "echo \"${COMPREPLY[@]}\"'");
    rig_shows("--language\n");
    rig_shows("\nsoftmax\n");
    rig_shows("\ncuda\n");
}

/* --- the demonstrations --- */

static void test_the_demonstration_in_c(void **state)
{
    (void)state;
    rig_expect(0, "$K eval " DEMO ".c " DEMO ".fast.c " NO_TIMING);
    rig_expect(1, "sed 's/ + bias/ - bias/' " DEMO ".fast.c >broken.c; "
                  "$K eval " DEMO ".c broken.c " NO_TIMING);
    rig_expect(0, "$K problems check " DEMO ".c --set cache=none");
}

/* A reply that copies it is told by a flag, and is judged like any other. */
static void test_a_copied_demonstration_is_flagged(void **state)
{
    (void)state;
    rig_expect(0, "{ echo 'Here:'; echo '```c'; cat " DEMO ".fast.c; echo '```'; } >copy.md; "
                  "$K eval " DEMO ".c copy.md --json --stop-after extract");
    rig_shows("\"demo\"");
    json_t *r = rig_json();
    assert_string_equal(rig_get(json_object_get(r, "candidate"), "sha256"),
                        kg_demonstration_of(KG_PROMPT_C).sha256);
    json_decref(r);
    rig_expect(0, "sed 's/j++/++j/' copy.md | $K eval " DEMO ".c - --json --stop-after extract");
    assert_null(strstr(rig.out.data, "\"demo\""));
}

/* One batch: torch is imported once. */
static void test_the_demonstrations_for_pytorch(void **state)
{
    (void)state;
    bool gpu = getenv("KGYM_TEST_GPU") != NULL;
    rig_text("lines.sh", "D=$T/problems/demonstrations/product_bias\n"
                         "sed 's/ \\* b + bias/ * b - bias/' $D.triton.py >broken.py\n"
                         "line() { echo \"{\\\"id\\\": \\\"$1\\\", \\\"problem\\\": \\\"$D.py\\\", "
                         "\\\"source_file\\\": \\\"$2\\\"}\"; }\n"
                         "for l in triton pytorch cuda; do line $l $D.$l.py; done >in.jsonl\n"
                         "line broken broken.py >>in.jsonl\n");
    rig_expect(0, "sh lines.sh");
    int status =
        rig_run("$K eval --batch in.jsonl --out out.jsonl --jobs 1 " NO_TIMING " --device %s",
                gpu ? "cuda:0" : "cpu");
    if (strstr(rig.err.data, "make torch")) {
        printf("skip: this Python has no torch: make torch\n");
        skip();
    }
    assert_int_equal(status, gpu ? 0 : 2);
    rig_expect(0, "sed 's/.*\"batch_id\":\"\\([a-z]*\\)\".*\"verdict\":\\([^,]*\\),.*"
                  "\"error\":\\([^,]*\\),.*/\\1 \\2 \\3/' out.jsonl");
    rig_shows("triton \"ok\" null\n");
    rig_shows("pytorch \"ok\" null\n");
    rig_shows(gpu ? "cuda \"ok\" null\n" : "cuda null {\"code\":\"needs_gpu\"\n");
    rig_shows("broken \"wrong\" null\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_and_its_json_are_one_text),
        cmocka_unit_test(test_languages_styles_and_hardware),
        cmocka_unit_test(test_signatures_are_those_of_the_candidates),
        cmocka_unit_test(test_a_conversation_with_feedback),
        cmocka_unit_test(test_a_reply_without_code),
        cmocka_unit_test(test_a_record_of_another_problem),
        cmocka_unit_test(test_mistakes_are_named),
        cmocka_unit_test(test_it_helps_and_completes),
        cmocka_unit_test(test_the_demonstration_in_c),
        cmocka_unit_test(test_a_copied_demonstration_is_flagged),
        cmocka_unit_test(test_the_demonstrations_for_pytorch),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
