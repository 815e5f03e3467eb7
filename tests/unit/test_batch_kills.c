/* Batches that are killed, interrupted or lose their workers at random moments. The seed is
 * printed. */
#include "batch_rig.h"

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
        rest_ms(50 + (int64_t)kg_rng_below(&rng, 100 + 100 * (uint64_t)round));
        int status;
        if (waitpid(pid, &status, WNOHANG) == 0) {
            bool group = kg_rng_below(&rng, 2); /* else the supervisor alone */
            rig_note(pid, 3);
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

/* An endless first line, and three that are judged meanwhile. */
static void write_waiting(const char *body)
{
    struct kg_buf b;
    char text[400], id[16];
    kg_buf_init(&b, 1 << 16);
    snprintf(text, sizeof text, SILU "%s}\n", body);
    add(&b, "line-0", "source", text);
    for (int i = 1; i < 4; i++) {
        snprintf(id, sizeof id, "line-%d", i);
        add(&b, id, "reply", "nothing");
    }
    rig_file("in.jsonl", b.data, b.len);
    kg_buf_deinit(&b);
}

static void await(const char *command)
{
    for (int i = 0; rig_run("%s", command) != 0; i++) {
        assert_true(i < 600);
        rest_ms(50);
    }
}

static void killed_with_three_waiting(int sig)
{
    write_waiting("    for (volatile int i = 0;; i++) {\n    }\n");
    rig_expect(0, "rm -f out.jsonl*");
    pid_t pid = start_batch("--jobs 2 --deadline-run 60");
    await("test \"$(wc -l < out.jsonl.ahead)\" = 3");
    rig_note(pid, 3);
    if (sig == SIGKILL) {
        int status;
        kill(-pid, sig);
        waitpid(pid, &status, 0);
    } else {
        kill(pid, sig);
        assert_int_equal(rig_finish(pid), 2);
    }
    rig_expect(0, "test ! -s out.jsonl");
}

static void test_what_waits_is_not_lost(void **state)
{
    (void)state;
    char record[3][32];
    killed_with_three_waiting(SIGKILL);
    read_output("out.jsonl.ahead");
    assert_int_equal(got.n, 3);
    memcpy(record, got.record, sizeof record);
    rig_expect(0, "cp out.jsonl.ahead ahead; printf '{\"schema\":\"kgym' >> out.jsonl.ahead");
    pid_t pid = start_batch("--jobs 1 --deadline-run 60"); /* killed again: they still wait */
    await("cmp ahead out.jsonl.ahead");
    rig_note(pid, 3);
    kill(pid, SIGKILL);
    waitpid(pid, &(int){0}, 0);
    rig_expect(0, "cmp ahead out.jsonl.ahead");
    write_waiting("    for (int64_t i = 0; i < n; i++) y[i] = x[i];\n");
    rig_expect(0, BATCH " --deadline-run 60");
    rig_says("3 kept");
    read_output("out.jsonl");
    assert_int_equal(got.n, 4);
    assert_string_equal(got.id[0], "line-0");
    assert_string_equal(got.verdict[0], "wrong/value");
    for (int i = 1; i < 4; i++) {
        char id[16];
        snprintf(id, sizeof id, "line-%d", i);
        assert_string_equal(got.id[i], id);
        assert_string_equal(got.record[i], record[i - 1]);
    }
    rig_expect(0, "test ! -e out.jsonl.ahead");
    killed_with_three_waiting(SIGINT);
    write_waiting("    for (int64_t i = 0; i < n; i++) y[i] = x[i];\n");
    rig_expect(0, "rm out.jsonl; " BATCH " --deadline-run 60"); /* begun anew */
    rig_says("0 kept");
    rig_expect(0, "test ! -e out.jsonl.ahead");
    rig_nothing_left();
}

static void test_another_file_beside_the_output(void **state)
{
    (void)state;
    write_waiting("");
    rig_text("out.jsonl.ahead", "dear diary\n");
    rig_expect(2, "rm -f out.jsonl; " BATCH);
    rig_says("out.jsonl.ahead: this file is not a batch's output");
    rig_expect(0, "grep -q diary out.jsonl.ahead; rm out.jsonl.ahead");
    rig_expect(2, "mkdir out.jsonl.ahead; " BATCH);
    rig_says("out.jsonl.ahead: ");
    rig_expect(0, "rmdir out.jsonl.ahead");
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
        rest_ms(30 + (int64_t)kg_rng_below(&rng, 100 + 100 * (uint64_t)round));
        bool group = kg_rng_below(&rng, 2); /* as a terminal does it */
        rig_note(pid, 3);
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
        rig_note(pid, 3);
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
    rig_note(pid, 3);
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
            pid_t supervisor = child_of(pid);
            child = supervisor > 0 ? child_of(supervisor) : 0;
        }
        assert_true(child > 0 && child != last);
        rest_ms(700);
        rig_note(pid, 3);
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
    rig_expect(0, "head -1 out.jsonl | grep -q 'the worker died twice while judging this task'");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_at_any_moment_it_resumes),
        cmocka_unit_test(test_what_waits_is_not_lost),
        cmocka_unit_test(test_another_file_beside_the_output),
        cmocka_unit_test(test_interrupted_at_any_moment_it_leaves_nothing),
        cmocka_unit_test(test_one_evaluation_is_interrupted_too),
        cmocka_unit_test(test_an_endless_call_is_interrupted_at_once),
        cmocka_unit_test(test_a_lost_worker_costs_one_try),
        cmocka_unit_test(test_a_line_that_takes_two_workers_is_an_error),
        cmocka_unit_test(test_two_runs_do_not_write_one_file),
    };
    return cmocka_run_group_tests(tests, batch_setup, rig_teardown);
}
