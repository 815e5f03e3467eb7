/* Trainers' own code against a service that runs: TRL's call of a reward function, and the client
 * of OpenEnv. Both are packages of `tools/setup.sh trainers`; without them the tests skip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <glob.h>
#include <unistd.h>

#include "tests/support/svc_rig.h"

static const char *tree(void)
{
    const char *t = getenv("KGYM_TREE");
    return t != NULL ? t : ".";
}

/* site-packages of the trainers' environment; it skips where there is none. */
static void find_site(char *out, size_t n)
{
    glob_t found;
    snprintf(out, n, "%s/build/trainers-venv/complete", tree());
    if (access(out, R_OK) != 0) {
        print_message("no packages of trainers: run tools/setup.sh trainers\n");
        skip();
    }
    snprintf(out, n, "%s/build/trainers-venv/lib/python3*/site-packages", tree());
    assert_int_equal(glob(out, 0, NULL, &found), 0);
    snprintf(out, n, "%s", found.gl_pathv[0]);
    globfree(&found);
}

/* Runs a check, which ends with OK. */
static void passes(const char *python, const char *check, const char *more)
{
    char command[4096], text[8192];
    snprintf(command, sizeof command, "'%s' -B '%s/tests/clients/%s' http://127.0.0.1:%d %s 2>&1",
             python, tree(), check, svc_port, more);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    if (pclose(f) != 0 || strstr(text, "OK\n") == NULL) {
        fail_msg("%s", text);
    }
}

static void trl_gets_rewards(void **state)
{
    char site[2048];
    const char *python = getenv("KGYM_PYTHON");
    char own[2048];
    (void)state;
    snprintf(own, sizeof own, "%s/.venv/bin/python", tree());
    python = python != NULL ? python : own;
    snprintf(site, sizeof site, "'%s' -c 'import torch' >/dev/null 2>&1", python);
    if (system(site) != 0) { /* NOLINT(cert-env33-c): the command is the test's own */
        print_message("%s has no torch: run make torch\n", python);
        skip();
    }
    find_site(site, sizeof site);
    svc_start("--jobs 2");
    passes(python, "check_trl.py", site);
}

static void openenv_plays_episodes(void **state)
{
    char site[2048], python[4096];
    (void)state;
    find_site(site, sizeof site);
    snprintf(python, sizeof python, "%s/build/trainers-venv/bin/python", tree());
    svc_start("--jobs 2");
    passes(python, "check_openenv.py", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(openenv_plays_episodes, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(trl_gets_rewards, svc_setup, svc_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
