/* `kgym submit` and `kgym eval --gym` beside `kgym eval`: the same words, output, exit status and
 * records. A command that is killed goes on without judging twice, a service that is killed is
 * waited for, and an interrupted command leaves the queue clean. One service runs for all tests. */
#include "kgym_rig.h"

#include "tests/support/svc_rig.h"

static void serve(const char *options)
{
    char url[64];
    setenv("KGYM_BUILD", getenv("KGYM_HOME"), 1);
    svc_start(options);
    unsetenv("KGYM_BUILD");
    snprintf(url, sizeof url, "http://127.0.0.1:%d", svc_port);
    setenv("U", url, 1);
    setenv("KGYM_URL", url, 1);
}

static int start(void **state)
{
    if (svc_setup(state) != 0 || rig_setup(state) != 0) {
        return -1;
    }
    serve("--jobs 2 --term 5");
    return 0;
}

static int stop(void **state)
{
    return rig_teardown(state) != 0 || svc_teardown(state) != 0;
}

static int64_t jobs(const char *state)
{
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    int64_t n = json_integer_value(json_object_get(json_object_get(j, "jobs"), state));
    json_decref(j);
    return n;
}

static int64_t all_jobs(void)
{
    return jobs("waiting") + jobs("running") + jobs("done") + jobs("cancelled") + jobs("dead");
}

/* What two judgements of the same must have in common. */
static void expect_equal(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"schema",  "batch_id",  "input_sha256", "problem", "verdict",
                                       "reason",  "candidate", "error",        "stage",   "league",
                                       "rewards", "config",    "replay"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i]))) {
            char *x = json_dumps(json_object_get(a, keys[i]), JSON_ENCODE_ANY);
            char *y = json_dumps(json_object_get(b, keys[i]), JSON_ENCODE_ANY);
            fail_msg("%s: %.400s | %.400s", keys[i], x, y);
        }
    }
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)a, key, v)
    {
        assert_non_null(json_object_get(b, key));
    }
}

static void test_the_same_record_and_status(void **state)
{
    static const char *const words[] = {
        "silu $P/silu.fast.c --no-stage-timing --json --rewards binary,kevin",
        "silu $P/silu.wrong.c --no-stage-timing --json --replay first",
        "$T/problems/native/silu.c $P/silu.fast.c --stop-after tiny --json",
        "silu reply.md --no-stage-timing --json --preset train",
    };
    (void)state;
    rig_text("reply.md", "no code\n");
    rig_expect(1, "$K eval silu $P/silu.wrong.c --no-stage-timing --json >first");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int status = rig_run("$K eval %s", words[i]);
        json_t *here = rig_json();
        assert_int_equal(rig_run("$K submit %s", words[i]), status);
        json_t *there = rig_json();
        if (strstr(words[i], ".c $P") != NULL) { /* a file that is sent along is in no suite */
            json_object_del(json_object_get(here, "problem"), "suite");
            json_object_del(json_object_get(there, "problem"), "suite");
        }
        expect_equal(here, there);
        json_decref(there);
        json_decref(here);
    }
    rig_expect(2, "$K submit nosuch $P/silu.fast.c");
    rig_says("no problem 'nosuch' in the suites");
    rig_expect(0, "$K eval --gym $U silu $P/silu.fast.c --no-stage-timing");
    rig_shows("OK");
    rig_expect(2, "$K submit silu $P/silu.fast.c --device cpu");
    rig_says("kgym submit: device: a service lets no client set this");
    rig_expect(2, "$K submit silu $P/silu.fast.c --trace t");
    rig_expect(2, "$K submit silu $P/silu.fast.c --url http://127.0.0.1:9");
    rig_says("http://127.0.0.1:9: no service answers there");
    rig_expect(2, "$K eval silu $P/silu.fast.c --token-file t");
    rig_expect(2, "$K submit silu $P/silu.fast.c --token-file nosuch");
    rig_expect(0, "$K submit --help");
    rig_shows("--url URL");
}

/* --- batches --- */

static void write_batch(const char *name, int n)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    for (int i = 0; i < n; i++) {
        kg_buf_addf(&b, "{\"id\": \"%s%d\", \"problem\": \"%s\", ", name, i,
                    i % 3 == 0 ? "silu" : "softmax");
        kg_buf_addf(&b, i % 4 == 0 ? "\"reply\": \"none %d\"}\n" : "\"source\": \"int x%d;\"}\n",
                    i);
    }
    rig_file(name, b.data, b.len);
    kg_buf_deinit(&b);
}

/* The records of a file, each on its line, with the ids of the batch in order. */
static json_t *read_records(const char *path, const char *name)
{
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    json_t *list = json_array();
    char id[64];
    kg_buf_init(&text, 64u << 20);
    assert_int_equal(kg_file_read(path, &text, &err), KG_OK);
    for (char *at = text.data, *nl; (nl = strchr(at, '\n')) != NULL; at = nl + 1) {
        json_t *j = NULL;
        assert_int_equal(kg_json_parse(at, (size_t)(nl - at), path, &j, &err), KG_OK);
        snprintf(id, sizeof id, "%s%zu", name, json_array_size(list));
        assert_string_equal(rig_get(j, "batch_id"), id);
        json_array_append_new(list, j);
    }
    kg_buf_deinit(&text);
    return list;
}

static void expect_records(const char *path, const char *name, size_t n)
{
    json_t *list = read_records(path, name);
    assert_int_equal(json_array_size(list), n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(rig_get(json_array_get(list, i), "verdict"),
                            i % 4 == 0 ? "no_code" : "rejected");
    }
    json_decref(list);
}

static void test_a_batch_has_the_same_records(void **state)
{
    enum { N = 12 };
    (void)state;
    write_batch("a", N);
    rig_expect(0, "$K eval --batch a --out here --jobs 2");
    rig_expect(0, "$K submit --batch a --out there --jobs 3");
    rig_says("12 lines: 12 with a verdict");
    assert_int_not_equal(access("there.run", F_OK), 0);
    json_t *here = read_records("here", "a"), *there = read_records("there", "a");
    assert_int_equal(json_array_size(there), N);
    for (size_t i = 0; i < N; i++) {
        expect_equal(json_array_get(here, i), json_array_get(there, i));
    }
    json_decref(there);
    json_decref(here);
    int64_t before = all_jobs();
    rig_expect(0, "$K submit --batch a --out there");
    rig_says("12 kept from an earlier run");
    rig_expect(0, "$K eval --batch a --out there");
    rig_says("12 kept from an earlier run");
    assert_int_equal(all_jobs(), before);
}

static int64_t lines_of(const char *path)
{
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    int64_t n = 0;
    kg_buf_init(&text, 64u << 20);
    if (kg_file_read(path, &text, &err) == KG_OK) {
        for (size_t i = 0; i < text.len; i++) {
            n += text.data[i] == '\n';
        }
    }
    kg_buf_deinit(&text);
    return n;
}

/* The command's own process, killed once the output has a line, or jobs were accepted. */
static void kill_early(const char *name, int64_t before, int sig)
{
    char command[200];
    snprintf(command, sizeof command, "exec $K submit --batch %s --out %s.out", name, name);
    pid_t pid = rig_start(command);
    for (int i = 0; i < 3000 && all_jobs() <= before + 2; i++) {
        usleep(2000);
    }
    assert_int_equal(kill(pid, sig), 0);
    rig_finish(pid);
    assert_int_equal(rig.status, sig == SIGKILL ? 128 + SIGKILL : 2);
}

static void test_a_command_that_is_killed_goes_on(void **state)
{
    enum { N = 60 };
    (void)state;
    int64_t before = all_jobs();
    write_batch("k", N);
    kill_early("k", before, SIGKILL);
    assert_true(lines_of("k.out") < N);
    assert_int_equal(access("k.out.run", F_OK), 0);
    rig_expect(0, "$K submit --batch k --out k.out");
    expect_records("k.out", "k", N);
    assert_int_equal(all_jobs(), before + N); /* nothing was judged twice */
    assert_int_not_equal(access("k.out.run", F_OK), 0);
}

static void test_a_service_that_is_killed_is_waited_for(void **state)
{
    enum { N = 40 };
    (void)state;
    int64_t before = all_jobs();
    write_batch("s", N);
    pid_t pid = rig_start("exec $K submit --batch s --out s.out");
    for (int i = 0; i < 3000 && all_jobs() <= before + 2; i++) {
        usleep(2000);
    }
    svc_end(SIGKILL);
    serve("--jobs 2 --term 5");
    assert_int_equal(rig_finish(pid), 0);
    expect_records("s.out", "s", N);
    assert_int_equal(all_jobs(), before + N);
}

static void test_an_interrupt_leaves_the_queue_clean(void **state)
{
    enum { N = 50 };
    (void)state;
    svc_end(SIGTERM);
    serve("--no-work");
    int64_t before = all_jobs();
    write_batch("i", N);
    kill_early("i", before, SIGINT);
    rig_says("the others cancelled at the service; the same command resumes");
    assert_int_equal(jobs("waiting"), 0);
    svc_end(SIGTERM);
    serve("--jobs 2 --term 5");
    rig_expect(0, "$K submit --batch i --out i.out");
    expect_records("i.out", "i", N);
}

static void test_a_file_that_is_not_its_own_stays(void **state)
{
    (void)state;
    write_batch("f", 2);
    rig_text("f.out.run", "mine\n");
    rig_expect(2, "$K submit --batch f --out f.out");
    rig_says("f.out.run: this file is not a batch's");
    rig_expect(0, "grep -q mine f.out.run");
}

/* The rehearsal of a training run, judged there. */
static void test_a_training_run_asks_a_service(void **state)
{
    (void)state;
    int64_t before = all_jobs();
    rig_run("$K train $T/configs/demo.yaml --dry-run --gym $U --set gym.stage.timing=no "
            "--set reward=binary --set prs=off");
    rig_shows("correct  12 of 12 as expected");
    rig_shows("wrong    3 of 3 as expected");
    assert_true(all_jobs() > before); /* alike replies share one */
    rig_expect(2, "$K train $T/configs/demo.yaml --dry-run --gym http://127.0.0.1:9");
    rig_says("no service answers there");
}

/* What a kill may leave: replies whose records never came. The jobs are there. */
static void test_a_trial_finds_its_jobs_again(void **state)
{
    static const char *const command[] = {
        "$K bench silu --samples 2 --policy scripted --gym $U --out bench",
        "$K refine silu --turns 2 --policy scripted --gym $U --out refine"};
    (void)state;
    for (size_t i = 0; i < sizeof command / sizeof *command; i++) {
        int64_t before = all_jobs();
        rig_run("%s", command[i]);
        int64_t after = all_jobs();
        assert_true(after > before);
        rig_expect(0, "for f in bench refine; do test ! -d $f || : >$f/records.jsonl; done");
        rig_run("%s", command[i]);
        assert_int_equal(all_jobs(), after);
        rig_expect(0, "for f in bench refine; do test ! -d $f || test -s $f/records.jsonl; done");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_record_and_status),
        cmocka_unit_test(test_a_batch_has_the_same_records),
        cmocka_unit_test(test_a_command_that_is_killed_goes_on),
        cmocka_unit_test(test_a_service_that_is_killed_is_waited_for),
        cmocka_unit_test(test_an_interrupt_leaves_the_queue_clean),
        cmocka_unit_test(test_a_file_that_is_not_its_own_stays),
        cmocka_unit_test(test_a_training_run_asks_a_service),
        cmocka_unit_test(test_a_trial_finds_its_jobs_again),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
