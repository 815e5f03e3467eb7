/* What an evaluation becomes when its judge is killed under it, when its disk fills or turns
 * read-only, when the wall clock goes back: the right verdict or an error, never a hang, and the
 * next one is as if nothing had been. test_faults_kills kills every part, at random moments. */
#include "faults_rig.h"
#include "sanitized.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mount.h>

static void expect_error(const char *text)
{
    struct kg_record r;
    judge(0, &r);
    if (!r.has_error || !strstr(r.error.message, text)) {
        fail_msg("%s instead of an error about %s: %s",
                 r.has_error ? "an error" : kg_verdict_name(r.verdict), text,
                 r.has_error ? r.error.message : r.message);
    }
    kg_record_deinit(&r);
}

/* In the first call that it gets, a tiny one, it is at work for long on any processor: each step
 * waits for the last one's product. Steps of a counter in memory took 0.13 s on one. */
static const char slow[] =
    SILU "    static volatile uint64_t last;\n"
         "    uint64_t p = 1;\n"
         "    for (long k = 0; n < 100 && last == 0 && k < 600000000; k++) {\n"
         "        p = p * 6364136223846793005u + 1;\n"
         "    }\n"
         "    last = p;\n"
         "    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (1 + expf(-x[i]));\n"
         "}\n";

#define AT_WORK_TICKS 20 /* of the clock: 0.2 s */

/* References that serve for long have been at work for as long as a candidate. */
static bool is_reference(long pid)
{
    const struct kg_native *n = kg_native_of(worker);
    return n && (pid == n->own.ref.runner.sandbox.pid || pid == n->own.oracle.runner.sandbox.pid);
}

static bool is_at_work(long pid)
{
    char path[64], state = 0;
    unsigned long ticks = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    int n =
        f ? fscanf(f, "%*d %*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &state, &ticks)
          : 0;
    if (f) {
        fclose(f);
    }
    return n == 2 && ticks >= AT_WORK_TICKS;
}

static struct hunt {
    int left; /* judges to kill, one after the other, each while a candidate is in its call */
    _Atomic bool over; /* of that candidate nothing more is to be seen */
} hunt;

static void *kill_judges(void *arg)
{
    int *left = &hunt.left;
    (void)arg;
    while (*left > 0 && !atomic_load(&hunt.over)) {
        long judge = find_victim(getpid(), JUDGE), runner = find_victim(getpid(), RUNNER);
        if (judge > 0 && runner > 0 && judge != killer && !is_reference(runner) &&
            is_at_work(runner) && kill((pid_t)judge, SIGKILL) == 0) {
            --*left;
            rest_us(300000); /* the broker hears of it when the call has ended */
        }
        rest_us(3000);
    }
    return NULL;
}

/* False: the moment was missed. */
static bool judged_while_judges_die(int times, struct kg_record *r)
{
    pthread_t thread;
    struct kg_task t = {.problem = "silu",
                        .text = slow,
                        .len = sizeof slow - 1,
                        .source = true,
                        .stop_after = KG_ST_FULL};
    hunt.left = times;
    atomic_store(&hunt.over, false);
    kg_record_init(r);
    assert_int_equal(pthread_create(&thread, NULL, kill_judges, NULL), 0);
    kg_eval(worker, &t, r);
    atomic_store(&hunt.over, true);
    pthread_join(thread, NULL);
    return hunt.left == 0;
}

/* A judge that dies once under a candidate is an accident; twice, and not under the reference, is
 * the candidate's doing. */
static void test_a_judge_dies_under_a_candidate(void **state)
{
    (void)state;
    for (int times = 1; times <= 2; times++) {
        struct kg_record r;
        int tries = 1;
        while (!judged_while_judges_die(times, &r) && tries++ < 4) {
            kg_record_deinit(&r);
        }
        assert_int_equal(hunt.left, 0);
        if (r.has_error) {
            fail_msg("%d judges killed: an error: %s", times, r.error.message);
        }
        assert_int_equal(r.verdict, times == 1 ? KG_V_OK : KG_V_CRASH);
        assert_string_equal(r.reason ? r.reason : "", times == 1 ? "" : "protocol");
        kg_record_deinit(&r);
        expect_right(0, "after a judge's death");
    }
}

/* Kills a step of the shell that builds; false: it has none yet. */
static bool kill_a_step(long shell)
{
    char path[64];
    long step = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", shell, shell);
    FILE *f = fopen(path, "re");
    bool found = f && fscanf(f, "%ld", &step) == 1 && kill((pid_t)step, SIGKILL) == 0;
    if (f) {
        fclose(f);
    }
    return found;
}

static void *kill_steps(void *arg)
{
    long last = 0; /* a shell loses one step */
    (void)arg;
    while (hunt.left > 0 && !atomic_load(&hunt.over)) {
        long shell = find_victim(getpid(), COMPILER);
        if (shell > 0 && shell != last && shell != killer && kill_a_step(shell)) {
            last = shell;
            hunt.left--;
        }
        rest_us(200);
    }
    return NULL;
}

/* False: the moment was missed. */
static bool judged_while_compilers_die(int times, struct kg_record *r)
{
    pthread_t thread;
    expect_right(0, "before a compiler's death"); /* the references are built */
    hunt.left = times;
    atomic_store(&hunt.over, false);
    assert_int_equal(pthread_create(&thread, NULL, kill_steps, NULL), 0);
    judge(0, r);
    atomic_store(&hunt.over, true);
    pthread_join(thread, NULL);
    return hunt.left == 0 || r->has_error;
}

/* A compiler that the host kills says nothing of the source, whatever the shell prints of it. */
static void test_a_compiler_is_killed(void **state)
{
    (void)state;
    static const int times[] = {1, 3, 1000};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct kg_record r;
        bool hit = false;
        for (int tries = 0; tries < 6 && !hit; tries++) {
            hit = judged_while_compilers_die(times[i], &r);
            if (r.has_error ? times[i] <= 3 : r.verdict != KG_V_OK) {
                fail_msg("%d compilers killed: %s: %s", times[i] - hunt.left,
                         r.has_error ? "an error" : kg_verdict_name(r.verdict),
                         r.has_error ? r.error.message : r.message);
            }
            kg_record_deinit(&r);
        }
        assert_true(hit);
    }
    expect_right(0, "after compilers' deaths");
}

/* A stopped judge keeps an evaluation for its deadline at most; then another judge serves. */
static void test_a_judge_stands_still(void **state)
{
    (void)state;
    struct kg_record r;
    double within = worker->config.deadline_eval;
    kg_worker_reset(worker);
    worker->config.deadline_eval = 5;
    expect_right(0, "before its judge is stopped");
    int64_t before = kg_clock_ns();
    kill(kg_native_of(worker)->judge.pid, SIGSTOP);
    judge(0, &r);
    assert_true(kg_clock_ns() - before >= 5000000000 && kg_clock_ns() - before < 40000000000);
    assert_false(r.has_error);
    assert_int_equal(r.verdict, KG_V_OK);
    kg_record_deinit(&r);
    kg_worker_reset(worker);
    worker->config.deadline_eval = within;
}

static bool has_loaded(pid_t pid)
{
    char path[64], line[600];
    bool loaded = false;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *f = fopen(path, "re");
    while (f && !loaded && fgets(line, sizeof line, f)) {
        /* its own path, or the one that a sandbox with mounts shows */
        loaded = strstr(line, "/ref-float") || strstr(line, "/object.so");
    }
    if (f) {
        fclose(f);
    }
    return loaded;
}

/* Keeps the next runners of the float reference stopped, as many as asked for, until each has been
 * ended. */
static void *stop_references(void *arg)
{
    (void)arg;
    while (hunt.left > 0 && !atomic_load(&hunt.over)) {
        const struct kg_native *n = kg_native_of(worker);
        pid_t pid = n ? n->own.ref.runner.sandbox.pid : 0;
        if (pid > 0 && has_loaded(pid)) {
            rest_us(1000); /* mostly it is ready by then, so that it is late in a call */
            while (!atomic_load(&hunt.over) && kill(pid, SIGSTOP) == 0) {
                rest_us(2000);
            }
            hunt.left--;
        }
        rest_us(100);
    }
    return NULL;
}

static void judged_while_references_stop(int times, struct kg_record *r)
{
    pthread_t thread;
    hunt.left = times;
    atomic_store(&hunt.over, false);
    kg_worker_reset(worker); /* so that expected answers are computed anew */
    assert_int_equal(pthread_create(&thread, NULL, stop_references, NULL), 0);
    judge(0, r);
    atomic_store(&hunt.over, true);
    pthread_join(thread, NULL);
}

/* The moment was missed: one had answered before it was stopped, or both were late when the
 * candidate was there, which is then held for the cause. */
static bool missed_references(int times, const struct kg_record *r)
{
    bool held = r->verdict == KG_V_CRASH && r->reason && strcmp(r->reason, "protocol") == 0;
    return hunt.left > 0 || (times == 2 && !r->has_error && (held || r->verdict == KG_V_OK));
}

/* A reference that is late once is an accident, and twice an error. The next evaluation has another
 * process. */
static void test_a_reference_is_late(void **state)
{
    (void)state;
    if (is_sanitized(getenv("KGYM_BUILD"))) { /* the broker is so slow then that the moment to stop
                                                 a reference is missed */
        printf("skip: release builds only\n");
        skip();
    }
    double within = worker->config.deadline_run;
    worker->config.deadline_run = 1;
    for (int times = 1; times <= 2; times++) {
        struct kg_record r;
        judged_while_references_stop(times, &r);
        for (int more = 4; missed_references(times, &r) && more > 0; more--) {
            kg_record_deinit(&r);
            judged_while_references_stop(times, &r);
        }
        assert_int_equal(hunt.left, 0);
        if (r.has_error != (times == 2)) {
            fail_msg("%d references stopped: %s: %s", times, kg_verdict_name(r.verdict),
                     r.has_error ? r.error.message : r.message);
        }
        assert_true(times == 2 ? r.error.code == KG_E_PROBLEM : r.verdict == KG_V_OK);
        kg_record_deinit(&r);
        expect_right(0, "after a late reference");
    }
    worker->config.deadline_run = within;
}

static void test_the_wall_clock_goes_back(void **state)
{
    (void)state;
    struct kg_record a, b;
    judge(0, &a);
    kg_clock_wall_inject(-400ll * 24 * 3600 * 1000);
    judge(TIMED, &b);
    kg_clock_wall_inject(0);
    assert_int_equal(a.verdict, KG_V_OK);
    assert_int_equal(b.verdict, KG_V_OK);
    assert_true(strcmp(a.id, b.id) < 0); /* ids stay in order */
    assert_true(b.setup_ns >= 0);
    for (int s = 0; s <= KG_ST_TIMING; s++) {
        assert_true(b.stages[s].ns >= 0);
    }
    kg_record_deinit(&a);
    kg_record_deinit(&b);
}

static void fill(void)
{
    char path[400];
    static char chunk[65536];
    snprintf(path, sizeof path, "%s/filler", worker->scratch.path);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    while (write(fd, chunk, sizeof chunk) > 0) {
    }
    while (write(fd, chunk, 1) > 0) {
    }
    close(fd);
}

static void empty(void)
{
    char path[400];
    snprintf(path, sizeof path, "%s/filler", worker->scratch.path);
    unlink(path);
}

static void need_tmpfs(void)
{
    if (!worker->scratch.tmpfs) {
        print_message("skip: scratch is a plain folder here; it cannot be filled alone\n");
        skip();
    }
}

static void test_a_full_scratch_disk(void **state)
{
    (void)state;
    need_tmpfs();
    fill();
    expect_error("scratch: no room left on the disk of ");
    expect_error("scratch: no room left on the disk of ");
    empty();
    expect_right(0, "room again");
}

static void *fill_soon(void *arg)
{
    rest_us(*(long *)arg);
    fill();
    return NULL;
}

static void test_scratch_fills_under_an_evaluation(void **state)
{
    (void)state;
    need_tmpfs();
    int errors = 0;
    for (int i = 0; i < 6; i++) {
        struct kg_record r;
        pthread_t thread;
        long us = (long)kg_rng_below(&rng, 150000);
        assert_int_equal(pthread_create(&thread, NULL, fill_soon, &us), 0);
        judge(0, &r);
        pthread_join(thread, NULL);
        empty();
        if (!r.has_error && r.verdict != KG_V_OK) {
            fail_msg("filled after %ld us: %s/%s: %s", us, kg_verdict_name(r.verdict), r.reason,
                     r.message);
        }
        errors += r.has_error;
        kg_record_deinit(&r);
        expect_right(0, "room again");
    }
    print_message("%d of 6 were errors\n", errors);
}

static void test_scratch_is_emptied(void **state)
{
    (void)state;
    expect_right(0, "before");
    char command[400];
    snprintf(command, sizeof command, "rm -rf %s/*", worker->scratch.path);
    assert_int_equal(system(command), 0);
    kill(kg_native_of(worker)->own.ref.runner.sandbox.pid,
         SIGKILL); /* so that the object is asked for */
    for (int i = 0; i < CANDIDATES; i++) {
        expect_right(i, "what was built is gone");
    }
}

/* This mount alone: a file system with removed files in use refuses. */
static int remount(const char *path, unsigned long flags)
{
    int rc = -1;
    for (int i = 0; i < 100 && rc != 0; i++) {
        rc = mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | flags, NULL);
        rest_us(rc == 0 ? 0 : 20000);
    }
    return rc;
}

static void test_a_scratch_disk_turns_read_only(void **state)
{
    (void)state;
    need_tmpfs();
    const char *path = worker->scratch.path;
    assert_int_equal(remount(path, MS_RDONLY), 0);
    expect_error("Read-only file system");
    assert_int_equal(remount(path, 0), 0);
    expect_right(0, "writable again");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_judge_dies_under_a_candidate),
        cmocka_unit_test(test_a_judge_stands_still),
        cmocka_unit_test(test_a_compiler_is_killed),
        cmocka_unit_test(test_a_reference_is_late),
        cmocka_unit_test(test_the_wall_clock_goes_back),
        cmocka_unit_test(test_a_full_scratch_disk),
        cmocka_unit_test(test_scratch_fills_under_an_evaluation),
        cmocka_unit_test(test_a_scratch_disk_turns_read_only),
        cmocka_unit_test(test_scratch_is_emptied),
    };
    return cmocka_run_group_tests(tests, open_worker, close_worker);
}
