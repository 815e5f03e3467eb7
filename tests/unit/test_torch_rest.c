/* A candidate on a CPU is stopped while it is not called, with all that it started. Skipped where
 * Python lacks torch, or where the host has no freezer. */
#include "torch_eval_rig.h"

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = 2;
    if (rig_open() != 0) {
        return -1;
    }
    put("slow.py", HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
                        "        until = time.monotonic() + 0.05\n"
                        "        while time.monotonic() < until:\n            pass\n"
                        "        return x * 2\n\n\n"
                        "def get_inputs():\n    return [torch.randn(8, 8)]\n\n\n"
                        "def get_init_inputs():\n    return []\n");
    return 0;
}

/* Two children spin. Each adds up the CPU time that it takes between the calls of the module. */
static const char spins[] =
    HEAD "import mmap, struct\n\n\n"
         "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
         "        self.page = mmap.mmap(-1, 4096)\n        self.last = None\n"
         "        self.between = 0.0\n        self.calls = 0\n"
         "        for child in range(2):\n            if os.fork() == 0:\n"
         "                while True:\n"
         "                    self.page[8 * child:8 * child + 8] = struct.pack('d', "
         "time.process_time())\n\n"
         "    def used(self):\n        return sum(struct.unpack('dd', self.page[:16]))\n\n"
         "    def forward(self, x):\n        now = self.used()\n"
         "        if self.last is not None:\n            self.between += now - self.last\n"
         "        self.calls += 1\n"
         "        os.write(1, b'%d %.6f\\n' % (self.calls, self.between))\n"
         "        y = x * 2\n        self.last = self.used()\n        return y\n";

static void children_are_stopped_between_calls(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    if (!kg_sandbox_caps()->freezer) {
        print_message("skip: the host has no freezer of control groups\n");
        skip();
    }
    judge("slow.py", spins, KG_ST_FULL, &r);
    if (r.has_error || r.verdict != KG_V_OK) {
        fail_msg("%s", r.has_error ? r.error.message : r.message);
    }
    const char *said = r.output.stdout_text, *last = said;
    for (const char *p = said; p && (p = strchr(p, '\n')) && p[1]; p++) {
        last = p + 1;
    }
    int calls = 0;
    double between = -1;
    assert_non_null(last);
    assert_int_equal(sscanf(last, "%d %lf", &calls, &between), 2);
    print_message("%d calls, children took %.3f s between them\n", calls, between);
    assert_true(calls >= 5);
    /* The reference takes 0.05 s twice for each new input; they would have most of that. */
    assert_true(between < 0.015 * calls);
    kg_record_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_stopped_between_calls),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
