/* The same verdict twenty times, whatever the draw: choices among equals, on the CPU. */
#include "torch_choices_rig.h"

static void twenty_times(void **state)
{
    (void)state;
    need_torch();
    each_kind(20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twenty_times),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
