/* A candidate is stopped while it is not called, with all that it started: on a CPU always, and
 * while it is timed, or is on a GPU, if it works then. Skipped where Python lacks torch; children,
 * where the host has no freezer. */
#include "torch_eval_rig.h"

#include "gym/torch/executor/torch_worker.h"

#define MODEL   "class ModelNew(nn.Module):\n    def forward(self, x):\n"
#define DOUBLES "        return x * 2\n"
#define SOME    10 /* timed calls of the candidate, at least, after it was seen to work */

static void put_slow(const char *name, const char *seconds)
{
    char text[700];
    snprintf(text, sizeof text,
             HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
                  "        until = time.monotonic() + %s\n"
                  "        while time.monotonic() < until:\n            pass\n"
                  "        return x * 2\n\n\n"
                  "def get_inputs():\n    return [torch.randn(8, 8)]\n\n\n"
                  "def get_init_inputs():\n    return []\n",
             seconds);
    put(name, text);
}

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = 2;
    if (rig_open() != 0) {
        return -1;
    }
    put_slow("slow.py", "0.05");
    put_slow("brief.py", "0.01");
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

/* Times this candidate where windows are no times. What it did between its calls, from the record's
 * evidence. */
static int64_t stops_in_timing(const char *candidate, double *between_s)
{
    struct kg_record r;
    worker->config.timing_blocks = worker->config.timing_min_blocks = 3;
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = true};
    judge("brief.py", candidate, KG_ST_TIMING, &r);
    if (r.has_error || r.verdict != KG_V_OK) {
        fail_msg("%s", r.has_error ? r.error.message : r.message);
    }
    const json_t *pairs = evidence(&r, "pairs");
    int64_t stops = number(pairs, "stops");
    *between_s = 1e-9 * (double)number(pairs, "worked_between_ns");
    print_message("stopped %d times, worked for %.4f s between calls\n", (int)stops, *between_s);
    kg_record_deinit(&r);
    return stops;
}

static void who_works_between_timed_calls_is_stopped(void **state)
{
    (void)state;
    double between;
    need_torch();
    assert_int_equal(stops_in_timing(HEAD MODEL DOUBLES, &between), 0);
    /* A thread from the twentieth call on, which needs no lock of Python's. */
    assert_in_range(
        stops_in_timing(
            HEAD "import hashlib, threading\n\nwork = ('sha256', b'a', b'b', 10**9)\n\n\n" MODEL
                 "        self.calls = getattr(self, 'calls', 0) + 1\n"
                 "        if self.calls == 20:\n"
                 "            threading.Thread(target=hashlib.pbkdf2_hmac, args=work, daemon=True)"
                 ".start()\n" DOUBLES,
            &between),
        SOME, 1000);
    assert_true(between < 0.5); /* it is seen after a few calls */
}

/* A tenth of the time is too much, too. */
static void who_works_now_and_then_is_stopped(void **state)
{
    (void)state;
    double between;
    need_torch();
    assert_in_range(
        stops_in_timing(
            HEAD "import threading\n\n\ndef now_and_then():\n    while True:\n"
                 "        until = time.thread_time() + 0.001\n"
                 "        while time.thread_time() < until:\n            pass\n"
                 "        time.sleep(0.009)\n\n\n" MODEL
                 "        self.calls = getattr(self, 'calls', 0) + 1\n"
                 "        if self.calls == 20:\n"
                 "            threading.Thread(target=now_and_then, daemon=True).start()\n" DOUBLES,
            &between),
        1, 1000);
}

static void whose_child_works_is_stopped(void **state)
{
    (void)state;
    double between;
    need_torch();
    if (!kg_sandbox_caps()->freezer) {
        print_message("skip: the host has no freezer of control groups\n");
        skip();
    }
    assert_in_range(
        stops_in_timing(
            HEAD MODEL
            "        if not hasattr(self, 'child'):\n            self.child = os.fork()\n"
            "            while self.child == 0:\n                pass\n" DOUBLES,
            &between),
        SOME, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_stopped_between_calls),
        cmocka_unit_test(who_works_between_timed_calls_is_stopped),
        cmocka_unit_test(who_works_now_and_then_is_stopped),
        cmocka_unit_test(whose_child_works_is_stopped),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
