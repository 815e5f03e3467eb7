/* kgym eval --batch: order, errors, resuming after anything, workers that die, interrupts, disks
 * that are full. The seed of what is random is printed. */
#include <dirent.h>
#include <time.h>

#include "kgym_rig.h"

#include "base/rng.h"

#define NO_TIMING "--no-stage-timing"
#define BATCH     "exec $K eval --batch in.jsonl --out out.jsonl " NO_TIMING
#define SILU      "#include <stdint.h>\nvoid silu(const float *x, float *y, int64_t n)\n{\n"
#define MAX_LINES 64

static struct kg_rng rng;

static int setup(void **state)
{
    struct kg_key key = {{(uint64_t)time(NULL), 7}};
    const char *given = getenv("KGYM_TEST_SEED");
    char hex[33];
    if (given) {
        assert_true(kg_key_parse(given, &key));
        unsetenv("KGYM_TEST_SEED");
    }
    kg_key_hex(key, hex);
    print_message("seed %s (KGYM_TEST_SEED)\n", hex);
    kg_rng_init(&rng, key, 0);
    return rig_setup(state);
}

static void rest_ms(int64_t ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* input: lines of few kinds, each with a text of its own */

static void add(struct kg_buf *b, const char *id, const char *key, const char *text)
{
    json_t *j = json_pack("{s:s, s:s, s:s}", "id", id, "problem", "silu", key, text);
    kg_json_dump(j, b);
    kg_buf_addc(b, '\n');
    json_decref(j);
}

static void add_kind(struct kg_buf *b, int number, const char *salt)
{
    static const char *const bodies[] = {
        "    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (1 + expf(-x[i]));\n}\n",
        "    for (int64_t i = 0; i < n; i++) y[i] = x[i];\n}\n",
        "    y[0] = x[0] + n\n}\n",
        "    __builtin_trap();\n}\n",
    };
    char id[32], text[600];
    snprintf(id, sizeof id, "line-%d", number);
    if (number % 5 == 4) {
        add(b, id, "reply", "I would use a loop.");
        return;
    }
    snprintf(text, sizeof text, "#include <math.h>\n" SILU "    /* %d %s */\n%s", number, salt,
             bodies[number % 5]);
    add(b, id, "source", text);
}

static void write_lines(int n, int changed)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    for (int i = 0; i < n; i++) {
        add_kind(&b, i, i == changed ? "changed" : "");
    }
    rig_file("in.jsonl", b.data, b.len);
    kg_buf_deinit(&b);
}

/* output */

static struct {
    int n;
    char id[MAX_LINES][32], verdict[MAX_LINES][64], record[MAX_LINES][32];
    bool torn; /* the file does not end in a newline */
} got;

static void read_output(const char *path)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    memset(&got, 0, sizeof got);
    kg_buf_init(&b, 64u << 20);
    enum kg_code code = kg_file_read(path, &b, &err);
    assert_true(code == KG_OK || code == KG_E_NOT_FOUND);
    for (char *s = b.data, *nl; (nl = strchr(s, '\n')) && got.n < MAX_LINES; s = nl + 1) {
        json_t *j;
        if (kg_json_parse(s, (size_t)(nl - s), path, &j, &err) != KG_OK) {
            fail_msg("line %d of %s is not whole: %s", got.n + 1, path, err.message);
        }
        snprintf(got.id[got.n], sizeof got.id[0], "%s", rig_get(j, "batch_id"));
        snprintf(got.record[got.n], sizeof got.record[0], "%s", rig_get(j, "id"));
        snprintf(got.verdict[got.n], sizeof got.verdict[0], "%s/%s",
                 json_is_null(json_object_get(j, "error")) ? rig_get(j, "verdict") : "error",
                 rig_get(j, "reason"));
        got.n++;
        json_decref(j);
    }
    got.torn = b.len > 0 && b.data[b.len - 1] != '\n';
    kg_buf_deinit(&b);
}

/* Line i is that of input line i, with the verdict that its kind gets. */
static void check_lines(int n)
{
    static const char *const want[] = {"ok/", "wrong/value", "compile_error/syntax", "crash/signal",
                                       "no_code/no_block"};
    assert_true(got.n <= n);
    for (int i = 0; i < got.n; i++) {
        char id[32];
        snprintf(id, sizeof id, "line-%d", i);
        assert_string_equal(got.id[i], id);
        assert_string_equal(got.verdict[i], want[i % 5]);
    }
}

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
    read_output("out.jsonl");
    assert_int_equal(got.n, 4);
    assert_string_equal(got.verdict[0], "error/");
    assert_string_equal(got.verdict[1], "error/");
    assert_string_equal(got.verdict[2], "error/");
    assert_string_equal(got.verdict[3], "no_code/empty");
    rig_expect(0, "grep -q 'sub/in.jsonl:2: sub/nosuch.md: cannot open' out.jsonl && "
                  "grep -q 'sub/p.c:3' out.jsonl");
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

static pid_t start_batch(const char *more)
{
    char command[512];
    snprintf(command, sizeof command, "KGYM_CACHE=none " BATCH " %s", more);
    return rig_start(command);
}

/* Whole lines only, but for the last; each in its place. */
static void check_partial(int n)
{
    read_output("out.jsonl");
    check_lines(n);
}

static void test_killed_at_any_moment_it_resumes(void **state)
{
    (void)state;
    int kills = 0;
    write_lines(14, -1);
    rig_expect(0, "rm -f out.jsonl");
    for (int round = 0; round < 60; round++) {
        pid_t pid = start_batch("--jobs 2");
        rest_ms(50 + (int64_t)kg_rng_below(&rng, 400 + 100 * (uint64_t)round));
        int status;
        if (waitpid(pid, &status, WNOHANG) == 0) {
            bool group = kg_rng_below(&rng, 2); /* else the supervisor alone */
            rig_note(pid, 2);
            kill(group ? -pid : pid, SIGKILL);
            waitpid(pid, &status, 0);
            kills++;
            check_partial(14);
            continue;
        }
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        break;
    }
    print_message("%d kills\n", kills);
    assert_true(kills > 0);
    check_partial(14);
    assert_int_equal(got.n, 14);
    assert_false(got.torn);
    rig_expect(0, "KGYM_CACHE=none " BATCH); /* sweeps what the dead left */
    rig_says("14 kept");
    rig_nothing_left();
}

static void test_interrupted_at_any_moment_it_leaves_nothing(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM};
    int interrupts = 0;
    write_lines(14, -1);
    rig_expect(0, "rm -f out.jsonl");
    for (int round = 0; round < 40; round++) {
        pid_t pid = start_batch("--jobs 2");
        rest_ms(30 + (int64_t)kg_rng_below(&rng, 500 + 100 * (uint64_t)round));
        bool group = kg_rng_below(&rng, 2); /* as a terminal does it */
        rig_note(pid, 2);
        kill(group ? -pid : pid, signals[kg_rng_below(&rng, 2)]);
        int status = rig_finish(pid);
        if (status == 0) {
            break;
        }
        /* Before its handlers are there, a signal ends the program as any other. */
        if (status != 128 + SIGINT && status != 128 + SIGTERM) {
            if (status != 2) {
                fail_msg("exit status %d: %s", status, rig.err.data);
            }
            rig_says("kgym eval: interrupted with ");
            rig_says("the same command resumes");
        }
        interrupts++;
        check_partial(14);
        assert_false(got.torn);
        rig_nothing_left();
    }
    print_message("%d interrupts\n", interrupts);
    assert_true(interrupts > 0);
    rig_expect(0, BATCH);
    check_partial(14);
    assert_int_equal(got.n, 14);
}

static void test_one_evaluation_is_interrupted_too(void **state)
{
    (void)state;
    for (int round = 0; round < 6; round++) {
        pid_t pid = rig_start("KGYM_CACHE=none exec $K eval matmul $P/matmul.fast.c --json");
        rest_ms(100 + (int64_t)kg_rng_below(&rng, 900));
        rig_note(pid, 2);
        kill(pid, round % 2 ? SIGINT : SIGTERM);
        int status = rig_finish(pid);
        if (status == 2) {
            json_t *j = rig_json();
            assert_string_equal(rig_get(json_object_get(j, "error"), "code"), "cancelled");
            json_decref(j);
        } else if (status != 0 && status != 128 + SIGINT && status != 128 + SIGTERM) {
            fail_msg("exit status %d: %s", status, rig.err.data);
        }
        rig_nothing_left();
    }
}

static void test_an_endless_call_is_interrupted_at_once(void **state)
{
    (void)state;
    rig_text("loop.c", SILU "    for (volatile int i = 0;; i++) {\n    }\n}\n");
    pid_t pid = rig_start("exec $K eval silu loop.c --json --deadline-run 60");
    int64_t sent = 0;
    rest_ms(1500);
    rig_note(pid, 2);
    kill(pid, SIGINT);
    sent = kg_clock_ns();
    assert_int_equal(rig_finish(pid), 2);
    assert_true(kg_clock_ns() - sent < 30000000000); /* half of the call's deadline */
    rig_says("interrupted");
    rig_nothing_left();
}

/* workers */

static pid_t child_of(pid_t pid)
{
    char path[64];
    long child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "re");
    if (f) {
        if (fscanf(f, "%ld", &child) != 1) {
            child = 0;
        }
        fclose(f);
    }
    return (pid_t)child;
}

/* A candidate that keeps its worker busy for long enough to be hit. */
static void write_slow_line(void)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 16);
    add(&b, "slow", "source",
        "#include <time.h>\n" SILU
        "    struct timespec a, b;\n    clock_gettime(CLOCK_MONOTONIC, &a);\n"
        "    do {\n        clock_gettime(CLOCK_MONOTONIC, &b);\n"
        "    } while (b.tv_sec - a.tv_sec < 3);\n"
        "    for (int64_t i = 0; i < n; i++) y[i] = x[i];\n}\n");
    add(&b, "next", "reply", "nothing");
    rig_file("in.jsonl", b.data, b.len);
    kg_buf_deinit(&b);
}

static void kill_workers(pid_t pid, int times)
{
    pid_t last = 0;
    for (int i = 0; i < times; i++) {
        pid_t child = 0;
        for (int k = 0; k < 5000 && (child == 0 || child == last); k++) {
            rest_ms(2);
            child = child_of(pid);
        }
        assert_true(child > 0 && child != last);
        rest_ms(700);
        rig_note(pid, 2);
        kill(child, SIGKILL);
        last = child;
    }
}

static void test_a_lost_worker_costs_one_try(void **state)
{
    (void)state;
    write_slow_line();
    rig_expect(0, "rm -f out.jsonl");
    pid_t pid = start_batch("--jobs 1");
    kill_workers(pid, 1);
    assert_int_equal(rig_finish(pid), 0);
    read_output("out.jsonl");
    assert_int_equal(got.n, 2);
    assert_string_equal(got.verdict[0], "wrong/value");
    rig_nothing_left();
}

static void test_a_line_that_takes_two_workers_is_an_error(void **state)
{
    (void)state;
    write_slow_line();
    rig_expect(0, "rm -f out.jsonl");
    pid_t pid = start_batch("--jobs 1");
    kill_workers(pid, 2);
    assert_int_equal(rig_finish(pid), 2);
    rig_says("2 lines: 1 with a verdict (0 ok), 1 with an error");
    read_output("out.jsonl");
    assert_int_equal(got.n, 2);
    assert_string_equal(got.verdict[0], "error/");
    assert_string_equal(got.verdict[1], "no_code/no_block");
    rig_expect(0, "head -1 out.jsonl | grep -q 'the worker died twice while judging this line'");
    rig_nothing_left();
}

static void test_two_runs_do_not_write_one_file(void **state)
{
    (void)state;
    write_slow_line();
    rig_expect(0, "rm -f out.jsonl; : > stdout2");
    pid_t pid = start_batch("--jobs 1");
    for (int i = 0; i < 5000 && access("out.jsonl", F_OK) != 0; i++) {
        rest_ms(2);
    }
    rest_ms(50);
    rig_expect(2, BATCH);
    rig_says("out.jsonl: another batch is writing this file");
    kill(pid, SIGINT);
    waitpid(pid, NULL, 0);
}

/* disks */

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
    rig_expect(0, "umount disk");
    assert_int_equal(status, 2);
    assert_true(said);
    assert_true(got.n > 0 && got.n < 10 && !got.torn);
    check_lines(10);
    rig_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_come_in_input_order),
        cmocka_unit_test(test_progress_is_plain_lines_in_a_file),
        cmocka_unit_test(test_bad_lines_are_named),
        cmocka_unit_test(test_a_line_that_cannot_be_judged_is_an_error_record),
        cmocka_unit_test(test_what_resuming_keeps),
        cmocka_unit_test(test_other_peoples_files_are_left_alone),
        cmocka_unit_test(test_killed_at_any_moment_it_resumes),
        cmocka_unit_test(test_interrupted_at_any_moment_it_leaves_nothing),
        cmocka_unit_test(test_one_evaluation_is_interrupted_too),
        cmocka_unit_test(test_an_endless_call_is_interrupted_at_once),
        cmocka_unit_test(test_a_lost_worker_costs_one_try),
        cmocka_unit_test(test_a_line_that_takes_two_workers_is_an_error),
        cmocka_unit_test(test_two_runs_do_not_write_one_file),
        cmocka_unit_test(test_a_full_disk_is_said),
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
