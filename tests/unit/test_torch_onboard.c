/* Which PyTorch problems are fit to judge with, of those with answers or inputs of one element. */
#include "onboard_rig.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_one_element),
        cmocka_unit_test(inputs_of_one_element),
    };
    return cmocka_run_group_tests(tests, onboard_setup, rig_close);
}
