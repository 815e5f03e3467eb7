/* How every candidate of the PyTorch corpora ends on the CPU, and what it leaves. At small sizes,
 * but for those that need the published ones; `make corpus` has all at those. Release builds only:
 * the judged candidates are the same, and a sanitized build takes several times as long. */
#define RIG_LIMIT_S 420

#include "torch_script_rig.h"

/* What hangs costs its deadline, what takes memory without end its limit. */
static void test_every_one_ends_as_it_should(void **state)
{
    (void)state;
    script_need();
    rig_expect(0, SCRIPT("corpus.py") " $KGYM_HOME --small --jobs 2 --set torch.first_call=5 "
                                      "--set deadline.run=4 --set torch.memory_mb=1024");
    rig_shows(" 0 missed");
    rig_shows(" 0 refused");
    rig_shows("host unchanged");
    script_tell("hostile, ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_one_ends_as_it_should),
    };
    return cmocka_run_group_tests(tests, script_setup, rig_teardown);
}
