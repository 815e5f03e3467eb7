/* The public header from a caller's side: what holds for every pool (kgym_cases.h), and for one
 * whose judge is this host: cores that are held, workers that come and go, processes that die, a
 * caller that holds a GPU context. */
#include "kgym_cases.h"

#include <dlfcn.h>

static void test_a_check_of_a_problem(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(quick, 1, 1, 0);
    const struct kgym_task check = {.size = sizeof check, .kind = KGYM_CHECK, .problem = "silu"};
    assert_int_equal(kgym_submit(p, &check, NULL, &err), KGYM_OK);
    struct kgym_result *r = must(p);
    assert_int_equal(r->kind, KGYM_CHECK);
    assert_string_equal(r->verdict, "fit");
    assert_non_null(strstr(r->record, "\"pass\":true"));
    kgym_result_free(r);
    kgym_close(p);
}

static void test_a_held_core_gets_no_task(void **state)
{
    (void)state;
    int core = -1;
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    for (int c = 0; c < CPU_SETSIZE && core < 0; c++) {
        core = CPU_ISSET((unsigned)c, &set) ? c : -1;
    }
    const struct kgym_options o = {.size = sizeof o,
                                   .settings = slow,
                                   .nsettings = 3,
                                   .workers = 1,
                                   .cores = &core,
                                   .ncores = 1};
    struct kgym_pool *p;
    assert_int_equal(kgym_open(&o, &p, &err), KGYM_OK);
    uint64_t id = submit(p, ENDLESS, NULL, 0);
    await_running(p, 1);
    assert_int_equal(kgym_hold_core(p, core, 100, &err), KGYM_E_LIMIT);
    assert_int_equal(kgym_cancel(p, id, &err), KGYM_OK);
    assert_int_equal(kgym_hold_core(p, core, 30000, &err), KGYM_OK);
    kgym_result_free(must(p));
    submit(p, GOOD, NULL, 0);
    assert_null(next(p, 700)); /* it waits: the core is the caller's */
    assert_int_equal(kgym_release_core(p, core, &err), KGYM_OK);
    struct kgym_result *r = must(p);
    assert_string_equal(r->verdict, "ok");
    kgym_result_free(r);
    kgym_close(p);
}

static void test_all_cores_are_held_at_once(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(slow, 3, 2, 0);
    uint64_t id[2] = {submit(p, ENDLESS, NULL, 0), submit(p, ENDLESS "\n", NULL, 0)};
    struct kgym_info info = {.size = sizeof info};
    for (int i = 0; i < 3000 && info.running == 0; i++) { /* one, or on a slow host both */
        assert_int_equal(kgym_info(p, &info, &err), KGYM_OK);
        usleep(5000);
    }
    assert_true(info.running > 0);
    assert_int_equal(kgym_hold_core(p, -1, 100, &err), KGYM_E_LIMIT);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kgym_cancel(p, id[i], &err), KGYM_OK);
    }
    assert_int_equal(kgym_hold_core(p, -1, 30000, &err), KGYM_OK);
    for (int i = 0; i < 2; i++) {
        kgym_result_free(must(p));
    }
    submit(p, GOOD, NULL, 0);
    assert_null(next(p, 500));
    assert_int_equal(kgym_info(p, &info, &err), KGYM_OK);
    assert_true(info.running == 0 && info.queued == 1);
    assert_int_equal(kgym_release_core(p, -1, &err), KGYM_OK);
    struct kgym_result *r = must(p);
    assert_string_equal(r->verdict, "ok");
    kgym_result_free(r);
    kgym_close(p);
}

static void test_workers_come_and_go(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(slow, 3, 1, 0);
    uint64_t id[70];
    for (int i = 0; i < 3; i++) {
        id[i] = submit(p, i == 0 ? ENDLESS : i == 1 ? ENDLESS "\n" : ENDLESS " ", NULL, 0);
    }
    await_running(p, 1);
    assert_int_equal(kgym_resize(p, 3, &err), KGYM_OK);
    /* One problem's few tasks are worth another worker only where those that hold it are not done
     * before; this one never is, and was never prepared. */
    await_running(p, 3);
    assert_int_equal(kgym_resize(p, 1, &err), KGYM_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kgym_cancel(p, id[i], &err), KGYM_OK);
    }
    for (int i = 0; i < 3; i++) {
        kgym_result_free(must(p));
    }
    struct kgym_info info = {.size = sizeof info};
    assert_int_equal(kgym_info(p, &info, &err), KGYM_OK);
    assert_int_equal(info.workers, 1);
    assert_int_equal(kgym_resize(p, 70, &err), KGYM_OK); /* there is no limit of 64 */
    for (int i = 0; i < 70; i++) {
        id[i] = submit(p, "int x;\n", NULL, 0);
    }
    for (int i = 0; i < 70; i++) {
        kgym_result_free(must(p));
    }
    kgym_close(p);
    rig_nothing_left();
}

static void test_a_task_that_takes_two_workers_is_an_error(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(slow, 3, 1, 0);
    uint64_t id = submit(p, ENDLESS, "tag", 0);
    long last = 0;
    for (int i = 0; i < 2; i++) {
        long worker = 0;
        for (int k = 0; k < 3000 && (worker == 0 || worker == last); k++) {
            usleep(2000);
            worker = child_of(child_of(getpid()));
        }
        assert_true(worker > 0 && worker != last);
        usleep(300000);
        kill((pid_t)worker, SIGKILL);
        last = worker;
    }
    struct kgym_result *r = must(p);
    assert_int_equal(r->id, id);
    assert_int_equal(r->error, KGYM_E_GYM);
    assert_non_null(strstr(r->record, "\"batch_id\":\"tag\""));
    kgym_result_free(r);
    submit(p, GOOD, NULL, 0);
    r = must(p);
    assert_string_equal(r->verdict, "ok");
    kgym_result_free(r);
    kgym_close(p);
}

/* A worker that does not answer is killed; the pool goes on. */
static void test_a_worker_that_hangs(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool(slow, 3, 1, 0);
    uint64_t id = submit(p, ENDLESS, NULL, 1.5);
    await_running(p, 1);
    long worker = 0;
    for (int k = 0; k < 1000 && worker == 0; k++) {
        usleep(2000);
        worker = child_of(child_of(getpid()));
    }
    assert_true(worker > 0);
    kill((pid_t)worker, SIGSTOP);
    struct kgym_result *r = must(p);
    assert_int_equal(r->id, id);
    assert_int_equal(r->error, KGYM_E_CANCELLED);
    kgym_result_free(r);
    submit(p, GOOD, NULL, 0);
    r = must(p);
    assert_string_equal(r->verdict, "ok");
    kgym_result_free(r);
    kgym_close(p);
}

static void test_a_program_of_another_version_is_refused(void **state)
{
    (void)state;
    struct kgym_pool *p;
    const struct kgym_options none = {.size = sizeof none, .program = "/nonexistent/kgym"};
    assert_int_equal(kgym_open(&none, &p, &err), KGYM_E_HOST);
    assert_non_null(strstr(err.message, "/nonexistent/kgym"));
    const struct kgym_options folder = {.size = sizeof folder, .program = "/tmp"};
    assert_int_equal(kgym_open(&folder, &p, &err), KGYM_E_HOST);
    assert_non_null(strstr(err.message, "no program that can be executed"));
    const struct kgym_options other = {.size = sizeof other, .program = "/bin/true"};
    assert_int_equal(kgym_open(&other, &p, &err), KGYM_E_HOST);
    assert_non_null(strstr(err.message, "/bin/true"));
    static const char old[] =
        "#!/usr/bin/env python3\n"
        "import os, struct\n"
        "head = b'{\"version\":\"0.0.9\",\"code\":0,\"blame\":0,\"message\":\"\"}'\n"
        "os.read(3, 1 << 20)\n"
        "os.write(3, struct.pack('III', 7, len(head), 0) + head)\n"
        "os.read(3, 1)\n";
    rig_file("old.py", old, strlen(old));
    rig_expect(0, "command -v python3 >/dev/null || exit 9; chmod +x old.py");
    setenv("KGYM_PROGRAM", "./old.py", 1);
    assert_int_equal(kgym_open(NULL, &p, &err), KGYM_E_HOST);
    unsetenv("KGYM_PROGRAM");
    assert_non_null(strstr(err.message, "0.0.9"));
}

/* The driver that plays a GPU on host memory: its context is the caller's, and stays so. */
static void test_a_caller_that_holds_a_gpu_context(void **state)
{
    (void)state;
    char path[600];
    int device = -1;
    void *context = NULL, *current = NULL;
    snprintf(path, sizeof path, "%s/libfakecuda.so", getenv("KGYM_HOME"));
    void *driver = dlopen(path, RTLD_NOW);
    if (!driver) {
        print_error("%s\n", dlerror());
    }
    assert_non_null(driver);
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*get)(int *, int) = (int (*)(int *, int))dlsym(driver, "cuDeviceGet");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*set)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    int (*get_current)(void **) = (int (*)(void **))dlsym(driver, "cuCtxGetCurrent");
    assert_true(init && get && retain && set && get_current);
    assert_int_equal(init(0), 0);
    assert_int_equal(get(&device, 0), 0);
    assert_int_equal(retain(&context, device), 0);
    assert_int_equal(set(context), 0);
    struct kgym_pool *p = open_pool(quick, 1, 1, 0);
    submit(p, GOOD, NULL, 0);
    struct kgym_result *r = must(p);
    assert_string_equal(r->verdict, "ok");
    kgym_result_free(r);
    kgym_close(p);
    assert_int_equal(get_current(&current), 0);
    assert_ptr_equal(current, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KGYM_CASES,
        cmocka_unit_test(test_a_check_of_a_problem),
        cmocka_unit_test(test_a_held_core_gets_no_task),
        cmocka_unit_test(test_all_cores_are_held_at_once),
        cmocka_unit_test(test_workers_come_and_go),
        cmocka_unit_test(test_a_task_that_takes_two_workers_is_an_error),
        cmocka_unit_test(test_a_worker_that_hangs),
        cmocka_unit_test(test_a_program_of_another_version_is_refused),
        cmocka_unit_test(test_a_caller_that_holds_a_gpu_context),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
