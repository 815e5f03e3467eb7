/* How every candidate of tests/hostile ends whose trick shows in calls that are not timed. Those
 * that hang cost their deadline, so this takes long. */
#include "corpus_rig.h"

static bool is_caught_untimed(const struct fixture *f)
{
    return !f->needs_timing;
}

static void test_every_hostile_one_is_caught(void **state)
{
    (void)state;
    struct kg_config config;
    defaults(&config);
    config.deadline_compile = 8;
    config.deadline_run = 4;
    judge("hostile", hostile, nhostile, is_caught_untimed, &config, KG_ST_FULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_hostile_one_is_caught),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
