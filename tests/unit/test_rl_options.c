/* Options of a training run: files, pairs, keys of the gym, what is refused. */
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
#include "rl/run/options.h"

static struct kg_err err = KG_ERR_INIT;

static enum kg_code read_text(struct rl_config *c, const char *text)
{
    char path[] = "/tmp/kgym-options-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    rl_config_defaults(c);
    enum kg_code code = rl_config_file(c, path, &err);
    unlink(path);
    return code;
}

static void files_and_pairs(void **state)
{
    (void)state;
    struct rl_config c;
    struct rl_methods m;
    assert_int_equal(read_text(&c, "seed: 7\nrl: {groups: 4}\nrl.rollouts: 2\nadv: grpo\n"
                                   "mrs: geometric\ngym:\n  timing: {pairs: 4}\n"),
                     KG_OK);
    assert_int_equal(rl_config_pair(&c, "turns=2", "--set", &err), KG_OK);
    assert_int_equal(rl_config_pair(&c, "gym.laws=2", "--set", &err), KG_OK);
    assert_int_equal(c.seed, 7);
    assert_int_equal(c.groups, 4);
    assert_int_equal(c.rollouts, 2);
    assert_int_equal(c.ngym, 2);
    assert_string_equal(c.gym[0], "timing.pairs=4");
    assert_string_equal(c.gym[1], "laws=2");
    assert_int_equal(rl_config_methods(&c, &m, &err), KG_OK);
    assert_string_equal(m.adv.estimator->name, "grpo");
    assert_int_equal(m.mismatch.mrs, RL_MRS_GEOMETRIC);
    assert_int_equal(m.turns, 2);
}

static void dumps_read_back(void **state)
{
    (void)state;
    struct rl_config a, b;
    struct kg_buf text;
    rl_config_defaults(&a);
    assert_int_equal(rl_config_pair(&a, "clip_hi=0.31", "--set", &err), KG_OK);
    assert_int_equal(rl_config_pair(&a, "gym.timing.pairs=4", "--set", &err), KG_OK);
    assert_int_equal(rl_config_pair(&a, "gym.suites=a \"b\" \\c", "--set", &err), KG_OK);
    kg_buf_init(&text, 1 << 20);
    rl_config_dump(&a, &text);
    if (read_text(&b, text.data) != KG_OK) {
        fail_msg("%s", err.message);
    }
    assert_memory_equal(&a, &b, sizeof a);
    kg_buf_deinit(&text);
}

static void names_stand_in_the_order_of_their_enums(void **state)
{
    (void)state;
    static const struct {
        const char *pair;
        size_t at;
        int value;
    } want[] = {
        {"returns=max_reward", offsetof(struct rl_config, returns), RL_RETURN_MAX},
        {"n1=cross", offsetof(struct rl_config, n1), RL_N1_CROSS},
        {"baseline_set=live", offsetof(struct rl_config, baseline_set), RL_SET_LIVE},
        {"cv=fit", offsetof(struct rl_config, cv), RL_CV_FIT},
        {"offpolicy=pure", offsetof(struct rl_config, offpolicy), RL_PURE},
        {"loss=gspo", offsetof(struct rl_config, form), RL_FORM_GSPO},
        {"agg=seq-mean-token-mean", offsetof(struct rl_config, agg), RL_AGG_ROW_MEAN},
        {"agg=seq-sum-no-norm", offsetof(struct rl_config, agg), RL_AGG_SUM},
        {"denom=kept", offsetof(struct rl_config, denom), RL_DENOM_KEPT},
        {"mrs=turn-geo", offsetof(struct rl_config, mrs), RL_MRS_TURN_GEO},
        {"mrs=turn-abs", offsetof(struct rl_config, mrs), RL_MRS_TURN_ABS},
        {"tis=trajectory", offsetof(struct rl_config, tis), RL_TIS_TRAJECTORY},
        {"prs_mode=weight", offsetof(struct rl_config, prs_mode), RL_PRS_WEIGHT},
        {"zero_var=last-turn", offsetof(struct rl_config, zero_var), RL_ZERO_VAR_LAST},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct rl_config c;
        rl_config_defaults(&c);
        assert_int_equal(rl_config_pair(&c, want[i].pair, "--set", &err), KG_OK);
        assert_int_equal(*(int *)(void *)((char *)&c + want[i].at), want[i].value);
    }
}

static void bad_input(void **state)
{
    (void)state;
    struct rl_config c;
    struct rl_methods m;
    assert_int_equal(read_text(&c, "sed: 7\n"), KG_E_USAGE);
    assert_non_null(strstr(err.message, "seed"));
    assert_int_equal(read_text(&c, "seed: x\n"), KG_E_USAGE);
    assert_int_equal(read_text(&c, "seed: [1]\n"), KG_E_USAGE);
    assert_int_equal(read_text(&c, "seed: 1\nrl:\n  grups: 3\n"), KG_E_USAGE);
    assert_non_null(strstr(err.message, ":3"));
    assert_int_not_equal(read_text(&c, "- 1\n"), KG_OK);
    assert_int_equal(read_text(&c, "seed: 1\nseed: 2\n"), KG_E_INPUT);
    assert_int_equal(read_text(&c, "rl.groups: 1\nrl: {groups: 2}\n"), KG_E_USAGE);
    assert_non_null(strstr(err.message, "set twice (first on line 1)"));
    assert_int_equal(read_text(&c, "gym.laws: [1, 2]\n"), KG_E_USAGE);
    assert_non_null(strstr(err.message, "`gym.laws` is a list"));
    assert_int_equal(rl_config_file(&c, "/no/such/file", &err), KG_E_NOT_FOUND);
    rl_config_defaults(&c);
    assert_int_equal(rl_config_pair(&c, "seed", "--set", &err), KG_E_USAGE);
    assert_int_equal(rl_config_pair(&c, "adv=gae", "--set", &err), KG_OK);
    assert_int_equal(rl_config_methods(&c, &m, &err), KG_E_USAGE);
    rl_config_defaults(&c);
    assert_int_equal(rl_config_pair(&c, "rl.rollouts=1", "--set", &err), KG_OK);
    assert_int_equal(rl_config_methods(&c, &m, &err), KG_E_USAGE);
    rl_config_defaults(&c);
    c.hidden = 81;
    assert_int_equal(rl_config_methods(&c, &m, &err), KG_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_pairs),
        cmocka_unit_test(dumps_read_back),
        cmocka_unit_test(names_stand_in_the_order_of_their_enums),
        cmocka_unit_test(bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
