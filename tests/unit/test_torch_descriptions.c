/* A description is kept for the next evaluation of the same problem, by this worker or another one,
 * and for nothing else. */
#include "torch_eval_rig.h"

#include <ftw.h>

#include "gym/torch/executor/torch_worker.h"

static char cache[96];

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.stage_timing = false;
    snprintf(cache, sizeof cache, "/tmp/kgym-cache-XXXXXX");
    if (!mkdtemp(cache)) {
        return -1;
    }
    snprintf(config.cache, sizeof config.cache, "%s", cache);
    return rig_open();
}

static int teardown(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    int rc = rig_close(state);
    return kg_file_remove_tree(cache, &err) == KG_OK ? rc : -1;
}

#define TWICE                                                                                      \
    HEAD "n = 16\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n        return x * 2\n"  \
         "\n\ndef get_inputs():\n    return [torch.randn(n, 24)]\n\n\n"                            \
         "def get_init_inputs():\n    return []\n"

static const char right[] =
    HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x + x\n";

/* How many descriptions the reference of a worker was asked for that has left the problem. */
static uint64_t described(const char *want)
{
    struct kg_record r;
    kg_executor_torch.forget(worker, KG_FORGET_PROBLEM);
    uint64_t before = kg_torch_of(worker) ? kg_torch_of(worker)->described : 0;
    expect("twice.py", right, want, &r);
    kg_record_deinit(&r);
    return kg_torch_of(worker)->described - before;
}

/* The same of a worker that is new. */
static uint64_t described_by_another(void)
{
    struct kg_worker *kept = worker;
    struct kg_err err = KG_ERR_INIT;
    int cpu = -1;
    kg_worker_cores(&cpu, 1);
    assert_int_equal(kg_worker_open(&config, cpu, NULL, &worker, &err), KG_OK);
    uint64_t n = described("ok");
    kg_worker_close(worker);
    worker = kept;
    return n;
}

static void another_worker_finds_it(void **state)
{
    (void)state;
    need_torch();
    put("twice.py", TWICE);
    assert_int_equal(described("ok"), 1);
    assert_int_equal(described("ok"), 0);
    assert_int_equal(described_by_another(), 0);
    put("twice.py", TWICE "# another text\n");
    assert_int_equal(described("ok"), 1);
    put("twice.py", TWICE);
    assert_int_equal(described("ok"), 0);
    snprintf(worker->config.precision, sizeof worker->config.precision, "tf32");
    assert_int_equal(described("ok"), 1);
    snprintf(worker->config.precision, sizeof worker->config.precision, "fp32");
}

static int spoil(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)at;
    if (flag == FTW_F && strstr(path, "/tasks/")) {
        FILE *f = fopen(path, "r+b");
        assert_non_null(f);
        fputc('x', f);
        fclose(f);
    }
    return 0;
}

static void a_file_that_is_spoiled_is_none(void **state)
{
    (void)state;
    need_torch();
    put("twice.py", TWICE);
    (void)described("ok");
    assert_int_equal(nftw(cache, spoil, 8, FTW_PHYS), 0);
    assert_int_equal(described("ok"), 1);
    assert_int_equal(described("ok"), 0);
}

static void without_a_cache_nothing_is_kept(void **state)
{
    (void)state;
    need_torch();
    put("twice.py", TWICE);
    snprintf(worker->config.cache, sizeof worker->config.cache, "none");
    assert_int_equal(described("ok"), 1);
    assert_int_equal(described("ok"), 1);
    snprintf(worker->config.cache, sizeof worker->config.cache, "%s", cache);
}

/* What fails is told each time, and its reason with it. */
static void failures_are_not_kept(void **state)
{
    (void)state;
    need_torch();
    put("twice.py", HEAD "class Model(nn.Module):\n    def forward(self, x):\n        return x[9]\n"
                         "\n\ndef get_inputs():\n    return [torch.randn(4)]\n\n\n"
                         "def get_init_inputs():\n    return []\n");
    assert_int_equal(described("error/problem"), 1);
    assert_int_equal(described("error/problem"), 1);
}

/* Whoever draws goes by the description: its first element tells where it was drawn. */
static void inputs_are_drawn_there(void **state)
{
    (void)state;
    static const char seven[] = HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                                     "        assert x[0] == 7\n        return x * 2\n";
    struct kg_record r;
    need_torch();
    put("twice.py", HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
                         "        return x * 2\n\n\ndef get_inputs():\n"
                         "    there = any(type(m).__name__ == 'DeviceContext' for m in\n"
                         "                torch.overrides._get_current_function_mode_stack())\n"
                         "    x = torch.randint(0, 100, (1 << 20,))\n"
                         "    x[0] = 7 if there else 8\n    return [x]\n\n\n"
                         "def get_init_inputs():\n    return []\n");
    expect("twice.py", seven, "crash/exception", &r);
    kg_record_deinit(&r);
    kg_torch_test(worker)->draws_anywhere = true;
    assert_int_equal(described("ok"), 1);
    assert_true(kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].desc.draws_there);
    for (int k = 0; k < 2; k++) { /* by who has described it, and by who has not */
        expect("twice.py", seven, "ok", &r);
        kg_record_deinit(&r);
        assert_int_equal(described("ok"), 0);
    }
    kg_torch_test(worker)->draws_anywhere = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_worker_finds_it),
        cmocka_unit_test(a_file_that_is_spoiled_is_none),
        cmocka_unit_test(without_a_cache_nothing_is_kept),
        cmocka_unit_test(failures_are_not_kept),
        cmocka_unit_test(inputs_are_drawn_there),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
