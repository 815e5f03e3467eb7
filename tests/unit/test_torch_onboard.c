/* Which PyTorch problems are fit to judge with: real ones of few elements, odd inputs, and defects
 * of each kind. */
#include "gym/pipeline/onboard.h"
#include "torch_eval_rig.h"

#define ONE  "class Model(nn.Module):\n    def forward(self, x):\n"
#define TWO  "class Model(nn.Module):\n    def forward(self, x, i):\n"
#define TAIL "\n\ndef get_init_inputs():\n    return []\n"
/* "return [...]" of get_inputs */
#define DRAW(list) "\n\ndef get_inputs():\n    return [" list "]\n" TAIL

/* What the check of a problem has found: "" fit, else its reasons with a space after each. */
static void reasons(const char *text, char *out, size_t cap)
{
    struct kg_onboard o;
    struct kg_err err = KG_ERR_INIT;
    char path[512];
    put("p.py", text);
    snprintf(path, sizeof path, "%s/p.py", folder);
    if (kg_onboard(worker, path, &o, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; i < o.n; i++) {
        if (!o.check[i].pass) {
            print_message("%s: %s\n", o.check[i].name, o.check[i].detail);
            n += (size_t)snprintf(out + n, n < cap ? cap - n : 0, "%s ", o.check[i].name);
        }
    }
    assert_true(o.pass == (n == 0));
    kg_onboard_deinit(&o);
}

static void expect_reasons(const char *text, const char *want)
{
    char got[600];
    reasons(text, got, sizeof got);
    if (strcmp(got, want) != 0) {
        fail_msg("put aside for `%s`, not `%s`:\n%s", got, want, text);
    }
}

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
                   "mean frozen input 0 ");
}

/* What freezing an input would give must be an input: no index out of its range, no other mask. */
static void inputs_of_one_element(void **state)
{
    (void)state;
    static const char *const fit[] = {
        HEAD TWO "        return x[i]\n" DRAW("torch.randn(64, 9), torch.tensor([63])"),
        HEAD TWO "        return x[i]\n" DRAW("torch.randn(64, 9), torch.randint(0, 64, (1,))"),
        HEAD TWO "        return x * i\n" DRAW("torch.randn(64, 9), torch.rand(1)"),
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
    expect_reasons(HEAD TWO "        return x * 2\n" DRAW("torch.randn(64, 9), torch.ones(9)"),
                   "frozen input 1 ");
    expect_reasons(HEAD TWO "        return x * 2\n" DRAW("torch.randn(64, 9), torch.tensor(True)"),
                   "frozen input 1 ");
}

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    return rig_open();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_one_element),
        cmocka_unit_test(inputs_of_one_element),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
