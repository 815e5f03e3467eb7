/* tests/run.sh: what it counts, what it shows, and that on a machine with a GPU a test that skips
 * has failed. The programs are scripts that print what cmocka prints. */
#include "kgym_rig.h"

#define RUN(how, variant) "cd " variant " && " how " TEST_RETRY=0 $T/tests/run.sh ../" variant

static void program(const char *variant, const char *name, const char *body)
{
    char path[300], text[2000];
    snprintf(path, sizeof path, "%s/tests/%s", variant, name);
    snprintf(text, sizeof text, "#!/bin/sh\n%s", body);
    rig_expect(0, "mkdir -p %s/tests", variant);
    rig_text(path, text);
    rig_expect(0, "chmod +x %s", path);
}

static const char good[] = "echo '[ RUN      ] a'\necho 'told: 7 of 7'\necho '[       OK ] a'\n";
static const char skips[] = "echo '[ RUN      ] b'\necho 'skip: no device'\n"
                            "echo '[  SKIPPED ] b'\n"
                            "echo '[  SKIPPED ] 1 test(s), listed below:'\n"
                            "echo '[  SKIPPED ] b'\n";
static const char fails[] = "echo '[ RUN      ] c'\necho '[  FAILED  ] c'\nexit 1\n";

static int fresh(void **state)
{
    (void)state;
    rig_run("rm -rf release sanitize dev");
    return 0;
}

static void test_counts_and_what_is_told(void **state)
{
    (void)state;
    program("release", "good", good);
    program("release", "skips", skips);
    rig_expect(0, RUN("KGYM_TEST_GPU=0", "release"));
    rig_shows("1 passed, 0 failed, 1 skipped");
    rig_shows("          7 of 7\n");
    rig_shows("1 skip: no device");
    program("release", "fails", fails);
    rig_expect(1, RUN("KGYM_TEST_GPU=0", "release"));
    rig_shows("1 passed, 1 failed, 1 skipped");
    program("release", "dies", "exit 0\n");
    rig_expect(1, RUN("KGYM_TEST_GPU=0", "release"));
    rig_shows("\nfailed: dies fails\n1 passed, 2 failed, 1 skipped");
    rig_expect(1, RUN("KGYM_TEST_GPU=0", "release") " good lacking");
    rig_shows("\nfailed: lacking\n1 passed, 1 failed, 0 skipped");
}

/* Sanitized, what is mostly Python's time is left out, and said to be; not if it is asked for by
 * name, nor in a release build. */
static void test_pythons_programs(void **state)
{
    (void)state;
    program("sanitize", "good", good);
    program("sanitize", "test_torch_cli", fails);
    rig_expect(0, RUN("KGYM_TEST_GPU=0", "sanitize"));
    rig_shows("test_torch_cli                     skipped, sanitized");
    rig_shows("1 passed, 0 failed, 0 skipped");
    rig_expect(1, RUN("KGYM_TEST_GPU=0", "sanitize") " test_torch_cli");
    program("release", "test_torch_cli", fails);
    rig_expect(1, RUN("KGYM_TEST_GPU=0", "release"));
}

static void test_nothing_skips_on_a_gpu(void **state)
{
    (void)state;
    program("release", "good", good);
    rig_expect(0, RUN("KGYM_TEST_GPU=1", "release"));
    program("release", "skips", skips);
    rig_expect(1, RUN("KGYM_TEST_GPU=1", "release"));
    rig_shows("with a GPU nothing may skip: skip: no device");
    rig_shows("1 passed, 1 failed, 1 skipped");
    program("sanitize", "skips", skips); /* these leave out what takes too long */
    rig_expect(0, RUN("KGYM_TEST_GPU=1", "sanitize"));
}

/* A device's files are looked for; a control file alone is no device. */
static void test_a_gpu_is_found(void **state)
{
    (void)state;
    program("release", "skips", skips);
    program("release", "asks",
            "echo '[ RUN      ] a'\necho \"told: gpu ${KGYM_TEST_GPU-unset}\"\n"
            "echo '[       OK ] a'\n");
    rig_expect(0, "mkdir dev");
    rig_expect(0, RUN("env -u KGYM_TEST_GPU TEST_DEV=../dev", "release"));
    rig_shows("gpu unset");
    rig_expect(0, ": >dev/nvidiactl");
    rig_expect(0, RUN("env -u KGYM_TEST_GPU TEST_DEV=../dev", "release"));
    rig_shows("gpu unset");
    rig_expect(0, ": >dev/nvidia0");
    rig_expect(1, RUN("env -u KGYM_TEST_GPU TEST_DEV=../dev", "release"));
    rig_shows("gpu 1");
    rig_expect(0, RUN("KGYM_TEST_GPU=0 TEST_DEV=../dev", "release"));
    rig_shows("gpu unset");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_counts_and_what_is_told, fresh),
        cmocka_unit_test_setup(test_pythons_programs, fresh),
        cmocka_unit_test_setup(test_nothing_skips_on_a_gpu, fresh),
        cmocka_unit_test_setup(test_a_gpu_is_found, fresh),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
