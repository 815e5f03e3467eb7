#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gym/eval/config.h"

static void defaults_are_those_of_the_page(void **state)
{
    (void)state;
    struct kg_config c;
    struct kg_err err = KG_ERR_INIT;
    kg_opts_defaults(kg_config_options(), &c);
    assert_true(c.staged && c.stage_static && c.stage_tiny && c.stage_full && c.stage_timing);
    assert_true(c.multi_input && c.hack_checks && c.timing_exclusive);
    assert_false(c.stage_profile || c.timing_cold || c.allow_unconfined);
    assert_true(c.deadline_compile == 20 && c.deadline_run == 20 && c.deadline_eval == 60);
    assert_int_equal(c.limit_memory_mb, 2048);
    assert_int_equal(c.timing_method, KG_TM_PAIRED);
    assert_int_equal(c.protocol, KG_PROTOCOL_OWN);
    assert_int_equal(c.timing_pairs, 20);
    assert_int_equal(c.timing_processes, 5);
    assert_int_equal(c.timing_min_processes, 3);
    assert_int_equal(c.timing_warmups, 10);
    assert_int_equal(c.timing_trials, 50);
    assert_true(c.timing_half_width == 0.015 && c.timing_trim == 0.1);
    assert_int_equal(c.library, KG_LIB_ALLOWED);
    assert_string_equal(c.league, "fp32");
    assert_string_equal(c.precision, "fp32");
    assert_string_equal(c.preset, "default");
    assert_string_equal(c.seed, "");
    assert_int_equal(kg_config_check(&c, &err), KG_OK);
}

static void the_defaults_of_rewards_are_the_rewards_own(void **state)
{
    (void)state;
    struct kg_config c;
    struct kg_reward_params a, b;
    kg_opts_defaults(kg_config_options(), &c);
    kg_config_reward_params(&c, &a);
    kg_reward_params_default(&b);
    assert_true(a.cap == b.cap && a.hack_penalty == b.hack_penalty);
    assert_true(a.s_deadzone == b.s_deadzone && a.step == b.step);
    assert_true(a.anneal_steps == b.anneal_steps && a.kevin_cap == b.kevin_cap);
}

/* Each preset says what it changes and nothing else. */
static void presets_change_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *name, *changed;
    } want[] = {
        {"default", ""},
        {"calibrated", "timing.method=calibrated "},
        {"single-input", "multi_input=no "},
        {"unstaged", "staged=no "},
        {"quick", "timing.pairs=10 timing.processes=3 timing.half_width=0.05 "
                  "timing.budget=5 "},
        {"train", "variants=few timing.pairs=8 timing.processes=1 timing.min_processes=1 "
                  "timing.warmups=1 timing.least_calls=6 timing.least_life=0 timing.null_calls=4 "
                  "timing.waits=6 "
                  "timing.primers=no timing.asides=no timing.fresh_candidate=no "
                  "timing.fresh_references=no timing.budget=5 stage.profile=yes "},
        {"cold", "timing.cold=yes "},
        {"kernelbench", "protocol=kernelbench stage.tiny=no multi_input=no laws=0 hack_checks=no "
                        "quarantine=ignore "
                        "timing.warmups=3 timing.trials=100 "},
    };
    const char *const *name = kg_config_presets();
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++, name++) {
        assert_non_null(*name);
        assert_string_equal(*name, want[i].name);
        assert_true(strlen(kg_config_preset_help(*name)) > 0);
        struct kg_config got, expected;
        struct kg_err err = KG_ERR_INIT;
        kg_opts_defaults(kg_config_options(), &got);
        kg_opts_defaults(kg_config_options(), &expected);
        assert_int_equal(kg_config_preset(&got, *name, &err), KG_OK);
        snprintf(expected.preset, sizeof expected.preset, "%s", *name);
        char pairs[512], *rest = NULL;
        snprintf(pairs, sizeof pairs, "%s", want[i].changed);
        for (char *p = strtok_r(pairs, " ", &rest); p != NULL; p = strtok_r(NULL, " ", &rest)) {
            assert_int_equal(kg_opts_set_pair(kg_config_options(), &expected, p, "test", &err),
                             KG_OK);
        }
        struct kg_buf a, b;
        kg_buf_init(&a, 1 << 16);
        kg_buf_init(&b, 1 << 16);
        kg_opts_dump(kg_config_options(), &got, false, &a);
        kg_opts_dump(kg_config_options(), &expected, false, &b);
        assert_string_equal(a.data, b.data);
        assert_int_equal(kg_config_check(&got, &err), KG_OK);
        kg_buf_deinit(&a);
        kg_buf_deinit(&b);
    }
    assert_null(*name);
}

static void unbuilt_presets_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *message;
    } want[] = {
        {"strict", "preset `strict` is not built yet; there are: default, calibrated, "
                   "single-input, unstaged, quick, train, cold, kernelbench"},
        {"kernelbanch", "unknown preset `kernelbanch`, did you mean `kernelbench`?"},
        {"qick", "unknown preset `qick`, did you mean `quick`?"},
        {"zzzzzzzz", "unknown preset `zzzzzzzz`; there are: default, calibrated, single-input, "
                     "unstaged, quick, train, cold, kernelbench"},
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct kg_config c;
        struct kg_err err = KG_ERR_INIT;
        kg_opts_defaults(kg_config_options(), &c);
        assert_int_equal(kg_config_preset(&c, want[i].name, &err), KG_E_USAGE);
        assert_string_equal(err.message, want[i].message);
        assert_string_equal(c.preset, "default");
    }
}

#define KERNELBENCH "protocol=kernelbench;stage.tiny=no;multi_input=no;laws=0;hack_checks=no;"
#define WANTS(key, value)                                                                          \
    key ": the protocol `kernelbench` wants it " value " (the preset `kernelbench` sets all that " \
        "it wants)"

/* {assignments, message of kg_config_check}; NULL: accepted. */
static const struct {
    const char *set;
    const char *message;
} checks[] = {
    {"staged=no;stage.tiny=off;stage.timing=no;multi_input=no;hack_checks=no", NULL},
    {"seed=00112233445566778899aabbccddeeff", NULL},
    {"seed=0011223344556677", "seed: `0011223344556677` is not 32 hex digits"},
    {"stage.profile=yes", NULL},
    {"timing.cold=yes", NULL},
    {"library=forbidden", "library: `forbidden` is decided by launch records: it needs "
                          "stage.profile=yes"},
    {"library=forbidden;stage.profile=yes", NULL},
    {"league=bf16", "league: unknown league `bf16`; there is `fp32`"},
    {"torch.shapes_gate=yes", "torch.shapes_gate: there are none (torch.shapes=0)"},
    {"precision=tf32", NULL},
    {"precision=fp16",
     "precision: `fp16` belongs to the preset `kernelbench`; otherwise a problem is "
     "judged in its own, and there are `fp32` and `tf32`"},
    {KERNELBENCH "precision=bf16", NULL},
    {KERNELBENCH "precision=tf32",
     "precision: `tf32` is the gym's own league; the protocol `kernelbench` has fp32, fp16 and "
     "bf16"},
    {"precision=fp8", "precision: `fp8` is not built yet; there are `fp32` and `tf32`"},
    {KERNELBENCH "precision=fp8", "precision: `fp8` is not built yet; there are `fp32` and `tf32`"},
    {"preset=calibratd", "unknown preset `calibratd`, did you mean `calibrated`?"},
    {"compiler=", "compiler: a name or path is needed, such as `gcc`"},
    {"timing.processes=2", "timing.min_processes (3) is more than timing.processes (2)"},
    {"timing.processes=2;timing.min_processes=2", NULL},
    {"timing.warmups=0", "timing.warmups (0): at least 1 is needed; the protocol `kernelbench` "
                         "alone takes fewer"},
    {"timing.warmups=0;stage.timing=no", "timing.warmups (0): at least 1 is needed; the protocol "
                                         "`kernelbench` alone takes fewer"},
    {"timing.warmups=10", NULL},
    {"timing.processes=64", NULL},
    {"timing.blocks=1", "timing.min_blocks (2) is more than timing.blocks (1)"},
    {"timing.blocks=1;timing.min_blocks=1", NULL},
    {"protocol=kernelbench;stage.tiny=no;multi_input=no;laws=0;hack_checks=no", NULL},
    {"protocol=kernelbench", "stage.tiny: the protocol `kernelbench` wants it no (the preset "
                             "`kernelbench` sets all that it wants)"},
    {KERNELBENCH "multi_input=yes", WANTS("multi_input", "no")},
    {KERNELBENCH "laws=1", WANTS("laws", "0")},
    {KERNELBENCH "hack_checks=yes", WANTS("hack_checks", "no")},
    {KERNELBENCH "staged=no", WANTS("staged", "yes")},
    {KERNELBENCH "stage.profile=yes", WANTS("stage.profile", "no")},
    {KERNELBENCH "timing.cold=yes", WANTS("timing.cold", "no")},
    {KERNELBENCH "timing.method=calibrated", WANTS("timing.method", "paired")},
    {KERNELBENCH "timing.trials=5001", WANTS("timing.trials", "5000 at most")},
    {KERNELBENCH "torch.shapes=1", WANTS("torch.shapes", "0")},
    {KERNELBENCH "timing.trials=10;timing.warmups=0;kernelbench.trials=1;stage.timing=no", NULL},
    {"preset=kernelbench", "preset `kernelbench` is protocol=kernelbench"},
    {"rewards=", NULL},
    {"rewards=dr-kernel, staged ,binary", NULL},
    {"rewards=dr-kernel,milestones",
     "rewards: reward preset `milestones` can't be computed here: it needs the time of a compiled "
     "(torch.compile) baseline, and none is measured"},
    {"rewards=dr-kernel,stagd", "rewards: unknown reward preset `stagd`, did you mean `staged`?"},
    {"rewards=binary,staged,binary", "rewards: `binary` is named twice"},
};

static void combinations_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        struct kg_config c;
        struct kg_err err = KG_ERR_INIT;
        char pairs[256], *rest = NULL;
        kg_opts_defaults(kg_config_options(), &c);
        snprintf(pairs, sizeof pairs, "%s", checks[i].set);
        for (char *p = strtok_r(pairs, ";", &rest); p != NULL; p = strtok_r(NULL, ";", &rest)) {
            if (kg_opts_set_pair(kg_config_options(), &c, p, "test", &err) != KG_OK) {
                fail_msg("%s: %s", p, err.message);
            }
        }
        enum kg_code code = kg_config_check(&c, &err);
        if (checks[i].message == NULL) {
            if (code != KG_OK) {
                fail_msg("%s: %s", checks[i].set, err.message);
            }
        } else {
            assert_int_equal(code, KG_E_USAGE);
            assert_string_equal(err.message, checks[i].message);
        }
    }
}

static void ranges_belong_to_the_table(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "timing.trim=0.5", "timing.pairs=2",       "deadline.run=0", "reward.hack_penalty=1",
        "timing.method=x", "limit.memory_mb=1e3x", "staged=perhaps", "deadline.eval=nan",
        "timing.pears=20", "reward.cap=inf"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct kg_config c;
        struct kg_err err = KG_ERR_INIT;
        kg_opts_defaults(kg_config_options(), &c);
        if (kg_opts_set_pair(kg_config_options(), &c, bad[i], "test", &err) != KG_E_USAGE) {
            fail_msg("%s was accepted", bad[i]);
        }
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Defaults < preset < file < environment, whoever names the preset. */
static void later_sources_win(void **state)
{
    (void)state;
    struct kg_config c;
    struct kg_err err = KG_ERR_INIT;
    char path[] = "/tmp/kgym-test-config-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_file(path, "preset: quick\ntiming: {pairs: 12}\nlaws: 3\n");
    char *env[] = {(char *)(uintptr_t) "KGYM_LAWS=4", (char *)(uintptr_t) "HOME=/", NULL};
    assert_int_equal(kg_config_load(&c, NULL, path, env, &err), KG_OK);
    assert_string_equal(c.preset, "quick");
    assert_int_equal(c.timing_pairs, 12);    /* file over preset */
    assert_int_equal(c.laws, 4);             /* environment over file */
    assert_int_equal(c.timing_processes, 3); /* preset over default */
    assert_int_equal(c.timing_warmups, 10);

    char *named[] = {(char *)(uintptr_t) "KGYM_PRESET=unstaged", NULL};
    assert_int_equal(kg_config_load(&c, NULL, path, named, &err), KG_OK);
    assert_string_equal(c.preset, "unstaged");
    assert_false(c.staged);
    assert_int_equal(c.timing_processes, 5);
    assert_int_equal(c.laws, 3);

    assert_int_equal(kg_config_load(&c, "single-input", path, named, &err), KG_OK);
    assert_string_equal(c.preset, "single-input");
    assert_true(c.staged);
    assert_false(c.multi_input);

    assert_int_equal(kg_config_load(&c, "kernelbench", NULL, NULL, &err), KG_OK);
    assert_int_equal(c.protocol, KG_PROTOCOL_KERNELBENCH);
    assert_int_equal(c.kernelbench_trials, 5);
    assert_true(c.kernelbench_tolerance == 0);
    assert_int_equal(kg_config_check(&c, &err), KG_OK);
    write_file(path, "preset: strict\n");
    assert_int_equal(kg_config_load(&c, NULL, path, NULL, &err), KG_E_USAGE);
    write_file(path, "stagd: no\n");
    assert_int_equal(kg_config_load(&c, NULL, path, NULL, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, "staged"));
    unlink(path);
    assert_true(kg_config_load(&c, NULL, path, NULL, &err) != KG_OK);
}

static void every_option_has_help_and_survives_a_dump(void **state)
{
    (void)state;
    const struct kg_opts *o = kg_config_options();
    for (size_t i = 0; i < o->n; i++) {
        size_t n = strlen(o->table[i].help);
        assert_true(n > 10 && strchr(".?", o->table[i].help[n - 1]) != NULL);
    }
    struct kg_config c, back;
    struct kg_err err = KG_ERR_INIT;
    kg_opts_defaults(o, &c);
    assert_int_equal(kg_config_preset(&c, "quick", &err), KG_OK);
    struct kg_buf text, again;
    kg_buf_init(&text, 1 << 16);
    kg_buf_init(&again, 1 << 16);
    kg_opts_dump(o, &c, true, &text);
    char path[] = "/tmp/kgym-test-dump-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_file(path, text.data);
    kg_opts_defaults(o, &back);
    assert_int_equal(kg_opts_yaml(o, &back, path, &err), KG_OK);
    kg_opts_dump(o, &back, true, &again);
    assert_string_equal(text.data, again.data);
    unlink(path);
    kg_buf_deinit(&text);
    kg_buf_deinit(&again);
}

/* Every option is on one of two sides. A new one fails here until somebody has decided. */
static void a_client_may_set_what_is_judged_and_no_more(void **state)
{
    static const char *const ours[] = {"preset",
                                       "protocol",
                                       "rewards",
                                       "quarantine",
                                       "deadline.compile",
                                       "deadline.run",
                                       "deadline.eval",
                                       "limit.memory_mb",
                                       "limit.compile_memory_mb",
                                       "limit.processes",
                                       "limit.file_mb",
                                       "limit.scratch_mb",
                                       "limit.output_kb",
                                       "timing.least_calls",
                                       "timing.least_life",
                                       "timing.null_calls",
                                       "timing.waits",
                                       "timing.primers",
                                       "timing.asides",
                                       "timing.fresh_candidate",
                                       "timing.fresh_references",
                                       "timing.budget",
                                       "timing.exclusive",
                                       "compiler",
                                       "device",
                                       "device.memory_mb",
                                       "python",
                                       "torch.deadline_compile",
                                       "torch.deadline_eval",
                                       "torch.first_call",
                                       "torch.memory_mb",
                                       "torch.tiny_elements",
                                       "torch.spare",
                                       "torch.contexts_apart",
                                       "torch.connections",
                                       "torch.builds_mb",
                                       "kernelbench.trials",
                                       "kernelbench.tolerance",
                                       "suites",
                                       "cache",
                                       "seed",
                                       "allow_unconfined",
                                       "reward.cap",
                                       "reward.hack_penalty",
                                       "reward.s_deadzone",
                                       "reward.step",
                                       "reward.anneal_steps",
                                       "reward.kevin_cap"};
    static const char *const theirs[] = {"staged",
                                         "stage.static",
                                         "stage.tiny",
                                         "stage.full",
                                         "stage.timing",
                                         "stage.profile",
                                         "multi_input",
                                         "variants",
                                         "laws",
                                         "hack_checks",
                                         "timing.method",
                                         "timing.pairs",
                                         "timing.processes",
                                         "timing.min_processes",
                                         "timing.block_pairs",
                                         "timing.blocks",
                                         "timing.min_blocks",
                                         "timing.block_half_width",
                                         "timing.half_width",
                                         "timing.widest",
                                         "timing.warmups",
                                         "timing.trials",
                                         "timing.trim",
                                         "timing.ahead",
                                         "timing.cold",
                                         "library",
                                         "library.share",
                                         "league",
                                         "precision",
                                         "torch.shapes",
                                         "torch.shapes_gate"};
    const struct kg_opts *o = kg_config_options();
    (void)state;
    assert_int_equal(o->n, sizeof ours / sizeof *ours + sizeof theirs / sizeof *theirs);
    for (size_t i = 0; i < o->n; i++) {
        const struct kg_opt *opt = &o->table[i];
        const char *const *side = opt->client ? theirs : ours;
        size_t n = opt->client ? sizeof theirs / sizeof *theirs : sizeof ours / sizeof *ours;
        bool found = false;
        for (size_t k = 0; k < n; k++) {
            found = found || strcmp(side[k], opt->key) == 0;
        }
        if (!found) {
            fail_msg("%s is on the other side", opt->key);
        }
        /* A text names a file, a program or a device, but for these two lists of words. */
        assert_true(!opt->client || opt->type != KG_OPT_STRING || strcmp(opt->key, "league") == 0 ||
                    strcmp(opt->key, "precision") == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_page),
        cmocka_unit_test(the_defaults_of_rewards_are_the_rewards_own),
        cmocka_unit_test(presets_change_what_they_say),
        cmocka_unit_test(unbuilt_presets_are_refused_by_name),
        cmocka_unit_test(combinations_are_checked),
        cmocka_unit_test(ranges_belong_to_the_table),
        cmocka_unit_test(later_sources_win),
        cmocka_unit_test(every_option_has_help_and_survives_a_dump),
        cmocka_unit_test(a_client_may_set_what_is_judged_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
