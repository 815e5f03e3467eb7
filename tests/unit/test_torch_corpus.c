/* The PyTorch corpora: headers and pages, and that their checks notice a defect.
 * test_torch_corpus_whole judges the candidates. Release builds only. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers_and_pages),
        cmocka_unit_test(test_the_lint_notices),
        cmocka_unit_test(test_what_is_earned),
    };
    return cmocka_run_group_tests(tests, script_setup, rig_teardown);
}
