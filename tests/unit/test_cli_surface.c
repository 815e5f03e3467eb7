/* What a new user met: the surface of the commands. Reports that spare records, versions, help
 * pages, completion in both shells, and messages that say what to do. */
#include "kgym_rig.h"

#define NO_TIMING "--no-stage-timing"

/* --- report --- */

static void keep_a_record(void)
{
    rig_expect(1,
               "$K eval silu $P/silu.wrong.c " NO_TIMING " --json > r.jsonl; cp r.jsonl was.jsonl; "
               "exit 1");
}

static void test_a_report_never_replaces_records(void **state)
{
    (void)state;
    static const char *const outs[] = {"r.jsonl",      "./r.jsonl",      "sub/../r.jsonl",
                                       "$PWD/r.jsonl", "symbolic.jsonl", "hard.jsonl"};
    keep_a_record();
    rig_expect(0, "mkdir -p sub; ln -s r.jsonl symbolic.jsonl; ln r.jsonl hard.jsonl");
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++) {
        rig_expect(2, "$K report r.jsonl --out %s", outs[i]);
        rig_says("this is the file of records itself");
        rig_expect(2, "$K report - --out %s < r.jsonl", outs[i]);
        rig_says("name another file, such as report.html");
        rig_expect(2, "$K report %s --out r.jsonl", outs[i]);
        rig_expect(0, "cmp r.jsonl was.jsonl && test -L symbolic.jsonl");
    }
    rig_expect(2, "cp r.jsonl other.jsonl; $K report r.jsonl --out other.jsonl");
    rig_says("kgym report: --out other.jsonl: this file holds JSON, perhaps records");
    rig_expect(0, "cmp other.jsonl was.jsonl");
    rig_expect(0, "$K report r.jsonl --out page.html && $K report r.jsonl --out page.html");
    rig_expect(0, "head -c 15 page.html | grep -q '<!doctype html>'");
    rig_expect(0, "$K report r.jsonl --out /dev/stdout | grep -q '</html>'");
}

/* A trace is made anew at each command: no input, and no records, may be lost by a slip. */
static void test_a_trace_never_replaces_an_input(void **state)
{
    (void)state;
    static const struct {
        const char *words, *file;
    } cases[] = {
        {"silu in.c", "in.c"},
        {"./p.c in.c", "p.c"},
        {"./a#b/p.c in.c", "a#b/p.c"},
        {"./a#b/rows.jsonl#1 in.py", "a#b/rows.jsonl"},
        {"rows.jsonl#1 in.py", "rows.jsonl"},
        {"silu in.c --config conf.yaml", "conf.yaml"},
        {"silu in.c --replay r.jsonl", "r.jsonl"},
        {"--batch in.jsonl --out out.jsonl", "in.jsonl"},
        {"silu - < in.c", "in.c"},
    };
    keep_a_record();
    rig_expect(0, "mkdir -p sub; cp $P/silu.fast.c in.c; cp $T/problems/native/silu.c p.c; "
                  "mkdir -p 'a#b'; cp p.c 'a#b'; echo {} > rows.jsonl; cp rows.jsonl 'a#b'; "
                  ": > conf.yaml; printf '{\"id\": \"1\", \"problem\": \"silu\", "
                  "\"source_file\": \"in.c\"}\\n' > in.jsonl");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig_expect(0, "cp %s was", cases[i].file);
        rig_expect(2, "$K eval --trace sub/../%s " NO_TIMING " %s", cases[i].file, cases[i].words);
        rig_says("this is the same file as the input ");
        rig_expect(0, "cmp %s was", cases[i].file);
    }
    rig_expect(2, "$K eval silu in.c --trace r.jsonl");
    rig_says("kgym eval: --trace r.jsonl: this file holds JSON, perhaps records");
    rig_expect(2, "$K eval --batch in.jsonl --out new --trace new");
    rig_says("kgym eval: --trace new: --out names this file, too");
    rig_expect(0, "cmp r.jsonl was.jsonl && ! test -e new");
    rig_expect(0, "for i in 1 2; do $K eval silu in.c --trace spans " NO_TIMING "; done");
}

static void test_a_report_of_nothing_is_an_error(void **state)
{
    (void)state;
    rig_expect(2, ": > empty.md; $K report empty.md --out page2.html");
    rig_says("kgym report: empty.md: no records; a file with one record a line is needed");
    assert_int_equal(rig.out.len, 0);
    rig_expect(1, "test -e page2.html");
    rig_expect(2, "$K report - < /dev/null");
    rig_says("standard input: no records");
}

static void test_messages_name_what_the_user_named(void **state)
{
    (void)state;
    rig_expect(2, "echo words > notes.md; $K report notes.md");
    rig_says("kgym report: notes.md:1:5: not valid JSON");
    rig_expect(2, "$K eval --batch notes.md --out x.jsonl");
    rig_says("notes.md:1:5: not valid JSON");
    rig_says_not(":1:1:1:");
    keep_a_record();
    rig_expect(2, "mkdir -p folder.html; $K report r.jsonl --out folder.html");
    rig_says_not(".tmp.");
    rig_expect(2, "$K report r.jsonl --out /nosuch/page.html");
    rig_says("kgym report: /nosuch/page.html: cannot create");
    rig_says_not(".tmp.");
}

static void test_a_cache_that_cannot_be_written_is_told_once(void **state)
{
    (void)state;
    rig_expect(0, "$K eval silu $P/silu.fast.c " NO_TIMING " --set cache=/proc/nosuch 2> told");
    rig_expect(0, "test $(grep -c 'objects are not kept' told) = 1");
    rig_expect(0, "grep -q -- '--cache none' told");
    rig_expect(0, "for i in 1 2 3 4 5 6; do printf '{\"id\": \"%%d\", \"problem\": \"silu\", "
                  "\"source\": \"%%s /* %%d */\"}\\n' $i 'void silu(void) {}' $i; done > in.jsonl");
    rig_expect(0, "$K eval --batch in.jsonl --out out.jsonl --jobs 2 " NO_TIMING
                  " --set cache=/proc/nosuch 2> told");
    rig_expect(0, "test $(grep -c 'objects are not kept' told) = 1"); /* by two workers */
}

static void test_root_keeps_nothing_in_the_cache_of_another_user(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        puts("skip: only root can make a folder of another user");
        skip();
    }
    rig_expect(0, "rm -rf theirs && mkdir theirs && chown 65534 theirs");
    rig_expect(0, "XDG_CACHE_HOME=$PWD/theirs KGYM_CACHE= $K eval silu $P/silu.fast.c " NO_TIMING
                  " 2> told");
    rig_expect(0, "test $(grep -c 'belongs to another user (uid 65534)' told) = 1");
    rig_expect(1, "ls theirs | grep .");
    rig_expect(0, "mkdir theirs/kgym && XDG_CACHE_HOME=$PWD/theirs KGYM_CACHE= $K eval silu "
                  "$P/silu.fast.c " NO_TIMING " 2>&1 | grep 'another user'");
    rig_expect(1, "ls theirs/kgym | grep .");
    rig_expect(0, "KGYM_CACHE=$PWD/theirs/c $K eval silu $P/silu.fast.c " NO_TIMING " 2> told");
    rig_expect(1, "grep 'another user' told");
    rig_expect(0, "ls theirs/c | grep . && rm -r theirs");
}

static void test_an_object_that_was_there_is_marked(void **state)
{
    (void)state;
    rig_expect(0,
               "rm -rf fresh; for i in 1 2; do $K eval silu $P/silu.fast.c --json " NO_TIMING
               " --cache fresh | jq -c '[.stages[] | select(.name == \"compile\").cached]'; done");
    assert_string_equal(rig.out.data, "[false]\n[true]\n");
    rig_expect(0, "$K eval silu $P/silu.fast.c " NO_TIMING " --cache fresh");
    rig_shows("cached");
}

/* --- words --- */

static void test_version_and_help_in_all_spellings(void **state)
{
    (void)state;
    static const char *const versions[] = {"--version", "-V", "version"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        rig_expect(0, "$K %s", versions[i]);
        assert_int_equal(strncmp(rig.out.data, "kgym 0.", 7), 0);
    }
    rig_expect(2, "$K version now");
    rig_says("kgym version: unknown word `now`");
    rig_expect(0, "$K help > a; $K --help > b; $K -h > c; cmp a b && cmp a c");
    rig_expect(0, "$K help report > a; $K report --help > b; cmp a b");
    rig_expect(2, "$K help crad");
    rig_says("kgym help: no page `crad`; did you mean `card`?");
}

static void test_help_fits_a_terminal(void **state)
{
    (void)state;
    rig_expect(0,
               "$K --help > all; $K help card >> all; for c in $($K --help | "
               "sed -n 's/^  \\([a-z][a-z]*\\) .*/\\1/p'); do $K $c --help || exit 2; done >> all; "
               "grep -c '^usage: kgym' all");
    assert_true(atoi(rig.out.data) >= 10);
    rig_expect(1, "LC_ALL=C.UTF-8 grep -nE '^.{81}' all");
}

/* The words that a card shows and does not explain. */
static void test_a_page_explains_the_card(void **state)
{
    (void)state;
    static const char *const words[] = {
        "K ",     "cv ", "isolation", "L2",    "peak",         "at most 3",
        "phi(s)", "PR",  "interval",  "pairs", "not measured", "20 times the least K"};
    rig_expect(0, "$K help card");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        rig_shows(words[i]);
    }
    rig_expect(0, "$K --help");
    rig_shows("`kgym help card`");
}

static void test_one_spelling_of_rewards_and_an_alias(void **state)
{
    (void)state;
    rig_expect(0, "$K eval --help");
    rig_shows("--rewards A[,B]");
    rig_expect(0,
               "$K eval --rewards binary --dump-config > a; $K eval --reward binary --dump-config "
               "> b; cmp a b && grep -q 'rewards: \"binary\"' a");
}

/* --- verdicts in words --- */

static void test_a_binary_source_is_named_as_one(void **state)
{
    (void)state;
    rig_expect(1, "printf '\\177ELF\\002\\001\\000\\000' > b.c; $K eval silu b.c");
    rig_shows("NO CODE");
    rig_shows("the source is a binary file, not text");
    rig_expect(1, "$K eval silu b.c --json");
    rig_shows("(the byte at offset 6 is 0x00); expected the source of a candidate that defines "
              "`silu`");
    rig_shows_not("line 0");
    rig_expect(
        1, "head -c 3000 /bin/sh > c.c; $K eval silu c.c --json | grep -c '\"check\":\"static\"'");
    rig_expect(1, "cp b.c b.md; $K eval silu b.md");
    rig_shows("the reply is a binary file, not text");
    rig_expect(1, "printf '\\001\\002\\003\\004 x' > d.c; $K eval silu d.c");
    rig_shows("binary file");
    /* an old 8-bit encoding is text */
    rig_expect(0, "(printf '/* caf\\351 */\\n'; cat $P/silu.fast.c) > e.c; "
                  "$K eval silu e.c " NO_TIMING);
}

/* The record that the command printed to a file. */
static json_t *record_in(const char *path)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    kg_buf_init(&b, 1 << 20);
    assert_int_equal(kg_file_read(path, &b, &err), KG_OK);
    assert_int_equal(kg_json_parse(b.data, b.len, path, &j, &err), KG_OK);
    kg_buf_deinit(&b);
    return j;
}

/* A name that is not UTF-8 must not cost the finding its fields; no line is not line 0. */
static void test_findings_keep_their_fields(void **state)
{
    (void)state;
    const json_t *e;
    size_t i;
    rig_expect(1,
               "printf 'static int caf\\351;\\nint other(void) { return caf\\351++; }\\n' > f.c; "
               "$K eval silu f.c --json > f.json");
    json_t *j = record_in("f.json");
    json_array_foreach(json_object_get(j, "evidence"), i, e)
    {
        assert_true(json_is_string(json_object_get(e, "message")));
        assert_true(json_is_integer(json_object_get(e, "line")));
    }
    assert_true(i > 1);
    assert_string_equal(rig_get(j, "message"),
                        "the entry is not defined as a function at file scope");
    json_decref(j);
}

/* Sample: `10 elements of mean were never written` beside (5 of 5): each output has its count. */
static void test_counts_are_of_one_output(void **state)
{
    (void)state;
    long long left = 0, all = 0;
    rig_text("none.c", "#include <stdint.h>\n"
                       "void row_stats(const float *x, float *mean, float *var, int64_t rows, "
                       "int64_t cols)\n"
                       "{\n    (void)x, (void)mean, (void)var, (void)rows, (void)cols;\n}\n");
    rig_expect(1, "$K eval row_stats none.c --json > n.json");
    json_t *j = record_in("n.json");
    assert_string_equal(rig_get(j, "reason"), "unwritten");
    int n = sscanf(rig_get(j, "message"), "%lld of the %lld elements of `mean` were never written",
                   &left, &all);
    assert_int_equal(n, 2);
    assert_int_equal(left, all);
    const json_t *e = json_array_get(json_object_get(j, "evidence"), 0);
    assert_int_equal(json_integer_value(json_object_get(e, "elements")), all);
    json_decref(j);
}

/* --- problems and the host --- */

#define PROBLEM                                                                                    \
    "/*---kgym\nname: it\nlevel: 1\nentry: it\ndims: {n: 10000}\nargs:\n"                          \
    "  - {name: x, type: %s, role: in}\n  - {name: y, type: \"f32[n]\", role: out}\n"              \
    "  - {name: n, type: i64, role: dim}\n---*/\n#include \"kgops.h\"\n#include <stdlib.h>\n"      \
    "void it(const real *x, real *y, int64_t n)\n{\n    %s\n"                                      \
    "    for (int64_t i = 0; i < n; i++) {\n        y[i] = %s;\n    }\n}\n"

static void problem(const char *type, const char *first, const char *value)
{
    char text[2000];
    snprintf(text, sizeof text, PROBLEM, type, first, value);
    rig_text("it.c", text);
}

static void test_checks_of_problems_speak_plainly(void **state)
{
    (void)state;
    problem("f32[n,n]", "", "x[i]");
    rig_expect(1, "$K problems check it.c");
    rig_shows("it.c:7: not valid YAML");
    rig_shows("quote a value that holds brackets: \"f32[n,n]\"");
    problem("\"f32[n]\"", "__builtin_trap();", "x[i]");
    rig_expect(1, "$K problems check it.c");
    rig_shows("it is killed by signal 4 (Illegal instruction)");
    rig_shows_not("exit kind");
    problem("\"f32[n]\"", "exit(3);", "x[i]");
    rig_expect(1, "$K problems check it.c");
    rig_shows("ends its process with status 3 instead of returning");
    problem("\"f32[n]\"", "(void)x;", "1");
    rig_expect(1, "$K problems check it.c");
    rig_shows("ones: a candidate made to be wrong is judged right on every input");
    rig_shows_not("ok: right");
}

static void test_doctor_shows_the_host_without_a_compiler(void **state)
{
    (void)state;
    rig_expect(2, "$K doctor --quick --set compiler=nosuch");
    assert_int_equal(strncmp(rig.out.data, "host\n", 5), 0);
    rig_shows("lacks judging    compiler `nosuch` cannot be run");
    rig_shows("sandbox");
    rig_expect(2, "KGYM_PYTHON=/nosuch $K doctor --set compiler=nosuch --quick --json");
    json_t *j = rig_json();
    assert_true(json_is_object(json_object_get(j, "host")));
    json_decref(j);
}

/* --- completion --- */

#define ASK                                                                                        \
    "ask() { COMP_WORDS=(kgym \"$@\"); COMP_CWORD=$#; _kgym; "                                     \
    "echo \"[${COMPREPLY[*]}]\"; }; "

static const struct {
    const char *words, *answer; /* bash: a line of "[...]" */
} completions[] = {
    {"ev", "[eval]"},
    {"vers", "[version]"},
    {"help ca", "[card]"},
    {"completion z", "[zsh]"},
    {"bench nat", "[native]"},
    {"bench @", "[]"}, /* a word of the script itself */
    {"store @", "[]"},
    {"eval --dev", "[--device --device-memory-mb]"},
    {"eval --device c", "[cpu cuda:0]"},
    {"eval --device = c", "[cpu cuda:0]"},
    {"eval --suit", "[--suites]"},
    {"eval --rewards dr-kernel-n", "[dr-kernel-nopr]"},
    {"eval --reward bin", "[binary]"},
    {"eval --rewards dr-kernel,bin", "[dr-kernel,binary]"},
    {"eval --set timing.half", "[timing.half_width=]"},
    {"eval --set timing.method = c", "[calibrated]"},
    {"eval --set staged =", "[yes no]"},
    {"eval --timing-method p", "[paired]"},
    {"eval --quarantine ''", "[refuse ignore]"},
    {"eval --no-sta", "[--no-staged --no-stage-static --no-stage-tiny --no-stage-full "
                      "--no-stage-timing --no-stage-profile]"},
    {"eval --preset kern", "[kernelbench]"},
    {"eval --stop-after ti", "[tiny timing]"},
    {"eval soft", "[softmax]"},
    {"problems check soft", "[softmax]"},
    {"problems check --dev", "[--device --device-memory-mb]"},
    {"problems gen", "[generate]"},
    {"problems generate --se", "[--seed]"},
    {"problems generate --part ''", "[]"},
    {"doctor --q", "[--quick --quarantine]"},
    {"feedback --style m", "[markdown]"},
    {"report --ti", "[--title]"},
    {"prompt --language c", "[cuda]"},
    {"eval --jobs ''", "[]"},
    {"kernelbench wr", "[write]"},
    {"kernelbench eval level = ''", "[]"},
};
#define NCOMPLETIONS (sizeof completions / sizeof *completions)

static void test_bash_completes_every_kind_of_word(void **state)
{
    (void)state;
    rig_expect(0, "$K completion bash > c.bash && bash -n c.bash && $K completion > d.bash && "
                  "cmp c.bash d.bash");
    rig_expect(0, "mkdir -p bin && ln -sf $K bin/kgym");
    for (size_t i = 0; i < NCOMPLETIONS; i++) {
        rig_expect(0, "PATH=$PWD/bin:$PATH bash -c '. ./c.bash; " ASK "ask \"$@\"' x %s",
                   completions[i].words);
        if (strncmp(rig.out.data, completions[i].answer, strlen(completions[i].answer)) != 0) {
            fail_msg("kgym %s: %s instead of %s", completions[i].words, rig.out.data,
                     completions[i].answer);
        }
    }
    rig_expect(0, "mkdir -p afolder && bash -c '. ./c.bash; " ASK "ask eval --suites afo'");
    rig_shows("[afolder]");
}

/* Nothing that a help text or the option table names is missing. */
static void test_completion_knows_every_option(void **state)
{
    (void)state;
    static const char *const commands[][2] = {
        {"eval", "__kgym_words eval"},
        {"problems", "__kgym_words problems check; __kgym_words problems generate"},
        {"report", "__kgym_words report"},
        {"doctor", "__kgym_words doctor"},
        {"feedback", "__kgym_words feedback"},
        {"kernelbench eval", "__kgym_words kernelbench eval"},
        {"prompt", "__kgym_words prompt"},
        {"bench", "__kgym_words bench"},
        {"refine", "__kgym_words refine"}};
    rig_expect(0, "$K completion > c.bash");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        rig_expect(0,
                   "$K %s --help | sed -n 's/^  \\(--[a-z-]*\\).*/\\1/p' | sort -u > named; "
                   "bash -c '. ./c.bash; %s' | tr ' ' '\\n' | sort -u > known; "
                   "comm -23 named known",
                   commands[i][0], commands[i][1]);
        bool others = strncmp(commands[i][0], "kernelbench", 11) == 0; /* its other verbs' */
        if (rig.out.len > 0 && !others) {
            fail_msg("completion of %s lacks %s", commands[i][0], rig.out.data);
        }
    }
    rig_expect(0,
               "$K options | sed -n 's/^  --\\(\\[no-\\]\\)\\?\\([a-z-]*\\).*/--\\2/p' | sort -u > "
               "named; bash -c '. ./c.bash; __kgym_words eval' | tr ' ' '\\n' | sort -u > known; "
               "comm -23 named known; wc -l < named");
    assert_true(atoi(rig.out.data) > 60);
    rig_expect(0,
               "$K options --markdown | sed -n 's/^| `\\([a-z._]*\\)`.*/\\1=/p' | sort -u > named; "
               "bash -c '. ./c.bash; __kgym_values --set' | tr ' ' '\\n' | sort -u > known; "
               "comm -23 named known");
    assert_int_equal(rig.out.len, 0);
}

/* zsh's completion system needs a terminal, so its three calls are played. */
#define ZSH                                                                                        \
    "compdef() { :; }; compadd() { while [[ $1 == -* && $1 != -- ]]; do "                          \
    "[[ $1 == -S ]] && shift; shift; done; shift; print -r -- $@; }; "                             \
    "compset() { :; }; _files() { print files $@; }; . ./c.zsh; "                                  \
    "words=(kgym \"$@\"); CURRENT=$(($# + 1)); _kgym"

static void test_zsh_completes_from_the_same_words(void **state)
{
    (void)state;
    rig_expect(0, "$K completion zsh > c.zsh && head -1 c.zsh | grep -qx '#compdef kgym'");
    rig_expect(0, "$K completion bash | sed '/^_kgym()/,$d' > a; "
                  "sed '1d; /^_kgym()/,$d' c.zsh > b; cmp a b"); /* the functions of both */
    if (system("command -v zsh > /dev/null 2>&1") != 0) {
        print_message("skip: zsh is not installed: the script's own half was not run\n");
        return;
    }
    rig_expect(0, "zsh -n c.zsh");
    rig_expect(0, "zsh -fc '" ZSH "' x ev");
    rig_shows("eval");
    rig_expect(0, "zsh -fc '" ZSH "' x eval --device ''");
    rig_shows("auto cpu cuda:0");
    rig_expect(0, "zsh -fc '" ZSH "' x eval --set timing.method=c");
    rig_shows("paired calibrated");
    rig_expect(0, "zsh -fc '" ZSH "' x eval --suites ''");
    rig_shows("files -/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_report_never_replaces_records),
        cmocka_unit_test(test_a_trace_never_replaces_an_input),
        cmocka_unit_test(test_a_report_of_nothing_is_an_error),
        cmocka_unit_test(test_messages_name_what_the_user_named),
        cmocka_unit_test(test_a_cache_that_cannot_be_written_is_told_once),
        cmocka_unit_test(test_root_keeps_nothing_in_the_cache_of_another_user),
        cmocka_unit_test(test_an_object_that_was_there_is_marked),
        cmocka_unit_test(test_version_and_help_in_all_spellings),
        cmocka_unit_test(test_help_fits_a_terminal),
        cmocka_unit_test(test_a_page_explains_the_card),
        cmocka_unit_test(test_one_spelling_of_rewards_and_an_alias),
        cmocka_unit_test(test_a_binary_source_is_named_as_one),
        cmocka_unit_test(test_findings_keep_their_fields),
        cmocka_unit_test(test_counts_are_of_one_output),
        cmocka_unit_test(test_checks_of_problems_speak_plainly),
        cmocka_unit_test(test_doctor_shows_the_host_without_a_compiler),
        cmocka_unit_test(test_bash_completes_every_kind_of_word),
        cmocka_unit_test(test_completion_knows_every_option),
        cmocka_unit_test(test_zsh_completes_from_the_same_words),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
