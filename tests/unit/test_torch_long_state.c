/* Problems with more state than one reply or one command holds, on the CPU: all of it is loaded,
 * all of it counts, and so does all that calls change. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#define ENDS(COLS)                                                                                 \
    "\n\ndef get_inputs():\n    return [torch.randn(3, " COLS ")]\n\n\n"                           \
    "def get_init_inputs():\n    return []\n"

/* n scalars, each in a column of its own. */
#define SCALARS(NAME, LAST)                                                                        \
    "class " NAME "(nn.Module):\n    def __init__(self):\n"                                        \
    "        super().__init__()\n"                                                                 \
    "        self.w = nn.ParameterList([torch.randn(()) for _ in range(n)])\n\n"                   \
    "    def forward(self, x):\n        w = torch.stack(list(self.w))\n" LAST                      \
    "        return x * w\n"

/* Buffers that each call changes, of which the answer shows the sum. */
#define COUNTS(NAME, LAST)                                                                         \
    "class " NAME "(nn.Module):\n    def __init__(self):\n"                                        \
    "        super().__init__()\n"                                                                 \
    "        for i in range(n):\n"                                                                 \
    "            self.register_buffer('b%d' % i, torch.rand(3))\n\n"                               \
    "    def forward(self, x):\n        state = list(self.buffers())\n" LAST                       \
    "        y = x + sum(state)\n"                                                                 \
    "        for b in state:\n            b.mul_(0.5).add_(x[0])\n        return y\n"

#define CHANGES(NAME)                                                                              \
    "class " NAME "(nn.Module):\n    def __init__(self):\n        super().__init__()\n"            \
    "        self.w = nn.Parameter(torch.randn(4096, n))\n"                                        \
    "        self.norm = nn.BatchNorm1d(n)\n\n"                                                    \
    "    def forward(self, x):\n        return self.norm(x) * self.w.mean(0)\n"

/* The text, after imports and the number n. */
static const char *source_of(const char *text, int n)
{
    static char source[2000];
    int len = snprintf(source, sizeof source, HEAD "n = %d\n\n\n%s", n, text);
    assert_in_range(len, 1, sizeof source - 1);
    return source;
}

static void judges(const char *name, const char *text, int n, const char *want)
{
    char got[200];
    struct kg_record r;
    judge(name, source_of(text, n), KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    if (strcmp(got, want) != 0) {
        print_error("%s: %s, not %s\n", r.has_error ? r.error.message : r.message, got, want);
    }
    assert_string_equal(got, want);
    kg_record_deinit(&r);
}

static void parameters(void **state)
{
    (void)state;
    need_torch();
    put("many.py", source_of(SCALARS("Model", "") ENDS("n"), 5000));
    judges("many.py", SCALARS("ModelNew", ""), 5000, "ok");
    judges("many.py", SCALARS("ModelNew", "        w[4999] += 0.01\n"), 5000, "wrong/value");
    judges("many.py", SCALARS("ModelNew", "        w[300] = w[44]\n"), 5000, "wrong/value");
}

static void most(void **state)
{
    (void)state;
    struct kg_record r;
    char got[200];
    need_torch();
    put("most.py", source_of(SCALARS("Model", "") ENDS("n"), KG_TASK_STATE));
    judges("most.py", SCALARS("ModelNew", ""), KG_TASK_STATE, "ok");
    put("more.py", source_of(SCALARS("Model", "") ENDS("n"), KG_TASK_STATE + 1));
    judge("more.py", HEAD "class ModelNew(nn.Module):\n    pass\n", KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    assert_true(r.has_error && r.error.code == KG_E_PROBLEM);
    assert_non_null(strstr(r.error.message, "state: 8193 tensors, at most 8192 can be judged"));
    kg_record_deinit(&r);
}

/* Changes of a part after the first are compared, and are loaded anew for each call. */
static void changes(void **state)
{
    (void)state;
    need_torch();
    put("counts.py", source_of(COUNTS("Model", "") ENDS("3"), 300));
    judges("counts.py", COUNTS("ModelNew", ""), 300, "ok");
    judges("counts.py",
           "class ModelNew(nn.Module):\n    def __init__(self):\n"
           "        super().__init__()\n"
           "        for i in range(n):\n"
           "            self.register_buffer('b%d' % i, torch.rand(3))\n\n"
           "    def forward(self, x):\n        state = list(self.buffers())\n"
           "        y = x + sum(state)\n"
           "        for b in state[:299]:\n            b.mul_(0.5).add_(x[0])\n"
           "        return y\n",
           300, "wrong/state");
}

/* A call changes state, and so 17 MB of it are kept with every case: not more than there is. */
static void memory(void **state)
{
    (void)state;
    const char *problem = "large.py", *text = CHANGES("ModelNew");
    struct kg_err e = KG_ERR_INIT;
    int cpu = -1;
    need_torch();
    kg_worker_close(worker);
    config.device_memory_mb = 600;
    config.laws = 4;
    kg_worker_cores(&cpu, 1);
    assert_int_equal(kg_worker_open(&config, cpu, NULL, &worker, &e), KG_OK);
    put(problem, source_of(CHANGES("Model") ENDS("n"), 1024));
    judges(problem, text, 1024, "ok");
}

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = 0;
    return rig_open();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters),
        cmocka_unit_test(most),
        cmocka_unit_test(changes),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
