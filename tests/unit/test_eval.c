/* The pipeline end to end: every problem of the suite with its honest and its wrong candidate, and
 * the record that comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "gym/batch/batch.h"
#include "gym/eval/evaluate.h"
#include "gym/eval/paths.h"
#include "gym/eval/worker.h"
#include "gym/problem/problem.h"
#include "gym/timing/lease.h"
#include "gym/timing/least_k.h"
#include "gym/timing/pairs.h"
#include "sanitized.h"

static struct kg_worker *worker;
static struct kg_config config;

static int open_worker(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    int cpu = -1;
    char home[512];
    snprintf(home, sizeof home, "%s", getenv("KGYM_BUILD"));
    setenv("KGYM_HOME", home, 1);
    kg_opts_defaults(kg_config_options(), &config);
    snprintf(config.cache, sizeof config.cache, "%s/test-cache", home);
    snprintf(config.rewards, sizeof config.rewards, "dr-kernel,binary");
    kg_worker_cores(&cpu, 1);
    if (kg_worker_open(&config, cpu, NULL, &worker, &err) != KG_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    return 0;
}

static int close_worker(void **state)
{
    (void)state;
    kg_worker_close(worker);
    return 0;
}

static void judge_text(const char *problem, const char *text, size_t len, bool source,
                       enum kg_stage stop, struct kg_record *r)
{
    struct kg_task t = {
        .problem = problem, .text = text, .len = len, .source = source, .stop_after = stop};
    kg_record_init(r);
    kg_eval(worker, &t, r);
    if (r->has_error) {
        print_message("%s: error: %s\n", problem, r->error.message);
    }
}

static void judge_file(const char *problem, const char *kind, enum kg_stage stop,
                       struct kg_record *r)
{
    char path[600];
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/problems/candidates/%s.%s.c", getenv("KGYM_TREE"), problem,
             kind);
    kg_buf_init(&text, 1 << 20);
    assert_int_equal(kg_file_read(path, &text, &err), KG_OK);
    judge_text(problem, text.data, text.len, true, stop, r);
    kg_buf_deinit(&text);
}

/* Names of the suite's problems. */
static size_t names(char out[64][64])
{
    struct kg_paths paths;
    struct kg_err err = KG_ERR_INIT;
    char **path;
    size_t n;
    assert_int_equal(kg_paths_find("", &paths, &err), KG_OK);
    assert_int_equal(kg_problem_list(paths.suites, paths.nsuites, &path, &n, &err), KG_OK);
    for (size_t i = 0; i < n; i++) {
        const char *base = strrchr(path[i], '/') + 1;
        snprintf(out[i], 64, "%.*s", (int)(strlen(base) - 2), base);
        free(path[i]);
    }
    free(path);
    return n;
}

static void test_every_honest_candidate_is_ok(void **state)
{
    (void)state;
    char name[64][64];
    size_t n = names(name);
    assert_true(n >= 16);
    for (size_t i = 0; i < n; i++) {
        struct kg_record r;
        judge_file(name[i], "fast", KG_ST_FULL, &r);
        if (r.verdict != KG_V_OK) {
            fail_msg("%s.fast: %s/%s: %s", name[i], r.verdict ? kg_verdict_name(r.verdict) : "none",
                     r.reason ? r.reason : "-", r.message ? r.message : r.error.message);
        }
        assert_int_equal(r.compiled, 1);
        assert_int_equal(r.correct, 1);
        kg_record_deinit(&r);
    }
}

static void test_every_wrong_candidate_is_wrong(void **state)
{
    (void)state;
    char name[64][64];
    size_t n = names(name);
    for (size_t i = 0; i < n; i++) {
        struct kg_record r;
        judge_file(name[i], "wrong", KG_ST_FULL, &r);
        if (r.verdict != KG_V_WRONG && r.verdict != KG_V_CRASH) {
            fail_msg("%s.wrong: %s", name[i],
                     r.verdict ? kg_verdict_name(r.verdict) : r.error.message);
        }
        assert_int_equal(r.correct, 0);
        assert_int_equal(r.nrewards, 2);
        assert_true(r.rewards[0].value == 0 && r.rewards[1].value == 0);
        kg_record_deinit(&r);
    }
}

static void expect(const char *reply, enum kg_verdict v, const char *reason, enum kg_stage stage)
{
    struct kg_record r;
    judge_text("silu", reply, strlen(reply), false, KG_ST_FULL, &r);
    if (r.verdict != v || strcmp(r.reason ? r.reason : "", reason) != 0 || r.stage != stage) {
        fail_msg("reply `%.60s`: %s/%s in %s: %s", reply,
                 r.verdict ? kg_verdict_name(r.verdict) : "none", r.reason ? r.reason : "",
                 kg_stage_name(r.stage), r.message ? r.message : r.error.message);
    }
    kg_record_deinit(&r);
}

#define SILU "#include <stdint.h>\nvoid silu(const float *x, float *y, int64_t n)\n{\n"

static void test_each_stage_gives_its_verdict(void **state)
{
    (void)state;
    expect("", KG_V_NO_CODE, "empty", KG_ST_EXTRACT);
    expect("I would use AVX.", KG_V_NO_CODE, "no_block", KG_ST_EXTRACT);
    expect("```c\n" SILU "    y[0] = x[0]\n}\n```\n", KG_V_COMPILE_ERROR, "syntax", KG_ST_COMPILE);
    expect("```c\n" SILU
           "    extern void nope(void);\n    nope();\n    (void)x, (void)y, (void)n;\n}\n```\n",
           KG_V_COMPILE_ERROR, "link", KG_ST_COMPILE);
    expect("```c\n" SILU "    *(volatile int *)8 = 1;\n    (void)x, (void)y, (void)n;\n}\n```\n",
           KG_V_CRASH, "signal", KG_ST_TINY);
    expect("```c\n#include <stdlib.h>\n" SILU
           "    (void)x, (void)y, (void)n;\n    _Exit(0);\n}\n```\n",
           KG_V_CRASH, "exit", KG_ST_TINY);
    expect("```c\n" SILU "    (void)x, (void)y, (void)n;\n}\n```\n", KG_V_WRONG, "unwritten",
           KG_ST_TINY);
    expect("```c\n" SILU "    ((float *)x)[0] = 1;\n    y[0] = n;\n}\n```\n", KG_V_WRONG,
           "input_modified", KG_ST_TINY);
    expect("```c\n" SILU "    for (int64_t i = 0; i < n; i++) y[i] = 0.0f / 0.0f * x[i];\n}\n```\n",
           KG_V_WRONG, "nonfinite", KG_ST_TINY);
    expect("```c\n#include <math.h>\n" SILU
           "    for (int64_t i = -1; i < n; i++) {\n        float v = i < 0 ? 0 : x[i];\n"
           "        y[i] = v / (1 + expf(-v));\n    }\n}\n```\n",
           KG_V_WRONG, "out_of_bounds", KG_ST_TINY);
}

/* With another worker, for what only a configuration can tell. */
static void with_config(const struct kg_config *c, void (*check)(void))
{
    struct kg_worker *first = worker;
    struct kg_err err = KG_ERR_INIT;
    int cpu = -1;
    kg_worker_cores(&cpu, 1);
    if (kg_worker_open(c, cpu, NULL, &worker, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    check();
    kg_worker_close(worker);
    worker = first;
}

static void is_judged(const struct kg_record *r, enum kg_verdict want)
{
    if (r->verdict != want) {
        fail_msg("%s: %s", r->verdict ? kg_verdict_name(r->verdict) : "none",
                 r->message ? r->message : r->error.message);
    }
}

static void a_timed_record_is_whole(void)
{
    struct kg_record r;
    judge_file("axpby", "fast", KG_ST_PROFILE, &r);
    is_judged(&r, KG_V_OK);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    assert_true(r.has_speedup && r.speedup.pairs >= 3);
    assert_true(r.speedup.lo <= r.speedup.ratio && r.speedup.ratio <= r.speedup.hi);
    assert_true(r.timing.reference_ns > 0 && r.timing.overhead_ns > 0);
    assert_int_equal(r.stages[KG_ST_TIMING].status, KG_SS_PASS);
    assert_int_equal(r.stages[KG_ST_PROFILE].status, KG_SS_OFF);
    assert_true(r.timing.shortest_ns > 0);
    assert_true(r.timing.voided >= 0);
    bool counts = r.timing.reference_ns >= r.timing.shortest_ns; /* by host, T is above it or not */
    bool whole = counts && r.timing.candidate_ns >= r.timing.shortest_ns;
    assert_int_equal(r.rewards[0].value > 1, counts);
    assert_int_equal(r.timing.why == NULL, whole);
    json_t *j = kg_record_json(&r, false);
    struct kg_record back;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_record_parse(j, &back, &err), KG_OK);
    json_t *again = kg_record_json(&back, false);
    assert_true(json_equal(j, again));
    json_decref(again);
    json_decref(j);
    kg_record_deinit(&back);
    kg_record_deinit(&r);
}

/* However far its times lie apart: on a busy host the interval may be too wide to be trusted. */
static void test_a_timed_record_is_whole(void **state)
{
    (void)state;
    struct kg_config any = config;
    any.timing_widest = 0;
    with_config(&any, a_timed_record_is_whole);
}

/* A null runner that takes 10 ms, as on a core with other work, and a reference that takes longer.
 */
#define SPIN(ms)                                                                                   \
    "    struct timespec a, b;\n    clock_gettime(CLOCK_MONOTONIC, &a);\n"                         \
    "    do {\n        clock_gettime(CLOCK_MONOTONIC, &b);\n"                                      \
    "    } while ((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec < " ms "000000);\n"
static const char busy_null[] = "#include <time.h>\nvoid kgym_null(void)\n{\n" SPIN("10") "}\n";
static const char slow_reference[] =
    "/*---kgym\nname: twice\nlevel: 1\nentry: twice\ndesc: \"y = 2 x\"\ndims: {n: 1310720}\n"
    "args:\n"
    "  - {name: x, type: \"f32[n]\", role: in}\n"
    "  - {name: y, type: \"f32[n]\", role: out}\n"
    "  - {name: n, type: i64, role: dim}\n"
    "---*/\n"
    "#include \"kgops.h\"\n#include <time.h>\n"
    "void twice(const real *x, real *y, int64_t n)\n{\n" SPIN(
        "50") "    for (int64_t i = 0; i < n; i++) {\n        y[i] = 2 * x[i];\n    }\n}\n";
static const char twice[] = "```c\n#include <stdint.h>\n"
                            "void twice(const float *x, float *y, int64_t n)\n{\n"
                            "    for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];\n}\n```\n";

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static void with_few_calls(void (*check)(void))
{
    struct kg_config few = config;
    few.timing_pairs = few.timing_null_calls = few.timing_least_calls = 4;
    few.timing_processes = few.timing_min_processes = 2;
    few.timing_warmups = 1;
    few.timing_least_life = few.timing_widest = 0;
    few.laws = 1;
    with_config(&few, check);
}

static void a_busy_core_accuses_nobody(void)
{
    char problem[64], source[64], object[64], command[300];
    struct kg_record r;
    judge_file("silu", "fast", KG_ST_TIMING, &r); /* teaches the least K */
    assert_int_equal(r.verdict, KG_V_OK);
    kg_record_deinit(&r);
    snprintf(problem, sizeof problem, "/tmp/kgym-twice-%d.c", (int)getpid());
    snprintf(source, sizeof source, "/tmp/kgym-busy-%d.c", (int)getpid());
    snprintf(object, sizeof object, "/tmp/kgym-busy-%d.so", (int)getpid());
    snprintf(command, sizeof command, "cc -shared -fPIC -o %s %s", object, source);
    write_text(problem, slow_reference);
    write_text(source, busy_null);
    assert_int_equal(system(command), 0);
    snprintf(worker->paths.null_object, sizeof worker->paths.null_object, "%s", object);
    judge_text(problem, twice, strlen(twice), false, KG_ST_TIMING, &r);
    unlink(problem);
    unlink(source);
    unlink(object);
    is_judged(&r, KG_V_OK);
    assert_true(r.timing.overhead_ns >= 10000000);
    kg_record_deinit(&r);
}

/* What does nothing may take longer than an honest candidate there: no evidence that it is faster
 * than its data can be read. */
static void test_a_busy_core_accuses_nobody(void **state)
{
    (void)state;
    with_few_calls(a_busy_core_accuses_nobody);
}

/* Its answer hangs on nothing, but it must read all its data. */
static const char nothing[] =
    "/*---kgym\nname: nothing\nlevel: 1\nentry: nothing\ndesc: \"y = 0 (x[0] + ... + x[n-1])\"\n"
    "dims: {n: 16777216}\n"
    "args:\n"
    "  - {name: x, type: \"f32[n]\", role: in}\n"
    "  - {name: y, type: \"f32[1]\", role: out}\n"
    "  - {name: n, type: i64, role: dim}\n"
    "---*/\n"
    "#include \"kgops.h\"\n"
    "void nothing(const real *x, real *y, int64_t n)\n{\n    real s = 0;\n"
    "    for (int64_t i = 0; i < n; i++) {\n        s += 0 * x[i];\n    }\n    y[0] = s;\n}\n";
static const char reads_nothing[] = "```c\n#include <stdint.h>\n"
                                    "void nothing(const float *x, float *y, int64_t n)\n{\n"
                                    "    y[0] = 0;\n}\n```\n";
static const char reads_all[] = "```c\n#include <stdint.h>\n"
                                "void nothing(const float *x, float *y, int64_t n)\n{\n"
                                "    float s = 0;\n"
                                "    for (int64_t i = n; i-- > 0;) {\n        s += 0 * x[i];\n"
                                "    }\n    y[0] = s;\n}\n```\n";

static void who_reads_nothing_is_accused(void)
{
    char problem[64];
    struct kg_record r;
    snprintf(problem, sizeof problem, "/tmp/kgym-nothing-%d.c", (int)getpid());
    write_text(problem, nothing);
    judge_text(problem, reads_nothing, strlen(reads_nothing), false, KG_ST_TIMING, &r);
    is_judged(&r, KG_V_HACK);
    assert_string_equal(r.reason, "floor");
    kg_record_deinit(&r);
    judge_text(problem, reads_all, strlen(reads_all), false, KG_ST_TIMING, &r);
    unlink(problem);
    is_judged(&r, KG_V_OK);
    kg_record_deinit(&r);
}

static void test_who_reads_nothing_is_accused(void **state)
{
    (void)state;
    if (is_sanitized(getenv("KGYM_BUILD"))) { /* the time of a sanitized judge says nothing */
        printf("skip: release builds only\n");
        skip();
    }
    with_few_calls(who_reads_nothing_is_accused);
}

/* Right, but it answers before it is done and goes on. */
static const char early[] =
    "```c\n#include <linux/futex.h>\n#include <math.h>\n"
    "#include <sys/syscall.h>\n#include <unistd.h>\n" SILU "    for (int64_t i = 0; i < n; i++) {\n"
    "        y[i] = x[i] / (1 + expf(-x[i]));\n    }\n"
    "    uint32_t *w = (uint32_t *)0x100000000000ull;\n"
    "    __atomic_store_n(&w[1], w[0], __ATOMIC_RELEASE);\n"
    "    syscall(SYS_futex, &w[1], FUTEX_WAKE, 1, 0, 0, 0);\n"
    "    for (volatile int i = 0; i < 30000000; i++) {\n    }\n}\n```\n";

static void early_is_let_off(void)
{
    struct kg_record r;
    judge_text("silu", early, strlen(early), false, KG_ST_TINY, &r);
    assert_int_equal(r.verdict, KG_V_NONE);
    assert_int_equal(r.stages[KG_ST_TINY].status, KG_SS_PASS);
    kg_record_deinit(&r);
}

static void test_activity_is_a_hack_unless_checks_are_off(void **state)
{
    (void)state;
    struct kg_config c = config;
    struct kg_record r;
    judge_text("silu", early, strlen(early), false, KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_HACK);
    assert_string_equal(r.reason, "async");
    kg_record_deinit(&r);
    c.hack_checks = false;
    with_config(&c, early_is_let_off);
}

/* The evidence's only entry, without its name. */
static void expect_evidence(const char *body, const char *check, const char *fields)
{
    char reply[400];
    struct kg_record r;
    snprintf(reply, sizeof reply, "```c\n" SILU "    %s\n    (void)x, (void)y, (void)n;\n}\n```\n",
             body);
    judge_text("silu", reply, strlen(reply), false, KG_ST_TINY, &r);
    assert_int_equal(json_array_size(r.evidence), 1);
    json_t *entry = json_array_get(r.evidence, 0), *want = json_loads(fields, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(entry, "check")), check);
    json_object_del(entry, "check");
    assert_true(json_equal(entry, want));
    json_decref(want);
    kg_record_deinit(&r);
}

static void endless_loop_has_its_limit(void)
{
    expect_evidence("for (volatile int i = 1; i;) {\n    }", "limit",
                    "{\"value\": 0.5, \"unit\": \"s\"}");
}

static void test_signal_and_limit_are_evidence(void **state)
{
    (void)state;
    struct kg_config c = config;
    expect_evidence("*(volatile int *)8 = 1;", "signal", "{\"signal\": 11, \"access\": null}");
    expect_evidence("y[(int64_t)1 << 30] = 1;", "signal",
                    "{\"signal\": 11, \"access\": \"write\"}");
    expect_evidence("*(volatile float *)&y[(int64_t)1 << 30];", "signal",
                    "{\"signal\": 11, \"access\": \"read\"}");
    c.deadline_run = 0.5;
    with_config(&c, endless_loop_has_its_limit);
}

/* Its first answer at a place is kept until a smaller one is needed there, so that two inputs are
 * told apart in one of their orders only. */
static void test_what_is_renewed_now_and_then_is_caught(void **state)
{
    (void)state;
    static const char reply[] =
        "```c\n#include <math.h>\n" SILU
        "    static const float *from;\n    static float least;\n    static int64_t of;\n"
        "    if (x != from || n != of || fabsf(x[0]) < fabsf(least)) {\n"
        "        from = x;\n        least = x[0];\n        of = n;\n    }\n"
        "    for (int64_t i = 0; i < n; i++) {\n        float v = i ? x[i] : least;\n"
        "        y[i] = v / (1 + expf(-v));\n    }\n}\n```\n";
    for (int i = 0; i < 40; i++) { /* in one order alone every second one is right */
        struct kg_record r;
        judge_text("silu", reply, strlen(reply), false, KG_ST_FULL, &r);
        assert_int_equal(r.verdict, KG_V_WRONG);
        kg_record_deinit(&r);
    }
}

/* The problem silu under another name, with a line of its own in the head. */
static void write_silu(const char *path, const char *name, const char *line)
{
    struct kg_buf text, out;
    struct kg_err err = KG_ERR_INIT;
    char own[600];
    snprintf(own, sizeof own, "%s/problems/native/silu.c", getenv("KGYM_TREE"));
    kg_buf_init(&text, 1 << 20);
    kg_buf_init(&out, 1 << 20);
    assert_int_equal(kg_file_read(own, &text, &err), KG_OK);
    const char *at = strstr(text.data, "name: silu\n"), *after = at + strlen("name: silu\n");
    kg_buf_addf(&out, "%.*sname: %s\n%s%s", (int)(at - (char *)text.data), text.data, name, line,
                after);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(out.data, 1, out.len, f), out.len);
    assert_int_equal(fclose(f), 0);
    kg_buf_deinit(&text);
    kg_buf_deinit(&out);
}

/* The candidate is wrong on the precision probe alone: odd significands in +-[1, 2). */
static void test_a_problem_can_leave_the_precision_probe_out(void **state)
{
    (void)state;
    static const char reply[] =
        "```c\n#include <math.h>\n#include <stdint.h>\n" SILU "    int64_t probe = 0;\n"
        "    for (int64_t i = 0; i < n; i++) {\n        union { float f; uint32_t u; } v = "
        "{x[i]};\n"
        "        float a = fabsf(v.f);\n"
        "        probe += a >= 1 && a < 2 && (v.u & 1) && a != fabsf(x[0]);\n    }\n"
        "    for (int64_t i = 0; i < n; i++)\n"
        "        y[i] = probe * 2 > n ? 0 : x[i] / (1 + expf(-x[i]));\n}\n```\n";
    static const char *const lines[] = {"", "laws: [-precision]\n"};
    for (int k = 0; k < 2; k++) {
        struct kg_record r;
        char path[64], name[16];
        snprintf(name, sizeof name, "probed_%d", k);
        snprintf(path, sizeof path, "/tmp/kgym-%s-%d.c", name, (int)getpid());
        write_silu(path, name, lines[k]);
        judge_text(path, reply, strlen(reply), false, KG_ST_FULL, &r);
        unlink(path);
        assert_false(r.has_error);
        assert_int_equal(r.stages[KG_ST_FULL].status, k == 0 ? KG_SS_FAIL : KG_SS_PASS);
        kg_record_deinit(&r);
    }
}

static const char roots[] = "/*---kgym\n"
                            "name: roots\nlevel: 1\nentry: roots\n"
                            "dims: {n: 70000}\n"
                            "args:\n"
                            "  - {name: x, type: \"f32[n]\", role: in}\n"
                            "  - {name: y, type: \"f32[n]\", role: out}\n"
                            "  - {name: n, type: i64, role: dim}\n"
                            "---*/\n"
                            "#include \"kgops.h\"\n#include <math.h>\n"
                            "void roots(const real *x, real *y, int64_t n)\n{\n"
                            "    for (int64_t i = 0; i < n; i++) {\n"
                            "        y[i] = (real)sqrt((double)x[i]);\n    }\n}\n";

/* Half of the answers are NaN. Whoever writes none of them is wrong, although every NaN equals the
 * next one; whoever writes another NaN than the reference does is right. */
static void test_elements_that_should_be_nan_must_be_written(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool right;
    } cases[] = {
        {"y[i] = sqrtf(x[i]);", true},
        {"y[i] = x[i] >= 0 ? sqrtf(x[i]) : NAN;", true},
        {"uint32_t all = ~0u; if (x[i] >= 0) y[i] = sqrtf(x[i]); else memcpy(y + i, &all, 4);",
         true},
        {"if (x[i] >= 0) y[i] = sqrtf(x[i]);", false}};
    char path[64], reply[600];
    snprintf(path, sizeof path, "/tmp/kgym-roots-%d.c", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(roots, f) >= 0 && fclose(f) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_record r;
        snprintf(reply, sizeof reply,
                 "```c\n#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
                 "void roots(const float *x, float *y, int64_t n)\n{\n"
                 "    for (int64_t i = 0; i < n; i++) { %s }\n}\n```\n",
                 cases[i].body);
        judge_text(path, reply, strlen(reply), false, KG_ST_FULL, &r);
        assert_false(r.has_error);
        assert_int_equal(r.verdict, cases[i].right ? KG_V_OK : KG_V_WRONG);
        assert_true(cases[i].right || strcmp(r.reason, "unwritten") == 0);
        kg_record_deinit(&r);
    }
    unlink(path);
}

static void a_slow_reference_is_let_off(void)
{
    static const char text[] =
        "/*---kgym\n"
        "name: idles\nlevel: 1\nentry: idles\n"
        "dims: {n: 5000}\n"
        "args:\n"
        "  - {name: x, type: \"f32[n]\", role: in}\n"
        "  - {name: y, type: \"f32[n]\", role: out}\n"
        "  - {name: n, type: i64, role: dim}\n"
        "---*/\n"
        "#include \"kgops.h\"\n#include <time.h>\n"
        "void idles(const real *x, real *y, int64_t n)\n{\n"
        "    struct timespec a, b;\n    clock_gettime(CLOCK_MONOTONIC, &a);\n"
        "    do {\n        clock_gettime(CLOCK_MONOTONIC, &b);\n"
        "    } while ((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec < 150000000);\n"
        "    for (int64_t i = 0; i < n; i++) {\n        y[i] = 2 * x[i];\n    }\n}\n";
    static const char reply[] = "```c\n#include <stdint.h>\n"
                                "void idles(const float *x, float *y, int64_t n)\n{\n"
                                "    for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];\n}\n```\n";
    char path[64];
    struct kg_record r;
    snprintf(path, sizeof path, "/tmp/kgym-idles-%d.c", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
    judge_text(path, reply, strlen(reply), false, KG_ST_FULL, &r);
    unlink(path);
    assert_false(r.has_error);
    assert_int_equal(r.verdict, KG_V_OK);
    assert_true(r.stages[KG_ST_FULL].ns > 4000000000); /* else this shows nothing */
    kg_record_deinit(&r);
}

/* The reference is asked for what the candidate is compared with. That takes longer than the whole
 * evaluation may, and is not the candidate's time. */
static void test_the_references_time_is_not_the_candidates(void **state)
{
    (void)state;
    struct kg_config c = config;
    c.deadline_eval = 4;
    with_config(&c, a_slow_reference_is_let_off);
}

static bool case_says(const json_t *c, const char *key, const char *word)
{
    const char *is = json_string_value(json_object_get(c, key));
    return is && strcmp(is, word) == 0;
}

/* Of one full run: cases of `strays` at the published shape, aligned and at other addresses, and
 * those of other laws there that are not own, bf16 (its turn comes) or the last `large`. */
static void count_cases(const json_t *cases, int *aligned, int *elsewhere, int *laws)
{
    size_t i, n = json_array_size(cases);
    const json_t *c;
    *aligned = *elsewhere = *laws = 0;
    for (i = 0; i < n; i++) {
        c = json_array_get(cases, i);
        if (!case_says(c, "variant", "default") || case_says(c, "law", "own") ||
            case_says(c, "law", "bf16") || (i + 3 == n && case_says(c, "law", "large"))) {
            continue;
        }
        bool strays = case_says(c, "law", "strays");
        *aligned += strays && case_says(c, "jitter", "0000000000000000");
        *elsewhere += strays && !case_says(c, "jitter", "0000000000000000");
        *laws += !strays;
    }
}

/* At the published shape each full run asks few changes of the own law, and a drawn law. */
static void test_the_published_shape_is_asked_strays_and_a_law(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        int aligned, elsewhere, laws;
        struct kg_record r;
        judge_file("silu", "fast", KG_ST_FULL, &r);
        count_cases(json_object_get(r.secret, "full"), &aligned, &elsewhere, &laws);
        assert_int_equal(aligned, 1);
        assert_int_equal(elsewhere, 1);
        assert_true(laws >= 1);
        kg_record_deinit(&r);
    }
}

/* Right for inputs of the own law, and wrong beside a stray that its sample does not show. */
static void test_a_sample_does_not_show_where_to_skip(void **state)
{
    (void)state;
    static const char reply[] =
        "```c\n#include <math.h>\n" SILU "    float m = 0;\n"
        "    for (int64_t i = 0; i < n; i += 256) m = fmaxf(m, fabsf(x[i]));\n"
        "    for (int64_t i = 0; i < n; i++)\n"
        "        y[i] = m <= 1 && fabsf(x[i]) > 1 ? 0 : x[i] / (1 + expf(-x[i]));\n}\n```\n";
    for (int i = 0; i < 20; i++) {
        struct kg_record r;
        judge_text("silu", reply, strlen(reply), false, KG_ST_FULL, &r);
        assert_int_equal(r.verdict, KG_V_WRONG);
        kg_record_deinit(&r);
    }
}

static void wrong_is_run_to_the_end(void)
{
    static const char reply[] = "```c\n" SILU "    for (int64_t i = 0; i < n; i++) y[i] = x[i];\n"
                                "}\n```\n";
    struct kg_record r;
    judge_text("silu", reply, strlen(reply), false, KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_WRONG);
    assert_int_equal(r.stages[KG_ST_TINY].status, KG_SS_FAIL);
    assert_int_equal(r.stages[KG_ST_FULL].status, KG_SS_FAIL);
    assert_int_equal(r.correct, 0);
    kg_record_deinit(&r);
}

static void test_unstaged_goes_on_after_a_failure(void **state)
{
    (void)state;
    struct kg_config c = config;
    c.staged = false;
    with_config(&c, wrong_is_run_to_the_end);
}

static void test_stopping_early_gives_no_verdict(void **state)
{
    (void)state;
    struct kg_record r;
    judge_file("silu", "fast", KG_ST_TINY, &r);
    assert_int_equal(r.verdict, KG_V_NONE);
    assert_false(r.has_error);
    assert_int_equal(r.nrewards, 0);
    assert_int_equal(r.stages[KG_ST_FULL].status, KG_SS_SKIP);
    kg_record_deinit(&r);
}

/* The flag is the worker's own: another worker judges on, and so does this one when it is cleared.
 */
static void test_a_worker_is_cancelled_by_its_own_flag(void **state)
{
    (void)state;
    struct kg_worker *first = worker;
    struct kg_err err = KG_ERR_INIT;
    struct kg_record r;
    volatile int stop = 0;
    assert_int_equal(kg_worker_open(&config, -1, &stop, &worker, &err), KG_OK);
    struct kg_worker *own = worker;
    for (int round = 0; round < 3; round++) {
        worker = round == 1 ? first : own;
        stop = round < 2;
        judge_file("silu", "fast", KG_ST_FULL, &r);
        assert_int_equal(r.has_error, round == 0);
        if (round == 0) {
            assert_int_equal(r.error.code, KG_E_CANCELLED);
        } else {
            assert_int_equal(r.verdict, KG_V_OK);
        }
        kg_record_deinit(&r);
    }
    kg_worker_close(own);
    worker = first;
}

/* A worker that begins on a busy host has T from the least K that others have seen. The core -1 is
 * nobody's else, so what is told here changes no other T. */
static void test_t_is_from_the_least_k_of_all_workers(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_worker *usual = worker;
    char path[KG_LEASE_PATH];
    struct kg_record r;
    kg_least_k_path(-1, false, path, sizeof path);
    unlink(path);
    assert_int_equal(kg_least_k(path, 1234), 1234);
    assert_int_equal(kg_worker_open(&config, -1, NULL, &worker, &err), KG_OK);
    judge_file("softmax", "fast", KG_ST_TIMING, &r);
    kg_worker_close(worker);
    worker = usual;
    unlink(path);
    assert_int_equal((int)r.timing.shortest_ns, 1234 * KG_PAIRS_SHORT);
    kg_record_deinit(&r);
}

static void test_an_unknown_problem_is_an_error(void **state)
{
    (void)state;
    struct kg_record r;
    judge_text("sillu", "x", 1, false, KG_ST_FULL, &r);
    assert_true(r.has_error);
    assert_non_null(strstr(r.error.message, "silu"));
    kg_record_deinit(&r);
}

static void library_forbidden(void)
{
    struct kg_record r;
    judge_file("silu", "fast", KG_ST_TINY, &r);
    assert_true(r.has_error);
    assert_int_equal(r.error.code, KG_E_USAGE);
    assert_true(strncmp(r.error.message, "library: `forbidden`", 20) == 0);
    kg_record_deinit(&r);
}

/* A record of theirs must not be labelled with what was not done. */
static void test_the_library_is_not_forbidden_for_candidates_in_c(void **state)
{
    (void)state;
    struct kg_config c = config;
    c.stage_profile = true;
    c.library = KG_LIB_FORBIDDEN;
    with_config(&c, library_forbidden);
}

static void test_replay_repeats_a_verdict(void **state)
{
    (void)state;
    struct kg_record first, second;
    judge_file("softmax", "wrong", KG_ST_FULL, &first);
    char path[600];
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/problems/candidates/softmax.wrong.c", getenv("KGYM_TREE"));
    kg_buf_init(&text, 1 << 20);
    assert_int_equal(kg_file_read(path, &text, &err), KG_OK);
    struct kg_task t = {.problem = "softmax",
                        .text = text.data,
                        .len = text.len,
                        .source = true,
                        .stop_after = KG_ST_FULL,
                        .replay = first.secret,
                        .replay_id = first.id};
    kg_record_init(&second);
    kg_eval(worker, &t, &second);
    assert_int_equal(second.verdict, first.verdict);
    assert_string_equal(second.reason, first.reason);
    assert_string_equal(second.message, first.message);
    assert_string_equal(second.replay, first.id);
    assert_string_equal(first.replay, "");
    assert_int_equal(second.nrewards, 0);
    assert_true(first.nrewards > 0);
    json_object_del(first.secret, "key");
    json_object_del(second.secret, "key");
    assert_true(json_equal(first.secret, second.secret));
    kg_buf_deinit(&text);
    kg_record_deinit(&first);
    kg_record_deinit(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_stage_gives_its_verdict),
        cmocka_unit_test(test_every_honest_candidate_is_ok),
        cmocka_unit_test(test_every_wrong_candidate_is_wrong),
        cmocka_unit_test(test_a_timed_record_is_whole),
        cmocka_unit_test(test_a_busy_core_accuses_nobody),
        cmocka_unit_test(test_who_reads_nothing_is_accused),
        cmocka_unit_test(test_activity_is_a_hack_unless_checks_are_off),
        cmocka_unit_test(test_signal_and_limit_are_evidence),
        cmocka_unit_test(test_what_is_renewed_now_and_then_is_caught),
        cmocka_unit_test(test_a_problem_can_leave_the_precision_probe_out),
        cmocka_unit_test(test_elements_that_should_be_nan_must_be_written),
        cmocka_unit_test(test_the_references_time_is_not_the_candidates),
        cmocka_unit_test(test_the_published_shape_is_asked_strays_and_a_law),
        cmocka_unit_test(test_a_sample_does_not_show_where_to_skip),
        cmocka_unit_test(test_unstaged_goes_on_after_a_failure),
        cmocka_unit_test(test_stopping_early_gives_no_verdict),
        cmocka_unit_test(test_a_worker_is_cancelled_by_its_own_flag),
        cmocka_unit_test(test_t_is_from_the_least_k_of_all_workers),
        cmocka_unit_test(test_an_unknown_problem_is_an_error),
        cmocka_unit_test(test_the_library_is_not_forbidden_for_candidates_in_c),
        cmocka_unit_test(test_replay_repeats_a_verdict),
    };
    return cmocka_run_group_tests(tests, open_worker, close_worker);
}
