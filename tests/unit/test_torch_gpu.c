/* What records say of the device that times are taken on: facts of a driver's library that is
 * played, while all else runs on the CPU. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <math.h>

#include "gym/device/gpu_facts.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/timing/torch_pairs.h"

static void library(const char *name)
{
    char path[512];
    const char *build = getenv("KGYM_BUILD");
    snprintf(path, sizeof path, "%s/%s", build ? build : "build/release", name);
    setenv("KGYM_LIBNVML", path, 1);
}

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.timing_blocks = config.timing_min_blocks = 1;
    library("libfakenvml.so");
    setenv("FAKE_NVML", "0 0 0 0x24", 1);
    return rig_open();
}

static void judge_on(const char *bus, struct kg_record *r)
{
    struct kg_dj_facts *f = &kg_torch_of(worker)->judge.facts;
    need_torch();
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = true};
    kg_torch_of(worker)->null_half_width = 0.01;
    snprintf(f->bus, sizeof f->bus, "%s", bus);
    expect("affine.py", good, "ok", r);
}

/* A CPU has none. */
static void without_a_gpu(void **state)
{
    (void)state;
    struct kg_record r;
    judge_on("", &r);
    assert_true(json_is_null(json_object_get(r.environment, "gpu")));
    assert_null(evidence(&r, "clocks"));
    kg_record_deinit(&r);
}

static void steady_and_now(void **state)
{
    (void)state;
    struct kg_record r;
    for (int round = 0; round < 2; round++) { /* the library is opened once */
        setenv("FAKE_NVML", round ? "999 0 0 0" : "0 0 0 0x24", 1);
        judge_on("0000:19:00.0", &r);
        const json_t *gpu = json_object_get(r.environment, "gpu");
        assert_string_equal(json_string_value(json_object_get(gpu, "driver")), "580.1");
        assert_true(json_is_false(json_object_get(gpu, "mig")));
        assert_true(json_is_boolean(json_object_get(gpu, "mps")));
        assert_int_equal(number(gpu, "sm_max_mhz"), 1995);
        const json_t *now = evidence(&r, "clocks");
        assert_int_equal(number(now, "sm_mhz"), 1980);
        assert_int_equal(number(now, "memory_mhz"), 3201);
        assert_true(json_is_null(json_object_get(now, "power_mw"))); /* this driver lacks it */
        json_t *slowed = json_pack("[ss]", "power-cap", "heat");
        assert_true(json_equal(json_object_get(now, "slowed"), slowed));
        json_decref(slowed);
        kg_record_deinit(&r);
    }
}

/* Not to be had: the evaluation goes on. */
static void without_the_library(void **state)
{
    (void)state;
    struct kg_record r;
    kg_torch_forget(worker, KG_FORGET_ALL);
    setenv("KGYM_LIBNVML", "/nowhere/libnvidia-ml.so.1", 1);
    judge("affine.py", good, KG_ST_TINY, &r);
    kg_record_deinit(&r);
    judge_on("0000:19:00.0", &r);
    assert_true(json_is_null(json_object_get(r.environment, "gpu")));
    assert_null(evidence(&r, "clocks"));
    kg_record_deinit(&r);
}

static void a_board_that_is_not_there(void **state)
{
    (void)state;
    struct kg_gpu *g;
    struct kg_err err = KG_ERR_INIT;
    library("libfakenvml.so");
    setenv("FAKE_NVML", "0 0 0 0", 1);
    assert_int_equal(kg_gpu_open("0000:99:00.0", &g, &err), KG_E_HOST);
    assert_null(g);
    assert_non_null(strstr(err.message, "knows no GPU"));
    setenv("FAKE_NVML", "9 0 0 0", 1);
    assert_int_equal(kg_gpu_open("0000:19:00.0", &g, &err), KG_E_HOST);
    kg_gpu_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_gpu),
        cmocka_unit_test(steady_and_now),
        cmocka_unit_test(without_the_library),
        cmocka_unit_test(a_board_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
