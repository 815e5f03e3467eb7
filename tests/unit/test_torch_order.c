/* Answers must be ready on their caller's stream. There is no stream on a CPU: candidates look
 * which call it is, and play one that is not ready. What a device shows is for tools/gpu-check.sh.
 */
#include "torch_eval_rig.h"

#include "gym/torch/executor/torch_worker.h"

/* The flags of the call at hand, 0 at others. */
#define FLAGS                                                                                      \
    "import gc\n\n\ndef flags():\n"                                                                \
    "    for o in gc.get_objects():\n        if type(o).__name__ == \"Runner\":\n"                 \
    "            return o.wire.flags\n    return 0\n\n\n"

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.stage_timing = false;
    return rig_open();
}

static int fresh(void **state)
{
    (void)state;
    *kg_torch_test(worker) = (struct kg_torch_test){.orders_anywhere = true};
    return 0;
}

/* wanted: of affine.py, with this as its last line. */
static void ends(const char *last, const char *want)
{
    char source[2000];
    struct kg_record r;
    need_torch();
    snprintf(source, sizeof source,
             HEAD FLAGS FORWARD "        y = torch.relu(x * self.weight) + "
                                "2 * z\n        %s\n",
             last);
    expect("affine.py", source, want, &r);
    kg_record_deinit(&r);
}

static void who_is_ready_passes(void **state)
{
    (void)state;
    ends("return y", "ok");
}

/* 256: copied at once; 512: with inputs that come late. Each is asked in every evaluation. */
static void who_is_not_is_unordered(void **state)
{
    (void)state;
    ends("return y * 0 if flags() & 256 and not flags() & 512 else y", "wrong/unordered");
    ends("return y * 0 if flags() & 512 else y", "wrong/unordered");
}

static void a_wrong_answer_stays_wrong(void **state)
{
    (void)state;
    ends("return y * 0", "wrong/value");
}

/* State that a call changes is loaded before. */
static void state_that_changes(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    expect("running.py",
           HEAD "class ModelNew(nn.Module):\n    def __init__(self, cols):\n"
                "        super().__init__()\n        self.norm = nn.BatchNorm1d(cols)\n\n"
                "    def forward(self, x):\n        return self.norm(x)\n",
           "ok", &r);
    kg_record_deinit(&r);
}

static void without_streams_nothing_is_asked(void **state)
{
    (void)state;
    kg_torch_test(worker)->orders_anywhere = false;
    ends("return y * 0 if flags() & 256 else y", "ok");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(who_is_ready_passes, fresh),
        cmocka_unit_test_setup(who_is_not_is_unordered, fresh),
        cmocka_unit_test_setup(a_wrong_answer_stays_wrong, fresh),
        cmocka_unit_test_setup(state_that_changes, fresh),
        cmocka_unit_test_setup(without_streams_nothing_is_asked, fresh),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
