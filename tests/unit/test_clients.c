/* The Python clients, against a stand-in for the service, and the service:
 * tests/clients/check_*.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "rl/data/data.h"

/* Standard output and error of a check; its status. */
static int run(const char *check, struct kg_buf *out)
{
    char command[4096], part[4096];
    const char *tree = getenv("KGYM_TREE");
    snprintf(command, sizeof command, "python3 -B '%s/tests/clients/%s' 2>&1", tree ? tree : ".",
             check);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) {
        kg_buf_add(out, part, n);
    }
    return pclose(f);
}

static void passes(const char *check)
{
    struct kg_buf out;
    kg_buf_init(&out, 1 << 20);
    if (run(check, &out) != 0 || !strstr(out.data, "\nOK\n")) {
        fail_msg("%s:\n%s", check, out.data);
    }
    kg_buf_deinit(&out);
}

static void the_client_never_makes_up_a_reward(void **state)
{
    (void)state;
    passes("check_kgym.py");
}

/* tools/gpu-check.sh service, which needs a GPU to show anything. */
static void what_is_unlike_is_seen(void **state)
{
    (void)state;
    passes("check_service_client.py");
}

/* A trajectory without a right answer, and one whose problem is at fault, train nothing. */
static void collecting_goes_on_after_a_kill(void **state)
{
    (void)state;
    char path[] = "/tmp/kgym-collected-XXXXXX";
    struct kg_err err = KG_ERR_INIT;
    struct rl_data d;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    setenv("COLLECTED", path, 1);
    passes("check_collect.py");
    rl_data_init(&d, RL_DATA_ALL);
    if (rl_data_file(&d, path, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(d.counts.trajectories, 4);
    assert_int_equal(d.counts.defective, 1);
    assert_int_equal(d.counts.unsolved, 2);
    assert_int_equal(d.n, 1);
    rl_data_deinit(&d);
    unlink(path);
}

static void collecting_goes_on_with_the_service(void **state)
{
    (void)state;
    passes("check_collect_serve.py");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_never_makes_up_a_reward),
        cmocka_unit_test(what_is_unlike_is_seen),
        cmocka_unit_test(collecting_goes_on_after_a_kill),
        cmocka_unit_test(collecting_goes_on_with_the_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
