/* `kgym bench` as a person runs it, against an endpoint that answers with known candidates: its
 * files, its messages, and that a reply which is on the disk is never asked for again, however the
 * command ended. */
#include "kgym_rig.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/rng.h"

#define BENCH                                                                                      \
    "OPENAI_API_KEY=sk-never-shown $K bench set/ --preset train --set stage.timing=false "         \
    "--no-stream --policy endpoint:http://127.0.0.1:%d/a/v1 "
#define RUN   BENCH "--samples 2 --turns 2 --out " /* 12 turns */
#define SHORT BENCH "--turns 2 --out "             /* 6 turns */

static struct server {
    pid_t pid;
    int in, port;
} server;

static void start_server(const char *seconds)
{
    int in[2], out[2];
    char line[16] = "", script[600];
    snprintf(script, sizeof script, "%s/tests/support/kernel_endpoint.py", getenv("T"));
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    server.pid = fork();
    if (server.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], 0);
        dup2(out[1], 1);
        execlp("python3", "python3", script, getenv("P"), "ledger", seconds, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    server.in = in[1];
    for (size_t n = 0; strchr(line, '\n') == NULL; n++) {
        assert_true(n + 1 < sizeof line && read(out[0], line + n, 1) == 1);
    }
    close(out[0]);
    server.port = (int)strtol(line, NULL, 10);
}

static void end_server(void)
{
    close(server.in);
    waitpid(server.pid, NULL, 0);
}

static int setup(void **state)
{
    if (rig_setup(state) != 0) {
        return -1;
    }
    start_server("0.03");
    return rig_run("mkdir set && cp $T/problems/native/silu.c $T/problems/native/transpose.c "
                   "$T/problems/native/argmax.c set");
}

static int teardown(void **state)
{
    end_server();
    rig_nothing_left();
    return rig_teardown(state);
}

static void test_a_run_from_end_to_end(void **state)
{
    (void)state;
    rig_expect(0, RUN "run --price-in 1 --price-out 10 --p 1.1", server.port);
    rig_says("12/12");
    rig_says("kept; for its page: kgym report run");
    rig_shows("correct");
    rig_shows("pass@");
    rig_expect(0, "wc -l <run/replies.jsonl; wc -l <run/records.jsonl; wc -l "
                  "<run/trajectories.jsonl");
    assert_string_equal(rig.out.data, "12\n12\n6\n");
    rig_expect(0, "cat run/summary.json");
    json_t *summary = rig_json();
    assert_string_equal(rig_get(summary, "schema"), "kgym.bench/1");
    json_decref(summary);
    rig_expect(0, "tail -1 run/trajectories.jsonl");
    json_t *talk = rig_json();
    const json_t *turns = json_object_get(talk, "turns"), *last = json_array_get(turns, 1);
    assert_string_equal(rig_get(talk, "end"), "done");
    assert_string_equal(rig_get(json_array_get(turns, 0), "verdict"), "wrong");
    assert_string_equal(rig_get(last, "verdict"), "ok");
    assert_string_equal(rig_get(json_object_get(last, "extra"), "reasoning"), "because");
    json_decref(talk);
    rig_expect(1, "grep -r sk-never-shown run");
    rig_expect(0, RUN "run --price-in 1 --price-out 10 --json", server.port); /* nothing is left */
    rig_says("12/12");
    json_decref(rig_json());
    rig_expect(0, "wc -l <ledger");
    assert_string_equal(rig.out.data, "12\n");
}

static void test_what_was_asked_for_stays(void **state)
{
    (void)state;
    rig_expect(2, RUN "run --price-in 1 --price-out 10 --temperature 0.5", server.port);
    rig_says("policy.temperature");
    rig_expect(2, RUN "run --samples 1 --price-in 1 --price-out 10", server.port);
    rig_says("`samples` 2");
    rig_expect(2, "export KGYM_LAWS=0 KGYM_NO_OPTION=1; " RUN "run --price-in 1 --price-out 10",
               server.port);
    rig_says("`gym.environment` nothing, and {\"laws\":\"0\"} is asked for");
    rig_expect(0, "export KGYM_NO_OPTION=1; " RUN "run --samples 3 --price-in 1 --price-out 10",
               server.port);
    rig_says("18/18");
    rig_expect(0, "wc -l <ledger");
    assert_string_equal(rig.out.data, "18\n");
}

/* --- ends in the middle --- */

static void read_text(const char *path, struct kg_buf *out)
{
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(out, 64u << 20);
    if (kg_file_exists(path) && kg_file_read(path, out, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
}

/* Seeds of the replies that are stored in whole lines; of each it is noted how long the ledger was
 * when it was first seen there. */
static struct {
    char seed[64][24];
    size_t ledger[64];
    int n;
} stored;

static void note_stored(const char *run)
{
    struct kg_buf replies, ledger;
    char path[64];
    snprintf(path, sizeof path, "%s/replies.jsonl", run);
    read_text(path, &replies);
    read_text("ledger", &ledger);
    for (const char *at = replies.data, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        char seed[24] = "";
        const char *text = strstr(at, "request ");
        assert_true(text != NULL && text < end && sscanf(text, "request %20s", seed) == 1);
        bool known = false;
        for (int i = 0; i < stored.n && !known; i++) {
            known = strcmp(stored.seed[i], seed) == 0;
        }
        if (!known) {
            assert_true(stored.n < 64);
            snprintf(stored.seed[stored.n], sizeof stored.seed[0], "%s", seed);
            stored.ledger[stored.n++] = ledger.len;
        }
    }
    kg_buf_deinit(&replies);
    kg_buf_deinit(&ledger);
}

/* No seed stands in the ledger behind the place where its reply was on the disk. */
static void assert_paid_once(int want)
{
    struct kg_buf ledger;
    read_text("ledger", &ledger);
    assert_int_equal(stored.n, want);
    for (int i = 0; i < stored.n; i++) {
        char line[32];
        snprintf(line, sizeof line, "%s\n", stored.seed[i]);
        assert_non_null(strstr(ledger.data, line));
        if (strstr(ledger.data + stored.ledger[i], line) != NULL) {
            fail_msg("the reply to %s was on the disk, and was asked for again", stored.seed[i]);
        }
    }
    kg_buf_deinit(&ledger);
    stored.n = 0;
}

static void test_killed_at_any_moment_it_goes_on(void **state)
{
    (void)state;
    struct kg_rng rng;
    const uint64_t seed = (uint64_t)kg_clock_ns();
    char command[600];
    int kills = 0;
    print_message("seed %llu\n", (unsigned long long)seed);
    kg_rng_init(&rng, (struct kg_key){{seed, 1}}, 0);
    snprintf(command, sizeof command, "exec env " RUN "killed --parallel 2", server.port);
    for (int i = 0; i < 6; i++) {
        pid_t pid = rig_start(command);
        usleep((useconds_t)(kg_rng_below(&rng, 600) * 1000));
        kills += kill(pid, SIGKILL) == 0;
        rig_finish(pid);
        note_stored("killed");
    }
    kg_rng_deinit(&rng);
    rig_expect(0, RUN "killed --parallel 2", server.port);
    rig_says("12/12");
    note_stored("killed");
    assert_paid_once(12);
    assert_true(kills > 0);
    rig_expect(0, "sort -u killed/replies.jsonl | wc -l; wc -l <killed/replies.jsonl");
    assert_string_equal(rig.out.data, "12\n12\n");
}

static void await_replies(const char *run, int n)
{
    for (int i = 0; i < 3000 && stored.n < n; i++) {
        note_stored(run);
        usleep(10000);
    }
    assert_true(stored.n >= n);
}

static void test_an_interrupt_keeps_all(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "exec env " SHORT "stopped --parallel 1", server.port);
    pid_t pid = rig_start(command);
    await_replies("stopped", 2);
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(rig_finish(pid), 2);
    rig_says("interrupted");
    rig_says("the same command goes on with stopped");
    note_stored("stopped");
    rig_expect(0, SHORT "stopped --parallel 1", server.port);
    note_stored("stopped");
    assert_paid_once(6);
}

static void test_two_commands_on_one_folder(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "exec env " SHORT "two --parallel 1", server.port);
    pid_t pid = rig_start(command);
    await_replies("two", 1);
    struct kg_buf said;
    snprintf(command, sizeof command, SHORT "two 2>second", server.port);
    assert_int_equal(system(command), 2 << 8);
    read_text("second", &said);
    assert_non_null(strstr(said.data, "two: another process"));
    kg_buf_deinit(&said);
    assert_int_equal(rig_finish(pid), 0);
    note_stored("two");
    assert_paid_once(6);
}

/* The command's own files may not grow any more; its gym has no such limit. Three replies leave
 * room for what it writes to its standard error, a file here, too. */
static void test_a_full_disk_is_named_and_nothing_is_lost(void **state)
{
    (void)state;
    char command[600];
    struct stat st;
    snprintf(command, sizeof command, "exec env " SHORT "full --parallel 1", server.port);
    pid_t pid = rig_start(command);
    await_replies("full", 3);
    assert_int_equal(stat("full/replies.jsonl", &st), 0);
    const struct rlimit limit = {(rlim_t)st.st_size + 100, (rlim_t)st.st_size + 100};
    assert_int_equal(prlimit(pid, RLIMIT_FSIZE, &limit, NULL), 0);
    assert_int_equal(rig_finish(pid), 2);
    rig_says("kgym bench: full/");
    rig_says("File too large");
    rig_says("the same command goes on with full");
    note_stored("full");
    rig_expect(0, SHORT "full --parallel 1", server.port);
    note_stored("full");
    assert_paid_once(6);
}

/* --- what can be wrong --- */

static void test_an_endpoint_that_is_down(void **state)
{
    (void)state;
    rig_expect(2, "$K bench set/ --policy endpoint:http://127.0.0.1:1/v1 --model m "
                  "--retry-seconds 0.2 --out down");
    rig_says("127.0.0.1:1");
    rig_says("the same command goes on with down");
    rig_expect(2,
               "$K bench set/ --policy endpoint:http://127.0.0.1:%d/other/v1 --model kernels "
               "--preset train --set stage.timing=false --no-stream --parallel 1 --samples 2 --out "
               "changes",
               server.port);
    rig_says("`kernels`");
    rig_says("`kernels-2`");
}

/* Their result files name a problem by their own hash, so run.json keeps it. */
static void test_a_run_keeps_kernelbenchs_hash(void **state)
{
    (void)state;
    rig_expect(0,
               "mkdir -p kb/level1 && cp $T/problems/torch/level1/27_relu.py kb/level1/3_relu.py");
    rig_expect(2, "$K bench kb/level1 --policy endpoint:http://127.0.0.1:1/v1 --model m "
                  "--retry-seconds 0.2 --out theirs");
    rig_expect(0, "grep -E '\"3_relu\": ?\"[0-9a-f]{32}\"' theirs/run.json");
    /* a run of an earlier version, without it, goes on */
    rig_expect(0, "python3 -c 'import json; r = json.load(open(\"theirs/run.json\")); "
                  "del r[\"suite\"][\"kernelbench_hashes\"]; "
                  "json.dump(r, open(\"theirs/run.json\", \"w\"))'");
    rig_expect(2, "$K bench kb/level1 --policy endpoint:http://127.0.0.1:1/v1 --model m "
                  "--retry-seconds 0.2 --out theirs");
    rig_says("127.0.0.1:1");
}

/* The fourth is refused while three are under way, and these are kept. */
static void test_a_refusal_loses_no_other_reply(void **state)
{
    (void)state;
    end_server();
    start_server("0.03"); /* it counts from its start */
    rig_expect(2,
               "$K bench set/ --policy endpoint:http://127.0.0.1:%d/refuses/v1 --model kernels "
               "--preset train --set stage.timing=false --no-stream --parallel 6 --samples 2 --out "
               "refused",
               server.port);
    rig_says("no such key");
    rig_says("3 replies are kept");
    rig_expect(0, "test $(wc -l <refused/replies.jsonl) = 3");
}

/* Two asks that get no reply at all: the reason is what the command ends with. */
static void test_an_endpoint_that_never_replies(void **state)
{
    (void)state;
    static const struct {
        const char *path, *why;
    } kind[] = {{"html", "no reply came: http://127.0.0.1"},
                {"small", "no room for a first message: http://127.0.0.1"}};
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        rig_expect(2,
                   "$K bench set/silu.c --preset train --no-stream --samples 2 --retry-seconds 1 "
                   "--policy endpoint:http://127.0.0.1:%d/%s/v1 --out %s",
                   server.port, kind[i].path, kind[i].path);
        rig_says(kind[i].why);
        rig_says("0 replies are kept");
        rig_expect(2, "ls %s/summary.json", kind[i].path);
    }
}

static void test_defective_problems_are_left_out(void **state)
{
    (void)state;
    rig_expect(0, "mkdir mixed && cp $T/problems/native/silu.c mixed && "
                  "echo 'int nothing;' >mixed/broken.c");
    rig_run("$K bench mixed/ --preset train --set stage.timing=false --no-stream --policy "
            "endpoint:http://127.0.0.1:%d/a/v1 --out left",
            server.port);
    rig_says("left out: ");
    rig_says("broken.c");
    rig_says("1/1");
}

static void test_a_budget_and_wrong_words(void **state)
{
    (void)state;
    rig_expect(1, SHORT "cheap --parallel 1 --max-tokens-total 3000", server.port);
    rig_says("the budget is used up: 3000 tokens (--max-tokens-total)");
    rig_expect(0, SHORT "cheap --parallel 1", server.port);
    rig_says("6/6");
    rig_expect(0, SHORT "exact --parallel 1 --max-tokens-total 6600", server.port);
    rig_expect(2, "$K bench --policy scripted --out x");
    rig_says("name a suite");
    rig_expect(2, "$K bench softmx --policy scripted --out x");
    rig_says("did you mean 'softmax'?");
    rig_expect(2, "$K bench native --out x");
    rig_says("--policy is missing");
    rig_expect(2, "$K bench native --policy scripted");
    rig_says("--out RUN is missing");
    rig_expect(2, "$K bench native --policy scripted --out x --rewards nonsense");
    rig_says("unknown reward preset `nonsense`");
    rig_expect(2, "ls x");
    rig_expect(2, "$K bench native --policy scripted --out ''");
    rig_says("--out RUN is missing");
    rig_expect(2, "$K bench native --policy scripted --out x --samples 0");
    rig_says("--samples 0: a whole number from 1 to 1048576 is needed");
    rig_expect(2, "$K bench native --policy scripted --out x --sample 3");
    rig_says("did you mean `--samples`?");
    rig_expect(2, SHORT "set", server.port);
    rig_says("set: not the folder of a run");
    rig_expect(2, "$K bench native --policy scripted --out x --turns 0");
    rig_says("--turns 0: a whole number from 1 to 1000");
    rig_expect(0, "$K bench --help");
    rig_shows("examples:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_from_end_to_end),
        cmocka_unit_test(test_what_was_asked_for_stays),
        cmocka_unit_test(test_killed_at_any_moment_it_goes_on),
        cmocka_unit_test(test_an_interrupt_keeps_all),
        cmocka_unit_test(test_two_commands_on_one_folder),
        cmocka_unit_test(test_a_full_disk_is_named_and_nothing_is_lost),
        cmocka_unit_test(test_an_endpoint_that_is_down),
        cmocka_unit_test(test_a_run_keeps_kernelbenchs_hash),
        cmocka_unit_test(test_a_refusal_loses_no_other_reply),
        cmocka_unit_test(test_an_endpoint_that_never_replies),
        cmocka_unit_test(test_defective_problems_are_left_out),
        cmocka_unit_test(test_a_budget_and_wrong_words),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
