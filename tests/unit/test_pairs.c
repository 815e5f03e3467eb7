/* The timing protocol with real runners and the real judge: what it measures, and what it refuses.
 */
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/cobject.h"
#include "base/clock.h"
#include "gym/timing/pairs.h"

#define MS 1000000ll

static const char problem_text[] =
    "/*---kgym\n"
    "name: scale\n"
    "level: 1\n"
    "entry: scale\n"
    "dims: {n: 20000}\n"
    "args:\n"
    "  - {name: x, type: \"f32[n]\", role: in}\n"
    "  - {name: y, type: \"f32[n]\", role: out}\n"
    "  - {name: n, type: i64, role: dim}\n"
    "---*/\n"
    "#include <stdint.h>\n"
    "void scale(const real *x, real *y, int64_t n)\n"
    "{ for (int64_t i = 0; i < n; i++) {\n"
    "    real v = x[i]; for (int k = 0; k < 4; k++) v = v * v + (real)0.1 * x[i];\n"
    "    y[i] = v; } }\n";

/* What every honest candidate here computes. */
#define BODY                                                                                       \
    "static void work(const float *x, float *y, int64_t n)\n"                                      \
    "{ for (int64_t i = 0; i < n; i++) {\n"                                                        \
    "    float v = x[i]; for (int k = 0; k < 4; k++) v = v * v + 0.1f * x[i];\n"                   \
    "    y[i] = v; } }\n"
#define HEAD  "#include <stdint.h>\n#include <string.h>\n" BODY
#define ENTRY "void scale(const float *x, float *y, int64_t n)\n"

static struct kg_problem *problem;
static struct kg_judge judge;
static struct kg_runner_spec reference, null_runner, oracle;
static struct kg_pairs_result result;
static int cpu;

static struct kg_runner_spec spec_of(const char *object, const char *entry, bool wide)
{
    return (struct kg_runner_spec){
        .program = cobject_built("kgym-runner"),
        .object = object,
        .entry = entry,
        .in = wide ? &judge.wide_in : &judge.in,
        .out = wide ? &judge.wide_out : &judge.out,
        .limits = {.memory_bytes = 512ll << 20,
                   .processes = 16,
                   .file_bytes = 1 << 20,
                   .cpu_s = 60,
                   .descriptors = 32},
        .output_bytes = 256,
        .cpu = cpu,
    };
}

/* Short plans: the protocol is tested here, not the host. */
static struct kg_pairs_options quick(void)
{
    struct kg_pairs_options o = KG_PAIRS_DEFAULTS;
    o.pairs = 8;
    o.processes = o.min_processes = 2;
    o.call_deadline_ns = 5000 * MS;
    return o;
}

static struct kg_pairs_input input_of(const struct kg_runner_spec *candidate)
{
    struct kg_pairs_input in = {.problem = problem,
                                .judge = &judge,
                                .reference = &reference,
                                .candidate = candidate,
                                .null_runner = &null_runner,
                                .oracle = &oracle,
                                .key = {{1, 2}}};
    kg_shape_default(problem, &in.shape);
    return in;
}

static void measure_with(const char *name, const char *text, const struct kg_pairs_options *o)
{
    struct kg_runner_spec candidate = spec_of(cobject_build(name, text, ""), "scale", false);
    struct kg_pairs_input in = input_of(&candidate);
    struct kg_err err = KG_ERR_INIT;
    kg_pairs_result_deinit(&result);
    if (kg_pairs_run(&in, o, &result, &err) != KG_OK) {
        fail_msg("%s: %s", name, err.message);
    }
}

static void measure(const char *name, const char *text)
{
    struct kg_pairs_options o = quick();
    measure_with(name, text, &o);
}

static void expect_measured(void)
{
    if (result.status != KG_PAIRS_MEASURED) {
        fail_msg("status %d, %s; failure %d run %d call %lld idle %lld tail %lld n_bad %llu",
                 (int)result.status, result.why, (int)result.failure.kind, (int)result.failure.run,
                 (long long)result.failure.call, (long long)result.failure.idle_cpu_ns,
                 (long long)result.failure.tail_cpu_ns,
                 (unsigned long long)result.failure.judgement.compare.n_bad);
    }
}

static void equal_code_has_a_ratio_near_one(void **state)
{
    (void)state;
    measure("same", HEAD ENTRY "{ work(x, y, n); }\n");
    expect_measured();
    assert_true(result.ratio.ratio > 0.5 && result.ratio.ratio < 2);
    assert_int_equal(result.ratio.pairs, 16);
    assert_int_equal(result.nprocess, 2);
    assert_true(result.ratio.lo <= result.ratio.ratio && result.ratio.ratio <= result.ratio.hi);
    assert_true(result.overhead_ns > 0);
    assert_true(result.candidate_ns > 0 && result.reference_ns > 0);
    assert_true(result.candidate_trimmed_ns > 0 && result.reference_trimmed_ns > 0);
    assert_true(result.cv >= 0);
    assert_true(result.warmups >= 20);
    assert_int_equal(result.pool_sets, KG_PAIRS_SETS);
    assert_false(result.one_process);
    assert_int_equal(result.failure.kind, KG_PAIRS_NO_FAILURE);
    for (int i = 0; i < result.nprocess; i++) {
        const struct kg_pairs_process *p = &result.process[i];
        int first = 0;
        for (size_t k = 0; k < p->n; k++) {
            first += p->pair[k].cand_first;
            assert_true(p->pair[k].ref_ns > 0 && p->pair[k].cand_ns > 0);
        }
        assert_int_equal(first, 4);
        assert_true(p->verified >= KG_PAIRS_DEFAULTS.least_calls);
        assert_true(p->alive_ns >= KG_PAIRS_DEFAULTS.least_life_ns);
        assert_true(p->k_p10_ns <= p->k_ns && p->k_ns <= p->k_p90_ns);
    }
}

static void a_sleeping_candidate_is_slower(void **state)
{
    (void)state;
    measure("sleeps", "#include <linux/futex.h>\n#include <sys/syscall.h>\n#include <time.h>\n"
                      "#include <unistd.h>\n" HEAD ENTRY
                      "{ work(x, y, n); struct timespec t = {0, 1000000}; uint32_t z = 0;\n"
                      "  syscall(SYS_futex, &z, FUTEX_WAIT, 0, &t, 0, 0); }\n");
    expect_measured();
    assert_true(result.ratio.ratio < 0.2);
    assert_true(result.candidate_ns > 1 * MS); /* the wall clock counts, not the CPU's */
}

static void k_is_subtracted(void **state)
{
    (void)state;
    measure("k", HEAD ENTRY "{ work(x, y, n); }\n");
    expect_measured();
    double t[64], logs = 0;
    for (int i = 0; i < result.nprocess; i++) {
        const struct kg_pairs_process *p = &result.process[i];
        assert_true(p->n >= 4 && p->n <= 64);
        for (size_t k = 0; k < p->n; k++) {
            int64_t ns = p->pair[k].cand_ns;
            t[k] = ns > p->k_ns ? (double)(ns - p->k_ns) : 1;
        }
        logs += log(kg_median(t, p->n));
    }
    assert_int_equal(result.candidate_ns, (int64_t)exp(logs / result.nprocess));
}

/* Wrong on the n-th call of its process, whichever n: warm-up, primer, timed, extra. */
static void wrong_on_any_single_call_is_caught(void **state)
{
    (void)state;
    static const int calls[] = {1, 2, 9, 10, 11, 14, 15, 18, 19, 20, 23, 30, 40};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[1024], name[32];
        snprintf(name, sizeof name, "wrong%d", calls[i]);
        snprintf(text, sizeof text,
                 HEAD ENTRY "{ static int c; work(x, y, n); if (++c == %d) y[n - 1] += 1; }\n",
                 calls[i]);
        /* A pair that the host made void is not compared but repeated, and its calls are none that
         * were right: then the same again. */
        bool seen = false;
        for (int tries = 0; tries < 3 && !seen; tries++) {
            measure(name, text);
            seen = result.status == KG_PAIRS_FAILED && result.failure.kind == KG_PAIRS_WRONG &&
                   result.failure.call == calls[i] &&
                   result.failure.right_calls == calls[i] - 1; /* then it is a phase */
        }
        if (!seen) {
            fail_msg("wrong on call %d: status %d, call %d, right before %d", calls[i],
                     (int)result.status, (int)result.failure.call, (int)result.failure.right_calls);
        }
        assert_int_equal(result.failure.judgement.compare.n_bad, 1);
        assert_int_equal(result.failure.judgement.compare.first_bad, 19999);
        assert_int_equal(result.failure.process, 0);
    }
}

static void a_cached_answer_is_a_replay(void **state)
{
    (void)state;
    measure("cached", HEAD ENTRY "{ static float kept[20000]; static int c;\n"
                                 "  if (++c < 14) { work(x, y, n); memcpy(kept, y, 4 * n); }\n"
                                 "  else memcpy(y, kept, 4 * n); }\n");
    assert_int_equal(result.status, KG_PAIRS_FAILED);
    assert_int_equal(result.failure.kind, KG_PAIRS_WRONG);
    assert_int_equal(result.failure.call, 14);
    assert_true(result.failure.judgement.replay || result.failure.judgement.earlier_expected);
}

/* Keyed on the address: the pool hands old addresses with new contents. */
static void an_answer_cached_by_address_is_caught(void **state)
{
    (void)state;
    measure("address", HEAD ENTRY
            "{ static const float *at[64]; static float *kept[64]; static int used, c;\n"
            "  static float store[8][20000]; c++;\n"
            "  for (int i = 0; i < used && c > 10; i++) if (at[i] == x) {\n"
            "    memcpy(y, store[i], 4 * n); return; }\n"
            "  work(x, y, n); int i = 0; while (i < used && at[i] != x) i++;\n"
            "  if (i < 8) { at[i] = x; memcpy(store[i], y, 4 * n); if (i == used) used++; } }\n");
    assert_int_equal(result.status, KG_PAIRS_FAILED);
    assert_int_equal(result.failure.kind, KG_PAIRS_WRONG);
}

static void skipped_work_is_unwritten(void **state)
{
    (void)state;
    measure("skips", HEAD ENTRY "{ static int c; if (++c == 13) return; work(x, y, n); }\n");
    assert_int_equal(result.status, KG_PAIRS_FAILED);
    assert_int_equal(result.failure.kind, KG_PAIRS_WRONG);
    assert_int_equal(result.failure.take.what, KG_TAKE_UNWRITTEN);
    assert_int_equal(result.failure.take.unwritten, 20000);
}

static void open_problem(const char *text)
{
    struct kg_err err = KG_ERR_INIT;
    size_t in_bytes, out_bytes;
    if (kg_problem_parse(text, strlen(text), "scale.c", &problem, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    kg_pairs_region_bytes(problem, &in_bytes, &out_bytes);
    if (kg_judge_open(&judge, problem, in_bytes, out_bytes, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    reference = spec_of(cobject_build("ref_float", text, "-Dreal=float"), "scale", false);
    oracle = spec_of(cobject_build("ref_double", text, "-Dreal=double"), "scale", true);
}

/* Half of the answers are NaN, and every NaN equals the next one. */
static void skipped_work_is_unwritten_where_nan_is_expected(void **state)
{
    (void)state;
    char text[sizeof problem_text];
    const char *end = strstr(problem_text, "#include");
    snprintf(text, sizeof text,
             "%.*s#include <math.h>\n#include <stdint.h>\n"
             "void scale(const real *x, real *y, int64_t n)\n"
             "{ for (int64_t i = 0; i < n; i++) y[i] = (real)sqrt((double)x[i]); }\n",
             (int)(end - problem_text), problem_text);
    kg_problem_destroy(problem);
    open_problem(text);
    for (int all = 0; all < 2; all++) {
        char candidate[512];
        snprintf(candidate, sizeof candidate,
                 "#include <math.h>\n#include <stdint.h>\n" ENTRY
                 "{ static int c; c++; for (int64_t i = 0; i < n; i++)\n"
                 "  if (%d || c != 13 || x[i] >= 0) y[i] = sqrtf(x[i]); }\n",
                 all);
        measure(all ? "roots" : "half_the_roots", candidate);
        assert_int_equal(result.status, all ? KG_PAIRS_MEASURED : KG_PAIRS_FAILED);
        if (!all) {
            assert_int_equal(result.failure.kind, KG_PAIRS_WRONG);
            assert_int_equal(result.failure.call, 13);
            assert_int_equal(result.failure.take.what, KG_TAKE_UNWRITTEN);
        }
    }
    kg_problem_destroy(problem);
    open_problem(problem_text);
}

static void a_byte_before_the_output_is_out_of_bounds(void **state)
{
    (void)state;
    measure("bounds",
            HEAD ENTRY "{ static int c; work(x, y, n); if (++c == 12) ((char *)y)[-1] = 0x77; }\n");
    assert_int_equal(result.status, KG_PAIRS_FAILED);
    assert_int_equal(result.failure.kind, KG_PAIRS_OUT_OF_BOUNDS);
    assert_int_equal(result.failure.take.what, KG_TAKE_OUT_OF_BOUNDS);
    assert_int_equal(result.failure.call, 12);
}

#define THREAD(before)                                                                             \
    "#include <linux/futex.h>\n#include <pthread.h>\n#include <sys/syscall.h>\n"                   \
    "#include <time.h>\n#include <unistd.h>\n" HEAD                                                \
    "static struct { const float *x; float *y; int64_t n; } a;\n"                                  \
    "static void *run(void *p) { (void)p; " before " work(a.x, a.y, a.n); return 0; }\n" ENTRY     \
    "{ a.x = x; a.y = y; a.n = n; pthread_t t;\n"                                                  \
    "  pthread_create(&t, 0, run, 0); pthread_detach(t); }\n"

/* A thread computes after the call has returned: stopped with the answer unwritten. */
static void early_done_by_a_thread_is_caught(void **state)
{
    (void)state;
    measure("late_thread", THREAD("uint32_t z = 0; struct timespec t = {0, 1000000};\n"
                                  "  syscall(SYS_futex, &z, FUTEX_WAIT, 0, &t, 0, 0);"));
    assert_int_equal(result.status, KG_PAIRS_FAILED);
    assert_true(result.failure.kind == KG_PAIRS_WRONG || result.failure.kind == KG_PAIRS_ASYNC);
    assert_true(result.failure.kind == KG_PAIRS_ASYNC ||
                result.failure.take.what == KG_TAKE_UNWRITTEN);
}

/* A thread that gets the core before the broker does has worked inside the window. */
static void a_thread_without_delay_gains_nothing(void **state)
{
    (void)state;
    measure("thread", THREAD(""));
    if (result.status == KG_PAIRS_MEASURED) {
        assert_true(result.ratio.ratio < 1.2);
    } else {
        assert_int_equal(result.status, KG_PAIRS_FAILED);
    }
}

#define EARLY                                                                                      \
    "#include <linux/futex.h>\n#include <sys/syscall.h>\n#include <time.h>\n#include <unistd.h>\n" \
    "static void early(void) { uint32_t *w = (uint32_t *)0x100000000000ull;\n"                     \
    "  __atomic_store_n(&w[1], w[0], __ATOMIC_RELEASE);\n"                                         \
    "  syscall(SYS_futex, &w[1], FUTEX_WAKE, 1, 0, 0, 0); }\n"

/* Says done, then works on: the work is after the answer, and shows on its clock. */
static void done_before_the_work_is_async(void **state)
{
    (void)state;
    measure("early", HEAD EARLY ENTRY
            "{ early(); for (volatile int i = 0; i < 5000000; i++) {} work(x, y, n); }\n");
    assert_int_equal(result.status, KG_PAIRS_FAILED);
    assert_int_equal(result.failure.kind, KG_PAIRS_ASYNC);
    assert_int_equal(result.failure.run, KG_RUN_ACTIVE);
    assert_true(result.failure.tail_cpu_ns > KG_TAIL_SLACK_NS);
}

/* What it does after its answer without tripping the slack is part of its time: here some 50 us. */
static void a_short_tail_is_charged(void **state)
{
    (void)state;
    measure("tail", HEAD EARLY ENTRY "{ work(x, y, n); early();\n"
                                     "  for (volatile int i = 0; i < 40000; i++) {} }\n");
    if (result.status == KG_PAIRS_MEASURED) { /* a slow host makes it longer than the slack */
        assert_true(result.ratio.ratio < 0.9);
    } else {
        assert_int_equal(result.failure.kind, KG_PAIRS_ASYNC);
    }
}

static void a_crash_in_timing_is_reported(void **state)
{
    (void)state;
    measure("crash",
            HEAD ENTRY "{ static int c; work(x, y, n); if (++c == 25) __builtin_trap(); }\n");
    assert_int_equal(result.status, KG_PAIRS_FAILED);
    assert_int_equal(result.failure.kind, KG_PAIRS_RUN);
    assert_int_equal(result.failure.run, KG_RUN_DIED);
    assert_int_equal(result.failure.call, 25);
    assert_int_equal(kg_runner_signal(&result.candidate), 4);
    assert_int_equal(result.candidate.wire->fault_signal, 4);
}

static void a_call_past_its_deadline_is_a_timeout(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.call_deadline_ns = 100 * MS;
    measure_with("hangs",
                 HEAD ENTRY "{ static int c; if (++c == 5) for (;;) c = 5; work(x, y, n); }\n", &o);
    assert_int_equal(result.status, KG_PAIRS_FAILED);
    assert_int_equal(result.failure.run, KG_RUN_TIMEOUT);
}

/* A cheap measurement: fewer calls of a younger process, and they are verified like all others. */
static void least_calls_and_least_life_are_options(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.processes = o.min_processes = 1;
    o.pairs = 4;
    o.warmups = 2;
    o.least_calls = 12;
    o.least_life_ns = 0;
    measure_with("cheap", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_true(result.process[0].verified >= 12);
    assert_true(result.process[0].verified < KG_PAIRS_DEFAULTS.least_calls);
    o.least_life_ns = 300 * MS;
    measure_with("older", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_true(result.process[0].alive_ns >= 300 * MS);
}

/* Kept runners serve one measurement after the other; one that has ended is replaced. */
static void runners_are_kept(void **state)
{
    (void)state;
    static struct kg_pairs_own kept;
    struct kg_pairs_options o = quick();
    struct kg_runner_spec candidate =
        spec_of(cobject_build("kept", HEAD ENTRY "{ work(x, y, n); }\n", ""), "scale", false);
    struct kg_pairs_input in = input_of(&candidate);
    struct kg_err err = KG_ERR_INIT;
    pid_t pid = 0;
    o.processes = o.min_processes = 1;
    in.kept = &kept;
    for (int i = 0; i < 3; i++) {
        kg_pairs_result_deinit(&result);
        assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_OK);
        expect_measured();
        assert_true(kept.ref.up && kept.null.up && kept.oracle.up);
        if (i == 1) {
            assert_int_equal(kept.ref.runner.sandbox.pid, pid);
            kill(pid, SIGKILL);
            usleep(200000);
        } else if (i == 2) {
            assert_int_not_equal(kept.ref.runner.sandbox.pid, pid);
        }
        pid = kept.ref.runner.sandbox.pid;
    }
    struct kg_handle *all[] = {&kept.ref, &kept.null, &kept.oracle};
    for (int i = 0; i < 3; i++) {
        kg_runner_stop(&all[i]->runner);
        all[i]->up = false;
    }
}

/* A candidate that runs already is timed as it is, and stopped. */
static void a_running_candidate_goes_on(void **state)
{
    (void)state;
    static struct kg_handle running;
    struct kg_pairs_options o = quick();
    struct kg_runner_spec candidate =
        spec_of(cobject_build("goes_on", HEAD ENTRY "{ work(x, y, n); }\n", ""), "scale", false);
    struct kg_pairs_input in = input_of(&candidate);
    struct kg_err err = KG_ERR_INIT;
    enum kg_run_status status;
    assert_int_equal(
        kg_runner_start(&candidate, kg_clock_ns() + 20000 * MS, &running.runner, &status, &err),
        KG_OK);
    assert_int_equal(status, KG_RUN_OK);
    running.up = true;
    pid_t pid = running.runner.sandbox.pid;
    in.running = &running;
    kg_pairs_result_deinit(&result);
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_OK);
    expect_measured();
    assert_false(running.up);
    assert_true(kill(pid, 0) != 0);
    assert_int_equal(result.nprocess, 2);
}

/* Fewer calls around each pair: all of the candidate's calls are verified all the same. */
static void pairs_without_primers_are_verified(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.processes = o.min_processes = 1;
    o.warmups = 1;
    o.least_calls = 8;
    o.least_life_ns = 0;
    o.null_calls = 4;
    o.primers = o.asides = false;
    measure_with("bare", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_int_equal(result.ratio.pairs, 8);
    assert_true(result.ratio.ratio > 0.2 && result.ratio.ratio < 5);
    assert_true(result.process[0].verified >= 9);
    assert_true(result.overhead_ns > 0);
    for (int call = 2; call <= 9; call++) { /* wrong in one call, whichever it is */
        char text[1000];
        snprintf(text, sizeof text,
                 HEAD ENTRY "{ static int c; work(x, y, n); if (++c == %d) y[n / 2] += 1; }\n",
                 call);
        measure_with("bare_wrong", text, &o);
        assert_int_equal(result.status, KG_PAIRS_FAILED);
        assert_int_equal(result.failure.kind, KG_PAIRS_WRONG);
        assert_int_equal(result.failure.call, call);
    }
    o.null_calls = 2;
    struct kg_runner_spec candidate =
        spec_of(cobject_build("bare", HEAD ENTRY "{ work(x, y, n); }\n", ""), "scale", false);
    struct kg_pairs_input in = input_of(&candidate);
    struct kg_err err = KG_ERR_INIT;
    kg_pairs_result_deinit(&result);
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_E_USAGE);
}

/* Another process that wants the core all the time. */
static pid_t spin_on_the_core(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
        for (;;) {
        }
    }
    return pid;
}

/* A pair in which a side did not have the core is repeated, so many times and no more. */
static void waits_are_repeated(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.processes = o.min_processes = 1;
    o.pairs = 4;
    o.warmups = o.least_calls = 1;
    o.least_life_ns = 0;
    o.primers = o.asides = false;
    o.waits = 5;
    pid_t busy = spin_on_the_core();
    measure_with("takes_long", HEAD ENTRY "{ for (int i = 0; i < 300; i++) work(x, y, n); }\n", &o);
    kill(busy, SIGKILL);
    waitpid(busy, NULL, 0);
    expect_measured();
    assert_int_equal(result.ratio.pairs, 4);
    assert_in_range(result.process[0].verified, 4 * 2 + 1, 4 * 6 + 16);
    measure_with("sleeps", "#include <unistd.h>\n" HEAD ENTRY "{ usleep(1000); work(x, y, n); }\n",
                 &o); /* of its own accord */
    expect_measured();
    assert_true(result.process[0].verified < 4 * 3);
    assert_true(result.ratio.ratio < 1);
}

static void an_object_that_does_not_load_is_reported(void **state)
{
    (void)state;
    measure("loads", "void nowhere(void); void scale(void) { nowhere(); }\n");
    assert_int_equal(result.status, KG_PAIRS_FAILED);
    assert_int_equal(result.failure.run, KG_RUN_LOAD_FAILED);
    assert_non_null(strstr(result.candidate.note, "nowhere"));
}

static void budget_keeps_at_least_three_pairs(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.budget_ns = 1;
    measure_with("budget",
                 HEAD ENTRY "{ for (int i = 0; i < 40; i++) {\n"
                            "  work(x, y, n); __asm__(\"\" ::: \"memory\"); } }\n",
                 &o);
    expect_measured();
    assert_int_equal(result.nprocess, 1);
    assert_int_equal(result.ratio.pairs, KG_PAIRS_LEAST);
    assert_true(result.one_process);
    assert_true(result.process[0].verified < KG_PAIRS_DEFAULTS.least_calls); /* slower: let off */
    assert_true(isfinite(result.ratio.half_width));
}

/* Budget gone, yet faster than the reference: the minimum of verified calls binds. */
static void a_fast_candidate_is_seen_often_enough(void **state)
{
    (void)state;
    struct kg_runner_spec usual = reference;
    struct kg_pairs_options o = quick();
    o.budget_ns = 1;
    reference =
        spec_of(cobject_build("slow_ref",
                              HEAD ENTRY "{ for (int i = 0; i < 40; i++) {\n"
                                         "  work(x, y, n); __asm__(\"\" ::: \"memory\"); } }\n",
                              ""),
                "scale", false);
    measure_with("fast", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    reference = usual;
    expect_measured();
    assert_true(result.ratio.ratio > 1.5);
    assert_int_equal(result.ratio.pairs, KG_PAIRS_LEAST);
    assert_true(result.process[0].verified >= KG_PAIRS_DEFAULTS.least_calls);
    assert_true(result.process[0].alive_ns >= KG_PAIRS_DEFAULTS.least_life_ns);
}

static void no_time_at_all_is_not_measured(void **state)
{
    (void)state;
    struct kg_runner_spec candidate =
        spec_of(cobject_build("late", HEAD ENTRY "{ work(x, y, n); }\n", ""), "scale", false);
    struct kg_pairs_input in = input_of(&candidate);
    struct kg_pairs_options o = quick();
    struct kg_err err = KG_ERR_INIT;
    in.deadline_ns = 1;
    kg_pairs_result_deinit(&result);
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_OK);
    assert_int_equal(result.status, KG_PAIRS_NOT_MEASURED);
    assert_string_equal(result.why, "the time ran out after 0 pairs (at least 3)");
}

static void cancellation_is_an_error(void **state)
{
    (void)state;
    struct kg_runner_spec candidate =
        spec_of(cobject_build("cancelled", HEAD ENTRY "{ work(x, y, n); }\n", ""), "scale", false);
    struct kg_pairs_input in = input_of(&candidate);
    struct kg_pairs_options o = quick();
    struct kg_err err = KG_ERR_INIT;
    volatile int cancel = 1;
    in.cancel = &cancel;
    kg_pairs_result_deinit(&result);
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_E_CANCELLED);
}

static void a_failing_reference_is_an_error_of_the_problem(void **state)
{
    (void)state;
    struct kg_runner_spec good =
        spec_of(cobject_build("good", HEAD ENTRY "{ work(x, y, n); }\n", ""), "scale", false);
    struct kg_runner_spec bad =
        spec_of(cobject_build("bad", HEAD ENTRY "{ __builtin_trap(); }\n", ""), "scale", false);
    struct kg_pairs_input in = input_of(&good);
    struct kg_pairs_options o = quick();
    struct kg_err err = KG_ERR_INIT;
    in.reference = &bad;
    kg_pairs_result_deinit(&result);
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_E_PROBLEM);
    assert_string_equal(err.message, "timing: the reference of scale died in a call");
    assert_int_equal(err.blame, KG_BLAME_PROBLEM);
}

static void null_test_measures_the_reference_against_itself(void **state)
{
    (void)state;
    struct kg_pairs_input in = input_of(NULL);
    struct kg_pairs_options o = quick();
    struct kg_err err = KG_ERR_INIT;
    kg_pairs_result_deinit(&result);
    assert_int_equal(kg_pairs_null(&in, &o, &result, &err), KG_OK);
    expect_measured();
    assert_true(result.ratio.ratio > 0.5 && result.ratio.ratio < 2);
}

/* The plan ends at the planned half-width, never before the least number of processes. */
static void early_stop_keeps_the_least_number_of_processes(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.processes = 4;
    o.min_processes = 3;
    o.half_width = 1e9; /* any interval is narrow enough */
    measure_with("stop", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_int_equal(result.nprocess, 3);
    o.half_width = 0; /* none is */
    measure_with("stop", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_int_equal(result.nprocess, 4);
}

/* A wide interval asks for more than the plan: pairs of the one process, else processes. */
static void a_wide_interval_asks_for_more(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.half_width = 0;
    o.widest = 1; /* any interval is too wide */
    o.processes = o.min_processes = 1;
    measure_with("wide", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_int_equal(result.nprocess, 1);
    assert_int_equal(result.ratio.pairs, KG_PAIRS_MORE * o.pairs);
    o.processes = o.min_processes = 2;
    measure_with("wide", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_int_equal(result.nprocess, KG_PAIRS_MORE * 2);
    o.widest = 1e300; /* none is */
    measure_with("wide", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_int_equal(result.nprocess, 2);
}

static void calibrated_uses_one_process_and_trimmed_means(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.method = KG_PAIRS_CALIBRATED;
    measure_with("calibrated", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_int_equal(result.nprocess, 1);
    assert_int_equal(result.ratio.pairs, 50);
    double want = (double)result.reference_trimmed_ns / (double)result.candidate_trimmed_ns;
    assert_true(fabs(result.ratio.ratio / want - 1) < 1e-3);
    assert_true(isfinite(result.ratio.half_width));
}

/* The ways that the bench compares with: as they are done elsewhere. */
static void naive_methods_make_their_pairs(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.method = KG_PAIRS_SINGLE;
    measure_with("single", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_int_equal(result.ratio.pairs, 1);
    o.method = KG_PAIRS_MEAN;
    measure_with("mean", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_int_equal(result.ratio.pairs, 50);
}

static void a_candidate_below_t_is_rewarded_as_t(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.null_half_width = 20; /* far beyond what any host shows */
    measure_with("short", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    int64_t t = result.shortest_ns;
    assert_int_equal(t, KG_PAIRS_SHORT * result.quiet_ns);
    for (int i = 0; i < result.nprocess; i++) {
        assert_true(result.quiet_ns <= result.process[i].k_p10_ns);
    }
    assert_int_equal(result.candidate_short, result.candidate_ns < t);
    assert_int_equal(result.reference_short, result.reference_ns < t);
    double by = result.candidate_short ? (double)result.candidate_ns / (double)t : 1;
    assert_true(fabs(result.rewarded.ratio - result.ratio.ratio * by) < 1e-9);
    assert_true(result.ratio.half_width >= 20); /* no narrower than the null test's */
    assert_true(result.ratio.hi / result.ratio.lo >= exp(40) * (1 - 1e-9));
}

/* Work beside the measurement makes K longer, never T. */
static void t_is_from_the_least_k_that_the_caller_has_seen(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.quiet_ns = 17;
    measure_with("quiet", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_int_equal(result.quiet_ns, 17);
    assert_int_equal(result.shortest_ns, 17 * KG_PAIRS_SHORT);
    assert_int_equal(result.reference_short, result.reference_ns < 17 * KG_PAIRS_SHORT);
    assert_true(result.overhead_ns > 17);
    o.quiet_ns = INT64_MAX / KG_PAIRS_SHORT; /* a first look would say: none */
    measure_with("loud", HEAD ENTRY "{ work(x, y, n); }\n", &o);
    expect_measured();
    assert_true(result.quiet_ns <= result.process[0].k_p10_ns);
}

/* What the judge was asked per verified call. */
static double requests(const char *name, const struct kg_pairs_options *o)
{
    uint64_t before = judge.seq;
    double verified = 0;
    measure_with(name, HEAD ENTRY "{ work(x, y, n); }\n", o);
    expect_measured();
    for (int i = 0; i < result.nprocess; i++) {
        verified += (double)result.process[i].verified;
    }
    return (double)(judge.seq - before) / verified;
}

/* One request more for each call of either side: whether lines that were dropped cost time is the
 * host's affair. */
static void cold_buffers_are_dropped_for_both_sides(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    double warm = requests("warm", &o);
    o.cold = true;
    double cold = requests("cold", &o);
    printf("%.2f requests per verified call warm, %.2f cold\n", warm, cold);
    assert_true(cold - warm > 1.7);
    assert_true(result.ratio.ratio > 0.5 && result.ratio.ratio < 2);
}

/* Dropping lines loses nothing: every call of a cold measurement is verified as ever. */
static void cold_calls_are_verified(void **state)
{
    (void)state;
    struct kg_pairs_options o = quick();
    o.cold = true;
    measure_with("cold_wrong",
                 HEAD "static int calls;\n" ENTRY
                      "{ work(x, y, n); if (++calls == 23) y[n / 2] += 1; }\n",
                 &o);
    assert_int_equal(result.status, KG_PAIRS_FAILED);
    assert_int_equal(result.failure.kind, KG_PAIRS_WRONG);
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    struct kg_pairs_input in = input_of(&reference);
    struct kg_err err = KG_ERR_INIT;
    struct kg_pairs_options o = quick();
    kg_pairs_result_deinit(&result);
    o.warmups = 0;
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_E_USAGE);
    o = quick();
    o.least_calls = 0;
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_E_USAGE);
    o = quick();
    o.least_life_ns = -1;
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_E_USAGE);
    o = quick();
    o.pairs = 2;
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_E_USAGE);
    o = quick();
    o.min_processes = 3;
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_E_USAGE);
    o = quick();
    o.trim = 0.5;
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_E_USAGE);
    o = quick();
    o.budget_ns = 0;
    assert_int_equal(kg_pairs_run(&in, &o, &result, &err), KG_E_USAGE);
}

static int set_up(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    cpu_set_t set;
    cpu = sched_getcpu();
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    if (kg_judge_start(cpu, &judge, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    open_problem(problem_text);
    null_runner = spec_of(cobject_built("null.so"), "kgym_null", false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kg_pairs_result_deinit(&result);
    kg_judge_stop(&judge);
    kg_problem_destroy(problem);
    cobject_clean();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_code_has_a_ratio_near_one),
        cmocka_unit_test(a_sleeping_candidate_is_slower),
        cmocka_unit_test(k_is_subtracted),
        cmocka_unit_test(wrong_on_any_single_call_is_caught),
        cmocka_unit_test(a_cached_answer_is_a_replay),
        cmocka_unit_test(an_answer_cached_by_address_is_caught),
        cmocka_unit_test(skipped_work_is_unwritten),
        cmocka_unit_test(skipped_work_is_unwritten_where_nan_is_expected),
        cmocka_unit_test(a_byte_before_the_output_is_out_of_bounds),
        cmocka_unit_test(early_done_by_a_thread_is_caught),
        cmocka_unit_test(a_thread_without_delay_gains_nothing),
        cmocka_unit_test(done_before_the_work_is_async),
        cmocka_unit_test(a_short_tail_is_charged),
        cmocka_unit_test(a_crash_in_timing_is_reported),
        cmocka_unit_test(a_call_past_its_deadline_is_a_timeout),
        cmocka_unit_test(least_calls_and_least_life_are_options),
        cmocka_unit_test(runners_are_kept),
        cmocka_unit_test(a_running_candidate_goes_on),
        cmocka_unit_test(pairs_without_primers_are_verified),
        cmocka_unit_test(waits_are_repeated),
        cmocka_unit_test(an_object_that_does_not_load_is_reported),
        cmocka_unit_test(budget_keeps_at_least_three_pairs),
        cmocka_unit_test(a_fast_candidate_is_seen_often_enough),
        cmocka_unit_test(no_time_at_all_is_not_measured),
        cmocka_unit_test(cancellation_is_an_error),
        cmocka_unit_test(a_failing_reference_is_an_error_of_the_problem),
        cmocka_unit_test(null_test_measures_the_reference_against_itself),
        cmocka_unit_test(early_stop_keeps_the_least_number_of_processes),
        cmocka_unit_test(a_wide_interval_asks_for_more),
        cmocka_unit_test(calibrated_uses_one_process_and_trimmed_means),
        cmocka_unit_test(naive_methods_make_their_pairs),
        cmocka_unit_test(a_candidate_below_t_is_rewarded_as_t),
        cmocka_unit_test(t_is_from_the_least_k_that_the_caller_has_seen),
        cmocka_unit_test(cold_buffers_are_dropped_for_both_sides),
        cmocka_unit_test(cold_calls_are_verified),
        cmocka_unit_test(options_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
