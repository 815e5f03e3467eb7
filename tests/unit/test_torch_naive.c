/* The controls of the hostile PyTorch fixtures: each that needs no GPU and leaves the host alone
 * fools an evaluator of the usual kind (tests/torch/naive.py). Release builds only: nothing of
 * kgym's runs here. */
#define RIG_LIMIT_S 420

#include "torch_script_rig.h"

/* Some live by the clock (honest for a second), and where much else runs it beats them: those that
 * were refused once more, alone. */
static void test_every_trick_works_somewhere(void **state)
{
    char refused[512];
    (void)state;
    script_need();
    if (rig_run(SCRIPT("naive.py") " --jobs 2") != 0) {
        static const char before[] = ": refused ";
        const char *names = strstr(rig.out.data, before);
        if (names == NULL) {
            fail_msg("exit status %d\nstderr: %.900s", rig.status, rig.err.data);
        }
        names += strlen(before);
        snprintf(refused, sizeof refused, "%.*s", (int)strcspn(names, "\n"), names);
        printf("told: once more, alone: %s\n", refused);
        rig_expect(0, SCRIPT("naive.py") " %s", refused);
    }
    rig_shows(" 0 refused");
    script_tell("naive: ");
}

/* It does not accept whatever comes. */
static void test_it_refuses_what_is_plainly_wrong(void **state)
{
    (void)state;
    script_need();
    rig_expect(0, SCRIPT("check_naive.py"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_trick_works_somewhere),
        cmocka_unit_test(test_it_refuses_what_is_plainly_wrong),
    };
    return cmocka_run_group_tests(tests, script_setup, rig_teardown);
}
