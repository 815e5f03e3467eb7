/* Which PyTorch problems are fit to judge with, of those with answers or inputs of one element. */
#include "onboard_rig.h"

#include "gym/eval/findings.h"

/* Of one element the mean is the answer itself. */
static void answers_of_one_element(void **state)
{
    (void)state;
    need_torch();
    expect_reasons(
        HEAD TWO "        return F.mse_loss(x, i)\n" DRAW("torch.randn(64, 9), torch.rand(64, 9)"),
        "");
    expect_reasons(HEAD TWO "        return x.sum().reshape(1, 1), i * 2\n" DRAW(
                       "torch.randn(64, 9), torch.rand(64, 9)"),
                   "");
    /* and still: the same whatever is asked */
    expect_reasons(HEAD ONE "        return (0 * x).sum() + 3\n" DRAW("torch.randn(64, 9)"),
                   "mean earlier answer frozen input 0 ");
}

/* What freezing an input would give must be an input: no index out of its range, no other mask. */
static void inputs_of_one_element(void **state)
{
    (void)state;
    static const char *const fit[] = {
        HEAD TWO "        return x[i]\n" DRAW("torch.randn(64, 9), torch.tensor([63])"),
        HEAD TWO "        return x * i\n" DRAW("torch.randn(64, 9), torch.tensor(2.5)"),
        HEAD TWO "        return x.relu() * i\n" DRAW("torch.randn(64, 9), torch.ones(9)"),
        HEAD TWO "        return torch.where(i, x.relu(), -x)\n" DRAW(
            "torch.randn(64, 9), torch.tensor(True)"),
        /* where the frozen one cannot be worked with, it is felt */
        HEAD TWO "        return torch.cat([p.cumsum(0) for p in x.split(i.tolist())])\n" DRAW(
            "torch.randn(60, 9), torch.tensor([10, 20, 30])"),
    };
    need_torch();
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
        expect_reasons(fit[i], "");
    }
    expect_reasons(HEAD TWO
                   "        return x * 2\n" DRAW("torch.randn(64, 9), torch.randint(0, 64, (1,))"),
                   "frozen input 1 ");
    expect_reasons(HEAD TWO "        return x * 2\n" DRAW("torch.randn(64, 9), torch.tensor(True)"),
                   "frozen input 1 ");
}

/* --- at the first evaluation --- */

#define MADE(answer) HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n" answer

static void expect_first(const char *problem, const char *candidate, const char *want)
{
    struct kg_record r;
    char source[1000];
    put("first.py", problem);
    snprintf(source, sizeof source, MADE("        return %s\n"), candidate);
    expect("first.py", source, want, &r);
    if (r.has_error) {
        assert_int_equal(r.error.blame, KG_BLAME_PROBLEM);
        assert_non_null(strstr(r.error.message, "put aside at its first evaluation: "));
    }
    kg_record_deinit(&r);
}

/* problem, a candidate, and that it is right */
static const char *const suits_all[][2] = {
    {HEAD ONE "        return (0 * x).sum(1)\n" DRAW("torch.randn(64, 9)"), "(0 * x).sum(1)"},
    {HEAD ONE "        return x[:, :1].softmax(1)\n" DRAW("torch.randn(64, 9)"),
     "x[:, :1].softmax(1)"},
    {HEAD ONE "        return x.argmin(1) * 0, x[:, :1].argmax(1)\n" DRAW("torch.randn(64, 9)"),
     "x.argmin(1) * 0, x[:, :1].argmax(1)"},
};

/* Without a cache, and with one: then its file says so, and a full check may still be made. */
static void a_problem_that_any_answer_suits(void **state)
{
    (void)state;
    need_torch();
    for (size_t i = 0; i < sizeof suits_all / sizeof *suits_all; i++) {
        expect_first(suits_all[i][0], suits_all[i][1], "error/problem");
        expect_first(suits_all[i][0], "x * 2", "error/problem"); /* nor is it charged */
    }
    worker->config.quarantine = KG_QUARANTINE_IGNORE;
    expect_first(suits_all[0][0], "x.new_zeros(64)", "ok");
    worker->config.quarantine = KG_QUARANTINE_REFUSE;
}

/* One that looks like it, and is none: a doubt that made candidates settle. */
static void a_doubt_is_settled(void **state)
{
    (void)state;
    static const char far[] =
        HEAD ONE "        return torch.relu(x - 40)\n" DRAW("torch.randn(64, 9)");
    static const char trembles[] =
        HEAD "import random\n\n\n" ONE
             "        return x * (1 + 1e-7 * random.SystemRandom().random())\n" DRAW(
                 "torch.randn(64, 9)");
    need_torch();
    expect_first(far, "torch.relu(x - 40)", "ok");
    expect_first(far, "x.new_zeros(64, 9)", "wrong/value");
    expect_first(trembles, "x * 1", "ok");
    expect_first(trembles, "x * 2", "wrong/value");
}

static void it_is_kept(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    snprintf(worker->config.cache, sizeof worker->config.cache, "%s/cache", folder);
    expect_first(suits_all[0][0], suits_all[0][1], "error/problem");
    judge("first.py", MADE("        return x\n"), KG_ST_FULL, &r);
    json_t *card = kg_findings_find(&worker->config, r.problem.sha256);
    assert_non_null(card);
    assert_true(kg_findings_first_look(card));
    assert_string_equal(r.error.message,
                        "first: put aside at its first evaluation: zeros (`--quarantine ignore` "
                        "judges it all the same)");
    kg_record_deinit(&r);
    json_decref(card);
    expect_reasons(suits_all[0][0], "zeros mean shuffled scaled earlier answer frozen input 0 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_one_element),
        cmocka_unit_test(inputs_of_one_element),
        cmocka_unit_test(a_problem_that_any_answer_suits),
        cmocka_unit_test(a_doubt_is_settled),
        cmocka_unit_test(it_is_kept),
    };
    return cmocka_run_group_tests(tests, onboard_setup, rig_close);
}
