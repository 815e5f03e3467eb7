/* The PyTorch corpora on the CPU: headers and pages, how every candidate ends, and what it leaves.
 * At small sizes, but for those that need the published ones; `make corpus` has all at those.
 * Release builds only: what is judged is the same, and a sanitized one takes several times as
 * long. */
#define RIG_LIMIT_S 420

#include "torch_script_rig.h"

static void test_headers_and_pages(void **state)
{
    (void)state;
    script_need();
    rig_expect(0, SCRIPT("corpus.py") " --lint");
    rig_shows(" 0 defects");
}

/* Each defect that the lint knows of is one. */
static void test_the_lint_notices(void **state)
{
    (void)state;
    script_need();
    rig_expect(0, SCRIPT("check_lint.py"));
}

/* A hostile one that is ok is missed where it is faster than it has earned. */
static void test_what_is_earned(void **state)
{
    (void)state;
    script_need();
    rig_expect(0, SCRIPT("check_corpus.py"));
}

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
        cmocka_unit_test(test_headers_and_pages),
        cmocka_unit_test(test_the_lint_notices),
        cmocka_unit_test(test_what_is_earned),
        cmocka_unit_test(test_every_one_ends_as_it_should),
    };
    return cmocka_run_group_tests(tests, script_setup, rig_teardown);
}
