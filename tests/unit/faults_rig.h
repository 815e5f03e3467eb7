/* For tests that break parts of the gym under an evaluation: one worker, a process that kills the
 * asked kind among the worker's children after a random time, and candidates with the verdict that
 * each must get. The seed is printed. Everything is static: each test program has its own. */
#ifndef KG_TESTS_UNIT_FAULTS_RIG_H
#define KG_TESTS_UNIT_FAULTS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "killer.h"

#include "base/clock.h"
#include "base/file.h"
#include "gym/batch/batch.h"
#include "gym/native/native.h"

#define WATCHDOG_S 540

static struct kg_config config;
static struct kg_worker *worker;
static char tmp[128];
static pid_t killer;

/* One worker for all tests. */

static inline int open_worker(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_key key = {{(uint64_t)time(NULL), 11}};
    char hex[33];
    int cpu = -1;
    if (getenv("KGYM_TEST_SEED") && !kg_key_parse(getenv("KGYM_TEST_SEED"), &key)) {
        return -1;
    }
    kg_key_hex(key, hex);
    print_message("seed %s (KGYM_TEST_SEED)\n", hex);
    kg_rng_init(&rng, key, 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(tmp, sizeof tmp, "/tmp/kgym-test-XXXXXX");
    if (shared == MAP_FAILED || !mkdtemp(tmp) || chmod(tmp, 0755) != 0) {
        return -1;
    }
    setenv("TMPDIR", tmp, 1);
    setenv("KGYM_HOME", getenv("KGYM_BUILD"), 1);
    pid_t self = getpid();
    killer = fork();
    if (killer == 0) {
        kill_for_ever(self);
    }
    kg_opts_defaults(kg_config_options(), &config);
    snprintf(config.cache, sizeof config.cache, "none");
    config.limit_scratch_mb = 24;
    config.timing_processes = config.timing_min_processes = 1;
    config.timing_pairs = 6;
    kg_worker_cores(&cpu, 1);
    if (kg_worker_open(&config, cpu, NULL, &worker, &err) != KG_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    alarm(WATCHDOG_S); /* a hang ends the test */
    return 0;
}

static inline int close_worker(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    kg_worker_close(worker);
    kill(killer, SIGKILL);
    waitpid(killer, NULL, 0);
    bool left = waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
    bool folders = rmdir(tmp) != 0;
    if (left || folders) {
        print_error("left behind:%s%s\n", left ? " a process" : "", folders ? " files" : "");
        return kg_file_remove_tree(tmp, &err) == KG_OK ? -1 : -2;
    }
    return 0;
}

/* Candidates: {source, verdict}. Each gets a number, so that it is compiled. */

#define SILU                                                                                       \
    "#include <math.h>\n#include <stdint.h>\nvoid silu(const float *x, float *y, int64_t n)\n{\n"

static const struct {
    const char *source;
    enum kg_verdict verdict;
    enum kg_stage stop;
} candidates[] = {
    {SILU "    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (1 + expf(-x[i]));\n}\n", KG_V_OK,
     KG_ST_FULL},
    {SILU "    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (1 + expf(-x[i]));\n}\n", KG_V_OK,
     KG_ST_PROFILE},
    {SILU "    for (int64_t i = 0; i < n; i++) y[i] = x[i];\n}\n", KG_V_WRONG, KG_ST_FULL},
    {SILU "    y[0] = x[0] + n\n}\n", KG_V_COMPILE_ERROR, KG_ST_FULL},
    {SILU "    __builtin_trap();\n}\n", KG_V_CRASH, KG_ST_FULL},
};
#define CANDIDATES (int)(sizeof candidates / sizeof *candidates)
#define TIMED      1

static inline void judge(int which, struct kg_record *r)
{
    static int number;
    char text[800];
    int n = snprintf(text, sizeof text, "/* %d */\n%s", number++, candidates[which].source);
    struct kg_task t = {.problem = "silu",
                        .text = text,
                        .len = (size_t)n,
                        .source = true,
                        .stop_after = candidates[which].stop};
    kg_record_init(r);
    kg_eval(worker, &t, r);
}

static inline void expect_right(int which, const char *when)
{
    struct kg_record r;
    judge(which, &r);
    if (r.has_error || r.verdict != candidates[which].verdict) {
        fail_msg("%s: candidate %d: %s: %s", when, which,
                 r.has_error ? "error" : kg_verdict_name(r.verdict),
                 r.has_error ? r.error.message : r.message);
    }
    kg_record_deinit(&r);
}

#endif
