/* The broker's handle and the runner program, with objects that behave and objects that do not. */
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/cobject.h"
#include "base/clock.h"
#include "gym/run/runner.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define MS   1000000ll
#define FAR  (10000 * MS)

static struct kg_region in, out;
static int cpu;

static struct kg_runner_spec spec_of(const char *object)
{
    return (struct kg_runner_spec){
        .program = cobject_built("kgym-runner"),
        .object = object,
        .kgops_dir = NULL,
        .entry = "f",
        .in = &in,
        .out = &out,
        .limits = {.memory_bytes = 512ll << 20,
                   .processes = 16,
                   .file_bytes = 1 << 20,
                   .cpu_s = 60,
                   .descriptors = 32},
        .output_bytes = 2048,
        .cpu = cpu,
    };
}

static enum kg_run_status start_status(struct kg_runner *r, const char *name, const char *text,
                                       const char *flags, int64_t within_ns)
{
    struct kg_runner_spec spec = spec_of(cobject_build(name, text, flags));
    struct kg_err err = KG_ERR_INIT;
    enum kg_run_status status = KG_RUN_OK;
    if (kg_runner_start(&spec, kg_clock_ns() + within_ns, r, &status, &err) != KG_OK) {
        fail_msg("start: %s", err.message);
    }
    return status;
}

static void start(struct kg_runner *r, const char *name, const char *text)
{
    enum kg_run_status status = start_status(r, name, text, "", FAR);
    if (status != KG_RUN_OK) {
        fail_msg("%s: status %d: %s", name, (int)status, r->note);
    }
}

/* f(const float *x, float *y, int64_t n) */
static struct kg_wire_call words(int64_t n)
{
    return (struct kg_wire_call){.nargs = 3,
                                 .cls = {KG_WIRE_PTR, KG_WIRE_PTR, KG_WIRE_I64},
                                 .word = {KG_ADDR_IN, KG_ADDR_OUT, (uint64_t)n}};
}

static struct kg_call_report call_within(struct kg_runner *r, int64_t n, int64_t within_ns)
{
    struct kg_wire_call w = words(n);
    struct kg_call_report rep;
    kg_runner_call(r, &w, kg_clock_ns() + within_ns, true, &rep);
    return rep;
}

static struct kg_call_report call(struct kg_runner *r, int64_t n)
{
    return call_within(r, n, FAR);
}

static int64_t cpu_time(const struct kg_runner *r)
{
    struct timespec ts;
    assert_int_equal(clock_gettime(r->cpu_clock, &ts), 0);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static float *floats(struct kg_region *g)
{
    return (float *)(void *)g->map;
}

static const char doubles[] = "#include <stdint.h>\n"
                              "void f(const float *x, float *y, int64_t n)\n"
                              "{ for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i]; }\n";

static void good_object_answers_every_call(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "good", doubles);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 1000; i++) {
            floats(&in)[i] = (float)(i + round);
            floats(&out)[i] = -1;
        }
        struct kg_call_report rep = call(&r, 1000);
        assert_int_equal(rep.status, KG_RUN_OK);
        assert_true(rep.window_ns > 0);
        assert_int_equal(rep.threads, 1);
        for (int i = 0; i < 1000; i++) {
            assert_true(floats(&out)[i] == (float)(2 * (i + round)));
        }
    }
    assert_int_equal(r.calls, 20);
    kg_runner_stop(&r);
    assert_int_equal(r.sandbox.exit.kind, KG_EXIT_KILLED);
    assert_int_equal(kg_runner_signal(&r), 0);
}

static void every_class_of_argument_arrives(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "classes",
          "#include <stdint.h>\n"
          "void f(double *y, int32_t a, int64_t b, float c, double d, int32_t e, int64_t g,\n"
          "       int64_t h, int64_t i, float j)\n"
          "{ y[0]=a; y[1]=b; y[2]=c; y[3]=d; y[4]=e; y[5]=g; y[6]=h; y[7]=i; y[8]=j; }\n");
    struct kg_wire_call w = {.nargs = 10,
                             .cls = {KG_WIRE_PTR, KG_WIRE_I32, KG_WIRE_I64, KG_WIRE_F32,
                                     KG_WIRE_F64, KG_WIRE_I32, KG_WIRE_I64, KG_WIRE_I64,
                                     KG_WIRE_I64, KG_WIRE_F32}};
    float c = 1.5f, j = -0.25f;
    double d = 2.25;
    int32_t a = -7, e = 9;
    w.word[0] = KG_ADDR_OUT;
    memcpy(&w.word[1], &a, sizeof a);
    w.word[2] = (uint64_t) - (1ll << 40);
    memcpy(&w.word[3], &c, sizeof c);
    memcpy(&w.word[4], &d, sizeof d);
    memcpy(&w.word[5], &e, sizeof e);
    w.word[6] = 11, w.word[7] = 12, w.word[8] = 13;
    memcpy(&w.word[9], &j, sizeof j);
    struct kg_call_report rep;
    kg_runner_call(&r, &w, kg_clock_ns() + FAR, false, &rep);
    assert_int_equal(rep.status, KG_RUN_OK);
    assert_int_equal(rep.faults, -1);
    const double want[] = {-7, -(double)(1ll << 40), 1.5, 2.25, 9, 11, 12, 13, -0.25};
    for (size_t i = 0; i < N(want); i++) {
        double got;
        memcpy(&got, out.map + i * sizeof got, sizeof got);
        assert_true(got == want[i]);
    }
    /* another list of classes: prepared anew */
    w.nargs = 2;
    kg_runner_call(&r, &w, kg_clock_ns() + FAR, false, &rep);
    assert_int_equal(rep.status, KG_RUN_OK);
    kg_runner_stop(&r);
}

static void at_rest_the_clock_stands_still(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "rest", doubles);
    for (int i = 0; i < 100; i++) {
        struct kg_call_report rep = call(&r, 16000);
        assert_int_equal(rep.status, KG_RUN_OK);
        assert_true(rep.idle_cpu_ns <= KG_IDLE_SLACK_PINNED_NS);
        assert_true(kg_runner_idle_ns(&r) <= KG_IDLE_SLACK_PINNED_NS);
    }
    kg_runner_stop(&r);
}

static void crashes_are_noted_with_their_signal(void **state)
{
    (void)state;
    static const struct {
        const char *name, *body;
        int signal;
        bool write;
        uint64_t address;
    } golden[] = {
        {"read_null", "volatile float *p = 0; y[0] = p[n];", SIGSEGV, false, 400},
        {"write_null", "volatile float *p = 0; p[n] = 1;", SIGSEGV, true, 400},
        {"write_input", "((volatile float *)x)[3] = 1;", SIGSEGV, true, KG_ADDR_IN + 12},
        {"divide", "volatile int64_t z = 0; y[0] = n / z;", SIGFPE, false, 0},
        {"illegal", "__builtin_trap();", SIGILL, false, 0},
        {"aborts", "abort();", SIGABRT, false, 0},
        {"raises", "raise(SIGSEGV);", SIGSEGV, false, 0},
        {"overflow", "volatile char a[4096]; a[0] = n; f(x, (float *)a, n); y[0] = a[0];", SIGSEGV,
         true, 0},
        {"protection", "*(volatile char *)0x8000000000000000ull = 1;", SIGSEGV, false, 0},
    };
    for (size_t i = 0; i < N(golden); i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "#include <stdint.h>\n#include <stdlib.h>\n#include <signal.h>\n"
                 "void f(const float *x, float *y, int64_t n) { %s }\n",
                 golden[i].body);
        struct kg_runner r;
        start(&r, golden[i].name, text);
        struct kg_call_report rep = call(&r, 100);
        assert_int_equal(rep.status, KG_RUN_DIED);
        assert_int_equal(call(&r, 100).status, KG_RUN_DIED); /* and stays so */
        kg_runner_stop(&r);
        if (kg_runner_signal(&r) != golden[i].signal) {
            fail_msg("%s: signal %d, exit kind %d code %d", golden[i].name, kg_runner_signal(&r),
                     (int)r.sandbox.exit.kind, r.sandbox.exit.code);
        }
        assert_int_equal(r.wire->fault_signal, golden[i].signal);
        assert_int_equal(r.wire->fault_write, golden[i].write);
        if (golden[i].address) {
            assert_int_equal(r.wire->fault_address, golden[i].address);
        }
    }
}

static void exit_inside_a_call(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "exits", "#include <unistd.h>\nvoid f(void) { _exit(7); }\n");
    int64_t before = kg_clock_ns();
    assert_int_equal(call(&r, 1).status, KG_RUN_DIED);
    assert_true(kg_clock_ns() - before < FAR / 2); /* noticed, not waited out */
    kg_runner_stop(&r);
    assert_int_equal(r.sandbox.exit.kind, KG_EXIT_CODE);
    assert_int_equal(r.sandbox.exit.code, 7);
}

static void endless_loop_meets_its_deadline(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "loops", "void f(void) { for (volatile int i = 0;; i++) {} }\n");
    int64_t before = kg_clock_ns();
    assert_int_equal(call_within(&r, 1, 60 * MS).status, KG_RUN_TIMEOUT);
    assert_true(kg_clock_ns() - before >= 60 * MS);
    assert_int_equal(call(&r, 1).status, KG_RUN_TIMEOUT); /* no second chance */
    kg_runner_stop(&r);
    assert_int_equal(r.sandbox.exit.kind, KG_EXIT_KILLED);
}

/* All of kgym stands still for longer than the deadline, as in a container that is paused. The work
 * takes 600 milliseconds that it sees, of which the pause is one. */
static void a_pause_of_the_broker_moves_the_deadline(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "works",
          "#include <time.h>\n"
          "void f(void) { struct timespec t; long last = 0;\n"
          "  for (int seen = 0; seen < 600; last = t.tv_nsec / 1000000) {\n"
          "    clock_gettime(CLOCK_MONOTONIC, &t); seen += t.tv_nsec / 1000000 != last; } }\n");
    int64_t before = kg_clock_ns(), lost = kg_clock_lost_ns();
    pid_t broker = getpid(), pauses = fork();
    if (pauses == 0) {
        usleep(200000);
        kill(broker, SIGSTOP);
        kill(r.sandbox.pid, SIGSTOP);
        usleep(3500000);
        kill(r.sandbox.pid, SIGCONT);
        kill(broker, SIGCONT);
        _exit(0);
    }
    assert_int_equal(call_within(&r, 1, 2000 * MS).status, KG_RUN_OK);
    assert_true(kg_clock_ns() - before > 3000 * MS); /* it was paused inside the call */
    assert_in_range(kg_clock_lost_ns() - lost, 3000 * MS, 10000 * MS);
    waitpid(pauses, NULL, 0);
    kg_runner_stop(&r);
}

/* done written with anything but the call's number must neither end the call nor blind the wait. */
static void forged_done_words_are_no_answer(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "forges",
          "#include <stdint.h>\n"
          "void f(void) { volatile uint32_t *done = (uint32_t *)(0x100000000000ull + 4);\n"
          "  for (uint32_t i = 2;; i++) *done = i | 2; }\n");
    assert_int_equal(call_within(&r, 1, 60 * MS).status, KG_RUN_TIMEOUT);
    kg_runner_stop(&r);
}

static void output_flood_is_counted_not_kept(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "floods",
          "#include <unistd.h>\n#include <string.h>\n"
          "void f(void) { char b[4096]; memset(b, 'x', sizeof b);\n"
          "  write(1, \"first\", 5); write(2, \"oops\", 4);\n"
          "  for (int i = 0; i < 512; i++) write(1, b, sizeof b);\n"
          "  write(1, \"last\", 4); }\n");
    assert_int_equal(call(&r, 1).status, KG_RUN_OK);
    kg_runner_stop(&r);
    const struct kg_output *o = &r.output[0];
    assert_int_equal(o->bytes, 512 * 4096 + 9);
    assert_int_equal(o->head_len, 2048);
    assert_int_equal(o->tail_len, 2048);
    assert_memory_equal(o->head, "firstxxx", 8);
    assert_memory_equal(o->tail + 2048 - 8, "xxxxlast", 8);
    assert_int_equal(r.output[1].bytes, 4);
    assert_int_equal(r.output[1].tail_len, 0);
    assert_memory_equal(r.output[1].head, "oops", 4);
}

static const char thread_text[] =
    "#include <pthread.h>\n#include <stdint.h>\n"
    "static float *at;\n"
    "static void *spin(void *p) { for (;;) { at[0] += 1; __asm__ volatile(\"\" ::: \"memory\"); }\n"
    "  return 0; }\n"
    "void f(const float *x, float *y, int64_t n)\n"
    "{ static pthread_t t; at = y; if (!t) pthread_create(&t, 0, spin, 0);\n"
    "  for (volatile int i = 0; i < 3000000; i++) {} }\n";

static void threads_left_behind_are_stopped(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "thread", thread_text);
    for (int i = 0; i < 5; i++) {
        struct kg_call_report rep = call(&r, 1);
        assert_true(rep.status == KG_RUN_OK || rep.status == KG_RUN_ACTIVE);
        assert_int_equal(rep.threads, 2);
        assert_true(r.frozen);
        float before = floats(&out)[0];
        struct timespec pause = {.tv_sec = 0, .tv_nsec = 3 * MS};
        nanosleep(&pause, NULL);
        assert_true(floats(&out)[0] == before); /* nothing writes while it is frozen */
        assert_true(kg_runner_idle_ns(&r) <= r.idle_slack_ns);
    }
    kg_runner_stop(&r);
}

/* Says done and works on. %s: how it passes the time before. */
static const char early_text[] =
    "#include <linux/futex.h>\n#include <stdint.h>\n#include <sys/syscall.h>\n#include <time.h>\n"
    "#include <unistd.h>\n"
    "void f(const float *x, float *y, int64_t n)\n"
    "{ uint32_t *w = (uint32_t *)0x100000000000ull;\n"
    "  __atomic_store_n(&w[1], w[0], __ATOMIC_RELEASE);\n"
    "  syscall(SYS_futex, &w[1], FUTEX_WAKE, 1, 0, 0, 0);\n"
    "  %s\n"
    "  for (volatile int i = 0; i < 30000000; i++) {} }\n";

/* Whatever the runner does, and when: no CPU time of its is missing from the report. */
static void no_cpu_time_is_free(void **state)
{
    (void)state;
    char text[1024];
    snprintf(text, sizeof text, early_text, "for (volatile int i = 0; i < 20000; i++) {} return;");
    struct kg_runner r;
    start(&r, "free", text);
    int64_t reported = 0, first = cpu_time(&r);
    for (int i = 0; i < 50; i++) {
        struct kg_call_report rep = call(&r, 1);
        assert_true(rep.status == KG_RUN_OK || rep.status == KG_RUN_ACTIVE);
        reported += rep.window_ns + rep.tail_cpu_ns + rep.idle_cpu_ns;
    }
    assert_true(cpu_time(&r) - first <= reported + kg_runner_idle_ns(&r));
    assert_true(cpu_time(&r) - first > 50 * 5000);
    kg_runner_stop(&r);
}

static void work_after_done_is_activity(void **state)
{
    (void)state;
    char text[1024];
    snprintf(text, sizeof text, early_text, "");
    struct kg_runner r;
    start(&r, "early", text);
    struct kg_call_report rep = call(&r, 1);
    assert_int_equal(rep.status, KG_RUN_ACTIVE);
    assert_true(rep.tail_cpu_ns > KG_TAIL_SLACK_NS);
    assert_true(r.frozen); /* it would have gone on */
    kg_runner_stop(&r);
}

/* The next call would be over when it begins. The test writes in the candidate's place, so that it
 * does not matter when the broker looks. */
static void an_answer_in_advance_is_noticed(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "advance", doubles);
    assert_int_equal(call(&r, 1).status, KG_RUN_OK);
    atomic_store(&r.wire->done, 2);
    assert_int_equal(call(&r, 1).status, KG_RUN_PROTOCOL);
    assert_int_equal(atomic_load(&r.wire->go), 1); /* it was not made */
    assert_int_equal(call(&r, 1).status, KG_RUN_PROTOCOL);
    kg_runner_stop(&r);
}

static void start_that_sleeps(struct kg_runner *r)
{
    char text[1024];
    snprintf(text, sizeof text, early_text,
             "{ uint32_t z = 0; struct timespec t = {0, 1000000};\n"
             "  syscall(SYS_futex, &z, FUTEX_WAIT, 0, &t, 0, 0); }");
    start(r, "wakes", text);
    struct kg_call_report rep = call(r, 1);
    assert_true(rep.status == KG_RUN_OK || rep.status == KG_RUN_ACTIVE);
}

/* One that sleeps, but not until the next call, would wake in another's time, and could write to
 * the outputs that the reference has just written. */
static void a_sleeper_is_stopped(void **state)
{
    (void)state;
    struct kg_runner r;
    start_that_sleeps(&r);
    assert_true(r.frozen);
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 10 * MS};
    nanosleep(&pause, NULL);
    assert_true(kg_runner_idle_ns(&r) <= r.idle_slack_ns);
    kg_runner_stop(&r);
}

static void a_runner_that_waits_is_not_stopped(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "waits", "void f(void) {}\n");
    assert_int_equal(call(&r, 1).status, KG_RUN_OK);
    assert_true(r.syscall_fd < 0 || !r.frozen);
    kg_runner_stop(&r);
}

/* The first thread has left: it is a zombie, and another goes on. */
static void a_process_without_its_first_thread_is_stopped(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "leaves",
          "#include <linux/futex.h>\n#include <pthread.h>\n#include <stdint.h>\n"
          "#include <sys/syscall.h>\n#include <time.h>\n#include <unistd.h>\n"
          "static uint32_t *const w = (uint32_t *)0x100000000000ull;\n"
          "static void *go_on(void *p) { struct timespec t = {0, 5000000}; nanosleep(&t, 0);\n"
          "  __atomic_store_n(&w[1], w[0], __ATOMIC_RELEASE);\n"
          "  syscall(SYS_futex, &w[1], FUTEX_WAKE, 1, 0, 0, 0);\n"
          "  for (;;) { t.tv_nsec = 1000000; nanosleep(&t, 0); } return p; }\n"
          "void f(const float *x, float *y, int64_t n)\n"
          "{ pthread_t t; pthread_create(&t, 0, go_on, 0); syscall(SYS_exit, 0); }\n");
    struct kg_call_report rep = call(&r, 1);
    assert_true(rep.status == KG_RUN_OK || rep.status == KG_RUN_ACTIVE);
    assert_true(r.frozen);
    kg_runner_stop(&r);
}

/* By whatever way it came to run: its clock shows it. */
static void work_between_calls_is_activity(void **state)
{
    (void)state;
    struct kg_runner r;
    start_that_sleeps(&r);
    assert_true(kg_sandbox_thaw(&r.sandbox));
    r.frozen = false;
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 10 * MS};
    nanosleep(&pause, NULL);
    assert_true(kg_runner_idle_ns(&r) > r.idle_slack_ns);
    struct kg_call_report rep = call(&r, 1);
    assert_int_equal(rep.status, KG_RUN_ACTIVE);
    assert_true(rep.idle_cpu_ns > r.idle_slack_ns);
    kg_runner_stop(&r);
}

/* The time until it may load is kgym's own: a deadline that is over is the object's. */
static void a_deadline_that_is_over_is_a_timeout(void **state)
{
    (void)state;
    struct kg_runner r;
    const char *hangs =
        "__attribute__((constructor)) static void c(void) { for (volatile int i = 0;; i++) {} }\n"
        "void f(void) {}\n";
    assert_int_equal(start_status(&r, "late", hangs, "", -MS), KG_RUN_TIMEOUT);
    kg_runner_stop(&r);
}

/* On the core that all share, what is left in a pipe would be read in the next runner's time. */
static void output_is_read_before_the_call_is_over(void **state)
{
    (void)state;
    struct kg_runner r;
    bool inherited[256]; /* pipes of whoever runs the tests */
    for (int fd = 3; fd < 256; fd++) {
        inherited[fd] = fcntl(fd, F_GETFD) >= 0;
    }
    start(&r, "talks",
          "#include <string.h>\n#include <unistd.h>\n"
          "void f(void) { static char b[60000]; memset(b, 'x', sizeof b);\n"
          "  if (write(1, b, sizeof b) < 0) _exit(1); }\n");
    assert_int_equal(call(&r, 1).status, KG_RUN_OK);
    for (int fd = 3; fd < 256; fd++) {
        struct stat st;
        int left = 0;
        if (!inherited[fd] && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) &&
            ioctl(fd, FIONREAD, &left) == 0) {
            assert_int_equal(left, 0);
        }
    }
    kg_runner_stop(&r);
    assert_int_equal(r.output[0].bytes, 60000);
}

static void missing_entry_is_told_apart(void **state)
{
    (void)state;
    struct kg_runner r;
    assert_int_equal(start_status(&r, "noentry", "void g(void) {}\n", "", FAR), KG_RUN_NO_ENTRY);
    assert_non_null(strstr(r.note, "undefined symbol: f"));
    assert_int_equal(call(&r, 1).status, KG_RUN_NO_ENTRY);
    kg_runner_stop(&r);
}

static void unresolved_symbol_fails_to_load(void **state)
{
    (void)state;
    struct kg_runner r;
    enum kg_run_status s = start_status(
        &r, "unresolved", "void nowhere(void); void f(void) { nowhere(); }\n", "", FAR);
    assert_int_equal(s, KG_RUN_LOAD_FAILED);
    assert_non_null(strstr(r.note, "nowhere"));
    kg_runner_stop(&r);
}

static void constructor_that_exits(void **state)
{
    (void)state;
    struct kg_runner r;
    enum kg_run_status s = start_status(&r, "ctor_exit",
                                        "#include <unistd.h>\n__attribute__((constructor)) static "
                                        "void c(void) { _exit(3); }\nvoid f(void) {}\n",
                                        "", FAR);
    assert_int_equal(s, KG_RUN_DIED); /* the same status as a failing boot, yet not an error */
    kg_runner_stop(&r);
    assert_int_equal(r.sandbox.exit.code, 3);
}

static void constructor_that_hangs(void **state)
{
    (void)state;
    struct kg_runner r;
    enum kg_run_status s = start_status(
        &r, "ctor_hang",
        "__attribute__((constructor)) static void c(void) { for (volatile int i = 0;; i++) {} }\n"
        "void f(void) {}\n",
        "", 400 * MS);
    assert_int_equal(s, KG_RUN_TIMEOUT);
    kg_runner_stop(&r);
}

/* A constructor may write anything into the control page; the note reaches messages. */
static void forged_note_is_made_printable(void **state)
{
    (void)state;
    char text[1024];
    snprintf(text, sizeof text,
             "#include <stdint.h>\n#include <string.h>\n#include <unistd.h>\n"
             "__attribute__((constructor)) static void c(void) {\n"
             "  char *w = (char *)0x100000000000ull; memset(w + %zu, 1, 256);\n"
             "  memcpy(w + %zu, \"a\\x1b[2Jb\", 6); *(uint32_t *)(w + 8) = 3; _exit(0); }\n"
             "void f(void) {}\n",
             offsetof(struct kg_wire, note), offsetof(struct kg_wire, note));
    struct kg_runner r;
    assert_int_equal(start_status(&r, "note", text, "", FAR), KG_RUN_LOAD_FAILED);
    assert_memory_equal(r.note, "a?[2Jb", 6);
    assert_true(strlen(r.note) == 255);
    kg_runner_stop(&r);
}

static void page_faults_are_counted_from_outside(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "pages",
          "#include <stdint.h>\n#include <sys/mman.h>\n"
          "void f(const float *x, float *y, int64_t n) { if (!n) return;\n"
          "  char *p = mmap(0, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
          "  for (int i = 0; i < 1 << 20; i += 4096) p[i] = 1; munmap(p, 1 << 20); }\n");
    call(&r, 0);
    assert_in_range(call(&r, 0).faults, 0, 8);
    assert_true(call(&r, 1).faults >= 1); /* 256, or one where pages are 2 MB */
    kg_runner_stop(&r);
}

static void fork_is_refused(void **state)
{
    (void)state;
    struct kg_runner r;
    start(
        &r, "forks",
        "#include <errno.h>\n#include <stdint.h>\n#include <unistd.h>\n"
        "void f(const float *x, float *y, int64_t n)\n"
        "{ errno = 0; int p = fork(); if (p == 0) _exit(0); y[0] = p; y[1] = errno == EPERM; }\n");
    bool sealed = (r.sandbox.isolation.has & KG_STEP_SECCOMP) != 0;
    if (sealed) {
        assert_int_equal(call(&r, 1).status, KG_RUN_OK);
        assert_true(floats(&out)[0] == -1);
        assert_true(floats(&out)[1] == 1);
    }
    kg_runner_stop(&r);
    if (!sealed) {
        printf("skip: no seccomp here\n");
        skip();
    }
}

static void a_runner_that_cannot_start_is_an_error(void **state)
{
    (void)state;
    struct kg_runner_spec spec = spec_of(cobject_build("unused", doubles, ""));
    struct kg_runner r;
    struct kg_err err = KG_ERR_INIT;
    enum kg_run_status status;
    spec.program = "/bin/false";
    assert_int_equal(kg_runner_start(&spec, kg_clock_ns() + FAR, &r, &status, &err), KG_E_HOST);
    assert_non_null(strstr(err.message, "runner: it ended before it was ready (status 1)"));
    assert_int_equal(err.blame, KG_BLAME_HOST);
    kg_runner_stop(&r); /* idempotent, after a failed start too */
    spec = spec_of(spec.object);
    char name[200];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    spec.entry = name;
    assert_int_equal(kg_runner_start(&spec, kg_clock_ns() + FAR, &r, &status, &err), KG_E_LIMIT);
    assert_string_equal(err.message, "runner: the entry's name has 199 characters (at most 127)");
}

static void a_death_between_calls_is_noticed(void **state)
{
    (void)state;
    struct kg_runner r;
    start(&r, "dies", doubles);
    assert_int_equal(call(&r, 1).status, KG_RUN_OK);
    kill(r.sandbox.pid, SIGKILL);
    int64_t before = kg_clock_ns();
    assert_int_equal(call(&r, 1).status, KG_RUN_DIED);
    assert_true(kg_clock_ns() - before < FAR / 2);
    kg_runner_stop(&r);
    kg_runner_stop(&r);
    assert_int_equal(call(&r, 1).status, KG_RUN_DIED);
}

static int set_up(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    cpu_set_t set;
    cpu = sched_getcpu(); /* one core for broker and runner: there the CPU clock is exact */
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    return kg_region_create(1 << 20, true, &in, &err) != KG_OK ||
           kg_region_map(&in, true, true, &err) != KG_OK ||
           kg_region_create(1 << 20, false, &out, &err) != KG_OK ||
           kg_region_map(&out, false, true, &err) != KG_OK;
}

static int tear_down(void **state)
{
    (void)state;
    kg_region_destroy(&in);
    kg_region_destroy(&out);
    cobject_clean();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_object_answers_every_call),
        cmocka_unit_test(every_class_of_argument_arrives),
        cmocka_unit_test(at_rest_the_clock_stands_still),
        cmocka_unit_test(crashes_are_noted_with_their_signal),
        cmocka_unit_test(exit_inside_a_call),
        cmocka_unit_test(endless_loop_meets_its_deadline),
        cmocka_unit_test(a_pause_of_the_broker_moves_the_deadline),
        cmocka_unit_test(forged_done_words_are_no_answer),
        cmocka_unit_test(output_flood_is_counted_not_kept),
        cmocka_unit_test(threads_left_behind_are_stopped),
        cmocka_unit_test(no_cpu_time_is_free),
        cmocka_unit_test(work_after_done_is_activity),
        cmocka_unit_test(an_answer_in_advance_is_noticed),
        cmocka_unit_test(a_sleeper_is_stopped),
        cmocka_unit_test(a_runner_that_waits_is_not_stopped),
        cmocka_unit_test(a_process_without_its_first_thread_is_stopped),
        cmocka_unit_test(work_between_calls_is_activity),
        cmocka_unit_test(a_deadline_that_is_over_is_a_timeout),
        cmocka_unit_test(output_is_read_before_the_call_is_over),
        cmocka_unit_test(missing_entry_is_told_apart),
        cmocka_unit_test(unresolved_symbol_fails_to_load),
        cmocka_unit_test(constructor_that_exits),
        cmocka_unit_test(constructor_that_hangs),
        cmocka_unit_test(forged_note_is_made_printable),
        cmocka_unit_test(page_faults_are_counted_from_outside),
        cmocka_unit_test(fork_is_refused),
        cmocka_unit_test(a_runner_that_cannot_start_is_an_error),
        cmocka_unit_test(a_death_between_calls_is_noticed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
