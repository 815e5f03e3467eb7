/* Python runners: what they answer, and how their calls move tensors. */
#include "tests/unit/torch_rig.h"

#define SCALE                                                                                      \
    "import torch\n"                                                                               \
    "class ModelNew(torch.nn.Module):\n"                                                           \
    "    def __init__(self, n, scale=2.0):\n"                                                      \
    "        super().__init__()\n"                                                                 \
    "        self.weight = torch.nn.Parameter(torch.ones(n))\n"                                    \
    "        self.scale = scale\n"                                                                 \
    "    def forward(self, x, y):\n"                                                               \
    "        return x * self.weight * self.scale + y, {'b': [x - y], 'a': x}\n"

#define LOAD_CANDIDATE "{\"entry\": \"ModelNew\", \"role\": \"candidate\"}"

static void test_a_zygote_says_what_it_has(void **state)
{
    (void)state;
    rig_need();
    assert_true(kg_zygote_alive(&rig.zygote));
    assert_non_null(json_string_value(json_object_get(rig.zygote.facts, "torch")));
    assert_non_null(json_string_value(json_object_get(rig.zygote.facts, "python")));
    assert_int_equal(json_integer_value(json_object_get(rig.zygote.facts, "threads")), 1);
}

static void test_load_build_state_and_call(void **state)
{
    (void)state;
    rig_need();
    struct subject s;
    subject_open(&s, SCALE);
    subject_ok(&s, KG_TC_LOAD, LOAD_CANDIDATE);
    const char *reply =
        subject_ok(&s, KG_TC_BUILD, "{\"init\": [3], \"kwargs\": {\"scale\": 10.0}}");
    assert_string_equal(reply, "{\"state\":[{\"name\":\"weight\",\"dtype\":\"float32\",\"shape\":"
                               "[3],\"buffer\":false}]}");
    struct kg_tleaf w = leaf_of(KG_TD_F32, "weight", 1, 3, 0);
    kg_twire_place(&w, 1);
    memcpy(s.port.to + w.offset, (float[]){1, 2, 3}, 12);
    assert_int_equal(subject_release(&s, KG_TC_STATE, &w, 1, 0, 20 * SECOND), 0);
    assert_int_equal(s.runner.wire->status, KG_TA_OK);
    struct kg_tleaf in[2] = {leaf_of(KG_TD_F32, "0", 2, 2, 3), leaf_of(KG_TD_F32, "1", 1, 3, 0)};
    kg_twire_place(in, 2);
    assert_int_equal(subject_release(&s, KG_TC_BIND, in, 2, 0, 20 * SECOND), 0);
    assert_int_equal(s.runner.wire->status, KG_TA_OK);
    memcpy(s.port.to + in[0].offset, (float[]){1, 2, 3, 4, 5, 6}, 24);
    memcpy(s.port.to + in[1].offset, (float[]){.5f, .25f, .125f}, 12);
    assert_int_equal(subject_release(&s, KG_TC_CALL, in, 2, 0, 20 * SECOND), 0);
    const struct kg_twire *a = s.runner.wire;
    assert_int_equal(a->status, KG_TA_OK);
    assert_string_equal(a->structure, "(T,{\"a\":T,\"b\":[T]})");
    assert_int_equal(a->nreply, 3);
    for (int i = 0; i < 3; i++) {
        assert_null(kg_twire_leaf_check(&a->out[i], RIG_REGION));
    }
    const float want[] = {10.5f, 40.25f, 90.125f, 40.5f, 100.25f, 180.125f};
    assert_memory_equal(s.port.from + a->out[0].offset, want, sizeof want);
    assert_string_equal(a->out[1].name, "1.a");
    assert_int_equal(a->out[1].aliases, 1); /* x itself */
    assert_int_equal(a->out[0].aliases, 0);
    assert_string_equal(a->out[2].name, "1.b.0");
    assert_int_equal(a->out[2].rank, 2);
    subject_ok(&s, KG_TC_EXIT, NULL);
    assert_true(kg_sandbox_wait(&s.runner.sandbox, kg_clock_ns() + 5 * SECOND));
    assert_int_equal(s.runner.sandbox.exit.kind, KG_EXIT_CODE);
    assert_int_equal(s.runner.sandbox.exit.code, 0);
    subject_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_zygote_says_what_it_has),
        cmocka_unit_test(test_load_build_state_and_call),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
