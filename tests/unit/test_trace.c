/* Spans: what a file of them holds, by unit and by command. */
#include <math.h>

#include "base/trace.h"
#include "tests/unit/kgym_rig.h"

/* Line n of the file, 0 the first span; NULL: there is none. New reference. */
static json_t *span(const char *path, size_t n)
{
    FILE *f = fopen(path, "r");
    char line[512];
    json_t *found = NULL;
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "[\n");
    for (size_t i = 0; i <= n && fgets(line, sizeof line, f) != NULL; i++) {
        size_t len = strlen(line);
        assert_true(len > 2 && strcmp(line + len - 2, ",\n") == 0);
        if (i == n) {
            found = json_loadb(line, len - 2, 0, NULL);
            assert_non_null(found);
        }
    }
    fclose(f);
    return found;
}

static const char *word(const json_t *s, const char *key)
{
    return json_string_value(json_object_get(s, key));
}

static double number(const json_t *s, const char *key)
{
    return json_number_value(json_object_get(s, key));
}

static void nothing_without_a_file(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    kg_trace_span(kg_clock_ns(), "no", "file");
    assert_int_equal(kg_trace_to("/nonexistent/trace", &err), KG_E_IO);
    assert_non_null(strstr(err.message, "/nonexistent/trace: cannot write"));
    kg_trace_span(kg_clock_ns(), "no", "file");
    assert_int_equal(access("/nonexistent/trace", F_OK), -1);
}

static void every_process_adds_its_own(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    int64_t begun = kg_clock_ns() - 5000000;
    assert_int_equal(kg_trace_to("trace", &err), KG_OK);
    kg_trace_span(begun, "a", "first");
    pid_t pid = fork();
    if (pid == 0) {
        close_range(3, ~0u, 0); /* as workers do, who are elsewhere, too */
        _exit(chdir("/") != 0 ? 1 : (kg_trace_span(begun, "b", "second"), 0));
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    kg_trace_span(begun, "a", "third");
    static const char *const names[] = {"first", "second", "third"};
    for (size_t i = 0; i < 3; i++) {
        json_t *s = span("trace", i);
        assert_string_equal(word(s, "name"), names[i]);
        assert_string_equal(word(s, "cat"), i == 1 ? "b" : "a");
        assert_string_equal(word(s, "ph"), "X");
        assert_true(number(s, "dur") >= 5000 && number(s, "dur") < 60e6);
        assert_true(fabs(number(s, "ts") * 1e3 - (double)begun) < 1e3);
        assert_int_equal((pid_t)number(s, "pid"), i == 1 ? pid : getpid());
        json_decref(s);
    }
    assert_null(span("trace", 3));
    assert_int_equal(kg_trace_to("trace", &err), KG_OK); /* made anew */
    assert_null(span("trace", 0));
}

static void a_batch_and_its_sums(void **state)
{
    (void)state;
    rig_text("in.jsonl",
             "{\"id\": \"a\", \"problem\": \"silu\", \"source\": \"void silu() {}\"}\n"
             "{\"id\": \"b\", \"problem\": \"softmax\", \"source\": \"int softmax;\"}\n");
    assert_int_equal(rig_run("$K eval --batch in.jsonl --out out.jsonl --jobs 2 --no-stage-timing "
                             "--trace spans"),
                     0);
    json_t *first = span("spans", 0);
    assert_string_equal(word(first, "cat"), "stage");
    json_decref(first);
    rig_text("bad", "[\n{\"name\": 1}\n");
    if (rig_run("command -v python3") == 0) {
        assert_int_equal(rig_run("python3 $T/tools/trace.py spans"), 0);
        assert_non_null(strstr(rig.out.data, "stage compile                       2 "));
        assert_int_equal(rig_run("python3 $T/tools/trace.py bad"), 1);
        assert_non_null(strstr(rig.err.data, "bad:2: no span"));
        assert_int_equal(rig_run("python3 $T/tools/trace.py nowhere"), 1);
        assert_non_null(strstr(rig.err.data, "nowhere: cannot read"));
    }
    assert_int_equal(rig_run("$K eval silu $P/silu.fast.c --trace /nonexistent/spans"), 2);
    assert_non_null(strstr(rig.err.data, "/nonexistent/spans: cannot write"));
}

struct made_up {
    const char *cat, *name;
    int from, to, pid;
};

static void write_spans(const char *path, const struct made_up *span, size_t n)
{
    struct kg_buf text;
    kg_buf_init(&text, 1 << 16);
    kg_buf_addf(&text, "[\n");
    for (size_t i = 0; i < n; i++) {
        kg_buf_addf(&text, "{\"cat\":\"%s\",\"name\":\"%s\",\"ts\":%d,\"dur\":%d,\"pid\":%d},\n",
                    span[i].cat, span[i].name, 5000000 + span[i].from * 1000000,
                    (span[i].to - span[i].from) * 1000000, span[i].pid);
    }
    rig_text(path, text.data);
    kg_buf_deinit(&text);
}

static void need_python(void)
{
    if (rig_run("command -v python3") != 0) {
        printf("skip: python3 is missing, which sums up a trace\n");
        skip();
    }
}

/* What a device was for, of spans that overlap: 100 s, of them 40 timed, 30 more contexts made, 10
 * more ended, and 5 more a reference described. */
static void what_a_device_was_for(void **state)
{
    (void)state;
    static const struct made_up spans[] = {
        {"stage", "timing", 0, 50, 1},       {"alone", "wait", 0, 20, 1},
        {"alone", "pairs", 20, 50, 1},       {"alone", "pairs", 60, 70, 1},
        {"runner", "boot", 0, 30, 1},        {"runner", "boot", 10, 25, 1},
        {"runner", "boot", 80, 90, 1},       {"runner", "end", 85, 100, 1},
        {"stage", "timing", 55, 100, 1},     {"stage", "compile", 0, 100, 1},
        {"reference", "describe", 40, 55, 1}};
    write_spans("device", spans, sizeof spans / sizeof *spans);
    need_python();
    assert_int_equal(rig_run("python3 $T/tools/trace.py device"), 0);
    assert_non_null(strstr(rig.out.data,
                           "0.02 timed evaluations per second; the device: timed 40.0%, "
                           "contexts made 30.0%, ended 10.0%, "
                           "references set up 5.0%, neither 15.0%\n"));
    assert_int_equal(rig_run("python3 $T/tools/trace.py --from 40 --to 60 device"), 0);
    assert_non_null(strstr(rig.out.data,
                           "0.05 timed evaluations per second; the device: timed 50.0%, "
                           "contexts made 0.0%, ended 0.0%, "
                           "references set up 25.0%, neither 25.0%\n"));
    assert_null(strstr(rig.out.data, "stage compile"));
}

/* Each moment of each worker once, for the first thing that it is part of: 2 of 10 s each. */
static void what_workers_did(void **state)
{
    (void)state;
    static const struct made_up spans[] = {
        {"stage", "compile", 0, 3, 1},    {"runner", "wait to boot", 0, 1, 1},
        {"runner", "boot", 1, 2, 1},      {"stage", "timing", 3, 6, 1},
        {"judge:", "call", 3, 5, 1},      {"runner", "build", 4, 5, 1},
        {"alone", "pairs", 5, 6, 1},      {"judge, alone:", "call", 5, 6, 1},
        {"judge:", "compare", 6, 7, 1},   {"stage", "tiny", 5, 10, 2},
        {"reference", "build", 9, 10, 2}, {"runner", "boot", 0, 5, 3}}; /* 3: of no worker's */
    write_spans("work", spans, sizeof spans / sizeof *spans);
    need_python();
    assert_int_equal(rig_run("python3 $T/tools/trace.py work"), 0);
    assert_non_null(strstr(
        rig.out.data, "2 workers: waiting 5.0%, context 5.0%, reference 5.0%, build 5.0%, "
                      "timing 5.0%, run 5.0%, check 5.0%, rest of stages 25.0%, idle 40.0%\n"));
    assert_int_equal(rig_run("python3 $T/tools/trace.py --json work"), 0);
    json_t *uses = json_loads(rig.out.data, 0, NULL);
    assert_true(fabs(number(json_object_get(uses, "work"), "build") - 0.05) < 1e-9);
    assert_true(fabs(number(json_object_get(uses, "device"), "contexts made") - 0.5) < 1e-9);
    json_decref(uses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_without_a_file), cmocka_unit_test(every_process_adds_its_own),
        cmocka_unit_test(a_batch_and_its_sums),   cmocka_unit_test(what_a_device_was_for),
        cmocka_unit_test(what_workers_did),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
