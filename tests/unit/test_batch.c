/* kgym eval --batch: order, who takes which line, progress, errors, what resuming keeps, files that
 * are not to be touched, disks that are full. */
#include "batch_rig.h"
#include "sanitized.h"

static void test_lines_come_in_input_order(void **state)
{
    (void)state;
    write_lines(15, -1);
    rig_expect(0, BATCH " --jobs 4");
    rig_says("15 lines: 15 with a verdict (3 ok), 0 with an error; 0 kept");
    read_output("out.jsonl");
    check_lines(15);
    assert_int_equal(got.n, 15);
    rig_nothing_left();
}

/* Only the time in a record's id, its first ten characters, sorts. */
static void test_a_worker_stays_with_its_problem(void **state)
{
    (void)state;
    const char *last_own = "", *first_other = "~";
    write_lines(12, -1);
    rig_expect(0, "rm -f out.jsonl; " BATCH " --jobs 1");
    read_output("out.jsonl");
    check_lines(12);
    assert_int_equal(got.n, 12);
    for (int i = 0; i < 12; i += 2) {
        const char *own = got.record[i], *other = got.record[i + 1];
        last_own = strncmp(own, last_own, 10) > 0 ? own : last_own;
        first_other = strncmp(other, first_other, 10) < 0 ? other : first_other;
    }
    assert_true(strncmp(last_own, first_other, 10) <= 0);
    rig_expect(0, "rm -f out.jsonl; " BATCH " --jobs 2");
    read_output("out.jsonl");
    check_lines(12);
    assert_int_equal(got.n, 12);
    rig_nothing_left();
}

static void test_more_lines_than_the_window(void **state)
{
    (void)state;
    struct kg_buf b;
    char id[32];
    kg_buf_init(&b, 1 << 20);
    for (int i = 0; i < 1300; i++) {
        snprintf(id, sizeof id, "line-%d", i);
        add_for(&b, i % 400 == 7 ? "other.c" : "silu", id, "reply", "nothing");
    }
    rig_file("in.jsonl", b.data, b.len);
    kg_buf_deinit(&b);
    rig_expect(0, "rm -f out.jsonl; " BATCH " --jobs 2");
    rig_says("1300 lines: 1300 with a verdict");
    rig_expect(0, "grep -o '\"batch_id\":\"[^\"]*' out.jsonl | cut -d'\"' -f4 > ids; "
                  "seq -f line-%%g 0 1299 | cmp - ids");
    rig_expect(0, "sed -i 500,505d out.jsonl; " BATCH " --jobs 2");
    rig_says("1294 kept");
    rig_expect(0, "grep -o '\"batch_id\":\"[^\"]*' out.jsonl | cut -d'\"' -f4 | cmp - ids");
}

static void test_progress_is_plain_lines_in_a_file(void **state)
{
    (void)state;
    write_lines(4, -1);
    rig_expect(0, "rm -f out.jsonl; " BATCH);
    rig_says("judging: 4/4");
    assert_null(strchr(rig.err.data, '\r'));
    assert_null(strchr(rig.err.data, 27));
    assert_int_equal(rig.out.len, 0);
}

static void test_bad_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } table[] = {
        {"{\"id\": ", "in.jsonl:3:"},
        {"[]", "in.jsonl:3: a line is one JSON object"},
        {"{\"id\": \"b\", \"problem\": \"silu\"}", "in.jsonl:3: exactly one of reply"},
        {"{\"id\": \"b\", \"problem\": \"silu\", \"reply\": \"\", \"source\": \"\"}",
         "in.jsonl:3: exactly one of reply"},
        {"{\"id\": \"b\", \"reply\": \"\"}", "in.jsonl:3: problem: a name or a path is needed"},
        {"{\"problem\": \"silu\", \"reply\": \"\"}", "in.jsonl:3: id: a string of 1 to 200 bytes"},
        {"{\"id\": 7, \"problem\": \"silu\", \"reply\": \"\"}", "in.jsonl:3: id: a string"},
        {"{\"id\": \"\", \"problem\": \"silu\", \"reply\": \"\"}", "in.jsonl:3: id: a string"},
        {"{\"id\": \"b\\u0000c\", \"problem\": \"silu\", \"reply\": \"\"}",
         "in.jsonl:3: id: a string"},
        {"{\"id\": \"b\", \"problem\": \"silu\", \"reply\": 7}", "in.jsonl:3: reply: a string"},
        {"{\"id\": \"b\", \"problem\": \"silu\", \"replay\": \"\"}",
         "in.jsonl:3: unknown key `replay`"},
        {"{\"id\": \"b\", \"id\": \"c\", \"problem\": \"silu\", \"reply\": \"\"}", "in.jsonl:3:"},
        {"{\"id\": \"a\", \"problem\": \"silu\", \"reply\": \"\"}",
         "in.jsonl:3: id `a` is that of line 1 already"},
        {"\xff\xfe", "in.jsonl:3:"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_buf b;
        kg_buf_init(&b, 1 << 16);
        kg_buf_adds(&b, "{\"id\": \"a\", \"problem\": \"silu\", \"reply\": \"\"}\n\n");
        kg_buf_adds(&b, table[i].line);
        rig_file("in.jsonl", b.data, b.len);
        kg_buf_deinit(&b);
        rig_expect(2, "rm -f out.jsonl; " BATCH);
        rig_says(table[i].message);
        rig_expect(1, "test -e out.jsonl");
    }
    rig_expect(2, "rm in.jsonl; " BATCH);
    rig_says("in.jsonl: cannot open: No such file or directory");
    rig_expect(0, ": > in.jsonl; " BATCH);
    rig_says("0 lines");
}

static void test_a_line_that_cannot_be_judged_is_an_error_record(void **state)
{
    (void)state;
    rig_text("p.c", "/*---kgym\nname: p\nlevl: 1\n---*/\n");
    rig_text("in.jsonl", "{\"id\": \"1\", \"problem\": \"sillu\", \"reply\": \"\"}\n"
                         "{\"id\": \"2\", \"problem\": \"silu\", \"reply_file\": \"nosuch.md\"}\n"
                         "{\"id\": \"3\", \"problem\": \"p.c\", \"reply\": \"\"}\n"
                         "{\"id\": \"4\", \"problem\": \"silu\", \"reply\": \"\"}\n");
    rig_expect(2, "mkdir -p sub; mv in.jsonl p.c sub; rm -f out.jsonl; "
                  "exec $K eval --batch sub/in.jsonl --out out.jsonl");
    rig_says("4 lines: 1 with a verdict (0 ok), 3 with an error");
    rig_says("  sub/in.jsonl:1: 1: no problem 'sillu' in the suites (did you mean 'silu'?)\n");
    rig_says("  sub/in.jsonl:2: 2: sub/nosuch.md: cannot open: No such file or directory\n");
    assert_null(strstr(rig.err.data, "more\n"));
    read_output("out.jsonl");
    assert_int_equal(got.n, 4);
    assert_string_equal(got.verdict[0], "error/");
    assert_string_equal(got.verdict[1], "error/");
    assert_string_equal(got.verdict[2], "error/");
    assert_string_equal(got.verdict[3], "no_code/empty");
    rig_expect(0, "grep -q 'sub/in.jsonl:2: sub/nosuch.md: cannot open' out.jsonl && "
                  "grep -q 'sub/p.c:3' out.jsonl");
}

/* `#` in a folder's name marks no row. */
static void test_a_problem_beside_the_batch_in_a_folder_with_a_mark(void **state)
{
    (void)state;
    rig_text("in.jsonl", "{\"id\": \"1\", \"problem\": \"p.c\", \"reply\": \"\"}\n");
    rig_expect(0, "mkdir -p 'a#b'; mv in.jsonl 'a#b'; cp $T/problems/native/silu.c 'a#b/p.c'; "
                  "rm -f out.jsonl; exec $K eval --batch 'a#b/in.jsonl' --out out.jsonl");
    rig_says("1 line: 1 with a verdict (0 ok), 0 with an error");
}

/* The first few are told, as text; of the others how many. */
static void test_what_failed_is_told(void **state)
{
    (void)state;
    rig_expect(
        2, "rm -f out.jsonl; for i in 1 2 3 4 5 6 7; do printf '{\"id\": \"%%s\\\\n\", "
           "\"problem\": \"no\\\\u001b[2Kwhere\", \"reply\": \"\"}\\n' $i; done > in.jsonl; " BATCH
           " --jobs 1");
    size_t told = 0;
    for (const char *at = rig.err.data; (at = strstr(at, " : no problem 'no")); at++) {
        told++;
    }
    assert_int_equal(told, 5);
    rig_says("  in.jsonl:1: 1 : no problem 'no\xEF\xBF\xBD[2Kwhere'");
    rig_says("\n  and 2 more\n");
    assert_null(strchr(rig.err.data, 033));
}

/* resuming */

static char records[MAX_LINES][32];

static void remember(void)
{
    memcpy(records, got.record, sizeof records);
}

static void expect_kept(int n, int but_from, int but_to)
{
    read_output("out.jsonl");
    check_lines(n);
    assert_int_equal(got.n, n);
    for (int i = 0; i < n; i++) {
        bool same = strcmp(records[i], got.record[i]) == 0;
        if (same != (i < but_from || i >= but_to)) {
            fail_msg("line %d was %s", i, same ? "kept" : "judged again");
        }
    }
    remember();
}

static void test_what_resuming_keeps(void **state)
{
    (void)state;
    write_lines(10, -1);
    rig_expect(0, "rm -f out.jsonl; " BATCH);
    read_output("out.jsonl");
    remember();
    rig_expect(0, BATCH);
    rig_says("10 kept");
    expect_kept(10, 0, 0);
    /* A torn last line is cut off. */
    rig_expect(0, "truncate -s -20 out.jsonl; " BATCH);
    rig_says("9 kept");
    expect_kept(10, 9, 10);
    rig_expect(0, "printf '{\"schema\":\"kgym.record/1\",\"id\":\"01' >> out.jsonl; " BATCH);
    expect_kept(10, 0, 0);
    /* A changed reply is judged again; the lines after it are not. */
    write_lines(10, 3);
    rig_expect(0, BATCH);
    rig_says("9 kept");
    expect_kept(10, 3, 4);
    /* What was called the candidate itself is a reply after all. */
    rig_expect(0, "sed -i '5s/\"reply\":/\"source\":/' in.jsonl; " BATCH);
    rig_says("9 kept");
    rig_expect(0, "sed -i '5s/\"source\":/\"reply\":/' in.jsonl; " BATCH);
    rig_says("9 kept");
    read_output("out.jsonl");
    remember();
    /* Lost and repeated lines. */
    rig_expect(0, "sed -i -e 2d -e 7p out.jsonl; " BATCH);
    rig_says("9 kept");
    expect_kept(10, 1, 2);
    /* Another configuration; then further than before. */
    rig_expect(0, BATCH " --laws 1");
    expect_kept(10, 0, 10);
    rig_expect(0, "rm out.jsonl; " BATCH " --stop-after compile");
    rig_says("10 lines: 10 with a verdict");
    rig_expect(0, BATCH);
    rig_says("4 kept"); /* what failed by then */
    read_output("out.jsonl");
    check_lines(10);
    /* Nothing private stays in a public file. */
    rig_expect(0, "grep -q '\"private\"' out.jsonl && " BATCH " --public");
    rig_expect(1, "grep -q '\"private\"' out.jsonl");
    read_output("out.jsonl");
    check_lines(10);
    assert_int_equal(got.n, 10);
}

static void test_other_peoples_files_are_left_alone(void **state)
{
    (void)state;
    write_lines(2, -1);
    rig_text("notes.txt", "dear diary\n");
    rig_expect(2, "$K eval --batch in.jsonl --out notes.txt");
    rig_says("notes.txt: this file is not a batch's output");
    rig_expect(0, "grep -q diary notes.txt");
    rig_expect(2, "cp in.jsonl same; $K eval --batch in.jsonl --out in.jsonl");
    rig_says("in.jsonl: input and output are the same file");
    rig_expect(0, "cmp in.jsonl same");
}

/* disks */

/* What was judged before it was full is in the output, or waits beside it: the run that resumes,
 * once there is room, keeps it. */
/* One that no line is left for goes, and what it holds with it, while others are at work. */
static void test_a_worker_leaves_when_nothing_is_left(void **state)
{
    (void)state;
    if (is_sanitized(getenv("KGYM_BUILD"))) { /* the short one takes as long as the long one */
        printf("skip: release builds only\n");
        skip();
    }
    struct kg_buf b;
    kg_buf_init(&b, 1 << 16);
    add_kind(&b, 0, "short");
    add(&b, "long", "source",
        SILU "    volatile int64_t on = n;\n    while (on) {\n    }\n    y[0] = x[0];\n}\n");
    rig_file("in.jsonl", b.data, b.len);
    kg_buf_deinit(&b);
    rig_expect(0, "rm -f out.jsonl; $K eval --batch in.jsonl --out out.jsonl --jobs 2 " NO_TIMING
                  " --deadline-run 3 & P=$!; most=0; n=0; S=\n"
                  "for i in $(seq 400); do\n"
                  "    S=${S:-$(grep -lxF \"PPid:\t$P\" /proc/[0-9]*/status 2>/dev/null |"
                  " cut -d/ -f3)}\n" /* the pool's supervisor, whose children the workers are */
                  "    n=$(grep -lxF \"PPid:\t${S:--1}\" /proc/[0-9]*/status 2>/dev/null |"
                  " xargs -r grep -L '^State:.Z' 2>/dev/null | wc -l)\n"
                  "    [ $n -gt $most ] && most=$n\n"
                  "    [ $most -eq 2 ] && [ $n -le 1 ] && break\n"
                  "    sleep .02\n"
                  "done\n"
                  "under_way=$(jq -r .batch_id out.jsonl | tr '\\n' ' '); wait $P || exit 9\n"
                  "echo \"$most workers, then $n; by then: $under_way\"; jq -r .verdict out.jsonl");
    rig_shows("2 workers, then 1; by then: line-0 \n");
    rig_shows("ok\ntimeout");
}

static void test_a_full_disk_is_said(void **state)
{
    (void)state;
    write_lines(10, -1);
    rig_expect(2, "$K eval --batch in.jsonl --out /dev/full " NO_TIMING);
    rig_says("kgym eval: /dev/full: cannot write: No space left on device");
    rig_nothing_left();
    if (rig_run("mkdir -p disk && mount -t tmpfs -o size=20k kgym-test disk") != 0) {
        print_message("skip: a small disk cannot be mounted here\n");
        skip();
    }
    rig_run("$K eval --batch in.jsonl --out disk/out.jsonl " NO_TIMING);
    int status = rig.status;
    bool said = strstr(rig.err.data, "disk/out.jsonl: cannot write: No space left on device");
    read_output("disk/out.jsonl");
    check_lines(10);
    bool part = got.n < 10 && !got.torn;
    rig_run("mount -o remount,size=1m disk; "
            "$K eval --batch in.jsonl --out disk/out.jsonl " NO_TIMING);
    int resumed = rig.status;
    bool kept = strstr(rig.err.data, " kept") && !strstr(rig.err.data, " 0 kept");
    read_output("disk/out.jsonl");
    rig_expect(0, "test ! -e disk/out.jsonl.ahead && umount disk");
    assert_int_equal(status, 2);
    assert_true(said);
    assert_true(part);
    assert_int_equal(resumed, 0);
    assert_true(kept);
    check_lines(10);
    assert_int_equal(got.n, 10);
    rig_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_come_in_input_order),
        cmocka_unit_test(test_a_worker_stays_with_its_problem),
        cmocka_unit_test(test_more_lines_than_the_window),
        cmocka_unit_test(test_progress_is_plain_lines_in_a_file),
        cmocka_unit_test(test_bad_lines_are_named),
        cmocka_unit_test(test_a_line_that_cannot_be_judged_is_an_error_record),
        cmocka_unit_test(test_a_problem_beside_the_batch_in_a_folder_with_a_mark),
        cmocka_unit_test(test_what_failed_is_told),
        cmocka_unit_test(test_what_resuming_keeps),
        cmocka_unit_test(test_other_peoples_files_are_left_alone),
        cmocka_unit_test(test_a_worker_leaves_when_nothing_is_left),
        cmocka_unit_test(test_a_full_disk_is_said),
    };
    return cmocka_run_group_tests(tests, batch_setup, rig_teardown);
}
