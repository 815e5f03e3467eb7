/* tools/gpu-check.sh on a pack of scripts that stand for programs: what makes the stage `device`
 * fail, and what does not. No GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

#define QUIET  "pytorch\n  null test  0.99 over 16 pairs of `x.py`  quiet\n"
#define TIMING "timing\n  null test  1.01 over 100 pairs  "

static char folder[64];
static const char *tree;

static int shell(const char *fmt, ...)
{
    char command[4096];
    va_list args;
    va_start(args, fmt);
    vsnprintf(command, sizeof command, fmt, args);
    va_end(args);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Programs of the stage, each of which is well and says nothing. */
static int set_up(void **state)
{
    (void)state;
    tree = getenv("KGYM_TREE");
    snprintf(folder, sizeof folder, "/tmp/kgym-test-gpu-XXXXXX");
    if (tree == NULL || mkdtemp(folder) == NULL) {
        return -1;
    }
    return shell("cd '%s' && mkdir -p pack/tests pack/bench && echo fake >pack/commit && "
                 "cp /bin/true pack/bench/bench_device_ops && "
                 "for t in $(sed -n 's/^tests=(\\(.*\\))$/\\1/p' '%s/tools/gpu-check.sh'); do "
                 "cp /bin/true pack/tests/$t || exit 1; done && [ -e pack/tests/test_torch_cuda ]",
                 folder, tree);
}

static int tear_down(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return kg_file_remove_tree(folder, &err) == KG_OK ? 0 : -1;
}

/* The stage's status, where doctor prints this and ends so. */
static int device(const char *doctor, int status)
{
    struct kg_err err = KG_ERR_INIT;
    char path[128], text[1024];
    snprintf(path, sizeof path, "%s/pack/kgym", folder);
    int n = snprintf(text, sizeof text, "#!/bin/sh\ncat <<'END'\n%sEND\nexit %d\n", doctor, status);
    assert_int_equal(kg_file_write_atomic(path, text, (size_t)n, &err), KG_OK);
    return shell("chmod +x '%s' && GPU_PACK='%s/pack' OUT='%s/out' '%s/tools/gpu-check.sh' device "
                 ">'%s/said' 2>&1",
                 path, folder, folder, tree, folder);
}

static void doctor_says_what_lacks(void **state)
{
    (void)state;
    static const struct {
        const char *doctor;
        int ends, status;
    } cases[] = {
        {QUIET TIMING "quiet\n", 0, 0},
        {QUIET TIMING "noisy\n", 1, 0}, /* the processor's clock is no matter there */
        {QUIET TIMING "quiet\n", 2, 1},
        {TIMING "quiet\n", 0, 1},
        {"pytorch\n  lacks  cupti\n" TIMING "quiet\n", 1, 1},
        {"pytorch\n  null test  0.9 over 16 pairs of `x.py`  noisy\n" TIMING "quiet\n", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (device(cases[i].doctor, cases[i].ends) != cases[i].status) {
            shell("cat '%s/said'", folder);
            fail_msg("case %zu: it does not end with %d", i, cases[i].status);
        }
    }
}

static void a_program_that_fails_or_skips_fails_the_stage(void **state)
{
    (void)state;
    assert_int_equal(device(QUIET TIMING "quiet\n", 0), 0);
    assert_int_equal(shell("cp /bin/false '%s/pack/tests/test_cuda_api'", folder), 0);
    assert_int_equal(device(QUIET TIMING "quiet\n", 0), 1);
    assert_int_equal(shell("printf '#!/bin/sh\\necho skip: no GPU here\\n' "
                           ">'%s/pack/tests/test_cuda_api'",
                           folder),
                     0);
    assert_int_equal(device(QUIET TIMING "quiet\n", 0), 1);
    assert_int_equal(shell("cp /bin/true '%s/pack/tests/test_cuda_api'", folder), 0);
}

static void without_a_pack_it_says_how_to_get_one(void **state)
{
    (void)state;
    assert_int_equal(shell("GPU_PACK='%s/none' '%s/tools/gpu-check.sh' device 2>'%s/said'", folder,
                           tree, folder),
                     2);
    assert_int_equal(shell("grep -q 'gpu-check.sh pack' '%s/said'", folder), 0);
}

/* No build/ is there yet. What make says is told. */
static void a_fresh_tree_is_packed(void **state)
{
    (void)state;
    assert_int_equal(shell("cd '%s' && mkdir -p clone/tools stub && cp '%s/tools/gpu-check.sh' "
                           "clone/tools && printf '#!/bin/sh\necho it is the stub; exit 1\n' "
                           ">stub/make && chmod +x stub/make",
                           folder, tree),
                     0);
    assert_int_equal(shell("cd '%s' && PATH=$PWD/stub:$PATH clone/tools/gpu-check.sh pack >said "
                           "2>&1; grep -qx 'it is the stub' said",
                           folder),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doctor_says_what_lacks),
        cmocka_unit_test(a_program_that_fails_or_skips_fails_the_stage),
        cmocka_unit_test(without_a_pack_it_says_how_to_get_one),
        cmocka_unit_test(a_fresh_tree_is_packed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
