/* A judge or a candidate's process that is killed from outside while a PyTorch candidate is being
 * called: once is an accident, and so is one of each; the second of one kind is evidence, unless a
 * known-good candidate does not live either. */
#include "torch_kill_rig.h"

static void slow_source(void)
{
    rig_text("slow.py", MODULE "import time\n\n\nclass ModelNew(nn.Module):\n"
                               "    def forward(self, x):\n        time.sleep(1)\n"
                               "        return 2 * torch.relu(x)\n");
}

/* That one of its processes, while a slow candidate is being called. */
static void kill_called(pid_t pid, enum victim kind)
{
    long victim = 0, worker = 0, child[32];
    bool up = false;
    for (int k = 0; k < 20000 && !(up && victim > 0) && !over(pid); k++) {
        int n = workers(pid, &worker, 1) > 0 ? children((pid_t)worker, child, 32) : 0;
        up = false;
        victim = 0;
        for (int c = 0; c < n; c++) {
            bool candidate = is_candidate(child[c]);
            up = up || candidate;
            victim = (kind == JUDGE && is_judge(child[c])) || (kind == CANDIDATE && candidate)
                         ? child[c]
                         : victim;
        }
        rest_ms(2);
    }
    assert_true(up && victim > 0);
    rest_ms(700); /* it is being called */
    rig_note(pid, 3);
    assert_int_equal(kill((pid_t)victim, SIGKILL), 0);
    rest_ms(200);
}

/* A judge that dies once under a candidate is an accident; twice, and not under the reference, is
 * the candidate's doing. */
static void test_a_judge_dies_under_a_candidate(void **state)
{
    (void)state;
    need_torch();
    slow_source();
    for (int times = 1; times <= 2; times++) {
        pid_t pid = rig_start("exec $K eval double.py slow.py --device $D --set laws=0 --json");
        for (int i = 0; i < times; i++) {
            kill_called(pid, JUDGE);
        }
        rig_finish(pid);
        if (rig.out.len == 0) {
            fail_msg("exit status %d: %.2000s", rig.status, rig.err.data);
        }
        json_t *j = rig_json();
        if (!json_is_null(json_object_get(j, "error"))) {
            fail_msg("%.1500s", rig.out.data);
        }
        assert_string_equal(rig_get(j, "verdict"), times == 1 ? "ok" : "crash");
        assert_string_equal(rig_get(j, "reason"), times == 1 ? "" : "protocol");
        json_decref(j);
        rig_nothing_left();
        nobody_left();
    }
}

/* A judge that dies and a candidate that is killed are two accidents, and no proof. */
static void test_two_accidents_prove_nothing(void **state)
{
    (void)state;
    need_torch();
    slow_source();
    pid_t pid = rig_start("exec $K eval double.py slow.py --device $D --set laws=0 --json");
    kill_called(pid, JUDGE);
    kill_called(pid, CANDIDATE);
    rig_finish(pid);
    if (rig.out.len == 0) {
        fail_msg("exit status %d: %.2000s", rig.status, rig.err.data);
    }
    json_t *j = rig_json();
    assert_string_equal(rig_get(j, "verdict"), "ok");
    json_decref(j);
    rig_nothing_left();
    nobody_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_judge_dies_under_a_candidate),
        cmocka_unit_test(test_two_accidents_prove_nothing),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
