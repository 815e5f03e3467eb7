/* Choices among equals, on the CPU: other tie rules and other roundings are right, indices that
 * point at other values are wrong. Skipped where Python lacks torch. */
#include "torch_choices_rig.h"

#include "gym/torch/executor/torch_worker.h"

static void among_equals(void **state)
{
    (void)state;
    need_torch();
    each_kind(2);
}

/* Timed calls have values of their own. */
static void while_timed(void **state)
{
    (void)state;
    need_torch();
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = true};
    worker->config.timing_blocks = worker->config.timing_min_blocks = 1;
    kg_torch_of(worker)->null_half_width = 0.01;
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++) {
        bool some = strcmp(choices[k].name, "argmax of integers") == 0 ||
                    strcmp(choices[k].name, "codes alone") == 0;
        if (some) {
            put("choice.py", choices[k].problem);
            judged(choices[k].name, choices[k].honest, KG_ST_TIMING, true);
            judged(choices[k].name, choices[k].wrong[0], KG_ST_TIMING, false);
        }
    }
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = false};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(among_equals),
        cmocka_unit_test(while_timed),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
