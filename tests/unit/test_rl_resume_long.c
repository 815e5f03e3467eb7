/* Fifty kills at random moments, half of them by the clock: rollout, evaluation, update,
 * checkpoint. Each run then ends, and has the bits of a run that was not broken. */
#include "resume_rig.h"

static void fifty(void **state)
{
    (void)state;
    rig_unbroken();
    for (int run = 0, kills = 0; kills < 50; run++) {
        assert_true(run < 200);
        kills += rig_broken(run, 1 + run % 4, run % 2 == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fifty)};
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
